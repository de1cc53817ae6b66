"""Rules that decide what becomes of a new fact, without a model: what a consolidator must beat. Nothing is scored here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from salience import ConsolidationDecision
from salience.consolidation_inputs import known_memories
from salience.consolidation_types import KnownMemory
from salience.memory import HashedNgrams
from salience.merging import statement_key

_Rule = Callable[[str, Sequence[KnownMemory]], ConsolidationDecision]


@dataclass(frozen=True, slots=True)
class Decider:
    """A rule by name; a `salience.Consolidator`.

    Attributes:
        name: What it is called.
        rule: The new fact and the memories that it is held against -> the decision.
    """

    name: str
    rule: _Rule

    def consolidate(self, new_fact: str, existing: Sequence[Any]) -> ConsolidationDecision:
        """Return what becomes of a new fact.

        Args:
            new_fact: Its text.
            existing: The memories it is held against; where there is none the fact is added.
        """
        known = known_memories(existing)
        return self.rule(new_fact, known) if known else ConsolidationDecision("ADD")


def _add(fact: str, known: Sequence[KnownMemory]) -> ConsolidationDecision:  # noqa: ARG001  (the rules' signature)
    """Keep everything: loses nothing, and shows how many duplicates and stale memories a store without a consolidator has."""
    return ConsolidationDecision("ADD")


def _none(fact: str, known: Sequence[KnownMemory]) -> ConsolidationDecision:  # noqa: ARG001  (the rules' signature)
    """Keep nothing new: never touches a memory, and shows what is lost by doing nothing."""
    return ConsolidationDecision("NONE")


def _delete(fact: str, known: Sequence[KnownMemory]) -> ConsolidationDecision:
    """Put the fact in the place of the first memory offered: the worst case, which every figure of harm must tell from the others."""
    return ConsolidationDecision("DELETE", known[0].id, fact)


def _duplicate(fact: str, known: Sequence[KnownMemory]) -> ConsolidationDecision:
    """Drop what is known word for word, keep the rest: what a store can do for free, so what a model must do better than."""
    same = statement_key(fact) in {statement_key(one.content) for one in known}
    return ConsolidationDecision("NONE" if same else "ADD")


def _nearest(fact: str, known: Sequence[KnownMemory]) -> ConsolidationDecision:
    """Put the fact in the place of the memory that is spelt most like it: shows how far finding the right memory goes without merging."""
    asked, *vectors = HashedNgrams().embed_batch([fact, *(one.content for one in known)])
    nearness = [sum(a * b for a, b in zip(asked, vector, strict=True)) for vector in vectors]
    return ConsolidationDecision("UPDATE", known[nearness.index(max(nearness))].id, fact)


_RULES: Mapping[str, _Rule] = {
    "always-add": _add,
    "always-none": _none,
    "always-delete": _delete,
    "duplicate-none": _duplicate,
    "nearest-update": _nearest,
}
DECIDERS: Mapping[str, Decider] = {name: Decider(name, rule) for name, rule in _RULES.items()}
"""By name: keep everything; keep nothing new; put the fact in the place of the first memory offered; drop what is known word for word and
keep the rest; put the fact in the place of the memory whose hashed n-grams are nearest by cosine, of equally near ones the first. What each
is good for stands with its rule. None merges statements, and none knows a fact again in other words."""

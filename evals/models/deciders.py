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
    return ConsolidationDecision("ADD")


def _none(fact: str, known: Sequence[KnownMemory]) -> ConsolidationDecision:  # noqa: ARG001  (the rules' signature)
    return ConsolidationDecision("NONE")


def _delete(fact: str, known: Sequence[KnownMemory]) -> ConsolidationDecision:
    return ConsolidationDecision("DELETE", known[0].id, fact)


def _duplicate(fact: str, known: Sequence[KnownMemory]) -> ConsolidationDecision:
    same = statement_key(fact) in {statement_key(one.content) for one in known}
    return ConsolidationDecision("NONE" if same else "ADD")


def _nearest(fact: str, known: Sequence[KnownMemory]) -> ConsolidationDecision:
    embeddings = HashedNgrams()
    asked, *vectors = embeddings.embed_batch([fact, *(one.content for one in known)])
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
keep the rest; put the fact in the place of the memory whose hashed n-grams are nearest by cosine."""

"""Asks a consolidator what is to become of facts, and turns its decisions into steps of a plan. It trusts no id that it did not offer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from salience.errors import SeamError
from salience.memory.checks import storable
from salience.memory.consolidators import Tally, best_of
from salience.memory.embeddings import EmbeddingsProvider, Vector, embed_all
from salience.memory.facts import Facts
from salience.memory.planning import Near, Plan, Step
from salience.memory.records import Known, NewMemory
from salience.memory.steps import Call, Steps

KNOWN_WORDS = "known word for word"
UNUSABLE = "the decision could not be used"
"""Begins the note of a fact that was added for want of a decision; what was wrong with it follows after a colon."""

Settle = Callable[[Plan, NewMemory, Vector], Step | None]
"""Returns what becomes of a fact, without an id for what it writes, where nobody needs to be asked; else None. It plans nothing."""


def known_word_for_word(plan: Plan, fact: NewMemory, vector: Vector) -> Step | None:
    """Settle a fact that a live memory says word for word."""
    known = plan.same_words(fact.content)
    return None if known is None else Step(fact, vector, "NONE", "", known, note=KNOWN_WORDS)


@dataclass(frozen=True, slots=True)
class Decider:
    """Plans facts with a consolidator, or without one by adding all that is not known word for word.

    Attributes:
        plan: Where the steps go.
        embeddings: Makes the vectors of contents that a consolidator writes.
        consolidator: Anything; `consolidate` and `consolidate_many` are used where it has them.
        offered: How many of the nearest memories it is shown.
        batch: Whether several facts are decided on in one call where it can.
        tally: Where model calls are counted.
        settle: Which facts need no decision.
    """

    plan: Plan
    embeddings: EmbeddingsProvider
    consolidator: Any
    offered: int
    batch: bool
    tally: Tally
    settle: Settle = known_word_for_word

    def plan_all(self, facts: Facts) -> Steps[None]:
        """Plan the facts of a turn, in order."""
        vectors = yield from embed_all(self.embeddings, [fact.content for fact in facts.memories])
        pairs = list(zip(facts.memories, vectors, strict=True))
        if self.batch and callable(getattr(self.consolidator, "consolidate_many", None)):
            yield from self._plan_together(pairs)
            return
        for fact, vector in pairs:
            yield from self.plan_one(fact, vector)

    def plan_one(self, fact: NewMemory, vector: Vector) -> Steps[None]:
        """Plan one fact."""
        if self.plan_settled(fact, vector):
            return
        near = self.plan.nearest(vector, self.offered)
        consolidate = best_of(self.consolidator, "consolidate_result", "consolidate")
        if not near or consolidate is None:
            self._add(fact, vector)
            return
        offered = [one.known for one in near]
        answer = yield Call(consolidate, (fact.content, offered))
        self.tally.add(answer)
        yield from self._take(fact, vector, answer, {known.id: known for known in offered})

    def plan_settled(self, fact: NewMemory, vector: Vector) -> bool:
        """Plan a fact that needs no decision, and return whether it is one."""
        step = self.settle(self.plan, fact, vector)
        if step is not None:
            self.plan.add(replace(step, new_id=self.plan.store.new_id()))
        return step is not None

    def _plan_together(self, pairs: Sequence[tuple[NewMemory, Vector]]) -> Steps[None]:
        """Decide on all facts in one call, each shown the memories nearest to any of them.

        A decision that rests on a memory which was moved meanwhile by a step that the call did not know of is asked for again, alone.
        """
        asked: dict[int, list[Near]] = {}
        for at, (fact, vector) in enumerate(pairs):
            if self.settle(self.plan, fact, vector) is None:
                asked[at] = self.plan.nearest(vector, self.offered)
        offered = {one.known.id: one.known for near in asked.values() for one in near}
        decisions: dict[int, Any] = {}
        if len(asked) > 1 and offered:
            answer = yield Call(self.consolidator.consolidate_many, ([pairs[at][0].content for at in asked], list(offered.values())))
            decisions = dict(zip(asked, self._decisions(answer, len(asked)), strict=True))
        moved: set[str] = set()
        for at, (fact, vector) in enumerate(pairs):
            if self.plan_settled(fact, vector):  # an earlier one of this turn may say the same
                pass
            elif at in decisions and moved.isdisjoint(_rests_on(decisions[at], offered)):
                yield from self._take(fact, vector, decisions[at], offered)
                continue
            elif at in asked and not offered:
                self._add(fact, vector)
            else:
                yield from self.plan_one(fact, vector)
            moved |= _moves(self.plan.steps[-1])

    def _decisions(self, answer: Any, wanted: int) -> list[Any]:
        results: Any = getattr(answer, "results", answer)
        decisions = list(results) if isinstance(results, Iterable) else []
        if len(decisions) != wanted:
            raise SeamError(f"{type(self.consolidator).__name__}.consolidate_many must return {wanted} decisions, got {len(decisions)}")
        self.tally.add(answer)
        return decisions

    def _add(self, fact: NewMemory, vector: Vector, refused: tuple[str, ...] = (), note: str = "") -> None:
        self.plan.add(Step(fact, vector, "ADD", self.plan.store.new_id(), refused=refused, note=note))

    def _take(self, fact: NewMemory, vector: Vector, answer: Any, offered: Mapping[str, Known]) -> Steps[None]:
        """Plan what was decided; a decision that cannot be carried out becomes ADD, so that the fact is kept."""
        decision: Any = getattr(answer, "decision", answer)
        action = getattr(decision, "action", None)
        named = _named(decision)
        alive = {one: known for one in named if one in offered and (known := self.plan.planned(offered[one])) is not None}
        refused = tuple(one for one in named if one not in alive)
        content = getattr(decision, "content", None)
        content = storable(content) if isinstance(content, str) and content.strip() else None
        if action == "NONE":
            told = getattr(answer, "known_by", None)
            told = told if isinstance(told, str) and told in offered else next(iter(alive), None)
            target = None if told is None else self.plan.planned(offered[told])
            self.plan.add(Step(fact, vector, "NONE", self.plan.store.new_id(), target, refused=refused))
        elif action in ("UPDATE", "DELETE") and named and named[0] in alive and (content or action == "DELETE"):
            yield from self._take_change(fact, vector, action, list(alive.values()), content, refused)
        elif action == "ADD" and not refused:
            written = yield from self._worded(fact, vector, content)
            if getattr(answer, "fallback", False) is True:
                self._fall_back(*written, (), getattr(answer, "reason", ""))
            else:
                self._add(*written)
        else:
            why = f"{action} named no memory that was offered" if refused else f"{action} cannot be carried out"
            self._fall_back(fact, vector, refused, why)

    def _fall_back(self, fact: NewMemory, vector: Vector, refused: tuple[str, ...], why: object) -> None:
        self.tally.fallbacks += 1
        self._add(fact, vector, refused, f"{UNUSABLE}: {why}" if isinstance(why, str) and why else UNUSABLE)

    def _take_change(
        self, fact: NewMemory, vector: Vector, action: Any, targets: Sequence[Known], content: str | None, refused: tuple[str, ...]
    ) -> Steps[None]:
        new_id = self.plan.store.new_id()
        content_vector: Vector = ()
        if content is not None:
            content_vector = vector if content == fact.content else (yield from embed_all(self.embeddings, [content]))[0]
        if action == "UPDATE":
            self.plan.add(Step(fact, vector, "UPDATE", new_id, targets[0], (), content, content_vector, refused=refused))
        else:
            self.plan.add(Step(fact, vector, "DELETE", new_id, None, tuple(targets), content, content_vector, refused=refused))

    def _worded(self, fact: NewMemory, vector: Vector, content: str | None) -> Steps[tuple[NewMemory, Vector]]:
        """Return the fact in the words of a consolidator that gave some."""
        if content is None or content == fact.content:
            return fact, vector
        vectors = yield from embed_all(self.embeddings, [content])
        return replace(fact, content=content), vectors[0]


def _named(decision: Any) -> list[str]:
    """Return the ids that a decision names, the one that it is about first; what is no text is none that was offered."""
    also = getattr(decision, "also_retire", ())
    also = also if isinstance(also, list | tuple) else [also]
    found = [one for one in (getattr(decision, "id", None), *also) if one is not None]
    return [one if isinstance(one, str) else repr(one) for one in found]


def _rests_on(answer: Any, offered: Mapping[str, Known]) -> set[str]:
    """Return the memories that must be as they were offered for an answer to hold; all of them for "known" that does not say by which."""
    decision: Any = getattr(answer, "decision", answer)
    known_by = getattr(answer, "known_by", None)
    named = {one for one in (*_named(decision), known_by) if isinstance(one, str)}
    return set(offered) if getattr(decision, "action", None) == "NONE" and not named else named


def _moves(step: Step) -> set[str]:
    """Return the memories that a step changes or retires."""
    changed = [step.target] if step.action == "UPDATE" and step.target is not None else []
    return {known.id for known in (*changed, *step.retire)}

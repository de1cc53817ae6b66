"""Decides what of a salience extractor's candidates is written, skipped, or superseded, and in which order that is looked at.

Without a consolidator a near-duplicate is what is near by distance and does not differ in numbers, polarity or names
(`salience.memory.differences`); with one, whatever is near is for it to decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from salience.errors import OptionError, SeamError
from salience.memory.checks import storable
from salience.memory.consolidators import Tally, best_of
from salience.memory.deciding import KNOWN_WORDS, Decider
from salience.memory.differences import difference
from salience.memory.embeddings import EmbeddingsProvider, Vector, embed_all, model_of
from salience.memory.facts import Facts, new_memory
from salience.memory.planning import Near, Plan, Step
from salience.memory.records import NewMemory, StoredMemory
from salience.memory.rows import refuse_other_model
from salience.memory.steps import Steps
from salience.memory.store import Store
from salience.memory.writing import Change, carry_out
from salience.policy import DEFAULT_THRESHOLD, Policy
from salience.types import Candidate

NEAR_DISTANCE = 0.15
"""A live memory at less than this cosine distance makes a candidate a near-duplicate."""

NEAREST = 5
NEAR_DUPLICATE = "near-duplicate"
_BLANK = NewMemory("-")


@dataclass(frozen=True, slots=True)
class Skipped:
    """A candidate that was not written.

    Attributes:
        candidate: The candidate.
        reason: Why, in a few words.
        memory_id: The live memory that it repeats, where it does.
        distance: The cosine distance to it, 0 to 2, where that is the reason.
    """

    candidate: Candidate
    reason: str
    memory_id: str | None = None
    distance: float | None = None


@dataclass(frozen=True, slots=True)
class EnrichmentResult:
    """What became of candidates.

    Attributes:
        written: Memories that were written: new ones, and further versions of those that a consolidator updated.
        superseded: Memories that are no longer live on account of them; old versions of updated ones are not among them.
        skipped: Candidates that were not written, and why.
        refused: Ids in `meta["supersedes"]`, or named by a consolidator, that were no live memory of this user, or none that was offered.
        kept_apart: (new id, id near it, what differs) of candidates that are near a memory and were written nevertheless.
        changes: Everything that was done, in order.
        calls: Model calls of the consolidator; None where it does not tell.
        invented: Ids that its model named without having been offered them, as far as it tells; `refused` are those that it let through.
        fallbacks: Candidates that were written as they are because no decision on them could be used: unreadable, incomplete, or about a
            memory that was not offered. Their `note` in `changes` says why.
    """

    written: tuple[StoredMemory, ...] = ()
    superseded: tuple[StoredMemory, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    refused: tuple[str, ...] = ()
    kept_apart: tuple[tuple[str, str, str], ...] = ()
    changes: tuple[Change, ...] = ()
    calls: int | None = 0
    invented: int = 0
    fallbacks: int = 0


@dataclass(frozen=True, slots=True)
class Enricher:
    """Puts candidates into a store for one kind of work; `enrich` and its siblings make one for each call.

    Attributes:
        store: The store.
        embeddings: Makes the vectors.
        policy: Whose `operating_threshold` is the least salience to keep; None means 0.5.
        consolidator: Decides about what is near; None leaves it to distance and `difference`.
        near: The cosine distance under which a memory is near, 0 to 2.
        batch: Whether all candidates that need a decision are decided on in one call where the consolidator can.
    """

    store: Store
    embeddings: EmbeddingsProvider
    policy: Policy | None = None
    consolidator: Any = None
    near: float = NEAR_DISTANCE
    batch: bool = True

    def __post_init__(self) -> None:
        if self.policy is not None and not isinstance(self.policy, Policy):
            raise OptionError(f"policy must be a salience.Policy or None, got {self.policy!r}")
        if isinstance(self.near, bool) or not isinstance(self.near, int | float) or not 0 <= self.near <= 2:
            raise OptionError(f"near must be a cosine distance from 0 to 2, got {self.near!r}")
        if self.consolidator is not None and best_of(self.consolidator, "consolidate_result", "consolidate") is None:
            raise SeamError(f"a consolidator needs consolidate(fact, existing); {type(self.consolidator).__name__} has none")

    def steps(self, candidates: Sequence[Candidate], user_id: str) -> Steps[EnrichmentResult]:
        """Do the work: decide about each candidate, then write all in one transaction."""
        refuse_other_model(user_id, self.store.model(user_id), model_of(self.embeddings))  # before a model is paid for
        threshold = DEFAULT_THRESHOLD if self.policy is None else self.policy.threshold
        for one in candidates:
            if not isinstance(one, Candidate):
                raise OptionError(f"candidates must be salience.Candidate values, got {one!r}")
        worth = [one for one in candidates if one.salience >= threshold]
        skipped = [Skipped(one, f"salience {one.salience:g} is below {threshold:g}") for one in candidates if one.salience < threshold]
        facts = tuple(_fact(one) for one in worth)
        plan, tally = Plan(self.store, user_id, model_of(self.embeddings)), Tally()
        decider = Decider(plan, self.embeddings, self.consolidator, NEAREST, self.batch, tally, _settled)
        near: list[list[Near]] = [[] for _ in facts]
        if self.consolidator is None:
            near = yield from self._plan_by_distance(decider, facts)
        else:
            yield from decider.plan_all(Facts(facts))
        done = EnrichmentResult(skipped=tuple(skipped), calls=tally.total, invented=tally.invented, fallbacks=tally.fallbacks)
        if not plan.steps:
            return done
        steps = [replace(step, refused=(*_refused(step), *step.refused)) for step in plan.steps]
        with self.store.turn(user_id, plan.model) as turn:
            changes = carry_out(turn, steps)
        return _result(done, changes, worth, near)

    def _plan_by_distance(self, decider: Decider, facts: Sequence[NewMemory]) -> Steps[list[list[Near]]]:
        """Plan all facts without a consolidator, and return the memories that are near each where distance decided."""
        vectors = yield from embed_all(self.embeddings, [fact.content for fact in facts])
        return [
            [] if decider.plan_settled(fact, vector) else self._by_distance(decider.plan, fact, vector)
            for fact, vector in zip(facts, vectors, strict=True)
        ]

    def _by_distance(self, plan: Plan, fact: NewMemory, vector: Vector) -> list[Near]:
        near = [one for one in plan.nearest(vector, NEAREST) if 1 - one.similarity < self.near]
        same = next((one for one in near if difference(fact.content, one.known.content) is None), None)
        if same is None:
            plan.add(Step(fact, vector, "ADD", plan.store.new_id()))
            return near
        plan.add(Step(fact, vector, "NONE", plan.store.new_id(), same.known, note=NEAR_DUPLICATE))
        return [same]


def _fact(candidate: Candidate) -> NewMemory:
    """Return a candidate as it can be stored; which message it is of, no candidate says but in its `meta`."""
    fact = new_memory(candidate, _BLANK) or _BLANK  # a candidate is never blank
    source_id = fact.meta.get("source_id")
    if not isinstance(source_id, str) or not source_id.strip():
        return fact
    return replace(fact, source_id=storable(source_id), meta={name: value for name, value in fact.meta.items() if name != "source_id"})


def _settled(plan: Plan, fact: NewMemory, vector: Vector) -> Step | None:
    """Settle a candidate that repeats a live memory word for word, or says which live memories it supersedes."""
    known = plan.same_words(fact.content)
    old = [memory for one in _supersedes(fact) if (memory := plan.live(one)) is not None]
    if known is None and not old:
        return None
    retire = tuple(one for one in old if known is None or one.id != known.id)
    if known is None:
        return Step(fact, vector, "ADD", retire=retire, reason="superseded")
    return Step(fact, vector, "NONE", "", known, retire, reason="superseded", note=KNOWN_WORDS)


def _supersedes(fact: NewMemory) -> list[str]:
    """Return the ids that a candidate says it supersedes, each once; what is no text names nothing."""
    named = fact.meta.get("supersedes") or ()
    ids = [named] if isinstance(named, str) else list(named) if isinstance(named, list | tuple) else [str(named)]
    return list(dict.fromkeys(one if isinstance(one, str) else str(one) for one in ids))


def _refused(step: Step) -> tuple[str, ...]:
    """Return the ids that a candidate says it supersedes and that were no live memory when it was planned.

    With one that was, it would have been settled: what it retires and what says the same are then all that were.
    """
    taken = {known.id for known in (*step.retire, *([step.target] if step.target else []))}
    return tuple(one for one in _supersedes(step.fact) if one not in taken)


def _result(
    done: EnrichmentResult, changes: Sequence[Change], candidates: Sequence[Candidate], near: Sequence[Sequence[Near]]
) -> EnrichmentResult:
    skipped, apart = list(done.skipped), list[tuple[str, str, str]]()
    for change, candidate, others in zip(changes, candidates, near, strict=True):
        memory = change.memory
        if change.action == "NONE":
            by_distance = change.note == NEAR_DUPLICATE and others
            distance = 1 - others[0].similarity if by_distance else None
            skipped.append(Skipped(candidate, change.note or "known to the consolidator", None if memory is None else memory.id, distance))
        elif change.action == "ADD" and memory is not None:
            reasons = [(one.known.id, difference(candidate.content, one.known.content)) for one in others]
            apart += [(memory.id, other, reason) for other, reason in reasons if reason is not None]
    return replace(
        done,
        written=tuple(one.memory for one in changes if one.memory is not None and one.action != "NONE"),
        superseded=tuple(memory for one in changes for memory in one.retired),
        skipped=tuple(skipped),
        refused=tuple(memory_id for one in changes for memory_id in one.refused),
        kept_apart=tuple(apart),
        changes=tuple(changes),
    )

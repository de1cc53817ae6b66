"""The value types of scenarios: what playing one gives, and what became of its labels. No playing, no judging."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evals.metrics.outcomes import Outcome
from salience.memory import StoredMemory


@dataclass(frozen=True, slots=True)
class PlayedSession:
    """How one session was taken in.

    Attributes:
        date: When it was said, an ISO day.
        status: How the reply with the facts could be read: "ok", "empty", "repaired", "truncated" or "malformed"; "none" where no model
            was asked.
        calls: How often a model was asked, for facts and for decisions; 0 or more.
        facts: How many facts were decided on, 0 or more.
        invented: Ids that a decision named although they were not offered, 0 or more.
        fallbacks: Facts that were added because no usable decision was given, 0 to `facts`.
        memories: Ids of the memories that were written, updated or seen again in it.
    """

    date: str
    status: str
    calls: int
    facts: int
    invented: int
    fallbacks: int
    memories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Played:
    """A scenario after its last session.

    Attributes:
        versions: Every version of every memory of the owner, in the order of writing; `live` tells those that hold.
        sessions: How each session went, in the order of their dates.
        found: For each question of the scenario the contents of the live memories that a query for it finds, the nearest first; ten at
            the most. Empty where nothing was asked.
    """

    versions: tuple[StoredMemory, ...]
    sessions: tuple[PlayedSession, ...]
    found: tuple[tuple[str, ...], ...]

    @property
    def live(self) -> tuple[StoredMemory, ...]:
        """The memories that hold after the last session, in the order of writing."""
        return tuple(memory for memory in self.versions if memory.live)


@dataclass(frozen=True, slots=True)
class Fate:
    """What a live memory counts as.

    Attributes:
        outcome: "hit" stands for a memory of `final`, "violation" states a retired statement, "duplicate" says what another live memory
            says, "near_miss" differs from a memory of `final` in what a guard found, "optional" says nothing labelled.
        label: The id of the memory of `final`, or "forbidden[i]" for a retired statement; None where there is none.
        reason: Why, in words for a reader; of a violation why the statement was retired.
        score: Similarity to `label`, 0 to 1; None where there is none.
    """

    outcome: Outcome
    label: str | None
    reason: str
    score: float | None = None


@dataclass(frozen=True, slots=True)
class ScenarioOutcome:
    """What became of every label and of every live memory of a scenario. Each memory of `final` is in one of the first four.

    Attributes:
        live: Id of a memory of `final` -> place in `Played.live` of the memory that stands for it; one to one.
        merged: Ids of those that a live memory says as well, but stands for another.
        lost: Ids of those that no live memory says, and some earlier version did.
        never_stored: Ids of those that no version ever said.
        stale: Places in `retired` of the statements that a live memory makes.
        private_stale: Those of `stale` that were to be forgotten, withdrawn or secret.
        fates: Of every live memory, in the order of `Played.live`.
        answered: Of every question whether its answer is in what was found; None for one that cannot be answered, was not asked, or whose
            answer has no word, number or date to look for.
        evidence: How many messages the questions rest on, of how many of them something is live that came from their session, and of how
            many that would be so by chance (`evals.metrics.answers.by_chance`).
    """

    live: Mapping[str, int]
    merged: tuple[str, ...]
    lost: tuple[str, ...]
    never_stored: tuple[str, ...]
    stale: tuple[int, ...]
    private_stale: tuple[int, ...]
    fates: tuple[Fate, ...]
    answered: tuple[bool | None, ...]
    evidence: tuple[int, int, float] = (0, 0, 0.0)

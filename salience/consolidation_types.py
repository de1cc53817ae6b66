"""The value types of recall: a fact, a known memory, a decision about them, and what came of a reply.

Immutable values without behaviour beyond their own validation. Who decides is in `salience.consolidation`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from salience.errors import OptionError
from salience.types import Dropped, Reply, Status

Action = Literal["ADD", "UPDATE", "DELETE", "NONE"]
ACTIONS: tuple[Action, ...] = get_args(Action)


def _needs_text(name: str, value: object) -> None:
    if not isinstance(value, str) or not value.strip():
        raise OptionError(f"{name} must be a non-empty string, got {value!r}")


@dataclass(frozen=True, slots=True)
class ExtractedMemory:
    """One atomic fact that was read out of a text; it stands alone.

    Raises:
        OptionError: `content` is empty or no string.
    """

    content: str

    def __post_init__(self) -> None:
        _needs_text("ExtractedMemory.content", self.content)


@dataclass(frozen=True, slots=True)
class KnownMemory:
    """A memory that is in a store, by the store's own id.

    Raises:
        OptionError: `id` or `content` is empty or no string.
    """

    id: str
    content: str

    def __post_init__(self) -> None:
        _needs_text("KnownMemory.id", self.id)
        _needs_text("KnownMemory.content", self.content)


@dataclass(frozen=True, slots=True)
class ConsolidationDecision:
    """What is to be done with one new fact.

    Attributes:
        action: ADD stores the fact; UPDATE replaces the memory `id` by `content`; DELETE retires `id` and `also_retire` and stores
            `content` where there is one; NONE changes nothing, as the fact is known.
        id: The memory that UPDATE or DELETE is about; None for ADD and NONE.
        content: The merged statement of UPDATE, or what DELETE stores. For ADD None means the fact as it came. None for NONE.
        also_retire: Further memories that DELETE retires, each once and without `id`; () for the others.

    Raises:
        OptionError: A field is of the wrong type, is missing, or does not belong to the action.
    """

    action: Action
    id: str | None = None
    content: str | None = None
    also_retire: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.action not in ACTIONS:
            raise OptionError(f"action must be one of {', '.join(ACTIONS)}, got {self.action!r}")
        if isinstance(self.also_retire, str) or not isinstance(self.also_retire, Sequence):
            raise OptionError(f"also_retire must be a sequence of ids, got {self.also_retire!r}")
        for name, value in (("id", self.id), ("content", self.content), *(("an id in also_retire", one) for one in self.also_retire)):
            if value is not None or name.startswith("an"):
                _needs_text(name, value)
        targets = self.action in ("UPDATE", "DELETE")
        if targets != (self.id is not None):
            raise OptionError(f"{self.action} {'needs' if targets else 'takes no'} id, got {self.id!r}")
        if self.action == "UPDATE" and self.content is None:
            raise OptionError("UPDATE needs content, the merged statement, got None")
        if self.action == "NONE" and self.content is not None:
            raise OptionError(f"NONE takes no content, got {self.content!r}")
        if self.also_retire and self.action != "DELETE":
            raise OptionError(f"{self.action} takes no also_retire, got {self.also_retire!r}; only DELETE retires several")
        object.__setattr__(self, "also_retire", tuple(dict.fromkeys(one for one in self.also_retire if one != self.id)))

    @property
    def touched(self) -> tuple[str, ...]:
        """The memories that the decision changes or retires."""
        return () if self.id is None else (self.id, *self.also_retire)


@dataclass(frozen=True, slots=True)
class ConsolidationResult:
    """A decision with its evidence.

    Attributes:
        decision: What is to be done.
        reply: The model's answer that it rests on, word for word; None where no model was asked.
        status: How that answer could be read: `ok`, `repaired`, `truncated`, or `malformed` (it holds no usable decision on this fact).
            `ok` where no model was asked.
        reason: Why, where the decision is not simply what the model said; "" where it is.
        fallback: Whether the decision is an ADD because nothing better could be had: unreadable, incomplete, or an id never offered.
        invented: How many ids the model named for this fact that were never offered.
        known_by: For NONE, the memory that says it, where that is known.
        dropped: What of the answer was not used, and why; of an answer about several facts, all of it stands with the first of them.
        calls: The model calls made for this fact alone; one call about several facts counts in `ConsolidationBatch.calls` only.
    """

    decision: ConsolidationDecision
    reply: Reply | None = None
    status: Status = "ok"
    reason: str = ""
    fallback: bool = False
    invented: int = 0
    known_by: str | None = None
    dropped: tuple[Dropped, ...] = ()
    calls: int = 0


@dataclass(frozen=True, slots=True)
class ConsolidationBatch:
    """The decisions on several facts, in the order of the facts; iterating, indexing and `len` go over the decisions.

    They are to be applied in that order. A later decision may name a memory that an earlier one updated: by its own id, as it then reads.

    Attributes:
        results: Each decision with its evidence.
        calls: All model calls that were made.
    """

    results: tuple[ConsolidationResult, ...] = ()
    calls: int = 0

    @property
    def decisions(self) -> tuple[ConsolidationDecision, ...]:
        """The decisions alone."""
        return tuple(result.decision for result in self.results)

    @property
    def invented(self) -> int:
        """How many ids that were never offered the model named."""
        return sum(result.invented for result in self.results)

    def __iter__(self) -> Iterator[ConsolidationDecision]:
        return iter(self.decisions)

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, position: int) -> ConsolidationDecision:
        return self.results[position].decision


@dataclass(frozen=True, slots=True)
class RecallResult:
    """Facts with their evidence.

    Attributes:
        memories: The facts, in the order of the reply.
        reply: What the model answered, word for word; of a text that was split, the replies to all its parts, put together.
        status: How it could be read; `empty` ("no facts") and `malformed` ("could not be read") never mix.
        dropped: What was skipped, and why.
        calls: The model calls that were made.
    """

    memories: tuple[ExtractedMemory, ...]
    reply: Reply
    status: Status
    dropped: tuple[Dropped, ...] = ()
    calls: int = 1

"""The value types of labelled consolidation decisions and of scenarios. No reading of files, no scoring.

As in `evals.cases` the types are the file format; what each word means is in `datasets/GUIDELINES.md`.
"""

from __future__ import annotations

from typing import Annotated, Literal, get_args

import msgspec

from evals.cases import Day, Owner, Split, Text

Action = Literal["ADD", "UPDATE", "DELETE", "NONE"]
ACTIONS: tuple[str, ...] = get_args(Action)
Retirement = Literal["superseded", "ended", "corrected", "withdrawn", "forgotten", "secret", "never-true"]
QuestionKind = Literal["current", "change", "date", "other-person", "multi", "unanswerable"]

_Index = Annotated[int, msgspec.Meta(ge=0)]
_Language = Annotated[str, msgspec.Meta(pattern=r"^[a-z]{2,3}$")]


class Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A memory that is in the store already."""

    id: Text
    content: Text


class Decision(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What to do with a new fact.

    Attributes:
        action: ADD it, UPDATE one memory with it, DELETE what it contradicts, or NONE.
        id: The memory that UPDATE or DELETE is about.
        content: What is stored: the merged statement of UPDATE, the new fact of DELETE where it is kept; None otherwise.
        also_retire: Further memories that DELETE retires.
    """

    action: Action
    id: Text | None = None
    content: Text | None = None
    also_retire: tuple[Text, ...] = ()


class ConsolidationCase(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A new fact, the memories nearest to it, and what a careful keeper of the store does.

    Attributes:
        id: Unique in the dataset.
        conversation: What the case belongs to; the unit of splits and of resampling.
        split: train, dev or test.
        language: ISO 639-1 code of the new fact.
        tags: Slices.
        new_fact: What was extracted.
        existing: The memories it is held against.
        decision: The right one.
        acceptable: Other decisions that a careful reader would not call wrong.
        protected: Memories that no right decision touches.
    """

    id: Text
    conversation: Text
    split: Split
    language: _Language
    tags: tuple[Text, ...] = ()
    new_fact: Text
    existing: tuple[Known, ...]
    decision: Decision
    acceptable: tuple[Decision, ...] = ()
    protected: tuple[Text, ...] = ()


class Session(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What was said on one day."""

    date: Day
    messages: Annotated[tuple[dict[str, str], ...], msgspec.Meta(min_length=1)]


class LiveMemory(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A memory that must be live after the last session. `sessions` are the indices, from 0, of those it rests on."""

    id: Text
    content: Text
    paraphrases: tuple[Text, ...] = ()
    sessions: Annotated[tuple[_Index, ...], msgspec.Meta(min_length=1)]


class RetiredMemory(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A statement that must not be live after the last session, the session that retired it, and why."""

    content: Text
    paraphrases: tuple[Text, ...] = ()
    session: _Index
    reason: Retirement


class Witness(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An exact piece of a message of a session; indices from 0."""

    session: _Index
    message: _Index
    text: Text


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the owner may ask afterwards, the answer, and what it rests on (nothing where it cannot be answered)."""

    kind: QuestionKind
    question: Text
    answer: Text
    evidence: tuple[Witness, ...] = ()


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One owner over several sessions, and what the store must and must not hold at the end.

    Attributes:
        id: Unique in the dataset; a scenario is its own unit of splits and resampling.
        split: train, dev or test.
        language: ISO 639-1 code.
        tags: Slices and topics.
        owner: Whose memories these are.
        sessions: In the order of their dates.
        final: What must be live after the last session.
        retired: What must not be.
        questions: What may be asked.
    """

    id: Text
    split: Split
    language: _Language
    tags: tuple[Text, ...] = ()
    owner: Owner = Owner()
    sessions: Annotated[tuple[Session, ...], msgspec.Meta(min_length=1)]
    final: tuple[LiveMemory, ...]
    retired: tuple[RetiredMemory, ...] = ()
    questions: tuple[Question, ...] = ()

    @property
    def conversation(self) -> str:
        """The scenario itself, as the unit of splits."""
        return self.id

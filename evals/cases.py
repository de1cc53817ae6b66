"""The value types of a labelled case. No reading of files (`evals.data`), no scoring.

The types are the file format: a line of a data file decodes into a `Case` as it stands, and the JSON schema beside the data is
made from them. The closed lists are the format's; what each word means is in `datasets/GUIDELINES.md`.
"""

from __future__ import annotations

from typing import Annotated, Literal, get_args

import msgspec

from salience import Turn

Split = Literal["train", "dev", "test"]
Observed = Literal["stated", "inferred", "reported"]
Kind = Literal["fact", "preference", "plan", "decision", "relationship", "procedure", "event"]
About = Literal["owner", "third-party", "project", "world"]
Speaker = Literal["user", "assistant", "tool"]
Reason = Literal[
    "hypothetical", "question", "negated", "wrong-subject", "assistant-claim", "overreach", "injection",
    "superseded", "transient", "private", "secret", "echo", "relative-date",
]  # fmt: skip

SPLITS: tuple[str, ...] = get_args(Split)
REASONS: tuple[str, ...] = get_args(Reason)
REASONS_WITH_CONTAINS = ("secret", "injection")
"""The reasons whose statements carry `contains`."""

SILVER = "silver"
"""The tag of a case whose labels were taken over from other data as they were."""
UNLABELLED = "unlabelled"
"""The tag of a case that nobody has labelled."""

REQUIRED_FROM = 0.6
"""A memory of this salience or more is required."""
OPTIONAL_FROM = 0.4
"""A memory from here up to `REQUIRED_FROM` is optional; below it is trivial."""


Unit = Annotated[float, msgspec.Meta(ge=0, le=1)]
Text = Annotated[str, msgspec.Meta(min_length=1, pattern=r"\S")]
Day = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\d$")]
DayMonthOrYear = Annotated[str, msgspec.Meta(pattern=r"^\d{4}(-\d\d(-\d\d)?)?$")]


class Evidence(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An exact piece of a message that carries a statement: the message's index in `Case.messages`, and the text."""

    message: Annotated[int, msgspec.Meta(ge=0)]
    text: Text


class Memory(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A statement that a careful reader of the case would support, with how much it matters (`salience`, 0 to 1)."""

    id: Text
    content: Text
    paraphrases: tuple[Text, ...] = ()
    salience: Unit
    observed: Observed = "stated"
    kind: Kind = "fact"
    about: About = "owner"
    speaker: Speaker = "user"
    event_date: DayMonthOrYear | None = None
    evidence: tuple[Evidence, ...] = ()

    @property
    def phrases(self) -> tuple[str, ...]:
        """The content and all its paraphrases."""
        return (self.content, *self.paraphrases)


class Forbidden(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A statement that must not be stored, and why. `contains` is a string whose mere appearance is the violation."""

    content: Text
    paraphrases: tuple[Text, ...] = ()
    reason: Reason
    contains: Text | None = None

    @property
    def phrases(self) -> tuple[str, ...]:
        """The content and all its paraphrases."""
        return (self.content, *self.paraphrases)


class Owner(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Whose memories these are, and what that person is called in the exchange."""

    names: tuple[Text, ...] = ()


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One exchange with its labels.

    Attributes:
        id: Unique in the dataset.
        conversation: What the case belongs to; the unit of splits and of resampling.
        split: train, dev or test.
        language: ISO 639-1 code of the exchange.
        tags: Slices and topics.
        date: When it was said, an ISO day, or None.
        source: Provenance handed to the model with the turn, or None.
        owner: Whose memories these are.
        context: Earlier messages; no memory is due from them.
        messages: The messages that memories are due from.
        memories: The labelled statements of every grade.
        forbidden: The labelled statements that must not be stored.
    """

    id: Text
    conversation: Text
    split: Split
    language: Annotated[str, msgspec.Meta(pattern=r"^[a-z]{2,3}$")]
    tags: tuple[Text, ...] = ()
    date: Day | None = None
    source: Text | None = None
    owner: Owner = Owner()
    context: tuple[dict[str, str], ...] = ()
    messages: Annotated[tuple[dict[str, str], ...], msgspec.Meta(min_length=1)]
    memories: tuple[Memory, ...]
    forbidden: tuple[Forbidden, ...] = ()

    def turn(self) -> Turn:
        """Return what the model gets to see: context and messages, with date and source."""
        return Turn.from_messages([*self.context, *self.messages], date=self.date, source=self.source)

    @property
    def labelled(self) -> bool:
        """Whether somebody has labelled the case; of one that is not, nothing is known."""
        return UNLABELLED not in self.tags

    @property
    def negative(self) -> bool:
        """Whether no memory is required, so that the right answer is none."""
        return self.labelled and not any(memory.salience >= REQUIRED_FROM for memory in self.memories)

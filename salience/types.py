"""The value types of an extraction: a turn, a candidate memory, options, and what came of a reply.

Everything here is an immutable value without behaviour beyond its own validation. Protocols of clients and extractors are in
`salience.protocols`; how a reply is read is in `salience.reply`.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from salience.errors import OptionError

Status = Literal["ok", "empty", "repaired", "truncated", "malformed"]
"""How a reply could be read: `empty` means that the model said "nothing", `malformed` that nothing could be read."""

MIN_TURN_CHARS = 200
"""The least that a long turn may be split to, in characters: in less than a few sentences no statement stands alone."""


def number_in_unit_interval(name: str, value: object) -> float:
    """Return `value` as a float, or raise.

    Args:
        name: The field's name, for the message.
        value: What was given.

    Returns:
        The value, from 0 to 1.

    Raises:
        OptionError: It is not a real number from 0 to 1 (a bool is not a number here).
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:  # NaN fails the comparison
        raise OptionError(f"{name} must be a number from 0 to 1, got {value!r}")
    return float(value)


@lru_cache(maxsize=1024)
def _is_iso_day(value: str) -> bool:
    try:
        return datetime.date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def iso_day(name: str, value: object) -> str:
    """Return `value` if it is an ISO 8601 calendar date such as "2026-03-02", or raise.

    Raises:
        OptionError: It is not such a string, or the day does not exist.
    """
    if isinstance(value, str) and _is_iso_day(value):
        return value
    raise OptionError(f'{name} must be an ISO 8601 date such as "2026-03-02", got {value!r}')


def _optional_text(name: str, value: object) -> None:
    if value is not None and not isinstance(value, str):
        raise OptionError(f"{name} must be a string or None, got {value!r}")


def _render_message(position: int, message: Mapping[str, str]) -> str:
    role, content, name = message.get("role"), message.get("content"), message.get("name")
    where = f"messages[{position}]"
    if not isinstance(role, str) or not role.strip() or not set(role).isdisjoint("[]\n\r"):
        raise OptionError(f"{where}.role must be a non-empty string without brackets or line breaks, got {role!r}")
    if not isinstance(content, str):
        raise OptionError(f"{where}.content must be a string, got {content!r}")
    if name is not None and (not isinstance(name, str) or not set(name).isdisjoint("[]\n\r")):
        raise OptionError(f"{where}.name must be a string without brackets or line breaks, got {name!r}")
    if "\n" in content or "\r" in content:
        lines = content.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        body = "\n".join("\\" + line if line.startswith("[") else line for line in lines)
    else:
        body = "\\" + content if content.startswith("[") else content
    return f"[{role}: {name}] {body}" if name else f"[{role}] {body}"


@dataclass(frozen=True, slots=True)
class Turn:
    """One piece of conversation to decide about.

    Attributes:
        text: Free-form text: what a user, an assistant or a tool said, one message or many.
        source: Where it comes from, in the caller's own words ("slack", "owner").
        observed: How its statements are known, in the caller's own words ("stated"); candidates inherit it.
        date: When it was said, an ISO 8601 day ("2026-03-02").
        meta: Anything else; every candidate's `meta` starts from it.

    Raises:
        OptionError: A field is of the wrong type, or `date` is no ISO 8601 day.
    """

    text: str
    source: str | None = None
    observed: str | None = None
    date: str | None = None
    meta: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise OptionError(f"Turn.text must be a string, got {self.text!r}")
        _optional_text("Turn.source", self.source)
        _optional_text("Turn.observed", self.observed)
        if self.date is not None:
            iso_day("Turn.date", self.date)
        if self.meta is not None and not isinstance(self.meta, Mapping):
            raise OptionError(f"Turn.meta must be a mapping or None, got {self.meta!r}")

    @classmethod
    def from_messages(
        cls,
        messages: Sequence[Mapping[str, str]],
        *,
        source: str | None = None,
        observed: str | None = None,
        date: str | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Turn:
        r"""Render a chat so that a model can tell who said what.

        One block a message, `[role] content`, or `[role: name] content` where the message has a `name`; one blank line between
        blocks. A line of content that begins with `[` gets a backslash in front, so that content cannot pass for another
        message. Line ends become `\n`; nothing else is changed.

        Args:
            messages: Mappings with `role` and `content`, both strings, and optionally `name`; other keys are ignored.
            source: As in `Turn`.
            observed: As in `Turn`.
            date: As in `Turn`.
            meta: As in `Turn`.

        Returns:
            The turn.

        Raises:
            OptionError: There is no message, or one lacks a usable role or content; the message names which.
        """
        if isinstance(messages, str | Mapping) or not messages:
            raise OptionError(f"messages must be a non-empty sequence of {{role, content}} mappings, got {messages!r}")
        for position, message in enumerate(messages):
            if not isinstance(message, Mapping):
                raise OptionError(f"messages[{position}] must be a mapping with role and content, got {message!r}")
        text = "\n\n".join(_render_message(position, message) for position, message in enumerate(messages))
        return cls(text, source=source, observed=observed, date=date, meta=meta)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One atomic statement that stands alone and may be worth keeping.

    Attributes:
        content: The statement; never empty.
        salience: How much it deserves to be kept, from 0 to 1.
        source: Where it comes from.
        observed: How it is known ("stated", "inferred", "reported").
        date: When it was said, as the model or the turn gave it.
        tags: Labels that the model gave.
        meta: The turn's `meta` merged with the item's own; the item wins.

    Raises:
        OptionError: `content` is empty or no string, or `salience` is not from 0 to 1.
    """

    content: str
    salience: float
    source: str | None = None
    observed: str | None = None
    date: str | None = None
    tags: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.content, str) or not self.content.strip():
            raise OptionError(f"Candidate.content must be a non-empty string, got {self.content!r}")
        number_in_unit_interval("Candidate.salience", self.salience)

    def to_dict(self) -> dict[str, Any]:
        """Return the candidate as JSON-ready values; absent fields (None, no tags, no meta) are left out."""
        pairs: dict[str, Any] = {"content": self.content, "salience": self.salience, "source": self.source}
        pairs |= {"observed": self.observed, "date": self.date, "tags": list(self.tags), "meta": dict(self.meta)}
        return {key: value for key, value in pairs.items() if value is not None and value not in ([], {})}


@dataclass(frozen=True, slots=True)
class ExtractOptions:
    """What to do with the candidates of a reply.

    Attributes:
        min_salience: Drop candidates below this (calibrated) salience; 0 to 1.
        max_candidates: Keep at most so many, the most salient first; None keeps all.
        default_observed: The `observed` of a candidate where neither the model nor the turn gives one.

    Raises:
        OptionError: A value is out of range; the message names the field, the value and what is allowed.
    """

    min_salience: float = 0.0
    max_candidates: int | None = None
    default_observed: str | None = None

    def __post_init__(self) -> None:
        number_in_unit_interval("min_salience", self.min_salience)
        cap = self.max_candidates
        if cap is not None and (isinstance(cap, bool) or not isinstance(cap, int) or cap < 0):
            raise OptionError(f"max_candidates must be None or a whole number from 0 up, got {cap!r}")
        _optional_text("default_observed", self.default_observed)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a chat model answered.

    Attributes:
        text: The answer's text; "" if there is none.
        finish_reason: Why it ended ("stop", "length"), where the server says so.
        input_tokens: Tokens of the request, where known.
        output_tokens: Tokens of the answer, where known.
    """

    text: str
    finish_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Dropped:
    """An item of a reply that was not used.

    Attributes:
        reason: Why, in a few words ("no content", "salience is not a number", "below min_salience").
        text: The item as it stood, shortened to 200 characters.
    """

    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class ReplyReading:
    """A reply as it could be read, without any turn.

    Attributes:
        items: The usable items in the order of the reply, with no more than the model gave.
        status: How the reply could be read.
        dropped: The items that could not be used, and why.
    """

    items: tuple[Candidate, ...]
    status: Status
    dropped: tuple[Dropped, ...] = ()


@dataclass(frozen=True, slots=True)
class ExtractionResult:
    """Candidates with their evidence.

    Attributes:
        candidates: What the turn is worth, after provenance, calibration and options.
        reply: What the model answered, word for word; of a split turn the replies to all its parts, put together.
        status: How the reply could be read. `empty` ("nothing worth keeping") and `malformed` ("could not be read") never mix.
        dropped: Items that were skipped while reading, were merged with another, or fell to `min_salience` or `max_candidates`, and why.
        parts: Of a turn that was split, the result of each part, in order, before merging, `min_salience` and `max_candidates`; else ().
    """

    candidates: tuple[Candidate, ...]
    reply: Reply
    status: Status
    dropped: tuple[Dropped, ...] = ()
    parts: tuple[ExtractionResult, ...] = ()


def clamp_salience(value: float) -> float:
    """Return `value` clamped to [0, 1]; NaN becomes 0, as a salience that is no number claims nothing."""
    return 0.0 if math.isnan(value) else min(1.0, max(0.0, float(value)))

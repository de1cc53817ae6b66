"""The value types of labelled model output. Nothing is read here.

Replies with their right reading are the conformance suite of `salience.read_reply`; statements come with whether their conversation bears
them out.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from evals.cases import Text, Unit

ReadingStatus = Literal["ok", "empty", "repaired", "truncated", "malformed"]


class ReplyItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A candidate that the reply holds; fields that it does not give are at their defaults."""

    content: Text
    salience: Unit
    source: Text | None = None
    observed: Text | None = None
    date: Text | None = None
    tags: tuple[Text, ...] = ()
    meta: dict[str, Any] = {}


class ReplyCase(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A reply as it came, and how it is to be read.

    Attributes:
        id: Unique in the dataset.
        reply: The text, which may be empty.
        status: How it can be read.
        items: The candidates in it, in order.
        phenomenon: What makes it worth having.
        model: The model that gave it, None where it was written by hand.
    """

    id: Text
    reply: str
    status: ReadingStatus
    items: tuple[ReplyItem, ...] = ()
    phenomenon: Text
    model: Text | None = None


class LabelledClaim(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A statement with people's answer to "does the conversation bear it out?".

    Attributes:
        id: Unique in the file.
        case: Id of the case it was returned for.
        statement: What was returned.
        supported: Whether the case's messages bear it out.
        source: What returned it.
    """

    id: Text
    case: Text
    statement: Text
    supported: bool
    source: Text

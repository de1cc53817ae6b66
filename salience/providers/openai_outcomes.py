"""What is sent in one attempt, and what can come of it. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Send:
    """A request to send: a POST of JSON.

    Attributes:
        path: What follows the base address, such as "/chat/completions".
        body: The body; a conversation, so that no repr shows it.
        largest: The most bytes that are read of a success; of an error it is 64 KiB.
    """

    path: str
    body: bytes = field(repr=False)
    largest: int = 16 << 20


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server sent, whatever its status; the server may have put the key into it, so that no repr shows headers or body.

    Attributes:
        status: The HTTP status.
        headers: The headers, with names in lower case.
        body: The body, of a longer one the first bytes.
        is_cut: Whether the body is longer than was read.
    """

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """That there is no answer.

    Attributes:
        kind: "connection" (none made, or broken), "timeout", "protocol" (no valid HTTP), "trust" (the certificate), "setup" (this machine).
        told: What happened, as half a sentence.
    """

    kind: Literal["connection", "timeout", "protocol", "trust", "setup"]
    told: str


@dataclass(frozen=True, slots=True)
class Wait:
    """That nothing is to be sent for some seconds."""

    seconds: float

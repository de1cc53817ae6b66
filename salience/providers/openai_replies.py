"""Chat completions and vectors as servers send them, to replies and lists of numbers. Servers differ most in where the thinking goes."""

from __future__ import annotations

import base64
import math
import struct
from dataclasses import dataclass
from typing import Any

from salience.providers.openai_errors import BadReplyError, RefusalError, ServerError
from salience.providers.openai_faults import Peer
from salience.types import Reply

_MOST_TOKENS = 2**53
_TEXT_PARTS = frozenset({"text", "output_text"})


@dataclass(frozen=True, slots=True)
class OpenAIReply(Reply):
    """A reply with how it was got.

    Attributes:
        attempts: How often the call was sent, retries and refused parameters included; from 1 up.
        fallbacks: What was left out of what was asked for, as the server refuses it: "loose-schema", "no-schema", "no-temperature".
    """

    attempts: int = 1
    fallbacks: tuple[str, ...] = ()


def read_completion(entry: Any, peer: Peer, attempts: int, fallbacks: tuple[str, ...]) -> OpenAIReply:
    """Return the reply of a chat completion.

    Args:
        entry: The parsed body of a success.
        peer: Who sent it.
        attempts: How often the call was sent.
        fallbacks: What the request left out.

    Returns:
        The reply. Thinking is no part of the text where the server tells it apart. A count that is no whole number from 0 up is None.

    Raises:
        BadReplyError: It is no chat completion.
        RefusalError: The model or a content filter declined.
        ServerError: The answer ended with an error.
    """
    try:
        choice = entry["choices"][0]
        message, usage = choice["message"], _mapping(entry.get("usage"))
        content, refusal, reason = message.get("content"), message.get("refusal"), choice.get("finish_reason")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise _bad(peer, "a JSON that is no chat completion, as it has no choices with a message", entry) from None
    if reason == "error" or choice.get("error"):  # a provider behind a gateway failed; what there is of a text is no answer
        told = peer.secrets.redact(str(choice.get("error") or "no reason given"))
        raise ServerError(f"{peer.shown} could not finish the answer: {told}. Try again later, or ask another model")
    if isinstance(refusal, str) and refusal.strip():
        raise RefusalError(f"{peer.model!r} refuses to answer: {peer.secrets.redact(refusal)}. Leave the text out, or ask another model")
    if reason == "content_filter":
        raise RefusalError(f"the content filter of {peer.shown} stopped the answer. Leave the text out, or ask another model")
    if not isinstance(content, str | list | None):
        raise _bad(peer, "a content that is no text", content)
    text = "".join(map(_text_of_part, content)) if isinstance(content, list) else content or ""
    return OpenAIReply(
        peer.secrets.hide(text),
        peer.secrets.redact(reason, 60) if isinstance(reason, str) else None,
        _count(usage.get("prompt_tokens")),
        _count(usage.get("completion_tokens")),
        attempts,
        fallbacks,
    )


def read_vectors(entry: Any, count: int, dimensions: int | None, peer: Peer) -> list[list[float]]:
    """Return the vectors of an answer in the order of the texts, whatever the order in it.

    Args:
        entry: The parsed body of a success.
        count: How many texts were sent.
        dimensions: The length that every vector must have; None for any, the same for all.
        peer: Who sent it.

    Raises:
        BadReplyError: It is no list of vectors, or vectors are missing, twice there, of another length or not of finite numbers.
    """
    rows = entry.get("data") if isinstance(entry, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise _bad(peer, "a JSON without a list of embeddings in `data`", entry)
    places = [row.get("index", place) for place, row in enumerate(rows)]
    if sorted(place if type(place) is int else -1 for place in places) != list(range(count)):
        raise BadReplyError(f"{peer.shown} sent {len(rows)} vectors for {count} texts, or wrong indexes; no vector was used. Ask again")
    vectors = dict(zip(places, (_vector(row.get("embedding"), peer) for row in rows), strict=True))
    wanted = dimensions or len(vectors[0])
    for vector in vectors.values():
        if len(vector) != wanted:
            told = f"{peer.shown} sent a vector of {len(vector)} dimensions for {peer.model!r}, where {wanted} are expected"
            raise BadReplyError(f"{told}; give dimensions=... as the model has them, and keep to one model in a store")
    return [vectors[place] for place in range(count)]


def _vector(value: Any, peer: Peer) -> list[float]:
    if isinstance(value, str):
        value = _decoded(value)
    if not isinstance(value, list) or not value:
        raise BadReplyError(f"{peer.shown} sent an embedding that is no list of numbers; is {peer.model!r} an embedding model?")
    if not all(type(number) in {int, float} and abs(number) < 1e300 and math.isfinite(number) for number in value):
        raise BadReplyError(f"{peer.shown} sent an embedding with what is no finite number; look into the server's log")
    return [float(number) for number in value]


def _decoded(text: str) -> list[float] | None:
    """Return the numbers of a vector in base64 (float32, the lowest byte first), or None."""
    try:
        data = base64.b64decode(text, validate=True)
        return list(struct.unpack(f"<{len(data) // 4}f", data))
    except (ValueError, struct.error):
        return None


def _text_of_part(part: Any) -> str:
    if isinstance(part, str):
        return part
    entry = _mapping(part)
    text = entry.get("text")
    return text if isinstance(text, str) and entry.get("type", "text") in _TEXT_PARTS else ""


def _bad(peer: Peer, what: str, entry: Any) -> BadReplyError:
    start = peer.secrets.redact(str(entry)[:4096], 200)
    return BadReplyError(f"{peer.shown} sent {what}: {start}. Check that base_url is that of an OpenAI-compatible API")


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < _MOST_TOKENS else None  # a bool is no count

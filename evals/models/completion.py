"""A chat completion as servers send it, to the parts of a reply. Servers differ most in where the thinking goes."""

from __future__ import annotations

from typing import Any

from evals.errors import CallError
from evals.models.base import ModelReply
from evals.models.http_faults import Peer

_MOST_TOKENS = 2**53
_REASONING = ("reasoning_content", "reasoning")
_TEXT_PARTS = frozenset({"text", "output_text"})
_THINKING_PARTS = frozenset({"thinking", "reasoning"})


def error_inside(entry: Any) -> tuple[int, Any] | None:
    """Return status and error of a body that came with a status of success and holds an error after all, as gateways send it."""
    error = entry.get("error") if isinstance(entry, dict) else None
    if not error:
        error = _error_of_choice(entry)
    if not error:
        return None
    code = error.get("code") if isinstance(error, dict) else None
    return code if type(code) is int and 400 <= code < 600 else 502, error


def _error_of_choice(entry: Any) -> Any:
    """The error of a choice that a provider behind a gateway failed to finish, or None."""
    try:
        choice = entry["choices"][0]
        return choice.get("error") or ("the choice ended with an error" if choice.get("finish_reason") == "error" else None)
    except (KeyError, IndexError, TypeError, AttributeError):
        return None


def read_completion(entry: Any, peer: Peer, fallbacks: tuple[str, ...] = ()) -> ModelReply:
    """Return the reply of a chat completion.

    Args:
        entry: The parsed body of a success.
        peer: Who sent it.
        fallbacks: What the request left out or changed, for the reply.

    Returns:
        The reply after one attempt. A refusal is the text, with the reason "refusal". Thinking is no part of the text where the server
        tells it apart. A count that is no whole number from 0 up is None.

    Raises:
        CallError: It is no chat completion.
    """
    try:
        choice = entry["choices"][0]
        message, usage = choice["message"], _mapping(entry.get("usage"))
        content, refusal, reason = message.get("content"), message.get("refusal"), choice.get("finish_reason")
        details = _mapping(usage.get("completion_tokens_details"))
        counts = [usage.get("prompt_tokens"), usage.get("completion_tokens"), details.get("reasoning_tokens")]
    except (KeyError, IndexError, TypeError, AttributeError):
        raise CallError("bad-reply", f"{peer.shown} sent no chat completion: {peer.excerpt(str(entry))}", retryable=True) from None
    if content is None and isinstance(refusal, str):
        content, reason = refusal, "refusal"
    if not isinstance(content, str | list | None):
        raise CallError("bad-reply", f"{peer.shown} sent a content that is no text: {peer.excerpt(str(content))}", retryable=True)
    text, thought = _parts(content) if isinstance(content, list) else (content or "", False)
    if content and not (text or thought):
        raise CallError("bad-reply", f"{peer.shown} sent a content without text: {peer.excerpt(str(content))}", retryable=True)
    thought = thought or any(isinstance(message.get(key), str) and message[key].strip() for key in _REASONING)
    only = thought and not text.strip()
    return ModelReply(
        "" if only else peer.secrets.hide(text),
        reason if isinstance(reason, str) else None,
        _count(counts[0]),
        _count(counts[1]),
        fallbacks=fallbacks,
        reasoning_tokens=_count(counts[2]),
        reasoning_only=only,
    )


def _parts(content: list[Any]) -> tuple[str, bool]:
    """Return the text of a content in parts, and whether a part is thinking."""
    parts = [{"text": part} if isinstance(part, str) else _mapping(part) for part in content]
    texts = [part["text"] for part in parts if part.get("type", "text") in _TEXT_PARTS and isinstance(part.get("text"), str)]
    return "".join(texts), any(part.get("type") in _THINKING_PARTS for part in parts)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < _MOST_TOKENS else None  # a bool is no count

"""What a server's failure means: status, body and headers to a `CallError`. Nothing is sent here, and no key leaves in a message."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from evals.errors import CallError

_TextOrBytes = TypeVar("_TextOrBytes", str, bytes)

_RETRYABLE = frozenset({408, 409, 425, 429})
_TOO_LONG = re.compile(
    r"context[ _](?:length|size|window)|maximum context|exceed_context_size|too many (?:input )?tokens|(?:prompt|input) is too long",
    re.IGNORECASE,
)
_SECRETS = re.compile(r"\b(?:sk|rk|pk)-[\w-]{6,}|(?<=Bearer )[^\s\"',]+|(?<=://)[^/@\s]+(?=@)")
_SHORTEST_KEY = 8
_HIDDEN = "[redacted]"


def redact(text: str, key: str | None) -> str:
    """Return text without the key, without anything that looks like one, and without credentials in addresses."""
    return _SECRETS.sub(_HIDDEN, hide_key(text, key))


def hide_key(text: _TextOrBytes, key: str | None) -> _TextOrBytes:
    """Return text without the key itself, for a reply that is otherwise kept word for word. Placeholders under 8 characters stay."""
    if not key or len(key) < _SHORTEST_KEY:
        return text
    return text.replace(key.encode(), _HIDDEN.encode()) if isinstance(text, bytes) else text.replace(key, _HIDDEN)


def parse_retry_after(value: str | None, now: datetime.datetime, cap: float) -> float | None:
    """Return how many seconds a server asks to wait.

    Args:
        value: The header `Retry-After`: seconds, or an HTTP date (RFC 9110, 10.2.3); None where it is missing.
        now: The time now, with a time zone.
        cap: The most seconds to return.

    Returns:
        Seconds from 0 to `cap`, or None where nothing usable is said.
    """
    if value is None:
        return None
    if re.fullmatch(r"\s*\d+(?:\.\d+)?\s*", value, re.ASCII):
        return min(float(value), cap)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return min(max((moment - now).total_seconds(), 0.0), cap)


def parse_json(body: bytes) -> Any:
    """Return the value of a JSON body.

    Raises:
        CallError: It is cut off or no JSON ("bad-reply", retryable).
    """
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        start = body[:120].decode("utf-8", "replace")
        raise CallError("bad-reply", f"the server's answer of {len(body)} bytes is no JSON: {start!r}", retryable=True) from None


def _message(body: bytes) -> tuple[str, str]:
    """Return the message and the code of an error body, whatever its shape."""
    text = body.decode("utf-8", "replace").strip()
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError):
        return text, ""
    error = entry.get("error", entry) if isinstance(entry, dict) else entry
    if not isinstance(error, dict):
        return str(error), ""
    code = " ".join(str(error[field]) for field in ("code", "type") if error.get(field))
    return str(error.get("message") or error.get("detail") or text), code


_SCHEMA = re.compile(r"response_format|json_schema|guided|grammar|structured", re.IGNORECASE)


def fault(status: int, body: bytes, retry_after: float | None, where: str) -> CallError:
    """Return what an HTTP status other than 200 means.

    Args:
        status: The status, 100 to 599.
        body: The body as far as it was read.
        retry_after: Seconds that the server asks to wait, where it does.
        where: The endpoint as it may be shown.

    Returns:
        The error, not yet redacted. Its kind is "auth" (401, 403), "too_long", "rate-limit" (429) or "http".
    """
    message, code = _message(body)
    told = f"{where} answered {status}: {message[:1000] or 'nothing'}"
    if status in {401, 403}:
        return CallError("auth", f"{told}. Check the key in OPENAI_API_KEY and what it may use")
    if status in {400, 413, 422} and (_TOO_LONG.search(message) or _TOO_LONG.search(code)):
        return CallError("too_long", told)
    if status == 429:
        return CallError("rate-limit", told, retryable="insufficient_quota" not in code, retry_after=retry_after)
    if status == 404:
        told += ". Check the model's name, and that the address ends as the server's manual says (most often in /v1)"
    if status in {400, 422} and _SCHEMA.search(message):
        told += ". If the server cannot enforce a JSON schema, use a policy without one, such as -p plain"
    return CallError("http", told, retryable=status in _RETRYABLE or status >= 500, retry_after=retry_after)


_MOST_TOKENS = 2**53


def read_completion(entry: Any, where: str) -> Mapping[str, Any]:
    """Return the parts of a chat completion that a reply needs.

    Args:
        entry: The parsed body of a status 200.
        where: The endpoint as it may be shown.

    Returns:
        text, finish_reason, input_tokens and output_tokens. A refusal is the text, with the reason "refusal".

    Raises:
        CallError: The body is an error after all, or no chat completion.
    """
    if isinstance(entry, dict) and entry.get("error"):
        error = entry["error"]
        code = error.get("code") if isinstance(error, dict) else None
        status = code if isinstance(code, int) and 400 <= code < 600 else 502
        raise fault(status, json.dumps({"error": error}).encode(), None, where)
    try:
        choice = entry["choices"][0]
        message, usage = choice["message"], entry.get("usage") or {}
        text, refusal, reason = message.get("content"), message.get("refusal"), choice.get("finish_reason")
        counts = [usage.get("prompt_tokens"), usage.get("completion_tokens")]
    except (KeyError, IndexError, TypeError, AttributeError):
        raise CallError("bad-reply", f"{where} sent no chat completion: {str(entry)[:200]}", retryable=True) from None
    if text is None and isinstance(refusal, str):
        text, reason = refusal, "refusal"
    if not isinstance(text, str | None):
        raise CallError("bad-reply", f"{where} sent a content that is no text: {str(text)[:200]}", retryable=True)
    whole = [count if type(count) is int and 0 <= count < _MOST_TOKENS else None for count in counts]  # a bool is no count
    finish = reason if isinstance(reason, str) else None
    return {"text": text or "", "finish_reason": finish, "input_tokens": whole[0], "output_tokens": whole[1]}

"""What a server's failure means: status, body and headers to a `CallError`. Nothing is sent here, and no key leaves in a message."""

from __future__ import annotations

import datetime
import json
import re
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from evals.errors import TOO_LONG_ADVICE, CallError
from evals.models.redaction import Secrets

_RETRYABLE = frozenset({408, 409, 425, 429})
_NEVER = frozenset({501, 505})
_MAY_BE_TOO_LONG = frozenset({400, 404, 413, 422, 500})
_TOO_LONG = re.compile(
    r"context[ _](?:length|size|window|limit)|maximum context|exceed_context_size|string_above_max_length"  # OpenAI, llama.cpp, Ollama
    r"|longer than the (?:maximum )?model|max_model_len|maximum prompt length"  # vLLM, SGLang, xAI
    r"|(?:prompt|input|request)(?: (?:is|was))? too (?:long|large)|prompt contains \d+ tokens|reduce the length of"  # Anthropic, Mistral
    r"|too many (?:input )?tokens|token count(?: \(\d+\))? exceeds"  # Cohere, Gemini
    r"|inputs`? tokens \+ `?max_new_tokens|inputs`? must have less than|exceed(?:s|ed)? max context",  # TGI
    re.IGNORECASE,
)
_SCHEMA = re.compile(r"response_format|json_schema|guided|grammar|structured", re.IGNORECASE)
_LONGEST_WAIT = 1e6
_MOST_SHOWN, _MOST_TOLD = 1000, 600


@dataclass(frozen=True, slots=True)
class Peer:
    """Who answers, for messages.

    Attributes:
        shown: The address as it may be shown.
        secrets: What no message may show.
        key_advice: What to do where the key is refused, as a sentence.
    """

    shown: str
    secrets: Secrets = field(default_factory=Secrets)
    key_advice: str = "Check the key in OPENAI_API_KEY and what it may use"

    def excerpt(self, text: str, limit: int = 200) -> str:
        """Return the start of what a server sent. What is secret goes first, as shortening could leave a part of it."""
        return self.secrets.redact(text)[:limit]


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """What the body of an error says.

    Attributes:
        message: The text for a person; "" for none.
        code: All codes, types and states, joined by spaces; "" for none.
        param: The parameter that it blames, such as "temperature" or "response_format.json_schema"; "" where it does not say.
    """

    message: str
    code: str = ""
    param: str = ""


def parse_retry_after(value: str | None, now: datetime.datetime, cap: float = _LONGEST_WAIT) -> float | None:
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
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return min(max((moment - now).total_seconds(), 0.0), cap)


def parse_error(body: bytes) -> ErrorBody:
    """Return what an error's body says, whatever its shape: OpenAI's, FastAPI's, Google's (a list), a plain text, a web page."""
    text = " ".join(body.decode("utf-8", "replace").split())
    try:
        entry = json.loads(body)
    except (ValueError, RecursionError):
        return ErrorBody(text)
    codes: list[str] = []
    param = ""
    for _ in range(6):
        if isinstance(entry, list) and entry:
            entry = entry[0]
        if not isinstance(entry, dict):
            break
        codes += [str(entry[key]) for key in ("code", "type", "status", "error_type") if isinstance(entry.get(key), str | int)]
        param = param or _blamed(entry)
        entry = next((entry[key] for key in ("error", "message", "detail", "msg", "errors") if entry.get(key)), text)
    message = entry if isinstance(entry, str) else text
    if param and param not in message:
        message += f" ({param})"
    return ErrorBody(" ".join(message.split()), " ".join(codes), param)


def _blamed(entry: dict[str, Any]) -> str:
    """Return the parameter that a level of an error names: OpenAI's `param`, FastAPI's `loc`."""
    param, place = entry.get("param"), entry.get("loc")
    if isinstance(place, list):
        return ".".join(str(part) for part in place if part != "body")
    return param if isinstance(param, str) else ""


def parse_json(body: bytes, peer: Peer) -> Any:
    """Return the value of a JSON body.

    Raises:
        CallError: It is empty, cut off or no JSON ("bad-reply", retryable).
    """
    if not body.strip():
        raise CallError("bad-reply", f"{peer.shown} sent an empty answer", retryable=True)
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        start = peer.excerpt(body.decode("utf-8", "replace"), 120)
        what = "a web page, no JSON; check the address" if start.lstrip().startswith("<") else "no JSON"
        raise CallError("bad-reply", f"the server's answer of {len(body)} bytes is {what}: {start!r}", retryable=True) from None


def event_stream(peer: Peer) -> CallError:
    """Return the error for an answer that comes as a stream of events."""
    return CallError(
        "bad-reply", f"{peer.shown} sent a stream of events, which was not asked for; check the address and the server's settings"
    )


def redirect(status: int, location: str | None, peer: Peer) -> CallError:
    """Return the error for a status from 300 to 399, which is not followed, as the key would go along."""
    target = peer.secrets.redact(urlsplit(location or "")._replace(query="", fragment="").geturl()) if location else "nowhere"
    told = f"{peer.shown} answered {status} and points to {target[:200]}, which is not followed; give the address itself as --base-url"
    return CallError("http", told, status=status)


def fault(status: int, told: ErrorBody, retry_after: float | None, peer: Peer) -> CallError:
    """Return what an HTTP status from 400 up means.

    Args:
        status: The status.
        told: What the body says.
        retry_after: Seconds that the server asks to wait, where it does.
        peer: Who answered.

    Returns:
        The error. Its kind is "auth" (401, 403), "too_long", "rate-limit" (429) or "http".
    """
    shown = peer.excerpt(f"{peer.shown} answered {status}: {peer.excerpt(told.message, _MOST_SHOWN) or 'nothing'}", _MOST_TOLD)
    if status in {401, 403}:
        return CallError("auth", f"{shown}. {peer.key_advice}", status=status)
    if is_too_long(status, told):
        return CallError("too_long", shown + TOO_LONG_ADVICE, status=status)
    if status == 429:
        retryable = "insufficient_quota" not in told.code
        return CallError("rate-limit", shown, retryable=retryable, retry_after=retry_after, status=status)
    if status == 404:
        shown += ". Check the model's name, and that the address ends as the server's manual says (most often in /v1)"
    if status in {400, 422} and _SCHEMA.search(told.message):
        shown += ". If the server cannot enforce a JSON schema, use a policy without one, such as -p plain"
    retryable = status in _RETRYABLE or (status >= 500 and status not in _NEVER)
    return CallError("http", shown, retryable=retryable, retry_after=retry_after, status=status)


def is_too_long(status: int, told: ErrorBody) -> bool:
    """Return whether an error says that the request is longer than the model or the server takes."""
    said = f"{told.message} {told.code}"
    return status == 413 or (status in _MAY_BE_TOO_LONG and _TOO_LONG.search(said) is not None)

"""What an outcome of one attempt means: the parsed JSON of a success, or one clear error. No key leaves in a text."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from salience.providers.openai_errors import (
    BadReplyError,
    DeadlineError,
    KeyRefusedError,
    NoConnectionError,
    ProviderError,
    QuotaError,
    RateLimitError,
    RefusalError,
    RequestError,
    ServerError,
)
from salience.providers.openai_outcomes import Answer, Failure
from salience.providers.openai_secrets import KEY_VARIABLE, Secrets

UNSUPPORTED = re.compile(r"not (?:yet )?(?:supported|implemented|allowed)|unsupported|unknown (?:field|param)", re.IGNORECASE)
"""How a server says, also with a 500, that it cannot do what a parameter asks for."""

_RETRYABLE = frozenset({408, 409, 425})
_QUOTA = re.compile(
    r"insufficient_quota|billing_(?:hard_limit|not_active)|exceeded your current quota|insufficient (?:credit|balance)", re.I
)
_FILTERED = re.compile(r"\bcontent_filter\b|\bcontent_policy_violation\b|ResponsibleAIPolicyViolation")
_TOO_LONG = re.compile(
    r"context[ _](?:length|size|window)|maximum context|exceed_context_size|max_model_len|too (?:long|large)\b|reduce the length of", re.I
)
_LONGEST_WAIT = 1e6


@dataclass(frozen=True, slots=True)
class Peer:
    """Who answers, for messages.

    Attributes:
        shown: The base address as it may be shown.
        model: The model asked for.
        secrets: What no text may show.
    """

    shown: str
    model: str
    secrets: Secrets


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """What the body of an error says: the text for a person, all codes and types, and the parameter that it blames; "" for none."""

    message: str
    code: str = ""
    param: str = ""


def judge(outcome: Answer | Failure, peer: Peer) -> tuple[ProviderError | None, Any]:
    """Return the error that an outcome means, or None and the parsed JSON of a success."""
    if isinstance(outcome, Failure):
        return _failure(outcome, peer), None
    if 300 <= outcome.status < 400:
        return _redirect(outcome, peer), None
    if outcome.status >= 400:
        return fault(outcome.status, parse_error(outcome.body), outcome.headers, peer), None
    return _success(outcome, peer)


def _success(answer: Answer, peer: Peer) -> tuple[ProviderError | None, Any]:
    if answer.is_cut:
        told = f"{peer.shown} sent an answer of more than {len(answer.body) >> 20} MiB, which was not read to its end; check the address"
        return BadReplyError(told, status=answer.status), None
    if answer.headers.get("content-type", "").startswith("text/event-stream"):
        told = f"{peer.shown} sent a stream of events, which was not asked for; check the address and the server's settings"
        return BadReplyError(told, status=answer.status), None
    try:
        entry = json.loads(peer.secrets.hide(answer.body.decode()))  # hidden here too, for whoever shows the variables of a traceback
    except (ValueError, RecursionError):
        start = peer.secrets.redact(answer.body[:4096].decode("utf-8", "replace"), 120)
        what = f"{len(answer.body)} bytes that are no JSON: {start!r}" if start else "an empty answer"
        return BadReplyError(f"{peer.shown} sent {what}. Check that the address is that of an API", status=answer.status), None
    error = entry.get("error") if isinstance(entry, dict) else None
    if not error:
        return None, entry
    code = error.get("code") if isinstance(error, dict) else None  # gateways send errors with a status of success
    status = code if type(code) is int and 400 <= code < 600 else 502
    return fault(status, parse_error(answer.body), answer.headers, peer), None


def _failure(failure: Failure, peer: Peer) -> ProviderError:
    if failure.kind == "timeout":
        return DeadlineError(f"{peer.shown} gave {failure.told}; give a longer timeout=..., or ask for less (max_tokens)")
    if failure.kind == "protocol":
        return BadReplyError(f"{peer.shown} answered, but {failure.told}; check the address and its port")
    told = f"no connection to {peer.shown}: {failure.told}"
    if failure.kind != "connection":
        return NoConnectionError(told)
    return NoConnectionError(f"{told}. Start the server, or check the address and the network", retryable=True)


def _redirect(answer: Answer, peer: Peer) -> RequestError:
    target = answer.headers.get("location", "")
    try:
        target = urlsplit(target)._replace(query="", fragment="").geturl()
    except ValueError:
        target = ""
    told = f"{peer.shown} answered {answer.status} and points to {peer.secrets.redact(target, 200) or 'nowhere'}"
    return RequestError(f"{told}. It is not followed, as the key would go along: give the right address as base_url", status=answer.status)


def fault(status: int, told: ErrorBody, headers: Mapping[str, str], peer: Peer) -> ProviderError:
    """Return what an HTTP status from 400 up means.

    Args:
        status: The status.
        told: What the body says.
        headers: The answer's headers, with names in lower case.
        peer: Who answered.
    """
    said, param = peer.secrets.redact(told.message), peer.secrets.redact(told.param)
    shown = f"{peer.shown} answered {status}: {said or 'nothing'}"
    both = f"{told.message} {told.code}"
    if status in {401, 403}:
        return KeyRefusedError(f"{shown}. Check api_key or {KEY_VARIABLE}, and what the key may use", status=status, said=said)
    if status == 402 or (status == 429 and _QUOTA.search(both)):
        return QuotaError(f"{shown}. The account has no quota left: see its plan and billing", status=status, said=said)
    if status == 429:
        wait = parse_retry_after(headers, datetime.datetime.now(datetime.UTC))
        advice = ". Ask less often, or for a higher limit"
        return RateLimitError(shown + advice, status=status, retryable=True, retry_after=wait, said=said)
    if status < 500 and _FILTERED.search(both):
        return RefusalError(f"{shown}. The service's content filter refuses this text; leave it out, or ask another model", status=status)
    if status >= 500 or status in _RETRYABLE:
        wait = parse_retry_after(headers, datetime.datetime.now(datetime.UTC))
        again = status not in {501, 505} and not UNSUPPORTED.search(told.message)
        advice = ". Try again later, or look into the server's log"
        return ServerError(shown + advice, status=status, retryable=again, retry_after=wait, said=said, param=param)
    return RequestError(shown + _advice(status, both, peer), status=status, said=said, param=param)


def _advice(status: int, both: str, peer: Peer) -> str:
    if status == 413 or _TOO_LONG.search(both):
        return ". Send a shorter text, or use a model with a longer context"
    if status in {404, 405}:
        return f". Check the model's name ({peer.model!r}), and that base_url ends as the server's manual says (most often in /v1)"
    return ". Change the request as it says"


def parse_retry_after(headers: Mapping[str, str], now: datetime.datetime) -> float | None:
    """Return how many seconds a server asks to wait.

    Args:
        headers: The answer's headers, with names in lower case: `retry-after` (seconds or an HTTP date), `retry-after-ms` before it.
        now: The time now, with a time zone.

    Returns:
        Seconds from 0 to a million, or None where nothing usable is said.
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        if re.fullmatch(r"\s*\d{1,12}(?:\.\d{1,9})?\s*", headers.get(name, ""), re.ASCII):
            return min(float(headers[name]) / unit, _LONGEST_WAIT)
    try:
        moment = parsedate_to_datetime(headers.get("retry-after", ""))
    except (ValueError, OverflowError, TypeError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return min(max((moment - now).total_seconds(), 0.0), _LONGEST_WAIT)


def parse_error(body: bytes) -> ErrorBody:
    """Return what an error's body says, whatever its shape: OpenAI's, FastAPI's, a list of errors, a plain text, a web page."""
    text = body.decode("utf-8", "replace")
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
        codes += [str(entry[key]) for key in ("code", "type", "status") if isinstance(entry.get(key), str | int)]
        place = entry.get("loc")
        blamed = entry.get("param") or (place[-1] if isinstance(place, list) and place else "")
        param = param or (blamed if isinstance(blamed, str) else "")
        entry = next((entry[key] for key in ("error", "message", "detail", "msg", "errors") if entry.get(key)), text)
    return ErrorBody(entry if isinstance(entry, str) else text, " ".join(codes), param)

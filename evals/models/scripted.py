"""Models whose answers are given beforehand: a queue for tests, a file for tests and for replay without a server."""

from __future__ import annotations

import hashlib
import json
import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.errors import CallError, ModelError
from evals.models.base import Fingerprint, ModelReply
from evals.requests import request_hash
from salience import Request
from salience.protocols import Message
from salience.types import Reply


@dataclass(frozen=True, slots=True)
class Call:
    """One call as a `ScriptedModel` got it."""

    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None
    max_tokens: int | None
    temperature: float | None
    seed: int | None


class ScriptedModel:
    """Answers from a queue, in the order of the calls, and keeps every call in `calls`.

    Args:
        queue: Reply texts, whole replies, or errors to raise, first call first.
        name: The model's name.
    """

    def __init__(self, queue: Iterable[str | Reply | CallError], *, name: str = "scripted/queue") -> None:
        self._queue = deque(queue)
        self.name = name
        self.fingerprint: Fingerprint = {"engine": "scripted", "script": name}
        self.concurrency = 1
        self.calls: list[Call] = []

    async def prepare(self) -> None:
        """Do nothing: the answers are there."""

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,
    ) -> ModelReply:
        """Return or raise the next item of the queue; an empty queue is a `CallError`."""
        self.calls.append(Call(tuple(messages), schema, max_tokens, temperature, seed))
        if not self._queue:
            raise CallError("unscripted", f"{self.name}: the queue is empty at call {len(self.calls)}; give it one item a call")
        item = self._queue.popleft()
        if isinstance(item, CallError):
            raise item
        if isinstance(item, str):
            return ModelReply(item)
        return item if isinstance(item, ModelReply) else ModelReply(item.text, item.finish_reason, item.input_tokens, item.output_tokens)

    async def close(self) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a script: what is answered to requests whose last message holds `match` (None: to any), or to one request alone."""

    match: str | None
    reply: str
    finish_reason: str | None = None
    error: tuple[str, str] | None = None
    request: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


_LINE_KEYS = {"match", "request", "reply", "finish_reason", "error", "input_tokens", "output_tokens"}
_REQUEST = re.compile(r"[0-9a-f]{64}")


def _text_or_none(value: object) -> bool:
    return value is None or isinstance(value, str)


def _read_rule(line: str, where: str) -> Rule:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{where}: not a line of JSON: {error}") from None
    if not isinstance(entry, dict) or ("match" in entry) == ("request" in entry) or not entry.keys() <= _LINE_KEYS:
        raise ModelError(
            f"{where}: a line is an object with match or request, reply, finish_reason, error, input_tokens and output_tokens, got "
            f"{line.strip()[:120]}"
        )
    failure = entry.get("error")
    if failure is not None and not (isinstance(failure, dict) and all(isinstance(failure.get(key), str) for key in ("kind", "message"))):
        raise ModelError(f'{where}: error must be an object with the strings "kind" and "message", got {failure!r}')
    if failure is None and not isinstance(entry.get("reply"), str):
        raise ModelError(f"{where}: reply must be a string (or give an error), got {entry.get('reply')!r}")
    if not _text_or_none(entry.get("match")) or not _text_or_none(entry.get("finish_reason")):
        raise ModelError(f"{where}: match and finish_reason must be strings or null")
    request = entry.get("request")
    if "request" in entry and not (isinstance(request, str) and _REQUEST.fullmatch(request)):
        raise ModelError(f"{where}: request must be the SHA-256 of a request, 64 hex digits, got {request!r:.120}")
    tokens = [entry.get(name) for name in ("input_tokens", "output_tokens")]
    if not all(one is None or (isinstance(one, int) and not isinstance(one, bool) and one >= 0) for one in tokens):
        raise ModelError(f"{where}: input_tokens and output_tokens must be whole numbers from 0 up or null, got {tokens}")
    pair = (failure["kind"], failure["message"]) if failure else None
    return Rule(entry.get("match"), entry.get("reply") or "", entry.get("finish_reason"), pair, request, *tokens)


class ScriptedFile:
    """Answers from a JSON Lines file, whatever the order or number of the calls.

    Each line is `{"match": text or null, "reply": text, "finish_reason"?: text, "error"?: {"kind": text, "message": text}}`. A call
    gets the first line whose `match` stands in its last message; null stands in every message. A request without a line fails and
    shows itself. An error of the kind "timeout", "connection" or "rate-limit" is retryable, any other is not.
    A line with `"request": SHA-256` in place of `match` answers one request alone (messages, schema and decoding, as run files name
    them; see `evals.requests.request_hash`) and goes before those that match, so that what a search or a run was answered can be
    played again. A line may tell `input_tokens` and `output_tokens`.

    Args:
        name: The model's name, `scripted/FILE`.
        path: The file.

    Raises:
        ModelError: The file cannot be read, or a line is not as above; the message names the line.
    """

    def __init__(self, name: str, path: Path) -> None:
        try:
            data = path.read_bytes()
            lines = data.decode("utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise ModelError(f"{name}: cannot read the script {path}: {error}. Give a JSON Lines file of replies") from None
        self.name = name
        self.fingerprint: Fingerprint = {"engine": "scripted", "script_sha256": hashlib.sha256(data).hexdigest()}
        self.concurrency = 64
        rules = [_read_rule(line, f"{path}, line {number}") for number, line in enumerate(lines, 1) if line.strip()]
        self._rules = [rule for rule in rules if rule.request is None]
        self._by_request = {rule.request: rule for rule in reversed(rules) if rule.request is not None}

    async def prepare(self) -> None:
        """Do nothing: the answers are there."""

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,  # noqa: ARG002
    ) -> ModelReply:
        """Return what the first matching line says; no such line is a `CallError`."""
        last = messages[-1]["content"] if messages else ""
        hashed = request_hash(Request(tuple(messages), schema, max_tokens, temperature)) if self._by_request else ""
        rule = self._by_request.get(hashed)
        rule = rule or next((rule for rule in self._rules if rule.match is None or rule.match in last), None)
        if rule is None:
            of = f" {hashed}" if hashed else ""
            raise CallError("unscripted", f"{self.name}: no line matches the request{of} whose last message is {last[:300]!r}")
        if rule.error:
            kind, message = rule.error
            raise CallError(kind, message, retryable=kind in {"timeout", "connection", "rate-limit"})
        return ModelReply(rule.reply, rule.finish_reason, rule.input_tokens, rule.output_tokens)

    async def close(self) -> None:
        """Do nothing."""

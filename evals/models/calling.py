"""A call that holds against a real server: sent again as long as that may help, paced, and given up with all that is known.

Nothing is known here of any protocol: a model's `chat` is one attempt, and its errors say what kind of failure it was.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from evals.errors import CallError
from evals.models.base import Model, ModelReply, RefusedParameterError
from evals.models.pacing import Pacer
from salience.protocols import Message

__all__ = ["Caller", "Pacer", "Retry"]

_OVERLOADED = frozenset({503, 529})
"""Statuses whose Retry-After is meant for the client, not for one request, as it is with 429 (529 is Anthropic's "overloaded")."""


@dataclass(frozen=True, slots=True)
class Retry:
    """How often and how soon a failed call is sent again.

    Attributes:
        attempts: The most failures of a call other than rate limiting, from 1 up.
        base: Seconds before the second attempt at the most; doubled for each further one.
        cap: The most seconds between two attempts without the server's word.
        patience: The most seconds that a call is tried again because of rate limiting, and the most that a server may ask to wait. A call
            whose server asks for more fails at once.
        limited_attempts: The most answers with 429 for a call, from 1 up.
    """

    attempts: int = 5
    base: float = 0.5
    cap: float = 30.0
    patience: float = 300.0
    limited_attempts: int = 50

    def wait(self, attempt: int, asked: float | None) -> float:
        """Return the seconds to wait after a failed attempt (1 is the first): half to all of the back-off, or longer where asked to."""
        back_off = random.uniform(0.5, 1.0) * min(self.cap, self.base * 2.0 ** min(attempt - 1, 60))
        return back_off if asked is None else max(asked, back_off)


class _Failures:
    """What went wrong with one call so far."""

    def __init__(self, retry: Retry, clock: Callable[[], float]) -> None:
        self._retry, self._clock = retry, clock
        self._faults = self._limited = 0
        self._limited_since: float | None = None

    def wait(self, error: CallError) -> float | None:
        """Return the seconds to wait before the next attempt, or None where there is to be none."""
        if not error.retryable or (error.retry_after or 0) > self._retry.patience:
            return None
        if error.kind != "rate-limit":
            self._faults += 1
            return self._retry.wait(self._faults, error.retry_after) if self._faults < self._retry.attempts else None
        self._limited += 1
        now = self._clock()
        if self._limited_since is None:
            self._limited_since = now
        wait = self._retry.wait(self._limited, error.retry_after)
        left = self._limited_since + self._retry.patience - now
        return wait if wait <= left and self._limited < self._retry.limited_attempts else None


class Caller:
    """Sends calls to one model until they succeed or there is no point in going on.

    A call that waits, for a back-off or because the server asked to wait, holds no slot. No request is sent but through the pacer.

    Args:
        model: Who answers. It stays whoever opened it's to prepare and to close.
        retry: When to try again.
        pacer: How many requests at once, and how fast; by default as many as the model finds worth having. Callers may share one.
        sleep: Waits so many seconds.
        clock: Seconds from a fixed moment.
    """

    def __init__(
        self,
        model: Model,
        *,
        retry: Retry | None = None,
        pacer: Pacer | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.model = model
        self.retry = retry or Retry()
        self.pacer = pacer or Pacer(model.concurrency, clock=clock, sleep=sleep)
        self._sleep, self._clock = sleep, clock

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        before_attempt: Callable[[], None] | None = None,
    ) -> ModelReply:
        """Return the answer to a list of messages; see `Model.chat` for the arguments.

        Args:
            messages: As for `Model.chat`, like all but the last.
            schema: The same.
            max_tokens: The same.
            temperature: The same.
            seed: The same.
            before_attempt: Called right before each request is sent, also before one that tries without a refused parameter. What it
                raises ends the call and comes out as it is; the request is then not sent.

        Raises:
            CallError: The call was given up; `attempts` says after how many requests.
            ModelError: The model cannot be had at all.
        """
        send: Callable[[], Awaitable[ModelReply]]
        send = partial(self.model.chat, messages, schema=schema, max_tokens=max_tokens, temperature=temperature, seed=seed)
        failures: _Failures | None = None
        refused: RefusedParameterError | None = None
        attempt = 0
        while True:
            ticket = await self.pacer.acquire(again=attempt > 0)
            try:
                if before_attempt is not None:
                    before_attempt()
            except BaseException:
                self.pacer.release(ticket)
                raise
            attempt += 1
            outcome = await self._attempt(send, ticket)
            if isinstance(outcome, ModelReply):
                return outcome if outcome.attempts == attempt else replace(outcome, attempts=attempt)
            if isinstance(outcome, RefusedParameterError):
                refused = refused or outcome
                send = outcome.again
                continue
            failures = failures or _Failures(self.retry, self._clock)
            wait = failures.wait(outcome)
            if wait is None:
                raise self._final(outcome, refused, attempt)
            if outcome.retry_after and (outcome.kind == "rate-limit" or outcome.status in _OVERLOADED):
                self.pacer.hold(outcome.retry_after)
            await self._sleep(wait)

    async def _attempt(self, send: Callable[[], Awaitable[ModelReply]], ticket: int) -> ModelReply | CallError:
        """Send once, tell the pacer how it went, and return reply or error."""
        pacer = self.pacer
        try:
            reply = await send()
        except CallError as error:
            if error.retryable and error.kind == "rate-limit":
                pacer.limited(ticket)
            elif error.retryable and (error.kind in {"connection", "timeout"} or (error.status or 0) >= 500):
                pacer.congested(ticket)
            elif error.status is None:
                pacer.release(ticket)
            else:
                pacer.answered(ticket)
            return error
        except BaseException:
            pacer.release(ticket)
            raise
        pacer.succeeded(ticket)
        return reply

    def _final(self, error: CallError, refused: RefusedParameterError | None, attempts: int) -> CallError:
        """Return the error to raise: where nothing else was accepted either, what the server refused first."""
        told = refused if refused and error.kind == "http" and not error.retryable else error
        message = str(told)
        if (told.retry_after or 0) > self.retry.patience:
            message += f" (it asks to wait {told.retry_after:.0f} s, which is longer than {self.retry.patience:g} s)"
        if attempts > 1:
            message += f" (after {attempts} attempts)"
        return CallError(told.kind, message, retryable=told.retryable, retry_after=told.retry_after, attempts=attempts, status=told.status)

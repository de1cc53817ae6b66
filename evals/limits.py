"""How much a run may ask for: requests, tokens, dollars, failures. A limit that is reached ends the run cleanly; it can be resumed.

Tokens and cost of a call are known when it is over, so a call sets aside what it may take at the most before it starts, and waits while
others in flight have set aside what it would need. A limit therefore holds also with many calls in flight.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

from evals.errors import CallError
from evals.models.base import ModelReply
from evals.prices import Price
from salience import Request

_BYTES_A_TOKEN = 2
"""Fewer than tokenizers put into a token in any script that was looked at, so that a request is never underestimated by much."""
_MESSAGE_TOKENS = 8
_BILLED = frozenset({"bad-reply", "timeout"})
"""Kinds of failures of calls that the server may have worked on, and billed."""
_REPLY_TOKENS = 1024
"""Set aside for a reply to a request that states no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one invocation may use; None for no limit.

    Attributes:
        calls: Requests sent, attempts that fail and are repeated included; 1 or more.
        tokens: Tokens of requests and replies; 1 or more.
        cost: US dollars; 0 or more.
        error_rate: The share of a cell's calls that may fail, 0 to 1. The run stops as soon as more than that have.
    """

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    error_rate: float | None = None


class LimitReachedError(Exception):
    """A limit ends the run; the message says which."""


@dataclass(slots=True)
class Reserve:
    """What a call has set aside."""

    tokens: int
    cost: float
    price: Price | None


class Budget:
    """What is used of the limits, over all cells of an invocation.

    Attributes:
        stopped: Why no further call may start, "" while calls may.
        hopeless: Whether the limit leaves no room even for the next call alone.
        guessed: Replies whose server did not tell their tokens, so that what was set aside was counted.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.calls = self.tokens = 0
        self.cost = 0.0
        self.stopped = ""
        self.hopeless = False
        self.guessed = 0
        self._reserved_tokens, self._reserved_cost, self._in_flight = 0, 0.0, 0
        self._longest = 0
        self._settled: asyncio.Event | None = None

    @property
    def bounded(self) -> bool:
        """Whether requests, tokens or money are limited."""
        return self._metered or self.limits.calls is not None

    @property
    def _metered(self) -> bool:
        return self.limits.tokens is not None or self.limits.cost is not None

    async def enter(self, request: Request, price: Price | None) -> Reserve | None:
        """Set aside what a call may take; wait while others in flight hold what it needs.

        A request that states no `max_tokens` sets aside what the longest reply so far took, and `_REPLY_TOKENS` at the least.

        Raises:
            LimitReachedError: There is not enough left.
        """
        self.check()
        if not self._metered:
            return None
        texts = [message["content"].encode("utf-8", "surrogatepass") for message in request.messages]
        size = sum(len(text) // _BYTES_A_TOKEN + _MESSAGE_TOKENS for text in texts)
        size += 0 if request.schema is None else len(json.dumps(request.schema)) // _BYTES_A_TOKEN
        reply = request.max_tokens or max(_REPLY_TOKENS, self._longest)
        wanted = Reserve(size + reply, price.of(size, reply) if price else 0.0, price)
        while (limit := self._lacking(wanted)) and self._in_flight:
            self._settled = self._settled or asyncio.Event()
            await self._settled.wait()
            self.check()
        if limit:
            self.hopeless = not (self.tokens or self.cost)
            self.stop(limit)
            self.check()
        self._reserved_tokens += wanted.tokens
        self._reserved_cost += wanted.cost
        self._in_flight += 1
        return wanted

    def _lacking(self, wanted: Reserve) -> str:
        tokens, cost = self.limits.tokens, self.limits.cost
        if tokens is not None and self.tokens + self._reserved_tokens + wanted.tokens > tokens:
            return f"--max-tokens {tokens}: {self.tokens} are used, and the next call may take {wanted.tokens}"
        if cost is not None and self.cost + self._reserved_cost + wanted.cost > cost:
            return f"--max-cost {cost:g}: ${self.cost:.4f} are spent, and the next call may take ${wanted.cost:.4f}"
        return ""

    def leave(self, reserve: Reserve | None, reply: ModelReply | None, failure: CallError | None = None) -> None:
        """Count what a call took and free what it had set aside.

        A call that failed after an answer began may have been billed: it counts what was set aside, for each attempt.
        """
        if reserve is None:
            return
        self._in_flight -= 1
        self._reserved_tokens -= reserve.tokens
        self._reserved_cost -= reserve.cost
        if reply is not None and reply.input_tokens is not None and reply.output_tokens is not None:
            self.tokens += reply.input_tokens + reply.output_tokens
            self.cost += reserve.price.of(reply.input_tokens, reply.output_tokens) if reserve.price else 0.0
            self._longest = max(self._longest, reply.output_tokens)
        elif reply is not None or (failure is not None and failure.kind in _BILLED):
            times = failure.attempts if failure is not None else 1
            self.guessed += 1
            self.tokens += times * reserve.tokens
            self.cost += times * reserve.cost
        if self._settled is not None:
            self._settled.set()
            self._settled = None

    def sending(self) -> None:
        """Count a request that is about to be sent.

        Raises:
            LimitReachedError: No further one may be.
        """
        if self.limits.calls is not None and self.calls >= self.limits.calls:
            self.stop(f"--max-calls {self.limits.calls}: so many requests were sent")
            self.check()
        self.calls += 1

    def failed(self, failures: int, total: int) -> None:
        """Stop if more calls of a cell have failed than may, whatever becomes of the others."""
        rate = self.limits.error_rate
        if rate is not None and failures > rate * total:
            self.stop(f"--max-error-rate {rate:g}: {failures} of {total} calls have failed")

    def stop(self, why: str) -> None:
        """Let no further call start; the first reason stands."""
        self.stopped = self.stopped or why

    def check(self) -> None:
        """Raise if the run was stopped.

        Raises:
            LimitReachedError: It was.
        """
        if self.stopped:
            raise LimitReachedError(self.stopped)

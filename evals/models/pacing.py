"""How many requests are in flight and how fast they start: all that a server's limits teach. Nothing is sent or tried again here."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable

from evals.models.rate_evidence import RateEvidence

_CUT = 0.7
"""After a 429 the starts go on at this share of the rate at which answers came."""
_GROWTH, _SOON, _LATE_GROWTH = 1.04, 10.0, 1.25
"""The rate grows by 4% a second, which leads back to where it was in 9 s; when nobody has objected for 10 s, by 25%."""
_LOWEST = 0.1
"""Starts a second at the least: a server that takes less asks to wait, or the calls' own back-off has to do."""
_LIFT_ABOVE, _LIFT_AFTER = 2.0, 10.0
"""A rate so many times what is used, for so many seconds, is no limit any more."""
_KEPT, _ENOUGH, _TO_JUDGE = 64, 10, 3
_WINDOWS = (10.0, 60.0)
"""Answers are counted over the last 10 s, or the last 60 s where there were under `_ENOUGH`."""
_BURST = 0.05
"""Seconds of starts that may be caught up with: timers are late."""
_OUTAGE = 20
"""So many failures in a row are an outage, not single faults."""


class Pacer:
    """Hands out the right to send a request: at most so many at once, and no faster than the server takes them.

    As long as no server complains it only counts. After a 429 the number in flight is halved, at most once for all the requests that were
    under way, and grows by about one for as many answers as are in flight (additive increase, multiplicative decrease, as in RFC 5681). A
    server that limits requests a second needs a rate too, as one call of 10 ms at a time is still 100 a second: it is set from the answers
    that came lately, grows slowly, and is lifted when it has long stopped to matter. Single 429s among many answers, and those that
    `RateEvidence` finds to come whatever the pace, change nothing but the wait of their own call. After 20 failures in a row
    (no connection, 5xx) the starts slow down until something succeeds.

    One pacer serves one server, in one event loop. A call that waits holds no slot; those that are sent again go before new ones.

    Args:
        limit: The most requests in flight, from 1 up.
        clock: Seconds from a fixed moment.
        sleep: Waits so many seconds.

    Attributes:
        maximum: The most requests in flight ever.
        limit: The most requests in flight now, from 1 to `maximum`; a fraction counts as nothing yet.
        rate: The most starts a second now, or None for no limit.
        in_flight: Requests in flight now.
    """

    def __init__(
        self, limit: int, *, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    ) -> None:
        if limit < 1:
            raise ValueError(f"limit must be a whole number from 1 up, got {limit}")
        self.maximum = limit
        self.limit = float(limit)
        self.rate: float | None = None
        self.in_flight = 0
        self._clock, self._sleep = clock, sleep
        self._gated = False  # whether time matters at all
        self._not_before = self._next_start = self._rate_at = self._rate_set_at = float("-inf")
        self._sent = self._cut_at = 0
        self._successes: deque[float] = deque(maxlen=_KEPT)
        self._evidence = RateEvidence()
        self._first_sent: float | None = None
        self._failures, self._outage = 0, False
        self._idle_since: float | None = None
        self._has_head = False
        self._lines: tuple[deque[asyncio.Future[None]], deque[asyncio.Future[None]]] = (deque(), deque())
        self._freed: asyncio.Future[None] | None = None

    async def acquire(self, *, again: bool = False) -> int:
        """Wait for the right to send one request, and return its ticket. Each ticket is given back once.

        Args:
            again: Whether the call was sent before; then it goes before those that were not.
        """
        if not (self._has_head or self._gated) and self.in_flight + 1 <= self.limit:
            return self._take()
        if self._has_head:
            await self._stand_in_line(self._lines[0 if again else 1])
        self._has_head = True
        try:
            await self._wait_as_head()
            return self._take()
        finally:
            self._freed = None
            self._call_next()

    def release(self, ticket: int) -> None:  # noqa: ARG002 - every ticket is given back in one of these ways
        """Give a ticket back whose request was not sent, was given up, or tells nothing about the server's limits."""
        self.in_flight -= 1
        if self._freed is not None and not self._freed.done():
            self._freed.set_result(None)

    def succeeded(self, ticket: int) -> None:
        """Give a ticket back whose request was answered."""
        self._failures = 0
        self._successes.append(self._clock())
        self._evidence.add(False)
        if self.limit < self.maximum:
            self.limit = min(self.maximum, self.limit + 1 / self.limit)
        if self.rate is not None:
            self._ease()
        self.release(ticket)

    def answered(self, ticket: int) -> None:
        """Give a ticket back whose request was answered, with an error that has nothing to do with the server's limits."""
        self._failures = 0
        if self._outage:
            self._lift()
        self.release(ticket)

    def limited(self, ticket: int) -> None:
        """Give a ticket back whose request was answered with 429."""
        self._failures, self._outage = 0, False
        if ticket > self._cut_at:
            now = self._clock()
            pace = min(self._observed(now), self._rate_now(now))
            self._evidence.add(True)
            if self._evidence.objects(pace, is_limited=self.rate is not None):
                if len(self._successes) >= _TO_JUDGE or self.limit < 2:
                    self._set_rate(max(_LOWEST, _CUT * pace), now)
                self._halve()
                self._evidence.start_anew()
            elif self._evidence.is_random:
                self._lift()
        self.release(ticket)

    def congested(self, ticket: int) -> None:
        """Give a ticket back whose request got no answer, or a 5xx."""
        self._failures += 1
        if self._failures >= _OUTAGE and ticket > self._cut_at:
            now = self._clock()
            self._outage = True
            self._set_rate(min(max(2.0, self.maximum / 4), self._rate_now(now)), now)
            self._halve()
        self.release(ticket)

    def hold(self, seconds: float) -> None:
        """Let nobody send for so many seconds."""
        self._not_before = max(self._not_before, self._clock() + seconds)
        self._gated = True

    def _take(self) -> int:
        self.in_flight += 1
        self._sent += 1
        if self._first_sent is None:
            self._first_sent = self._clock()
        if self.rate is not None:
            now = self._clock()
            self._next_start = max(self._next_start, now - _BURST) + 1 / self._rate_now(now)
        return self._sent

    async def _stand_in_line(self, line: deque[asyncio.Future[None]]) -> None:
        turn = asyncio.get_running_loop().create_future()
        line.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it was this call's turn already
                self._call_next()
            raise

    def _call_next(self) -> None:
        """Let the next in line wait for slot and time, which only one call does at once."""
        for line in self._lines:
            while line:
                turn = line.popleft()
                if not turn.done():
                    turn.set_result(None)
                    return
        self._has_head = False

    async def _wait_as_head(self) -> None:
        slept_until = float("-inf")
        while True:
            if self.in_flight + 1 > self.limit:
                self._freed = asyncio.get_running_loop().create_future()
                await self._freed
                continue
            opens = max(self._not_before, self._next_start) if self._gated else float("-inf")
            now = self._clock()
            if opens <= max(now, slept_until):
                self._gated = self.rate is not None or self._not_before > now
                return
            await self._sleep(opens - now)
            slept_until = opens

    def _halve(self) -> None:
        self._cut_at = self._sent
        self.limit = max(1.0, self.limit / 2)

    def _observed(self, now: float) -> float:
        """Return how many answers a second came lately; where none did yet, as if one just had."""
        since = now if self._first_sent is None else self._first_sent
        for window in _WINDOWS:
            times = [time for time in self._successes if time > now - window]
            if len(times) >= _ENOUGH:
                break
        start = times[0] if len(times) == _KEPT else max(since, now - window)
        return max(len(times), 1) / max(now - start, 0.1)

    def _rate_now(self, now: float) -> float:
        """Return the rate as it has grown by now; infinity without one."""
        if self.rate is None:
            return float("inf")
        late = now - max(self._rate_at, self._rate_set_at + _SOON)
        self.rate *= _GROWTH ** (now - self._rate_at) if late <= 0 else _LATE_GROWTH**late
        self._rate_at = now
        return self.rate

    def _set_rate(self, rate: float, now: float) -> None:
        self.rate, self._rate_at, self._rate_set_at, self._gated, self._idle_since = rate, now, now, True, None
        self._next_start = max(self._next_start, now)

    def _ease(self) -> None:
        """Lift the rate at the end of an outage, or when it has been far above what is used for long."""
        now = self._successes[-1]
        if not self._outage and self._rate_now(now) <= _LIFT_ABOVE * self._observed(now):
            self._idle_since = None
        elif self._outage or (self._idle_since is not None and now - self._idle_since > _LIFT_AFTER):
            self._lift()
        elif self._idle_since is None:
            self._idle_since = now

    def _lift(self) -> None:
        self.rate, self._outage, self._next_start = None, False, float("-inf")

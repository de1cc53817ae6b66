"""Asks a model for a search: from the reply cache, once for equal requests at a time, within a budget. Knows no task and no optimiser.

The client method, the seed and the cache key are those of `salience eval`, so that what a search has asked, an evaluation need not ask
again, and the other way round.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
import time
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from evals.cache import CacheKeys, ReplyCache
from evals.calls import storable
from evals.errors import CallError, WorkbenchError
from evals.limits import Budget, LimitReachedError
from evals.models.base import Model, ModelReply
from evals.models.calling import Caller, Retry
from evals.prices import Price
from evals.requests import request_hash
from evals.tune.stops import BudgetSpent, Outage, TuningStopped
from salience import Reply, Request
from salience.protocols import Message

_T = TypeVar("_T")


class Desk:
    """A thread with an event loop, where the calls of all engines are made, with the cache and the budget that they share.

    Use as a context manager.

    Args:
        cache: The file of the reply cache, or None for none.
        budget: What may be used, over all engines.
    """

    def __init__(self, cache: Path | None, budget: Budget) -> None:
        self.budget = budget
        self._path = cache
        self.cache: ReplyCache | None = None
        self._loop = asyncio.new_event_loop()
        self._lock, self._ended = threading.Lock(), False
        self._thread = threading.Thread(target=self._loop.run_forever, name="tuning-calls", daemon=True)

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine on the loop and wait for it.

        Raises:
            TuningStopped: The desk is closed: a thread of an evaluation that was ended goes on.
        """
        with self._lock:
            if self._ended:
                work.close()
                raise TuningStopped("the search has ended")
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def __enter__(self) -> Desk:
        self._thread.start()
        if self._path is not None:
            self.cache = self.run(self._open(self._path))
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._ended = True
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _open(self, path: Path) -> ReplyCache:
        return ReplyCache(path)

    async def _end(self) -> None:
        """End what is in flight, as threads of an evaluation that was ended would wait for it for ever, and close the cache."""
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self.cache is not None:
            self.cache.__exit__(None, None, None)


@dataclass(slots=True)
class Spent:
    """What an engine was asked.

    Attributes:
        asked: Answers that were asked for, from the cache or not.
        calls: Requests that were sent to the model and answered.
        input_tokens: Of the calls; 0 where a server does not tell.
        output_tokens: The same of the replies.
        seconds: That the calls took, added up.
        cost: US dollars, None where the price is not known.
    """

    asked: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    cost: float | None = 0.0

    def add(self, reply: ModelReply, seconds: float, price: Price | None) -> None:
        """Count one call."""
        self.calls += 1
        self.input_tokens += reply.input_tokens or 0
        self.output_tokens += reply.output_tokens or 0
        self.seconds += seconds
        cost = None if price is None else price.of(reply.input_tokens or 0, reply.output_tokens or 0)
        self.cost = None if cost is None or self.cost is None else self.cost + cost


class Engine:
    """One model, asked by many threads.

    Args:
        model: Who answers; whoever opened it closes it, on the desk's loop.
        desk: Where calls are made.
        price: What tokens cost, None where it is not known.
        seed: Of the model's sampling.
        retry: When a failed call is sent again.
    """

    def __init__(self, model: Model, desk: Desk, *, price: Price | None = None, seed: int = 0, retry: Retry | None = None) -> None:
        self.model, self.desk, self.price, self.seed = model, desk, price, seed
        self.spent = Spent()
        self._caller = Caller(model, retry=retry)
        self._keys: CacheKeys | None = None
        self._prepared: asyncio.Task[None] | None = None
        self._asking: dict[str, asyncio.Task[ModelReply]] = {}

    @property
    def name(self) -> str:
        """The model's name with a digest of all that decides its replies: DSPy's own cache, were it used, would tell by this."""
        told = json.dumps(dict(self.model.fingerprint), sort_keys=True).encode("ascii")
        return f"salience/{self.model.name}#{hashlib.sha256(told).hexdigest()[:12]}"

    def ask(self, request: Request, *, repeat: int = 0) -> ModelReply:
        """Return the answer to a request.

        Args:
            request: What is asked.
            repeat: Which of several answers to the same request, from 0.

        Raises:
            TuningStopped: The budget is spent, or the model cannot be asked.
            CallError: Of the kind "too_long": the request does not fit the model's context, which is the prompt's fault.
        """
        try:
            return self.desk.run(self._ask(request, repeat))
        except CallError as error:
            if error.kind == "too_long":
                raise
            raise Outage(f"{self.model.name}: {error}") from None
        except LimitReachedError as error:
            raise BudgetSpent(f"stopped at {error}") from None
        except WorkbenchError as error:
            raise Outage(f"{self.model.name}: {error}") from None

    async def _ask(self, request: Request, repeat: int) -> ModelReply:
        self._keys = self._keys or CacheKeys(self.model.fingerprint)
        seed = None if request.temperature == 0 else self.seed
        key = self._keys.key(request_hash(request), seed=seed, repeat=repeat)
        self.spent.asked += 1
        cache = self.desk.cache
        found = cache.get(key) if cache else None
        if found is not None:
            return found[0]
        task = self._asking.get(key)
        if task is None:
            task = self._asking[key] = asyncio.get_running_loop().create_task(self._call(request, repeat, key))
            task.add_done_callback(lambda _: self._asking.pop(key, None))
        return await asyncio.shield(task)

    async def _call(self, request: Request, repeat: int, key: str) -> ModelReply:
        budget, reply, failed = self.desk.budget, None, None
        reserve = await budget.enter(request, self.price)
        try:
            await self._prepare()
            started = time.perf_counter()
            reply = await self._caller.chat(
                request.messages, schema=request.schema, max_tokens=request.max_tokens, temperature=request.temperature,
                seed=self.seed + repeat, before_attempt=budget.sending,
            )  # fmt: skip
            reply = replace(reply, text=storable(reply.text))
            seconds = time.perf_counter() - started
        except CallError as error:
            failed = error
            raise
        finally:
            budget.leave(reserve, reply, failed)
        self.spent.add(reply, seconds, self.price)
        if self.desk.cache is not None:
            self.desk.cache.put(key, reply, seconds)
        return reply

    async def _prepare(self) -> None:
        if self._prepared is None:
            self._prepared = asyncio.get_running_loop().create_task(self.model.prepare())
        await asyncio.shield(self._prepared)


@dataclass(slots=True)
class EngineClient:
    """A `ChatClient` of the library over an engine; one a candidate and case, as it keeps what was asked.

    Attributes:
        engine: Who answers.
        repeat: As in `Engine.ask`.
        temperature: Instead of the request's own, where a search explores; None leaves it.
        requests: What was asked.
        replies: What was answered.
        too_long: Whether a request did not fit the model's context.
    """

    engine: Engine
    repeat: int = 0
    temperature: float | None = None
    requests: list[Request] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    too_long: bool = False

    @property
    def explores(self) -> bool:
        """Whether answers are not those that production gets."""
        return self.repeat > 0 or self.temperature is not None

    def chat(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> Reply:
        """Return the answer; of a request that is too long an empty one that was cut off."""
        heat = temperature if self.temperature is None else self.temperature
        request = Request(tuple(messages), schema, max_tokens, heat)
        self.requests.append(request)
        try:
            reply: Reply = self.engine.ask(request, repeat=self.repeat)
        except CallError:
            self.too_long = True
            reply = Reply("", "length")
        self.replies.append(reply)
        return reply

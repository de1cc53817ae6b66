"""Where all calls of a tuning run are made: one event loop in a thread of its own, one reply cache, one budget, one reason to stop.

DSPy calls from many worker threads; models, budget and cache are made for one event loop. Everything of theirs happens in this one, so that
none of them needs locks. Nothing is known here of DSPy, of prompts or of what a call asks.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from evals.cache import ReplyCache
from evals.limits import Budget
from evals.models.base import Model
from evals.tune.stops import TuningStopped

_T = TypeVar("_T")
_IN_MEMORY = Path(":memory:")  # SQLite's own name for it


class Desk:
    """What the models of a tuning run share, task and writer alike; a context manager that closes the models that were asked.

    Args:
        cache: Where replies are kept. The keys are those of `salience eval`, so that neither asks again what the other has asked. None
            keeps them for the life of the desk.
        budget: What the run may use, over all models.

    Raises:
        RunError: The file cannot be opened or is no reply cache.
    """

    def __init__(self, cache: Path | None = None, budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        self._stopped: TuningStopped | None = None
        self._models: list[Model] = []
        self._locks: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tuning-calls", daemon=True)
        self._thread.start()
        try:
            self.cache: ReplyCache = self.run(_made(lambda: ReplyCache(cache or _IN_MEMORY)))  # SQLite keeps to one thread
        except BaseException:
            self._end()
            raise

    def add(self, model: Model) -> None:
        """Take over a model: it is closed with the desk, as its connections belong to this event loop."""
        if all(model is not known for known in self._models):
            self._models.append(model)

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine in the event loop and return its result; called from any other thread."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:  # also Ctrl-C, after which nobody waits for the call
            future.cancel()
            raise

    def lock(self, key: str) -> asyncio.Lock:
        """Return the lock of one request, so that who asks the same while it is in flight waits for its reply. For use in the loop."""
        return self._locks.setdefault(key, asyncio.Lock())

    def stop(self, why: TuningStopped) -> TuningStopped:
        """Let no further call start; the first reason stands. Return what to raise.

        Worker threads of an evaluation that was left go on with what they have; each of them must stop at its next call.
        """
        self._stopped = self._stopped or why
        return type(self._stopped)(*self._stopped.args)

    def check(self) -> None:
        """Raise if the run was stopped.

        Raises:
            TuningStopped: It was.
        """
        if self._stopped is not None:
            raise self.stop(self._stopped)

    def __enter__(self) -> Desk:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the models, the cache and the event loop. It may be called twice; a call after it is refused."""
        if self._loop.is_closed():
            return
        self.stop(TuningStopped("the run is over: its calls were closed"))
        try:
            self.run(self._close())
        finally:
            self._end()

    async def _close(self) -> None:
        ours = asyncio.current_task()
        pending = [task for task in asyncio.all_tasks() if task is not ours]
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        for model in self._models:
            await model.close()
        self.cache.__exit__(None, None, None)

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _made(make: Callable[[], _T]) -> _T:
    return make()

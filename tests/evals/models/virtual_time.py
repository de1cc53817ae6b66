"""An event loop whose clock jumps to the next timer: hours of waiting are tested in milliseconds, and nothing depends on the machine."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


class _NoWait(selectors.SelectSelector):
    """Never waits, and adds what it should have waited to a clock that starts at 1,000 s."""

    now = 1000.0

    def select(self, timeout: float | None = None) -> Any:
        events = super().select(0)
        if not events:
            assert timeout is not None, "everything waits for something that never comes"
            self.now += timeout
        return events


def run_virtually(work: Coroutine[Any, Any, _T]) -> _T:
    """Return what a coroutine returns, run in virtual time. `asyncio.get_running_loop().time()` and `asyncio.sleep` belong to it."""

    def factory() -> asyncio.AbstractEventLoop:
        selector = _NoWait()
        loop = asyncio.SelectorEventLoop(selector)
        loop.time = lambda: selector.now  # type: ignore[method-assign]
        return loop

    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(work)


def now() -> float:
    """Return the virtual time in seconds."""
    return asyncio.get_running_loop().time()

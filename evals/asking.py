"""Single questions to a model whose answers are read by the harness: asked once, kept by model and request. No question is worded here.

Whoever asks says which answers can be read; others are not kept, so that they are asked for again.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path

from evals.cache import CacheKeys, ReplyCache
from evals.errors import CallError
from evals.models.base import Model, ModelReply
from evals.models.calling import Caller
from evals.requests import request_hash
from salience import Request

MOST_TOKENS = 1_000
"""Room for an answer: models that think need it; the answers themselves take ten tokens."""


class Asker:
    """Asks one model.

    Args:
        model: Who is asked.
        path: Where answers are kept; None keeps none.

    Attributes:
        calls: How many answers were asked of the model.
    """

    def __init__(self, model: Model, path: Path | None) -> None:
        self.model, self.calls = model, 0
        self._path = path
        self._keys = CacheKeys(model.fingerprint)
        self._runner = asyncio.Runner()
        self._caller = Caller(model)
        weakref.finalize(self, _close, self._runner, model)

    def ask(self, requests: Sequence[Request], readable: Callable[[str], bool]) -> list[str | CallError]:
        """Return the text that was answered to each request, or the error, in order; a request that comes twice is sent once.

        Args:
            requests: The questions.
            readable: Whether an answer can be read, and so kept.
        """
        keys = [self._keys.key(request_hash(request), seed=None, repeat=0) for request in requests]
        wanted = dict(zip(keys, requests, strict=True))
        if self._path is None:
            found = self._call(wanted, readable, None)
        else:
            with ReplyCache(self._path) as cache:
                known = {key: reply for key in wanted if (reply := cache.get(key)) is not None}
                found = {key: reply[0].text for key, reply in known.items()}
                found |= self._call({key: request for key, request in wanted.items() if key not in known}, readable, cache)
        return [found[key] for key in keys]

    def _call(self, wanted: dict[str, Request], readable: Callable[[str], bool], cache: ReplyCache | None) -> dict[str, str | CallError]:
        return self._runner.run(self._all(wanted, readable, cache)) if wanted else {}

    async def _all(
        self, wanted: dict[str, Request], readable: Callable[[str], bool], cache: ReplyCache | None
    ) -> dict[str, str | CallError]:
        found: dict[str, str | CallError] = {}
        waiting = iter(wanted.items())

        async def work() -> None:
            for key, request in waiting:
                reply = await self._one(request)
                found[key] = reply if isinstance(reply, CallError) else reply.text
                if cache is not None and isinstance(reply, ModelReply) and readable(reply.text):
                    cache.put(key, reply, 0.0)

        await self.model.prepare()
        await asyncio.gather(*(work() for _ in range(min(self.model.concurrency, len(wanted)))))
        return found

    async def _one(self, request: Request) -> ModelReply | CallError:
        self.calls += 1
        try:
            return await self._caller.chat(
                request.messages, schema=request.schema, max_tokens=request.max_tokens, temperature=request.temperature, seed=0
            )
        except CallError as error:
            return error


def _close(runner: asyncio.Runner, model: Model) -> None:
    runner.run(model.close())
    runner.close()

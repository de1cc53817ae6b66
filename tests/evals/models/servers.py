"""Servers on loopback for the tests of clients: one with a queue of answers, one that sends bytes as they are."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from aiohttp import web

from evals.models import ModelReply
from evals.models.calling import Caller, Retry
from evals.models.endpoint import Endpoint
from evals.models.openai_compat import OpenAICompatModel
from salience.protocols import Message

KEY = "canary-4711-secret"
MESSAGES: list[Message] = [{"role": "system", "content": "S"}, {"role": "user", "content": "Grüße"}]
OK = {
    "choices": [{"message": {"role": "assistant", "content": "[]"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 2},
}
_T = TypeVar("_T")
Answer = tuple[int, Mapping[str, str], str] | str
FAST = Retry(base=0.001)


@dataclass
class Server:
    """Answers with a queue of (status, headers, body), or by a function of the request's body, and keeps what it got.

    "reset" and "cut" in the queue break the connection.
    """

    answers: Sequence[Answer] | Callable[[Any], Answer] = ()
    bodies: list[Any] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append(await request.json())
        self.headers.append(dict(request.headers))
        self.paths.append(request.path_qs)
        answer = self.answers(self.bodies[-1]) if callable(self.answers) else self.answers[len(self.bodies) - 1]
        if answer == "cut":
            response = web.StreamResponse(headers={"Content-Length": "1000"})
            await response.prepare(request)
            await response.write(b'{"choices": [')
        if isinstance(answer, str):
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        status, headers, body = answer
        return web.Response(status=status, headers=headers, text=body)


def ok(entry: object = OK) -> Answer:
    return 200, {}, json.dumps(entry)


def reply(message: object, **usage: object) -> Answer:
    return ok({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})


def error(status: int, message: str = "no", headers: Mapping[str, str] | None = None, **extra: object) -> Answer:
    return status, headers or {}, json.dumps({"error": {"message": message, **extra}})


def serve(server: Server, work: Callable[[str], Awaitable[_T]]) -> _T:
    async def run() -> _T:
        app = web.Application()
        app.router.add_post("/{path:.*}", server.handle)
        runner = web.AppRunner(app, shutdown_timeout=0.01)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            return await work(f"http://127.0.0.1:{runner.addresses[0][1]}/v1")
        finally:
            await runner.cleanup()

    return asyncio.run(run())


def serve_bytes(answers: Sequence[bytes], work: Callable[[str], Awaitable[_T]], *, gap: float = 0) -> _T:
    """Run a server that sends one of the byte strings to each connection, byte by byte where there is a gap, and closes it."""
    waiting = list(answers)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
            await reader.readexactly(length)
            answer = waiting.pop(0)
            for part in (bytes([byte]) for byte in answer) if gap else (answer,):
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(gap)
        except (asyncio.IncompleteReadError, OSError):
            pass  # the client gave up
        finally:
            writer.close()

    async def run() -> _T:
        async with await asyncio.start_server(handle, "127.0.0.1", 0) as server:
            return await work(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")

    return asyncio.run(run())


async def ask(
    url: str, *, retry: Retry = FAST, openai: bool = False, timeout: float = 5, calls: int = 1, **options: Any
) -> list[ModelReply]:
    """Ask the server at an address so many times in a row, through a caller."""
    model = OpenAICompatModel("openai/m", "m", Endpoint.parse(url), key=KEY, openai=openai, timeout=timeout)
    caller = Caller(model, retry=retry)
    try:
        return [await caller.chat(MESSAGES, **options) for _ in range(calls)]
    finally:
        await model.close()


def chat(server: Server, *, query: str = "", **options: Any) -> ModelReply:
    """Ask a server once, through a caller."""
    return serve(server, lambda url: ask(url + query, **options))[-1]

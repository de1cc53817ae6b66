"""The client against a real server on loopback."""

import asyncio
import datetime
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest
from aiohttp import web

from evals.errors import CallError, ModelError
from evals.models import Model, ModelReply, open_model
from evals.models.http_faults import parse_retry_after, redact
from evals.models.openai_compat import Endpoint, OpenAICompatModel, Retry, is_strict
from salience.protocols import Message

KEY = "canary-4711-secret"
MESSAGES: list[Message] = [{"role": "system", "content": "S"}, {"role": "user", "content": "Grüße"}]
OK = {
    "choices": [{"message": {"role": "assistant", "content": "[]"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 2},
}
_T = TypeVar("_T")
Answer = tuple[int, Mapping[str, str], str] | str


@dataclass
class Server:
    """Answers with a queue of (status, headers, body) and keeps what it got; "reset" and "cut" break the connection."""

    answers: list[Answer]
    bodies: list[Any] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append(await request.json())
        self.headers.append(dict(request.headers))
        self.paths.append(request.path_qs)
        answer = self.answers.pop(0)
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


def error(status: int, message: str = "no", headers: Mapping[str, str] | None = None, **extra: str) -> Answer:
    return status, headers or {}, json.dumps({"error": {"message": message, **extra}})


def serve(server: Server, work: Callable[[str], Awaitable[_T]]) -> _T:
    async def run() -> _T:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", server.handle)
        runner = web.AppRunner(app, shutdown_timeout=0.01)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            return await work(f"http://127.0.0.1:{runner.addresses[0][1]}/v1")
        finally:
            await runner.cleanup()

    return asyncio.run(run())


def chat(server: Server, *, openai: bool = False, attempts: int = 3, timeout: float = 5, query: str = "", **options: Any) -> ModelReply:
    async def work(url: str) -> ModelReply:
        retry = Retry(attempts=attempts, base=0.001)
        model = OpenAICompatModel("openai/m", "m", Endpoint.parse(url + query), key=KEY, retry=retry, openai=openai, timeout=timeout)
        try:
            return await model.chat(MESSAGES, **options)
        finally:
            await model.close()

    return serve(server, work)


def test_request_and_reply_are_exact() -> None:
    server = Server([ok()])
    reply = chat(server, query="?api-version=1", schema={"type": "array"}, max_tokens=160, temperature=0.0, seed=3)
    assert reply == ModelReply("[]", "stop", 7, 2, attempts=1)
    assert server.bodies == [
        {
            "model": "m",
            "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "Grüße"}],
            "max_tokens": 160,
            "temperature": 0.0,
            "seed": 3,
            "response_format": {"type": "json_schema", "json_schema": {"name": "memories", "strict": True, "schema": {"type": "array"}}},
        }
    ]
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert server.headers[0]["Content-Type"] == "application/json"
    assert server.paths == ["/v1/chat/completions?api-version=1"]


def test_what_is_not_given_is_not_sent() -> None:
    server = Server([ok()])
    chat(server)
    assert server.bodies[0].keys() == {"model", "messages"}


def test_openai_gets_an_object_and_its_own_limit() -> None:
    server = Server([ok()])
    chat(server, openai=True, schema={"type": "array", "items": {"type": "string"}}, max_tokens=9)
    assert server.bodies[0]["max_completion_tokens"] == 9
    assert "max_tokens" not in server.bodies[0]
    assert server.bodies[0]["response_format"]["json_schema"]["schema"] == {
        "type": "object",
        "properties": {"memories": {"type": "array", "items": {"type": "string"}}},
        "required": ["memories"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    "fault",
    [
        error(429, headers={"Retry-After": "0"}),
        error(429),
        error(500),
        error(503),
        error(408),
        error(409),
        error(425),
        "reset",
        "cut",
        (200, {}, '{"choices": ['),
        (200, {}, "[" * 100_000),
        (200, {}, "{}"),
        ok({"error": {"message": "upstream", "code": 502}}),
    ],
)
def test_what_may_pass_is_tried_again(fault: Answer) -> None:
    server = Server([fault, ok()])
    assert chat(server).attempts == 2
    assert len(server.bodies) == 2


@pytest.mark.parametrize(
    ("fault", "kind", "retryable", "says"),
    [
        (error(401, "bad key"), "auth", False, "Check the key in OPENAI_API_KEY"),
        (error(403), "auth", False, "answered 403"),
        (error(400, "This model's maximum context length is 10 tokens"), "too_long", False, "maximum context"),
        (error(400, "no", code="context_length_exceeded"), "too_long", False, "answered 400"),
        (error(400, "bad temperature"), "http", False, "bad temperature"),
        (error(404, "no such model"), "http", False, "most often in /v1"),
        (error(429, "pay", code="insufficient_quota"), "rate-limit", False, "pay"),
        ((302, {"Location": "http://127.0.0.1:1/"}, ""), "http", False, "answered 302: nothing"),
        ((502, {}, "<html>gateway"), "http", True, "<html>gateway"),
        (ok({"choices": [{"message": {"content": 5}}]}), "bad-reply", True, "content that is no text"),
        ((200, {}, "x" * (17 << 20)), "bad-reply", False, "more than 16 MiB"),
        ("reset", "connection", True, "no connection to"),
        ("cut", "bad-reply", True, "in the middle"),
    ],
)
def test_final_faults(fault: Answer, kind: str, retryable: bool, says: str) -> None:
    attempts = 2 if retryable else 5
    server = Server([fault] * attempts)
    with pytest.raises(CallError, match=says) as caught:
        chat(server, attempts=attempts)
    assert (caught.value.kind, caught.value.retryable) == (kind, retryable)
    assert caught.value.attempts == len(server.bodies) == (attempts if retryable else 1)


def test_key_echoed_by_the_server_is_hidden() -> None:
    with pytest.raises(CallError) as caught:
        chat(Server([error(401, f"Incorrect API key provided: {KEY}, or sk-abcdef123456, Bearer xyz")]))
    assert "canary" not in f"{caught.value} {caught.value!r} {caught.value.args} {caught.value.__cause__}"
    assert "sk-abc" not in str(caught.value)
    assert "xyz" not in str(caught.value)
    echo = {"choices": [{"message": {"content": f"key {KEY}"}, "finish_reason": "stop"}]}
    assert chat(Server([ok(echo)])).text == "key [redacted]"


@pytest.mark.parametrize("padding", range(985, 1000))
def test_key_at_the_end_of_a_shortened_message_is_hidden(padding: int) -> None:
    with pytest.raises(CallError) as caught:
        chat(Server([error(400, "x" * padding + KEY)]))
    assert "canary" not in str(caught.value)
    with pytest.raises(CallError) as caught:
        chat(Server([(200, {}, "y" * (padding - 880) + KEY)]), attempts=1)
    assert "canary" not in str(caught.value)


def test_key_is_not_in_a_repr() -> None:
    model = OpenAICompatModel("openai/m", "m", Endpoint.parse("http://localhost/v1?token=canary"), key=KEY)
    assert "canary" not in f"{model} {model!r} {model.fingerprint}"


@pytest.mark.parametrize(
    ("message", "text", "reason"),
    [({"content": None, "refusal": "I will not"}, "I will not", "refusal"), ({"content": None}, "", "stop"), ({"content": ""}, "", "stop")],
)
def test_empty_and_refused(message: Mapping[str, object], text: str, reason: str) -> None:
    reply = chat(Server([ok({"choices": [{"message": message, "finish_reason": "stop"}]})]))
    assert (reply.text, reply.finish_reason, reply.input_tokens) == (text, reason, None)


def test_slow_server_times_out() -> None:
    async def hang(request: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    server = Server([])
    server.handle = hang  # type: ignore[method-assign]
    with pytest.raises(CallError, match=r"did not answer within 0\.05 s") as caught:
        chat(server, attempts=1, timeout=0.05)
    assert (caught.value.kind, caught.value.retryable) == ("timeout", True)


def test_no_server_says_what_to_do() -> None:
    async def run() -> None:
        model = open_model("ollama/x", environ={"OLLAMA_HOST": "127.0.0.1:1"})
        assert isinstance(model, Model)
        with pytest.raises(ModelError, match=r"no server answers at http://127.0.0.1:1/v1\. Install Ollama .*`ollama pull x`"):
            await model.prepare()
        await model.close()

    asyncio.run(run())


def test_prepare_finds_a_server_without_a_call() -> None:
    async def work(url: str) -> None:
        model = open_model("openai/m", base_url=url, environ={})
        assert isinstance(model, Model)
        await model.prepare()
        await model.close()

    server = Server([])
    serve(server, work)
    assert server.bodies == []


NOW = datetime.datetime(2026, 3, 2, 12, 0, 0, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("0", 0.0),
        ("2.5", 2.5),
        ("9999", 60.0),
        ("-3", None),
        ("soon", None),
        ("Mon, 02 Mar 2026 12:00:30 GMT", 30.0),
        ("Mon, 02 Mar 2026 11:00:00 GMT", 0.0),
        ("Tue, 03 Mar 2026 12:00:00 GMT", 60.0),
    ],
)
def test_retry_after(value: str | None, seconds: float | None) -> None:
    assert parse_retry_after(value, NOW, 60.0) == seconds


def test_waits_are_bounded() -> None:
    retry = Retry(base=1.0, cap=5.0)
    for attempt, most in enumerate((1.0, 2.0, 4.0, 5.0, 5.0), 1):
        assert most / 2 <= retry.wait(attempt, None) <= most
    assert retry.wait(1, 7.0) == 7.0


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        ({"type": "array", "items": {"type": "string"}}, True),
        ({"properties": {"a": {}}, "required": ["a"], "additionalProperties": False}, True),
        ({"properties": {"a": {}, "b": {}}, "required": ["a"], "additionalProperties": False}, False),
        ({"items": {"properties": {"a": {}}, "required": ["a"]}}, False),
    ],
)
def test_strict(schema: Mapping[str, object], strict: bool) -> None:
    assert is_strict(schema) is strict


def test_redact() -> None:
    assert redact("at http://me:pw@host/ with long-key-1", "long-key-1") == "at http://[redacted]@host/ with [redacted]"
    assert redact("none is fine", "none") == "none is fine"

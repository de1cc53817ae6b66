"""The client against real servers on loopback: what goes over the wire, and what can go wrong on it."""

import asyncio
import gzip
import json
import re
from collections.abc import Mapping

import pytest
from aiohttp import web

from evals.errors import CallError, ModelError
from evals.models import Model, ModelReply, open_model
from evals.models.calling import Retry
from evals.models.endpoint import Endpoint
from evals.models.openai_compat import OpenAICompatModel
from tests.evals.models.servers import FAST, KEY, OK, Answer, Server, ask, chat, error, ok, reply, serve, serve_bytes

ONCE = Retry(attempts=1)


def test_request_and_reply_are_exact() -> None:
    server = Server([ok()])
    got = chat(server, query="?api-version=1", schema={"type": "array"}, max_tokens=160, temperature=0.0, seed=3)
    assert got == ModelReply("[]", "stop", 7, 2, attempts=1)
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
    got = chat(server, openai=True, schema={"type": "array", "items": {"type": "string"}}, max_tokens=9)
    assert got.fallbacks == ()
    assert server.bodies[0]["max_completion_tokens"] == 9
    assert "max_tokens" not in server.bodies[0]
    assert server.bodies[0]["response_format"]["json_schema"]["schema"] == {
        "type": "object",
        "properties": {"memories": {"type": "array", "items": {"type": "string"}}},
        "required": ["memories"],
        "additionalProperties": False,
    }


def test_a_model_alone_sends_once() -> None:
    async def work(url: str) -> None:
        model = OpenAICompatModel("openai/m", "m", Endpoint.parse(url))
        with pytest.raises(CallError, match="answered 500") as caught:
            await model.chat([{"role": "user", "content": "x"}])
        assert (caught.value.retryable, caught.value.status, caught.value.attempts) == (True, 500, 1)
        await model.close()

    server = Server([error(500), ok()])
    serve(server, work)
    assert len(server.bodies) == 1


@pytest.mark.parametrize(
    "fault",
    [
        error(429, headers={"Retry-After": "0"}),
        error(429, headers={"Retry-After": "soon"}),
        error(429, headers={"Retry-After": "-5"}),
        error(429, headers={"Retry-After": "0.001"}),
        error(429, headers={"Retry-After": "Mon, 02 Mar 2026 11:00:00 GMT"}),
        error(429),
        error(500),
        error(503),
        error(529),
        error(408),
        error(409),
        error(425),
        "reset",
        "cut",
        (204, {}, ""),
        (200, {}, ""),
        (200, {}, " \n"),
        (200, {}, '{"choices": ['),
        (200, {}, "[" * 100_000),
        (200, {}, "{}"),
        (200, {"Content-Type": "text/html"}, "<html><body>welcome</body></html>"),
        ok({"choices": []}),
        ok({"error": {"message": "upstream", "code": 502}}),
        ok({"error": "upstream"}),
    ],
)
def test_what_may_pass_is_tried_again(fault: Answer) -> None:
    server = Server([fault, ok()])
    assert chat(server).attempts == 2
    assert len(server.bodies) == 2


@pytest.mark.parametrize(
    ("fault", "kind", "retryable", "says"),
    [
        (error(401, "bad key"), "auth", False, "bad key. Check the key in OPENAI_API_KEY"),
        (error(403), "auth", False, "answered 403"),
        (error(400, "This model's maximum context length is 10 tokens"), "too_long", False, "maximum context .*; split long turns"),
        (error(400, "no", code="context_length_exceeded"), "too_long", False, "answered 400"),
        ((413, {}, "<html>413 Request Entity Too Large</html>"), "too_long", False, "Too Large.*--max-turn-chars N ...\\)$"),
        (error(400, "bad top_p"), "http", False, "bad top_p$"),
        (error(400, "the grammar is bad"), "http", False, "use a policy without one, such as -p plain"),
        (error(404, "no such model"), "http", False, "most often in /v1"),
        (error(429, "pay", code="insufficient_quota"), "rate-limit", False, "pay"),
        (
            error(429, "tomorrow", {"Retry-After": "86400"}),
            "rate-limit",
            True,
            "tomorrow .it asks to wait 86400 s, which is longer than 300 s",
        ),
        (error(429, "in 2100", {"Retry-After": "Fri, 01 Jan 2100 00:00:00 GMT"}), "rate-limit", True, "asks to wait 1000000 s"),
        (
            (302, {"Location": f"http://me:{KEY}@host/login?key={KEY}"}, ""),
            "http",
            False,
            "302 and points to http://[^ ]*@host/login, which is",
        ),
        ((307, {}, ""), "http", False, "points to nowhere"),
        ((502, {}, "<html>gateway"), "http", True, "<html>gateway"),
        (ok({"choices": [{"message": {"content": 5}}]}), "bad-reply", True, "content that is no text"),
        ((200, {}, "x" * (17 << 20)), "bad-reply", False, "more than 16 MiB"),
        ((200, {"Content-Type": "text/event-stream"}, 'data: {"choices": []}\n\n'), "bad-reply", False, "a stream of events"),
        ((200, {}, "<html>hello</html>"), "bad-reply", True, "a web page, no JSON; check the address"),
        ((200, {}, ""), "bad-reply", True, "an empty answer"),
        ((204, {}, ""), "bad-reply", True, "an empty answer"),
        ("reset", "connection", True, "no connection to"),
        ("cut", "bad-reply", True, "in the middle"),
        (error(529, "Overloaded"), "http", True, "Overloaded"),
        (error(408, "slow"), "http", True, "slow"),
    ],
)
def test_final_faults(fault: Answer, kind: str, retryable: bool, says: str) -> None:
    sent = 2 if retryable and "asks to wait" not in says else 1
    server = Server([fault] * sent)
    with pytest.raises(CallError) as caught:
        chat(server, retry=Retry(attempts=2, base=0.001))
    told = str(caught.value)
    assert re.search(says, told.removesuffix(" (after 2 attempts)"))
    assert told.endswith("(after 2 attempts)") == (sent == 2)
    assert (caught.value.kind, caught.value.retryable) == (kind, retryable)
    assert caught.value.attempts == len(server.bodies) == sent
    assert "canary" not in told


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
BODY = json.dumps(OK).encode()


def plain(body: bytes, *headers: bytes, length: int | None = None) -> bytes:
    size = b"Content-Length: %d" % (len(body) if length is None else length)
    return b"\r\n".join([b"HTTP/1.1 200 OK", b"Connection: close", size, *headers, b"", b""]) + body


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (CHUNKED + b"1000\r\n" + BODY, "bad-reply"),
        (CHUNKED + b"nonsense\r\n" + BODY, "bad-reply"),
        (CHUNKED + b'5\r\n{"cho\r\n0\r\n\r\n', "bad-reply"),
        (plain(BODY, length=len(BODY) + 50), "bad-reply"),
        (plain(BODY, length=len(BODY) - 50), "bad-reply"),
        (plain(b"this is no gzip", b"Content-Encoding: gzip"), "bad-reply"),
        (plain(gzip.compress(BODY)[:-30], b"Content-Encoding: gzip"), "bad-reply"),
        (plain(b"\xff\xfe\x00\x80"), "bad-reply"),
        (b"HTTP/1.1 2", "connection"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "bad-reply"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 100_000 + b"\r\n\r\n", "bad-reply"),
        (b"", "connection"),
    ],
)
def test_broken_bytes_are_a_fault_that_may_pass(answer: bytes, kind: str) -> None:
    with pytest.raises(CallError) as caught:
        serve_bytes([answer], lambda url: ask(url, retry=ONCE))
    assert (caught.value.kind, caught.value.retryable) == (kind, True)
    replies = serve_bytes([answer, plain(BODY), plain(BODY)], lambda url: ask(url, calls=2))
    assert [(got.text, got.attempts) for got in replies] == [("[]", 2), ("[]", 1)]


def test_compressed_bodies_are_read() -> None:
    (got,) = serve_bytes([plain(gzip.compress(BODY), b"Content-Encoding: gzip")], ask)
    assert got.text == "[]"


def test_a_drip_times_out_as_a_whole() -> None:
    with pytest.raises(CallError, match=r"did not answer within 0\.1 s") as caught:
        serve_bytes([plain(BODY)], lambda url: ask(url, retry=ONCE, timeout=0.1), gap=0.01)
    assert (caught.value.kind, caught.value.retryable) == ("timeout", True)


def test_slow_server_times_out() -> None:
    async def hang(request: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    server = Server()
    server.handle = hang  # type: ignore[method-assign]
    with pytest.raises(CallError, match=r"did not answer within 0\.05 s") as caught:
        chat(server, retry=ONCE, timeout=0.05)
    assert (caught.value.kind, caught.value.retryable) == ("timeout", True)


def test_https_to_a_plain_port_says_so_and_is_not_tried_again() -> None:
    with pytest.raises(CallError, match="write http:// instead of https://") as caught:
        serve(Server(), lambda url: ask(url.replace("http:", "https:")))
    assert (caught.value.kind, caught.value.attempts) == ("connection", 1)


def test_unknown_host_and_closed_port() -> None:
    for url in ("http://no-such-host.invalid/v1", "http://127.0.0.1:1/v1"):
        with pytest.raises(CallError, match=f"no connection to {url}.*Start the server") as caught:
            asyncio.run(ask(url, retry=Retry(attempts=2, base=0.001)))
        assert (caught.value.kind, caught.value.attempts) == ("connection", 2)


def test_key_echoed_by_the_server_is_hidden() -> None:
    with pytest.raises(CallError) as caught:
        chat(Server([error(401, f"Incorrect API key provided: {KEY}, or sk-abcdef123456, Bearer xyz")]))
    assert "canary" not in f"{caught.value} {caught.value!r} {caught.value.args} {caught.value.__cause__}"
    assert "sk-abc" not in str(caught.value)
    assert "xyz" not in str(caught.value)
    assert chat(Server([reply({"content": f"key {KEY}"})])).text == "key [redacted]"
    escaped = KEY.replace("-", "\\u002d")  # JSON may write any letter so
    with pytest.raises(CallError) as caught:
        chat(Server([(400, {}, f'{{"error": "{escaped}"}}')]))
    assert "canary" not in str(caught.value)
    assert chat(Server([(200, {}, f'{{"choices": [{{"message": {{"content": "{escaped}"}}}}]}}')])).text == "[redacted]"


def test_other_secrets_of_the_environment_are_hidden() -> None:
    async def work(url: str) -> ModelReply:
        environ = {"OPENAI_API_KEY": KEY, "MY_SECRET": "grandmother's", "HF_TOKEN": "short", "HOME": "/somebody/else"}
        model = open_model("m", base_url=url, environ=environ)
        assert isinstance(model, Model)
        try:
            return await model.chat([{"role": "user", "content": "x"}])
        finally:
            await model.close()

    text = f"{KEY}, grandmother's, short, /somebody/else"
    assert serve(Server([reply({"content": text})]), work).text == "[redacted], [redacted], short, /somebody/else"


@pytest.mark.parametrize("padding", range(985, 1000))
def test_key_at_the_end_of_a_shortened_message_is_hidden(padding: int) -> None:
    for faulty in (
        error(400, "x" * padding + KEY),
        error(400, "x" * (padding - 440) + KEY),
        (200, {}, "y" * (padding - 880) + KEY),
        (302, {"Location": "http://host/" + "y" * (padding - 810) + KEY}, ""),
        reply("y" * (padding - 840) + KEY),
    ):
        with pytest.raises(CallError) as caught:
            chat(Server([faulty]), retry=ONCE)
        assert "canary" not in str(caught.value)


def test_key_is_not_in_a_repr() -> None:
    model = OpenAICompatModel("openai/m", "m", Endpoint.parse("http://localhost/v1?token=canary"), key=KEY)
    assert "canary" not in f"{model} {model!r} {model.fingerprint} {model._peer!r}"


def test_a_lone_surrogate_is_sent_as_json_can() -> None:
    async def work(url: str) -> None:
        model = OpenAICompatModel("openai/m", "m", Endpoint.parse(url))
        await model.chat([{"role": "user", "content": "a\ud800b"}])
        await model.close()

    server = Server([ok()])
    serve(server, work)
    assert server.bodies[0]["messages"] == [{"role": "user", "content": "a\ud800b"}]


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

    server = Server()
    serve(server, work)
    assert server.bodies == []


def test_calls_in_flight_are_cancelled_cleanly() -> None:
    async def work(url: str) -> None:
        tasks = [asyncio.create_task(ask(url, retry=FAST)) for _ in range(4)]
        await asyncio.sleep(0.05)
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(result, asyncio.CancelledError) for result in results)

    serve_bytes([plain(BODY)] * 4, work, gap=0.01)


@pytest.mark.parametrize("headers", [{}, {"Content-Type": "text/plain"}])
def test_the_content_type_does_not_matter(headers: Mapping[str, str]) -> None:
    assert chat(Server([(200, headers, json.dumps(OK))])).text == "[]"

"""The chat client over real HTTP on loopback: what is sent, what comes back, and what each failure is called."""

import asyncio
import json
import re
import socket
import threading
from typing import Any

import pytest

from salience import ChatClient, LlmClient, OptionError, SalienceError, Turn, create_salience_extractor
from salience.providers.openai import (
    AsyncOpenAIClient,
    BadReplyError,
    DeadlineError,
    KeyRefusedError,
    MissingKeyError,
    NoConnectionError,
    OpenAIClient,
    OpenAIReply,
    QuotaError,
    RateLimitError,
    RefusalError,
    RequestError,
    Retry,
    ServerError,
)
from tests.salience.providers.clients import FAST, MESSAGES, OBJECT, ask, client, fail
from tests.salience.providers.loopback import KEY, Answer, chat, error, ok, raw, reset, serving


def test_the_request_byte_for_byte_and_the_reply() -> None:
    reply, server = ask(chat("[1]"))
    assert reply == OpenAIReply("[1]", "stop", 7, 2, attempts=1, fallbacks=())
    (got,) = server.got
    assert (got.method, got.path) == ("POST", "/v1/chat/completions")
    assert got.body == '{"model":"m","messages":[{"role":"system","content":"S"},{"role":"user","content":"Grüße\\n"}]}'.encode()
    assert got.headers["authorization"] == f"Bearer {KEY}"
    assert got.headers["content-type"] == "application/json"
    assert got.headers["content-length"] == str(len(got.body))
    assert got.headers["host"] == server.url.split("/")[2]


def test_all_parameters_are_sent_under_their_names() -> None:
    _, server = ask(chat(), asked={"schema": OBJECT, "max_tokens": 5, "temperature": 0.0})
    wanted = {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": OBJECT}}
    assert server.got[0].entry == {"model": "m", "messages": MESSAGES, "max_tokens": 5, "temperature": 0.0, "response_format": wanted}


def test_complete_sends_two_messages_and_returns_the_text() -> None:
    with serving(chat("hello")) as server:
        assert client(server).complete(system="S", prompt="P") == "hello"
    assert server.got[0].entry["messages"] == [{"role": "system", "content": "S"}, {"role": "user", "content": "P"}]


def test_it_fits_both_seams_and_the_extractor() -> None:
    content = json.dumps({"items": [{"content": "User keeps bees", "salience": 0.8}]})
    with serving(chat(content)) as server:
        model = client(server)
        assert isinstance(model, ChatClient)
        assert isinstance(model, LlmClient)
        (candidate,) = create_salience_extractor(model).extract_salient(Turn("I keep bees"))
    assert (candidate.content, candidate.salience) == ("User keeps bees", 0.8)


def test_the_async_twin_gives_the_same_and_the_extractor_finds_it() -> None:
    async def run(url: str) -> tuple[list[OpenAIReply], int]:
        async with AsyncOpenAIClient(KEY, "m", url, retry=FAST) as model:
            replies = await asyncio.gather(*(model.chat(MESSAGES, max_tokens=3) for _ in range(5)))
            found = await create_salience_extractor(model).extract_salient(Turn("hi"))
            assert await model.complete(system="S", prompt="P") == "[]"
        return replies, len(found)

    with serving(chat()) as server:
        replies, count = asyncio.run(run(server.url))
        assert replies == [client(server).chat(MESSAGES, max_tokens=3)] * 5
    assert count == 0
    assert server.got[0] == server.got[-1]


def test_a_cancelled_call_ends_before_its_answer() -> None:
    async def run(url: str) -> None:
        async with AsyncOpenAIClient(KEY, "m", url) as model:
            task = asyncio.create_task(model.chat(MESSAGES))
            await asyncio.sleep(0.2)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    with serving(raw(b"HTTP/1.1 200 OK\r\n" + b"X" * 10_000, gap=0.05)) as server:
        asyncio.run(run(server.url))
        for thread in threading.enumerate():
            if thread.name.startswith("salience-openai"):
                thread.join(60)  # the answer takes 500 seconds, and the client would wait for 120
                assert not thread.is_alive()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("", ""),
        ([{"type": "thinking", "text": "hm"}, {"type": "text", "text": "a"}, "b", 3], "ab"),
        (f"your key is {KEY}", "your key is [redacted]"),
    ],
)
def test_contents_of_all_shapes(content: object, text: str) -> None:
    assert ask(chat(content))[0].text == text


def test_an_answer_that_ended_at_its_limit_and_odd_counts() -> None:
    reply, _ = ask(ok({"choices": [{"message": {"content": ""}, "finish_reason": "length"}], "usage": {"prompt_tokens": True}}))
    assert (reply.text, reply.finish_reason, reply.input_tokens, reply.output_tokens) == ("", "length", None, None)


def test_chunked_and_lone_surrogates() -> None:
    body = json.dumps({"choices": [{"message": {"content": "x"}}]}).encode()
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:5], body[5:])) + b"0\r\n\r\n"
    with serving(raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)) as server:
        assert client(server).complete(system="S", prompt="\ud800") == "x"
    assert server.got[-1].entry["messages"][1]["content"] == "\ud800"


REFUSED = [
    (KeyRefusedError, error(401, "Incorrect API key"), 401, "Check api_key or OPENAI_API_KEY"),
    (KeyRefusedError, error(403), 403, "what the key may use"),
    (QuotaError, error(429, "You exceeded your current quota", code="insufficient_quota"), 429, "plan and billing"),
    (QuotaError, error(402), 402, "no quota left"),
    (RequestError, error(404, "The model `m` does not exist", code="model_not_found"), 404, r"Check the model's name \('m'\)"),
    (RequestError, error(400, "maximum context length is 8192", code="context_length_exceeded"), 400, "Send a shorter text"),
    (RequestError, error(422, "bad things"), 422, "answered 422: bad things"),
    (RequestError, (400, {}, b"<html>no</html>"), 400, "answered 400: <html>no</html>"),
    (RequestError, ok({"error": {"message": "nope", "code": 400}}), 400, "nope"),
    (RefusalError, error(400, "filtered", code="content_filter"), 400, "content filter"),
    (RefusalError, chat(None, refusal="I cannot help with that"), None, "refuses to answer: I cannot help with that"),
    (RefusalError, chat("half", reason="content_filter"), None, "content filter"),
    (BadReplyError, (200, {}, b"<html>hello</html>"), 200, "no JSON: '<html>hello</html>'"),
    (BadReplyError, (200, {}, b""), 200, "an empty answer"),
    (BadReplyError, (200, {}, b'{"a": "\xff"}'), 200, "no JSON"),
    (BadReplyError, (200, {}, b"[" * 100_000), 200, "no JSON"),
    (BadReplyError, (200, {"Content-Type": "text/event-stream"}, b"data: {}\n\n"), 200, "stream of events"),
    (BadReplyError, ok({"choices": []}), None, "no choices"),
    (BadReplyError, ok([]), None, "no choices"),
    (BadReplyError, ok({"choices": [{"message": None}]}), None, "no choices"),
    (BadReplyError, chat(12), None, "content that is no text"),
    (ServerError, chat("", reason="error"), None, "could not finish the answer: no reason given"),
    (BadReplyError, (200, {"Content-Encoding": "gzip"}, b"{}"), None, "it sent its answer compressed"),
    (BadReplyError, (204, {}, b""), 204, "an empty answer"),
    (BadReplyError, raw(b"SSH-2.0-OpenSSH\r\n\r\n"), None, "no valid HTTP"),
]


@pytest.mark.parametrize(("kind", "answer", "status", "text"), REFUSED)
def test_what_is_not_sent_again(kind: type[SalienceError], answer: Answer, status: int | None, text: str) -> None:
    caught, server = fail(kind, answer)
    assert caught.status == status
    assert len(server.got) == 1
    assert re.search(text, str(caught)), str(caught)


@pytest.mark.parametrize(
    "first",
    [
        error(500),
        error(503, headers={"Retry-After": "0"}),
        error(429),
        error(408),
        reset,
        raw(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"),
    ],
)
def test_what_is_sent_again_and_succeeds(first: Answer) -> None:
    reply, server = ask(first, chat("x"))
    assert (reply.text, reply.attempts, len(server.got)) == ("x", 2, 2)
    assert server.got[0].body == server.got[1].body


@pytest.mark.parametrize(
    ("kind", "answer", "text"),
    [
        (ServerError, error(500, "boom"), r"answered 500: boom\. Try again later, .* \(after 3 attempts\)"),
        (RateLimitError, error(429, "slow down"), r"slow down\. Ask less often.* \(after 3 attempts\)"),
        (NoConnectionError, reset, r"no connection to http://127.* \(after 3 attempts\)"),
        (NoConnectionError, raw(b""), "closed the connection without an answer"),
        (NoConnectionError, raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{"), "in the middle"),
    ],
)
def test_attempts_are_bounded(kind: type[SalienceError], answer: Answer, text: str) -> None:
    caught, server = fail(kind, answer, retry=Retry(attempts=3, base=0.001))
    assert (len(server.got), caught.attempts) == (3, 3)
    assert re.search(text, str(caught)), str(caught)


def test_retry_after_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("salience.providers.openai_calls.time.sleep", waits.append)
    reply, _ = ask(
        error(429, headers={"Retry-After": "7"}), error(503, headers={"Retry-After": "9", "Retry-After-Ms": "1500"}), error(500), chat()
    )
    assert reply.attempts == 4
    assert waits[:2] == [7.0, 1.5]
    assert 0.002 <= waits[2] <= 0.004  # the third wait of 0.001, doubled twice, shortened by up to a half


def test_a_longer_wait_than_there_is_patience_for_ends_the_call() -> None:
    caught, server = fail(RateLimitError, error(429, headers={"Retry-After": "3600"}))
    assert len(server.got) == 1
    assert caught.retry_after == 3600
    assert "(it asks to wait 3600 s, which is longer than 60 s)" in str(caught)


def test_nobody_listens_and_a_name_that_is_none() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(NoConnectionError, match="Connection refused.*Start the server") as caught:
            OpenAIClient(KEY, "m", url, retry=FAST).complete(system="S", prompt="P")
    assert caught.value.attempts == 4


def test_plain_http_behind_https() -> None:
    with serving(raw(b"HTTP/1.1 200 OK\r\n\r\n")) as server, pytest.raises(NoConnectionError, match="write http:// for https://") as caught:
        client(server, base_url=server.url.replace("http:", "https:")).complete(system="S", prompt="P")
    assert caught.value.attempts == 1


@pytest.mark.parametrize("answer", [raw(b"HTTP/1.1 200 OK\r\n" * 400, gap=0.02), raw(b"HTTP/1.1 200 OK\r\n\r\n" + b" " * 4000, gap=0.02)])
def test_a_server_that_drips_is_left_at_the_deadline(answer: Answer) -> None:
    caught, server = fail(DeadlineError, answer, timeout=0.3)
    assert len(server.got) == 1
    assert "no whole answer within 0.3 s; give a longer timeout=" in str(caught)


@pytest.mark.parametrize("length", [{}, {"Content-Length": str(10**12)}])
def test_a_huge_body_is_not_read_to_its_end(length: dict[str, str]) -> None:
    def flood(handler: Any) -> None:
        handler.send_response(200)
        for name, value in length.items():
            handler.send_header(name, value)
        handler.end_headers()
        for _ in range(64):
            handler.wfile.write(b" " * (1 << 20))

    caught, server = fail(BadReplyError, flood)
    assert "more than 16 MiB" in str(caught)
    assert len(server.got) == 1


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(status: int) -> None:
    with serving(chat("thief")) as other:
        caught, _ = fail(RequestError, (status, {"Location": f"{other.url}/x?key=abc"}, b""))
    assert other.got == []
    assert f"points to {other.url}/x. It is not followed" in str(caught)


def test_keys_given_and_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MissingKeyError, match=r"set OPENAI_API_KEY or give api_key=\.\.\..*base_url"):
        OpenAIClient()
    with serving(chat()) as server:
        OpenAIClient(base_url=server.url).complete(system="S", prompt="P")
        monkeypatch.setenv("OPENAI_API_KEY", " from-outside \n")
        for key in (None, "given", ""):
            OpenAIClient(key, base_url=server.url).complete(system="S", prompt="P")
    sent = [got.headers.get("authorization") for got in server.got]
    assert sent == [None, "Bearer from-outside", "Bearer given", None]
    assert server.got[0].entry["model"] == "gpt-5-nano"


def test_a_query_of_the_base_address_goes_along_and_is_not_shown() -> None:
    with serving(error(400, f"bad v={KEY}x")) as server:
        model = client(server, api_key="", base_url=f"{server.url}/?v={KEY}x")
        with pytest.raises(RequestError) as caught:
            model.complete(system="S", prompt="P")
    assert server.got[0].path == f"/v1/chat/completions?v={KEY}x"
    assert KEY not in str(caught.value) + repr(model)


def test_a_proxy_of_the_environment_is_used_but_not_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(chat("by proxy")) as proxy, serving(chat("direct")) as server:
        monkeypatch.setenv("http_proxy", proxy.url.replace("http://", "http://me:pass%21@").removesuffix("/v1"))
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        assert client(server, base_url="http://models.invalid/v1").complete(system="S", prompt="P") == "by proxy"
        assert client(server).complete(system="S", prompt="P") == "direct"
    (got,) = proxy.got
    assert got.path == "http://models.invalid/v1/chat/completions"
    assert got.headers["proxy-authorization"] == "Basic bWU6cGFzcyE="
    assert got.headers["host"] == "models.invalid"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"base_url": "localhost:8000"}, "base_url must be an http or https address, got 'localhost:8000'"),
        ({"base_url": "http://h:99999999/v1"}, "base_url cannot be read"),
        ({"base_url": "http://h/a b"}, "base_url must be"),
        ({"base_url": 3}, "base_url must be a string or None, got int"),
        ({"model": " "}, "model must be a model's name"),
        ({"timeout": 0}, "timeout must be a number of seconds from 0.001"),
        ({"timeout": True}, "timeout must be"),
        ({"api_key": 5}, "api_key must be a string or None, got int"),
        ({"retry": 5}, "retry must be a salience.providers.openai.Retry or None, got int"),
    ],
)
def test_arguments_out_of_range(options: dict[str, Any], text: str) -> None:
    with pytest.raises(OptionError, match=text):
        OpenAIClient(**{"api_key": KEY, **options})


@pytest.mark.parametrize(
    ("messages", "asked", "text"),
    [
        ([], {}, "messages must be a non-empty sequence"),
        ([{"role": "user"}], {}, r"messages\[0\] must be a mapping with role and content"),
        (MESSAGES, {"max_tokens": 0}, "max_tokens must be None or a whole number from 1 up, got 0"),
        (MESSAGES, {"temperature": float("nan")}, "temperature must be None or a number from 0 up, got nan"),
        (MESSAGES, {"schema": [1]}, r"schema must be None or a mapping \(a JSON schema\), got list"),
        (MESSAGES, {"schema": {"type": "object", "x": {1, 2}}}, "the request is no JSON.*check the schema"),
    ],
)
def test_calls_out_of_range_send_nothing(messages: Any, asked: dict[str, Any], text: str) -> None:
    with serving(chat()) as server, pytest.raises(OptionError, match=text):
        client(server).chat(messages, **asked)
    assert server.got == []


@pytest.mark.parametrize("name", ["attempts", "base", "longest", "patience"])
def test_a_retry_out_of_range(name: str) -> None:
    with pytest.raises(OptionError, match=f"Retry.{name} must be"):
        Retry(**{name: -1})

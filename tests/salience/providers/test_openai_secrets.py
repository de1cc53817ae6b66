"""The key shows nowhere: not in a message, a repr, a reply, a log, a pickle, a saved object or the variables of a traceback."""

import asyncio
import copy
import json
import logging
import pickle
import traceback
from typing import Any
from urllib.parse import quote

import pytest

from salience import OptionError
from salience.providers.openai import AsyncOpenAIClient, AsyncOpenAIEmbeddings, OpenAIClient, OpenAIEmbeddings, ProviderError, Retry
from salience.providers.openai_http import Exchange
from salience.providers.openai_outcomes import Send
from salience.providers.openai_secrets import Key, Secrets
from salience.providers.openai_settings import Endpoint
from tests.salience.providers.loopback import Answer, chat, error, ok, raw, reset, serving

CANARY = 'canary-"4711/key+secret'
FORMS = {CANARY, json.dumps(CANARY)[1:-1], quote(CANARY, safe="")}
ESCAPED = "".join(f"\\u{ord(letter):04x}" for letter in CANARY)
FAST = Retry(attempts=2, base=0.001)

ECHOES: list[Answer] = [
    error(401, f"Incorrect API key provided: {CANARY}. See Authorization: Bearer {CANARY}"),
    error(400, f"bad header Bearer {quote(CANARY, safe='')}", param=CANARY, code=CANARY, type=CANARY),
    error(403, f"{CANARY}\x1b[31m red"),
    error(404, CANARY),
    error(429, CANARY, code="insufficient_quota"),
    error(429, CANARY),
    error(500, CANARY + " temperature not supported"),
    (502, {}, f"<html>{CANARY}</html>".encode()),
    (400, {}, b'{"error": {"message": "' + ESCAPED.encode() + b'"}}'),
    (400, {}, b'{"error": {"message": "' + b" " * 590 + CANARY.encode() + b'"}'),
    (302, {"Location": f"http://elsewhere.example/{quote(CANARY, safe='')}"}, b""),
    (200, {}, f"no json {CANARY}".encode()),
    (200, {}, b"\xff" + CANARY.encode()),
    ok({"choices": [], "key": CANARY}),
    ok({"error": {"message": CANARY, "code": 401}}),
    chat(None, refusal=f"I will not use {CANARY}"),
    chat({"key": CANARY}),
    reset,
    raw(f"HTTP/1.1 {CANARY} no\r\n\r\n".encode()),
    raw(f"{CANARY}\r\n\r\n".encode()),
]


def everything(failure: BaseException) -> str:
    """All that a person or a tool can be shown of a failure: text, attributes, chain, and the variables of every frame but a test's."""
    parts: list[str] = []
    chain: list[BaseException] = []
    todo: list[BaseException | None] = [failure]
    while todo:
        one = todo.pop()
        if one is None or one in chain:
            continue
        chain.append(one)
        todo += [one.__cause__, one.__context__]
        parts += [str(one), repr(one), repr(one.args), repr(vars(one))]
        shown = traceback.TracebackException.from_exception(one, capture_locals=True)
        parts += [repr(frame.locals) for frame in shown.stack if "/tests/" not in frame.filename]
    parts += [pickle.dumps(one).decode("latin-1") for one in chain if isinstance(one, ProviderError)]
    return "\n".join(parts)


def assert_hidden(text: str) -> None:
    for form in FORMS:
        assert form not in text, text
        assert repr(form)[1:-1] not in text, text


@pytest.mark.parametrize("number", range(len(ECHOES)))
def test_a_server_that_sends_the_key_back(number: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def run(url: str) -> None:
        async with AsyncOpenAIClient(CANARY, "m", url, retry=FAST) as model:
            await model.chat([{"role": "user", "content": "x"}], temperature=1.0, schema={"type": "array"})

    with serving(ECHOES[number]) as server:
        with pytest.raises(ProviderError) as caught:
            OpenAIClient(CANARY, "m", server.url, retry=FAST).chat([{"role": "user", "content": "x"}], temperature=1.0)
        with pytest.raises(ProviderError) as twin:
            asyncio.run(run(server.url))
        with pytest.raises(ProviderError) as vectors:
            OpenAIEmbeddings("m", CANARY, server.url, retry=FAST).embed("x")
    assert f"Bearer {CANARY}" in {got.headers["authorization"] for got in server.got}
    for failure in (caught.value, twin.value, vectors.value):
        assert_hidden(everything(failure))
        assert "\x1b" not in str(failure)
    assert_hidden(caplog.text)


def test_the_reply_and_its_finish_reason() -> None:
    with serving(chat(f"it is {CANARY}", reason=CANARY)) as server:
        reply = OpenAIClient(CANARY, "m", server.url).chat([{"role": "user", "content": "x"}])
    assert_hidden(repr(reply))
    assert reply.text == "it is [redacted]"


@pytest.mark.parametrize("make", [OpenAIClient, AsyncOpenAIClient])
def test_a_client_shows_and_saves_nothing(make: Any) -> None:
    model = make(CANARY, "m", f"http://localhost:1/v1?api-key={quote(CANARY)}")
    assert_hidden(repr(model) + str(model) + repr(vars(model)) + repr(vars(model._service)) + repr(model._service.endpoint))
    for save in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be pickled or copied"):
            save(model._service)
    with pytest.raises(TypeError, match="cannot be pickled or copied, so that the key gets into no file"):
        pickle.dumps(model)


@pytest.mark.parametrize("make", [OpenAIEmbeddings, AsyncOpenAIEmbeddings])
def test_embeddings_show_and_save_nothing(make: Any) -> None:
    model = make("m", CANARY, "http://localhost:1/v1")
    assert_hidden(repr(model) + repr(vars(model)) + repr(vars(model._service)))
    with pytest.raises(TypeError, match="cannot be pickled or copied"):
        pickle.dumps(model)


@pytest.mark.parametrize(
    "options",
    [
        {"api_key": CANARY + "\nX-Other: 1"},
        {"api_key": CANARY + "é"},
        {"api_key": CANARY.encode()},
        {"api_key": CANARY, "base_url": "ftp://x"},
        {"api_key": CANARY, "base_url": f"http://{quote(CANARY, safe='')}@host/v1"},
        {"api_key": CANARY, "base_url": f"http://me:{quote(CANARY, safe='')}@host/v1"},
        {"api_key": CANARY, "base_url": f"me:{quote(CANARY, safe='')}@host/v1"},
        {"api_key": CANARY, "base_url": f"ftp://host/v1?key={quote(CANARY, safe='')}"},
        {"api_key": CANARY, "timeout": -1},
        {"api_key": CANARY, "model": ""},
    ],
)
def test_refused_arguments(options: dict[str, Any]) -> None:
    for make in (OpenAIClient, OpenAIEmbeddings):
        with pytest.raises(OptionError) as caught:
            make(**options)
        assert_hidden("".join(traceback.format_exception(caught.value)).split("Error: ")[-1] + repr(caught.value))
        if "@" not in str(options.get("base_url")) and "?" not in str(options.get("base_url")):  # an address is the caller's to show
            assert_hidden(everything(caught.value))


def test_an_interrupt_carries_no_frames_that_hold_the_header(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("http.client.HTTPConnection.getresponse", interrupted)
    with serving(chat()) as server, pytest.raises(KeyboardInterrupt) as caught:
        Exchange(Send("/x", b"{}"), Endpoint.parse(server.url), Key(CANARY), 5.0).run()
    names = [frame.f_code.co_name for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
    assert names[-1] == "run"
    assert_hidden(everything(caught.value))


def test_errors_survive_a_pickle() -> None:
    with serving(error(429, "slow", headers={"Retry-After": "99"})) as server, pytest.raises(ProviderError) as caught:
        OpenAIClient(CANARY, "m", server.url).complete(system="S", prompt="P")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again), vars(again)) == (type(caught.value), str(caught.value), vars(caught.value))


def test_short_placeholders_are_no_secret_in_a_reply() -> None:
    secrets = Secrets(Key("ollama"), ["x", ""])
    assert secrets.hide("ollama is a program") == "ollama is a program"
    assert secrets.redact("bad key ollama\x00") == "bad key [redacted]\ufffd"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("key sk-proj-abcdef123 is wrong", "key [redacted] is wrong"),
        ("Authorization: Bearer abc.def", "Authorization: Bearer [redacted]"),
        ("https://a:b@host/x?key=abc&y=1", "https://[redacted]@host/x?key=[redacted]&y=1"),
        ("plain  text\n again", "plain text again"),
    ],
)
def test_what_looks_like_a_secret_is_hidden_in_messages(text: str, shown: str) -> None:
    assert Secrets(Key(None)).redact(text) == shown

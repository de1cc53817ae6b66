"""What servers' errors and headers mean, in all the shapes that they come in; how long is waited; how a request is put."""

import datetime
import json

import pytest

from salience.providers.openai import ServerError
from salience.providers.openai_faults import ErrorBody, parse_error, parse_retry_after
from salience.providers.openai_requests import Asked, Style, changes, chat_body, is_strict
from salience.providers.openai_settings import Endpoint, Retry

NOW = datetime.datetime(2026, 3, 2, 12, 0, 0, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after": "9", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "Mon, 02 Mar 2026 12:01:30 GMT"}, 90.0),
        ({"retry-after": "Mon, 02 Mar 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "Mon, 02 Mar 2026 12:00:05"}, 5.0),
        ({"retry-after": "999999999999"}, 1e6),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1" * 400}, None),
        ({"retry-after": "٣"}, None),
    ],
)
def test_how_long_a_server_asks_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert parse_retry_after(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"error": {"message": "no", "type": "t", "code": "c", "param": "p"}}, ErrorBody("no", "c t", "p")),
        ({"error": "no such model"}, ErrorBody("no such model")),
        ({"detail": [{"loc": ["body", "temperature"], "msg": "too hot", "type": "x"}]}, ErrorBody("too hot", "x", "temperature")),
        ({"detail": [{"loc": "odd", "param": "q", "msg": "m"}]}, ErrorBody("m", "", "q")),
        ([{"error": {"message": "Google's", "status": "INVALID"}}], ErrorBody("Google's", "INVALID")),
        ({"object": "error", "message": "vLLM's", "code": 400}, ErrorBody("vLLM's", "400")),
        ({"a": 1}, ErrorBody('{"a": 1}')),
        (None, ErrorBody("null")),
    ],
)
def test_errors_in_all_shapes(entry: object, told: ErrorBody) -> None:
    assert parse_error(json.dumps(entry).encode()) == told


def test_errors_that_are_no_json() -> None:
    assert parse_error(b"<p>no</p>") == ErrorBody("<p>no</p>")
    assert parse_error(b"\xff") == ErrorBody("\ufffd")
    assert parse_error(b"[" * 60_000).message.startswith("[[[")


def test_waits_grow_and_are_bounded() -> None:
    retry = Retry(attempts=9, base=1.0, longest=4.0, patience=60.0)
    failed = ServerError("x", retryable=True)
    for attempt, full in [(1, 1.0), (2, 2.0), (3, 4.0), (4, 4.0), (8, 4.0)]:
        waits = [retry.wait(failed, attempt) for _ in range(50)]
        assert all(wait is not None and full / 2 <= wait <= full for wait in waits)
    assert retry.wait(failed, 9) is None
    assert retry.wait(ServerError("x"), 1) is None
    assert retry.wait(ServerError("x", retryable=True, retry_after=60.0), 1) == 60.0
    assert retry.wait(ServerError("x", retryable=True, retry_after=60.5), 1) is None


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        ({"type": "string"}, True),
        ({"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": False}, True),
        ({"type": "object", "properties": {"a": {}}, "required": ["a"]}, False),
        ({"type": "object", "properties": {"a": {}}, "required": [], "additionalProperties": False}, False),
        ({"type": "array", "items": {"type": "object", "properties": {"a": {}}}}, False),
        ({"anyOf": [{"type": "object", "properties": {}}]}, False),
    ],
)
def test_which_schema_may_be_strict(schema: dict[str, object], strict: bool) -> None:
    assert is_strict(schema) is strict


def test_a_body_keeps_order_and_names_and_leaves_out_other_keys() -> None:
    asked = Asked(({"role": "user", "content": "a", "name": "N", "id": "7"},), None, 3, 0.5)
    assert chat_body("m", asked, Style("max_completion_tokens")) == (
        b'{"model":"m","messages":[{"role":"user","content":"a","name":"N"}],"max_completion_tokens":3,"temperature":0.5}'
    )
    assert changes(asked, Style(temperature=False)) == ("no-temperature",)
    assert changes(asked, Style(form="none")) == ()


@pytest.mark.parametrize(
    ("url", "host", "port", "path", "shown"),
    [
        ("http://localhost:8000/v1/", "localhost", 8000, "/v1", "http://localhost:8000/v1"),
        (" https://api.openai.com/v1 ", "api.openai.com", 443, "/v1", "https://api.openai.com/v1"),
        ("http://[::1]/v1", "::1", 80, "/v1", "http://[::1]/v1"),
        ("http://h", "h", 80, "", "http://h"),
        ("https://h/a/b?version=2", "h", 443, "/a/b", "https://h/a/b"),
    ],
)
def test_addresses(url: str, host: str, port: int, path: str, shown: str) -> None:
    endpoint = Endpoint.parse(url)
    assert (endpoint.host, endpoint.port, endpoint.path, endpoint.shown) == (host, port, path, shown)

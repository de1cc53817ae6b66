"""Servers that refuse a parameter: what is asked instead, what is remembered, and that it is always told."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from evals.errors import CallError
from evals.models import ModelReply
from evals.models.calling import Caller
from evals.models.endpoint import Endpoint
from evals.models.fallbacks import Asked, Style, is_strict, next_style
from evals.models.http_faults import ErrorBody
from evals.models.openai_compat import OpenAICompatModel
from tests.evals.models.servers import FAST, MESSAGES, Answer, Server, ask, chat, error, ok, serve

ARRAY = {"type": "array", "items": {"type": "string"}}
EVERYTHING = {"schema": ARRAY, "max_tokens": 9, "temperature": 0.0, "seed": 3}


def refusing(*rules: tuple[Callable[[Any], bool], Answer]) -> Server:
    """Return a server that refuses what a rule applies to, and answers the rest."""

    def answer(body: Any) -> Answer:
        return next((refusal for applies, refusal in rules if applies(body)), ok())

    return Server(answer)


def has(key: str) -> Callable[[Any], bool]:
    return lambda body: key in body


def bare(body: Any) -> bool:
    return "response_format" in body and body["response_format"]["json_schema"]["schema"]["type"] == "array"


OPENAI_LIMIT = error(
    400,
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    param="max_tokens",
    code="unsupported_parameter",
)
OPENAI_ARRAY = error(
    400,
    "Invalid schema for response_format 'memories': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"array\"'.",
    param="response_format",
)
DEEPSEEK = error(400, "This response_format type is unavailable now", type="invalid_request_error", param=None)
OPENAI_TEMPERATURE = error(
    400,
    "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
    param="temperature",
    code="unsupported_value",
)
FASTAPI_SEED: Answer = (
    422,
    {},
    '{"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}',
)
GOOGLE_SEED: Answer = (400, {}, json.dumps([{"error": {"code": 400, "message": 'Unknown name "seed": Cannot find field.', "status": "X"}}]))


@pytest.mark.parametrize(
    ("rules", "fallbacks", "requests", "last"),
    [
        ([(has("max_tokens"), OPENAI_LIMIT)], (), 2, {"max_completion_tokens": 9, "temperature": 0.0, "seed": 3}),
        ([(bare, OPENAI_ARRAY)], ("wrapped-schema",), 2, {"max_tokens": 9, "temperature": 0.0, "seed": 3}),
        ([(has("response_format"), DEEPSEEK)], ("no-schema",), 3, {"max_tokens": 9, "temperature": 0.0, "seed": 3}),
        ([(has("temperature"), OPENAI_TEMPERATURE)], ("no-temperature",), 2, {"max_tokens": 9, "seed": 3}),
        ([(has("seed"), FASTAPI_SEED)], ("no-seed",), 2, {"max_tokens": 9, "temperature": 0.0}),
        ([(has("seed"), GOOGLE_SEED)], ("no-seed",), 2, {"max_tokens": 9, "temperature": 0.0}),
        (
            [
                (has("seed"), error(400, "Unrecognized request argument supplied: seed")),
                (has("temperature"), OPENAI_TEMPERATURE),
                (has("max_tokens"), OPENAI_LIMIT),
                (bare, error(404, "json_schema with an array is not supported")),
                (has("response_format"), error(400, "no structured output here")),
            ],
            ("no-schema", "no-temperature", "no-seed"),
            6,
            {"max_completion_tokens": 9},
        ),
    ],
)
def test_what_is_refused_is_done_without_and_remembered(
    rules: list[tuple[Callable[[Any], bool], Answer]], fallbacks: tuple[str, ...], requests: int, last: Mapping[str, object]
) -> None:
    server = refusing(*rules)
    first, second = serve(server, lambda url: ask(url, calls=2, **EVERYTHING))
    assert (first.fallbacks, first.attempts) == (fallbacks, requests)
    assert (second.fallbacks, second.attempts) == (fallbacks, 1)
    kept = {key: value for key, value in server.bodies[-1].items() if key not in {"model", "messages", "response_format"}}
    assert kept == last
    assert ("response_format" in server.bodies[-1]) == ("no-schema" not in fallbacks)


def test_the_other_way_round_for_an_old_server_called_openai() -> None:
    server = refusing((has("max_completion_tokens"), error(400, "Unknown field max_completion_tokens")))
    assert chat(server, openai=True, **EVERYTHING).fallbacks == ()
    assert server.bodies[-1]["max_tokens"] == 9


@pytest.mark.parametrize(
    ("refusal", "requests"),
    [
        (error(400, "bad top_p"), 1),
        (error(400, "no", param="messages[0].content"), 1),
        (error(400, "temperature is hot in messages", param="messages"), 1),
        (error(400, "max_tokens is too large: 9", param="max_tokens"), 2),
        (error(400, "temperature is bad"), 2),
        (error(500, "temperature is bad"), 5),
        (error(404, "the model seed-oss is unknown"), 2),
        (error(400, "response_format, temperature, max_tokens and seed are bad"), 6),
    ],
)
def test_where_nothing_helps_the_first_refusal_is_the_error(refusal: Answer, requests: int) -> None:
    server = Server([refusal] + [error(400, "now something else") if requests < 6 else refusal] * 9)
    if requests == 5:
        server = Server([refusal] * 9)
    with pytest.raises(CallError) as caught:
        chat(server, **EVERYTHING)
    message = json.loads(refusal[2])["error"]["message"]
    assert message in str(caught.value)
    assert "something else" not in str(caught.value)
    assert str(caught.value).endswith(f"(after {requests} attempts)") == (requests > 1)
    assert caught.value.attempts == len(server.bodies) == requests


def test_what_did_not_help_is_not_remembered() -> None:
    server = Server([error(400, "bad temperature"), error(400, "bad temperature"), ok()])

    async def work(url: str) -> ModelReply:
        model = OpenAICompatModel("m", "m", Endpoint.parse(url))
        caller = Caller(model, retry=FAST)
        with pytest.raises(CallError):
            await caller.chat(MESSAGES, temperature=0.0)
        reply = await caller.chat(MESSAGES, temperature=0.0)
        await model.close()
        return reply

    assert serve(server, work).fallbacks == ()
    assert server.bodies[-1]["temperature"] == 0.0


def test_another_fault_on_the_way_is_told_as_it_is() -> None:
    for fault, kind in ((error(401), "auth"), (error(400, "maximum context length"), "too_long")):
        with pytest.raises(CallError) as caught:
            chat(Server([error(400, "bad seed"), fault]), **EVERYTHING)
        assert caught.value.kind == kind
    assert chat(Server([error(400, "bad seed"), error(500), error(429), ok()]), **EVERYTHING).attempts == 4


def test_one_policys_schema_and_temperature_say_nothing_about_anothers() -> None:
    def is_refused(body: Any) -> bool:
        return body.get("temperature") == 2.0 or "pattern" in str(body.get("response_format"))

    server = refusing((lambda body: body.get("temperature") == 2.0, OPENAI_TEMPERATURE), (is_refused, DEEPSEEK))

    async def work(url: str) -> list[ModelReply]:
        model = OpenAICompatModel("m", "m", Endpoint.parse(url))
        caller = Caller(model, retry=FAST)
        odd = {"type": "array", "items": {"type": "string", "pattern": "x"}}
        replies = [
            await caller.chat(MESSAGES, schema=schema, temperature=temperature)
            for schema, temperature in ((odd, 2.0), (ARRAY, 0.0), (odd, 0.0), (ARRAY, 2.0))
        ]
        await model.close()
        return replies

    replies = serve(server, work)
    assert [(reply.fallbacks, reply.attempts) for reply in replies] == [
        (("no-schema", "no-temperature"), 4),
        ((), 1),
        (("no-schema",), 1),
        (("no-temperature",), 1),
    ]


def test_several_calls_find_out_at_once_and_each_request_is_announced() -> None:
    server = refusing((has("seed"), GOOGLE_SEED))
    announced = []

    async def work(url: str) -> list[ModelReply]:
        model = OpenAICompatModel("m", "m", Endpoint.parse(url), concurrency=4)
        caller = Caller(model, retry=FAST)
        replies = await asyncio.gather(*[caller.chat(MESSAGES, seed=1, before_attempt=lambda: announced.append(1)) for _ in range(8)])
        await model.close()
        return replies

    replies = serve(server, work)
    assert {reply.fallbacks for reply in replies} == {("no-seed",)}
    assert len(server.bodies) == len(announced) == sum(reply.attempts for reply in replies)


def test_a_refusal_behind_a_status_of_success_counts_too() -> None:
    refusal = ok({"error": {"message": "seed is not supported", "code": 400}})
    assert chat(refusing((has("seed"), refusal)), seed=1).fallbacks == ("no-seed",)


def test_a_budget_ends_the_search() -> None:
    class NoMoreError(Exception):
        pass

    budget = iter([None])

    def spend() -> None:
        try:
            next(budget)
        except StopIteration:
            raise NoMoreError from None

    server = refusing((has("seed"), GOOGLE_SEED))
    with pytest.raises(NoMoreError):
        chat(server, seed=1, before_attempt=spend)
    assert len(server.bodies) == 1


@pytest.mark.parametrize(
    ("told", "style"),
    [
        (ErrorBody("Unsupported parameter: 'seed'. Supported are temperature and max_tokens"), Style(seed=False)),
        (ErrorBody("no", param="response_format.json_schema.schema"), Style(form="wrapped")),
        (ErrorBody("extra fields not permitted: random_seed"), Style(seed=False)),
        (ErrorBody("Temperature must be 1"), Style(temperature=False)),
        (ErrorBody("max_completion_tokens is unknown"), None),
        (ErrorBody("the seedling max_tokens_total temperatures"), None),
        (ErrorBody(""), None),
    ],
)
def test_the_next_step(told: ErrorBody, style: Style | None) -> None:
    assert next_style(Asked((), ARRAY, 9, 0.0, 3), Style(), told) == style
    assert next_style(Asked((), None, None, None, None), Style(), told) is None


def test_an_object_at_the_root_is_not_wrapped() -> None:
    asked = Asked((), {"type": "object"}, None, None, None)
    assert next_style(asked, Style(), ErrorBody("bad json_schema")) == Style(form="none")


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

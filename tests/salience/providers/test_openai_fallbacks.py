"""What a server refuses of a request, and how it is asked instead: names, forms of a schema, what is left out and what is remembered."""

from collections.abc import Callable
from typing import Any

import pytest

from salience.providers.openai import OpenAIClient, RequestError, ServerError
from salience.providers.openai_calls import usual_style
from salience.providers.openai_settings import Endpoint
from tests.salience.providers.clients import ARRAY, MESSAGES, OBJECT, client, fail
from tests.salience.providers.loopback import KEY, Answer, Loopback, chat, error, serving

OPENAI_SAYS = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."


def picky(refuses: Callable[[dict[str, Any]], Answer | None]) -> Any:
    return serving(by=lambda got: refuses(got.entry) or chat("x"))


def test_a_refused_limit_and_temperature_are_learned_once() -> None:
    def refuses(entry: dict[str, Any]) -> Answer | None:
        if "max_tokens" in entry:
            return error(400, OPENAI_SAYS, param="max_tokens", code="unsupported_parameter")
        if "temperature" in entry:
            return error(400, "Unsupported value: 'temperature' does not support 0 with this model.", param="temperature")
        return None

    with picky(refuses) as server:
        model = client(server)
        replies = [model.chat(MESSAGES, max_tokens=5, temperature=0) for _ in range(2)]
        assert model.chat(MESSAGES, max_tokens=5).fallbacks == ()
    assert [(reply.attempts, reply.fallbacks) for reply in replies] == [(3, ("no-temperature",)), (1, ("no-temperature",))]
    assert [sorted(got.entry.keys() - {"model", "messages"}) for got in server.got] == [
        ["max_tokens", "temperature"],
        ["max_completion_tokens", "temperature"],
        ["max_completion_tokens"],
        ["max_completion_tokens"],
        ["max_completion_tokens"],
    ]


def forms(server: Loopback) -> list[tuple[str, bool] | None]:
    found: list[tuple[str, bool] | None] = []
    for got in server.got:
        sent = got.entry.get("response_format", {}).get("json_schema")
        found.append((sent["schema"]["type"], sent["strict"]) if sent else None)
    return found


def test_a_schema_goes_into_an_object_where_its_root_may_be_none() -> None:
    def refuses(entry: dict[str, Any]) -> Answer | None:
        kind = entry["response_format"]["json_schema"]["schema"]["type"]
        return error(400, "Invalid schema for response_format: root must be an object") if kind != "object" else None

    with picky(refuses) as server:
        model = client(server, require_schema=True)
        assert [model.chat(MESSAGES, schema=ARRAY).fallbacks for _ in range(2)] == [(), ()]
    assert forms(server) == [("array", True), ("object", True), ("object", True)]
    wrapped = server.got[1].entry["response_format"]["json_schema"]["schema"]
    assert wrapped == {"type": "object", "properties": {"items": ARRAY}, "required": ["items"], "additionalProperties": False}


@pytest.mark.parametrize(
    "refusal",
    [
        error(400, "This response_format type is unavailable now"),
        error(501, "json_schema is not implemented"),
        error(500, "grammar unsupported"),
    ],
)
def test_a_schema_that_is_always_refused_is_left_out_and_named(refusal: Answer, caplog: pytest.LogCaptureFixture) -> None:
    with picky(lambda entry: refusal if "response_format" in entry else None) as server:
        model = client(server)
        assert [model.chat(MESSAGES, schema=OBJECT).fallbacks for _ in range(2)] == [("no-schema",)] * 2
        assert forms(server) == [("object", True), ("object", False), None, None]
        with pytest.raises(ServerError if refusal[0] >= 500 else RequestError, match="answered"):  # type: ignore[index]
            client(server, require_schema=True).chat(MESSAGES, schema=OBJECT)
    assert len(caplog.records) == 1
    assert "no-schema" in caplog.text


def test_a_schema_that_is_taken_loose_is_named() -> None:
    def refuses(entry: dict[str, Any]) -> Answer | None:
        return error(400, "strict schema: bad", param="response_format") if entry["response_format"]["json_schema"]["strict"] else None

    with picky(refuses) as server:
        assert client(server).chat(MESSAGES, schema=OBJECT).fallbacks == ("loose-schema",)


def test_a_refusal_of_everything_is_the_first_that_was_told() -> None:
    caught, server = fail(RequestError, error(400, "temperature first"), error(400, "then schema"), error(400, "third"),
                          error(400, "fourth"), asked={"temperature": 1, "schema": OBJECT})  # fmt: skip
    assert "temperature first" in str(caught)
    assert caught.attempts == len(server.got) == 3


def test_a_model_called_after_a_parameter_is_no_refusal_of_it() -> None:
    _, server = fail(RequestError, error(404, "no model temperature-9"), model="temperature-9", asked={"temperature": 1.0})
    assert len(server.got) == 1


def test_openai_is_asked_in_its_own_way() -> None:
    model = OpenAIClient(KEY)
    assert repr(model) == "OpenAIClient(model='gpt-5-nano', base_url='https://api.openai.com/v1')"
    for url in ("https://api.openai.com/v1", "https://eu.api.openai.com/v1", "https://mine.openai.azure.com/openai/v1"):
        style = usual_style(Endpoint.parse(url))
        assert (style.limit, style.form) == ("max_completion_tokens", "wrapped")
    assert usual_style(Endpoint.parse("https://api.openai.com.evil.example/v1")).limit == "max_tokens"

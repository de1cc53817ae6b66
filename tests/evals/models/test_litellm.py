"""LiteLLM against servers that speak its providers' own tongues. One process asks everything, as LiteLLM takes seconds to load."""

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evals.errors import ModelError
from evals.models import Model, open_model
from evals.models.http_faults import ErrorBody
from evals.models.litellm_model import read_error

ROOT = Path(__file__).resolve().parents[3]
CANARIES = {"ANTHROPIC_API_KEY": "canary-anthropic-4711", "OPENAI_API_KEY": "canary-openai-4711", "SOME_SECRET": "canary-other-4711"}
SYSTEM, TURN = "Be terse.", "I moved to Oslo."
WRAPPED = {
    "type": "object",
    "properties": {
        "memories": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"content": {"type": "string"}},
                "required": ["content"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["memories"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def session() -> dict[str, Any]:
    """What came of every request, with all that the process wrote under "output"."""
    environ = {**os.environ, **CANARIES, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    command = [sys.executable, "-W", "default", "-m", "tests.evals.models.litellm_session"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    found: dict[str, Any] = json.loads(lines[-1].removeprefix("FOUND "))
    return found | {"output": "\n".join(lines[:-1]) + done.stderr}


def test_it_loads_late_and_says_nothing(session: dict[str, Any]) -> None:
    assert session["litellm after opening"] is False
    assert session["output"] == ""


def test_openai_is_asked_in_its_tongue(session: dict[str, Any]) -> None:
    got = session["openai"]["everything"]
    (request,) = got["requests"]
    assert (request["path"], request["key"]) == ("/v1/chat/completions", "Bearer canary-openai-4711")
    assert request["body"]["messages"] == [{"role": "system", "content": SYSTEM}, {"role": "user", "content": TURN}]
    assert (request["body"]["max_tokens"], request["body"]["temperature"]) == (50, 0.0)
    assert request["body"]["response_format"]["json_schema"]["schema"] == WRAPPED
    assert (got["text"], got["finish_reason"], got["input_tokens"], got["output_tokens"]) == ("[]", "stop", 11, 3)
    assert (got["reasoning_tokens"], got["fallbacks"], got["attempts"]) == (2, [], 1)


def test_anthropic_is_asked_in_its_tongue(session: dict[str, Any]) -> None:
    got = session["anthropic"]["everything"]
    (request,) = got["requests"]
    assert (request["path"], request["key"]) == ("/v1/messages", "canary-anthropic-4711")
    assert [part["text"] for part in request["body"]["system"]] == [SYSTEM]
    (message,) = request["body"]["messages"]
    assert (message["role"], [part["text"] for part in message["content"]]) == ("user", [TURN])
    assert (request["body"]["model"], request["body"]["max_tokens"], request["body"]["temperature"]) == ("claude-sonnet-4-5", 50, 0.0)
    assert "memories" in json.dumps(request["body"])  # the schema, in whatever form Anthropic takes one
    assert (got["finish_reason"], got["input_tokens"], got["output_tokens"], got["fallbacks"]) == ("stop", 11, 3, [])


def test_ollama_is_asked_in_its_tongue(session: dict[str, Any]) -> None:
    (request,) = session["ollama"]["everything"]["requests"]
    assert (request["path"], request["key"], request["body"]["format"]) == ("/api/chat", None, WRAPPED)
    assert [message["content"] for message in request["body"]["messages"]] == [SYSTEM, TURN]
    assert session["ollama"]["everything"]["text"] == "[]"


@pytest.mark.parametrize("provider", ["openai", "anthropic", "ollama"])
@pytest.mark.parametrize(
    ("mode", "kind", "retryable", "status", "says"),
    [
        ("limited", "rate-limit", True, 429, "answered 429: slow"),
        ("auth", "auth", False, 401, "in the environment and what it may use"),
        ("long", "too_long", False, 400, "9 tokens > 8 maximum; split long turns with a policy"),
        ("broken", "http", True, 500, "answered 500: oops"),
        ("bad", "http", False, 400, "answered 400: no such thing"),
        ("html", "bad-reply", True, None, "sent no chat completion"),
        ("reset", "connection", True, None, "no connection to"),
    ],
)
def test_faults(session: dict[str, Any], provider: str, mode: str, kind: str, retryable: bool, status: int | None, says: str) -> None:
    got = session[provider][mode]
    assert (got["kind"], got["retryable"], got["status"]) == (kind, retryable, status)
    assert says in got["message"]
    assert "Traceback" not in got["message"]
    assert got["retry_after"] == (7.0 if mode == "limited" else None)
    assert len(got["requests"]) == got["attempts"] == 1  # LiteLLM itself never tries again


def test_a_caller_tries_again(session: dict[str, Any]) -> None:
    assert (session["retried"]["attempts"], len(session["retried"]["requests"])) == (2, 2)


def test_after_closing_another_model_can_be_opened(session: dict[str, Any]) -> None:
    assert session["again"]["text"] == "[]"


def test_what_litellm_refuses_itself_is_no_request(session: dict[str, Any]) -> None:
    for got in session["seed"]:
        assert (got["fallbacks"], got["attempts"], len(got["requests"])) == (["no-seed"], 1, 1)


def test_what_the_provider_refuses_is_done_without(session: dict[str, Any]) -> None:
    first, second = session["temperature"]
    assert (first["fallbacks"], first["attempts"], len(first["requests"])) == (["no-temperature"], 2, 2)
    assert (second["fallbacks"], second["attempts"], len(second["requests"])) == (["no-temperature"], 1, 1)
    assert "temperature" not in second["requests"][0]["body"]


def test_time_and_place(session: dict[str, Any]) -> None:
    assert (session["slow"]["kind"], session["slow"]["retryable"]) == ("timeout", True)
    assert "did not answer within 0.2 s" in session["slow"]["message"]
    assert (session["nobody"]["kind"], session["nobody"]["retryable"]) == ("connection", True)


def test_a_missing_key_or_provider_is_told(session: dict[str, Any]) -> None:
    assert session["no key"]["kind"] == "auth"
    assert session["no key"]["requests"] == []
    assert session["refused"]["litellm/anthropic/claude-sonnet-4-5"].endswith("needs the environment variable ANTHROPIC_API_KEY")
    assert "does not know this model" in session["refused"]["litellm/nonsense/m"]


def test_the_fingerprint_says_who_answers(session: dict[str, Any]) -> None:
    for provider, model in (("openai", "openai/m"), ("anthropic", "anthropic/claude-sonnet-4-5"), ("ollama", "ollama_chat/m")):
        fingerprint = session[provider]["fingerprint"]
        assert fingerprint["engine"] == f"litellm {importlib.metadata.version('litellm')}"
        assert (fingerprint["model"], fingerprint["schema_wrapper"]) == (model, "memories")
        assert fingerprint["api_base"].startswith("http://127.0.0.1:")


def test_no_key_shows_in_anything(session: dict[str, Any]) -> None:
    def shown(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: shown(inner) for key, inner in value.items() if key != "requests"}
        return [shown(inner) for inner in value] if isinstance(value, list) else value

    assert "canary" not in json.dumps(shown(session))


def test_opening_needs_neither_key_nor_server() -> None:
    model = open_model("litellm/anthropic/claude/x", jobs=3, environ={"ANTHROPIC_API_BASE": "https://me:canary@host/a?key=canary"})
    assert isinstance(model, Model)
    assert (model.name, model.concurrency) == ("litellm/anthropic/claude/x", 3)
    assert model.fingerprint["api_base"] == "https://host/a"
    assert model.fingerprint["model"] == "anthropic/claude/x"
    assert "litellm" not in sys.modules


@pytest.mark.parametrize("name", ["litellm", "litellm/", "litellm/openai", "litellm/openai/", "litellm//m"])
def test_half_a_name_is_refused(name: str) -> None:
    with pytest.raises(ModelError, match="must be litellm/PROVIDER/NAME, such as litellm/anthropic/claude-sonnet-4-5"):
        open_model(name, environ={})


def test_a_missing_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", absent)
    with pytest.raises(ModelError, match=r"pip install 'salience-workbench\[litellm\]'"):
        open_model("litellm/openai/m", environ={})


def test_credentials_in_the_address_are_refused() -> None:
    with pytest.raises(ModelError, match="user name or password") as caught:
        open_model("litellm/openai/m", base_url="http://me:canary@host/v1", environ={})
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("litellm.RateLimitError: RateLimitError: OpenAIException - slow", ErrorBody("slow")),
        ('litellm.BadRequestError: AnthropicException - {"error": {"message": "no", "param": "seed"}}', ErrorBody("no (seed)", "", "seed")),
        ("litellm.InternalServerError: AnthropicException - down. Handle with `litellm.InternalServerError`.", ErrorBody("down.")),
        ("litellm.APIConnectionError: odd\nTraceback (most recent call last):\n  File", ErrorBody("odd")),
        ("{broken", ErrorBody("{broken")),
    ],
)
def test_messages_of_litellm(message: str, told: ErrorBody) -> None:
    assert read_error(message) == told

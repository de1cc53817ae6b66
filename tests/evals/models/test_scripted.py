import asyncio
import json
from pathlib import Path

import pytest

from evals.errors import CallError, ModelError
from evals.models import Model, ModelReply, ScriptedModel, open_model
from evals.models.scripted import ScriptedFile
from evals.requests import request_hash
from salience import Request
from salience.protocols import Message


def user(text: str) -> list[Message]:
    return [{"role": "user", "content": text}]


def ask(model: Model, text: str) -> ModelReply:
    return asyncio.run(model.chat(user(text), max_tokens=5))


def test_queue_is_answered_in_order_and_kept() -> None:
    model = ScriptedModel(["[]", ModelReply("x", "length", 3, 4), CallError("timeout", "slow", retryable=True)])
    assert isinstance(model, Model)
    assert ask(model, "a") == ModelReply("[]")
    assert ask(model, "b").finish_reason == "length"
    with pytest.raises(CallError, match="slow"):
        ask(model, "c")
    with pytest.raises(CallError, match="queue is empty at call 4"):
        ask(model, "d")
    assert [call.messages[0]["content"] for call in model.calls] == ["a", "b", "c", "d"]
    assert model.calls[0].max_tokens == 5


def script(tmp_path: Path, *lines: object) -> Model:
    path = tmp_path / "script.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), encoding="utf-8")
    model = open_model(f"scripted/{path}", environ={})
    assert isinstance(model, Model)
    return model


def test_file_answers_by_match_whatever_the_order(tmp_path: Path) -> None:
    model = script(
        tmp_path,
        {"match": "tea", "reply": "[1]"},
        "",
        {"match": "busy", "reply": "", "error": {"kind": "rate-limit", "message": "later"}},
        {"match": "long", "reply": "[", "finish_reason": "length"},
    )
    assert [ask(model, text).text for text in ("I like tea", "more tea", "long")] == ["[1]", "[1]", "["]
    assert ask(model, "long").finish_reason == "length"
    with pytest.raises(CallError, match="later") as caught:
        ask(model, "busy")
    assert (caught.value.kind, caught.value.retryable) == ("rate-limit", True)
    with pytest.raises(CallError, match=r"no line matches .*'coffee'"):
        ask(model, "coffee")
    assert len(str(model.fingerprint["script_sha256"])) == 64


def test_null_matches_everything(tmp_path: Path) -> None:
    assert ask(script(tmp_path, {"match": None, "reply": "[]"}), "anything").text == "[]"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "line 2: not a line of JSON"),
        ("[]", "line 2: a line is an object"),
        ({"reply": "x"}, "match or request, reply"),
        ({"match": "x", "reply": "x", "other": 1}, "match or request, reply"),
        ({"match": "x"}, "reply must be a string"),
        ({"match": 1, "reply": "x"}, "match and finish_reason must be strings"),
        ({"match": "x", "error": "no"}, "error must be an object"),
    ],
)
def test_wrong_line_is_named(tmp_path: Path, line: object, says: str) -> None:
    with pytest.raises(ModelError, match=says):
        script(tmp_path, {"match": None, "reply": "[]"}, line)


def test_a_line_for_one_request_goes_before_those_that_match(tmp_path: Path) -> None:
    messages = ({"role": "system", "content": "s"}, {"role": "user", "content": "u"})
    hashed = request_hash(Request(messages, {"type": "array"}, 10, 0.0))
    lines = [
        {"match": None, "reply": "any"},
        {"request": hashed, "reply": "one", "finish_reason": "stop", "input_tokens": 3, "output_tokens": 1},
    ]
    path = tmp_path / "script.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    model = ScriptedFile("scripted/x", path)
    found = asyncio.run(model.chat(messages, schema={"type": "array"}, max_tokens=10, temperature=0.0))
    assert (found.text, found.finish_reason, found.input_tokens, found.output_tokens) == ("one", "stop", 3, 1)
    assert asyncio.run(model.chat(messages, schema={"type": "array"}, max_tokens=11, temperature=0.0)).text == "any"
    path.write_text(json.dumps(lines[1]) + "\n", encoding="utf-8")
    with pytest.raises(CallError, match="no line matches the request [0-9a-f]{64} whose last message is 'u'"):
        asyncio.run(ScriptedFile("scripted/x", path).chat(messages))


@pytest.mark.parametrize(
    "line",
    [
        {"request": "abc", "reply": "x"},
        {"request": "0" * 64, "reply": "x", "input_tokens": -1},
        {"request": "0" * 64, "match": "x", "reply": "x"},
    ],
)
def test_wrong_lines_for_one_request_are_named(tmp_path: Path, line: dict[str, object]) -> None:
    path = tmp_path / "script.jsonl"
    path.write_text(json.dumps(line) + "\n", encoding="utf-8")
    with pytest.raises(ModelError, match="line 1: "):
        ScriptedFile("scripted/x", path)

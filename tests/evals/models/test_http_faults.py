"""Errors and completions as servers write them, without a server. The wordings are the servers' own."""

import datetime
import json

import pytest

from evals.models import ModelReply
from evals.models.completion import read_completion
from evals.models.http_faults import ErrorBody, Peer, fault, parse_error, parse_retry_after
from evals.models.redaction import Secrets, secret_values

PEER = Peer("http://host/v1")
NOW = datetime.datetime(2026, 3, 2, 12, 0, 0, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("0", 0.0),
        ("2.5", 2.5),
        (" 7 ", 7.0),
        ("9999", 60.0),
        ("9" * 400, 60.0),
        ("-3", None),
        ("nan", None),
        ("inf", None),
        ("1e3", None),
        ("soon", None),
        ("", None),
        ("Mon, 02 Mar 2026 12:00:30 GMT", 30.0),
        ("Mon, 02 Mar 2026 11:00:00 GMT", 0.0),
        ("Tue, 03 Mar 2026 12:00:00 GMT", 60.0),
        ("Mon, 02 Mar 99999 12:00:30 GMT", None),
        ("Mon, 02 Mar 2026 12:00:30 +9999999999", None),
    ],
)
def test_retry_after(value: str | None, seconds: float | None) -> None:
    assert parse_retry_after(value, NOW, 60.0) == seconds


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (
            400,
            {"error": {"message": "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens."}},
        ),
        (400, {"error": {"message": "Your input exceeds the context window of this model.", "code": "context_length_exceeded"}}),
        (400, {"error": {"message": "Invalid 'messages[0].content': string too long.", "code": "string_above_max_length"}}),
        (400, {"object": "error", "message": "The decoder prompt (length 5000) is longer than the maximum model length of 4096."}),  # vLLM
        (400, {"error": {"code": 400, "message": "the request exceeds", "type": "exceed_context_size_error"}}),  # llama.cpp
        (500, {"error": {"message": "the request exceeds the available context size. try increasing the context size"}}),  # older llama.cpp
        (400, {"error": {"message": "the input length exceeds the context length"}}),  # Ollama
        (400, {"error": {"message": "prompt too long; exceeded max context length by 12 tokens"}}),  # Ollama
        (
            400,
            {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 208310 tokens > 200000 maximum"}},
        ),
        (400, {"error": {"message": "input length and `max_tokens` exceed context limit: 197000 + 8192 > 200000"}}),  # Anthropic
        (
            400,
            {"message": "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length"},
        ),  # Mistral
        (
            422,
            {
                "error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000",
                "error_type": "validation",
            },
        ),
        (422, {"error": "inputs tokens + max_new_tokens must be <= 4096"}),  # TGI
        (
            400,
            [{"error": {"message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}}],
        ),  # Gemini
        (400, {"error": {"message": "input token count exceeds the maximum"}}),
        (400, {"message": "too many tokens: total number of tokens in the prompt cannot exceed 4081"}),  # Cohere
        (400, {"error": {"message": "Please reduce the length of the messages or completion."}}),  # Groq
        (413, {"error": {"message": "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 8000"}}),  # Groq
        (400, {"error": "This model's maximum prompt length is 131072 but the request contains 537812 tokens."}),  # xAI
        (400, {"error": {"message": "Requested token count exceeds the model's maximum context length of 4096 tokens"}}),  # SGLang
    ],
)
def test_too_long(status: int, body: object) -> None:
    error = fault(status, parse_error(json.dumps(body).encode()), None, PEER)
    assert (error.kind, error.retryable) == ("too_long", False)
    assert str(error).endswith(
        "; split long turns with a policy that has max_turn_chars (salience policy save POLICY --max-turn-chars N ...)"
    )


@pytest.mark.parametrize(
    ("status", "message"),
    [(429, "context length"), (401, "maximum context"), (400, "max_tokens is too large"), (503, "context window"), (400, "contextual")],
)
def test_not_too_long(status: int, message: str) -> None:
    assert fault(status, ErrorBody(message), None, PEER).kind != "too_long"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", ErrorBody("")),
        (b"<html>\n <b>502</b>\n</html>", ErrorBody("<html> <b>502</b> </html>")),
        (b"\xff\xfe", ErrorBody("\ufffd\ufffd")),
        (b'"plain"', ErrorBody("plain")),
        (b"[]", ErrorBody("[]")),
        (b"{}", ErrorBody("{}")),
        (b"null", ErrorBody("null")),
        (b"[" * 100_000, ErrorBody("[" * 100_000)),
        (b'["first", "second"]', ErrorBody("first")),
        (b'{"error": "down", "error_type": "overloaded"}', ErrorBody("down", "overloaded")),
        (b'{"error": {"error": {"message": {"detail": "deep"}}}}', ErrorBody("deep")),
        (b'{"error": {"message": "no", "type": "a", "code": "b", "param": "seed"}}', ErrorBody("no (seed)", "b a", "seed")),
        (b'{"error": {"message": "bad seed", "param": "seed", "code": null}}', ErrorBody("bad seed", "", "seed")),
        (b'[{"error": {"code": 400, "message": "m", "status": "INVALID"}}]', ErrorBody("m", "400 INVALID")),
        (b'{"detail": "gone"}', ErrorBody("gone")),
        (b'{"detail": [{"loc": ["body", "seed"], "msg": "extra", "type": "t"}]}', ErrorBody("extra (seed)", "t", "seed")),
        (b'{"error": {"message": 5}}', ErrorBody('{"error": {"message": 5}}')),
        (b'{"error": true}', ErrorBody('{"error": true}')),
    ],
)
def test_error_bodies(body: bytes, told: ErrorBody) -> None:
    assert parse_error(body) == told


def test_an_auth_error_says_which_key() -> None:
    assert str(fault(401, ErrorBody("no"), None, Peer("x", key_advice="Check it"))) == "x answered 401: no. Check it"


def completion(message: object, usage: object = None) -> ModelReply:
    return read_completion({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}, PEER)


@pytest.mark.parametrize(
    ("message", "text", "reason", "reasoning_only"),
    [
        ({"content": "[]"}, "[]", "stop", False),
        ({"content": None, "refusal": "I will not"}, "I will not", "refusal", False),
        ({"content": "", "refusal": None}, "", "stop", False),
        ({"content": None}, "", "stop", False),
        ({}, "", "stop", False),
        ({"content": "[]", "reasoning_content": "hm"}, "[]", "stop", False),
        ({"content": "", "reasoning_content": "hm"}, "", "stop", True),
        ({"content": None, "reasoning": "hm"}, "", "stop", True),
        ({"content": "\n\n", "reasoning": "hm"}, "", "stop", True),
        ({"content": "", "reasoning": ""}, "", "stop", False),
        ({"content": "", "reasoning": {"effort": 1}}, "", "stop", False),
        ({"content": "<think>hm</think>[]"}, "<think>hm</think>[]", "stop", False),
        ({"content": [{"type": "text", "text": "["}, {"type": "text", "text": "]"}]}, "[]", "stop", False),
        (
            {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "[]"}]},
            "[]",
            "stop",
            False,
        ),
        ({"content": [{"type": "reasoning", "text": "hm"}]}, "", "stop", True),
        ({"content": [{"type": "image_url"}, 5, {"type": "text", "text": 5}, {"type": "output_text", "text": "[]"}]}, "[]", "stop", False),
        ({"content": []}, "", "stop", False),
    ],
)
def test_where_the_answer_is(message: object, text: str, reason: str, reasoning_only: bool) -> None:
    reply = completion(message)
    assert (reply.text, reply.finish_reason, reply.reasoning_only) == (text, reason, reasoning_only)
    assert (reply.input_tokens, reply.output_tokens, reply.reasoning_tokens) == (None, None, None)


def test_a_filtered_answer_keeps_its_reason() -> None:
    reply = read_completion({"choices": [{"message": {"content": ""}, "finish_reason": "content_filter"}]}, PEER)
    assert (reply.text, reply.finish_reason) == ("", "content_filter")


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"prompt_tokens": 7, "completion_tokens": 2, "completion_tokens_details": {"reasoning_tokens": 1}}, (7, 2, 1)),
        ({"prompt_tokens": 0, "completion_tokens": 0, "completion_tokens_details": None}, (0, 0, None)),
        ({"prompt_tokens": 7.0, "completion_tokens": "2", "completion_tokens_details": {"reasoning_tokens": -1}}, (None, None, None)),
        ({"prompt_tokens": True, "completion_tokens": 2**60, "completion_tokens_details": {}}, (None, None, None)),
        ({}, (None, None, None)),
        ([], (None, None, None)),
    ],
)
def test_counts(usage: object, counts: tuple[int | None, ...]) -> None:
    reply = completion({"content": "[]"}, usage)
    assert (reply.input_tokens, reply.output_tokens, reply.reasoning_tokens) == counts


def test_redaction() -> None:
    secrets = Secrets(["long-key-1", "long-key-12", "none", None, 'quo"te-key'])
    assert secrets.redact("at http://me:pw@host/ with long-key-12, long-key-1") == "at http://[redacted]@host/ with [redacted], [redacted]"
    assert secrets.redact("none is fine") == "none is fine"
    assert secrets.hide(rb'{"a": "quo\"te-key"}') == b'{"a": "[redacted]"}'
    assert secrets.redact("https://g/v1?key=abc&x=1") == "https://g/v1?key=[redacted]&x=1"
    assert repr(secrets) == "Secrets(4)"


def test_which_variables_are_secret() -> None:
    environ = {"A_API_KEY": "1", "B_TOKEN": "2", "C_SECRET": "3", "D_KEY": " 4 ", "KEYS": "5", "TOKENIZERS_PARALLELISM": "6", "e_key": "7"}
    assert secret_values(environ) == ["1", "2", "3", "4", "7"]

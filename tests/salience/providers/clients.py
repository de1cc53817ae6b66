"""A chat client at a loopback server, asked once: what it returned or raised, and what the server got."""

from typing import Any

import pytest

from salience import SalienceError
from salience.providers.openai import OpenAIClient, OpenAIReply, Retry
from tests.salience.providers.loopback import KEY, Answer, Loopback, serving

FAST = Retry(base=0.001)
MESSAGES = [{"role": "system", "content": "S"}, {"role": "user", "content": "Grüße\n"}]
ARRAY = {"type": "array", "items": {"type": "string"}}
OBJECT = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}


def client(server: Loopback, **options: Any) -> OpenAIClient:
    return OpenAIClient(**{"api_key": KEY, "model": "m", "base_url": server.url, "retry": FAST, "timeout": 20.0, **options})


def ask(*answers: Answer, asked: dict[str, Any] | None = None, **options: Any) -> tuple[OpenAIReply, Loopback]:
    with serving(*answers) as server:
        return client(server, **options).chat(MESSAGES, **(asked or {})), server


def fail(kind: type[SalienceError], *answers: Answer, asked: dict[str, Any] | None = None, **options: Any) -> tuple[Any, Loopback]:
    with serving(*answers) as server, pytest.raises(kind) as caught:
        client(server, **options).chat(MESSAGES, **(asked or {}))
    assert type(caught.value) is kind
    assert KEY not in str(caught.value)
    return caught.value, server

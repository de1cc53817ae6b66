"""The client against a real server: llama.cpp's own HTTP listener with real weights, as a user would run it. No answer is judged."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evals.errors import CallError
from evals.models import ModelReply
from evals.models.calling import Caller
from evals.models.embedded import EmbeddedModel
from evals.models.endpoint import Endpoint
from evals.models.openai_compat import OpenAICompatModel
from salience.protocols import Message
from tests.evals.models.servers import FAST

KEY = "canary-llama-4711"
TURN: list[Message] = [{"role": "system", "content": "You are terse."}, {"role": "user", "content": "I moved to Oslo in May."}]
SCHEMA = {
    "type": "array",
    "maxItems": 2,
    "items": {
        "type": "object",
        "properties": {"content": {"type": "string", "maxLength": 20}, "salience": {"enum": [0.1, 0.9]}},
        "required": ["content", "salience"],
        "additionalProperties": False,
    },
}


@pytest.fixture(scope="module")
def address(smollm2_path: Path) -> Iterator[str]:
    """A llama.cpp server with one slot, 512 tokens of context and a key, else as the embedded model's.

    Without a prompt cache: of a prompt that is cached but for its last token, this token goes through another kernel than it does within
    the rest of a prompt, and a reply may differ. The embedded model works such prompts out anew; to a server a client cannot say so.
    """
    engine = pytest.importorskip("xllamacpp")
    params = engine.CommonParams()
    params.model.path = str(smollm2_path)
    params.n_ctx, params.n_parallel, params.warmup, params.verbosity, params.ui = 512, 1, False, -1, False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.flash_attn_type = engine.llama_flash_attn_type(0)
    params.cache_ram_mib = 0
    params.cache_prompt = False
    params.api_keys = [KEY]
    params.port = 0
    server = engine.Server(params)
    yield f"{server.listening_address}/v1"
    del server


def ask(address: str, *calls: dict[str, Any], key: str = KEY, messages: list[Message] = TURN) -> list[ModelReply]:
    async def run() -> list[ModelReply]:
        model = OpenAICompatModel("m", "m", Endpoint.parse(address), key=key)
        caller = Caller(model, retry=FAST)
        try:
            await model.prepare()
            return [await caller.chat(messages, **options) for options in calls]
        finally:
            await model.close()

    return asyncio.run(run())


def test_a_reply_with_its_counts(address: str) -> None:
    (reply,) = ask(address, {"max_tokens": 5, "temperature": 0.0, "seed": 1})
    assert (reply.finish_reason, reply.output_tokens, reply.attempts, reply.fallbacks) == ("length", 5, 1, ())
    assert reply.input_tokens
    assert reply.text


def test_a_schema_with_an_array_at_the_root_is_followed(address: str) -> None:
    (reply,) = ask(address, {"schema": SCHEMA, "max_tokens": 80, "temperature": 0.0, "seed": 1})
    assert reply.fallbacks == ()
    assert reply.finish_reason == "stop"
    items = json.loads(reply.text)
    assert isinstance(items, list)
    assert all(item.keys() == {"content", "salience"} for item in items)


def test_a_schema_that_it_cannot_enforce_is_left_out_and_named(address: str) -> None:
    replies = ask(address, *[{"schema": {"type": "nonsense"}, "max_tokens": 3, "temperature": 0.0}] * 2)
    assert [(reply.fallbacks, reply.attempts) for reply in replies] == [(("no-schema",), 3), (("no-schema",), 1)]


def test_a_wrong_key(address: str) -> None:
    with pytest.raises(CallError) as caught:
        ask(address, {"max_tokens": 5}, key="canary-wrong-4711")
    assert (caught.value.kind, caught.value.attempts) == ("auth", 1)
    assert "canary" not in str(caught.value)


def test_a_prompt_that_is_too_long(address: str) -> None:
    with pytest.raises(CallError, match=r"split long turns with a policy that has max_turn_chars") as caught:
        ask(address, {"max_tokens": 5}, messages=[{"role": "user", "content": "hello " * 1000}])
    assert (caught.value.kind, caught.value.attempts, caught.value.status) == ("too_long", 1, 400)


@pytest.mark.parametrize("schema", [None, SCHEMA])
def test_the_reply_is_the_embedded_models(address: str, smollm2_path: Path, schema: dict[str, Any] | None) -> None:
    options = {"schema": schema, "max_tokens": 40, "temperature": 0.0, "seed": 1}

    async def embedded() -> ModelReply:
        model = EmbeddedModel("gguf:x", smollm2_path, sha256="0", servers=1)
        try:
            return await model.chat(TURN, **options)  # type: ignore[arg-type]
        finally:
            await model.close()

    assert ask(address, options, options) == [asyncio.run(embedded())] * 2

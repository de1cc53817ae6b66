"""The client against a real server: llama.cpp's own HTTP listener with real weights. One short call; no answer is judged."""

import json
from pathlib import Path

import pytest

from salience.providers.openai import KeyRefusedError, OpenAIClient, Retry

KEY = "canary-llama-4711"
SCHEMA = {"type": "array", "maxItems": 1, "items": {"type": "string", "maxLength": 8}}


def test_a_structured_reply_of_a_real_server(smollm2_path: Path) -> None:
    engine = pytest.importorskip("xllamacpp")
    params = engine.CommonParams()
    params.model.path = str(smollm2_path)
    params.n_ctx, params.n_parallel, params.warmup, params.verbosity, params.ui = 256, 1, False, -1, False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.api_keys = [KEY]
    params.port = 0
    server = engine.Server(params)
    url = f"{server.listening_address}/v1"
    reply = OpenAIClient(KEY, "m", url, require_schema=True).chat(
        [{"role": "user", "content": "Name a colour."}], schema=SCHEMA, max_tokens=24, temperature=0.0
    )
    assert (reply.attempts, reply.fallbacks) == (1, ())
    assert reply.input_tokens
    assert reply.output_tokens
    assert isinstance(json.loads(reply.text), list)
    with pytest.raises(KeyRefusedError) as caught:
        OpenAIClient("canary-wrong-4711", "m", url, retry=Retry(attempts=1)).complete(system="S", prompt="P")
    assert "canary" not in str(caught.value)
    del server

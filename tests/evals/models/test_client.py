"""An opened model as a client of the library."""

import asyncio

import pytest

from evals.errors import CallError
from evals.models.base import ModelReply
from evals.models.calling import Retry
from evals.models.client import ModelClient
from evals.models.scripted import ScriptedModel
from salience import AsyncChatClient, AsyncModelSalienceExtractor, Policy, Turn

MESSAGES = [{"role": "user", "content": "x"}]


def test_it_is_what_the_library_asks_for():
    model = ScriptedModel(['[{"content": "User rows", "salience": 0.9}]'])
    client = ModelClient(model, seed=7)
    assert isinstance(client, AsyncChatClient)
    (found,) = asyncio.run(AsyncModelSalienceExtractor(client, policy=Policy.load("default")).extract_salient(Turn("I row.")))
    (call,) = model.calls
    assert (found.content, call.seed, client.calls) == ("User rows", 7, 1)
    assert call.schema is not None
    assert (call.max_tokens, call.temperature) == (Policy.load("default").decoding.max_tokens, Policy.load("default").decoding.temperature)


def test_a_call_is_sent_again_where_that_helps_and_counts_once():
    again = CallError("connection", "gone", retryable=True)
    model = ScriptedModel([again, ModelReply("a", fallbacks=("no-seed",)), CallError("auth", "no key"), "b"])
    client = ModelClient(model, retry=Retry(base=0.0))
    assert asyncio.run(client.chat(MESSAGES)).text == "a"
    assert (client.calls, client.fallbacks, len(model.calls)) == (1, {"no-seed"}, 2)
    with pytest.raises(CallError, match="no key"):
        asyncio.run(client.chat(MESSAGES))
    assert asyncio.run(client.chat(MESSAGES)).text == "b"
    assert (client.calls, model.calls[-1].seed) == (3, None)

"""Facts and decisions over real HTTP on loopback: the consolidator with its client, and nothing beside it."""

import asyncio
import json
import pickle
from typing import Any

import pytest

from salience.consolidation_policy import ConsolidationPolicy
from salience.providers.openai import AsyncOpenAIExtractor, MissingKeyError, OpenAIExtractor, QuotaError, Retry
from tests.salience.providers.loopback import KEY, Answer, Got, chat, error, serving

FAST = Retry(base=0.001)
FACTS = json.dumps({"memories": [{"content": "The user works at Orla"}]})
DECISION = json.dumps({"decisions": [{"fact": 1, "action": "UPDATE", "id": 2, "content": "Works at Orla", "also_retire": []}]})
KNOWN = [("a-uuid", "Owns a kayak"), ("b-uuid", "Works at Acme")]


def answer(got: Got) -> Answer:
    user = got.entry["messages"][-1]["content"]
    return chat(DECISION if "Known memories" in user else FACTS)


def test_facts_and_a_decision_with_structured_output() -> None:
    with serving(by=answer) as server:
        extractor = OpenAIExtractor(api_key=KEY, base_url=server.url, retry=FAST)
        (memory,) = extractor.extract("I left Acme, now at Orla")
        assert len(server.got) == 1
        decision = extractor.consolidate(memory, KNOWN)
    assert memory.content == "The user works at Orla"
    assert (decision.action, decision.id, decision.content) == ("UPDATE", "b-uuid", "Works at Orla")
    assert len(server.got) == 2
    for got in server.got:
        assert got.entry["model"] == "gpt-5-nano"
        assert got.entry["response_format"]["json_schema"]["strict"] is True
        assert got.entry.keys() == {"model", "messages", "response_format"}
        assert got.headers["authorization"] == f"Bearer {KEY}"
        assert b"uuid" not in got.body
    assert KEY not in repr(extractor) + repr(vars(extractor))


def test_the_async_twin_gives_the_same() -> None:
    async def run(url: str) -> tuple[Any, ...]:
        extractor = AsyncOpenAIExtractor(KEY, base_url=url, retry=FAST)
        found = await extractor.extract("I left Acme, now at Orla")
        decision = await extractor.consolidate(found[0], KNOWN)
        await extractor.aclose()
        return found, decision, repr(extractor)

    with serving(by=answer) as server:
        found, decision, shown = asyncio.run(run(server.url))
        twin = OpenAIExtractor(KEY, base_url=server.url, retry=FAST)
        assert (found, decision) == (twin.extract("I left Acme, now at Orla"), twin.consolidate(found[0], KNOWN))
    assert server.got[:2] == server.got[2:]
    assert KEY not in shown


def test_a_server_without_structured_output_is_asked_without() -> None:
    def refuses(got: Got) -> Answer:
        return error(400, "response_format is not supported") if "response_format" in got.entry else answer(got)

    with serving(by=refuses) as server:
        result = OpenAIExtractor("", "local", server.url, retry=FAST).extract_result("I left Acme, now at Orla")
    assert [memory.content for memory in result.memories] == ["The user works at Orla"]
    assert getattr(result.reply, "fallbacks", None) == ("no-schema",)


def test_a_failed_call_reaches_the_caller_and_an_own_policy_is_used() -> None:
    with serving(error(429, "no quota", code="insufficient_quota")) as server:
        extractor = OpenAIExtractor(KEY, base_url=server.url, policy=ConsolidationPolicy(system="Mine"))
        with pytest.raises(QuotaError):
            extractor.consolidate("Works at Orla", KNOWN)
    assert len(server.got) == 1
    assert server.got[0].entry["messages"][0]["content"] == "Mine"


def test_a_missing_key_and_a_pickle() -> None:
    with pytest.raises(MissingKeyError, match="OPENAI_API_KEY"):
        OpenAIExtractor()
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(OpenAIExtractor(KEY))

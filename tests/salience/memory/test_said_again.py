"""B5, B6: what was said and then replaced within one extraction is not taken for known, whichever way the facts are decided on."""

import asyncio
import json

import pytest

from salience import Candidate, Reply
from salience.consolidation import AsyncModelConsolidator, ModelConsolidator
from salience.memory import AsyncMemory, HashedNgrams, Memory, aenrich, enrich

NARVA, TARTU, RIGA = "The user lives in Narva", "The user lives in Tartu", "The user lives in Riga"
FACTS = ["The user moved to Tartu", "The user moved on to Riga", TARTU]


class Careful:
    """A model that has one home a person: another one updates it, the same one is known."""

    def __init__(self):
        self.asked = []

    def decide(self, messages):
        lines = [json.loads(line) for line in messages[-1]["content"].splitlines() if line.startswith("{")]
        facts = [line["content"] for line in lines if "fact" in line]
        if not facts:
            return Reply(json.dumps({"memories": [{"content": fact} for fact in FACTS]}))
        home = next(line for line in lines if line.get("content", "").startswith("The user lives in") and "id" in line)
        self.asked.append((facts, home["content"]))
        decisions = []
        for number, fact in enumerate(facts, 1):
            content = f"The user lives in {fact.split()[-1]}"
            action = "NONE" if content == home["content"] else "UPDATE"
            decisions.append({"fact": number, "action": action, "id": home["id"], "content": content, "also_retire": []})
        return Reply(json.dumps({"decisions": decisions}))

    def chat(self, messages, **_):
        return self.decide(messages)


class CarefulAsync(Careful):
    async def chat(self, messages, **_):
        return self.decide(messages)


def through_host(store, model, batch):
    if isinstance(model, CarefulAsync):
        memory = AsyncMemory(store, HashedNgrams(256), AsyncModelConsolidator(model), batch=batch)
        return asyncio.run(memory.extract("I moved to Tartu, then to Riga, and back.", "u")).changes
    memory = Memory(store, HashedNgrams(256), ModelConsolidator(model), batch=batch)
    return memory.extract("I moved to Tartu, then to Riga, and back.", "u").changes


def through_enrich(store, model, batch):
    candidates = [Candidate(fact, 0.9) for fact in FACTS]
    put = {"user_id": "u", "embeddings": HashedNgrams(256), "batch": batch}
    if isinstance(model, CarefulAsync):
        return asyncio.run(aenrich(store, candidates, consolidator=AsyncModelConsolidator(model), **put)).changes
    return enrich(store, candidates, consolidator=ModelConsolidator(model), **put).changes


@pytest.mark.parametrize("batch", [True, False], ids=["batch", "one by one"])
@pytest.mark.parametrize("model", [Careful, CarefulAsync])
@pytest.mark.parametrize("way", [through_host, through_enrich])
def test_there_and_on_and_back_again(store, write, contents, way, model, batch):
    write(store, "u", NARVA)
    model = model()
    changes = way(store, model, batch)
    assert [(change.action, change.memory.content) for change in changes] == [("UPDATE", TARTU), ("UPDATE", RIGA), ("UPDATE", TARTU)]
    assert contents(store.list("u")) == [TARTU]
    assert [one.content for one in store.list("u", retired=True)] == [NARVA, TARTU, RIGA, TARTU]
    alone = [([FACTS[0]], NARVA), ([FACTS[1]], TARTU), ([FACTS[2]], RIGA)]
    assert model.asked == ([(FACTS, NARVA), *alone[1:]] if batch else alone)

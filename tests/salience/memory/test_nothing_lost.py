"""Whatever is decided, nothing is ever lost; and the labelled decisions, carried out, leave what they say."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salience.consolidation_types import ConsolidationDecision
from salience.memory import HashedNgrams, Memory, NewMemory, SqliteStore, model_of

EMBEDDINGS = HashedNgrams(64)
CASES = [
    json.loads(line)
    for line in (Path(__file__).resolve().parents[3] / "datasets" / "consolidation" / "dev.jsonl").read_text(encoding="utf-8").splitlines()
]

texts = st.text(max_size=12)
ids = st.one_of(st.none(), st.integers(0, 9), st.just("invented"), texts)
decisions = st.builds(
    lambda action, memory_id, content, also: SimpleNamespace(action=action, id=memory_id, content=content, also_retire=also),
    st.sampled_from(["ADD", "UPDATE", "DELETE", "NONE", "add", "", None]),
    ids,
    st.one_of(st.none(), texts),
    st.lists(ids, max_size=3),
)


class Arbitrary:
    """Takes a decision from a list for each fact; a number as an id becomes the id of a memory that is shown."""

    def __init__(self, given_decisions, together):
        self.decisions, self.known = list(given_decisions), []
        if together:
            self.consolidate_many = lambda facts, existing: [self.consolidate(fact, existing) for fact in facts]

    def extract(self, text):
        return json.loads(text)

    def consolidate(self, fact, existing):
        decision = self.decisions.pop() if self.decisions else SimpleNamespace(action="ADD", id=None, content=None, also_retire=())
        real = lambda one: existing[one % len(existing)].id if isinstance(one, int) and existing else one  # noqa: E731
        if decision.action == "NONE":
            self.known.append(fact)
        return SimpleNamespace(
            action=decision.action, id=real(decision.id), content=decision.content, also_retire=[real(one) for one in decision.also_retire]
        )


@settings(max_examples=150)
@given(st.lists(st.lists(texts, max_size=4), max_size=5), st.lists(decisions, max_size=20), st.booleans())
def test_every_fact_is_somewhere_and_nothing_disappears(turns, given_decisions, together):
    with SqliteStore(":memory:") as store:
        extractor = Arbitrary(given_decisions, together)
        memory = Memory(store, EMBEDDINGS, extractor)
        before = {}
        for facts in turns:
            result = memory.extract(json.dumps(facts), "u")
            history = store.list("u", retired=True)
            now = {(one.id, one.version): one.content for one in history}
            assert before.items() <= now.items()  # every version that was ever written still says what it said
            before = now
            said = {one.content for one in history} | {one.because for one in history}
            by_words = [store.same_words("u", change.fact.content) for change in result.changes]
            for change, same in zip(result.changes, by_words, strict=True):
                replaced = change.action in ("UPDATE", "DELETE", "ADD") and change.memory is not None  # in the consolidator's own words
                assert change.fact.content in said or same or replaced or change.action == "NONE"
                assert change.action != "NONE" or change.memory is not None or change.fact.content in extractor.known
            assert len(result.changes) == sum(bool(fact.strip()) for fact in facts)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_labelled_decisions_are_carried_out(case):
    decided = {**case["decision"], "also_retire": tuple(case["decision"]["also_retire"])}
    oracle = SimpleNamespace(extract=lambda text: [text], consolidate=lambda fact, existing: ConsolidationDecision(**decided))
    existing = {one["id"]: one["content"] for one in case["existing"]}
    expected = dict(existing)
    for one in (decided["id"], *decided["also_retire"]):
        expected.pop(one, None)
    wanted = sorted([*expected.values(), *({"NONE": []}.get(decided["action"], [decided["content"] or case["new_fact"]]))])
    if decided["action"] == "DELETE" and not decided["content"]:
        wanted = sorted(expected.values())
    with SqliteStore(":memory:") as store:
        with store.turn("u", model_of(EMBEDDINGS)) as turn:
            for memory_id, content in existing.items():
                turn.write(NewMemory(content), EMBEDDINGS.embed(content), memory_id=memory_id)
        Memory(store, EMBEDDINGS, oracle, nearest=6).extract(case["new_fact"], "u")
        assert sorted(one.content for one in store.list("u")) == wanted
        assert {one.id for one in store.list("u")} >= set(case["protected"])

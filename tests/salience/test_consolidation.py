"""B2, B3, B5, B6, B9: what is asked, how often, and what the decisions on one fact or many are; sync and async alike."""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience import (
    AsyncModelConsolidator,
    ConsolidationDecision,
    ConsolidationPolicy,
    Consolidator,
    ExtractedMemory,
    KnownMemory,
    MemoryExtractor,
    ModelConsolidator,
    OptionError,
    Policy,
    Reply,
    SeamError,
    aconsolidate_with,
    consolidate_with,
    create_consolidator,
    recall_policy,
)

KNOWN = [("u-7", "The user lives in Rome with a cat"), ("u-9", "The user owns a kayak")]
ADD, NONE = ConsolidationDecision("ADD"), ConsolidationDecision("NONE")
MOVED, CAT, TEA = "The user moved to Oslo on 2031-03-01", "The user has a cat", "The user likes tea"


class Scripted:
    """Answers with the replies in order, and keeps what it was asked: the facts and memories of each request."""

    def __init__(self, *replies):
        self.replies, self.seen = list(replies), []

    def complete(self, *, system, prompt):
        lines = [json.loads(line) for line in prompt.splitlines() if line.startswith("{")]
        facts = [line["content"] for line in lines if "fact" in line]
        self.seen.append((facts, [line["content"] for line in lines if "id" in line]))
        return self.replies.pop(0)


class ScriptedAsync(Scripted):
    async def complete(self, *, system, prompt):
        return super().complete(system=system, prompt=prompt)


def reply(*decisions):
    keys = ("fact", "action", "id", "content", "also_retire")
    return json.dumps({"decisions": [dict(zip(keys, decision, strict=False)) for decision in decisions]})


def many(replies, facts, existing=KNOWN, **options):
    """Run `consolidate_many` in both twins, which must agree; return the batch and what was asked."""
    client, twin = Scripted(*replies), ScriptedAsync(*replies)
    batch = ModelConsolidator(client).consolidate_many(facts, existing, **options)
    assert asyncio.run(AsyncModelConsolidator(twin).consolidate_many(facts, existing, **options)) == batch
    assert twin.seen == client.seen
    assert len(client.seen) == batch.calls
    assert not client.replies
    return batch, client.seen


def test_b3_without_memories_no_model_is_asked():
    result = ModelConsolidator(Scripted()).consolidate_result(TEA, [])
    assert (result.decision, result.calls, result.fallback, result.reply) == (ADD, 0, False, None)


@pytest.mark.parametrize("fact", ["The user owns a kayak", "the user owns the kayak.", " The user\towns a KAYAK"])
def test_b5_a_fact_that_is_known_word_for_word_is_none_without_a_call(fact):
    result = ModelConsolidator(Scripted()).consolidate_result(fact, KNOWN)
    assert (result.decision, result.known_by, result.calls, result.reason) == (NONE, "u-9", 0, "known word for word")


@pytest.mark.parametrize("fact", ["The user owns 2 kayaks", "The user does not own a kayak", "Does the user own a kayak?"])
def test_another_number_a_negation_and_a_question_are_asked_about(fact):
    client = Scripted(reply((1, "ADD")))
    assert ModelConsolidator(client).consolidate(fact, KNOWN) == ADD
    assert client.seen == [([fact], ["The user lives in Rome with a cat", "The user owns a kayak"])]


def test_one_fact_is_one_call_and_never_asked_twice():
    client = Scripted("no idea")
    result = ModelConsolidator(client).consolidate_result(MOVED, KNOWN)
    assert (result.decision, result.fallback, result.calls, result.reply) == (ADD, True, 1, Reply("no idea"))


@pytest.mark.parametrize("memory", [("u-9", "a b"), ["u-9", "a b"], {"id": "u-9", "content": "a b"}, KnownMemory("u-9", "a b")])
def test_memories_may_be_given_as_pairs_mappings_or_objects(memory):
    decision = ModelConsolidator(Scripted(reply((1, "DELETE", 1, None)))).consolidate("not a b", [memory])
    assert decision == ConsolidationDecision("DELETE", "u-9")


@pytest.mark.parametrize(
    ("fact", "existing", "message"),
    [
        ("", KNOWN, "a new fact must be"),
        (None, KNOWN, "a new fact must be"),
        (TEA, "memories", "existing must be a sequence"),
        (TEA, [("a", "")], r"existing\[0\]"),
        (TEA, [("a", "x"), 7], r"existing\[1\]"),
        (TEA, [(1, "x")], "KnownMemory.id"),
        (TEA, [("a", "x"), ("a", "y")], "'a' stands twice"),
    ],
)
def test_bad_arguments_are_named_before_anything_is_sent(fact, existing, message):
    with pytest.raises(OptionError, match=message):
        ModelConsolidator(Scripted()).consolidate(fact, existing)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (("MERGE",), "action must be one of ADD, UPDATE, DELETE, NONE"),
        (("ADD", "a"), "takes no id"),
        (("UPDATE", None, "x"), "needs id"),
        (("UPDATE", "a"), "needs content"),
        (("UPDATE", "a", "x", ("b",)), "takes no also_retire"),
        (("NONE", None, "x"), "takes no content"),
        (("DELETE", "a", " "), "content must be a non-empty string"),
        (("DELETE", "a", None, "bc"), "sequence of ids"),
        (("DELETE", "a", None, (None,)), "an id in also_retire"),
    ],
)
def test_a_decision_carries_what_its_action_carries(fields, message):
    with pytest.raises(OptionError, match=message):
        ConsolidationDecision(*fields)


def test_b6_several_facts_cost_one_call():
    batch, seen = many([reply((1, "UPDATE", 1, "The user lives in Oslo with a cat"), (2, "ADD"))], [MOVED, TEA])
    assert list(batch) == [ConsolidationDecision("UPDATE", "u-7", "The user lives in Oslo with a cat"), ADD]
    assert (len(batch), batch[1], batch.calls, [result.calls for result in batch.results]) == (2, ADD, 1, [0, 0])
    assert seen == [([MOVED, TEA], [content for _, content in KNOWN])]


def test_facts_that_need_no_model_are_not_sent():
    batch, seen = many([reply((1, "NONE", 1), (2, "ADD"))], ["The user owns a kayak", CAT, TEA, "the user likes tea"])
    assert list(batch) == [NONE, NONE, ADD, NONE]
    assert seen[0][0] == [CAT, TEA]
    assert [result.known_by for result in batch.results] == ["u-9", "u-7", None, None]


def test_no_fact_and_no_memory_cost_no_call():
    assert many([], [])[0].calls == 0
    batch, _ = many([], [TEA, CAT, TEA], existing=[])
    assert list(batch) == [ADD, ADD, NONE]


def test_an_unreadable_reply_leads_to_a_call_for_each_fact():
    batch, seen = many(["?", reply((1, "NONE", 1)), "?"], [CAT, TEA])
    assert list(batch) == [NONE, ADD]
    assert (batch.calls, [result.calls for result in batch.results], [result.fallback for result in batch.results]) == (
        3,
        [1, 1],
        [False, True],
    )
    assert [facts for facts, _ in seen] == [[CAT, TEA], [CAT], [TEA]]


def test_only_the_fact_that_is_missing_is_asked_about_alone():
    batch, seen = many([reply((2, "ADD")), reply((1, "NONE", 1))], [CAT, TEA])
    assert (list(batch), batch.calls, seen[1][0]) == ([NONE, ADD], 2, [CAT])


def test_an_invented_id_is_not_asked_about_again():
    batch, _ = many([reply((1, "DELETE", 12, None), (2, "ADD"))], [CAT, TEA])
    assert (list(batch), batch.calls, batch.invented) == ([ADD, ADD], 1, 1)


def test_a_second_decision_on_an_updated_memory_is_made_anew_against_its_new_text():
    together = reply((1, "UPDATE", 1, "The user lives in Oslo with a cat"), (2, "UPDATE", 1, "The user lives in Rome with a cat, Tilde"))
    alone = reply((1, "UPDATE", 1, "The user lives in Oslo with a cat, Tilde"))
    batch, seen = many([together, alone], [MOVED, "The user's cat is Tilde"])
    assert [decision.content for decision in batch] == ["The user lives in Oslo with a cat", "The user lives in Oslo with a cat, Tilde"]
    assert [decision.id for decision in batch] == ["u-7", "u-7"]
    assert seen[1] == (["The user's cat is Tilde"], ["The user lives in Oslo with a cat", "The user owns a kayak"])


def test_a_second_decision_on_a_retired_memory_is_made_anew_without_it():
    together = reply((1, "DELETE", 2, "The user sold the kayak", [1]), (2, "DELETE", 1, None))
    batch, seen = many([together], ["The user sold the kayak", MOVED])
    assert list(batch) == [ConsolidationDecision("DELETE", "u-9", "The user sold the kayak", ("u-7",)), ADD]
    assert len(seen) == 1  # no memory is left to hold it against


def test_a_fact_is_not_known_by_a_memory_that_an_earlier_fact_changed():
    together = reply((1, "UPDATE", 1, "The user lives in Oslo"), (2, "NONE", 1))
    batch, seen = many([together, reply((1, "ADD"))], [MOVED, CAT])
    assert batch[1] == ADD
    assert seen[1] == ([CAT], ["The user lives in Oslo", "The user owns a kayak"])


def test_a_fact_known_by_no_named_memory_is_asked_about_again_after_a_change():
    batch, _ = many([reply((1, "UPDATE", 1, "The user lives in Oslo"), (2, "NONE")), reply((1, "ADD"))], [MOVED, CAT])
    assert batch[1] == ADD
    batch, _ = many([reply((1, "NONE"), (2, "UPDATE", 1, "The user lives in Oslo"))], [CAT, MOVED])
    assert batch[0] == NONE


IN_NARVA = [("m1", "The user lives in Narva"), ("m2", "The user has a dog")]
TARTU, RIGA = "The user lives in Tartu", "The user lives in Riga"


def test_what_an_update_said_is_not_known_any_longer_once_another_replaced_it():
    together = reply((1, "UPDATE", 1, TARTU), (2, "UPDATE", 1, RIGA), (3, "NONE", 1))
    replies = [together, reply((1, "UPDATE", 1, RIGA)), reply((1, "UPDATE", 1, TARTU))]
    batch, seen = many(replies, ["The user moved to Tartu", "The user moved on to Riga", TARTU], IN_NARVA)
    assert [decision.content for decision in batch] == [TARTU, RIGA, TARTU]
    assert seen[2] == ([TARTU], [RIGA, "The user has a dog"])


def test_a_fact_that_came_before_is_asked_about_again_once_another_replaced_it():
    together = reply((1, "UPDATE", 1, "The user lives in Tartu, before in Narva"), (2, "UPDATE", 1, RIGA))
    replies = [together, reply((1, "UPDATE", 1, RIGA)), reply((1, "UPDATE", 1, TARTU))]
    batch, seen = many(replies, [TARTU, RIGA, TARTU], IN_NARVA)
    assert [decision.content for decision in batch] == ["The user lives in Tartu, before in Narva", RIGA, TARTU]
    assert [facts for facts, _ in seen] == [[TARTU, RIGA], [RIGA], [TARTU]]


def test_a_fact_that_was_merged_into_a_memory_is_known_by_it():
    batch, _ = many([reply((1, "UPDATE", 1, "The user lives in Tartu, before in Narva"), (2, "ADD"))], [TARTU, TEA, TARTU], IN_NARVA)
    assert [(result.decision.action, result.known_by) for result in batch.results] == [("UPDATE", None), ("ADD", None), ("NONE", "m1")]


def test_a_fact_that_retired_a_memory_and_was_not_stored_is_not_known():
    batch, seen = many([reply((1, "DELETE", 2, None), (2, "ADD")), reply((1, "ADD"))], ["The dog died", TEA, "The dog died"], IN_NARVA)
    assert [decision.action for decision in batch] == ["DELETE", "ADD", "ADD"]
    assert seen[1] == (["The dog died"], ["The user lives in Narva"])


def test_a_fact_that_was_added_stays_known_whatever_else_changes():
    batch, _ = many(
        [reply((1, "ADD"), (2, "UPDATE", 1, TARTU)), reply((1, "DELETE", 1, RIGA))], [TEA, TEA, TARTU, TEA, RIGA, TEA, RIGA], IN_NARVA
    )
    assert [decision.action for decision in batch] == ["ADD", "NONE", "UPDATE", "NONE", "DELETE", "NONE", "NONE"]


def test_a_fact_known_by_no_named_memory_stays_known_until_something_changes():
    replies = [reply((1, "NONE"), (2, "UPDATE", 1, TARTU)), reply((1, "ADD"))]
    batch, _ = many(replies, [CAT, CAT, "The user moved to Tartu", CAT, CAT], IN_NARVA)
    assert [decision.action for decision in batch] == ["NONE", "NONE", "UPDATE", "ADD", "NONE"]


def test_each_fact_can_have_memories_of_its_own():
    near = [[KNOWN[0]], [KNOWN[1]], []]
    batch, seen = many(["?", reply((1, "NONE", 1)), reply((1, "NONE", 1))], [CAT, "The user has a boat", TEA], (), existing_by_fact=near)
    assert [result.known_by for result in batch.results] == ["u-7", "u-9", None]
    assert [memories for _, memories in seen] == [[KNOWN[0][1], KNOWN[1][1]], [KNOWN[0][1]], [KNOWN[1][1]]]
    assert (seen[0][0], batch[2]) == ([CAT, "The user has a boat"], ADD)


def test_memories_by_fact_must_fit_the_facts_and_each_other():
    consolidator = ModelConsolidator(Scripted())
    with pytest.raises(OptionError, match="for each of the 2 facts, got 1"):
        consolidator.consolidate_many([CAT, TEA], existing_by_fact=[[]])
    with pytest.raises(OptionError, match="'a' has two contents"):
        consolidator.consolidate_many([CAT, TEA], existing_by_fact=[[("a", "x")], [("a", "y")]])
    with pytest.raises(OptionError, match="facts must be a sequence"):
        consolidator.consolidate_many(CAT, KNOWN)


WIRE = st.tuples(
    st.integers(0, 4), st.sampled_from(["ADD", "UPDATE", "DELETE", "NONE", "MERGE"]), st.integers(0, 4), st.sampled_from([None, "some text"]),
    st.lists(st.integers(0, 3), max_size=2),
)  # fmt: skip
ANSWERS = st.lists(st.one_of(st.lists(WIRE, max_size=5).map(lambda wires: reply(*wires)), st.text(max_size=20)), min_size=4, max_size=4)


@given(ANSWERS)
def test_nothing_is_lost_whatever_the_replies(answers):
    """Applied in order, every decision finds the memories it names live, and no content of any moment is gone."""
    facts, existing = [MOVED, CAT, TEA], [*KNOWN, ("u-1", "The user is 40")]
    batch = ModelConsolidator(Scripted(*answers)).consolidate_many(facts, existing)
    live, history = dict(existing), []
    for number, (decision, fact) in enumerate(zip(batch, facts, strict=True)):
        history += [live.pop(one) for one in decision.touched]
        if decision.action == "UPDATE":
            live[decision.id] = decision.content
        elif decision.action == "ADD":
            live[number] = fact
        elif decision.content:
            live[number] = decision.content
    assert {content for _, content in existing} <= {*live.values(), *history}
    assert 0 <= batch.calls <= 4
    added = [fact for decision, fact in zip(batch, facts, strict=True) if decision.action == "ADD"]
    assert set(added) <= set(live.values())


def test_a12_the_client_s_error_reaches_the_caller():
    class Fails:
        def complete(self, *, system, prompt):
            raise StopIteration("quota")

    with pytest.raises(StopIteration, match="quota"):
        ModelConsolidator(Fails()).consolidate_many([CAT, TEA], KNOWN)


def test_a_client_of_the_wrong_kind_is_named():
    with pytest.raises(SeamError, match="asynchronous: use AsyncModelConsolidator"):
        ModelConsolidator(ScriptedAsync("x")).consolidate(CAT, KNOWN)
    with pytest.raises(SeamError, match="not asynchronous: use ModelConsolidator"):
        asyncio.run(AsyncModelConsolidator(Scripted("x")).consolidate(CAT, KNOWN))
    with pytest.raises(SeamError, match="no model client"):
        ModelConsolidator(object())
    with pytest.raises(SeamError, match="'default' has a reply schema"):
        ModelConsolidator(Scripted(), policy=ConsolidationPolicy.load("default"))
    with pytest.raises(OptionError, match="must be a salience.ConsolidationPolicy"):
        ModelConsolidator(Scripted(), policy=Policy())


def test_the_factory_gives_the_twin_that_fits():
    assert type(create_consolidator(Scripted())) is ModelConsolidator
    assert type(create_consolidator(ScriptedAsync())) is AsyncModelConsolidator


def test_a_chat_client_gets_schema_and_decoding():
    class Chats:
        def chat(self, messages, *, schema=None, max_tokens=None, temperature=None):
            self.seen = (len(messages), schema["required"], max_tokens, temperature)
            return Reply(reply((1, "NONE", 1)), "stop", 100, 20)

    client = Chats()
    policy = ConsolidationPolicy.load("default")
    result = ModelConsolidator(client, policy=policy, recall=recall_policy("default")).consolidate_result(CAT, KNOWN)
    assert (result.status, result.reply.output_tokens, client.seen) == ("ok", 20, (2, ["decisions"], 2000, 0.0))


class OnlyExtracts:
    def extract(self, text):
        return [ExtractedMemory(text)]


def test_b9_an_extractor_without_consolidate_always_adds():
    assert isinstance(OnlyExtracts(), MemoryExtractor)
    assert not isinstance(OnlyExtracts(), Consolidator)
    assert isinstance(ModelConsolidator(Scripted()), Consolidator)
    assert consolidate_with(OnlyExtracts(), "The user owns a kayak", KNOWN) == ADD
    assert asyncio.run(aconsolidate_with(OnlyExtracts(), CAT, KNOWN)) == ADD
    assert consolidate_with(ModelConsolidator(Scripted(reply((1, "NONE", 1)))), CAT, KNOWN) == NONE
    assert asyncio.run(aconsolidate_with(AsyncModelConsolidator(ScriptedAsync(reply((1, "NONE", 1)))), CAT, KNOWN)) == NONE
    with pytest.raises(SeamError, match="use aconsolidate_with"):
        consolidate_with(AsyncModelConsolidator(ScriptedAsync()), CAT, KNOWN)


def test_a_consolidator_of_one_s_own_must_return_a_decision():
    class Says:
        def consolidate(self, new_fact, existing):
            return "ADD"

    with pytest.raises(SeamError, match="must return a ConsolidationDecision, got str"):
        consolidate_with(Says(), CAT, KNOWN)

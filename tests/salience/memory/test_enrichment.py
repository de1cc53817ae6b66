"""C1: what of the candidates is written, skipped and superseded, and why."""

import asyncio
import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from salience import Candidate, ModelConsolidator, OptionError, Policy, Reply, SeamError, Turn, create_salience_extractor
from salience.consolidation_types import ConsolidationBatch, ConsolidationDecision, ConsolidationResult
from salience.memory import EmbeddingsError, HashedNgrams, Memory, aenrich, aenrich_from_turn, enrich, enrich_from_turn

ITEM = '[{"content": "User likes rye bread", "salience": 0.9}, {"content": "User said hello", "salience": 0.2}]'


@pytest.fixture
def put(store):
    """Put candidates, given as contents or as `Candidate`, into the store."""

    def run(*candidates, user="u", **options):
        made = [one if isinstance(one, Candidate) else Candidate(one, 0.9) for one in candidates]
        return enrich(store, made, user_id=user, embeddings=HashedNgrams(256), **options)

    return run


def test_what_is_written_has_its_provenance(store, put):
    fields = {"source": "slack", "observed": "stated", "date": "2026-03-01", "tags": ("food",), "meta": {"thread": 7}}
    result = put(Candidate("User likes rye", 0.9, **fields))
    (kept,) = result.written
    assert store.list("u") == [kept]
    assert {name: getattr(kept, name) for name in fields} == fields
    assert (kept.salience, kept.created) == (0.9, "2026-03-02T09:00:00.000000Z")
    assert (result.superseded, result.skipped, result.refused, result.kept_apart, result.calls) == ((), (), (), (), 0)


def test_the_threshold_is_the_policy_s(put, contents):
    faint, clear = Candidate("faint", 0.45), Candidate("clear", 0.5)
    result = put(faint, clear)
    assert contents(result.written) == ["clear"]
    assert [(one.candidate, one.reason) for one in result.skipped] == [(faint, "salience 0.45 is below 0.5")]
    assert contents(put(faint, user="v", policy=Policy(operating_threshold=0.4)).written) == ["faint"]
    assert put(Candidate("surely", 0.7), user="v", policy=Policy(operating_threshold=0.8)).written == ()


def test_nothing_worth_keeping_writes_nothing(store, put):
    put()
    put(Candidate("faint", 0.1))
    assert store.users() == []


def test_what_is_known_word_for_word_is_seen_once_more(store, put):
    put("User likes rye bread")
    again = put("the user likes RYE bread.")
    assert (again.written, store.get("u", "id1").seen) == ((), 2)
    assert [(one.reason, one.memory_id, one.distance) for one in again.skipped] == [("known word for word", "id1", None)]


def test_a_near_duplicate_is_skipped_with_its_distance(store, put):
    put("User plays cello in an amateur orchestra on weekday evenings")
    again = put("User plays the cello in an amateur orchestra on weekday evenings now")
    ((skipped),) = again.skipped
    assert (skipped.reason, skipped.memory_id, again.written) == ("near-duplicate", "id1", ())
    assert 0 < skipped.distance < 0.15
    assert store.get("u", "id1").seen == 2
    assert put("User plays the cello in an amateur orchestra on weekday evenings now", near=0).written


@pytest.mark.parametrize(
    ("known", "new", "difference"),
    [
        ("User eats fish and other sea food on weekdays with the family", "User eats no fish and other sea food on weekdays with the family", "one is negated"),
        ("User pays 1,250 crowns a month for the flat near the harbour", "User pays 1,350 crowns a month for the flat near the harbour", "the numbers differ"),
        ("User shares the allotment behind the station with Tove", "User shares the allotment behind the station with Tore", "the names differ"),
        ("User's grandmother in the village near Tartu is alive and well at ninety", "User's grandmother in the village near Tartu is dead and well at ninety", "they say opposites"),
        ("User's sister lives in the old house behind the church with the family", "User's brother lives in the old house behind the church with the family", "the persons differ"),
    ],
)  # fmt: skip
def test_what_is_near_and_says_otherwise_is_written_and_told(put, contents, known, new, difference):
    put(known)
    result = put(new)
    assert contents(result.written) == [new]
    assert result.kept_apart == ((result.written[0].id, "id1", difference),)


def test_candidates_of_one_turn_see_each_other(put, contents):
    result = put("User likes rye bread", "User likes rye bread.", "User plays cello")
    assert contents(result.written) == ["User likes rye bread", "User plays cello"]
    assert [one.reason for one in result.skipped] == ["known word for word"]


def superseding(content, ids):
    return Candidate(content, 0.9, meta={"supersedes": ids})


def test_supersedes_retires_live_memories_of_this_user_and_refuses_others(store, put, contents):
    put("Works at Acme", "Commutes to Acme", "Owns a kayak")
    put("Theirs", user="v")
    theirs = store.list("v")[0].id
    result = put(superseding("Works at Orla", ["id1", "id2", "id1", theirs, "nobody", 5]))
    assert contents(store.list("u")) == ["Owns a kayak", "Works at Orla"]
    assert contents(result.superseded) == ["Works at Acme", "Commutes to Acme"]
    assert {(one.reason, one.because, one.superseded_by) for one in result.superseded} == {
        ("superseded", "Works at Orla", result.written[0].id)
    }
    assert result.refused == (theirs, "nobody", "5")
    assert store.get("v", theirs).live
    assert put(superseding("Works at Ibis", "id1")).refused == ("id1",)  # no longer live
    assert contents(store.list("u"))[-1] == "Works at Ibis"


def test_what_supersedes_and_is_known_already_takes_the_place(store, put, contents):
    put("Works at Acme", "Works at Orla")
    result = put(superseding("works at Orla", ["id1", "id2"]))
    assert contents(store.list("u")) == ["Works at Orla"]
    assert (result.written, result.superseded[0].superseded_by) == ((), "id2")


def test_two_candidates_cannot_supersede_the_same(store, put, contents):
    put("Works at Acme")
    result = put(superseding("Works at Orla", "id1"), superseding("Works at Ibis", "id1"))
    assert contents(store.list("u")) == ["Works at Orla", "Works at Ibis"]
    assert result.refused == ("id1",)


class Decides:
    def __init__(self, decide):
        self.decide, self.asked = decide, []

    def consolidate(self, new_fact, existing):
        self.asked.append((new_fact, list(existing)))
        return self.decide(existing)


def test_a_consolidator_decides_about_what_is_near(store, put, contents):
    """Opposites are near each other; the distance does not decide."""
    put("User drinks milk in coffee every morning at the office")
    decides = Decides(lambda existing: ConsolidationDecision("DELETE", existing[0].id, "User drinks coffee black"))
    result = put("User drinks milk in coffee every morning at the old office", consolidator=decides)
    assert (contents(result.written), contents(result.superseded)) == (
        ["User drinks coffee black"],
        ["User drinks milk in coffee every morning at the office"],
    )
    assert decides.asked == [
        ("User drinks milk in coffee every morning at the old office", [("id1", "User drinks milk in coffee every morning at the office")])
    ]
    assert result.calls is None  # a bare decision does not tell
    knows = Decides(lambda existing: ConsolidationDecision("NONE"))
    result = put("User takes coffee black", consolidator=knows)
    assert [one.reason for one in result.skipped] == ["known to the consolidator"]
    merges = Decides(lambda existing: ConsolidationDecision("UPDATE", existing[0].id, "User drinks black coffee"))
    result = put("User has coffee black", consolidator=merges)
    assert [(one.content, one.version) for one in result.written] == [("User drinks black coffee", 2)]
    invents = Decides(lambda existing: ConsolidationDecision("DELETE", "id1"))  # retired by now
    assert (contents(put("User sails", consolidator=invents).written), contents(store.list("u"))) == (
        ["User sails"],
        ["User drinks black coffee", "User sails"],
    )


def test_no_consolidator_is_asked_without_need(put):
    never = Decides(lambda existing: 1 / 0)
    put("Works at Acme", consolidator=never)
    put("works at Acme", superseding("Works at Orla", "id1"), Candidate("faint", 0.1), consolidator=never)
    assert never.asked == []


def test_an_error_of_the_consolidator_writes_nothing(store, put):
    put("Works at Acme")
    with pytest.raises(ZeroDivisionError):
        put("Owns a kayak", superseding("Works at Orla", "id1"), consolidator=Decides(lambda existing: 1 / 0))
    assert (store.count("u"), store.count("u", retired=True)) == (1, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policy": "default"}, "policy must be a salience.Policy"),
        ({"near": 3}, "near must be a cosine distance"),
        ({"user": " "}, "user_id must"),
    ],
)
def test_arguments_are_checked(put, options, message):
    with pytest.raises(OptionError, match=message):
        put("a", **options)


def test_a_consolidator_must_be_one(put):
    with pytest.raises(SeamError, match=r"a consolidator needs consolidate\(fact, existing\); object has none"):
        put("a", consolidator=object())


def test_another_model_is_refused_before_anybody_is_asked(store, put):
    put("a")
    with pytest.raises(EmbeddingsError, match="store.reembed"):
        enrich(
            store, [Candidate("b", 0.9)], user_id="u", embeddings=SimpleNamespace(name="other", dimensions=3, embed=None, embed_batch=None)
        )


def test_candidates_must_be_candidates(store):
    with pytest.raises(OptionError, match="candidates must be salience.Candidate values, got 'a'"):
        enrich(store, ["a"], user_id="u", embeddings=HashedNgrams(256))


def test_from_a_turn(store, contents):
    extractor = create_salience_extractor(SimpleNamespace(complete=lambda *, system, prompt: ITEM), policy=Policy(operating_threshold=0.95))
    turn = Turn("I like rye bread. Hello!", source="chat", date="2026-03-01")
    result = enrich_from_turn(store, extractor, turn, user_id="u", embeddings=HashedNgrams(256))
    assert (result.written, len(result.skipped)) == ((), 2)  # the extractor's own policy
    result = enrich_from_turn(store, extractor, turn, user_id="u", embeddings=HashedNgrams(256), policy=Policy())
    assert [(one.content, one.source, one.date) for one in result.written] == [("User likes rye bread", "chat", "2026-03-01")]


def test_the_asynchronous_twins(store, contents):
    class Client:
        async def complete(self, *, system, prompt):
            return ITEM

    class Adds:
        async def consolidate(self, new_fact, existing):
            return ConsolidationDecision("ADD", content=f"{new_fact}!")

    async def run():
        options = {"user_id": "u", "embeddings": HashedNgrams(256)}
        first = await aenrich_from_turn(store, create_salience_extractor(Client()), Turn("x"), **options)
        return first, await aenrich(store, [Candidate("User sails", 0.9)], consolidator=Adds(), **options)

    first, second = asyncio.run(run())
    assert (contents(first.written), contents(second.written)) == (["User likes rye bread"], ["User sails!"])
    with pytest.raises(SeamError, match="is asynchronous: use AsyncMemory, aenrich"):
        enrich(store, [Candidate("User rows", 0.9)], user_id="u", embeddings=HashedNgrams(256), consolidator=Adds())


class Batches:
    """A consolidator with `consolidate_many`: decides by a table from the beginning of a fact to a function of the contents shown."""

    def __init__(self, **table):
        self.table, self.together, self.alone = table, [], []

    def decide(self, fact, existing):
        ids = {content: memory_id for memory_id, content in existing}
        for begin, decide in self.table.items():
            if fact.startswith(begin):
                return decide(ids)
        return ConsolidationResult(ConsolidationDecision("ADD"))

    def consolidate_many(self, facts, existing):
        self.together.append((list(facts), [content for _, content in existing]))
        return ConsolidationBatch(tuple(self.decide(fact, existing) for fact in facts), calls=1)

    def consolidate(self, new_fact, existing):
        raise AssertionError("consolidate_result goes first")

    def consolidate_result(self, new_fact, existing):
        self.alone.append((new_fact, [content for _, content in existing]))
        return replace(self.decide(new_fact, existing), calls=1)


ADDED = ConsolidationResult(ConsolidationDecision("ADD"))


def updates(old, new):
    return lambda ids: ConsolidationResult(ConsolidationDecision("UPDATE", ids[old], new))


def test_all_candidates_of_an_extraction_go_to_the_consolidator_in_one_call(store, put, contents):
    """B6: with the extraction's own, N candidates take two calls."""
    put("Works at Acme", "Owns a kayak")
    batches = Batches(Is=updates("Works at Acme", "Works at Acme as a welder"))
    result = put("Plays cello", "owns a KAYAK", Candidate("faint", 0.1), "Is a welder", "Likes rye", consolidator=batches)
    assert [facts for facts, _ in batches.together] == [["Plays cello", "Is a welder", "Likes rye"]]
    assert sorted(batches.together[0][1]) == ["Owns a kayak", "Works at Acme"]
    assert (result.calls, batches.alone) == (1, [])
    assert [(one.fact.content, one.action) for one in result.changes] == [
        ("Plays cello", "ADD"), ("owns a KAYAK", "NONE"), ("Is a welder", "UPDATE"), ("Likes rye", "ADD"),
    ]  # fmt: skip
    assert contents(result.written) == ["Plays cello", "Works at Acme as a welder", "Likes rye"]
    assert [(one.candidate.content, one.reason) for one in result.skipped] == [
        ("faint", "salience 0.1 is below 0.5"), ("owns a KAYAK", "known word for word"),
    ]  # fmt: skip


def test_without_batches_each_is_asked_about_alone_and_sees_those_before(store, put, contents):
    put("Works at Acme")
    batches = Batches(Now=updates("Plays cello", "Plays cello and viola"))
    result = put("Plays cello", "Now plays the viola", consolidator=batches, batch=False)
    assert (result.calls, batches.together) == (2, [])
    assert "Plays cello" in batches.alone[1][1]
    assert contents(store.list("u")) == ["Works at Acme", "Plays cello and viola"]


@pytest.mark.parametrize("known", [[], ["Works at Acme"]])
def test_one_candidate_or_an_empty_store_makes_no_shared_call(put, known):
    put(*known)
    batches = Batches()
    result = put(*(["Plays cello"] if known else ["Plays cello", "Likes rye"]), consolidator=batches)
    assert (len(result.written), batches.together, len(batches.alone)) == (1 if known else 2, [], len(known))


def test_superseding_candidates_keep_their_place_among_the_others(store, put, contents):
    put("Works at Acme", "Owns a kayak", "Likes rye")
    batches = Batches(Has=updates("Likes rye", "Likes rye and oats"))
    result = put("Plays cello", superseding("Works at Orla", ["id1", "nobody"]), "Has come to like oats", consolidator=batches)
    assert [facts for facts, _ in batches.together] == [["Plays cello", "Has come to like oats"]]
    assert [one.action for one in result.changes] == ["ADD", "ADD", "UPDATE"]
    assert (contents(result.superseded), result.refused, result.calls) == (["Works at Acme"], ("nobody",), 1)
    assert contents(store.list("u")) == ["Owns a kayak", "Plays cello", "Works at Orla", "Likes rye and oats"]


@pytest.mark.parametrize(
    "decide",
    [
        lambda ids: ConsolidationResult(ConsolidationDecision("NONE"), known_by=ids["Works at Acme"]) if "Works at Acme" in ids else ADDED,
        lambda ids: ConsolidationResult(ConsolidationDecision("NONE")) if "Works at Acme" in ids else ADDED,
        lambda ids: ConsolidationResult(ConsolidationDecision("UPDATE", ids["Works at Acme"], "gone")) if "Works at Acme" in ids else ADDED,
    ],
)
def test_a_decision_that_rests_on_what_another_candidate_superseded_is_asked_for_again(store, put, contents, decide):
    """Else a fact would be dropped as known by a memory that is no longer live."""
    put("Works at Acme", "Owns a kayak")
    batches = Batches(Has=decide)
    result = put(superseding("Works at Orla", "id1"), "Has a job at Acme", "Likes rye", consolidator=batches)
    assert [fact for fact, _ in batches.alone] == ["Has a job at Acme"]
    assert sorted(batches.alone[0][1]) == ["Owns a kayak", "Works at Orla"]
    assert (result.calls, result.fallbacks) == (2, 0)
    assert contents(store.list("u")) == ["Owns a kayak", "Works at Orla", "Has a job at Acme", "Likes rye"]


def test_what_can_no_longer_be_superseded_is_asked_about_alone(store, put, contents):
    put("Works at Acme")
    batches = Batches()
    result = put(superseding("Works at Orla", "id1"), superseding("Works at Ibis", "id1"), consolidator=batches)
    assert (batches.together, [fact for fact, _ in batches.alone]) == ([], ["Works at Ibis"])
    assert (contents(store.list("u")), result.refused) == (["Works at Orla", "Works at Ibis"], ("id1",))


def test_a_shared_decision_is_not_written_over_one_that_was_made_alone(store, put, contents):
    """The first decision changes what the second candidate repeated; that one is then asked about alone, and the third too."""
    put("Likes rye", "Owns a kayak")
    batches = Batches(
        Was=updates("Likes rye", "Likes rye bread"),
        Likes=lambda ids: ConsolidationResult(ConsolidationDecision("UPDATE", ids["Likes rye bread"], "Likes rye bread, and rye")),
        Oats=lambda ids: ConsolidationResult(ConsolidationDecision("UPDATE", "id1", f"{next(one for one in ids if 'rye' in one)}, oats")),
    )
    result = put("Was given rye bread", "Likes RYE", "Oats are liked", consolidator=batches)
    assert [facts for facts, _ in batches.together] == [["Was given rye bread", "Oats are liked"]]
    assert [fact for fact, _ in batches.alone] == ["Likes RYE", "Oats are liked"]
    assert [one.action for one in result.changes] == ["UPDATE"] * 3
    assert contents(store.list("u")) == ["Owns a kayak", "Likes rye bread, and rye, oats"]


def test_decisions_that_cannot_be_used_are_told_and_counted(store, put):
    put("Works at Acme", "Owns a kayak")
    lost = ConsolidationResult(ConsolidationDecision("ADD"), fallback=True, invented=2, reason="DELETE names 2 memories never offered")
    batches = Batches(Sold=lambda ids: lost, Left=lambda ids: ConsolidationResult(ConsolidationDecision("DELETE", "77")))
    result = put("Sold the kayak", "Left Acme", "Likes rye", consolidator=batches)
    assert (result.calls, result.invented, result.fallbacks, result.refused) == (1, 2, 2, ("77",))
    assert [one.note for one in result.changes] == [
        "the decision could not be used: DELETE names 2 memories never offered",
        "the decision could not be used: DELETE named no memory that was offered",
        "",
    ]
    assert [one.action for one in result.changes] == ["ADD"] * 3
    alone = put("Sold the kayak again", consolidator=batches, batch=False)
    assert (alone.calls, alone.invented, alone.fallbacks) == (1, 2, 1)


def test_the_library_s_consolidator_takes_one_call_for_all(store, put, contents):
    put("User works at Acme", "User owns a kayak")
    replies = [[{"fact": 1, "action": "DELETE", "id": 1, "content": "User works at Orla"}, {"fact": 3, "action": "UPDATE", "id": 9}]]
    replies += [[{"fact": 1, "action": "NONE", "id": 1}], "No idea."]

    def chat(messages, **_):
        return Reply(json.dumps(replies.pop(0)))

    result = put("User left Acme for Orla", "User plays cello", "User rows", consolidator=ModelConsolidator(SimpleNamespace(chat=chat)))
    assert [one.action for one in result.changes] == ["DELETE", "NONE", "ADD"]
    assert (result.calls, result.invented, result.fallbacks) == (
        2,
        1,
        1,
    )  # the second was left out of the shared reply, and asked for again
    assert contents(store.list("u")) == ["User owns a kayak", "User works at Orla", "User rows"]


def test_the_asynchronous_twins_batch_too(store):
    put = {"user_id": "u", "embeddings": HashedNgrams(256)}
    batches = Batches()

    class Later:
        async def consolidate(self, new_fact, existing):
            raise AssertionError

        async def consolidate_many(self, facts, existing):
            return batches.consolidate_many(facts, existing)

    class Finds:
        async def extract_salient(self, turn, options=None):
            return [Candidate("Plays cello", 0.9), Candidate("Likes rye", 0.9)]

    async def run():
        await aenrich(store, [Candidate("Works at Acme", 0.9)], **put)
        return await aenrich_from_turn(store, Finds(), Turn("x"), consolidator=Later(), **put)

    assert (len(asyncio.run(run()).written), len(batches.together)) == (2, 1)


def test_the_message_that_a_candidate_is_of(store, put):
    put(Candidate("Plays cello", 0.9, meta={"source_id": "m7", "thread": 1}), Candidate("Likes rye", 0.9, meta={"source_id": 7}))
    put(Candidate("Rows", 0.9, meta={"source_id": " "}), Candidate("Sails", 0.9, meta={"source_id": "a\0"}))
    assert [(one.source_id, dict(one.meta)) for one in store.list("u")] == [
        ("m7", {"thread": 1}), (None, {"source_id": 7}), (None, {"source_id": " "}), ("a\ufffd", {}),
    ]  # fmt: skip


def test_the_host_tells_the_same(store):
    replies = ['[{"content": "User rows"}, {"content": "User sails"}]', "No idea.", '{"fact": 1, "action": "UPDATE", "id": 9}', "No idea."]
    model = ModelConsolidator(SimpleNamespace(chat=lambda messages, **_: Reply(replies.pop(0))))
    memory = Memory(store, HashedNgrams(256), model)
    enrich(store, [Candidate("User works at Acme", 0.9)], user_id="u", embeddings=HashedNgrams(256))
    result = memory.extract("x", "u")
    assert (result.calls, result.invented, result.fallbacks) == (4, 1, 2)
    assert [one.note for one in result.changes] == [
        "the decision could not be used: UPDATE names 1 memory never offered",
        "the decision could not be used: the reply has no decision on this fact",
    ]

"""C2 and B9: a text goes in, and what is decided about each fact is done, with nothing ever lost."""

import asyncio
import json
from types import SimpleNamespace

import pytest

from salience import ModelSalienceExtractor, OptionError, Reply, SeamError, Turn
from salience.consolidation import AsyncModelConsolidator, ModelConsolidator
from salience.consolidation_types import ConsolidationDecision, ConsolidationResult
from salience.memory import AsyncMemory, EmbeddingsError, HashedNgrams, Memory, UnknownMemoryError, create_memory


class Lines:
    """An extractor of one's own: every line is a fact. It has no `consolidate`."""

    def extract(self, text):
        return text.splitlines()


class Decides(Lines):
    """Decides by a table from the fact to a function of the memories shown."""

    def __init__(self, **table):
        self.table, self.shown = table, []

    def consolidate(self, new_fact, existing):
        self.shown.append((new_fact, [content for _, content in existing]))
        for begin, decide in self.table.items():
            if new_fact.startswith(begin):
                return decide({content: memory_id for memory_id, content in existing})
        return ConsolidationDecision("ADD")


def memory_with(store, extractor, **options):
    return Memory(store, HashedNgrams(256), extractor, **options)


def test_without_consolidate_all_is_added_but_what_is_known_word_for_word(store, contents):
    memory = memory_with(store, Lines())
    result = memory.extract("Likes rye\nPlays cello\n \nlikes RYE.", "u", source="chat", date="2026-03-01")
    assert [change.action for change in result.changes] == ["ADD", "ADD", "NONE"]
    assert contents(result.added) == contents(memory.list("u")) == ["Likes rye", "Plays cello"]
    assert [(one.source, one.date, one.seen) for one in memory.list("u")] == [("chat", "2026-03-01", 2), ("chat", "2026-03-01", 1)]
    assert (result.calls, result.repeated, memory.count("u")) == (None, False, 2)
    assert memory.list("v") == []


def test_the_five_nearest_are_shown(store):
    memory = memory_with(store, extractor := Decides())
    memory.extract("\n".join(f"Likes rye bread number {number}" for number in "abcdefg") + "\nPlays cello", "u")
    extractor.shown.clear()
    memory.extract("Plays cello daily", "u")
    ((fact, shown),) = extractor.shown
    assert (fact, len(shown), shown[0]) == ("Plays cello daily", 5, "Plays cello")


def test_an_update_keeps_the_old_version_in_the_history(store, contents):
    decide = {"Is": lambda ids: ConsolidationDecision("UPDATE", ids["Works at Acme"], "Works at Acme as a welder")}
    memory = memory_with(store, Decides(**decide))
    memory.extract("Works at Acme", "u", source="one")
    result = memory.extract("Is a welder", "u", source="two", date="2026-03-01")
    assert [change.action for change in result.changes] == ["UPDATE"]
    assert contents(result.updated) == contents(memory.list("u")) == ["Works at Acme as a welder"]
    assert (result.updated[0].source, result.updated[0].date) == ("two", "2026-03-01")
    old, new = memory.history("u", "id1")
    assert (old.content, old.source, old.reason, old.because, old.superseded_by) == (
        "Works at Acme",
        "one",
        "updated",
        "Is a welder",
        "id1",
    )
    assert (new.id, new.version) == ("id1", 2)
    assert contents(memory.query("a welder", "u")) == ["Works at Acme as a welder"]


def test_a_contradiction_retires_the_old_and_keeps_the_new(store, contents):
    memory = memory_with(
        store,
        Decides(Left=lambda ids: ConsolidationDecision("DELETE", ids["Works at Acme"], "Works at Orla", (ids["Commutes to Acme"],))),
    )
    memory.extract("Works at Acme\nCommutes to Acme\nOwns a kayak", "u")
    result = memory.extract("Left Acme for Orla", "u")
    assert contents(memory.list("u")) == ["Owns a kayak", "Works at Orla"]
    assert contents(result.retired) == ["Works at Acme", "Commutes to Acme"]
    assert {(one.reason, one.because, one.superseded_by) for one in result.retired} == {
        ("contradicted", "Left Acme for Orla", result.added[0].id)
    }


def test_a_pure_negation_retires_and_stays_in_the_history(store):
    memory = memory_with(store, Decides(Sold=lambda ids: ConsolidationDecision("DELETE", ids["Owns a kayak"])))
    memory.extract("Owns a kayak", "u")
    result = memory.extract("Sold the kayak", "u")
    assert (result.changes[0].action, memory.list("u")) == ("DELETE", [])
    assert memory.history("u", "id1")[0].because == "Sold the kayak"


def test_none_counts_a_sighting_where_it_says_of_what(store):
    memory = memory_with(
        store,
        Decides(
            Enjoys=lambda ids: ConsolidationResult(ConsolidationDecision("NONE"), known_by=ids["Likes rye"], calls=1),
            Loves=lambda ids: ConsolidationResult(ConsolidationDecision("NONE"), calls=1),
        ),
    )
    memory.extract("Likes rye", "u")
    assert memory.extract("Enjoys rye", "u").changes[0].memory.seen == 2
    change = memory.extract("Loves rye", "u").changes[0]
    assert (change.action, change.memory) == ("NONE", None)
    assert [(one.content, one.seen) for one in memory.list("u")] == [("Likes rye", 2)]


def odd(**values):
    return lambda ids: SimpleNamespace(**{"id": None, "content": None, "also_retire": (), **values})


@pytest.mark.parametrize(
    ("decide", "refused"),
    [
        (odd(action="UPDATE", id="12", content="merged"), ("12",)),
        (odd(action="DELETE", id="12", content="merged"), ("12",)),
        (odd(action="DELETE", id=0), ("0",)),
        (odd(action="DELETE", id=["id1"], also_retire=7), ("['id1']", "7")),
        (odd(action="UPDATE", id={}, content="a", also_retire="nobody"), ("{}", "nobody")),
        (odd(action="UPDATE", content="merged"), ()),
        (odd(action="DELETE"), ()),
        (odd(action="ERASE"), ()),
        (odd(action=None), ()),
        (lambda ids: None, ()),
        (lambda ids: SimpleNamespace(action="UPDATE", id=ids["Likes rye"], content=" ", also_retire=()), ()),
    ],
)
def test_what_cannot_be_carried_out_adds_the_fact(store, contents, decide, refused):
    memory = memory_with(store, Decides(New=decide))
    memory.extract("Likes rye", "u")
    result = memory.extract("New hobby", "u")
    assert contents(memory.list("u")) == ["Likes rye", "New hobby"]
    assert (result.changes[0].action, result.refused) == ("ADD", refused)
    assert result.changes[0].note


def test_invented_ids_beside_a_good_one_are_refused_alone(store, contents):
    decide = {"No": lambda ids: SimpleNamespace(action="DELETE", id=ids["Likes rye"], content="Likes oats", also_retire=["9", "u"])}
    memory = memory_with(store, Decides(**decide))
    memory.extract("Likes rye\nOwns a kayak", "u")
    result = memory.extract("No rye, oats", "u")
    assert (contents(memory.list("u")), result.refused) == (["Owns a kayak", "Likes oats"], ("9", "u"))


def test_an_id_of_another_user_is_no_better_than_an_invented_one(store, contents):
    memory = memory_with(store, Decides(New=lambda ids: ConsolidationDecision("DELETE", "id1", "gotcha")))
    memory.extract("Theirs", "v")
    memory.extract("Mine", "u")
    assert memory.extract("New", "u").refused == ("id1",)
    assert (contents(memory.list("v")), contents(memory.list("u"))) == (["Theirs"], ["Mine", "New"])


def test_the_facts_of_one_text_see_each_other(store, contents):
    memory = memory_with(
        store,
        Decides(
            Then=lambda ids: ConsolidationDecision("UPDATE", ids["Works at Acme"], "Works at Acme since May"),
            Now=lambda ids: ConsolidationDecision("DELETE", ids["Works at Acme since May"], "Works at Orla"),
        ),
    )
    result = memory.extract("Works at Acme\nThen since May\nNow at Orla", "u")
    assert [change.action for change in result.changes] == ["ADD", "UPDATE", "DELETE"]
    assert contents(memory.list("u")) == ["Works at Orla"]
    assert contents(memory.history("u")) == ["Works at Acme", "Works at Acme since May", "Works at Orla"]
    assert len({one.created for one in memory.history("u")}) == 1


def test_a_failing_extractor_writes_nothing_and_its_error_passes(store):
    def fail(ids):
        raise ConnectionError("down")

    memory = memory_with(store, Decides(Second=fail))
    with pytest.raises(ConnectionError, match="down"):
        memory.extract("First\nSecond", "u", source_id="1")
    assert memory.list("u") == []
    memory.extractor = Lines()
    assert not memory.extract("First\nSecond", "u", source_id="1").repeated
    assert memory.count("u") == 2


def test_the_same_text_of_the_same_source_is_taken_in_once(store):
    class Counts(Lines):
        asked = 0

        def extract(self, text):
            self.asked += 1
            return [f"{text} {self.asked}"]

    memory = memory_with(store, extractor := Counts())
    assert not memory.extract("a", "u", "chat", "7").repeated
    again = memory.extract("a", "u", "chat", "7")
    assert (again.repeated, again.changes, again.calls, extractor.asked) == (True, (), 0, 1)
    for text, user, source, source_id in (
        ("b", "u", "chat", "7"),
        ("a", "u", "mail", "7"),
        ("a", "u", "chat", "8"),
        ("a", "v", "chat", "7"),
    ):
        assert not memory.extract(text, user, source, source_id).repeated
    assert not memory.extract("a", "u", "chat").repeated
    assert memory.list("u")[0].source_id == "7"


def test_what_another_process_changes_meanwhile_is_not_overwritten(store, contents, embeddings):
    """Between asking and writing the memory that was looked at is updated, retired, or the fact itself is added."""
    memory = memory_with(store, Lines())
    memory.extract("Works at Acme\nOwns a kayak\nOwns a canoe", "u")

    def meanwhile(action, **rest):
        def decide(ids):
            memory.update("id1", "Works at Acme as a boss", "u")
            return ConsolidationDecision(action, ids["Works at Acme"], **rest)

        return decide

    memory.extractor = Decides(
        Was=meanwhile("UPDATE", content="Works at Acme as a welder"),
        Left=meanwhile("DELETE"),
        Nowhere=meanwhile("DELETE", content="Works at Orla"),
    )
    first = memory.extract("Was a welder at Acme", "u").changes[0]
    assert (first.action, first.memory.content, first.note) == ("ADD", "Was a welder at Acme", "what it was held against changed meanwhile")
    memory.update("id1", "Works at Acme", "u")
    assert memory.extract("Left Acme", "u").changes[0].memory.content == "Left Acme"
    memory.update("id1", "Works at Acme", "u")
    assert memory.extract("Nowhere near Acme", "u").changes[0].memory.content == "Works at Orla"
    assert memory.get("id1", "u").content == "Works at Acme as a boss"

    def known(ids):
        memory.delete("id2", "u")
        return ConsolidationResult(ConsolidationDecision("NONE"), known_by="id2")

    memory.extractor = Decides(Still=known)
    assert memory.extract("Still owns a kayak", "u").changes[0].action == "ADD"

    def added(ids):
        memory_with(store, Lines()).extract("Rows", "u")
        return ConsolidationDecision("ADD")

    memory.extractor = Decides(Rows=added)
    assert memory.extract("Rows", "u").changes[0].action == "NONE"
    assert contents(memory.list("u")).count("Rows") == 1


def test_hostile_contents_are_stored_as_text(store, contents):
    nasty = ["'); DROP TABLE memories; --", "a\0b", "x\ud800y", "%_*", "\u202eevil", "{}", '"id": "id1"', "A" * 100_000]
    memory = memory_with(store, SimpleNamespace(extract=lambda text: nasty))
    memory.extract("", "u")
    assert contents(memory.list("u")) == [nasty[0], "a\ufffdb", "x\ufffdy", *nasty[3:]]


def test_facts_with_fields_keep_them(store):
    fact = SimpleNamespace(
        content="Likes rye",
        salience=0.8,
        tags=["food", " ", 5],
        meta={"a": float("nan"), "b": {"c": "\0"}, 3: 4, "d": [10**4300, -(10**4300), 10**4300 - 1]},
        date="May",
        observed=None,
    )
    memory = memory_with(store, SimpleNamespace(extract=lambda text: [fact]))
    memory.extract("", "u", observed="stated")
    (kept,) = memory.list("u")
    assert (kept.salience, kept.tags, kept.meta) == (
        0.8,
        ("food",),
        {"a": None, "b": {"c": "\ufffd"}, "3": 4, "d": [None, None, 10**4300 - 1]},
    )
    assert (kept.date, kept.observed) == ("May", "stated")


@pytest.mark.parametrize("answer", [None, "a string", b"bytes", {"a": 1}, 5, [5], [None]])
def test_what_is_no_fact_is_refused(store, answer):
    memory = memory_with(store, SimpleNamespace(extract=lambda text: answer))
    with pytest.raises(SeamError, match="must"):
        memory.extract("", "u")


def test_query_threshold_and_limit(store, contents):
    memory = memory_with(store, Lines())
    memory.extract("Likes rye\nLikes rye bread\nPlays cello", "u")
    assert contents(memory.query("likes rye", "u", limit=2)) == ["Likes rye", "Likes rye bread"]
    assert contents(memory.query("likes rye", "u", threshold=0.9)) == ["Likes rye"]
    assert memory.query("likes rye", "u")[0].similarity == pytest.approx(1.0)
    assert memory.query(" ", "u") == memory.query("likes rye", "nobody") == []
    for options, message in (({"limit": 0}, "limit must"), ({"threshold": 1.5}, "threshold must"), ({"threshold": True}, "threshold must")):
        with pytest.raises(OptionError, match=message):
            memory.query("a", "u", **options)
    with pytest.raises(OptionError, match="context must be a string, got None"):
        memory.query(None, "u")


def test_update_delete_get_and_clear(store, contents):
    memory = memory_with(store, Lines())
    memory.extract("Likes rye\nPlays cello", "u")
    new = memory.update("id1", "Likes oats", "u", because="corrected")
    assert (new.version, memory.get("id1", "u")) == (2, new)
    gone = memory.delete("id2", "u", because="asked to")
    assert (gone.reason, gone.because, memory.get("id2", "u")) == ("deleted", "asked to", gone)
    assert contents(memory.list("u")) == ["Likes oats"]
    assert contents(memory.list("u", retired=True)) == contents(memory.history("u")) == ["Likes rye", "Plays cello", "Likes oats"]
    for act in (
        lambda: memory.update("id2", "a", "u"), lambda: memory.delete("id2", "u"), lambda: memory.update("id1", "a", "v"),
        lambda: memory.delete("id1", "v"),
    ):  # fmt: skip
        with pytest.raises(UnknownMemoryError, match="has no live memory with the id"):
            act()
    assert memory.get("id1", "v") is None
    with pytest.raises(OptionError, match="content must be a non-empty string"):
        memory.update("id1", " ", "u")
    assert (memory.clear("v"), memory.clear("u"), memory.count("u"), memory.history("u")) == (0, 1, 0, [])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"text": None, "user_id": "u"}, "text must be a string"),
        ({"text": "a", "user_id": " "}, "user_id must"),
        ({"text": "a", "user_id": "u", "source": 5}, "source must"),
        ({"text": "a", "user_id": "u", "source_id": "\0"}, "source_id must"),
        ({"text": "a", "user_id": "u", "source_id": ""}, "source_id must"),
        ({"text": "a", "user_id": "u", "date": "yesterday"}, "date must be an ISO 8601 date"),
    ],
)
def test_arguments_are_checked_before_anybody_is_asked(store, arguments, message):
    memory = memory_with(store, SimpleNamespace(extract=lambda text: 1 / 0))
    with pytest.raises(OptionError, match=message):
        memory.extract(**arguments)


def test_another_model_is_refused_before_anybody_is_asked(store):
    memory_with(store, Lines()).extract("a", "u")
    other = Memory(store, HashedNgrams(16), SimpleNamespace(extract=lambda text: 1 / 0))
    with pytest.raises(EmbeddingsError, match="store.reembed"):
        other.extract("b", "u")


def test_extractors_are_checked(store):
    with pytest.raises(SeamError, match=r"an extractor needs extract\(text\); object has none"):
        Memory(store, None, object())
    with pytest.raises(SeamError, match="use enrich_from_turn"):
        Memory(store, None, ModelSalienceExtractor(SimpleNamespace(complete=lambda **texts: "")))
    with pytest.raises(OptionError, match="nearest must be a whole number from 1 up"):
        Memory(store, None, Lines(), nearest=0)


class Scripted:
    """A model that answers in turn."""

    def __init__(self, *replies):
        self.replies = list(replies)

    def chat(self, messages, *, schema=None, max_tokens=None, temperature=None):
        return Reply(self.replies.pop(0))


class AsyncScripted(Scripted):
    async def chat(self, messages, *, schema=None, max_tokens=None, temperature=None):
        await asyncio.sleep(0)
        return Reply(self.replies.pop(0))


REPLIES = [
    json.dumps([{"content": "User works at Acme"}, {"content": "User owns a kayak"}]),
    json.dumps([{"content": "User now works at Orla"}, {"content": "User owns a kayak"}, {"content": "User plays cello"}]),
    json.dumps([{"fact": 1, "action": "DELETE", "id": 1, "content": "User works at Orla"}, {"fact": 2, "action": "ADD"}]),
]


def check_loop(first, second, memory):
    assert [change.action for change in first.changes] == ["ADD", "ADD"]
    assert first.calls == 1  # there was nothing to hold the facts against
    assert first.status == "ok"
    assert [change.action for change in second.changes] == ["DELETE", "NONE", "ADD"]
    assert second.calls == 2
    assert [one.content for one in memory.list("u")] == ["User owns a kayak", "User works at Orla", "User plays cello"]


def test_with_the_library_s_consolidator_a_text_takes_two_calls(store):
    memory = create_memory(store, HashedNgrams(256), ModelConsolidator(Scripted(*REPLIES)))
    check_loop(memory.extract("first", "u"), memory.extract("second", "u"), memory)


def test_the_asynchronous_twin_does_the_same(store):
    memory = create_memory(store, HashedNgrams(256), AsyncModelConsolidator(AsyncScripted(*REPLIES)))
    assert isinstance(memory, AsyncMemory)

    async def run():
        first, second = await memory.extract("first", "u"), await memory.extract("second", "u")
        hits = await memory.query("cello", "u", limit=1)
        updated = await memory.update(hits[0].memory.id, "User plays the viola", "u")
        return first, second, updated

    first, second, updated = asyncio.run(run())
    assert updated.version == 2
    memory.store.clear("v")
    assert [change.action for change in second.changes] == ["DELETE", "NONE", "ADD"]
    assert (first.calls, second.calls) == (1, 2)


def test_asynchronous_seams_are_refused_by_the_synchronous_host(store):
    memory = Memory(store, None, AsyncModelConsolidator(AsyncScripted(*REPLIES)))
    with pytest.raises(SeamError, match="is asynchronous: use AsyncMemory"):
        memory.extract("first", "u")


def test_asynchronous_embeddings(store):
    class Slow(HashedNgrams):
        async def embed_batch(self, texts):
            await asyncio.sleep(0)
            return HashedNgrams.embed_batch(self, texts)

    memory = create_memory(store, Slow(64), Lines())
    result = asyncio.run(memory.extract("Likes rye", "u"))
    assert result.added[0].content == "Likes rye"


def test_an_unreadable_reply_can_be_taken_in_again(store):
    memory = Memory(store, None, ModelConsolidator(Scripted("I would rather not.", REPLIES[0], REPLIES[0])))
    first = memory.extract("first", "u", source_id="1")
    assert (first.status, first.changes, first.repeated) == ("malformed", (), False)
    assert len(memory.extract("first", "u", source_id="1").added) == 2
    assert memory.extract("first", "u", source_id="1").repeated


def test_one_call_for_each_fact_where_batches_are_off(store):
    add = '{"fact": 1, "action": "ADD"}'
    memory = Memory(store, HashedNgrams(256), ModelConsolidator(Scripted(REPLIES[0], add, REPLIES[1], add, add)), batch=False)
    assert memory.extract("first", "u").calls == 2  # the second fact is held against the first
    second = memory.extract("second", "u")
    assert (second.calls, len(second.evidence)) == (3, 3)


def test_a_date_reaches_an_extractor_with_evidence(store):
    class Dated:
        def extract(self, text):
            raise AssertionError

        def extract_result(self, text):
            self.asked = text
            return SimpleNamespace(memories=[], calls=1, status="empty")

    memory = Memory(store, None, extractor := Dated())
    result = memory.extract("hello", "u", date="2026-03-01")
    assert extractor.asked == Turn("hello", date="2026-03-01")
    assert (result.calls, result.status, memory.store.users()) == (1, "empty", [])


def test_a_batch_of_the_wrong_size_is_refused(store):
    class Short(Lines):
        def consolidate_many(self, facts, existing):
            return []

    memory = Memory(store, None, Short())
    memory.extract("a", "u")
    with pytest.raises(SeamError, match="must return 2 decisions, got 0"):
        memory.extract("b\nc", "u")


def test_embeddings_of_the_wrong_number_are_refused(store):
    class Few(HashedNgrams):
        def embed_batch(self, texts):
            return []

    with pytest.raises(SeamError, match="Few.embed_batch must return 1 vectors for 1 texts"):
        Memory(store, Few(), Lines()).extract("a", "u")


def test_a_file_name_opens_a_store(tmp_path):
    memory = Memory(tmp_path / "m.db", None, Lines())
    memory.extract("Likes rye", "u")
    memory.close()
    again = Memory(str(tmp_path / "m.db"), None, Lines())
    assert again.count("u") == 1
    again.close()

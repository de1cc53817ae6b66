"""JSON Lines: what goes out comes in exactly, and hostile lines are refused with their numbers."""

import json

import pytest

from salience import OptionError
from salience.memory import HashedNgrams, LinesError, NewMemory, SqliteStore, TurnMark, export_lines, import_lines, model_of

HEAD = '{"format":"salience-memory","version":1}'
TIME = "2026-03-02T09:00:00.000000Z"


@pytest.fixture
def full(store, write, model, embeddings):
    """A store with an update, a contradiction, a sighting, and a turn mark."""
    write(store, "u", "Works at Acme — 黑麦\u2028", salience=0.7, source="chat", tags=("work",), meta={"a": [1, {"b": None}]})
    write(store, "u", "Owns a kayak")
    with store.turn("u", model) as turn:
        turn.revise("id1", NewMemory("Works at Acme as a welder"), embeddings.embed("Works at Acme as a welder"), because="is a welder")
        turn.sight("id2")
        turn.mark(TurnMark("chat", "7", "d" * 64))
        turn.mark(TurnMark(None, "8", "e" * 64))
    with store.turn("u", model) as turn:
        turn.retire("id1", "contradicted", because="left", superseded_by="orla")
        turn.write(NewMemory("Works at Orla"), embeddings.embed("Works at Orla"), memory_id="orla")
    return store


def everything(store, user):
    return store.list(user, retired=True), store.turns(user)


def test_what_goes_out_comes_in_exactly(full, embeddings, contents):
    lines = list(export_lines(full, "u"))
    assert lines[0] == HEAD
    assert len(lines) == 1 + 4 + 2
    assert all(line.isascii() and "\n" not in line for line in lines)
    with SqliteStore(":memory:") as other:
        result = import_lines(other, "someone else", "\n".join(lines).splitlines(keepends=True), embeddings)
        assert (result.versions, result.known, result.turns) == (4, 0, 2)
        assert everything(other, "someone else") == everything(full, "u")
        assert list(export_lines(other, "someone else")) == lines
        assert contents(other.history("someone else", "orla")) == contents(full.history("u", "orla"))
        assert contents(other.nearest("someone else", embeddings.embed("Works at"), model_of(embeddings))) == [
            "Works at Orla",
            "Owns a kayak",
        ]
        again = import_lines(other, "someone else", lines, embeddings)
        assert (again.versions, again.known, again.turns) == (0, 4, 0)


@pytest.mark.parametrize(
    "content", ["黑" + "。" * 200_000, "🌾" * 90_000, "\x01" * 180_000, "rye" + "." * 1_200_000], ids=["hanzi", "emoji", "control", "ascii"]
)
def test_however_long_a_memory_is_it_comes_in_again(store, write, embeddings, content):
    """Escaped, each of these is a line of more than a mebibyte: 6 characters a unit, 12 an emoji."""
    write(store, "u", content, meta={"a": content})
    write(store, "u", "Likes rye")
    lines = list(export_lines(store, "u"))
    assert len(lines[1]) > 2 << 20
    with SqliteStore(":memory:") as other:
        assert import_lines(other, "v", lines, embeddings).versions == 2
        assert everything(other, "v") == everything(store, "u")


def test_a_user_without_memories_is_a_head(store, embeddings):
    assert list(export_lines(store, "u")) == [HEAD]
    assert import_lines(store, "u", [HEAD, "", " \n"], embeddings).versions == 0
    assert store.users() == []


def test_another_user_s_memories_cannot_be_touched(full, write, embeddings, contents):
    before = everything(full, "u")
    lines = [line.replace("Works at Orla", "Works nowhere") for line in export_lines(full, "u")]
    import_lines(full, "v", lines, embeddings)
    assert everything(full, "u") == before
    assert contents(full.list("v")) == ["Owns a kayak", "Works nowhere"]


def test_what_is_kept_is_never_overwritten(full, embeddings):
    before = everything(full, "u")
    lines = [line.replace("Owns a kayak", "Owns a canoe") for line in export_lines(full, "u")]
    with pytest.raises(LinesError, match="line 3: 'id2' version 1 is kept already, and not the same") as caught:
        import_lines(full, "u", lines, embeddings)
    assert [number for number, _ in caught.value.faults] == [3]
    assert everything(full, "u") == before


def test_an_import_adds_to_what_is_there(full, embeddings, contents):
    lines = list(export_lines(full, "u"))
    with SqliteStore(":memory:") as other:
        import_lines(other, "u", [lines[0], lines[2]], embeddings)
        assert import_lines(other, "u", lines, embeddings).versions == 3
        assert sorted(contents(other.list("u"))) == ["Owns a kayak", "Works at Orla"]


def memory(**changes):
    values = {"id": "a", "version": 1, "content": "Likes rye", "created": TIME, "seen": 1, "last_seen": TIME, **changes}
    return json.dumps({"memory": {name: value for name, value in values.items() if value is not None}})


RETIRED = {"retired": TIME, "reason": "deleted"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "no JSON"),
        ("[" * 200_000, "no JSON: RecursionError"),
        ('"text"', "must be a JSON object"),
        ("{}", 'must be {"memory"'),
        ('{"memory": []}', 'must be {"memory"'),
        ('{"other": {}}', 'must be {"memory"'),
        ('{"memory": {}, "turn": {}}', 'must be {"memory"'),
        (HEAD, "the first line, and no other"),
        ("x" * (1 << 20) + "x", "no JSON"),
        (7, "a line must be text, got int"),
        (memory(id=None), r"missing fields: \['id'\]"),
        (memory(user_id="v"), r"unknown fields: \['user_id'\]"),
        (memory(id=5), "id must be a non-empty string"),
        (memory(id="\0"), "id must hold neither NUL"),
        (memory(content="\ud800"), "content must hold neither"),
        (memory(content=" "), "content must be a non-empty string"),
        (memory(version=0), "version must be a whole number from 1 up, got 0"),
        (memory(version=True), "version must be a whole number"),
        (memory(version=1 << 40), "version must be a whole number"),
        (memory(seen=1.5), "seen must be a whole number"),
        (memory(created="yesterday"), "created must be a time"),
        (memory(last_seen="2026-02-30T09:00:00.000000Z"), "last_seen must be a time"),
        (memory(salience=2), "salience must be a number from 0 to 1"),
        (memory(salience="0.5"), "salience must be a number"),
        ('{"memory": {"id": "a", "salience": NaN}}', "NaN is no JSON"),
        (memory(tags="food"), "tags must be a list"),
        (memory(tags=[{}]), "a tag must be"),
        (memory(meta=[]), "meta must be a mapping"),
        (memory().replace('"seen"', '"meta": {"a": 1e999}, "seen"'), "must be JSON"),
        (memory(retired=TIME), "reason must be one of"),
        (memory(reason="deleted"), "reason must be one of"),
        (memory(retired=TIME, reason="bored"), "reason must be one of"),
        (memory(because="x"), "belong to what is retired"),
        (memory(superseded_by="a"), "belong to what is retired"),
        (memory(**RETIRED, superseded_by="nothing"), "superseded_by 'nothing' names no memory here"),
        (memory(version=2), "does not follow version 0"),
        ('{"turn": {"source_id": "7"}}', "missing fields"),
        ('{"turn": {"source_id": "7", "digest": "d", "at": "now"}}', "at must be a time"),
        ('{"turn": {"source_id": "7", "digest": 5, "at": "now"}}', "digest must be"),
    ],
)  # fmt: skip
def test_hostile_lines_are_refused_with_their_number(store, embeddings, line, message):
    good = memory(id="good")
    with pytest.raises(LinesError, match=message) as caught:
        import_lines(store, "u", [HEAD, good, line], embeddings)
    assert [number for number, _ in caught.value.faults] == [3]
    assert store.users() == []


def test_versions_must_follow_each_other(store, embeddings):
    lines = [HEAD, memory(), memory(version=2), memory(id="b", **RETIRED), memory(id="b", version=3)]
    with pytest.raises(LinesError, match="nothing was taken in, as lines are faulty: line 3: 'a' version 2 does not follow") as caught:
        import_lines(store, "u", lines, embeddings)
    assert [number for number, _ in caught.value.faults] == [3, 5]


@pytest.mark.parametrize("lines", [[], [" "], [memory()], ['{"format":"salience-memory","version":2}'], ['{"format":"other","version":1}']])
def test_the_head_is_needed(store, embeddings, lines):
    with pytest.raises(LinesError, match="salience-memory"):
        import_lines(store, "u", lines, embeddings)


def test_a_text_is_no_lines(store, embeddings):
    with pytest.raises(OptionError, match="must be an iterable of lines"):
        import_lines(store, "u", HEAD, embeddings)


def test_only_so_many_faults_are_told(store, embeddings):
    with pytest.raises(LinesError, match="and 97 more") as caught:
        import_lines(store, "u", [HEAD, *["{"] * 500], embeddings)
    assert len(caught.value.faults) == 100


def test_vectors_are_asked_for_before_the_store_is_locked(full, tmp_path):
    lines = list(export_lines(full, "u"))
    with SqliteStore(tmp_path / "other.db") as other:

        class Peeks(HashedNgrams):
            def embed_batch(self, texts):
                with other.turn("v"):
                    pass
                return super().embed_batch(texts)

        assert import_lines(other, "u", lines, Peeks()).versions == 4

"""C3 and the numbered sentences of `Store`: turns, history, users apart, files refused, several threads and processes."""

import multiprocessing
import os
import sqlite3
import stat
import threading
from dataclasses import replace

import pytest

from salience import OptionError
from salience.memory import (
    EmbeddingModel,
    EmbeddingsError,
    HashedNgrams,
    NewMemory,
    SqliteStore,
    Store,
    StoredMemory,
    StoreError,
    StoreTurn,
    TurnMark,
    UnknownMemoryError,
)
from salience.memory import indexes as indexes_module
from salience.memory import vectors as vectors_module
from salience.memory.indexes import Indexes


def test_it_is_a_store(store):
    assert isinstance(store, Store)
    with store.turn("u") as turn:
        assert isinstance(turn, StoreTurn)


def test_what_is_written_comes_back_whole(store, write):
    fields = {
        "salience": 0.75, "source": "slack", "source_id": "c/7", "observed": "stated", "date": "2026-03-01", "tags": ("food", "吃"),
        "meta": {"a": [1, 2.5, None, True, {"b": "ü"}]},
    }  # fmt: skip
    written = write(store, "u", "Likes rye — 黑麦", **fields)
    assert written == StoredMemory(
        "Likes rye — 黑麦", **fields, id="id1", created="2026-03-02T09:00:00.000000Z", last_seen="2026-03-02T09:00:00.000000Z"
    )
    assert store.get("u", "id1") == written
    assert store.list("u") == [written]
    assert written.live
    assert written.to_dict() == {
        "id": "id1", "version": 1, "content": "Likes rye — 黑麦", **fields, "tags": ["food", "吃"], "created": written.created, "seen": 1,
        "last_seen": written.created,
    }  # fmt: skip


def test_a_turn_is_written_whole_or_not_at_all(store, write, contents, model, embeddings):
    old = write(store, "u", "first")
    with pytest.raises(ZeroDivisionError), store.turn("u", model) as turn:  # noqa: PT012
        turn.write(NewMemory("second"), embeddings.embed("second"))
        turn.retire(old.id, "deleted")
        turn.mark(TurnMark(None, "m1", "d"))
        assert contents(store.list("u")) == ["second"]  # within the turn it is there
        assert contents(store.nearest("u", embeddings.embed("second"), model)) == ["second"]
        raise ZeroDivisionError
    assert store.list("u") == [old]
    assert store.turns("u") == []
    assert contents(store.nearest("u", embeddings.embed("second"), model)) == ["first"]


def test_a_turn_that_ended_is_of_no_use(store, model, embeddings):
    with store.turn("u", model) as turn:
        pass
    with pytest.raises(StoreError, match="this turn has ended"):
        turn.write(NewMemory("late"), embeddings.embed("late"))


def test_turns_do_not_nest(store):
    with store.turn("u"), pytest.raises(StoreError, match="a turn is open already"), store.turn("v"):
        pass


def test_an_error_that_is_caught_within_a_turn_undoes_nothing_else(store, model, embeddings):
    with store.turn("u", model) as turn:
        turn.write(NewMemory("kept"), embeddings.embed("kept"))
        with pytest.raises(UnknownMemoryError, match="user 'u' has no live memory with the id 'nobody'"):
            turn.retire("nobody", "deleted")
    assert store.count("u") == 1


def test_an_update_keeps_the_id_and_the_version_before(store, write, model, embeddings, contents):
    write(store, "u", "Works at Acme")
    with store.turn("u", model) as turn:
        new = turn.revise(
            "id1", NewMemory("Works at Acme as a welder"), embeddings.embed("Works at Acme as a welder"), because="is a welder"
        )
    assert (new.id, new.version, new.created) == ("id1", 2, "2026-03-02T09:00:01.000000Z")
    assert store.get("u", "id1") == new
    assert store.list("u") == [new]
    assert (store.count("u"), store.count("u", retired=True)) == (1, 2)
    old = store.history("u", "id1")[0]
    assert (old.content, old.version, old.retired, old.reason, old.because, old.superseded_by) == (
        "Works at Acme", 1, "2026-03-02T09:00:01.000000Z", "updated", "is a welder", "id1",
    )  # fmt: skip
    assert contents(store.nearest("u", embeddings.embed("Works at Acme"), model)) == ["Works at Acme as a welder"]


def test_what_is_retired_stays_with_when_why_and_what_came_instead(store, write, model, embeddings, contents):
    write(store, "u", "Works at Acme")
    write(store, "u", "Owns a kayak")
    with store.turn("u", model) as turn:
        gone = turn.retire("id1", "contradicted", because="left Acme for Orla", superseded_by="orla")  # before it is written
        turn.write(NewMemory("Works at Orla"), embeddings.embed("Works at Orla"), memory_id="orla")
    assert (gone.live, gone.superseded_by) == (False, "orla")
    assert store.get("u", "id1") == gone
    assert contents(store.list("u")) == ["Owns a kayak", "Works at Orla"]
    assert contents(store.history("u", "id1")) == contents(store.history("u", "orla")) == ["Works at Acme", "Works at Orla"]
    assert contents(store.nearest("u", embeddings.embed("Works at Acme"), model, limit=1)) == ["Works at Orla"]
    with store.turn("u") as turn, pytest.raises(UnknownMemoryError):
        turn.retire("id1", "deleted")


def test_a_link_must_name_a_memory_of_the_same_user(store, write):
    write(store, "u", "mine")
    write(store, "v", "theirs", memory_id="theirs")
    for link in ("theirs", "nothing"):
        with pytest.raises(StoreError, match="a link must name a memory of the same user"), store.turn("u") as turn:
            turn.retire("id1", "superseded", superseded_by=link)
    assert store.get("u", "id1").live


def test_a_sighting_counts(store, write):
    write(store, "u", "Likes rye")
    with store.turn("u") as turn:
        seen = turn.sight("id1")
    assert store.get("u", "id1") == seen
    assert (seen.seen, seen.last_seen, seen.created) == (2, "2026-03-02T09:00:01.000000Z", "2026-03-02T09:00:00.000000Z")


def test_same_words(store, write, model):
    write(store, "u", "The user likes rye bread.")
    assert store.same_words("u", "User LIKES rye  bread").id == "id1"
    assert store.same_words("u", "User likes no rye bread") is None
    with store.turn("u") as turn:
        turn.retire("id1", "deleted")
    assert store.same_words("u", "User likes rye bread") is None


def test_turn_marks(store):
    mark = TurnMark("slack", "7", "d1")
    with store.turn("u") as turn:
        assert turn.mark(mark)
        assert not turn.mark(mark)
        assert turn.mark(TurnMark(None, "7", "d1"))
    assert store.has_turn("u", mark)
    for other in (TurnMark("", "7", "d1"), TurnMark("slack", "8", "d1"), TurnMark("slack", "7", "d2")):
        assert not store.has_turn("u", other)
    assert not store.has_turn("v", mark)
    assert store.turns("u") == [replace(mark, at="2026-03-02T09:00:00.000000Z"), TurnMark(None, "7", "d1", "2026-03-02T09:00:00.000000Z")]


def test_paging(store, write, contents):
    for content in "abcde":
        write(store, "u", content)
    assert contents(store.list("u", limit=2, offset=1)) == ["b", "c"]
    assert store.list("u", limit=0) == []
    for name in ("limit", "offset"):
        with pytest.raises(OptionError, match=f"{name} must be a whole number from 0 up, got -1"):
            store.list("u", **{name: -1})


NASTY = ["u", "U", "u ", "%", "_", "*", "u' OR '1'='1", "'; DROP TABLE memories; --", "\u00fc", "u\u0308", "null", "0", "../u"]


def test_users_never_meet(store, write, model, embeddings, contents):
    """The same ids and contents for users whose names are patterns, injections, and forms of each other."""
    for user in NASTY:
        write(store, user, "Likes rye", memory_id="same")
        write(store, user, f"Is called {user}", memory_id="%")
    with store.turn("u", model) as turn:
        turn.revise("same", NewMemory("Likes herring"), embeddings.embed("Likes herring"))
        turn.retire("%", "deleted")
        turn.mark(TurnMark(None, "1", "d"))
    for user in NASTY[1:]:
        assert contents(store.list(user)) == ["Likes rye", f"Is called {user}"]
        assert contents(store.nearest(user, embeddings.embed("Likes rye"), model, limit=99)) == ["Likes rye", f"Is called {user}"]
        assert contents(store.history(user, "same")) == ["Likes rye"]
        assert not store.has_turn(user, TurnMark(None, "1", "d"))
    assert store.clear("%") == 2
    assert [store.count(user) for user in NASTY] == [1, *[2] * 2, 0, *[2] * 9]
    assert store.users() == [user for user in NASTY if user != "%"]


@pytest.mark.parametrize("memory_id", ["theirs", "%", "' OR 1=1 --", "", "\0", "\ud800", None, 5])
def test_ids_of_others_are_as_unknown_as_any(store, write, memory_id, model):
    write(store, "v", "secret", memory_id="theirs")
    write(store, "u", "mine")
    assert store.get("u", memory_id) is None
    assert store.history("u", memory_id) == []
    with store.turn("u") as turn:
        assert turn.get(memory_id) is None
        for act in (lambda: turn.retire(memory_id, "deleted"), lambda: turn.sight(memory_id)):
            with pytest.raises(UnknownMemoryError):
                act()
    assert store.get("v", "theirs").live


@pytest.mark.parametrize("user", ["", "  ", None, 5, "a\0b", "\ud800"])
def test_user_ids_are_checked(store, user):
    for act in (lambda: store.list(user), lambda: store.clear(user), lambda: store.turn(user).__enter__()):
        with pytest.raises(OptionError, match="user_id must"):
            act()


def test_unknown_users_have_nothing(store, model, embeddings):
    assert (store.list("x"), store.count("x"), store.get("x", "id1"), store.history("x", "id1"), store.clear("x")) == ([], 0, None, [], 0)
    assert (store.nearest("x", embeddings.embed("a"), model), store.model("x"), store.same_words("x", "a"), store.users()) == (
        [],
        None,
        None,
        [],
    )
    with store.turn("x") as turn:
        assert (turn.get("id1"), turn.same_words("a")) == (None, None)
    assert store.users() == []  # nothing was written, so nothing is kept


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"content": " "}, "content must be a non-empty string"),
        ({"content": "a\0b"}, "content must hold neither NUL nor lone surrogates"),
        ({"content": "a\udc00"}, "content must hold neither"),
        ({"source": "\0"}, "source must hold neither"),
        ({"salience": 1.5}, "salience must be a number from 0 to 1"),
        ({"tags": "food"}, "tags must be a sequence of strings"),
        ({"tags": ["a", 5]}, "a tag must be a non-empty string"),
        ({"meta": []}, "meta must be a mapping"),
        ({"meta": {"a": float("nan")}}, r"meta\['a'\] must be JSON"),
        ({"meta": {"a": {1: 2}}}, "must be a string, got 1"),
        ({"meta": {"a": object()}}, "must be JSON"),
        ({"meta": {"a": [10**5000]}}, r"meta\['a'\] must hold no whole number of more than 4,300 digits, got one of 16610 bits"),
    ],
)
def test_what_cannot_be_stored_is_refused(fields, message):
    with pytest.raises(OptionError, match=message):
        NewMemory(**{"content": "a", **fields})


def test_meta_that_is_too_deep_is_refused():
    meta = {}
    for _ in range(100_000):
        meta = {"a": meta}
    with pytest.raises(OptionError, match="at most 20 deep"):
        NewMemory("a", meta=meta)


def test_reasons_and_ids_are_checked(store, write, model, embeddings):
    write(store, "u", "a")
    with store.turn("u", model) as turn:
        with pytest.raises(OptionError, match="reason must be one of updated, contradicted, superseded, deleted, got 'bored'"):
            turn.retire("id1", "bored")
        with pytest.raises(StoreError, match="already has a memory with the id 'id1'"):
            turn.write(NewMemory("b"), embeddings.embed("b"), memory_id="id1")
    with store.turn("u") as turn, pytest.raises(StoreError, match="without an embedding model"):
        turn.write(NewMemory("b"), embeddings.embed("b"))


def test_another_model_is_refused_until_vectors_are_made_anew(store, write, embeddings, contents):
    write(store, "u", "Likes rye")
    write(store, "u", "Likes rye")
    write(store, "u", "Plays cello")
    other = HashedNgrams(32)
    theirs = EmbeddingModel(other.name, 32)
    message = "of hashed-ngrams-1 with 256 dimensions, and those given of hashed-ngrams-1 with 32; .* store.reembed"
    with pytest.raises(EmbeddingsError, match=message):
        store.nearest("u", other.embed("rye"), theirs)
    with pytest.raises(EmbeddingsError, match=message), store.turn("u", theirs) as turn:
        turn.write(NewMemory("b"), other.embed("b"))
    assert store.reembed("u", other) == 3
    assert store.model("u") == theirs
    assert contents(store.nearest("u", other.embed("plays the cello"), theirs, limit=1)) == ["Plays cello"]
    write(store, "v", "another user may have another model")
    assert store.reembed("nobody", other) == 0


def test_clear_erases_the_bytes(tmp_path, write, contents):
    path = tmp_path / "m.db"
    with SqliteStore(path) as store:
        write(store, "u", "Xylographer by trade")
        write(store, "v", "stays")
        assert b"Xylographer" in path.read_bytes() + (tmp_path / "m.db-wal").read_bytes()
        assert store.clear("u") == 1
        assert b"Xylographer" not in path.read_bytes() + (tmp_path / "m.db-wal").read_bytes()
        assert (contents(store.list("v")), store.users()) == (["stays"], ["v"])
        write(store, "u", "new life")
        assert contents(store.list("u")) == ["new life"]


def test_only_the_owner_can_read_the_file(tmp_path, write):
    path = tmp_path / "m.db"
    with SqliteStore(path) as store:
        write(store, "u", "a")
        modes = {stat.S_IMODE(one.stat().st_mode) for one in tmp_path.iterdir()}
    assert modes == {0o600}


def test_a_file_is_found_again(tmp_path, write, contents, model, embeddings):
    path = tmp_path / "m.db"
    with SqliteStore(path) as store:
        write(store, "u", "Likes rye")
    with SqliteStore(str(path)) as store:
        assert contents(store.nearest("u", embeddings.embed("rye"), model)) == ["Likes rye"]
    with pytest.raises(StoreError, match="is closed; open another SqliteStore"):
        store.list("u")
    store.close()


@pytest.mark.parametrize("name", ["", " ", None, 5, "a\0b", b"bytes"])
def test_file_names_are_checked(name):
    with pytest.raises(OptionError, match='filename must be a path or ":memory:"'):
        SqliteStore(name)


def test_files_that_are_no_store_are_refused_and_left_alone(tmp_path):
    text, other, folder = tmp_path / "a.txt", tmp_path / "other.db", tmp_path / "folder"
    text.write_text("no database " * 100)
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE users (a)")
    db.close()
    folder.mkdir()
    before = {path: path.read_bytes() for path in (text, other)}
    for path, message in (
        (text, "file is not a database; name another file"),
        (other, "a database, but no memory store; name another file"),
        (folder, "is a folder"),
        (tmp_path / "missing" / "m.db", "its folder must exist"),
    ):
        with pytest.raises(StoreError, match=message):
            SqliteStore(path)
    assert {path: path.read_bytes() for path in before} == before
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.txt", "folder", "other.db"]


def test_a_file_of_a_later_version_is_refused(tmp_path):
    path = tmp_path / "m.db"
    SqliteStore(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version=2")
    db.close()
    with pytest.raises(StoreError, match="is of version 2, and this library knows versions up to 1: update"):
        SqliteStore(path)


def test_a_file_that_is_damaged_is_no_traceback(tmp_path, write):
    path = tmp_path / "m.db"
    with SqliteStore(path) as store:
        for number in range(50):
            write(store, "u", f"memory {number}")
    whole = bytearray(path.read_bytes())
    whole[4096:] = b"\xff" * (len(whole) - 4096)
    path.write_bytes(whole)
    with pytest.raises(StoreError, match="restore this one from a backup or an export"), SqliteStore(path) as store:
        store.list("u")


def test_other_connections_writes_are_seen(tmp_path, write, contents, model, embeddings):
    path, asked = tmp_path / "m.db", embeddings.embed("Likes rye")
    with SqliteStore(path) as one, SqliteStore(path) as other:
        first = write(one, "u", "Likes rye")
        assert contents(other.nearest("u", asked, model)) == ["Likes rye"]
        write(other, "u", "Likes rye bread")
        assert contents(one.nearest("u", asked, model)) == ["Likes rye", "Likes rye bread"]
        with other.turn("u") as turn:
            turn.retire(first.id, "deleted")
        assert contents(one.nearest("u", asked, model)) == ["Likes rye bread"]
        other.clear("u")
        for content in ("Likes a", "Likes b", "Likes c"):  # the same number of changes, another life
            write(other, "u", content)
        assert contents(one.nearest("u", asked, model)) == ["Likes a", "Likes b", "Likes c"]


def test_a_reader_is_not_kept_waiting_and_sees_whole_turns(tmp_path, contents, model, embeddings):
    path = tmp_path / "m.db"
    with SqliteStore(path) as one, SqliteStore(path) as other:
        with one.turn("u", model) as turn:
            turn.write(NewMemory("a"), embeddings.embed("a"))
            assert other.list("u") == []
            turn.write(NewMemory("b"), embeddings.embed("b"))
        assert contents(other.list("u")) == ["a", "b"]


def test_threads_take_turns(store, write, model):
    def work(name):
        for number in range(10):
            write(store, "u", f"{name} {number}")

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.count("u") == 40


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_opens_its_own(tmp_path, write, contents):
    context = multiprocessing.get_context("fork")
    with SqliteStore(tmp_path / "m.db") as store, SqliteStore(":memory:") as fleeting:
        write(store, "u", "parent")

        def child(pipe):
            write(store, "u", "child")
            try:
                fleeting.count("u")
            except StoreError as error:
                pipe.send(str(error))

        here, there = context.Pipe()
        process = context.Process(target=child, args=(there,))
        process.start()
        process.join()
        assert "cannot be used by a forked process" in here.recv()
        write(store, "u", "parent again")
        assert contents(store.list("u")) == ["parent", "child", "parent again"]


def test_without_numpy_the_answers_are_the_same(store, write, monkeypatch, model, embeddings, contents):
    for content in ("Likes rye", "Likes rye bread", "Plays cello"):
        write(store, "u", content)
    with_numpy = store.nearest("u", embeddings.embed("rye bread"), model)
    monkeypatch.setattr(vectors_module, "numpy_or_none", lambda: None)
    store._indexes.forget("u")
    without = store.nearest("u", embeddings.embed("rye bread"), model)
    assert contents(without) == contents(with_numpy) == ["Likes rye bread", "Likes rye", "Plays cello"]
    assert [hit.similarity for hit in without] == pytest.approx([hit.similarity for hit in with_numpy], abs=1e-6)


def test_the_first_query_makes_room_once(store, write, monkeypatch, model, embeddings, contents):
    """Growing by steps would copy the matrix again and again."""
    for number in range(20):
        write(store, "u", f"Likes rye {number}")
    store._indexes.forget("u")
    monkeypatch.setattr(indexes_module, "_PART", 3)
    resized, resize = [], vectors_module.MatrixIndex._resize
    monkeypatch.setattr(vectors_module.MatrixIndex, "_resize", lambda self, rows: (resized.append(rows), resize(self, rows)))
    assert contents(store.nearest("u", embeddings.embed("Likes rye 7"), model, limit=1)) == ["Likes rye 7"]
    assert resized == [22]  # and an eighth to grow into
    for number in range(20, 24):
        write(store, "u", f"Likes rye {number}")
    assert contents(store.nearest("u", embeddings.embed("Likes rye 23"), model, limit=1)) == ["Likes rye 23"]
    assert len(resized) == 2


def test_copies_in_memory_are_bounded(store, write, model, embeddings):
    store._indexes = Indexes(limit=1)
    for user in ("a", "b", "c"):
        write(store, user, "Likes rye")
        assert len(store.nearest(user, embeddings.embed("rye"), model)) == 1
    assert list(store._indexes._copies) == ["c"]


def test_a_query_of_zeros_or_of_nothing_wanted(store, write, model, embeddings):
    write(store, "u", "Likes rye")
    assert store.nearest("u", embeddings.embed(""), model) == []
    assert store.nearest("u", embeddings.embed("rye"), model, without={"id1"}) == []
    with pytest.raises(OptionError, match="limit must be a whole number from 1 up, got 0"):
        store.nearest("u", embeddings.embed("rye"), model, limit=0)


def test_a_full_disk_undoes_the_turn(store, write, model, embeddings, contents):
    write(store, "u", "first")
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count={pages}")
    with pytest.raises(StoreError, match="full; make room on the disk; what was committed before is kept"), store.turn("u", model) as turn:  # noqa: PT012
        for number in range(100):
            turn.write(NewMemory(f"{number} " * 1000), embeddings.embed("x"))
    store._db.execute("PRAGMA max_page_count=100000")
    assert contents(store.list("u")) == contents(store.nearest("u", embeddings.embed("first"), model)) == ["first"]
    write(store, "u", "second")
    assert store.count("u") == 2


def test_a_writer_that_waits_too_long_is_told(tmp_path, write):
    with SqliteStore(tmp_path / "m.db") as one, SqliteStore(tmp_path / "m.db") as other:
        other._db.execute("PRAGMA busy_timeout=0")
        with one.turn("u"), pytest.raises(StoreError, match="another process has been writing to it for 30 seconds; try again"):
            write(other, "u", "a")
        write(other, "u", "a")
        assert one.count("u") == 1

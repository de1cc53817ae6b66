"""`salience memory`: what is shown of a store, and moving it out and in, through the command."""

import itertools
import json
import stat
from pathlib import Path

import pytest

from evals.cli.main import main
from evals.cli.memory_text import block
from evals.cli.stores import find_id, short_ids
from evals.errors import WorkbenchError
from salience.memory import EmbeddingModel, HashedNgrams, NewMemory, SqliteStore, model_of

EMBEDDINGS = HashedNgrams()
IDS = ["a1a1a1a1" + "0" * 24, "b2b2b2b2" + "0" * 24, "c3c3c3c3" + "0" * 24, "c3c3c3c3" + "1" * 24]
HOSTILE = "The user \x1b[2J\nid state \u202eevil\x07 \x85\u2028 x"


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def write(isolated):
    """Writes into m.db at a minute a turn, with ids as given."""
    minutes = itertools.count(30)

    def run_turn(act, user="ada", file="m.db"):
        clock = f"2026-03-02T09:{next(minutes)}:59.000000Z"
        with SqliteStore(file, clock=lambda: clock) as store, store.turn(user, model_of(EMBEDDINGS)) as turn:
            act(turn)

    return run_turn


def add(content, memory_id=None, **fields):
    return lambda turn: turn.write(NewMemory(content, **fields), EMBEDDINGS.embed(content), memory_id=memory_id)


@pytest.fixture
def known(write):
    """Works at Acme, then at Orla; plays cello, then viola too; of bob a kayak."""
    write(add("The user works at Acme", IDS[0], salience=0.9, source="chat", source_id="7", observed="stated", date="2026-03-01"))
    write(add("The user plays cello", IDS[1], salience=0.7, tags=("music",)))

    def later(turn):
        turn.retire(IDS[0], "contradicted", because="The user left Acme for Orla", superseded_by=IDS[2])
        turn.write(NewMemory("The user works at Orla"), EMBEDDINGS.embed("The user works at Orla"), memory_id=IDS[2])
        text = "The user plays cello and viola"
        turn.revise(IDS[1], NewMemory(text, 0.8), EMBEDDINGS.embed(text), because="The user plays the viola too")
        turn.sight(IDS[2])

    write(later)
    write(add("The user owns a kayak", IDS[3]), user="bob")


ADA = ["m.db", "--user", "ada"]


def test_list_shows_what_is_live_and_all_what_was(capsys, known):
    code, out, err = run(capsys, "memory", "list", *ADA)
    assert (code, err) == (0, "(2 memories of ada; --all shows 2 retired versions too)\n")
    assert out == (
        "id        written, UTC      sal.  seen  memory\n"
        "c3c3c3c3  2026-03-02 09:32     -     2  The user works at Orla\n"
        "b2b2b2b2  2026-03-02 09:32  0.80     1  The user plays cello and viola\n"
    )
    code, out, err = run(capsys, "memory", "list", *ADA, "--all")
    assert (code, err) == (0, "(4 versions of ada)\n")
    assert out == (
        "id        state         written, UTC      said        sal.  seen  memory\n"
        "a1a1a1a1  contradicted  2026-03-02 09:30  2026-03-01  0.90     1  The user works at Acme\n"
        "b2b2b2b2  updated       2026-03-02 09:31  -           0.70     1  The user plays cello\n"
        "c3c3c3c3  live          2026-03-02 09:32  -              -     2  The user works at Orla\n"
        "b2b2b2b2  live          2026-03-02 09:32  -           0.80     1  The user plays cello and viola\n"
    )
    _, out, _ = run(capsys, "memory", "list", *ADA, "--json")
    assert [(one["id"], one["content"]) for one in json.loads(out)] == [
        (IDS[2], "The user works at Orla"), (IDS[1], "The user plays cello and viola"),
    ]  # fmt: skip
    assert len(json.loads(run(capsys, "memory", "list", *ADA, "--all", "--json")[1])) == 4


def test_the_only_user_need_not_be_named_and_several_are(capsys, known, write):
    code, out, err = run(capsys, "memory", "list", "m.db")
    assert (code, out) == (2, "")
    assert err == "salience: m.db holds memories of several users: ada, bob; say whose with --user NAME\n"
    write(add("The user rows"), user="eve", file="one.db")
    assert "The user rows" in run(capsys, "memory", "list", "one.db")[1]
    for number in range(12):
        write(add("The user rows"), user=f"u{number}", file="many.db")
    assert "u9 and 2 more; say whose" in run(capsys, "memory", "history", "many.db")[2]


def test_a_user_who_is_not_known_has_no_memories_and_is_told(capsys, known):
    for words in (["list", *ADA[:-1], "adda"], ["history", *ADA[:-1], "adda"], ["query", "m.db", "work", "--user", "adda"]):
        code, out, err = run(capsys, "memory", *words)
        assert (code, out, err) == (0, "", "(m.db knows no user 'adda'; it has ada, bob)\n")
        assert run(capsys, "memory", *words, "--json")[1] == "[]\n"
    code, _, err = run(capsys, "memory", "export", "m.db", "--user", "adda", "-o", "out.jsonl")
    assert (code, err) == (2, "salience: m.db knows no user 'adda'; it has ada, bob\n")
    assert not Path("out.jsonl").exists()


def test_query_finds_what_is_near_of_this_user_only(capsys, known):
    code, out, err = run(capsys, "memory", "query", "m.db", "works at Orla", "--user", "ada", "-n", "1")
    assert code == 0
    assert out == (
        "similar  id        written, UTC      memory\n"
        "   1.00  c3c3c3c3  2026-03-02 09:32  The user works at Orla\n"
    )  # fmt: skip
    assert err == "(1 memory of ada; similar means spelt alike, by hashed-ngrams-1)\n"
    _, out, _ = run(capsys, "memory", "query", "m.db", "a kayak", "--user", "ada", "--json", "--threshold", "-1")
    assert {one["content"] for one in json.loads(out)} == {"The user works at Orla", "The user plays cello and viola"}
    assert json.loads(run(capsys, "memory", "query", "m.db", "a kayak", "--user", "ada", "--json", "--threshold", "0.9")[1]) == []
    (kayak,) = json.loads(run(capsys, "memory", "query", "m.db", "a kayak", "--user", "bob", "--json")[1])
    assert 0 < kayak["similarity"] <= 1


def test_history_says_when_and_why_and_what_stands_in_its_place(capsys, known):
    code, out, err = run(capsys, "memory", "history", *ADA)
    assert (code, err) == (0, "(4 versions, in the order of writing)\n")
    assert out == (
        "a1a1a1a1 version 1, contradicted: The user works at Acme\n"
        "    written  2026-03-02 09:30 UTC; salience 0.90; from chat; id there 7; known as stated; said 2026-03-01\n"
        "    retired  2026-03-02 09:32 UTC, contradicted, because of: The user left Acme for Orla\n"
        "    now      c3c3c3c3: The user works at Orla\n"
        "\n"
        "b2b2b2b2 version 1, updated: The user plays cello\n"
        "    written  2026-03-02 09:31 UTC; salience 0.70; tags music\n"
        "    retired  2026-03-02 09:32 UTC, updated, because of: The user plays the viola too\n"
        "    now      version 2\n"
        "\n"
        "c3c3c3c3 version 1, live: The user works at Orla\n"
        "    written  2026-03-02 09:32 UTC\n"
        "    seen     2 times, last 2026-03-02 09:32 UTC\n"
        "\n"
        "b2b2b2b2 version 2, live: The user plays cello and viola\n"
        "    written  2026-03-02 09:32 UTC; salience 0.80\n"
    )
    code, out, err = run(capsys, "memory", "history", "m.db", "a1a", "--user", "ada", "--json")
    assert [(one["id"], one.get("superseded_by")) for one in json.loads(out)] == [(IDS[0], IDS[2]), (IDS[2], None)]
    assert len(json.loads(run(capsys, "memory", "history", "m.db", IDS[1], "--user", "ada", "--json")[1])) == 2
    code, out, err = run(capsys, "memory", "history", "m.db", "d4", "--user", "ada")
    assert (code, out) == (2, "")
    assert "no memory of this user has an id that begins with 'd4'" in err
    assert run(capsys, "memory", "history", "m.db", IDS[3], "--user", "ada")[0] == 2  # bob's


def test_ids_are_shown_as_long_as_it_takes_and_found_by_their_beginning():
    same = ["c" * 30 + "1", "c" * 30 + "2", "x", "xy", "9" * 32]
    assert short_ids(same) == {same[0]: same[0], same[1]: same[1], "x": "x", "xy": "xy", "9" * 32: "9" * 8}
    assert short_ids([]) == {}
    assert find_id("x", same) == "x"
    assert find_id("9", same) == "9" * 32
    with pytest.raises(WorkbenchError, match=r"'c' begins several ids: c{30}1, c{30}2; give more of it"):
        find_id("c", same)
    for given in ("", "d"):
        with pytest.raises(WorkbenchError, match="no memory of this user has an id that begins with"):
            find_id(given, same)
    assert find_id("\\x1b[2", ["\x1b[2J"]) == "\x1b[2J"
    with pytest.raises(WorkbenchError, match=r"and more; give"):
        find_id("a", [f"a{number:02}" for number in range(12)])


def test_export_and_import_move_a_user_exactly(capsys, known):
    code, out, _ = run(capsys, "memory", "export", *ADA, "-o", "ada.jsonl")
    assert (code, out) == (0, "ada.jsonl: 4 versions of memories of ada, 2 live\n")
    assert stat.S_IMODE(Path("ada.jsonl").stat().st_mode) == 0o600
    assert run(capsys, "memory", "export", *ADA)[1] == Path("ada.jsonl").read_text()
    code, out, _ = run(capsys, "memory", "import", "new.db", "ada.jsonl", "--user", "eve")
    assert (code, out) == (0, "new.db: 4 new versions of memories of eve, 0 known already\n")
    with SqliteStore("m.db") as old, SqliteStore("new.db") as new:
        assert new.list("eve", retired=True) == old.list("ada", retired=True)
    assert "The user works at Orla" in run(capsys, "memory", "query", "new.db", "Orla", "-n", "1")[1]
    _, out, _ = run(capsys, "memory", "import", "new.db", "ada.jsonl", "--user", "eve", "--json")
    assert json.loads(out) == {"versions": 0, "known": 4, "turns": 0}


def test_export_overwrites_nothing_unless_told_and_never_the_store(capsys, known):
    Path("out.jsonl").write_text("mine")
    code, _, err = run(capsys, "memory", "export", *ADA, "-o", "out.jsonl")
    assert (code, err) == (2, "salience: out.jsonl exists already; choose another name, or --force to replace it\n")
    assert Path("out.jsonl").read_text() == "mine"
    assert run(capsys, "memory", "export", *ADA, "-o", "out.jsonl", "--force")[0] == 0
    assert Path("out.jsonl").read_text().startswith('{"format"')
    code, _, err = run(capsys, "memory", "export", *ADA, "-o", "./m.db", "--force")
    assert (code, err) == (2, "salience: m.db is the memory store itself; choose another name\n")
    code, _, err = run(capsys, "memory", "export", *ADA, "-o", "nowhere/out.jsonl")
    assert code == 2
    assert "Traceback" not in err
    assert sorted(path.name for path in Path().iterdir()) == ["m.db", "out.jsonl"]


def test_import_from_stdin_and_what_is_wrong_with_it(capsys, known, monkeypatch):
    import io

    run(capsys, "memory", "export", *ADA, "-o", "ada.jsonl")
    monkeypatch.setattr("sys.stdin", io.StringIO(Path("ada.jsonl").read_text()))
    assert run(capsys, "memory", "import", "new.db", "-", "--user", "ada")[0] == 0
    lines = Path("ada.jsonl").read_text().splitlines()
    Path("bad.jsonl").write_text("\n".join([lines[0], lines[1].replace("Acme", "Ibis"), '{"memory": {"\x1b[2J": 1}}']))
    Path("latin.jsonl").write_bytes(b"\xff\xfe")
    for words, said in (
        (["new.db", "bad.jsonl", "--user", "ada"], "nothing was taken in, as lines are faulty: line 3"),
        (["new.db", "latin.jsonl", "--user", "ada"], "latin.jsonl: this is no text in UTF-8"),
        (["fresh.db", "absent.jsonl", "--user", "ada"], "No such file or directory: absent.jsonl"),
        (["fresh.db", "ada.jsonl", "--user", " "], "--user must be a name"),
        ([":memory:", "ada.jsonl", "--user", "ada"], "must be a file that stays"),
    ):
        code, out, err = run(capsys, "memory", "import", *words)
        assert (code, out) == (2, "")
        assert said in err
        assert "Traceback" not in err
        assert "\x1b" not in err
    assert not Path("fresh.db").exists()


@pytest.mark.parametrize("words", [["list"], ["query", "x"], ["history"], ["history", "a1"], ["export"], ["export", "-o", "out.jsonl"]])
def test_verbs_that_read_make_no_file_and_change_none(capsys, isolated, words):
    verb, *more = words
    (isolated / "empty.db").write_bytes(b"")
    (isolated / "text.md").write_text("# Notes\n" * 100)
    (isolated / "folder").mkdir()
    for name, said in (
        ("absent.db", "there is no such memory store; salience extract TEXT -m MODEL --memory absent.db --user NAME makes one"),
        ("empty.db", "this is no memory store"),
        ("folder", "this is no memory store"),
        ("text.md", "not a database"),
        (":memory:", "must be a file that stays after the command"),
    ):
        code, out, err = run(capsys, "memory", verb, name, *more, "--user", "ada")
        assert (code, out) == (2, "")
        assert said in err
        assert "Traceback" not in err
    assert sorted(path.name for path in isolated.iterdir()) == ["empty.db", "folder", "text.md"]
    assert (isolated / "empty.db").read_bytes() == b""


def test_a_store_without_users_says_so(capsys, isolated):
    SqliteStore("m.db").close()
    code, _, err = run(capsys, "memory", "list", "m.db")
    assert (code, err) == (
        2, "salience: m.db holds no memories yet; salience extract TEXT -m MODEL --memory m.db --user NAME makes some\n"
    )  # fmt: skip


def test_vectors_of_another_model_are_listed_and_not_compared(capsys, isolated):
    with SqliteStore("m.db") as store, store.turn("ada", EmbeddingModel("other", 3)) as turn:
        turn.write(NewMemory("The user rows"), [1.0, 0.0, 0.0])
    assert "The user rows" in run(capsys, "memory", "list", "m.db")[1]
    code, _, err = run(capsys, "memory", "query", "m.db", "rows")
    assert code == 2
    assert "the vectors of 'ada' are of other with 3 dimensions, which this command does not make" in err
    run(capsys, "memory", "export", "m.db", "-o", "out.jsonl")
    assert run(capsys, "memory", "import", "new.db", "out.jsonl", "--user", "ada")[0] == 0
    assert "The user rows" in run(capsys, "memory", "query", "new.db", "rows")[1]


def test_lexical_vectors_of_another_length_are_compared_by_their_own(capsys, isolated):
    short = HashedNgrams(64)
    with SqliteStore("m.db") as store, store.turn("ada", model_of(short)) as turn:
        turn.write(NewMemory("The user rows"), short.embed("The user rows"))
    assert "   1.00  " in run(capsys, "memory", "query", "m.db", "The user rows")[1]


@pytest.mark.parametrize(
    "words", [["query", "m.db", "x", "--threshold", "2"], ["query", "m.db", "x", "-n", "0"], ["import", "m.db", "in.jsonl"], [], ["list"]]
)
def test_wrong_words_are_usage_errors(capsys, words):
    with pytest.raises(SystemExit) as caught:
        main(["memory", *words])
    assert caught.value.code == 2
    assert "usage: salience memory" in capsys.readouterr().err


def test_a_blank_query_is_refused(capsys, known):
    code, _, err = run(capsys, "memory", "query", "m.db", " ", "--user", "ada")
    assert (code, err) == (2, "salience: the text is empty; say what the memories should be about\n")


def test_hostile_memories_users_and_ids_move_no_terminal(capsys, write):
    nasty = "\x1b]0;x\x07\u202e"
    write(add(HOSTILE, f"i{nasty}", source=nasty, source_id=nasty, observed=nasty, date=nasty, tags=(nasty,)), user=nasty)

    def later(turn):
        turn.retire(f"i{nasty}", "deleted", because=HOSTILE)

    write(later, user=nasty)
    write(add(f"{HOSTILE} again", "\x9b2J"), user=nasty)
    for words in (["list"], ["list", "--all"], ["history"], ["query", "user evil"], ["export"], ["export", "-o", "o.jsonl"]):
        code, out, err = run(capsys, "memory", words[0], "m.db", *words[1:])
        assert code == 0
        assert not set(out + err) & set("\x1b\x07\u202e\x85\u2028\x9b")
    _, out, _ = run(capsys, "memory", "list", "m.db", "--all")
    assert len(out.splitlines()) == 3
    assert "\\x1b[2J\\nid state \\u202eevil\\x07 \\x85\\u2028 x" in out
    write(add("The user rows"), user="bob")
    _, out, err = run(capsys, "memory", "list", "m.db")
    assert not set(out + err) & set("\x1b\x07\u202e\x85\u2028\x9b")


def test_export_to_stdout_is_json_whatever_is_in_it(capsys, write):
    write(add("The user \x7f\x1b rows"))
    _, out, _ = run(capsys, "memory", "export", "m.db")
    assert out.isascii()
    assert out.replace("\n", "").isprintable()
    assert json.loads(out.splitlines()[1])["memory"]["content"] == "The user \x7f\x1b rows"


@pytest.mark.parametrize("width", [80, 132])
def test_a_terminal_gets_lines_of_its_width(capsys, known, write, monkeypatch, width):
    monkeypatch.setattr("evals.cli.memory.terminal_width", lambda: width)
    write(add("The user " + "has a great deal to say about rye bread and " * 6 + "https://" + "x" * 200, salience=0.5), user="ada")
    for words in (["list", *ADA], ["list", *ADA, "--all"], ["history", *ADA], ["query", "m.db", "rye bread", "--user", "ada"]):
        _, out, _ = run(capsys, "memory", *words)
        assert max(map(len, out.splitlines())) <= width
        assert max(map(len, out.splitlines())) > width - 12


def test_wide_characters_take_two_columns_and_a_narrow_terminal_folds_by_itself():
    assert block("id  ", "用户住在塔尔图" * 4, 32).splitlines() == [
        "id  用户住在塔尔图用户住在塔尔图",
        "    用户住在塔尔图用户住在塔尔图",
    ]
    assert block("id  ", "The user rows " * 9, 20) == "id  " + ("The user rows " * 9).rstrip()
    assert block("id  ", "", 80) == "id"


def test_a_memory_is_forgotten_by_hand_and_its_history_stays(capsys, isolated):
    say = [
        "extract",
        "I live in Tartu. I am allergic to latex.",
        "-m",
        "baseline/rules",
        "--memory",
        "m.db",
        "--user",
        "ada",
        "-q",
        "--date",
    ]
    assert main([*say, "2026-03-02"]) == 0
    capsys.readouterr()
    assert main(["memory", "list", "m.db", "--json"]) == 0
    home = next(one for one in json.loads(capsys.readouterr().out) if "Tartu" in one["content"])
    assert main(["memory", "forget", "m.db", home["id"][:8], "--because", "moved away"]) == 0
    assert "forgotten: The user lives in Tartu" in capsys.readouterr().out
    assert main(["memory", "list", "m.db"]) == 0
    out = capsys.readouterr().out
    assert "Tartu" not in out
    assert "2026-03-02" in out  # the day it was said
    assert main(["memory", "history", "m.db", home["id"]]) == 0
    out = capsys.readouterr().out
    assert "deleted, because of: moved away" in out
    assert main(["memory", "forget", "m.db", home["id"]]) == 2  # it is live no longer


def test_a_rule_decides_in_the_terminal_and_a_bad_day_is_named(capsys, isolated):
    base = ["-m", "baseline/rules", "--memory", "m.db", "--user", "ada", "--consolidation", "nearest-update"]
    assert main(["extract", "I live in Tartu.", *base]) == 0
    assert main(["extract", "I live in Riga.", *base]) == 0
    out, err = capsys.readouterr()
    assert "UPDATED" in out
    assert "the rule nearest-update decides" in err
    assert main(["extract", "I live in Riga.", "-m", "baseline/rules", "--date", "yesterday"]) == 2
    assert "--date must be a day such as 2026-03-02, got 'yesterday'" in capsys.readouterr().err

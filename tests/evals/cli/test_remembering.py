"""`salience extract --memory`, end to end: what becomes of what was said, over several calls, and what is kept where something fails."""

import json
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from evals.cli.main import main
from evals.models.scripted import ScriptedFile
from salience import ConsolidationPolicy
from salience.memory import EmbeddingModel, NewMemory, SqliteStore

MODEL = ["-m", "scripted/s.jsonl", "--memory", "m.db", "--user", "ada"]
RULES = ["-m", "baseline/rules", "--memory", "m.db", "--user", "ada"]


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def found(*contents, salience=0.9):
    return json.dumps([{"content": content, "salience": salience} for content in contents])


def decided(*elements):
    keys = {"action": "ADD", "id": None, "content": None, "also_retire": []}
    return json.dumps({"decisions": [{"fact": number, **keys, **one} for number, one in enumerate(elements, 1)]})


def facts(first):
    """The beginning of the facts in a request to consolidate."""
    return f'New facts:\n{{"fact": 1, "content": "{first}'


@pytest.fixture
def script(isolated):
    """Writes what the model answers: (text in the last message, reply or error), the first that fits counts."""

    def write(*lines):
        rows = [{"match": match, **({"error": reply} if isinstance(reply, dict) else {"reply": reply})} for match, reply in lines]
        (isolated / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    return write


def live(user="ada", file="m.db"):
    with SqliteStore(file) as store:
        return [one.content for one in store.list(user)]


def masked(text, seen):
    """Output with ids replaced by numbers in the order of their appearance, over the texts that share `seen`."""
    return re.sub(r"\b[0-9a-f]{8}\b", lambda match: seen.setdefault(match[0], f"id{len(seen) + 1:06}"), text)


def test_what_was_said_is_remembered_over_calls_and_what_became_of_it_is_told(capsys, script):
    script(
        (facts("The user left Acme"), decided({"action": "DELETE", "id": 1, "content": "The user works at Orla"},
                                              {"action": "UPDATE", "id": 2, "content": "The user plays cello and viola"})),
        (facts("The user forgot Orla"), decided({"action": "DELETE", "id": 1})),
        (facts("The user is a cellist, and"), decided({"action": "NONE", "id": 1})),
        ("one", found("The user works at Acme", "The user plays cello")),
        ("two", found("The user left Acme and is at Orla now", "The user plays the viola too")),
        ("three", found("The user forgot Orla")),
        ("four", found("The user is a cellist, and a violist")),
    )  # fmt: skip
    seen, shown = {}, []
    for word in ("one", "two", "three", "four"):
        code, out, err = run(capsys, "extract", word, *MODEL)
        assert code == 0, err
        shown.append(masked(out, seen))
        calls = "1 model call" if word == "one" else "2 model calls: 1 to extract, 1 to consolidate"
        assert f"(consolidation default {ConsolidationPolicy.load('default').hash}; {calls})" in err
    assert shown == [
        "ADDED    0.90  id000001  The user works at Acme\n"
        "ADDED    0.90  id000002  The user plays cello\n",
        "RETIRED  0.90  id000003  The user left Acme and is at Orla now\n"
        "                         retires id000001, contradicted: The user works at Acme\n"
        "                         stored as: The user works at Orla\n"
        "UPDATED  0.90  id000002  The user plays the viola too\n"
        "                         was: The user plays cello\n"
        "                         now: The user plays cello and viola\n",
        "RETIRED  0.90  -  The user forgot Orla\n"
        "                  retires id000003, contradicted: The user works at Orla\n",
        "KNOWN    0.90  id000002  The user is a cellist, and a violist\n"
        "                         known (seen 2 times) as: The user plays cello and viola\n",
    ]  # fmt: skip
    assert live() == ["The user plays cello and viola"]
    assert "(ada has 1 memory now: salience memory list m.db --user ada)" in err


def test_a_repeat_is_known_and_counted_without_a_call(capsys, script):
    script((None, found("The user works at Acme")))
    run(capsys, "extract", "one", *MODEL)
    code, out, err = run(capsys, "extract", "one", *MODEL)
    assert code == 0
    assert masked(out, {}) == "KNOWN    0.90  id000001  The user works at Acme\n                         seen 2 times\n"
    assert "; 1 model call)" in err


def test_two_processes_remember(isolated):
    """The second knows what the first was told."""
    code = "import sys; from evals.cli.main import main; sys.exit(main(sys.argv[1:]))"
    outs = []
    for said in ("I live in Tartu. I'm so tired today.", "I live in Tartu. My sister is a vegan."):
        words = [sys.executable, "-c", code, "extract", said, *RULES]
        outs.append(subprocess.run(words, capture_output=True, text=True, check=True, cwd=isolated))
    assert masked(outs[0].stdout, {}) == (
        "ADDED    0.70  id000001  The user lives in Tartu.\n"
        "SKIPPED  0.30  -         The user is so tired today.\n"
        "                         salience 0.30 is below 0.50\n"
    )
    assert [line.split()[0] for line in outs[1].stdout.splitlines() if line[0] != " "] == ["KNOWN", "ADDED"]
    told = "(baseline/rules asks no model: near-duplicates are skipped by distance, nothing is updated or contradicted)\n"
    assert told in outs[0].stderr
    assert len(live()) == 2


def test_without_a_consolidator_distance_decides(capsys, script):
    said = "The user plays cello in an amateur orchestra on weekday evenings"
    script(("one", found(said)), ("two", found(f"{said} now")), ("three", found(said.replace("plays", "plays no"))))
    for word in ("one", "two", "three"):
        code, out, err = run(capsys, "extract", word, *MODEL, "--consolidation", "none")
        assert code == 0
        assert "(--consolidation none: near-duplicates are skipped by distance, nothing is updated or contradicted; 1 model call)" in err
        if word == "two":
            assert re.fullmatch(
                rf"SKIPPED  0.90  \w{{8}}  {said} now\n +near-duplicate \(distance 0\.0\d\) of: {said}\n", out
            )  # fmt: skip
    assert re.search(r"ADDED    0.90  \w{8}  .*\n +near \w{8}, but one is negated\n", out)
    assert "; 1 model call)" in err


def test_users_do_not_see_each_other(capsys, script):
    script(("New facts", decided({"action": "DELETE", "id": 1})), (None, found("The user works at Acme")))
    run(capsys, "extract", "x", *MODEL)
    code, out, err = run(capsys, "extract", "x", *MODEL[:-1], "bob")
    assert code == 0
    assert "ADDED" in out
    assert "; 1 model call)" in err  # there was nothing to hold it against
    assert (live("ada"), live("bob")) == (["The user works at Acme"], ["The user works at Acme"])


def test_a_decision_that_cannot_be_used_adds_and_is_told(capsys, script):
    script(
        (facts("The user sails"), decided({"action": "DELETE", "id": 7, "content": "gotcha"})),
        (facts("The user skis"), "I would rather not say."),
        ("one", found("The user rows")),
        ("two", found("The user sails")),
        ("three", found("The user skis")),
    )
    run(capsys, "extract", "one", *MODEL)
    _, out, err = run(capsys, "extract", "two", *MODEL)
    assert "the decision could not be used: DELETE names 1 memory never offered; added as it is" in out
    assert (
        "; 2 model calls: 1 to extract, 1 to consolidate; decisions that could not be used: 1; memories that the model made up: 1)" in err
    )
    _, out, _ = run(capsys, "extract", "three", *MODEL)
    assert "the decision could not be used: the reply has no decision on this fact; added as it is" in out
    assert live() == ["The user rows", "The user sails", "The user skis"]


def test_where_and_when_it_was_said_is_kept(capsys, script):
    script((None, found("The user rows")))
    words = ["--source", "chat", "--source-id", "m7", "--date", "2026-03-02", "--min-salience", "0.5", "-q"]
    code, _, err = run(capsys, "extract", "x", *MODEL, *words)
    assert (code, err) == (0, "")
    with SqliteStore("m.db") as store:
        (kept,) = store.list("ada")
    assert (kept.source, kept.source_id, kept.date, dict(kept.meta)) == ("chat", "m7", "2026-03-02", {})


def test_a_consolidation_policy_can_be_named_or_a_file(capsys, script):
    script(("New facts", decided({})), ("one", found("The user rows")), ("two", found("The user sails")))
    run(capsys, "extract", "one", *MODEL)
    ConsolidationPolicy(name="mine", system="Decide.").save("mine.json")
    for given, name in (("plain", "plain"), ("mine.json", "mine")):
        Path("m2.db").write_bytes(Path("m.db").read_bytes())
        code, _, err = run(capsys, "extract", "two", *MODEL[:2], "--memory", "m2.db", "--user", "ada", "--consolidation", given)
        assert code == 0
        assert f"(consolidation {name} {ConsolidationPolicy.load(given).hash}; 2 model calls" in err


def test_nothing_worth_remembering_is_told_and_makes_a_store_that_can_be_listed(capsys, script):
    script((None, "[]"))
    code, out, err = run(capsys, "extract", "Hello!", *MODEL)
    assert (code, out) == (0, "")
    assert "nothing worth remembering; reply empty" in err
    assert "(ada has 0 memories now" in err
    code, out, err = run(capsys, "memory", "list", "m.db", "--user", "ada")
    assert (code, out, err) == (0, "", "(m.db knows no user 'ada'; it has none)\n")


def test_json_has_all_of_it(capsys, script):
    script(
        (facts("The user left Acme"), decided({"action": "DELETE", "id": 1, "content": "The user works at Orla"},
                                              {"action": "UPDATE", "id": 2, "content": "The user plays cello and viola"})),
        ("one", found("The user works at Acme", "The user plays cello")),
        ("two", found("The user left Acme", "The user plays the viola too", "The user plays cello")[:-1]
         + ', {"content": "The user is tired", "salience": 0.2}]'),
        (facts("The user plays cello"), "no"),
    )  # fmt: skip
    run(capsys, "extract", "one", *MODEL)
    code, out, err = run(capsys, "extract", "two", *MODEL, "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert (told["status"], len(told["candidates"])) == ("ok", 4)
    memory = told["memory"]
    assert (memory["file"], memory["user"], memory["calls"]) == ("m.db", "ada", {"extraction": 1, "consolidation": 2})
    assert (memory["invented"], memory["fallbacks"]) == (0, 1)
    retired, updated, fallback, skipped = memory["outcomes"]
    assert [one["outcome"] for one in memory["outcomes"]] == ["retired", "updated", "added", "skipped"]
    assert [one["candidate"] for one in memory["outcomes"]] == told["candidates"]
    assert retired["memory"]["content"] == "The user works at Orla"
    assert [(one["content"], one["reason"], one["because"]) for one in retired["retired"]] == [
        ("The user works at Acme", "contradicted", "The user left Acme")
    ]
    assert (updated["before"]["content"], updated["memory"]["version"]) == ("The user plays cello", 2)
    assert fallback["note"] == "the decision could not be used: the reply has no decision on this fact"
    assert skipped["note"] == "salience 0.20 is below 0.50"


def test_what_a_model_wrote_cannot_move_a_terminal(capsys, script):
    nasty = "The user \x1b[2J\nADDED    0.99  \u202eevil\x07 \x85\u2028 x"
    script((facts("The user \\u001b"), decided({"action": "UPDATE", "id": 1, "content": f"{nasty} merged"})), ("one", found("The user rows")),
           ("two", found(nasty)))  # fmt: skip
    run(capsys, "extract", "one", *MODEL)
    code, out, err = run(capsys, "extract", "two", *MODEL[:-1], "ada", "--source", "\x1b]0;x\x07")
    assert code == 0
    assert not set(out + err) & set("\x1b\x07\u202e\x85\u2028")
    assert "\\x1b[2J\\nADDED    0.99  \\u202eevil\\x07 \\x85\\u2028 x" in out
    assert all(line.startswith(("UPDATED", "ADDED  ", " ")) for line in out.splitlines())


MISTAKES = [
    (["--memory", "m.db"], "--memory needs --user NAME"),
    (["--user", "ada"], "--user is about a memory store: name its file with --memory FILE"),
    (["--consolidation", "plain"], "--consolidation is about a memory store"),
    (["--source-id", "7"], "--source-id is about a memory store"),
    (["--memory", "m.db", "--user", " "], "--user must be a name"),
    (["--memory", "m.db", "--user", "a\ud800"], "--user must be a name"),
    (["--memory", "m.db", "--user", "ada", "--source-id", ""], "--source-id must not be empty"),
    (["--memory", "m.db", "--user", "ada", "--consolidation", "nope"], "'none' lets distance decide"),
    (["--memory", "m.db", "--user", "ada", "--consolidation", "nope.json"], "nope.json"),
    (["--memory", "m.db", "--user", "ada", "-m", "baseline/rules", "--consolidation", "plain"], "is a baseline and asks no model"),
    (["--memory", "m.db", "--user", "ada", "-m", "baseline/rules", "-p", "default"], "is a baseline and takes no policy"),
    (["--memory", "m.db", "--user", "ada", "-m", "baseline/nope"], "there is no model"),
    (["--memory", ":memory:", "--user", "ada"], "must be a file that stays after the command"),
    (["--memory", "", "--user", "ada"], "must be a file that stays after the command"),
]


@pytest.mark.parametrize(("words", "said"), MISTAKES)
def test_mistakes_are_one_message_and_leave_no_file(capsys, script, words, said):
    script((None, found("x")))
    code, out, err = run(capsys, "extract", "x", "-m", "scripted/s.jsonl", *words)
    assert (code, out) == (2, "")
    assert said in err
    assert not Path("m.db").exists()


def test_a_file_that_is_no_store_is_refused_before_anybody_is_asked_and_left_alone(capsys, script, isolated):
    script()  # asking would fail with another message
    (isolated / "folder").mkdir()
    (isolated / "text.md").write_text("# Notes\n" * 100)
    with sqlite3.connect("other.sqlite") as db:
        db.execute("CREATE TABLE t (a)")
    db.close()
    before = {name: Path(name).read_bytes() for name in ("text.md", "other.sqlite")}
    for name, said in (
        ("folder", "is a folder"), ("text.md", "not a database"), ("other.sqlite", "no memory store"), ("nowhere/m.db", "its folder must exist"),
    ):  # fmt: skip
        code, out, err = run(capsys, "extract", "x", *MODEL[:2], "--memory", name, "--user", "ada")
        assert (code, out) == (2, "")
        assert said in err
        assert "Traceback" not in err
    assert {name: Path(name).read_bytes() for name in before} == before


def test_vectors_of_another_model_are_refused_before_anybody_is_asked(capsys, script):
    script()
    model = EmbeddingModel("openai/text-embedding-3-small", 3)
    with SqliteStore("m.db") as store, store.turn("ada", model) as turn:
        turn.write(NewMemory("The user rows"), [1.0, 0.0, 0.0])
    code, _, err = run(capsys, "extract", "x", *MODEL)
    assert code == 2
    assert "are of openai/text-embedding-3-small with 3 dimensions, which this command does not make" in err
    assert "salience memory export" in err


def test_a_failing_extraction_writes_nothing(capsys, script):
    script((None, {"kind": "auth", "message": "no such \x1b[31mkey"}))
    code, out, err = run(capsys, "extract", "x", *MODEL)
    assert (code, out) == (2, "")
    assert err == "salience: nothing was found or written to m.db: no such \\x1b[31mkey\n"
    assert live() == []


@pytest.mark.parametrize("as_json", [False, True])
def test_where_the_consolidator_fails_nothing_is_written_and_what_was_found_is_shown(capsys, script, as_json):
    script(
        ("New facts", {"kind": "http", "message": "the server is on fire"}),
        ("one", found("The user rows")),
        ("two", found("The user sails", "The user skis", "the user ROWS")),
    )
    run(capsys, "extract", "one", *MODEL)
    code, out, err = run(capsys, "extract", "two", *MODEL, *(["--json"] if as_json else []))
    assert code == 2
    assert err.startswith("salience: nothing was written to m.db; the candidates that were found are printed.")
    assert err.endswith("the server is on fire\n")
    if as_json:
        told = json.loads(out)
        assert told["memory"] == {"file": "m.db", "user": "ada", "error": "the server is on fire"}
        assert len(told["candidates"]) == 3
    else:
        assert out == "0.90  The user sails\n0.90  The user skis\n0.90  the user ROWS\n"
    with SqliteStore("m.db") as store:
        assert [(one.content, one.seen) for one in store.list("ada", retired=True)] == [("The user rows", 1)]


def test_an_interruption_between_the_calls_shows_what_was_found(capsys, script, monkeypatch):
    script(("one", found("The user rows")), ("two", found("The user sails")))
    run(capsys, "extract", "one", *MODEL)
    chat = ScriptedFile.chat

    async def interrupted(self, messages, **options):
        if "New facts" in messages[-1]["content"]:
            raise KeyboardInterrupt
        return await chat(self, messages, **options)

    monkeypatch.setattr(ScriptedFile, "chat", interrupted)
    code, out, err = run(capsys, "extract", "two", *MODEL)
    assert (code, out) == (130, "0.90  The user sails\n")
    assert err.endswith("salience: interrupted\n")
    assert live() == ["The user rows"]


def test_what_is_known_by_nothing_that_is_named_and_what_supersedes_nothing(capsys, script):
    one = {"content": "The user skis", "salience": 0.9, "meta": {"supersedes": ["\x1b[2J", "id7"]}}
    script(
        (facts("The user sails"), decided({"action": "NONE"}, {})),
        ("one", found("The user rows")),
        ("two", json.dumps([json.loads(found("The user sails"))[0], one])),
    )
    run(capsys, "extract", "one", *MODEL)
    code, out, _ = run(capsys, "extract", "two", *MODEL)
    assert code == 0
    assert masked(out, {}) == (
        "KNOWN    0.90  -         The user sails\n"
        "                         known to the model, which does not say by what\n"
        "ADDED    0.90  id000001  The user skis\n"
        "                         named what is no memory: \\x1b[2J\n"
        "                         named what is no memory: id7\n"
    )
    told = json.loads(run(capsys, "extract", "two", *MODEL[:-1], "eve", "--json")[1])["memory"]["outcomes"]
    assert told[1]["refused"] == ["\x1b[2J", "id7"]


def test_what_a_candidate_says_that_it_supersedes_is_retired(capsys, script, isolated):
    script(("one", found("The user rows")))
    run(capsys, "extract", "one", *MODEL)
    with SqliteStore("m.db") as store:
        (old,) = store.list("ada")
    script(("two", json.dumps([{"content": "The user sails", "salience": 0.9, "meta": {"supersedes": old.id}}])))
    code, out, err = run(capsys, "extract", "two", *MODEL)
    assert code == 0
    assert re.fullmatch(rf"ADDED    0.90  \w{{8}}  The user sails\n +retires {old.id[:8]}, superseded: The user rows\n", out)
    assert "; 1 model call)" in err

"""`salience eval` on other people's data and on turns that are split, through the command."""

import json
from pathlib import Path

import pytest

from evals.cli.main import main
from evals.runlog import read_manifest, read_records
from salience import Policy

BASE = ["eval", "--matcher", "lexical", "-q"]
SPEECH = "I am one who plays the oboe. " + "The weather has been grey all week. " * 8 + "And I am one who lives in Tartu."


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def locomo(isolated):
    """One short conversation in LoCoMo's layout."""
    turns = [
        {"speaker": "Ola", "dia_id": "D1:1", "text": "Hi! I am one who plays the oboe."},
        {"speaker": "Pim", "dia_id": "D1:2", "text": "Hello Ola, nice to meet you."},
        {"speaker": "Pim", "dia_id": "D1:3", "text": "I am one who lives in Tartu."},
    ]
    sample = {
        "sample_id": "conv-1",
        "conversation": {"speaker_a": "Ola", "speaker_b": "Pim", "session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": turns},
        "observation": {"session_1_observation": {"Ola": [["Ola plays the oboe", "D1:1"]], "Pim": [["Pim lives in Tartu", "D1:3"]]}},
    }
    (isolated / "l.json").write_text(json.dumps([sample]))
    return "locomo:l.json"


def test_locomo_reports_the_two_figures_that_silver_labels_carry(capsys, locomo, server):
    """The server, which here looks at the last message only, finds both facts and returns nothing for the third turn."""
    good = type(server).answer
    server.answer = lambda body: good({"messages": [{"content": body["messages"][-1]["content"].rsplit("\n\n", 1)[-1]}]})
    code, out, _ = run(capsys, *BASE, "--data", locomo, "-m", "mock", "--base-url", server.url, "-m", "baseline/verbatim")
    assert code == 0
    assert "Silver labels: " in out
    assert "[1] recall of silver memories 1.00" in out
    assert "memories returned for a turn without one .00" in out
    assert "(1 turns)" in out
    assert "! Read: 3 cases in 1 conversations, 2 memories, 1 negative cases." in out
    assert server.bodies[2]["messages"][-1]["content"].startswith("Date: 2023-05-08\n")
    folder = next(Path(".salience/runs").iterdir())
    assert json.loads((folder / "report.json").read_text())["silver"]
    code, again, _ = run(capsys, "score", folder, "--matcher", "lexical")
    assert code == 0
    assert again.split("\n\n")[0] == out.split("\n\n")[0]


def test_any_json_lines_by_column_map_and_score_remembers_the_map(capsys, isolated, server):
    rows = [{"said": "I am one who plays the oboe", "facts": ["The user plays the oboe"]}, {"said": "Good morning!", "facts": []}]
    (isolated / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = [*BASE, "--data", "x.jsonl", "--columns", "text=said", "memories=facts", "language=:en", "-m", "mock", "--base-url", server.url]
    code, out, err = run(capsys, *words, "--json")
    assert code == 0, err
    report = json.loads(out)
    assert report["cells"][0]["figures"]["f1"]["value"] == 1
    assert "salience was not in the data" in report["silver"]
    folder = next(Path(".salience/runs").iterdir())
    assert read_manifest(folder)["data"]["columns"] == ["text=said", "memories=facts", "language=:en"]
    code, out, _ = run(capsys, "score", folder, "--matcher", "lexical", "--json")
    assert json.loads(out)["cells"][0]["figures"] == report["cells"][0]["figures"]
    code, _, err = run(
        capsys, *BASE, "--data", "x.jsonl", "--columns", "text=spoken", "language=:en", "-m", "mock", "--base-url", server.url
    )
    assert code == 2
    assert "spoken" in err
    assert "Traceback" not in err


def test_a_local_hugging_face_dataset(capsys, isolated, server):
    (isolated / "hub").mkdir()
    rows = [{"said": "I am one who plays the oboe", "fact": "The user plays the oboe"}]
    (isolated / "hub" / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["--data", "hf:./hub", "--columns", "text=said", "memories=fact", "language=:en", "-m", "mock", "--base-url", server.url]
    code, out, err = run(capsys, *BASE, *words, "--json")
    assert code == 0, err
    assert json.loads(out)["cells"][0]["figures"]["recall"]["value"] == 1


@pytest.fixture
def long_turn(isolated, labelled):
    case = labelled(0) | {"messages": [{"role": "user", "content": SPEECH}]}
    case["memories"] = [
        {"id": f"m{i}", "content": f"The user {fact}", "salience": 0.7, "evidence": [{"message": 0, "text": fact}]}
        for i, fact in enumerate(("plays the oboe", "lives in Tartu"))
    ]
    (isolated / "long.jsonl").write_text(json.dumps(case) + "\n")
    return "long.jsonl"


def test_a_long_turn_is_split_asked_by_part_and_counted_once(capsys, long_turn, server):
    code, out, err = run(capsys, "policy", "save", "plain", "--name", "split", "--max-turn-chars", "200", "-o", "split.json")
    assert code == 0, err
    assert Policy.load("split.json").max_turn_chars == 200
    code, out, err = run(capsys, *BASE, "--data", long_turn, "-m", "mock", "--base-url", server.url, "-p", "split.json", "--json")
    assert code == 0, err
    parts = len(server.bodies)
    assert parts >= 2
    assert all(len(body["messages"][-1]["content"]) <= 200 + len("Date: 2026-03-02\nTurn:\n") for body in server.bodies)
    cell = json.loads(out)["cells"][0]
    assert (cell["counts"]["cases"], cell["counts"]["outcome_hit"], cell["counts"]["predictions"]) == (1, 2, 2)
    assert cell["input_tokens"] == 20 * parts
    folder = next(Path(".salience/runs").iterdir())
    assert sorted(record.part for record in read_records(folder)) == list(range(parts))
    _, out, _ = run(capsys, *BASE, "--data", long_turn, "-m", "mock", "--base-url", server.url, "-p", "split.json", "--dry-run")
    assert f"{parts} model calls at the most" in out


def test_a_part_that_failed_fails_the_case_and_only_it_is_asked_again(capsys, long_turn, server):
    run(capsys, "policy", "save", "plain", "--name", "split", "--max-turn-chars", "200", "-o", "split.json")
    good = type(server).answer
    server.answer = lambda body: {"choices": []} if "Tartu" in body["messages"][-1]["content"] else good(body)
    words = [*BASE, "--data", long_turn, "-m", "mock", "--base-url", server.url, "-p", "split.json", "--json", "-o", "r"]
    code, out, _ = run(capsys, *words)
    assert code == 3
    assert len(json.loads(out)["cells"][0]["failed"]) == 1
    server.answer, sent = good, len(server.bodies)
    code, out, _ = run(capsys, *words, "--retry-errors")
    assert code == 0
    assert len(server.bodies) == sent + 1
    assert json.loads(out)["cells"][0]["counts"]["outcome_hit"] == 2


def test_extract_splits_a_long_text(capsys, server):
    code, out, err = run(capsys, "extract", SPEECH, "-m", "mock", "-p", "plain", "--base-url", server.url, "--max-turn-chars", "200")
    assert code == 0, err
    assert out.splitlines() == ["0.80  The user plays the oboe", "0.80  The user lives in Tartu"]
    assert len(server.bodies) >= 2


def test_a_prompt_beyond_the_context_says_so_and_names_the_way_out(capsys, long_turn, smollm2_path, monkeypatch):
    text = json.loads(Path(long_turn).read_text())
    text["messages"][0]["content"] = SPEECH * 80
    Path(long_turn).write_text(json.dumps(text) + "\n")
    monkeypatch.setenv("SALIENCE_CACHE", str(smollm2_path.parent.parent))
    code, out, _ = run(capsys, *BASE, "--data", long_turn, "-m", "embedded/smollm2", "-p", "plain", "-o", "r", "--json")
    assert code == 0
    assert json.loads(out)["cells"][0]["counts"]["status_too_long"] == 1
    record = next(iter(read_records(Path("r"))))
    assert record.error.kind == "too_long"
    assert "max_turn_chars" in record.error.message
    _, out, _ = run(capsys, "score", "r", "--matcher", "lexical")
    assert "max_turn_chars" in out

"""`salience calibrate` end to end: a scripted model whose salience is known, a policy that mends it, and what is refused."""

import json
from pathlib import Path

import pytest

from evals.cli.main import main
from evals.workbench import split_name
from salience import Policy


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def finished(tmp_path, monkeypatch, write_cases, capsys):
    """A run over 60 cases of a model that gives the right fact .9 and adds a false one of .8; for negatives it invents one of .8."""
    monkeypatch.chdir(tmp_path)
    write_cases(tmp_path / "mine.jsonl", 60)
    lines = []
    for line in (tmp_path / "mine.jsonl").read_text().splitlines():
        case = json.loads(line)
        found = [{"content": memory["content"], "salience": 0.9} for memory in case["memories"]]
        found.append({"content": f"Nobody in {case['id']} has ever seen the sea", "salience": 0.8})
        lines.append(json.dumps({"match": case["messages"][0]["content"], "reply": json.dumps(found)}))
    (tmp_path / "script.jsonl").write_text("\n".join(lines))
    words = ["-m", "scripted/script.jsonl", "-m", "baseline/rules", "--data", "mine.jsonl", "--matcher", "lexical", "-q", "-o", "run"]
    assert run(capsys, "eval", *words)[0] == 0
    return Path("run")


def test_a_run_is_measured_and_mended(finished, capsys):
    """40 hits of .9 and 60 false ones of .8: behind the map .8 is near 0 and .9 near 1, and a threshold between them makes F1 1."""
    code, out, _ = run(capsys, "calibrate", finished, "--matcher", "lexical", "--json")
    (row, rules) = json.loads(out)
    assert code == 0
    assert rules["row"] == "baseline/rules"
    assert (row["raw"]["items"], row["raw"]["base_rate"], row["raw"]["auroc"]) == (100, 0.4, 1.0)
    assert row["raw"]["skill"] < 0 < row["mapped"]["skill"]
    assert row["threshold"]["score"] == row["threshold"]["crossed"] == 1.0
    assert 0.8 < row["threshold"]["raw"] <= 0.9
    points = dict(map(tuple, row["map"]["points"]))
    assert row["map"]["kind"] in ("platt", "beta", "isotonic")
    assert points
    assert row["reliability"] == {"salience": [0.8, 0.9], "kept": [0.0, 1.0], "count": [60.0, 40.0]}
    assert row["risk"] == [[0.4, 0.0], [1.0, 0.6]]
    assert row["mapped"]["auroc"] is None
    code, out, _ = run(capsys, "calibrate", finished, "--matcher", "lexical")
    for word in ("Keep-worthiness: 100 candidates of 30 conversations", "AUROC", "Operating threshold", "Grade: 40", "Map: "):
        assert word in out


def test_the_written_policy_scores_what_was_promised(finished, capsys):
    cell = f"{finished}:scripted/script.jsonl@default"
    code, _, err = run(capsys, "calibrate", cell, "--matcher", "lexical", "-o", "mended.json")
    assert code == 0
    assert "default-calibrated" in err
    policy = Policy.load("mended.json")
    assert policy.calibration is not None
    assert policy.calibration(0.8) < policy.threshold <= policy.calibration(0.9)
    assert policy.provenance["calibrated_salience_is"].startswith("probability")
    words = ["-m", "scripted/script.jsonl", "-p", "mended.json", "--data", "mine.jsonl", "--matcher", "lexical", "-q", "--json"]
    code, out, _ = run(capsys, "eval", *words)
    assert code == 0
    assert json.loads(out)["cells"][0]["figures"]["f1"]["value"] == 1.0
    again = run(capsys, "eval", *words[:-1], "-o", "again")[1]
    assert "learned on these cases" in again
    code, _, err = run(capsys, "calibrate", "again", "--matcher", "lexical")
    assert code == 2
    assert "has a calibration map already" in err


def test_what_is_refused(finished, capsys, write_cases):
    code, _, err = run(capsys, "calibrate", finished, "--matcher", "lexical", "-o", "baseline.json", "--name", "x")
    assert code == 0  # one row has a policy, the other is a baseline
    for words, told in (
        ((finished, "-o", "baseline.json"), "exists already"),
        ((f"{finished}:nobody@default",), "has no row 'nobody@default'; it has scripted/script.jsonl@default, baseline/rules"),
        ((f"{finished}:baseline/rules", "-o", "b.json"), "baseline/rules: a baseline has no policy to calibrate"),
        ((finished, "-o", "c.json", "--name", "default"), "the name of a policy that ships"),
        (("nothing",), "nothing"),
    ):
        code, _, err = run(capsys, "calibrate", *words, "--matcher", "lexical")
        assert code == 2
        assert told in err
    write_cases(Path("test.jsonl"), 6, split="test")
    words = ["-m", "scripted/script.jsonl", "--data", "test.jsonl", "--split", "test", "--matcher", "lexical", "-q", "-o", "tested"]
    run(capsys, "eval", *words)
    code, _, err = run(capsys, "calibrate", "tested", "--matcher", "lexical", "-o", "d.json")
    assert code == 2
    assert "split test" in err
    assert not Path("d.json").exists()


def test_too_few_candidates_are_said(tmp_path, monkeypatch, write_cases, capsys):
    monkeypatch.chdir(tmp_path)
    write_cases(tmp_path / "few.jsonl", 3)
    run(capsys, "eval", "-m", "baseline/silent", "-m", "baseline/rules", "--data", "few.jsonl", "--matcher", "lexical", "-q", "-o", "few")
    code, out, _ = run(capsys, "calibrate", "few", "--matcher", "lexical")
    assert code == 0
    assert "No map: A map cannot be learned from 0 candidates" in out


def test_a_row_is_named_behind_the_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("run", "a:b"):
        Path(name).mkdir()
    assert split_name("run") == (Path("run"), None)
    assert split_name("a:b") == (Path("a:b"), None)
    assert split_name("run:gguf:x.gguf@p") == (Path("run"), "gguf:x.gguf@p")
    assert split_name("a:b:model@p") == (Path("a:b"), "model@p")
    assert split_name("absent:model") == (Path("absent:model"), None)

"""`salience eval --task consolidation|scenario`, and the verbs that read such runs, end to end."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evals.cli.main import main
from evals.runlog import read_records

CONSOLIDATION = ["eval", "--task", "consolidation", "-q", "--matcher", "lexical", "-o", "run"]
SCENARIO = ["eval", "--task", "scenario", "-q", "--matcher", "lexical", "-o", "run"]


def test_a_table_of_rules_and_what_they_are_measured_against(isolated, capsys):
    models = ["-m", "baseline/always-add", "-m", "baseline/nearest-update"]
    assert main([*CONSOLIDATION, *models]) == 0
    out = capsys.readouterr().out
    assert re.search(r"macro F1 +accuracy +target +content +protected +lost +stale +fallback", out)
    assert "The best constant answer, always UPDATE, has a macro F1 of .14 on these cases." in out
    assert "3 cases have nothing in the store yet" in out
    assert re.search(r"\[1\] +baseline/always-add +- +\.10 +\.25", out)


def test_brief_is_a_line_a_row(isolated, capsys):
    assert main([*SCENARIO, "-n", "3", "-m", "baseline/rules+distance", "-m", "baseline/silent+always-add", "--brief"]) == 0
    head, titles, _, *rows = capsys.readouterr().out.strip().splitlines()
    assert head.startswith("scenario: scenarios 0.1.1 (")
    assert "split dev, a part of it: 3 cases" in head
    assert titles.split()[:3] == ["balanced", "95%", "interval"]
    assert [row.split()[0] for row in rows] == ["baseline/rules+distance", "baseline/silent+always-add"]


def test_json_and_the_report_file_are_the_same(isolated, capsys):
    assert main([*SCENARIO, "-n", "2", "-m", "baseline/verbatim+always-add", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == json.loads((isolated / "run" / "report.json").read_text())
    (cell,) = told["cells"]
    assert (told["task"], cell["salience"], cell["failed"]) == ("scenario", None, [])
    assert cell["figures"]["balanced"]["value"] > 0
    assert cell["counts"]["sessions"] > 10


@pytest.mark.parametrize("task", ["consolidation", "scenario"])
@pytest.mark.parametrize("ending", ["html", "md", "xml", "json", "csv", "parquet"])
def test_every_format_of_a_report_is_written(isolated, capsys, task, ending):
    model = {"consolidation": "baseline/nearest-update", "scenario": "baseline/rules+distance"}[task]
    assert main(["eval", "--task", task, "-q", "--matcher", "lexical", "-o", "run", "-n", "3", "-m", model]) == 0
    assert main(["report", "run", "--matcher", "lexical", "-o", f"told.{ending}"]) == 0
    content = (isolated / f"told.{ending}").read_bytes()
    assert model.encode() in content
    assert len(content) > 500
    if ending == "html":
        assert (b"labelled (rows) by decided" in content) == (task == "consolidation")
        assert b"reliability-chart" not in content


def test_scored_again_it_says_the_same_and_shows_a_case(isolated, capsys):
    assert main([*CONSOLIDATION, "-m", "baseline/always-delete", "--case", "cons-d-01-1"]) == 0
    first = (isolated / "run" / "report.json").read_text()
    assert main(["score", "run", "--matcher", "lexical", "--case", "cons-d-01-1"]) == 0
    out = capsys.readouterr().out
    assert (isolated / "run" / "report.json").read_text() == first
    assert "gold:\n    1.0 UPDATE q3: The user drives containers from Mombasa to Kigali" in out
    assert "-> violation (touches q8, which is protected)" in out


def test_compare_gate_and_baseline_read_such_runs(isolated, capsys):
    models = ["-m", "baseline/always-add", "-m", "baseline/always-delete"]
    assert main([*CONSOLIDATION, *models]) == 0
    how = ["--matcher", "lexical"]
    assert main(["compare", "run:baseline/always-add", "run:baseline/always-delete", "--by", "tag", *how]) == 0
    out = capsys.readouterr().out
    assert re.search(r"protected touched +\.00 +\.76", out)
    assert "predictions at or above" not in out
    assert main(["baseline", "run:baseline/always-add", "-o", "base.json", *how]) == 0
    assert main(["gate", "run:baseline/always-delete", "--base", "base.json", *how]) == 1
    out = capsys.readouterr().out
    assert "the share of cases with a protected memory touched changed by" in out
    assert "they rose" in out
    assert main(["gate", "run:baseline/always-add", "--base", "base.json", "--require", "facts_lost<=0", *how]) == 0
    assert main(["gate", "run:baseline/always-add", "--base", "base.json", "--figure", "f1", *how]) == 2
    assert "can be held against macro_f1, accuracy" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["eval", "--task", "consolidation", "--data", "scenarios"], "salience eval --task scenario evaluates it"),
        (["eval", "--task", "scenario", "--data", "extraction"], "salience eval --task extraction evaluates it"),
        (["eval", "--data", "consolidation"], "salience eval --task consolidation"),
        (["eval", "--task", "scenario", "--rubric", "user-only", "-m", "baseline/rules+distance"], "--rubric"),
        (["eval", "--task", "scenario", "--columns", "text=a", "-m", "baseline/rules+distance"], "--columns is for extraction"),
        (["eval", "--task", "scenario", "--brief", "--json", "-m", "baseline/rules+distance"], "--brief is a line a row"),
        (["eval", "--task", "consolidation", "-m", "baseline/rules"], "baseline/always-add"),
        (["eval", "--task", "scenario", "-m", "baseline/rules"], "EXTRACTOR+RULE"),
        (["eval", "--task", "consolidation", "-p", "mine", "-m", "baseline/always-add"], "no consolidation policy named 'mine'"),
    ],
)
def test_a_users_mistake_is_an_error_that_says_what_to_do(isolated, capsys, arguments, says):
    assert main(arguments) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("verb", [["calibrate", "run"], ["data", "review", "run", "-o", "new.jsonl"]])
def test_what_needs_extraction_says_so(isolated, capsys, verb):
    assert main([*CONSOLIDATION, "-n", "3", "-m", "baseline/always-add"]) == 0
    assert main(verb) == 2
    assert "is a run of the task consolidation" in capsys.readouterr().err


def test_dry_run_tells_sessions_and_calls(isolated, capsys):
    assert main(["eval", "--task", "scenario", "--dry-run", "-m", "openai/x", "--base-url", "http://127.0.0.1:9/v1"]) == 0
    assert re.search(r"default\+default \([0-9a-f]{12}\)", out := capsys.readouterr().out)
    assert "68 sessions: a model call for the facts of each" in out
    assert main(["eval", "--task", "consolidation", "--dry-run", "-m", "openai/x", "--base-url", "http://127.0.0.1:9/v1"]) == 0
    assert "62 model calls at the most" in capsys.readouterr().out


SAID = ["is allergic to walnuts", "works at the harbour", "plays the oboe", "lives in Tartu", "studies Basque", "has a parrot named Kiko"]


def people(path, count):
    """A file of people who say one thing a session; the server finds it."""
    rows = []
    for number in range(count):
        sessions = [
            {"date": f"2026-0{month}-0{number + 1}", "messages": [{"role": "user", "content": f"Number {number}: know that I am one who {fact}."}]}
            for month, fact in enumerate(SAID, 1)
        ]  # fmt: skip
        final = [{"id": f"m{i}", "content": f"The user {fact}", "sessions": [i]} for i, fact in enumerate(SAID)]
        rows.append({"id": f"p-{number}", "split": "dev", "language": "en", "sessions": sessions, "final": final})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_a_killed_run_goes_on_within_its_scenarios(isolated, capsys, slow_server):
    """kill -9 of a real process; a call that was answered is not made again but what was in flight, and the result is that of a whole run."""
    people(isolated / "people.jsonl", 4)
    base = ["eval", "--task", "scenario", "--data", "people.jsonl", "--matcher", "lexical", "-q", "--no-cache", "--json", "-m", "mock"]
    arguments = [*base, "--base-url", slow_server.url, "-p", "default+always-add", "-j", "2"]
    process = subprocess.Popen([sys.executable, "-m", "evals.cli.main", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(600):
        time.sleep(0.05)
        folders = list(Path(".salience/runs").glob("*"))
        if folders and sum(1 for _ in read_records(folders[0])) >= 5:
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    (folder,) = Path(".salience/runs").iterdir()
    answered = sum(1 for _ in read_records(folder))
    assert 5 <= answered < 24
    asked = len(slow_server.bodies)
    assert main(arguments) == 0
    resumed = json.loads(capsys.readouterr().out)["cells"][0]
    assert len(slow_server.bodies) - asked == 24 - answered
    assert list(Path(".salience/runs").iterdir()) == [folder]
    records = [(one.case, one.part) for one in read_records(folder)]
    assert len(records) == len(set(records)) == 24
    assert main([*arguments, "-o", "whole"]) == 0
    whole = json.loads(capsys.readouterr().out)["cells"][0]
    for name in ("figures", "counts", "signature", "input_tokens"):
        assert resumed[name] == whole[name]
    assert resumed["figures"]["recall"]["value"] == 1

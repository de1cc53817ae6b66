"""`salience report` end to end: every ending, what stdout and stderr hold, exit codes, the step summary, and what is refused."""

import csv
import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pandas as pd
import pytest

from evals.cli.main import main


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def finished(tmp_path, monkeypatch, write_cases, capsys):
    """A run over 12 cases, 8 with a memory: a model that finds each and adds a false one, and a baseline that says nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    write_cases(tmp_path / "mine.jsonl", 12)
    lines = []
    for line in (tmp_path / "mine.jsonl").read_text().splitlines():
        case = json.loads(line)
        found = [{"content": memory["content"], "salience": 0.9} for memory in case["memories"]]
        found += [{"content": "=Nobody has ever seen the sea", "salience": 0.8}] * bool(found)
        lines.append(json.dumps({"match": case["messages"][0]["content"], "reply": json.dumps(found)}))
    (tmp_path / "script.jsonl").write_text("\n".join(lines))
    words = ["-m", "scripted/script.jsonl", "-m", "baseline/silent", "--data", "mine.jsonl", "--matcher", "lexical", "-q", "-o", "run"]
    assert run(capsys, "eval", *words)[0] == 0
    return Path("run")


def report(capsys, *more):
    return run(capsys, "report", "run", "--matcher", "lexical", *more)


def test_without_a_file_it_is_the_text_of_score_with_all_slices(finished, capsys):
    code, out, err = report(capsys)
    assert (code, err) == (0, "")
    words = [word for by in ("tag", "language", "length") for word in ("--by", by)]
    assert out == run(capsys, "score", "run", "--matcher", "lexical", *words)[1]
    assert "by language" in out
    assert "by length" in out
    assert "by length" not in report(capsys, "--by", "language")[1]


def test_every_ending_gives_its_format(finished, capsys):
    before = sorted(entry.name for entry in finished.iterdir())
    for name in ("r.md", "r.xml", "r.json", "r.csv", "r.parquet", "R.CSV"):
        assert report(capsys, "-o", name) == (0, "", f"wrote {name}\n")
    assert Path("r.md").read_text(encoding="utf-8").startswith("### Salience report of `run`\n")
    suites = ET.parse("r.xml").getroot()
    assert [suite.get("name") for suite in suites] == ["scripted/script.jsonl@default", "baseline/silent"]
    # The model: 8 cases with a false memory fail, 4 with nothing pass. Silence fails where a memory is due.
    assert [(suite.get("tests"), suite.get("failures"), suite.get("errors")) for suite in suites] == [("12", "8", "0"), ("12", "8", "0")]
    content = json.loads(Path("r.json").read_text(encoding="utf-8"))
    assert [cell["figures"]["precision"]["value"] for cell in content["cells"]] == [0.5, None]
    assert {one["by"] for one in content["cells"][0]["slices"]} == {"language", "length"}  # these cases have no tags
    assert json.loads(report(capsys, "--json")[1]) == content
    with Path("r.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["model"], row["precision"], row["recall"]) for row in rows] == [
        ("scripted/script.jsonl", "0.5", "1.0"), ("baseline/silent", "", "0.0"),
    ]  # fmt: skip
    assert Path("R.CSV").read_bytes() == Path("r.csv").read_bytes()
    assert pd.read_parquet("r.parquet")["count_missed"].tolist() == [0, 8]
    assert sorted(entry.name for entry in finished.iterdir()) == before  # a report leaves the run as it is


def test_the_table_is_chosen(finished, capsys):
    report(capsys, "-o", "m.csv", "--table", "matches")
    with Path("m.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8 * 2 + 8
    assert [row["content"] for row in rows if row["outcome"] == "unmatched"] == ["'=Nobody has ever seen the sea"] * 8
    report(capsys, "-o", "c.parquet", "--table", "cases")
    cases = pd.read_parquet("c.parquet")
    assert len(cases) == 24
    assert cases.groupby("model")["count_outcome_hit"].sum().to_dict() == {"baseline/silent": 0, "scripted/script.jsonl": 8}


def test_a_page_is_written(finished, capsys):
    pytest.importorskip("evals.report.html", reason="the page is not there yet")
    assert report(capsys, "-o", "r.html") == (0, "", "wrote r.html\n")
    page = Path("r.html").read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>")
    assert "scripted/script.jsonl" in page


def test_a_report_is_replaced_whole(finished, capsys):
    Path("r.md").write_text("old")
    assert report(capsys, "-o", "r.md")[0] == 0
    assert "old" not in Path("r.md").read_text(encoding="utf-8")
    assert not [entry for entry in Path().iterdir() if entry.name.startswith(".r.md")]


def test_the_step_summary_gets_the_markdown_too(finished, capsys, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    Path("summary.md").write_text("# Before\n")
    report(capsys, "-o", "r.md")
    assert Path("summary.md").read_text(encoding="utf-8") == "# Before\n\n" + Path("r.md").read_text(encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "no/summary.md")
    code, out, err = report(capsys)
    assert code == 0
    assert out.startswith(" ")
    assert err == "the summary of this step, no/summary.md, cannot be written or would be too long; it is left as it is\n"


def test_an_incomplete_run_is_written_and_ends_with_3(finished, capsys):
    records = (finished / "replies.jsonl").read_text().splitlines(keepends=True)
    (finished / "replies.jsonl").write_text("".join(records[:-1]))
    code, _, err = report(capsys, "-o", "r.xml")
    assert (code, err) == (3, "wrote r.xml\n")
    root = ET.parse("r.xml").getroot()
    assert (root.get("tests"), root.get("errors")) == ("24", "1")
    assert next(root.iter("error")).attrib == {"type": "missing", "message": "there is no reply yet"}


def test_what_is_refused_is_refused_before_anything_is_scored(finished, capsys, monkeypatch):
    monkeypatch.setattr("evals.cli.report.score_run", lambda *_: pytest.fail("scored"))
    Path("folder.md").mkdir()
    Path("prices.csv").write_text("")
    for words, told in (
        (("-o", "r.pdf"), "r.pdf: the ending '.pdf' names no format; it must be one of .html, .md, .xml, .json, .csv, .parquet"),
        (("-o", "r"), "r: the name has no ending, which would name the format; it must be one of"),
        (("-o", "no/r.md"), "no/r.md: there is no folder no; make it, or choose another name with -o"),
        (("-o", "folder.md"), "folder.md is a folder; give the name of a file with -o"),
        (
            ("-o", "r.md", "--table", "cases"),
            "--table chooses what a table holds; it goes with -o FILE where FILE ends in .csv or .parquet",
        ),
        (("--table", "cases"), "--table chooses what a table holds"),
        (("-o", "run/manifest.json"), "run/manifest.json is read for this report, so it is not overwritten"),
        (("-o", "prices.csv", "--prices", "prices.csv"), "prices.csv is read for this report, so it is not overwritten"),
        (("-o", "prices.csv", "--data", "locomo:prices.csv"), "prices.csv is read for this report, so it is not overwritten"),
    ):
        code, out, err = report(capsys, *words)
        assert (code, out) == (2, "")
        assert told in err
    assert json.loads(Path("run/manifest.json").read_text())["cells"]
    code, _, err = run(capsys, "report", "nothing", "-o", "r.md")
    assert code == 2
    assert "there is no run folder nothing" in err

"""`salience compare`, `gate` and `baseline` through the command: real runs of scripted models, exit codes, files, pins, hostile text."""

import json
import re
from dataclasses import replace
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from evals.baseline import read_baseline, write_baseline
from evals.cli.compare import _check_complete, _shipped
from evals.cli.main import main
from evals.errors import IncompleteError
from evals.signature import PolicyId
from salience import Policy

EVIL = "</td><script>alert(1)</script> | @team `x` \x1b[2J https://evil.example"


@pytest.fixture
def runs(tmp_path, monkeypatch, write_cases):
    """A run with two rows: one finds every fact, one finds those of the first `good` cases and says something evil elsewhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    write_cases(tmp_path / "mine.jsonl", 90)
    cases = [json.loads(line) for line in (tmp_path / "mine.jsonl").read_text().splitlines()]

    def script(name, good):
        lines = []
        for number, case in reversed(list(enumerate(cases))):  # "Case 1" stands in "Case 10" too: the longer first
            content = case["memories"][0]["content"] if case["memories"] and number < good else EVIL
            said = [{"content": content, "salience": 0.9}] if case["memories"] else []
            lines.append({"match": case["messages"][0]["content"], "reply": json.dumps(said)})
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")

    script("full.jsonl", 90)
    script("half.jsonl", 45)
    words = [
        "eval",
        "-m",
        "scripted/full.jsonl",
        "-m",
        "scripted/half.jsonl",
        "--data",
        "mine.jsonl",
        "--matcher",
        "lexical",
        "-q",
        "-o",
        "run",
    ]
    assert main(words) == 0
    return tmp_path


FULL, HALF = "run:scripted/full.jsonl@default", "run:scripted/half.jsonl@default"
LEXICAL = ["--matcher", "lexical"]


def test_compare_tells_what_was_lost_and_why(runs, capsys):
    capsys.readouterr()
    assert main(["compare", FULL, HALF, *LEXICAL, "--by", "language", "--show", "2", "-o", "out.md"]) == 0
    text = capsys.readouterr().out
    assert "cases: 0 better, 30 worse, 60 alike" in text
    assert "lost: The user" in text
    assert "changed: 30 cases\nlosses: 30, 2 shown" in text
    assert "\x1b" not in text
    assert "worse" in next(line for line in text.splitlines() if line.startswith("F1 "))
    markdown = (runs / "out.md").read_text(encoding="utf-8")
    assert "\x1b" not in markdown
    import mistune

    page = mistune.create_markdown(escape=False, plugins=["table", "url"])(markdown)
    assert "&lt;script&gt;" in page
    outside = re.sub(r"<code>.*?</code>", "", page, flags=re.DOTALL)
    assert not re.search(r"<script|@team|<a ", outside)


def test_compare_as_json(runs, capsys):
    capsys.readouterr()
    assert main(["compare", FULL, HALF, *LEXICAL, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["cases"], found["conversations"], found["losses"]) == (90, 45, 30)
    # 60 facts: all found; then 30 found, 30 false, 30 missed
    assert (found["figures"]["f1"]["base"], found["figures"]["f1"]["new"]) == (1.0, 0.5)


def test_a_run_with_several_rows_must_say_which(runs, capsys):
    assert main(["compare", "run", HALF, *LEXICAL]) == 2
    assert "say which with run:model@policy (rows: scripted/full.jsonl@default, scripted/half.jsonl@default)" in capsys.readouterr().err
    assert main(["compare", "run:nobody@default", HALF, *LEXICAL]) == 2
    assert "has no row 'nobody@default'" in capsys.readouterr().err


def test_other_matchers_refuse(runs, capsys):
    assert main(["baseline", FULL, *LEXICAL, "-o", "base.json"]) == 0
    assert main(["gate", HALF, "--base", "base.json", "--matcher", "embedding"]) == 2
    assert "differ in matcher: lexical" in capsys.readouterr().err


@pytest.mark.parametrize(("new", "code", "word"), [(FULL, 0, "PASS"), (HALF, 1, "FAIL")])
def test_the_gate_says_what_its_exit_code_says(runs, capsys, new, code, word):
    assert main(["baseline", FULL, *LEXICAL, "-o", "base.json"]) == 0
    capsys.readouterr()
    assert main(["gate", new, "--base", "base.json", *LEXICAL, "--margin", ".1", "-o", "gate.xml"]) == code
    text = capsys.readouterr().out
    assert text.splitlines()[0].startswith("The base's 45 conversations resolve a difference in f1 to about +-")
    assert text.splitlines()[-1].startswith(f"{word}: f1 changed by")
    suite = ElementTree.parse(runs / "gate.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", str(code), "0")
    assert len(suite.findall("testcase/failure")) == code


def test_files_of_a_gate_hold_what_the_data_can_resolve(runs, capsys):
    for name in ("gate.json", "gate.md"):
        assert main(["gate", FULL, "--base", FULL, *LEXICAL, "-o", name]) == 0
    resolved = json.loads((runs / "gate.json").read_text())["gate"]["resolution"]
    assert (resolved["conversations"], resolved["half_width"] > 0) == (45, True)
    assert "\nThe base's 45 conversations resolve a difference in f1 to about" in (runs / "gate.md").read_text()
    capsys.readouterr()


def test_another_version_of_the_workbench_is_noted(runs, capsys):
    assert main(["baseline", FULL, *LEXICAL, "-o", "base.json"]) == 0
    one = read_baseline(runs / "base.json")
    capsys.readouterr()
    assert main(["gate", FULL, "--base", "base.json", *LEXICAL]) == 0
    assert "of the workbench" not in capsys.readouterr().err
    write_baseline(replace(one, signature=replace(one.signature, version="0.0.1")), runs / "base.json")
    assert main(["gate", FULL, "--base", "base.json", *LEXICAL]) == 0
    assert "base was scored by version 0.0.1 of the workbench" in capsys.readouterr().err


def test_a_policy_ships_by_its_content():
    shipped = Policy.load(Policy.names()[0]).hash
    assert _shipped(PolicyId("mine", shipped))
    assert not _shipped(PolicyId(Policy.names()[0], "0" * 12))
    assert not _shipped(None)


@pytest.mark.parametrize(
    ("failed", "missing", "told"),
    [
        (0, 2, "2 calls are missing; .*the same command again asks for what is missing\\)"),
        (2, 0, "2 calls failed; .*the same command with --retry-errors asks again"),
        (1, 1, "1 calls are missing and 1 calls failed; .*asks for what is missing, with --retry-errors it asks for failed ones again"),
    ],
)
def test_an_incomplete_run_is_told_how_to_go_on(failed, missing, told):
    cell = SimpleNamespace(error_rate=0.5, failed=(None,) * failed, missing=(None,) * missing)
    with pytest.raises(IncompleteError, match=told):
        _check_complete(SimpleNamespace(cell=cell, side=SimpleNamespace(label="m@p")))


def test_a_gate_on_test_data_is_logged_as_one(tmp_path, monkeypatch, write_cases):
    monkeypatch.chdir(tmp_path)
    write_cases(tmp_path / "mine.jsonl", 6, split="test")
    (tmp_path / "one.jsonl").write_text('{"match": "", "reply": "[]"}\n')
    words = ["eval", "-m", "scripted/one.jsonl", "--data", "mine.jsonl", "--split", "test", *LEXICAL, "-q", "-o", "run"]
    assert main(words) == 0
    main(["gate", "run", "--base", "run", *LEXICAL])
    main(["compare", "run", "run", *LEXICAL])
    log = (tmp_path / ".salience" / "test_openings.jsonl").read_text().splitlines()
    assert [json.loads(line)["purpose"] for line in log] == ["benchmark", "gate", "benchmark"]


def test_an_inconclusive_gate_ends_with_four_or_as_it_is_told(runs, capsys):
    lines = [json.loads(line) for line in (runs / "half.jsonl").read_text(encoding="utf-8").splitlines()]
    evil = {json.loads(line["reply"])[0]["content"] for line in lines if line["reply"] != "[]"} & {EVIL}
    assert evil  # where half says it, the other row says the fact, and the other way round
    facts = {
        json.loads(line)["match"]: json.loads(line)["reply"] for line in (runs / "full.jsonl").read_text(encoding="utf-8").splitlines()
    }
    turned = [{**line, "reply": line["reply"] if line["reply"] == "[]" else facts[line["match"]] if line["reply"] != facts[line["match"]]
               else json.dumps([{"content": EVIL, "salience": 0.9}])} for line in lines]  # fmt: skip
    (runs / "other.jsonl").write_text("".join(json.dumps(line) + "\n" for line in turned), encoding="utf-8")
    assert main(["eval", "-m", "scripted/other.jsonl", "--data", "mine.jsonl", *LEXICAL, "-q", "-o", "other"]) == 0
    for extra, code in (([], 4), (["--inconclusive", "pass"], 0), (["--inconclusive", "fail"], 1)):
        capsys.readouterr()
        words = ["gate", "other", "--base", HALF, *LEXICAL, "--margin", "0", "--json", *extra]
        assert main(words) == code
        gate = json.loads(capsys.readouterr().out)["gate"]
        assert (gate["found"], gate["exit_code"]) == ("inconclusive", code)


def test_pins(runs, capsys):
    (runs / "pins.toml").write_text(
        '[[found]]\ncase = "case-000"\nmemory = "m1"\n[[found]]\ncase = "case-060"\nmemory = "m1"\n'
        '[[never]]\ntext = "The user plays the oboe"\n[[never]]\ncase = "case-000"\ncontains = "EVIL.example"\n[[never]]\ncontains = "evil.EXAMPLE"\n'
    )
    capsys.readouterr()
    assert main(["gate", HALF, "--base", HALF, *LEXICAL, "--margin", ".5", "--pins", "pins.toml", "--json"]) == 1
    checks = json.loads(capsys.readouterr().out)["gate"]["checks"]
    assert [check["ruling"] for check in checks[-5:]] == ["pass", "fail", "fail", "pass", "fail"]
    assert "not found: The user has a parrot named Kiko" in checks[-4]["told"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[[found]]\ncase = "case-000"', "[[found]] number 1: needs case and memory"),
        ('[[never]]\ntext = "a"\ncontains = "b"', "needs either text (a statement) or contains (a string)"),
        ("[[never]]\ntext = 3", "text must be a text that is not empty, got 3"),
        ('[[never]]\nwords = "a"', "has 'words'; allowed are case, contains, text"),
        ('[found]\ncase = "x"', "must be written as [[found]]"),
        ('[[always]]\ncase = "x"', "holds 'always'"),
        ('[[never]]\ncontains = "\\u200b"', "contains must hold a character that is seen"),
        ("", "holds no pin"),
        ("x = ", "is no TOML file"),
        ('[[found]]\ncase = "case-999"\nmemory = "m1"', "case 'case-999' is not in the run"),
        ('[[found]]\ncase = "case-000"\nmemory = "m7"', "has no memory 'm7'; it has m1"),
    ],
)
def test_a_bad_pin_is_named(runs, capsys, text, told):
    (runs / "pins.toml").write_text(text)
    assert main(["gate", FULL, "--base", FULL, *LEXICAL, "--pins", "pins.toml"]) == 2
    assert told in capsys.readouterr().err


def test_the_step_summary_gets_the_markdown(runs, capsys, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(runs / "summary.md"))
    assert main(["gate", FULL, "--base", FULL, *LEXICAL, "--margin", ".1"]) == 0
    assert (runs / "summary.md").read_text().startswith("### PASS: ")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(runs))
    assert main(["gate", FULL, "--base", FULL, *LEXICAL, "--margin", ".1"]) == 0
    assert "the step summary cannot be written" in capsys.readouterr().err


def test_a_limited_run_is_no_base(runs, capsys):
    words = ["eval", "-m", "scripted/full.jsonl", "--data", "mine.jsonl", "-n", "10", *LEXICAL, "-q", "-o", "part"]
    assert main(words) == 0
    assert main(["baseline", "part", *LEXICAL, "-o", "base.json"]) == 2
    assert "covers a part of split dev only" in capsys.readouterr().err
    assert main(["gate", FULL, "--base", "part", *LEXICAL]) == 2
    assert "a gate needs a base of the whole split" in capsys.readouterr().err
    assert main(["compare", "part", FULL, *LEXICAL]) == 2
    assert "80 of 90 cases were completed by one side only" in capsys.readouterr().err


def test_an_incomplete_run_is_not_ruled_on(runs, capsys):
    lines = (runs / "full.jsonl").read_text().splitlines()
    (runs / "broken.jsonl").write_text("\n".join(lines[:60]) + "\n")
    main(["eval", "-m", "scripted/broken.jsonl", "--data", "mine.jsonl", *LEXICAL, "-q", "-o", "broken"])
    for name in ("gate.xml", "gate.json", "gate.md"):
        (runs / name).write_text("PASS of an older gate")
        assert main(["gate", "broken", "--base", FULL, *LEXICAL, "-o", name]) == 3
        told = capsys.readouterr().err
        assert "nothing is ruled on a run that is not complete (the same command with --retry-errors asks again)" in told
        assert "PASS" not in (runs / name).read_text()
    suite = ElementTree.parse(runs / "gate.xml").getroot()
    assert [suite.get(name) for name in ("tests", "failures", "errors")] == ["1", "0", "1"]
    assert "30 calls failed" in suite.find("testcase/error").get("message")
    gate = json.loads((runs / "gate.json").read_text())["gate"]
    assert (gate["ruling"], gate["exit_code"]) == (None, 3)
    assert (runs / "gate.md").read_text().startswith("### NO VERDICT: ")


@pytest.mark.parametrize("name", ["out.txt", "out", "nowhere/out.md"])
def test_an_output_that_cannot_be_is_told_before_the_work(runs, capsys, name):
    assert main(["compare", FULL, HALF, *LEXICAL, "-o", name]) == 2
    assert name in capsys.readouterr().err

"""`salience eval`, `score` and `extract`, end to end: through the command, against a real server on loopback."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evals.cli.main import main
from evals.runlog import read_manifest, read_records
from evals.signature import Signature
from salience import Policy

BASE = ["eval", "--data", "mine.jsonl", "--matcher", "lexical", "-q"]


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def with_json(capsys, *arguments):
    code, out, err = run(capsys, *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def only_run() -> Path:
    folders = list(Path(".salience/runs").iterdir())
    assert len(folders) == 1
    return folders[0]


def test_a_run_scores_what_the_server_answered(capsys, cases, server):
    """8 of the 12 cases hold a fact, which the server returns; in the 4 others it returns []: everything is perfect."""
    report = with_json(capsys, *BASE, "-m", "mock", "--base-url", server.url, "-m", "baseline/silent")
    model, silent = report["cells"]
    assert (model["model"], model["policy"], silent["policy"]) == ("mock", "default", None)
    figures = {name: figure["value"] for name, figure in model["figures"].items()}
    assert (figures["precision"], figures["recall"], figures["f1"], figures["balanced"], figures["specificity"]) == (1, 1, 1, 1, 1)
    assert figures["auroc"] is None
    assert silent["figures"]["f1"]["value"] == 0
    assert silent["figures"]["balanced"]["value"] == 0
    assert silent["figures"]["precision"]["value"] is None
    assert model["counts"]["outcome_hit"] == 8
    assert model["counts"]["status_ok"] == 8
    assert model["counts"]["status_empty"] == 4
    assert (model["input_tokens"], model["output_tokens"]) == (240, 120)
    assert len(server.bodies) == 12
    signature = Signature.parse(model["signature"])
    assert (signature.model, signature.cases, signature.conversations, signature.split) == ("mock", 12, 6, "dev")
    assert not signature.limited


def test_the_table_shows_every_column_and_the_signature_parses_back(capsys, cases, server):
    code, out, _ = run(capsys, *BASE, "-m", "mock", "--base-url", server.url, "-m", "baseline/silent", "-m", "baseline/verbatim")
    assert code == 0
    for word in (
        "model",
        "policy",
        "precision",
        "recall",
        "F1",
        "balanced",
        "specificity",
        "violations",
        "noise",
        "AUROC",
        "replies",
        "tokens",
        "seconds",
    ):
        assert word in out
    lines = re.findall(r"^\[\d\] (salience\|.*)$", out, re.MULTILINE)
    assert [Signature.parse(line).model for line in lines] == ["mock", "baseline/silent", "baseline/verbatim"]
    assert "Fewer than 30 conversations" in out
    assert "recall is below .05" in out


def test_the_same_command_again_asks_nothing(capsys, cases, server):
    first = with_json(capsys, *BASE, "-m", "mock", "--base-url", server.url)
    second = with_json(capsys, *BASE, "-m", "mock", "--base-url", server.url)
    assert len(server.bodies) == 12
    assert second["cells"][0]["cached"] == 12
    assert second["cells"][0]["figures"] == first["cells"][0]["figures"]
    assert second["cells"][0]["signature"] == first["cells"][0]["signature"]
    with_json(capsys, *BASE, "-m", "mock", "--base-url", server.url, "--no-cache")
    assert len(server.bodies) == 24


def test_score_gives_the_same_report_without_a_model(capsys, cases, server):
    with_json(capsys, *BASE, "-m", "mock", "--base-url", server.url)
    folder = only_run()
    written = json.loads((folder / "report.json").read_text())
    server.http.shutdown()
    code, _, err = run(capsys, "score", folder, "--matcher", "lexical", "--case", "case-01")
    assert (code, "there is no case 'case-01' in this split; did you mean case-01" in err) == (2, True)
    again = with_json(capsys, "score", folder, "--matcher", "lexical")
    assert again["cells"][0]["figures"] == written["cells"][0]["figures"]
    lines = [json.loads(line) for line in (folder / "cases.jsonl").read_text().splitlines()]
    assert [(line["model"], line["case"]) for line in lines] == [("mock", f"case-{n:03}") for n in range(12)]
    assert all(set(line) >= {"predictions", "matched", "missed", "violations", "status", "repeat"} for line in lines)


def test_changed_labels_are_scored_and_said_changed_messages_are_refused(capsys, cases, server):
    with_json(capsys, *BASE, "-m", "mock", "--base-url", server.url)
    folder, text = only_run(), cases.read_text()
    cases.write_text(text.replace("The user works at the harbour", "The user works at the market"))
    report = with_json(capsys, "score", folder, "--matcher", "lexical")
    assert report["notices"][0].startswith("The labels have changed since the run")
    cases.write_text(text.replace("by the way", "as you know"))
    code, _, err = run(capsys, "score", folder, "--matcher", "lexical")
    assert code == 2
    assert "what was sent for it is not what its messages give now" in err
    cases.write_text(text.split("\n", 1)[1])
    code, _, err = run(capsys, "score", folder, "--matcher", "lexical")
    assert code == 2
    assert "case 'case-000' and 0 more of the run are not in the data" in err


def test_a_killed_run_is_resumed_by_the_same_command(capsys, isolated, write_cases, slow_server):
    """kill -9 of a real process in the middle: nothing answered is asked again but what was in flight, and the summary is the same."""
    write_cases(isolated / "mine.jsonl", 48)
    arguments = [*BASE, "-m", "mock", "--base-url", slow_server.url, "-j", "2", "--no-cache", "--json"]
    process = subprocess.Popen([sys.executable, "-m", "evals.cli.main", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(600):
        time.sleep(0.05)
        folders = list(Path(".salience/runs").glob("*"))
        if folders and sum(1 for _ in read_records(folders[0])) >= 4:
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    folder = only_run()
    answered = {record.case for record in read_records(folder)}
    asked = len(slow_server.bodies)
    assert 4 <= len(answered) < 48
    code, out, err = run(capsys, *arguments)
    assert code == 0, err
    assert len(slow_server.bodies) - asked == 48 - len(answered)
    assert only_run() == folder
    records = list(read_records(folder))
    assert sorted(record.case for record in records) == sorted({record.case for record in records})
    assert len(records) == 48
    whole = with_json(capsys, *BASE, "-m", "mock", "--base-url", slow_server.url, "--no-cache", "-o", "whole")
    resumed = json.loads(out)["cells"][0]
    for name in ("figures", "counts", "signature", "input_tokens"):
        assert resumed[name] == whole["cells"][0][name]


def test_ctrl_c_saves_says_how_to_go_on_and_exits_130(isolated, write_cases, slow_server):
    write_cases(isolated / "mine.jsonl", 48)
    arguments = [*BASE, "-m", "mock", "--base-url", slow_server.url, "-j", "2"]
    # a process started in the background of a script inherits that Ctrl-C is ignored; this one is to be as in a terminal
    code = f"import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\nfrom evals.cli.main import main; sys.exit(main({arguments!r}))"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(600):
        time.sleep(0.05)
        if len(slow_server.bodies) >= 4:
            break
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "the same command again goes on from there" in err
    assert "Traceback" not in err
    assert list(read_records(only_run()))


def test_a_failed_call_is_not_a_zero_and_too_many_end_with_3(capsys, cases, server):
    good = server.answer

    def answer(body):
        turn = body["messages"][-1]["content"]
        if "number 2!" in turn or "Case 3" in turn:
            return {"choices": []}
        return good(body)

    server.answer = answer
    code, out, _ = run(capsys, *BASE, "-m", "mock", "--base-url", server.url, "--json")
    cell = json.loads(out)["cells"][0]
    assert code == 3
    assert [entry["case"] for entry in cell["failed"]] == ["case-002", "case-003"]
    assert cell["figures"]["recall"]["value"] == 1
    assert cell["figures"]["specificity"]["value"] == 1
    assert Signature.parse(cell["signature"]).cases == 10
    assert run(capsys, "score", only_run(), "--matcher", "lexical")[0] == 3
    code, out, _ = run(capsys, *BASE, "-m", "mock", "--base-url", server.url, "--json")
    assert code == 3
    assert len(json.loads(out)["cells"][0]["failed"]) == 2
    server.answer = good
    code, out, _ = run(capsys, *BASE, "-m", "mock", "--base-url", server.url, "--json", "--retry-errors")
    assert code == 0
    assert json.loads(out)["cells"][0]["failed"] == []
    assert len(list(Path(".salience/runs").iterdir())) == 2  # the first was complete, failures counted; the second was taken up again


def test_a_dead_server_is_one_clear_error(capsys, cases):
    code, out, err = run(capsys, *BASE, "-m", "mock", "--base-url", "http://127.0.0.1:9/v1")
    assert code == 2
    assert out == ""
    assert "no server answers at http://127.0.0.1:9/v1" in err
    assert "Traceback" not in err


def test_keys_and_credentials_are_in_nothing_that_a_run_writes(capsys, cases, server, monkeypatch):
    canary = "sk-canary-0123456789abcdef"
    monkeypatch.setenv("OPENAI_API_KEY", canary)
    code, out, err = run(capsys, "eval", "--data", "mine.jsonl", "--matcher", "lexical", "-m", "openai/mock", "--base-url", server.url)
    assert code == 0
    written = [path.read_bytes() for path in Path().rglob("*") if path.is_file()]
    assert written
    assert not any(canary.encode() in content for content in [*written, out.encode(), err.encode()])
    _, _, err = run(capsys, *BASE, "-m", "mock", "--base-url", server.url.replace("http://", "http://user:hunter2@"))
    assert "hunter2" not in err
    assert not any(b"hunter2" in path.read_bytes() for path in Path().rglob("*") if path.is_file())


def test_a_limited_run_says_so(capsys, cases, server):
    report = with_json(capsys, *BASE, "-m", "mock", "--base-url", server.url, "-n", 5)
    assert report["notices"][0] == "This run is limited to 5 of 12 cases (-n 5)."
    assert report["notices"][1].startswith("Agreement of the matcher with labelled pairs by language (kappa): en .")
    assert len(report["notices"]) == 2
    assert Signature.parse(report["cells"][0]["signature"]).limited
    assert len(server.bodies) == 5
    assert len(read_manifest(only_run())["data"]["cases"]) == 5


def test_policies_and_models_make_a_table(capsys, cases, server):
    report = with_json(
        capsys, *BASE, "-m", "mock", "-m", "baseline/rules", "-m", "mock", "-p", "plain", "-p", "default", "--base-url", server.url
    )
    assert [(cell["model"], cell["policy"]) for cell in report["cells"]] == [
        ("mock", "plain"),
        ("mock", "default"),
        ("baseline/rules", None),
    ]
    plain, default = [body for body in server.bodies if "response_format" not in body], [b for b in server.bodies if "response_format" in b]
    assert len(plain) == len(default) == 12
    assert "temperature" not in plain[0]
    assert default[0]["temperature"] == 0


def test_dry_run_calls_nothing_and_writes_nothing(capsys, cases, server):
    code, out, _ = run(capsys, *BASE, "-m", "mock", "--base-url", server.url, "--dry-run")
    assert code == 0
    assert "12 model calls at the most" in out
    assert server.bodies == []
    assert not Path(".salience").exists()


def test_an_output_folder_of_another_run_is_refused(capsys, cases, server):
    with_json(capsys, *BASE, "-m", "baseline/silent", "-o", "out")
    code, _, err = run(capsys, *BASE, "-m", "baseline/verbatim", "-o", "out")
    assert code == 2
    assert "holds another run" in err
    Path("full").mkdir()
    Path("full/x").write_text("")
    code, _, err = run(capsys, *BASE, "-m", "baseline/silent", "-o", "full")
    assert code == 2
    assert "is not a run" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["eval", "--data", "nope.jsonl", "-m", "baseline/silent"], "no dataset or file 'nope.jsonl'"),
        (["eval", "--data", "mine.jsonl", "-m", "baseline/silent", "--split", "test"], "no case in split 'test'; it has: dev 12"),
        (["eval", "--data", "mine.jsonl", "-m", "nobody/x"], "unknown model 'nobody/x'"),
        (["eval", "--data", "mine.jsonl", "-m", "openai/x"], "OPENAI_API_KEY"),
        (["eval", "--data", "mine.jsonl", "-m", "gguf:nowhere.gguf"], "nowhere.gguf"),
        (["eval", "--data", "mine.jsonl", "-m", "baseline/silent", "-p", "nope"], "no policy named 'nope'"),
        (["eval", "--data", "mine.jsonl", "-m", "baseline/silent", "--matcher", "magic"], "no matcher 'magic'"),
        (["eval", "--data", "mine.jsonl", "-m", "baseline/silent", "--rubric", "magic"], "no rubric 'magic'"),
        (["eval", "--data", "mine.jsonl", "-m", "baseline/silent", "--show", "1", "--json"], "--show and --json do not go together"),
        (
            ["eval", "--data", "mine.jsonl", "-m", "mock", "--base-url", "http://127.0.0.1:9/v1", "-p", "default", "-p", "copy.json"],
            "under two names",
        ),
        (["policy", "examples", "-m", "baseline/rules", "--name", "x", "-o", "x.json"], "takes no policy"),
        (
            ["policy", "examples", "-m", "mock", "--base-url", "http://127.0.0.1:9/v1", "--name", "x", "-o", "nowhere/x.json"],
            "nowhere is no folder",
        ),
        (
            [
                "policy",
                "examples",
                "-m",
                "mock",
                "--base-url",
                "http://127.0.0.1:9/v1",
                "--name",
                "x",
                "-o",
                "x.json",
                "--size",
                "2",
                "--negatives",
                "4",
            ],
            "negatives must be from 0",
        ),
        (["extract", "x", "-m", "baseline/rules", "-p", "default"], "is a baseline and takes no policy"),
        (["score", "nowhere"], "there is no run folder nowhere"),
        (["score", "cutoff"], "plan is missing"),
        (["policy", "show", "nope"], "no policy named 'nope'"),
        (["extract", " ", "-m", "baseline/rules"], "the text is empty"),
        (["extract", "x", "-m", "baseline/rules", "--date", "soon"], "--date must be a day such as 2026-03-02"),
        (["matcher", "validate", "--pairs", "nope.jsonl"], "nope.jsonl"),
    ],
)
def test_a_users_mistake_is_one_message_and_exit_2(capsys, cases, arguments, said):
    Path("cutoff").mkdir()
    Path("cutoff/manifest.json").write_text('{"schema_version": 2}')
    Policy.load("default").save("copy.json")
    Path("copy.json").write_text(Path("copy.json").read_text().replace('"name": "default"', '"name": "copy"'))
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert said in err
    assert err.startswith("salience: ")
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "arguments", [["eval", "-n", "0"], ["eval", "--seed", "-1"], ["eval", "--split", "training"], [], ["extract", "x"], ["eval", "-j", "x"]]
)
def test_wrong_words_are_usage_errors(capsys, arguments):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: salience" in capsys.readouterr().err


def test_test_openings_are_logged_and_counted(capsys, isolated, write_cases):
    write_cases(isolated / "t.jsonl", 4, split="test")
    words = ["eval", "--data", "t.jsonl", "--matcher", "lexical", "-q", "-m", "baseline/silent", "--split", "test"]
    code, _, _ = run(capsys, *words[:-4], "-m", "typo/x", "--split", "test")
    assert code == 2
    first = Signature.parse(with_json(capsys, *words)["cells"][0]["signature"])
    entries = [json.loads(line) for line in Path(".salience/test_openings.jsonl").read_text().splitlines()]
    assert [(entry["hash"], entry["purpose"]) for entry in entries] == [(first.data.hash, "benchmark")]
    assert first.openings == 1
    with_json(capsys, *words[:-1], "all")
    assert Signature.parse(with_json(capsys, "score", only_first_run(), "--matcher", "lexical")["cells"][0]["signature"]).openings == 3


def only_first_run():
    return sorted(Path(".salience/runs").iterdir())[0]


def test_extract_prints_candidates(capsys, server):
    code, out, _ = run(capsys, "extract", "I am one who plays the oboe", "-m", "mock", "--base-url", server.url, "--date", "2026-03-02")
    assert (code, out) == (0, "0.80  The user plays the oboe\n")
    assert server.bodies[0]["messages"][-1]["content"] == "Date: 2026-03-02\nTurn:\n[user] I am one who plays the oboe"
    code, out, err = run(capsys, "extract", "hello", "-m", "mock", "--base-url", server.url)
    assert (code, out) == (0, "")
    assert "nothing worth remembering; reply empty" in err
    code, out, _ = run(
        capsys, "extract", "I am one who plays the oboe", "-m", "mock", "--base-url", server.url, "--json", "--min-salience", "0.9"
    )
    assert json.loads(out)["candidates"] == []
    assert json.loads(out)["dropped"][0]["reason"] == "below min_salience"


def test_extract_reads_stdin_and_works_with_baselines(capsys, monkeypatch):
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("I live in Tartu. Nice day!"))
    code, out, _ = run(capsys, "extract", "-", "-m", "baseline/verbatim", "-q")
    assert code == 0
    assert [line[6:] for line in out.splitlines()] == ["I live in Tartu.", "Nice day!"]


def test_hostile_text_cannot_move_a_terminal(capsys, cases, server):
    server.answer = lambda body: {
        "choices": [
            {"message": {"content": '[{"content": "The user \\u001b[2J\\u202e\\u0007 x", "salience": 0.9}]'}, "finish_reason": "stop"}
        ]
    }
    _, out, err = run(capsys, "extract", "x", "-m", "mock", "--base-url", server.url)
    for text in (out, err):
        assert not set(text) & {"\x1b", "\x07", "\u202e"}
    assert "\\x1b[2J\\u202e\\x07" in out
    text = cases.read_text().replace("case-00", "case\\u001b[31m-00").replace('"m1"', '"m\\u001b[2J"')
    cases.write_text(text)
    _, out, err = run(capsys, *BASE, "-m", "mock", "--base-url", server.url, "--show", "2")
    assert "case\\x1b[31m-00" in out
    assert not set(out + err) & {"\x1b", "\x07", "\u202e"}


def test_shown_cases_come_from_dev_also_when_test_is_scored(capsys, isolated, server, labelled):
    lines = [labelled(n) for n in range(4)] + [labelled(n, split="test") for n in range(10, 14)]
    (isolated / "both.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, out, _ = run(
        capsys,
        "eval",
        "--data",
        "both.jsonl",
        "--matcher",
        "lexical",
        "-q",
        "-m",
        "mock",
        "--base-url",
        server.url,
        "--split",
        "test",
        "--show",
        "3",
    )
    assert code == 0
    shown = re.findall(r"^case-\d+", out, re.MULTILINE)
    assert len(shown) == 3
    assert set(shown) <= {f"case-{n:03}" for n in range(4)}


@pytest.mark.skipif(os.name == "nt", reason="sends POSIX signals")
def test_a_closed_pipe_is_no_traceback(cases):
    command = f"{sys.executable} -m evals.cli.main data stats mine.jsonl --json | head -c 10"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr


def test_a_run_of_another_engine_is_not_resumed(capsys, cases, server):
    with_json(capsys, *BASE, "-m", "mock", "--base-url", server.url, "-o", "out")
    manifest = json.loads(Path("out/manifest.json").read_text())
    manifest["models"]["mock"]["engine"] = "older"
    Path("out/manifest.json").write_text(json.dumps(manifest))
    code, _, err = run(capsys, *BASE, "-m", "mock", "--base-url", server.url, "-o", "out")
    assert code == 2
    assert "was run with another version or setting of mock" in err


def test_data_without_dev_cases_shows_none(capsys, isolated, write_cases):
    write_cases(isolated / "t.jsonl", 4, split="test")
    words = ["eval", "--data", "t.jsonl", "--matcher", "lexical", "-q", "-m", "baseline/silent", "--split", "test", "--show", "2"]
    code, out, _ = run(capsys, *words)
    assert code == 0
    assert "no dev cases to show" in out


def test_a_foreign_cache_file_is_one_message(capsys, cases, server):
    import sqlite3

    Path(".salience").mkdir()
    database = sqlite3.connect(".salience/replies.sqlite")
    database.execute("CREATE TABLE replies_2 (other TEXT)")
    database.commit()
    database.close()
    code, _, err = run(capsys, *BASE, "-m", "mock", "--base-url", server.url)
    assert code == 2
    assert "the reply cache cannot be read" in err


def test_one_missing_reply_makes_a_score_incomplete(capsys, isolated, write_cases):
    write_cases(isolated / "mine.jsonl", 42)
    with_json(capsys, *BASE, "-m", "baseline/silent", "-o", "out")
    replies = Path("out/replies.jsonl")
    replies.write_bytes(b"".join(replies.read_bytes().splitlines(keepends=True)[:-1]))
    code, out, _ = run(capsys, "score", "out", "--matcher", "lexical")
    assert code == 3
    assert "1 cases have no reply" in out

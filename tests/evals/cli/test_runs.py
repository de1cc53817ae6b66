"""Runs that stop and go on: limits, repeats, shares, failures, selections, prices; through the command, against a server on loopback."""

import json
import re
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


@pytest.fixture
def command(capsys, cases, server):
    """Runs `salience eval --json` over the twelve cases against the server; returns exit code, the cell and stderr."""

    def call(*more):
        code, out, err = run(capsys, *BASE, "-m", "mock", "--base-url", server.url, "--json", *more)
        return code, json.loads(out)["cells"][0] if out else None, err

    return call


def folders():
    return sorted(Path(".salience/runs").iterdir())


def failing(server, wanted, how=None):
    """Let the server answer nothing useful to turns that `wanted` says yes to."""
    good = type(server).answer

    def answer(body):
        return (how or {"choices": []}) if wanted(body["messages"][-1]["content"]) else good(body)

    server.answer = answer


def test_max_calls_stops_cleanly_and_the_same_command_goes_on(command, server):
    code, cell, err = command("--max-calls", "5", "-j", "1")
    assert code == 3
    assert len(server.bodies) == 5
    assert len(cell["missing"]) == 7
    assert cell["counts"]["cases"] == 5
    assert "stopped at --max-calls 5: so many requests were sent; the same command again goes on from there" in err
    command("--max-calls", "5", "-j", "3")
    code, cell, err = command("--max-calls", "5")
    assert (code, cell["missing"], len(server.bodies)) == (0, [], 12)
    assert "stopped" not in err
    assert len(folders()) == 1
    turns = [body["messages"][-1]["content"] for body in server.bodies]
    assert len(set(turns)) == 12


def test_a_limited_run_that_is_finished_equals_one_without_limits(command, server):
    command("--max-calls", "4")
    _, pieces, _ = command("--no-cache")
    _, whole, _ = command("--no-cache", "-o", "whole")
    for part in ("figures", "counts", "signature", "input_tokens", "output_tokens"):
        assert pieces[part] == whole[part]


def test_attempts_count_as_requests(command, server):
    """Every call is answered with a fault: of three requests, none is left for a second attempt of a fourth case."""
    failing(server, lambda turn: True)
    code, cell, err = command("--max-calls", "3", "-j", "1")
    assert code == 3
    assert len(server.bodies) == 3
    assert "stopped at --max-calls 3" in err
    assert len(cell["failed"]) + len(cell["missing"]) == 12


def test_max_tokens_is_never_passed(command, server):
    """A call takes 30 tokens, and more is set aside for it: the run stops early, and never late, however many are in flight."""
    policy = Policy.load("default")
    aside = len(policy.system.encode()) // 2 + policy.decoding.max_tokens
    code, cell, err = command("--max-tokens", aside + 240, "-j", "4")
    assert code == 3
    assert 60 <= cell["input_tokens"] + cell["output_tokens"] <= aside + 240
    assert 2 <= cell["counts"]["cases"] < 12
    assert f"stopped at --max-tokens {aside + 240}" in err


def test_max_cost_needs_a_price_and_is_never_passed(command, server):
    code, cell, err = command("--max-cost", "1")
    assert (code, cell) == (2, None)
    assert "--max-cost cannot hold: the price of mock is unknown; give it with --prices FILE" in err
    assert server.bodies == []
    Path("p.toml").write_text('["mock"]\ninput = 10\noutput = 1000\n')  # a call costs 20 x 10 + 10 x 1000 a million: $0.0102
    code, cell, err = command("--max-cost", "0.5", "--prices", "p.toml", "-j", "4")
    assert code == 3
    assert "stopped at --max-cost 0.5" in err
    assert cell["cost"] == pytest.approx(0.0102 * cell["counts"]["cases"])
    assert 0 < cell["cost"] <= 0.5
    assert cell["spent"] == pytest.approx(cell["cost"])


def test_cost_is_unknown_and_never_0_and_can_be_told_later(capsys, command, server):
    _, cell, _ = command()
    assert cell["cost"] is None
    Path("p.toml").write_text('["mock"]\ninput = 1\noutput = 2\n')
    _, out, _ = run(capsys, "score", folders()[0], "--matcher", "lexical", "--prices", "p.toml", "--json")
    assert json.loads(out)["cells"][0]["cost"] == pytest.approx(12 * (20 * 1 + 10 * 2) / 1e6)
    _, out, _ = run(capsys, "score", folders()[0], "--matcher", "lexical")
    assert "unknown" in out
    _, cell, _ = command("--prices", "p.toml")
    assert cell["cached"] == 12
    assert cell["cost"] == pytest.approx(12 * 40 / 1e6)
    assert cell["spent"] == 0


def test_max_error_rate_stops_as_soon_as_it_is_passed(command, server):
    failing(server, lambda turn: "Case" in turn)  # 8 of 12
    code, cell, err = command("--max-error-rate", "0.1", "-j", "1")
    assert code == 3
    assert len(cell["failed"]) == 2
    assert len(cell["missing"]) == 10
    assert "stopped at --max-error-rate 0.1: 2 of 12 calls have failed" in err
    code, cell, _ = command("--max-error-rate", "0.9", "--no-cache", "-o", "lenient")
    assert (code, len(cell["failed"]), cell["missing"]) == (0, 8, [])


def test_failed_calls_stay_counted_until_the_user_asks_for_them_again(command, server):
    failing(server, lambda turn: "number 2!" in turn)
    code, cell, _ = command()
    assert (code, [entry["case"] for entry in cell["failed"]]) == (3, ["case-002"])
    sent = len(server.bodies)
    server.answer = type(server).answer
    code, cell, _ = command("-o", folders()[0])
    assert (code, len(cell["failed"]), len(server.bodies)) == (3, 1, sent)
    code, cell, _ = command("-o", folders()[0], "--retry-errors")
    assert (code, cell["failed"], len(server.bodies)) == (0, [], sent + 1)


def test_a_row_without_any_answer_starts_over_by_itself(command, server):
    failing(server, lambda turn: True)
    code, _, err = command()
    assert code == 3
    assert "calls all failed" in err
    assert "repeat the command" in err
    server.answer = type(server).answer
    code, cell, _ = command()
    assert (code, cell["failed"], cell["missing"]) == (0, [], [])
    assert len(folders()) == 1


def test_repeats_are_asked_each_and_counted_together(command, server):
    """The server finds a fact in every other reply to the same turn: half of the required memories are hits, and all 8 cases flip."""
    seen = {}
    good = type(server).answer

    def answer(body):
        turn = body["messages"][-1]["content"]
        seen[turn] = seen.get(turn, 0) + 1
        return good(body) if seen[turn] == 1 else {"choices": [{"message": {"content": "[]"}, "finish_reason": "stop"}]}

    server.answer = answer
    code, cell, _ = command("--repeat", "2", "-p", "plain")
    assert code == 0
    assert len(server.bodies) == 24
    assert cell["figures"]["recall"]["value"] == 0.5
    assert cell["counts"]["cases"] == 24
    assert cell["flip_rate"] == pytest.approx(8 / 12)
    signature = Signature.parse(cell["signature"])
    assert (signature.cases, signature.repeats) == (12, 2)
    assert {body["seed"] for body in server.bodies} == {0, 1}
    records = list(read_records(folders()[0]))
    assert sorted((record.case, record.repeat) for record in records) == [(f"case-{n:03}", r) for n in range(12) for r in (0, 1)]
    command("--repeat", "2", "-p", "plain")
    assert len(server.bodies) == 24


def test_cases_and_tags(capsys, command, cases, server):
    _, cell, _ = command("--case", "case-003", "--case", "case-000")
    assert sorted(body["messages"][-1]["content"].split("Case ")[1][0] for body in server.bodies) == ["0", "3"]
    assert Signature.parse(cell["signature"]).limited
    lines = [
        json.loads(line) | {"tags": ["small-talk"] if n % 3 == 2 else ["fact"]} for n, line in enumerate(cases.read_text().splitlines())
    ]
    cases.write_text("".join(json.dumps(line) + "\n" for line in lines))
    _, cell, _ = command("--tag", "small-talk")
    assert (cell["counts"]["cases"], cell["counts"]["negatives"]) == (4, 4)
    code, _, err = command("--case", "case-33")
    assert code == 2
    assert "there is no case 'case-33' in this split; did you mean case-003" in err
    code, _, err = command("--tag", "weather")
    assert code == 2
    assert "no chosen case has the tag 'weather'; there are: fact, small-talk" in err


def test_shares_make_the_whole(capsys, command, server):
    for k in (3, 1, 2):
        code, cell, _ = command("--shard", f"{k}/3", "-o", f"part-{k}", "--no-cache")
        assert code == 0
        assert cell["counts"]["cases"] == 4
    command("-o", "whole", "--no-cache")
    code, out, _ = run(capsys, "merge", "part-2", "part-3", "part-1", "-o", "merged")
    assert code == 0
    assert "12 cases of 3 shares" in out
    whole, merged = read_manifest(Path("whole")), read_manifest(Path("merged"))
    assert {key: value for key, value in merged.items() if key != "created"} == {
        key: value for key, value in whole.items() if key != "created"
    }
    run(capsys, "score", "merged", "--matcher", "lexical")
    reports = [json.loads((Path(name) / "report.json").read_text())["cells"][0] for name in ("whole", "merged")]
    for part in ("figures", "counts", "signature", "input_tokens"):
        assert reports[0][part] == reports[1][part]
    assert (Path("whole") / "cases.jsonl").read_text() == (Path("merged") / "cases.jsonl").read_text()
    sent = len(server.bodies)
    command("-o", "merged")  # the merged run is the run: the same command finds it finished
    assert len(server.bodies) == sent


def test_shares_that_do_not_belong_together_are_refused(capsys, command, server):
    for k in (1, 2):
        command("--shard", f"{k}/2", "-o", f"part-{k}")
    command("--shard", "2/2", "--seed", "1", "-o", "other")
    command("-o", "whole")
    for parts, said in (
        (["part-1"], "share 2/2 is missing"),
        (["part-1", "part-1"], "part-1 and part-1 are both share 1/2"),
        (["part-1", "other"], "other is a share of another run than part-1"),
        (["part-1", "whole"], "whole is a whole run and no share"),
        (["part-1", "nowhere"], "there is no run folder nowhere"),
    ):
        code, _, err = run(capsys, "merge", *parts, "-o", "merged")
        assert code == 2
        assert said in err
        assert not Path("merged").exists()
    code, _, err = run(capsys, "merge", "part-1", "part-2", "-o", "whole")
    assert code == 2
    assert "whole exists already" in err


def test_a_dry_run_tells_calls_and_prices(capsys, cases, server):
    Path("p.toml").write_text('["mock"]\ninput = 1\noutput = 2.5\n')
    words = [*BASE, "-m", "mock", "-m", "baseline/rules", "--base-url", server.url, "--repeat", "3", "--dry-run"]
    _, out, _ = run(capsys, *words)
    assert "36 model calls at the most" in out
    assert "mock: price unknown" in out
    _, out, _ = run(capsys, *words, "--prices", "p.toml")
    assert "mock: $1 and $2.5 a million tokens in and out (p.toml)" in out
    assert server.bodies == []


def test_two_processes_share_a_cache_and_not_a_run_folder(isolated, write_cases, slow_server):
    write_cases(isolated / "mine.jsonl", 24)
    words = [*BASE, "-m", "mock", "--base-url", slow_server.url, "-j", "2", "--json"]

    def start(*more):
        return subprocess.Popen(
            [sys.executable, "-m", "evals.cli.main", *words, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    first = start("-o", "a")
    for _ in range(600):
        time.sleep(0.05)
        if Path("a/manifest.json").exists() and len(slow_server.bodies) >= 2:
            break
    refused, other = start("-o", "a"), start("-o", "b")
    outs = [process.communicate(timeout=120) for process in (first, refused, other)]
    assert [process.returncode for process in (first, refused, other)] == [0, 2, 0]
    assert "a is being written to by another process" in outs[1][1]
    cells = [json.loads(outs[i][0])["cells"][0] for i in (0, 2)]
    assert cells[0]["figures"] == cells[1]["figures"]
    assert 24 <= len(slow_server.bodies) <= 48
    assert cells[0]["missing"] == cells[1]["missing"] == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--shard", "3/2"], "must be K/N with K from 1 to N, such as 2/4, got '3/2'"),
        (["--shard", "half"], "must be K/N"),
        (["--max-cost", "-1"], "must be a number from 0 up, got '-1'"),
        (["--max-cost", "nan"], "must be a number from 0 up"),
        (["--timeout", "0"], "must be a number of seconds above 0"),
        (["--max-calls", "0"], "must be a whole number from 1 up"),
        (["--max-error-rate", "2"], "must be a number from 0 to 1, got '2'"),
        (["--repeat", "0"], "must be a whole number from 1 up"),
    ],
)
def test_wrong_limits_are_usage_errors(capsys, words, said):
    with pytest.raises(SystemExit) as caught:
        main([*BASE, "-m", "baseline/silent", *words])
    assert caught.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="limits the size of files as POSIX does")
@pytest.mark.parametrize(("room", "where"), [(0, "manifest.json"), (2600, "replies.jsonl"), (7000, "report.json")])
def test_a_full_disk_is_one_clear_error_and_nothing_is_lost(capsys, command, server, room, where):
    """A real process that may write files of so many bytes only. What fitted is kept, the rest is asked for once there is room."""
    Path("p.json").write_text('{"schema_version": 1, "name": "short", "system": ["List what to remember."]}')
    words = [*BASE, "-m", "mock", "--base-url", server.url, "--no-cache", "-o", "full", "-j", "1", "-p", "p.json"]
    code = f"import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, resource.RLIM_INFINITY))\n"
    code += f"from evals.cli.main import main; sys.exit(main({words!r}))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
    said = ended.stderr.splitlines()[-1]
    assert said.startswith(f"salience: full/{where}: ")
    assert "File too large" in said
    kept = [record.case for record in read_records(Path("full"))]
    sent = len(server.bodies)
    code, cell, _ = command("--no-cache", "-o", "full", "-p", "p.json")
    assert (code, cell["missing"], cell["counts"]["cases"]) == (0, [], 12)
    assert [record.case for record in read_records(Path("full"))][: len(kept)] == kept
    assert len(server.bodies) == sent + 12 - len(kept)


def test_a_folder_that_cannot_be_written_is_said_before_any_call(capsys, command, server):
    Path("file").write_text("")
    code, _, err = command("-o", "file/run")
    assert code == 2
    assert "file/run" in err
    assert server.bodies == []


def test_fast_failures_do_not_end_a_run_whose_slow_calls_succeed(command, server):
    """Every fifth call fails at once, and the others take a while: with all in flight, failures come first."""
    good = type(server).answer

    def answer(body):
        if int(re.findall(r"(?:number|Case) (\d+)", body["messages"][-1]["content"])[0]) % 2:
            return {"error": {"code": 400, "message": "no"}}
        time.sleep(0.5)
        return good(body)

    server.answer = answer
    code, cell, _ = command("-j", "12")
    assert code == 3
    assert (len(cell["failed"]), cell["missing"], cell["counts"]["cases"]) == (6, [], 6)


def test_failures_before_an_interruption_count_towards_the_error_rate(command, server):
    failing(server, lambda turn: "Case" in turn)
    command("--max-error-rate", "0.2", "-j", "1", "-o", "r")
    failed = [len([record for record in read_records(Path("r")) if record.error])]
    code, _, err = command("--max-error-rate", "0.2", "-j", "1", "-o", "r")
    failed.append(len([record for record in read_records(Path("r")) if record.error]))
    assert code == 3
    assert failed == [3, 4]
    assert "4 of 12 calls have failed" in err


def test_an_error_inside_a_choice_is_a_failed_call_and_odd_usage_is_unknown(command, server):
    good = type(server).answer

    def answer(body):
        found = good(body)
        turn = body["messages"][-1]["content"]
        if "number 2!" in turn:
            found["choices"][0] |= {"finish_reason": "error", "error": {"code": 502, "message": "Provider returned error"}}
        if "Case 0" in turn:
            found["usage"] = [1]
        if "Case 1:" in turn:
            found["choices"][0]["message"]["content"] = [found["choices"][0]["message"]["content"]]
        return found

    server.answer = answer
    code, cell, _ = command()
    assert (code, [entry["case"] for entry in cell["failed"]]) == (3, ["case-002"])
    assert cell["figures"]["recall"]["value"] == 1
    assert cell["input_tokens"] is None


@pytest.mark.parametrize("status", [400, 500, 501])
def test_a_refused_schema_is_left_out_named_and_counted(capsys, command, server, status):
    good = type(server).answer
    refusal = {"error": {"code": status, "message": "response_format json_schema is not supported"}}
    server.answer = lambda body: refusal if "response_format" in body else good(body)
    code, cell, _ = command()
    assert code == 0
    assert cell["fallbacks"] == {"no-schema": 12}
    assert cell["figures"]["recall"]["value"] == 1
    code, again, _ = command()
    assert (again["cached"], again["fallbacks"]) == (12, {"no-schema": 12})


def test_what_a_base_url_holds_in_its_query_or_as_a_password_is_not_shown(capsys, cases, server):
    secret = "S3cretCanary123"
    server.answer = lambda body: {"error": {"code": 404, "message": f"Cannot POST /v1/chat/completions?api-key={secret}"}}
    run(capsys, *BASE, "-m", "m", "--base-url", f"{server.url}?api-key={secret}")
    for words in (["--base-url", f"user:{secret}@host/v1"], ["--base-url", f"http:/user:{secret}@host/v1"]):
        _, out, err = run(capsys, *BASE, "-m", "m", *words)
        assert secret not in out + err
    _, out, err = run(capsys, "eval", "--data", f"https://user:{secret}@host/x.jsonl", "-m", "baseline/silent")
    assert secret not in out + err
    assert not [path for path in Path().rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]

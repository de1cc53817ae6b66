"""Runs that hold: a few of the kills and faults of `tests/benchmarks`, in real processes against its server."""

import importlib
import json
import os
import random
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def bench(monkeypatch):
    """Imports a module of the benchmarks."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setenv("PYTHONPATH", str(BENCHMARKS.parents[1]))
    return importlib.import_module


@pytest.mark.skipif(os.name == "nt", reason="kills as POSIX does")
@pytest.mark.parametrize("cached", [True, False])
def test_kills_at_random_moments_lose_nothing(bench, tmp_path, cached):
    kills, loopback, cases = bench("kills"), bench("loopback"), bench("simple_cases")
    for name in ("whole", "round"):
        (tmp_path / name).mkdir()
        cases.write(tmp_path / name / "c.jsonl", kills.CASES)
    with loopback.serving(delay=0.02) as url:
        words = ["eval", "--data", "c.jsonl", "--matcher", "lexical", "-m", "m", "--base-url", url, "-j", "4", "-q", "-o", "run"]
        whole = cases.run(cases.command(*words), tmp_path / "whole")
    assert whole.code == 0, whole.err
    with loopback.serving(delay=0.02) as url:
        met, faults = kills.kill_round(tmp_path / "round", url, random.Random(cached), whole.seconds, cached=cached)
        seen = loopback.counts(url)
    assert faults == 0
    assert seen["requests"] <= kills.CASES + met * kills.JOBS
    assert kills.summary(tmp_path / "round" / "run") == kills.summary(tmp_path / "whole" / "run")


@pytest.mark.parametrize("kind", ["mixed", "429"])
def test_every_case_ends_with_a_result_or_a_counted_error(bench, tmp_path, kind):
    faults = bench("faults")
    clean = faults.measure("", 0.0, 40, 8, tmp_path / "clean")
    found = faults.measure(kind, 0.2, 40, 8, tmp_path / "faulty")
    assert faults.is_true(found, clean, 40)
    assert found["seen"]["most_in_flight"] <= 8


def test_a_server_that_is_gone_ends_the_run_early_and_nothing_is_lost(bench, tmp_path):
    """Three of four replies are resets: calls fail, are counted, and no more requests are sent than attempts allow."""
    faults = bench("faults")
    found = faults.measure("reset", 0.75, 24, 8, tmp_path / "faulty")
    failed = {entry["kind"] for entry in found["report"]["failed"]}
    assert len(found["results"]) + len(found["report"]["failed"]) == 24
    assert failed <= {"connection"}
    assert found["seen"]["most_for_one"] <= 5


CANARY = "sk-canary-4711-0123456789abcdef"
OTHER = "sk-ant-canary-0123456789"


def test_no_key_is_in_anything_that_a_run_writes(bench, tmp_path, capfd, monkeypatch):
    """The server sends the key back in replies, errors and headers; keys of other providers are in the environment too."""
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    from threading import Thread

    cases = bench("simple_cases")
    cases.write(tmp_path / "c.jsonl", 12)
    seen = []

    class Echo(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append(self.headers["Authorization"])
            turn = body["messages"][-1]["content"]
            text = f"[{{'content': 'The user has the key {seen[-1]} and {OTHER}', 'salience': 0.8}}]"
            answer = {"choices": [{"message": {"content": text}, "finish_reason": CANARY}], "usage": {}}
            status = 200 if "number 2!" not in turn else 400
            if status == 400:
                answer = {"error": {"message": f"wrong key {CANARY} or {OTHER}", "param": CANARY}}
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("X-Key", CANARY)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", OTHER)
    address = f"http://127.0.0.1:{server.server_address[1]}/v1?api-key=sk-in-the-query-0815"
    words = [
        "eval",
        "--data",
        "c.jsonl",
        "--matcher",
        "lexical",
        "-m",
        "openai/m",
        "--base-url",
        address,
        "-p",
        "plain",
        "-o",
        "run",
        "-j",
        "2",
    ]
    ended = cases.run(cases.command(*words), tmp_path)
    again = cases.run(cases.command(*words, "--retry-errors"), tmp_path)
    server.shutdown()
    server.server_close()
    assert set(seen) == {f"Bearer {CANARY}"}
    assert ended.code == again.code == 3
    written = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert any(path.name == "replies.jsonl" for path in written)
    assert any(path.name == "replies.sqlite" for path in written)
    for secret in (CANARY, OTHER, "sk-in-the-query-0815"):
        holders = [path.name for path, content in written.items() if secret.encode() in content]
        assert holders == []
        assert secret not in ended.err + again.err
    assert b"[redacted]" in (tmp_path / "run" / "replies.jsonl").read_bytes()

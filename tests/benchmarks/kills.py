"""Kills `salience eval` with SIGKILL at random moments, runs it again until it is done, and checks what is left.

    PYTHONPATH=. python tests/benchmarks/kills.py [--kills N] [--seed N]

After every round: no reply that was in the run file is gone or asked for again, the server got at most one more request a call in flight at
each kill, and the summary equals that of an uninterrupted run. The moments are spread over the whole life of the process: start, calls,
scoring, writing the report.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import loopback
import simple_cases

CASES, JOBS, KILLS_A_ROUND = 120, 4, 4


def summary(folder: Path) -> dict[str, Any]:
    """Return what a report says that must not depend on interruptions."""
    cell = json.loads((folder / "report.json").read_text())["cells"][0]
    kept = ("figures", "counts", "signature", "failed", "missing", "unscored", "input_tokens", "output_tokens", "macro_f1")
    return {name: cell[name] for name in kept}


def acknowledged(folder: Path) -> set[str]:
    """Return the cases whose replies stand whole in the run file."""
    path = folder / "replies.jsonl"
    if not path.exists():
        return set()
    lines = path.read_bytes().split(b"\n")[:-1]
    return {json.loads(line)["case"] for line in lines}


def kill_round(folder: Path, url: str, draw: random.Random, seconds: float, *, cached: bool) -> tuple[int, int]:
    """Run until done with some kills in between; return how many kills met a living process, and how many faults were found."""
    words = ["eval", "--data", "c.jsonl", "--matcher", "lexical", "-m", "m", "--base-url", url, "-j", str(JOBS), "-q", "-o", "run"]
    words += [] if cached else ["--no-cache"]
    environ = os.environ | {"PYTHONPATH": str(simple_cases.ROOT)}
    kills = faults = 0
    for _ in range(KILLS_A_ROUND):
        before = acknowledged(folder / "run")
        process = subprocess.Popen(
            simple_cases.command(*words), cwd=folder, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(draw.uniform(0.0, seconds))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.wait()
        faults += not before <= acknowledged(folder / "run")
    ended = simple_cases.run(simple_cases.command(*words), folder)
    faults += ended.code != 0
    return kills, faults


def check(folder: Path, reference: dict[str, Any], seen: dict[str, Any], kills: int) -> int:
    """Return how many faults a finished round has."""
    lines = (folder / "run" / "replies.jsonl").read_bytes().split(b"\n")[:-1]
    answered = [json.loads(line)["case"] for line in lines]
    repeated = seen["requests"] - CASES
    return (
        (summary(folder / "run") != reference)
        + (len(answered) != len(set(answered)))
        + (len(answered) != CASES)
        + (repeated > kills * JOBS)
    )


def main() -> int:
    """Kill and check; return 1 if anything was lost or differs."""
    parser = argparse.ArgumentParser(description="Kill runs at random moments.")
    parser.add_argument("--kills", type=int, default=100, help="kills that meet a living process (default: 100)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    kills = faults = rounds = repeated = 0
    with tempfile.TemporaryDirectory() as place:
        whole = Path(place) / "whole"
        whole.mkdir()
        simple_cases.write(whole / "c.jsonl", CASES)
        with loopback.serving(delay=0.05) as url:
            words = ["eval", "--data", "c.jsonl", "--matcher", "lexical", "-m", "m", "--base-url", url, "-j", str(JOBS), "-q", "-o", "run"]
            whole_run = simple_cases.run(simple_cases.command(*words), whole)
        reference = summary(whole / "run")
        while kills < options.kills:
            folder = Path(place) / f"round-{rounds}"
            folder.mkdir()
            simple_cases.write(folder / "c.jsonl", CASES)
            with loopback.serving(delay=0.05) as url:
                met, wrong = kill_round(folder, url, draw, whole_run.seconds, cached=rounds % 2 == 0)
                seen = loopback.counts(url)
            kills, rounds = kills + met, rounds + 1
            faults += wrong + check(folder, reference, seen, met)
            repeated += seen["requests"] - CASES
    print(
        f"{kills} kills in {rounds} runs of {CASES} calls, {JOBS} in flight: {repeated} calls repeated (at most {kills * JOBS} may be), "
        f"{faults} faults (replies lost or doubled, summaries that differ)"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

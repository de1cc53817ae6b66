"""Plain cases by the thousand, and running `salience eval` on them as a user would: for benchmarks of the harness itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def write(path: Path, count: int) -> Path:
    """Write so many cases, three to a conversation, every third without anything to remember."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            fact = f"has lived at number {number} of Harbour Street for {number % 40 + 2} years"
            negative = number % 3 == 2
            said = f"Good morning number {number}!" if negative else f"I am one who {fact}."
            gold = {"id": "m1", "content": f"The user {fact}", "salience": 0.7, "evidence": [{"message": 0, "text": fact}]}
            case = {
                "id": f"case-{number}", "conversation": f"c-{number // 3}", "split": "dev", "language": "en", "date": "2026-03-02",
                "messages": [{"role": "user", "content": said}], "memories": [] if negative else [gold],
            }  # fmt: skip
            file.write(json.dumps(case) + "\n")
    return path


@dataclass(frozen=True)
class Ended:
    """A process that has ended: exit code, its start on the monotonic clock, its seconds and seconds of CPU, and its stderr."""

    code: int
    started: float
    seconds: float
    cpu: float
    err: str = ""


def command(*words: str) -> list[str]:
    """Return the words of a command line that runs `salience`."""
    return [sys.executable, "-m", "evals.cli.main", *words]


def run(words: list[str], folder: Path) -> Ended:
    """Run a command in a folder and measure it."""
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    with (folder / "stderr").open("w+", encoding="utf-8") as err:
        started = time.monotonic()
        process = subprocess.Popen(words, cwd=folder, env=environ, stdout=subprocess.DEVNULL, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        return Ended(process.returncode, started, seconds, usage.ru_utime + usage.ru_stime, err.read())

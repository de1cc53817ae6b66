"""Prints what becomes of a run when the server fails: every kind of fault, at 5% and at 20% of the requests.

    PYTHONPATH=. python tests/benchmarks/faults.py [--cases N] [--jobs N] [KIND ...]

Each line is one run of `salience eval` against `loopback.py`. It is true only if every case ended with a result or a counted error, none is
missing, a case failed only where the server never answered it, and each result equals that of a run without faults. Any line that is not
ends the command with 1.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import loopback
import simple_cases

RATES = (0.05, 0.2)


def measure(kind: str, rate: float, cases: int, jobs: int, folder: Path) -> dict[str, Any]:
    """Run `salience eval` against a server with one kind of fault; return what happened."""
    folder.mkdir()
    simple_cases.write(folder / "c.jsonl", cases)
    with loopback.serving(delay=0.02, fault=kind, rate=rate, seed=1) as url:
        words = ["eval", "--data", "c.jsonl", "--matcher", "lexical", "-m", "m", "--base-url", url, "-j", str(jobs), "--no-cache", "-q"]
        ended = simple_cases.run(simple_cases.command(*words, "--timeout", "2", "--max-error-rate", "1", "-o", "run"), folder)
        seen = loopback.counts(url)
    report = json.loads((folder / "run" / "report.json").read_text())["cells"][0]
    lines = [json.loads(line) for line in (folder / "run" / "cases.jsonl").read_text().splitlines()]
    results = {line["case"]: (line["status"], line["predictions"], line["missed"]) for line in lines}
    return {"code": ended.code, "seconds": ended.seconds, "report": report, "results": results, "seen": seen}


def is_true(found: dict[str, Any], clean: dict[str, Any], cases: int) -> bool:
    """Return whether the summary of a run with faults is the truth."""
    failed, seen = len(found["report"]["failed"]), found["seen"]
    ended = len(found["results"]) + failed == cases and not found["report"]["missing"] and found["code"] == 0
    same = all(found["results"][case] == clean["results"][case] for case in found["results"])
    kinds = {entry["kind"] for entry in found["report"]["failed"]}
    return ended and same and seen["answered"] == cases - failed and "unknown" not in kinds


def main() -> int:
    """Run all faults and print a table; return 1 if a summary is not true."""
    parser = argparse.ArgumentParser(description="Run against a failing server.")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"faults (default: all): {', '.join(loopback.FAULTS)}, mixed")
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=16)
    options = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as place:
        clean = measure("", 0.0, options.cases, options.jobs, Path(place) / "clean")
        print("fault        rate  results  failed  requests  most for one  most in flight  seconds  true")
        print(
            f"{'none':11}     -  {len(clean['results']):7}  {0:6}  {clean['seen']['requests']:8}  {1:12}  {'':14}  {clean['seconds']:7.1f}"
        )
        for kind in options.kinds or [*loopback.FAULTS, "mixed"]:
            for rate in RATES:
                found = measure(kind, rate, options.cases, options.jobs, Path(place) / f"{kind}-{rate}")
                seen, true = found["seen"], is_true(found, clean, options.cases)
                good &= true
                print(
                    f"{kind:11}  {rate:4.0%}  {len(found['results']):7}  {len(found['report']['failed']):6}  {seen['requests']:8}  "
                    f"{seen['most_for_one']:12}  {seen['most_in_flight']:14}  {found['seconds']:7.1f}  {'yes' if true else 'NO'}",
                    flush=True,
                )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

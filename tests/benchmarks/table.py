"""Measures every target of speed and memory and prints one table: `make bench`.

    PYTHONPATH=. python tests/benchmarks/table.py [--quick]

Ratios are of one run on one machine; absolute figures are those of this machine at this moment. With `--quick` the long rows, memory at
100,000 cases, scoring of 10,000 and a store of 100,000 memories, are measured at a tenth of that. It ends with 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import harness
import reply_reading
import scoring
import store

Row = tuple[str, str, str, bool]
"""What, measured, target, whether it is met."""


def _calls(folder: Path) -> Iterator[Row]:
    for jobs in (32, 128):
        found = harness.against_aiohttp(folder, jobs)
        told = f"{found['ratio']:.2f} ({found['ours']:.2f} / {found['aiohttp']:.2f})"
        yield f"efficiency against bare aiohttp, {jobs} in flight (ours / its)", told, ">= .95", found["ratio"] >= 0.95
        yield f"first request later than bare aiohttp's, {jobs} in flight", f"{found['later']:.2f} s", "<= .3 s", found["later"] <= 0.3
    cpu = harness.cpu_a_call(folder)
    more = cpu["ours"] - cpu["aiohttp"]
    yield "CPU a call above bare aiohttp's", f"{more:.2f} ms ({cpu['ours']:.2f} - {cpu['aiohttp']:.2f})", "<= .25 ms", more <= 0.25


def _rest(folder: Path, *, quick: bool) -> Iterator[Row]:
    again = harness.warm(folder)
    yield "warm second run: requests", f"{again['requests']:.0f}", "0", not again["requests"]
    yield "warm second run: time a case", f"{again['microseconds']:.0f} us", "<= 50 us", again["microseconds"] <= 50
    helped = harness.help_cpu(folder)
    yield "salience --help", f"{helped:.3f} s CPU", "< .1 s", helped < 0.1
    seconds, name = max((reply_reading._seconds(shape(1_000_000), 2), name) for name, shape in reply_reading.SHAPES.items())
    yield f"worst of {len(reply_reading.SHAPES)} replies of 1 MB read ({name})", f"{seconds:.2f} s CPU", "< 1 s", seconds < 1
    cases = 1_000 if quick else 10_000
    score = scoring.measure(cases, 10_000, folder / "scoring")
    what = f"{cases:,} cases scored again, verdicts kept, 10,000 resamples"
    yield what, f"{score['seconds']:.1f} s", "< 10 s", score["seconds"] < 10
    few, many = harness.memory(folder, 1_000), harness.memory(folder, 10_000 if quick else 100_000)
    what = f"memory at {10_000 if quick else 100_000:,} cases against 1,000"
    yield what, f"{many / few:.2f} ({many:.0f} / {few:.0f} MB)", "< 1.5", many / few < 1.5


def _store(folder: Path, *, quick: bool) -> Iterator[Row]:
    size = 10_000 if quick else 100_000
    found = store.queries(folder / "memories.sqlite", size)
    of = f"of {size:,} memories of 384 numbers"
    yield f"first query of a process, {of}", f"{found['cold']:.2f} s", "< 2 s", found["cold"] < 2
    told = f"{1000 * found['query']:.0f} ms (slowest {1000 * found['slowest']:.0f} ms)"
    yield f"further queries, {of}", told, "< 100 ms", found["query"] < 0.1


def main() -> int:
    """Measure and print; return 1 if a target is missed."""
    parser = argparse.ArgumentParser(description="Measure every target.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the long rows")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "scoring").mkdir()
        good = True
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start\n")
        print(f"| {'what':70} | {'measured':28} | {'target':8} |  |\n|{'-' * 72}|{'-' * 30}|{'-' * 10}|--|")
        for make in (_calls(folder), _rest(folder, quick=options.quick), _store(folder, quick=options.quick)):
            for what, measured, target, met in make:
                good &= met
                print(f"| {what:70} | {measured:28} | {target:8} | {'' if met else 'MISSED'} |", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

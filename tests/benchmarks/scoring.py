"""Prints how long a finished run takes to score: matching with vectors that are stored already, assignment, figures, resamples.

    PYTHONPATH=. python tests/benchmarks/scoring.py [--cases N] [--resamples N]

Cases and replies are made from the bundled ones (`synthetic.py`). Vectors come from a stand-in encoder and are stored by a first, untimed
pass, as what is timed here is everything but the encoder.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import synthetic

from evals.scorers import make_scorer
from evals.scoring import score_run


def measure(cases: int, resamples: int, folder: Path, rounds: int = 2) -> dict[str, float]:
    """Return seconds, seconds of CPU and predictions of scoring so many cases; the best of some rounds, as other processes only slow one."""
    data = folder / "cases.jsonl"
    synthetic.write_cases(data, cases)
    dataset = synthetic.write_run(folder / "run", data)
    base = make_scorer("embedding", "default", 0)
    scorer = replace(base, matcher=synthetic.matcher(folder), tables=folder / "verdicts.sqlite")
    score_run(folder / "run", dataset, replace(scorer, resamples=10))
    spent = []
    for _ in range(rounds):
        forget()
        begin, cpu = time.perf_counter(), time.process_time()
        report = score_run(folder / "run", dataset, replace(scorer, matcher=synthetic.matcher(folder), resamples=resamples))
        spent.append((time.perf_counter() - begin, time.process_time() - cpu))
    seconds, spent_cpu = min(spent)
    totals = report.cells[0].totals
    return {
        "seconds": seconds, "cpu": spent_cpu, "predictions": totals["predictions"], "hits": totals["outcome_hit"], "peak_mb": peak_mb(),
    }  # fmt: skip


def forget() -> None:
    """Empty what the matcher remembers within a process, so that the timed pass starts as a new one would."""
    from evals.matching import canonical, language, lexical, reading

    for cached in (canonical.canonicalise, language.language_of, reading.read, lexical.normal_form, lexical.grams):
        cached.cache_clear()


def peak_mb() -> float:
    """Return the most memory that this process has held, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Score and print one line."""
    parser = argparse.ArgumentParser(description="Time the scoring of a finished run.")
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--resamples", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(options.cases, options.resamples, Path(folder))
    print(f"{options.cases} cases: " + ", ".join(f"{name} {value:.1f}" for name, value in found.items()))


if __name__ == "__main__":
    main()

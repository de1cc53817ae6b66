"""How often 95% intervals hold the truth on 60 conversations shaped like the dev split, for six qualities; and the clustering of real rows.

    PYTHONPATH=. python tests/benchmarks/coverage_dev.py [SETS]          a table: coverage of figures and paired differences
    PYTHONPATH=. python tests/benchmarks/coverage_dev.py --icc RUN ...   intraclass correlation of hits in the rows of finished runs

The simulation is that of `tests/evals/stats/test_stats_simulation.py`, which asserts one quality.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np

from evals.metrics.counts import INDEX
from evals.sides import by_conversation, side_of
from evals.stats import cluster_bootstrap, paired_difference
from evals.workbench import Lab
from tests.evals.stats.test_stats_simulation import FIGURES, RESAMPLES, SIZE, answered, asked, truth

QUALITIES = ((0.05, 1.5, 0.4), (0.1, 1.0, 0.3), (0.3, 2.0, 0.2), (0.6, 0.5, 0.85), (0.85, 0.15, 0.95), (0.95, 0.05, 0.97))
PAIRS = (
    ((0.55, 0.7, 0.65), (0.45, 0.8, 0.6)),
    (QUALITIES[1], (0.45, 0.8, 0.6)),
    (QUALITIES[4], QUALITIES[5]),
    (QUALITIES[0], QUALITIES[0]),
)


def single(quality: tuple[float, float, float], sets: int) -> dict[str, float]:
    """Return how often each figure's interval held its true value."""
    generator, true, held = np.random.default_rng(1), truth(quality), Counter()
    for number, counts in enumerate(answered(generator, asked(generator, sets, SIZE), quality)):
        for name, found in cluster_bootstrap(counts, FIGURES, resamples=RESAMPLES, seed=number).items():
            held[name] += found.low is not None and found.low <= true[name] <= found.high
    return {name: held[name] / sets for name in FIGURES}


def paired(base: tuple[float, float, float], new: tuple[float, float, float], sets: int) -> dict[str, float]:
    """Return how often each paired interval held the true difference."""
    generator, held = np.random.default_rng(2), Counter()
    true = {name: truth(new)[name] - truth(base)[name] for name in FIGURES}
    for number in range(sets):
        wanted = asked(generator, SIZE)
        one, other = answered(generator, wanted, base), answered(generator, wanted, new)
        for name, figure in FIGURES.items():
            found = paired_difference(one, other, figure, resamples=RESAMPLES, permutations=1, seed=number).interval
            held[name] += found.low is not None and found.low <= true[name] <= found.high
    return {name: held[name] / sets for name in FIGURES}


def correlation(run: Path) -> None:
    """Print the intraclass correlation of hits within conversations, by moments of the beta-binomial, for each row of a run."""
    for cell in Lab().report(run).cells:
        side = side_of(cell)
        counts = by_conversation(side, side.cases)
        due = counts[:, INDEX["required"]]
        hits, due = counts[due > 1, INDEX["outcome_hit"]], due[due > 1]
        share = hits.sum() / due.sum()
        excess = ((hits - share * due) ** 2).sum() - (due * share * (1 - share)).sum()
        print(f"{cell.label}: {excess / (due * (due - 1) * share * (1 - share)).sum():.2f} ({len(due)} conversations)")


def main() -> None:
    """Print what the arguments ask for."""
    if sys.argv[1:2] == ["--icc"]:
        for run in sys.argv[2:]:
            correlation(Path(run))
        return
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print(f"{'recall, false a case, clean':32}" + "".join(f"{name:>14}" for name in FIGURES))
    for quality in QUALITIES:
        print(f"{quality!s:32}" + "".join(f"{value:14.3f}" for value in single(quality, sets).values()), flush=True)
    for base, new in PAIRS:
        print(f"{base!s} to {new!s}\n{'':32}" + "".join(f"{value:14.3f}" for value in paired(base, new, sets).values()), flush=True)


if __name__ == "__main__":
    main()

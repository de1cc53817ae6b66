"""How often the intervals of `evals.stats` hold the truth, beside other methods. Prints a table; asserts nothing.

Run it from the root of the repository: `python tests/benchmarks/interval_coverage.py [datasets] [resamples]`.

Conversations are drawn from a model with what makes real ones hard: few cases, memories that come in bursts, false positives that
come from a few conversations, and a quality that differs between conversations (a beta distribution with intraclass correlation
.2). The truth of a figure is its value on two million conversations. Coverage is the share of data sets whose interval holds
it; data sets on which the figure is undefined, or has no interval, are left out.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from evals.stats import HarmonicMean, Proportion, WeightedAuroc, cluster_bootstrap, cluster_bootstrap_items, paired_difference
from evals.stats.figures import Figure, Floats
from evals.stats.interval import Resampled, bca_bounds, spread_quantile
from evals.stats.paired import Difference
from evals.stats.resampling import resampled_totals

SIZES = (12, 30, 60)
NORMAL = NormalDist().inv_cdf(0.975)

F1 = Proportion(lambda c: 2 * c[..., 0], lambda c: 2 * c[..., 0] + c[..., 1] + c[..., 2])
PRECISION = Proportion(lambda c: c[..., 0], lambda c: c[..., 0] + c[..., 1])
RECALL = Proportion(lambda c: c[..., 0], lambda c: c[..., 0] + c[..., 2])
SPECIFICITY = Proportion(lambda c: c[..., 4], lambda c: c[..., 3])
PROPORTIONS = {"F1": F1, "precision": PRECISION, "recall": RECALL, "specificity": SPECIFICITY}
FIGURES: dict[str, Figure] = {**PROPORTIONS, "balanced": HarmonicMean(F1, SPECIFICITY)}


@dataclass(frozen=True, slots=True)
class Quality:
    """What a made-up extractor does: chance of a hit, false positives a case, chance to stay silent where nothing is due."""

    recall: float
    false_positives: float
    specificity: float
    correlation: float = 0.2


QUALITIES = {
    "very low": Quality(0.03, 1.0, 0.5),
    "low": Quality(0.12, 2.0, 0.3),
    "middle": Quality(0.45, 0.6, 0.7),
    "high": Quality(0.9, 0.1, 0.93),
    "very high": Quality(0.97, 0.03, 0.98),
}


def tasks(generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Return what conversations ask for, (..., 3): cases, those in which nothing is due, and memories due in the others."""
    cases = 1 + generator.poisson(1.5, shape)
    negative = generator.binomial(cases, 1 / 3)
    due = cases - negative
    memories = due + generator.poisson(due * generator.gamma(1.0, 1.0, shape))
    return np.stack([cases, negative, memories], axis=-1).astype(np.float64)


def outcomes(generator: np.random.Generator, asked: Floats, quality: Quality) -> Floats:
    """Return counts (..., 5): hits, false positives, missed, negative cases, and those answered by nothing."""
    cases, negative, memories = np.moveaxis(asked, -1, 0)
    strength, shape = (1 - quality.correlation) / quality.correlation, cases.shape
    hits = generator.binomial(memories.astype(int), generator.beta(quality.recall * strength, (1 - quality.recall) * strength, shape))
    false = generator.poisson(quality.false_positives * cases * generator.gamma(0.7, 1 / 0.7, shape))
    silent = generator.beta(quality.specificity * strength, (1 - quality.specificity) * strength, shape)
    clean = generator.binomial(negative.astype(int), silent)
    return np.stack([hits, false, memories - hits, negative, clean], axis=-1).astype(np.float64)


def conversations(generator: np.random.Generator, shape: tuple[int, ...], quality: Quality) -> Floats:
    """Return the counts of random conversations."""
    return outcomes(generator, tasks(generator, shape), quality)


def studentised(counts: Floats, proportion: Proportion, resamples: int, seed: int) -> tuple[float, float]:
    """Return the bootstrap-t interval of a ratio, with its linearised standard error (Davison and Hinkley 1997, section 5.2)."""
    up, down = proportion.numerator(counts), proportion.denominator(counts)
    columns = np.stack([up, down, up * up, up * down, down * down], axis=1)

    def ratio_and_error(sums: Floats) -> tuple[Floats, Floats]:
        with np.errstate(all="ignore"):
            ratio = sums[:, 0] / sums[:, 1]
            return ratio, np.sqrt(np.maximum(sums[:, 2] - 2 * ratio * sums[:, 3] + ratio**2 * sums[:, 4], 0)) / sums[:, 1]

    value, error = ratio_and_error(columns.sum(axis=0)[None])
    ratios, errors = ratio_and_error(resampled_totals(columns, resamples, seed=seed))
    with np.errstate(all="ignore"):
        pivots = (ratios - value) / errors
    pivots = pivots[np.isfinite(pivots)]
    if not len(pivots):
        return float(value[0]), float(value[0])
    low, high = np.quantile(pivots, [0.025, 0.975])
    return float(value[0] - high * error[0]), float(value[0] - low * error[0])


def rivals(counts: Floats, figure: Figure, resamples: int, seed: int) -> Iterator[tuple[str, float, float]]:
    """Yield the intervals of the methods that were not chosen."""
    totals = counts.sum(axis=0)
    draws = figure(resampled_totals(counts, resamples, seed=seed))
    resampled = Resampled(float(figure(totals[None])[0]), draws, figure(totals - counts))
    defined, normal = draws[np.isfinite(draws)], NormalDist()
    low, high = np.quantile(defined, [0.025, 0.975])
    yield "percentile", float(low), float(high)
    yield "basic", 2 * resampled.value - float(high), 2 * resampled.value - float(low)
    tail = normal.cdf(-spread_quantile(len(counts), 0.95))
    low, high = np.quantile(defined, [tail, 1 - tail])
    yield "percentile, t", float(low), float(high)
    yield "BCa", *bca_bounds(resampled, NORMAL)
    if isinstance(figure, Proportion):
        yield "studentised", *studentised(counts, figure, resamples, seed)


class Tally:
    """Counts how often intervals hold, lie above or lie below the truth, and how wide they are."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], list[tuple[bool, bool, float]]] = defaultdict(list)

    def add(self, method: str, figure: str, truth: float, low: float, high: float) -> None:
        """Note one interval."""
        self.rows[method, figure].append((low > truth + 1e-9, high < truth - 1e-9, high - low))

    def coverage(self, method: str, figure: str) -> float:
        """Return the share of intervals that held the truth, 0 to 1."""
        rows = self.rows[method, figure]
        return 1 - sum(above or below for above, below, _ in rows) / len(rows)

    def show(self) -> None:
        """Print one line a method: coverage, and median width in brackets."""
        names = list(dict.fromkeys(figure for _, figure in self.rows))
        print(f"  {'':14}", *(f"{name:>15}" for name in names))
        for method in dict.fromkeys(method for method, _ in self.rows):
            cells = []
            for name in names:
                rows = self.rows.get((method, name))
                width = float(np.median([row[2] for row in rows])) if rows else 0.0
                cells.append(f"{self.coverage(method, name):.3f} ({width:.2f})" if rows else "")
            print(f"  {method:14}", *(f"{cell:>15}" for cell in cells))


@cache
def true_values(quality: Quality) -> dict[str, float]:
    """Return each figure on two million conversations."""
    totals = conversations(np.random.default_rng(1), (2_000_000,), quality).sum(axis=0)
    return {name: float(figure(totals[None])[0]) for name, figure in FIGURES.items()}


def cover_figures(quality: Quality, size: int, datasets: int, resamples: int, *, others: bool = True) -> Tally:
    """Return the tally of all methods on data sets of so many conversations."""
    truth, tally = true_values(quality), Tally()
    for number, counts in enumerate(conversations(np.random.default_rng(size), (datasets, size), quality)):
        for name, interval in cluster_bootstrap(counts, FIGURES, resamples=resamples, seed=number).items():
            if interval.value is not None and others:
                for method, low, high in rivals(counts, FIGURES[name], resamples, number):
                    tally.add(method, name, truth[name], low, high)
            if interval.low is not None and interval.high is not None:
                tally.add("evals.stats", name, truth[name], interval.low, interval.high)
    return tally


def cover_differences(base: Quality, new: Quality, size: int, datasets: int, resamples: int) -> Tally:
    """Return the tally of paired differences; of equal qualities half the conversations come out alike, and the truth is 0."""
    tally, generator = Tally(), np.random.default_rng(size)

    def pairs(number: int) -> tuple[Floats, Floats]:
        asked = tasks(generator, (number,))
        first, second = outcomes(generator, asked, base), outcomes(generator, asked, new)
        return first, np.where(generator.random((number, 1)) < 0.5, first, second) if base == new else second

    truth = {name: true_values(new)[name] - true_values(base)[name] for name in FIGURES}
    for number in range(datasets):
        runs = pairs(size)
        both = np.hstack(runs)
        drawn, totals = resampled_totals(both, resamples, seed=number), both.sum(axis=0)
        for name, figure in FIGURES.items():
            found = paired_difference(*runs, figure, resamples=resamples, permutations=1, seed=number).interval
            if found.low is None or found.high is None or found.value is None:
                continue
            tally.add("difference", name, truth[name], found.low, found.high)
            difference = Difference(figure)
            draws = difference(drawn)
            low, high = np.nanquantile(draws, [0.025, 0.975])
            tally.add("  percentile", name, truth[name], float(low), float(high))
            resampled = Resampled(found.value, draws, difference(totals - both))
            tally.add("  BCa, t", name, truth[name], *bca_bounds(resampled, spread_quantile(size, 0.95)))
    return tally


def cover_auroc(distance: float, size: int, datasets: int, resamples: int) -> Tally:
    """Return the tally of AUROC for scores in tenths; positives lie `distance` standard deviations above, conversations differ."""
    tally, generator = Tally(), np.random.default_rng(size)

    def items(number: int) -> tuple[Floats, NDArray[np.bool_], NDArray[np.intp]]:
        owner = np.repeat(np.arange(number), 1 + generator.poisson(4, number))
        label = generator.random(len(owner)) < generator.beta(1, 2, number)[owner]
        score = distance * label + 0.4 * generator.normal(size=number)[owner] + 0.9 * generator.normal(size=len(owner))
        return np.clip(np.round(0.5 + score / 6, 1), 0, 1), label, owner

    truth = float(WeightedAuroc(*items(200_000))(np.ones((1, 200_000)))[0])
    for number in range(datasets):
        statistic = WeightedAuroc(*items(size))
        found = cluster_bootstrap_items({"AUROC": statistic}, size, resamples=resamples, seed=number)["AUROC"]
        if found.low is not None and found.high is not None:
            tally.add("evals.stats", f"AUROC {truth:.2f}", truth, found.low, found.high)
    return tally


def main(datasets: int = 1000, resamples: int = 1000) -> None:
    """Print coverage and median width of all methods, for each quality and number of conversations."""
    for size in SIZES:
        for label, quality in QUALITIES.items():
            truth = ", ".join(f"{name} {value:.2f}" for name, value in true_values(quality).items())
            print(f"\n{size} conversations, {label}: {truth}")
            cover_figures(quality, size, datasets, resamples).show()
            cover_differences(quality, quality, size, datasets, resamples).show()
        print(f"\n{size} conversations, low against middle, and middle against high")
        cover_differences(QUALITIES["low"], QUALITIES["middle"], size, datasets, resamples).show()
        cover_differences(QUALITIES["middle"], QUALITIES["high"], size, datasets, resamples).show()
        for distance in (0.0, 0.8, 2.0, 3.5):
            cover_auroc(distance, size, datasets, resamples).show()


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))

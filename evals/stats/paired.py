"""The difference between two runs on the same conversations, with a paired interval and a permutation p. No verdict.

Both runs are scored on the same resamples, so that what makes a conversation hard for both cancels. The interval is the difference
plus and minus the standard deviation of its resamples times the widened quantile of `spread_quantile`. A difference has no edge
to be skewed against, and where few conversations differ BCa takes their skew for the population's and covers less than plain
percentiles do; see `evals.stats.interval` for how both hold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evals.stats.bootstrap import checked_counts
from evals.stats.figures import Figure, Floats, Support, support_of
from evals.stats.interval import Interval, Resampled, make_interval, symmetric_bounds
from evals.stats.resampling import check_draws, resampled_totals, rows_per_chunk

_SAME = 1e-12


@dataclass(frozen=True, slots=True)
class Difference:
    """What a figure gained: its value on the second half of the columns minus that on the first.

    Attributes:
        figure: A figure of k counts; the difference is a figure of 2k.
    """

    figure: Figure

    def __call__(self, totals: Floats) -> Floats:
        """Return the difference for each of the sums (..., 2k); NaN where either side is undefined."""
        middle = totals.shape[-1] // 2
        return self.figure(totals[..., middle:]) - self.figure(totals[..., :middle])

    def support(self, counts: Floats) -> Support | None:
        """Return the support of the side that has less, with the range of a difference, or None if the figure knows none."""
        middle = counts.shape[-1] // 2
        sides = [support_of(self.figure, counts[:, :middle]), support_of(self.figure, counts[:, middle:])]
        known = [side for side in sides if side is not None]
        if not known:
            return None
        width = max(side.high - side.low for side in known)
        return Support(min(side.conversations for side in known), min(side.units for side in known), -width, width)


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """A difference between two runs.

    Attributes:
        interval: The difference, new minus base, and its interval.
        p: Two-sided permutation p, above 0 and at most 1; None where the difference is undefined.
    """

    interval: Interval
    p: float | None


def paired_difference(
    base: Floats,
    new: Floats,
    figure: Figure,
    *,
    resamples: int = 2000,
    permutations: int = 10_000,
    seed: int,
    level: float = 0.95,
) -> PairedDifference:
    """Compare two runs on the same conversations.

    The permutation swaps the runs of whole conversations at random and asks how often the difference is at least as far from 0 as
    the one seen: p = (k + 1) / (n + 1) (Phipson and Smyth 2010, Statistical Applications in Genetics and Molecular Biology 9:39),
    so that p is never 0. Permutations in which the figure is undefined are left out.

    Args:
        base: Counts a conversation of the first run, (conversations, k).
        new: Counts of the second, row for row the same conversations.
        figure: A function of summed counts. With a `Proportion` or `HarmonicMean` there is an interval even where all
            conversations agree: two runs without any difference are then not certain to have none on other data.
        resamples: Of the interval; 1 or more.
        permutations: Of the p; 1 or more.
        seed: Of both.
        level: Confidence, between 0 and 1.

    Returns:
        The interval of new minus base, and p.

    Raises:
        ValueError: The arrays differ in shape or are no counts, or a number is out of range.
    """
    base, new = checked_counts("base", base), checked_counts("new", new)
    if base.shape != new.shape:
        raise ValueError(f"base and new must hold the same conversations and counts, got {base.shape} and {new.shape}")
    check_draws(len(base), min(resamples, permutations), level)
    difference = Difference(figure)
    both = np.hstack([base, new])
    value = float(difference(both.sum(axis=0)[None])[0])
    resampled = Resampled(value, difference(resampled_totals(both, resamples, seed=seed)), leave_one_out=np.empty(0))
    support = difference.support(both)
    interval = make_interval(resampled, support, conversations=len(base), level=level, bounds_from=symmetric_bounds)
    if interval.value is None:
        return PairedDifference(interval, None)
    return PairedDifference(interval, _permutation_p(both, difference, abs(interval.value), permutations, seed))


def _permutation_p(both: Floats, difference: Difference, seen: float, permutations: int, seed: int) -> float:
    middle = both.shape[1] // 2
    base, new = both[:, :middle], both[:, middle:]
    gain = np.hstack([new - base, base - new])
    totals = both.sum(axis=0)
    generator = np.random.default_rng([seed, 1])  # a stream apart from the resamples'
    chunk = rows_per_chunk(len(both))
    reached = defined = 0
    for start in range(0, permutations, chunk):
        rows = min(chunk, permutations - start)
        swapped = generator.integers(0, 2, size=(rows, len(both))).astype(np.float64)
        values = np.abs(difference(totals + swapped @ gain))
        defined += int(np.isfinite(values).sum())
        reached += int((values >= seen - _SAME).sum())
    return (reached + 1) / (defined + 1)

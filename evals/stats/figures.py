"""What a figure is: a function of summed counts. Here are the two shapes whose edges need care; no resampling.

Per conversation there is a row of counts (hits, false positives, missed ...). Every figure is a function of the *sum* of rows, so
that slices, resamples and micro averages are one computation. A figure maps an array (..., k) of sums to values (...), with NaN
where it is undefined (F1 where nothing was due and nothing predicted). Any callable of that kind will do. `Proportion` and
`HarmonicMean` know in addition how many conversations stand behind them and that they lie from 0 to 1, so that an interval can be
given where all conversations agree and resampling shows no spread at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Figure: TypeAlias = Callable[[Floats], Floats]
"""Sums of counts (..., k) to values (...), NaN where undefined."""


@dataclass(frozen=True, slots=True)
class Support:
    """How much evidence stands behind a figure of known range.

    Attributes:
        conversations: The conversations that bear on it; 0 or more.
        units: How many equally large, independent conversations they are worth; at most `conversations`.
        low: The smallest value that the figure can take.
        high: The largest.
    """

    conversations: int
    units: float
    low: float = 0.0
    high: float = 1.0


def effective_units(sizes: Floats) -> float:
    """Return Kish's effective number of clusters, (sum of sizes)^2 / sum of squared sizes; 0 where there is none.

    Kish (1965), Survey Sampling, section 11.7: the number of equally large clusters that carry as much information when the items
    of a cluster agree entirely.
    """
    squares = float((sizes**2).sum())
    return float(sizes.sum()) ** 2 / squares if squares > 0 else 0.0


def _divide(numerator: Floats, denominator: Floats) -> Floats:
    result = np.full(np.shape(denominator), np.nan)
    np.divide(numerator, denominator, out=result, where=denominator > 0)
    return result


@dataclass(frozen=True, slots=True)
class Proportion:
    """A ratio of two sums, NaN where the denominator is 0: precision, recall, specificity, F1 as 2TP / (2TP + FP + FN).

    A rate that can exceed 1 (false memories per negative case) may be given too; where all conversations agree on a value above
    1 it then has no interval.

    Attributes:
        numerator: Linear in the counts.
        denominator: Linear in the counts, never negative; what the conversation has at stake.
    """

    numerator: Figure
    denominator: Figure

    def __call__(self, totals: Floats) -> Floats:
        """Return the ratio for each of the sums (..., k)."""
        return _divide(self.numerator(totals), self.denominator(totals))

    def support(self, counts: Floats) -> Support:
        """Return what stands behind the ratio: the conversations with a denominator above 0."""
        sizes = self.denominator(counts)
        return Support(int((sizes > 0).sum()), effective_units(sizes))


def harmonic_mean(first: Floats, second: Floats) -> Floats:
    """Return 2ab / (a + b), 0 where both are 0, NaN where either is NaN."""
    total = first + second
    return np.where(total == 0, 0.0, 2 * first * second / np.where(total == 0, 1.0, total))


@dataclass(frozen=True, slots=True)
class HarmonicMean:
    """The harmonic mean of two proportions, such as the balanced score; undefined where either is.

    Attributes:
        first: A proportion.
        second: Another.
    """

    first: Proportion
    second: Proportion

    def __call__(self, totals: Floats) -> Floats:
        """Return the mean for each of the sums (..., k)."""
        return harmonic_mean(self.first(totals), self.second(totals))

    def support(self, counts: Floats) -> Support:
        """Return the support of the part that has less."""
        first, second = self.first.support(counts), self.second.support(counts)
        return Support(min(first.conversations, second.conversations), min(first.units, second.units))


@dataclass(frozen=True, slots=True)
class MacroMean:
    """The plain mean of proportions, such as macro F1 over classes, of those that are defined; NaN where none is.

    Attributes:
        parts: The proportions.
    """

    parts: tuple[Proportion, ...]

    def __call__(self, totals: Floats) -> Floats:
        """Return the mean for each of the sums (..., k)."""
        each = np.stack([part(totals) for part in self.parts])
        there = ~np.isnan(each)
        return _divide(np.where(there, each, 0.0).sum(axis=0), there.sum(axis=0))

    def support(self, counts: Floats) -> Support:
        """Return the support of the part that has least, of those that are defined."""
        whole = counts.sum(axis=0)
        found = [part.support(counts) for part in self.parts if not np.isnan(part(whole))]
        return Support(min((one.conversations for one in found), default=0), min((one.units for one in found), default=0.0))


def support_of(figure: object, counts: Floats) -> Support | None:
    """Return the support of a figure that knows its own, else None.

    A figure knows it by a method `support(counts) -> Support`, as `Proportion` and `HarmonicMean` have.
    """
    method = getattr(figure, "support", None)
    support = method(counts) if callable(method) else None
    return support if isinstance(support, Support) else None

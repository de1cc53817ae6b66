"""From resampled values to an interval. What is resampled, and how, is in `evals.stats.bootstrap`.

Method: BCa (Efron 1987, JASA 82:171; Efron and Tibshirani 1993, chapter 14) with a jackknife over conversations, and its normal
quantile widened to sqrt(n / (n - 1)) times Student's t with n - 1 degrees of freedom, n the conversations that bear on the figure
(Hesterberg 2015, The American Statistician 69:371, "expanded" percentile intervals): resampling few conversations shows too little
spread, and an interval of the plain percentiles is too narrow and too far from the skewed side.

Where all resamples agree (0 of 12, 12 of 12) resampling would claim certainty. There the bound is the rule of three in its exact form
(Clopper and Pearson 1934, Biometrika 26:404; Hanley and Lippman-Hand 1983, JAMA 249:1743): if a share q of conversations were
unlike the ones seen, all n would look alike with chance (1 - q)^n, so q is at most 1 - 0.05^(1/n) at 95%, and the figure lies
between those of a population whose unlike share scores worst and best. n is Kish's effective number of conversations,
the limit of Korn and Graubard (1998, Survey Methodology 24:193) for wholly dependent items.

How often 95% intervals held the truth, by `tests/benchmarks/interval_coverage.py 500 1000`, over F1, precision, recall, specificity
and balanced score of five qualities from F1 .03 to .97 (lowest, mean, highest):

    conversations                12              30              60
    as here              .93 .98 1.00    .92 .96 1.00     .92 .95 .99
    percentile            .18 .74 .92     .37 .86 .93     .59 .90 .96
    percentile, with t    .18 .77 .95     .37 .87 .95     .59 .91 .96
    BCa                   .18 .76 .93     .37 .87 .95     .58 .92 .96
    basic                 .17 .68 .91     .37 .79 .92     .60 .87 .94
    studentised           .17 .68 .95     .37 .81 .96     .56 .90 .97
    AUROC .50 to .99      .94 .96 .96     .90 .94 .96     .91 .94 .96
    differences          .90 .98 1.00    .91 .96 1.00    .93 .96 1.00
      percentile         .87 .95 1.00    .89 .94 1.00    .89 .93 1.00
      BCa, with t        .88 .96 1.00    .83 .91 1.00     .81 .91 .98

The other methods' lowest figures come from having no rule for agreement. AUROC falls to .90 only where it is .99. Differences use
`symmetric_bounds`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np

from evals.stats.figures import Floats, Support

FEW = 30
"""Below so many conversations an interval is to be read with care, and a report says so."""
OFTEN_UNDEFINED = 0.05
"""Above this share of undefined resamples a report says so."""
_SAME = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A figure with its confidence interval.

    Attributes:
        value: The figure on all conversations; None where it is undefined.
        low: Lower bound; None where no interval can be given.
        high: Upper bound; None with `low`.
        level: Confidence, between 0 and 1.
        conversations: Those that bear on the figure: with a denominator above 0, of the part that has fewer, or of the rarer class;
            all of them where the figure does not say.
        undefined: Share of resamples in which the figure was undefined, 0 to 1. They are left out.
        method: How the bounds were found: "bootstrap", "boundary" (the conversations agree, or for a harmonic mean those of one
            part) or "none" (undefined, a single conversation, or no spread and no known range).
    """

    value: float | None
    low: float | None
    high: float | None
    level: float = 0.95
    conversations: int
    undefined: float
    method: Literal["bootstrap", "boundary", "none"]

    @property
    def few(self) -> bool:
        """Whether fewer than 30 conversations bear on the figure."""
        return self.conversations < FEW

    @property
    def often_undefined(self) -> bool:
        """Whether more than 5% of the resamples had to be left out."""
        return self.undefined > OFTEN_UNDEFINED


@dataclass(frozen=True, slots=True)
class Resampled:
    """A figure on all conversations, on each resample, and with each conversation left out; NaN where undefined."""

    value: float
    draws: Floats
    leave_one_out: Floats


def spread_quantile(conversations: int, level: float) -> float:
    """Return how many standard errors of the bootstrap an interval reaches to either side, for so many conversations (2 or more).

    sqrt(n / (n - 1)) times the quantile of Student's t with n - 1 degrees of freedom; tends to the normal quantile.
    """
    from scipy.special import stdtrit  # scipy is slow to load

    return math.sqrt(conversations / (conversations - 1)) * float(stdtrit(conversations - 1, (1 + level) / 2))


def bca_bounds(resampled: Resampled, quantile: float) -> tuple[float, float]:
    """Return the BCa bounds.

    Args:
        resampled: At least one draw must be defined.
        quantile: The normal quantile to reach to either side: 1.96 for the textbook interval at 95%.

    Returns:
        Lower and upper bound.
    """
    normal, value = NormalDist(), resampled.value
    draws, left_out = _defined(resampled.draws), _defined(resampled.leave_one_out)
    tolerance = _SAME * max(1.0, abs(value))
    ties = int((np.abs(draws - value) <= tolerance).sum())
    below = (int((draws < value - tolerance).sum()) + ties / 2) / len(draws)
    bias = normal.inv_cdf(min(max(below, 1 / (len(draws) + 1)), len(draws) / (len(draws) + 1)))
    influence = left_out.mean() - left_out if len(left_out) else left_out
    scale = 6 * float((influence**2).sum()) ** 1.5
    acceleration = float((influence**3).sum()) / scale if scale > _SAME**3 else 0.0
    levels = []
    for reach in (bias - quantile, bias + quantile):
        shrink = max(1 - acceleration * reach, _SAME)  # beyond the pole the formula turns round; there the end is meant
        levels.append(normal.cdf(bias + reach / shrink))
    low, high = np.quantile(draws, levels)
    return min(float(low), value), max(float(high), value)


def symmetric_bounds(resampled: Resampled, quantile: float) -> tuple[float, float]:
    """Return the value plus and minus so many standard deviations of the draws (Efron and Tibshirani 1993, section 13.3).

    Args:
        resampled: At least one draw must be defined; the jackknife is not used.
        quantile: The standard deviations to reach to either side.

    Returns:
        Lower and upper bound; they may lie beyond the figure's range.
    """
    reach = quantile * float(_defined(resampled.draws).std())
    return resampled.value - reach, resampled.value + reach


def boundary_bounds(value: float, support: Support, level: float) -> tuple[float, float] | None:
    """Return bounds for a value on which all conversations agree, or None where nothing is known.

    Args:
        value: What they agree on.
        support: The figure's range, and how many independent conversations it rests on.
        level: Confidence, between 0 and 1; one-sided at either end of the range.

    Returns:
        Lower and upper bound, or None without a conversation or with a value outside the range.
    """
    if support.units < 1 or not support.low <= value <= support.high:
        return None
    unlike = 1 - (1 - level) ** (1 / support.units)
    return (1 - unlike) * value + unlike * support.low, (1 - unlike) * value + unlike * support.high


def make_interval(
    resampled: Resampled,
    support: Support | None,
    *,
    conversations: int,
    level: float,
    bounds_from: Callable[[Resampled, float], tuple[float, float]] = bca_bounds,
) -> Interval:
    """Return the interval of a figure.

    Args:
        resampled: The figure's values.
        support: What the figure knows of itself, or None.
        conversations: All conversations, for a figure that knows nothing.
        level: Confidence, between 0 and 1.
        bounds_from: How bounds follow from resamples that differ: `bca_bounds` or `symmetric_bounds`.

    Returns:
        The interval; its `method` says how it was found.
    """
    bearing = support.conversations if support else conversations
    draws = _defined(resampled.draws)
    undefined = 1 - len(draws) / len(resampled.draws) if len(resampled.draws) else 0.0
    value = resampled.value if math.isfinite(resampled.value) else None
    bounds: tuple[float, float] | None = None
    method: Literal["bootstrap", "boundary", "none"] = "none"
    if value is not None and len(draws):
        if float(np.ptp(draws)) <= _SAME * max(1.0, abs(value)):
            bounds, method = (boundary_bounds(value, support, level) if support else None), "boundary"
        elif bearing > 1:
            bounds, method = bounds_from(resampled, spread_quantile(bearing, level)), "bootstrap"
    low, high = bounds or (None, None)
    return Interval(
        value=value,
        low=low,
        high=high,
        level=level,
        conversations=bearing,
        undefined=undefined,
        method=method if bounds else "none",
    )


def _defined(values: Floats) -> Floats:
    return values[np.isfinite(values)]

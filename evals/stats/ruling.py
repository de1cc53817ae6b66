"""What a difference allows to conclude: a ruling at a margin, the smallest effect that could have shown, many tests at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Literal

from evals.stats.interval import Interval, spread_quantile

Ruling = Literal["pass", "fail", "inconclusive"]
POWER = 0.8
"""The chance with which an effect of the smallest detectable size shows as significant."""


def rule(difference: Interval, margin: float) -> Ruling:
    """Return whether a difference, new minus base, shows harm of more than a margin, shows that there is none, or neither.

    Args:
        difference: With its interval; higher is better.
        margin: How much worse is tolerated, 0 or more.

    Returns:
        "fail" if the whole interval lies below -margin, "pass" if it lies above, else "inconclusive", also where there is no interval.

    Raises:
        ValueError: The margin is negative or not finite.
    """
    if not math.isfinite(margin) or margin < 0:
        raise ValueError(f"margin must be 0 or more, got {margin}")
    if difference.low is None or difference.high is None:
        return "inconclusive"
    if difference.high < -margin:
        return "fail"
    return "pass" if difference.low > -margin else "inconclusive"


def smallest_detectable(difference: Interval, power: float = POWER) -> float | None:
    """Return the smallest true difference that data like these show as significant with a chance of `power`.

    (q + z) s, with s the standard error behind the interval, q the quantile that the interval was made with, and z the normal quantile of
    the power (Cohen 1988, Statistical Power Analysis for the Behavioral Sciences, chapter 2). It is no property of the effect seen.

    Args:
        difference: With its interval from `paired_difference`.
        power: Between 0 and 1.

    Returns:
        The difference, above 0, or None where there is no interval or no spread.
    """
    if difference.low is None or difference.high is None or difference.high <= difference.low or difference.conversations < 2:
        return None
    quantile = spread_quantile(difference.conversations, difference.level)
    error = (difference.high - difference.low) / (2 * quantile)
    return (quantile + NormalDist().inv_cdf(power)) * error


def conversations_needed(difference: Interval, margin: float) -> int | None:
    """Return about how many conversations would make the interval's half-width as small as a margin; widths shrink with the root.

    Args:
        difference: With its interval.
        margin: Above 0.
    """
    if difference.low is None or difference.high is None or margin <= 0:
        return None
    return max(1, math.ceil(difference.conversations * ((difference.high - difference.low) / 2 / margin) ** 2))


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Return p values adjusted for being several, in their order (Holm 1979, Scandinavian Journal of Statistics 6:65).

    Args:
        values: P values from 0 to 1; None stays None and counts for nothing.
    """
    known = sorted((value, place) for place, value in enumerate(values) if value is not None)
    adjusted: list[float | None] = [None] * len(values)
    highest = 0.0
    for rank, (value, place) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - rank) * value))
        adjusted[place] = highest
    return adjusted

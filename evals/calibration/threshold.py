"""The operating threshold: which salience to keep from. Counts at every possible threshold in, the best one and its honest score out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evals.calibration.figures import Floats
from evals.calibration.maps import folds_of

PLATEAU = 0.01
"""Thresholds whose score is within this of the best are as good."""
_MOST = 200
_HALF = 0.5


@dataclass(frozen=True, slots=True)
class Threshold:
    """An operating threshold.

    Attributes:
        raw: On the scale of the model's own salience, 0 to 1.
        score: F-beta there, on the conversations it was chosen on; optimistic. None where it is undefined everywhere.
        crossed: F-beta of thresholds that were each chosen without the conversation they are scored on.
        plateau: From above which to up to which threshold around it the score is within `PLATEAU` of the best.
        at_half: F-beta at a threshold of 0.5 on the raw scale, the default.
    """

    raw: float
    score: float | None
    crossed: float | None
    plateau: tuple[float, float]
    at_half: float | None


def levels(salience: Sequence[float]) -> list[float]:
    """Return thresholds to try: 0 (keep all), .5 (the default), half-way between neighbouring values, and above the highest; some 200.

    Args:
        salience: Of all candidates.
    """
    values = np.unique(np.asarray(salience, dtype=np.float64))
    if len(values) > _MOST:
        values = np.unique(np.quantile(values, np.linspace(0, 1, _MOST)))
    between = (values[1:] + values[:-1]) / 2
    last = [] if not len(values) else [min(1.0, float(values[-1]) + 1e-6)]
    return sorted({0.0, _HALF, *(round(float(value), 6) for value in between), *(round(value, 6) for value in last)})


def best_threshold(counts: Floats, thresholds: Sequence[float], salience: Sequence[float], *, beta: float, seed: int) -> Threshold:
    """Return the threshold with the highest F-beta.

    Of equals 0.5 is kept where it is among them; else the middle of the widest run is taken, as a lone peak is chance.

    Args:
        counts: Hits, false positives and missed memories: (thresholds, conversations, 3).
        thresholds: Rising, as `levels` gives them.
        salience: Of all candidates.
        beta: How many times as much recall weighs as precision.
        seed: Deals the folds.
    """
    scores = _scores(counts.sum(axis=1), beta)
    if np.isnan(scores).all():
        return Threshold(0.5, None, None, (0.0, 1.0), None)
    half = list(thresholds).index(_HALF)
    place = _best(scores, half)
    folds = folds_of(np.arange(counts.shape[1]), seed)
    held = np.zeros(3)
    for fold in np.unique(folds):
        inside = _scores(counts[:, folds != fold].sum(axis=1), beta)
        at = place if np.isnan(inside).all() else _best(inside, half)
        held += counts[at][folds == fold].sum(axis=0)
    crossed = float(_scores(held[None], beta)[0])
    near = scores >= scores[place] - PLATEAU
    low = high = place
    while low > 0 and near[low - 1]:
        low -= 1
    while high + 1 < len(scores) and near[high + 1]:
        high += 1
    value, default = float(scores[place]), float(scores[half])
    plateau = (
        max((one for one in salience if one < thresholds[low]), default=0.0),
        min((one for one in salience if one >= thresholds[high]), default=1.0),
    )
    return Threshold(
        _HALF if place == half else thresholds[place], value, None if np.isnan(crossed) else crossed, plateau,
        None if np.isnan(default) else default,
    )  # fmt: skip


def _best(scores: Floats, half: int) -> int:
    """Return the default threshold if it is among the best, else the middle of the longest run of the best."""
    top = np.flatnonzero(scores >= np.nanmax(scores) - 1e-12)
    if half in top:
        return half
    runs = np.split(top, np.flatnonzero(np.diff(top) > 1) + 1)
    longest = max(runs, key=len)
    return int(longest[(len(longest) - 1) // 2])


def _scores(counts: npt.NDArray[np.float64], beta: float) -> Floats:
    """Return F-beta, NaN where nothing was due and nothing false returned."""
    hits, false, missed = counts[..., 0], counts[..., 1], counts[..., 2]
    square = beta * beta
    below = (1 + square) * hits + false + square * missed
    result = np.full(below.shape, np.nan)
    np.divide((1 + square) * hits, below, out=result, where=below > 0)
    return result

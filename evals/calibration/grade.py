"""Whether salience grades what was found as people do: matched memories, their labelled salience beside the model's. Not keep-worthiness.

All memories that a prediction matches count, also optional and trivial ones, each with the prediction assigned to it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_LONG = 90  # characters: near the middle of the labelled memories


class Graded(NamedTuple):
    """A matched memory.

    Attributes:
        given: The model's salience, 0 to 1.
        labelled: The labelled salience, 0 to 1.
        length: Characters of the labelled content.
    """

    given: float
    labelled: float
    length: int


@dataclass(frozen=True, slots=True)
class GradeFigures:
    """How salience compares with labels. None where undefined.

    Attributes:
        pairs: How many matched memories.
        spearman: Rank correlation, -1 to 1; None where either is constant.
        mae: Mean absolute difference, 0 to 1.
        bias: Mean of given minus labelled; above 0 the model exaggerates.
        ordered: Share of pairs of memories, among those whose labels differ, that salience orders as the labels do; ties half.
        short_vital: Mean of given minus labelled over short memories of high salience.
        long_trivial: The same over long memories of low salience. Above `short_vital`: length is taken for weight.
    """

    pairs: int
    spearman: float | None
    mae: float | None
    bias: float | None
    ordered: float | None
    short_vital: float | None
    long_trivial: float | None


def grade_figures(graded: Sequence[Graded] | npt.NDArray[np.float64]) -> GradeFigures:
    """Return the figures of grades.

    Args:
        graded: The matched memories, or an array with a row for each.
    """
    if not len(graded):
        return GradeFigures(0, *(None,) * 6)
    given, labelled, length = np.array(graded, dtype=np.float64).T
    long = length > _LONG
    gap = given - labelled
    vital = labelled >= np.median(labelled)
    return GradeFigures(
        pairs=len(graded), spearman=_spearman(given, labelled), mae=float(np.abs(gap).mean()), bias=float(gap.mean()),
        ordered=_ordered(given, labelled), short_vital=_mean(gap[~long & vital]), long_trivial=_mean(gap[long & ~vital]),
    )  # fmt: skip


def _mean(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float | None:
    return float(values.mean()) if values.size else None


def _spearman(given: np.ndarray[tuple[int], np.dtype[np.float64]], labelled: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float | None:
    if len(given) < 2 or np.ptp(given) == 0 or np.ptp(labelled) == 0:
        return None
    from scipy.stats import spearmanr

    return float(spearmanr(given, labelled).statistic)


def _ordered(given: np.ndarray[tuple[int], np.dtype[np.float64]], labelled: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float | None:
    """Return (1 + D) / 2 of Somers' D (Somers 1962, American Sociological Review 27:799), by way of Kendall's tau-b, which sorts."""
    both, ties_labelled, ties_given = (_pairs(len(given)), _tied(labelled), _tied(given))
    if both == ties_labelled:
        return None
    if both == ties_given:
        return 0.5
    from scipy.stats import kendalltau

    surplus = float(kendalltau(labelled, given).statistic) * math.sqrt((both - ties_labelled) * (both - ties_given))
    return float(1 + surplus / (both - ties_labelled)) / 2


def _pairs(count: int) -> int:
    return count * (count - 1) // 2


def _tied(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> int:
    return sum(_pairs(int(count)) for count in np.unique(values, return_counts=True)[1])

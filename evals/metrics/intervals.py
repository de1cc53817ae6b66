"""The figures of a tally with their intervals: those of summed counts, and those that need candidates or single conversations."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from evals.metrics.figures import F1
from evals.metrics.tally import Tally
from evals.stats import Figure, Interval, WeightedAuroc, cluster_bootstrap, cluster_bootstrap_items
from evals.stats.bootstrap import Statistic

Floats = npt.NDArray[np.float64]
ENOUGH = 10
"""From so many hits and so many false positives on AUROC is told: with fewer, one lucky salience makes an extractor look perfect."""


def undefined(conversations: int) -> Interval:
    """Return the interval of a figure that is not told."""
    return Interval(value=None, low=None, high=None, conversations=conversations, undefined=1.0, method="none")


class Mean:
    """The mean of values, each weighing what its conversation does; NaN without weight.

    Args:
        values: One number an item; NaN counts nowhere.
        owner: The number of its conversation, from 0.
        conversations: How many there are.
    """

    def __init__(self, values: Floats, owner: npt.NDArray[np.int64], conversations: int) -> None:
        known = ~np.isnan(values)
        self._sum = np.bincount(owner[known], weights=values[known], minlength=conversations)
        self._count = np.bincount(owner[known], minlength=conversations).astype(np.float64)

    def __call__(self, weights: Floats) -> Floats:
        """Return the mean for each row of weights (rows, conversations)."""
        count = weights @ self._count
        result = np.full(count.shape, np.nan)
        np.divide(weights @ self._sum, count, out=result, where=count > 0)
        return result


def intervals_of(
    tally: Tally, figures: Mapping[str, Figure], *, resamples: int, seed: int, more: Mapping[str, Statistic] | None = None
) -> dict[str, Interval]:
    """Return figures by name with 95% intervals over conversations, among them "auroc" and "macro_f1".

    "auroc" (does salience rank hits above false positives?) is undefined under `ENOUGH` of either. "macro_f1" is the mean of F1 over the
    conversations in which it is defined.

    Args:
        tally: The counts.
        figures: Functions of summed counts, by name.
        resamples: Of the cluster bootstrap, 1 or more.
        seed: Of its generator.
        more: Functions of conversation weights, by name, to tell too.
    """
    found = cluster_bootstrap(tally.by_conversation, figures, resamples=resamples, seed=seed)
    own = F1(tally.by_conversation) if len(tally) else np.zeros(0)
    wanted: dict[str, Statistic] = {"macro_f1": Mean(own, np.arange(len(tally)), len(tally)), **(more or {})}
    hits = sum(tally.good)
    if min(hits, len(tally.good) - hits) < ENOUGH:
        found |= {"auroc": undefined(len(tally))}
    else:
        owner = np.array(tally.owner, dtype=np.intp)
        wanted["auroc"] = WeightedAuroc(np.array(tally.salience), np.array(tally.good, dtype=np.bool_), owner)
    return found | cluster_bootstrap_items(wanted, len(tally), resamples=resamples, seed=seed)


def salience_statistics(p: Floats, y: Floats, owner: npt.NDArray[np.int64], grades: Floats, conversations: int) -> dict[str, Statistic]:
    """Return "brier", "skill", "grade_mae" and "grade_bias" as functions of conversation weights; see `evals.calibration`.

    Args:
        p: Salience of each candidate that is a required hit or a false positive, 0 to 1.
        y: 1 for a hit, 0 for a false positive.
        owner: The number of its conversation, from 0.
        grades: A row for each matched memory: given and labelled salience, and the number of its conversation.
        conversations: How many there are.
    """
    brier, rate = Mean((p - y) ** 2, owner, conversations), Mean(y, owner, conversations)

    def skill(weights: Floats) -> Floats:
        share = rate(weights)
        constant = share * (1 - share)
        result = np.full(constant.shape, np.nan)
        np.divide(brier(weights), constant, out=result, where=constant > 0)
        return 1 - result

    gap, whose = grades[:, 0] - grades[:, 1], grades[:, 2].astype(np.int64)
    return {
        "brier": brier, "skill": skill,
        "grade_mae": Mean(np.abs(gap), whose, conversations), "grade_bias": Mean(gap, whose, conversations),
    }  # fmt: skip

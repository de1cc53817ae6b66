"""Confidence intervals by resampling whole conversations. How bounds follow from resamples is in `evals.stats.interval`.

The unit is the conversation, as the cases of one conversation resemble each other: resampling cases gives intervals that are far too
narrow. (Cluster bootstrap: Davison and Hinkley 1997, Bootstrap Methods and their Application, section 3.8.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import numpy as np

from evals.stats.figures import Figure, Floats, HarmonicMean, harmonic_mean, support_of
from evals.stats.interval import Interval, Resampled, make_interval
from evals.stats.resampling import MAX_CELLS, check_draws, leave_one_out_chunks, resampled_totals, rows_per_chunk, weight_chunks

Statistic = Callable[[Floats], Floats]
"""Weights of conversations (rows, conversations) to values (rows,), NaN where undefined; `WeightedAuroc` is one.

It may have a method `support(weights) -> Support`, as a figure may, and an attribute `width`, the columns of its own work arrays."""


def cluster_bootstrap(
    counts: Floats, figures: Mapping[str, Figure], *, resamples: int = 2000, seed: int, level: float = 0.95
) -> dict[str, Interval]:
    """Return each figure with its interval; all figures see the same resamples.

    The same counts and seed give the same interval of a figure, whichever other figures are asked for and however the work is
    cut into chunks.

    Args:
        counts: Counts a conversation, (conversations, k), finite; repeats are summed within the conversation.
        figures: Functions of summed counts, by name. A `Proportion` or `HarmonicMean` has an interval even where all
            conversations agree; any other function has none there.
        resamples: How many; 1 or more.
        seed: Of the generator, 0 or more.
        level: Confidence, between 0 and 1.

    Returns:
        The intervals, by the names given.

    Raises:
        ValueError: `counts` is not a two-dimensional array of finite numbers, a figure returns the wrong shape, or a number is out
            of range.
    """
    counts = checked_counts("counts", counts)
    check_draws(len(counts), resamples, level)
    totals = counts.sum(axis=0)
    drawn = resampled_totals(counts, resamples, seed=seed)

    def interval(name: str, figure: Figure) -> Interval:
        value, values = _evaluate(name, figure, totals[None]), _evaluate(name, figure, drawn)
        resampled = Resampled(float(value[0]), values, _left_out(name, figure, totals, counts))
        found = make_interval(resampled, support_of(figure, counts), conversations=len(counts), level=level)
        if isinstance(figure, HarmonicMean):
            return _widened(found, interval(name, figure.first), interval(name, figure.second))
        return found

    return {name: interval(name, figure) for name, figure in figures.items()}


def cluster_bootstrap_items(
    statistics: Mapping[str, Statistic], conversations: int, *, resamples: int = 2000, seed: int, level: float = 0.95
) -> dict[str, Interval]:
    """Return intervals of statistics that are no function of summed counts, on the same resamples as `cluster_bootstrap`.

    Args:
        statistics: Functions of conversation weights, by name, such as `WeightedAuroc`.
        conversations: How many there are, those without an item included.
        resamples: How many; 1 or more.
        seed: Of the generator; with the same seed and conversations the resamples are those of `cluster_bootstrap`.
        level: Confidence, between 0 and 1.

    Returns:
        The intervals, by the names given.

    Raises:
        ValueError: A number is out of range, or a statistic returns the wrong shape.
    """
    check_draws(conversations, resamples, level)
    widest = max((getattr(statistic, "width", 0) for statistic in statistics.values()), default=0)
    chunk = rows_per_chunk(max(conversations, widest))
    drawn = _by_chunk(statistics, weight_chunks(conversations, resamples if conversations else 0, seed=seed, chunk=chunk))
    left_out = _by_chunk(statistics, leave_one_out_chunks(conversations, chunk=chunk))
    whole = _by_chunk(statistics, [np.ones((1, conversations))] if conversations else [])
    result = {}
    for name, statistic in statistics.items():
        value = float(whole[name][0]) if conversations else math.nan
        resampled = Resampled(value, drawn[name], left_out[name])
        result[name] = make_interval(resampled, support_of(statistic, whole[name]), conversations=conversations, level=level)
    return result


def checked_counts(name: str, counts: Floats) -> Floats:
    """Return counts as an array of floats, or raise.

    Raises:
        ValueError: They are not two-dimensional, or not all finite.
    """
    array = np.asarray(counts, dtype=np.float64)
    if array.ndim != 2 or not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite numbers of shape (conversations, k), got shape {array.shape}")
    return array


def _evaluate(name: str, figure: Figure, sums: Floats) -> Floats:
    values = np.asarray(figure(sums), dtype=np.float64)
    if values.shape != sums.shape[:-1]:
        raise ValueError(f"figure {name!r} must map sums of shape {sums.shape} to {sums.shape[:-1]}, got {values.shape}")
    return values


def _left_out(name: str, figure: Figure, totals: Floats, counts: Floats) -> Floats:
    """The figure without each conversation in turn; a part at a time, as a whole second array of counts may be large."""
    rows = max(1, MAX_CELLS // max(1, counts.shape[1]))
    parts = [_evaluate(name, figure, totals - counts[start : start + rows]) for start in range(0, len(counts), rows)]
    return np.concatenate([np.empty(0), *parts])


def _by_chunk(statistics: Mapping[str, Statistic], chunks: Iterable[Floats]) -> dict[str, Floats]:
    parts: dict[str, list[Floats]] = {name: [np.empty(0)] for name in statistics}
    for weights in chunks:
        for name, statistic in statistics.items():
            values = np.asarray(statistic(weights), dtype=np.float64)
            if values.shape != weights.shape[:1]:
                raise ValueError(f"statistic {name!r} must return one value a row, {weights.shape[:1]}, got {values.shape}")
            parts[name].append(values)
    return {name: np.concatenate(arrays) for name, arrays in parts.items()}


def _widened(found: Interval, first: Interval, second: Interval) -> Interval:
    """Return a harmonic mean's interval widened by the parts that show no spread.

    The distances are combined as if the parts were independent, the square root of the sum of squares (Zou and Donner 2008,
    Statistics in Medicine 27:1693); parts at the boundary move together to their worst and best.
    """
    value, parts = found.value, (first, second)
    if value is None or found.method == "none" or all(part.method != "boundary" for part in parts):
        return found
    corners = []
    for side in ("low", "high"):
        ends = [getattr(part, side if part.method == "boundary" else "value") for part in parts]
        corners.append(float(harmonic_mean(*np.array(ends, dtype=np.float64)[:, None])[0]))
    spread = (found.low, found.high) if found.method == "bootstrap" else (value, value)
    low, high = (math.hypot(value - end, value - corner) for end, corner in zip(spread, corners, strict=True) if end is not None)
    return replace(found, low=max(0.0, value - low), high=min(1.0, value + high), method="boundary")

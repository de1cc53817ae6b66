"""Named counts that add up, and figures of sums of them. Which counts there are is up to each task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evals.stats import Figure, Proportion
from evals.stats.figures import Floats


class Counted:
    """The names of a row of counts.

    Args:
        columns: The names, in the order of the row.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = tuple(columns)
        self.index: Mapping[str, int] = {name: place for place, name in enumerate(self.columns)}

    def row(self, counts: Mapping[str, float]) -> Floats:
        """Return counts in order, 0 for those that are not given.

        Raises:
            KeyError: A name is unknown.
        """
        row = np.zeros(len(self.columns))
        for name, value in counts.items():
            row[self.index[name]] = value
        return row

    def total(self, *names: str) -> Figure:
        """Return the figure that adds up the counts of these names; a name given twice counts twice."""
        places = [self.index[name] for name in names]

        def add(counts: Floats) -> Floats:
            return np.asarray(counts[..., places].sum(axis=-1), dtype=np.float64)

        return add

    def mean(self, numerator: str, denominator: str) -> Figure:
        """Return one count divided by another of which it is no part, such as calls by sessions; NaN where there is none of the other."""
        above, below = self.total(numerator), self.total(denominator)

        def divide(counts: Floats) -> Floats:
            upper, lower = above(counts), below(counts)
            result = np.full(lower.shape, np.nan)
            np.divide(upper, lower, out=result, where=lower > 0)
            return result

        return divide

    def rate(self, numerator: str, denominator: str) -> Proportion:
        """Return one count as a share of another that it is a part of."""
        return Proportion(self.total(numerator), self.total(denominator))

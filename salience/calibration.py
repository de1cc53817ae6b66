"""A monotone map from the salience that a model gives to a calibrated one. Fitting it is not done here."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

from salience.errors import PolicyError
from salience.types import number_in_unit_interval


@dataclass(frozen=True, slots=True)
class CalibrationMap:
    """A non-decreasing, piecewise linear map on [0, 1], flat outside its first and last point.

    Attributes:
        points: (raw, calibrated) pairs, both from 0 to 1; raw strictly increasing, calibrated never falling; at least one.

    Raises:
        PolicyError: The points are not so.
    """

    points: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        try:
            pairs = tuple((number_in_unit_interval("raw", x), number_in_unit_interval("calibrated", y)) for x, y in self.points)
        except (TypeError, ValueError) as error:
            raise PolicyError(f"calibration.points must be pairs of numbers from 0 to 1, got {self.points!r}: {error}") from None
        if not pairs:
            raise PolicyError("calibration.points must hold at least one [raw, calibrated] pair, got none")
        for (x0, y0), (x1, y1) in pairwise(pairs):
            if x1 <= x0 or y1 < y0:
                raise PolicyError(f"calibration.points must rise: [{x1}, {y1}] may not follow [{x0}, {y0}]")
        object.__setattr__(self, "points", pairs)

    def __call__(self, raw: float) -> float:
        """Return the calibrated salience for a raw one (both 0 to 1)."""
        at = bisect_right(self.points, raw, key=lambda point: point[0])
        if at == 0:
            return self.points[0][1]
        x0, y0 = self.points[at - 1]
        if at == len(self.points):
            return y0
        x1, y1 = self.points[at]
        return y0 + (y1 - y0) * (raw - x0) / (x1 - x0)

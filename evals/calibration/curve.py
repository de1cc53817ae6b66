"""Precision and recall at every operating threshold that a row could have: exact, as outcomes are decided anew at each."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from evals.cell_scoring import Matched
from evals.metrics.outcomes import FALSE_POSITIVES, decide
from evals.rubric import Rubric

_MOST = 201


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """What the candidates at or above a threshold give.

    Attributes:
        threshold: 0 to 1.
        precision: None where nothing that counts is returned.
        recall: None where no memory is required.
        f1: None where both are undefined.
        predictions: Candidates at or above it.
    """

    threshold: float
    precision: float | None
    recall: float | None
    f1: float | None
    predictions: int


class ThresholdCurve:
    """Adds up cases as they come: a case's counts change only at its own candidates' saliences.

    Args:
        rubric: Which memories are required.
        tie_margin: The matcher's.
    """

    def __init__(self, rubric: Rubric, tie_margin: float) -> None:
        self._rubric, self._tie_margin = rubric, tie_margin
        self._steps: defaultdict[float, list[int]] = defaultdict(lambda: [0, 0, 0])
        self._required = 0

    def add(self, matched: Matched) -> None:
        """Add a case."""
        case = matched.case
        self._required += sum(self._rubric.grade(memory) == "required" for memory in case.memories)
        before = (0, 0, 0)
        for level in sorted({candidate.salience for candidate in matched.candidates}, reverse=True):
            outcome = decide(case, matched.candidates, matched.table, threshold=level, rubric=self._rubric, tie_margin=self._tie_margin)
            counted = [prediction.outcome for prediction in outcome.predictions if prediction.counted]
            now = (counted.count("hit"), sum(kind in FALSE_POSITIVES for kind in counted), len(counted))
            for place, (new, old) in enumerate(zip(now, before, strict=True)):
                self._steps[level][place] += new - old
            before = now

    def points(self) -> tuple[CurvePoint, ...]:
        """Return the curve from the highest salience down, at most 201 points, the last of them with every candidate."""
        found, sums = [], [0, 0, 0]
        for level in sorted(self._steps, reverse=True):
            sums = [one + step for one, step in zip(sums, self._steps[level], strict=True)]
            found.append(self._point(level, *sums))
        if len(found) <= _MOST:
            return tuple(found)
        return tuple(found[round(at * (len(found) - 1) / (_MOST - 1))] for at in range(_MOST))

    def _point(self, level: float, hits: int, false: int, predictions: int) -> CurvePoint:
        below = hits + false + self._required
        return CurvePoint(
            level,
            hits / (hits + false) if hits + false else None,
            hits / self._required if self._required else None,
            2 * hits / below if below else None,
            predictions,
        )

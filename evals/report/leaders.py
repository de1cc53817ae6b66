"""What every form of the main table shares: its columns, which of them need recall beside them, and how replies are summed up."""

from __future__ import annotations

from evals.metrics.counts import STATUSES
from evals.results import CellResult, Slice

FIGURES = (
    ("precision", "precision"), ("recall", "recall"), ("F1", "f1"), ("balanced", "balanced"), ("specificity", "specificity"),
    ("violations", "violation_rate"), ("noise", "noise_rate"), ("AUROC", "auroc"),
)  # fmt: skip
"""The figures of the table: title, and name in `CellResult.figures`."""
SLICE_FIGURES = tuple(pair for pair in FIGURES if pair[0] != "noise")
"""Those of a slice."""
GUARDS = frozenset({"specificity", "violation_rate", "noise_rate", "auroc"})
"""Figures that can look good where hardly anything right is said."""
TOO_FEW = 5
"""Under so many conversations an interval would say nothing, and none is shown for a slice."""
LOW_RECALL = 0.05


def silent(part: CellResult | Slice) -> bool:
    """Return whether a row or a slice finds so little that its guard figures are marked: recall is below .05."""
    recall = part.figures["recall"].value
    return recall is not None and recall < LOW_RECALL


def statuses(cell: CellResult) -> str:
    """Return how a row's replies could be read: "58/23/0/0/0 +3 too long" for ok, empty, repaired, cut off, unreadable."""
    text = "/".join(str(cell.total(f"status_{status}")) for status in STATUSES if status != "too_long")
    extra = [f"{cell.total('status_too_long')} too long"] if cell.total("status_too_long") else []
    extra += [f"{len(cell.failed)} failed"] if cell.failed else []
    return " +".join([text, *extra])

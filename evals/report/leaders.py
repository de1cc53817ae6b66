"""What every form of the main table shares: which rows find so little that some figures mislead, and how replies are summed up."""

from __future__ import annotations

from evals.metrics.counts import STATUSES
from evals.results import CellResult, Slice

TOO_FEW = 5
"""Under so many conversations an interval would say nothing, and none is shown for a slice."""
LOW_RECALL = 0.05


def silent(part: CellResult | Slice) -> bool:
    """Return whether a row or a slice finds so little that its guard figures are marked: recall is below .05."""
    recall = part.figures.get("recall")
    return recall is not None and recall.value is not None and recall.value < LOW_RECALL


def statuses(cell: CellResult) -> str:
    """Return how a row's replies could be read: "58/23/0/0/0 +3 too long" for ok, empty, repaired, cut off, unreadable."""
    if not any(cell.total(f"status_{status}") for status in STATUSES) and not cell.failed:
        return "-"
    text = "/".join(str(cell.total(f"status_{status}")) for status in STATUSES if status != "too_long")
    extra = [f"{cell.total('status_too_long')} too long"] if cell.total("status_too_long") else []
    extra += [f"{len(cell.failed)} failed"] if cell.failed else []
    return " +".join([text, *extra])

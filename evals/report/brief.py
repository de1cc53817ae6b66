"""A report in a line a row: the headline with its interval and the other figures of the table without. Text in, text out."""

from __future__ import annotations

from evals.metrics.measures import MEASURES
from evals.report.columns import aligned
from evals.report.numbers import interval, share
from evals.report.safe import printable
from evals.results import CellResult, Report


def render_brief(report: Report) -> str:
    """Return a report as a few lines: what was scored, then a line a row.

    Args:
        report: The report.
    """
    if not report.cells:
        return "nothing was scored\n"
    signature = max((cell.signature for cell in report.cells), key=lambda one: one.cases)
    part = ", a part of it" if signature.limited else ""
    head = (
        f"{report.task}: {signature.data.name} {signature.data.version} ({signature.data.hash}), split {signature.split}{part}: "
        f"{signature.cases} cases in {signature.conversations} conversations"
    )
    measures = MEASURES[report.task]
    others = [pair for pair in measures.shown if pair[1] != measures.headline]
    title = next(title for title, name in measures.shown if name == measures.headline)
    rows = [["", title, "95% interval", *(title for title, _ in others), "replies", "s"], *(_row(cell, others) for cell in report.cells)]
    return f"{head}\n{aligned(rows, left=1)}\n"


def _row(cell: CellResult, others: list[tuple[str, str]]) -> list[str]:
    headline = cell.figures[MEASURES[cell.task].headline]
    excluded = len(cell.failed) + len(cell.missing) + len(cell.unscored)
    replies = f"{len(cell.cases)}" + (f" ({excluded} not)" if excluded else "")
    bounds = interval(headline.low, headline.high)
    told = [share(cell.figures[name].value) for _, name in others]
    return [printable(cell.label), share(headline.value), bounds, *told, replies, f"{cell.seconds:.0f}"]

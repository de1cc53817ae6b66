"""Figures by slice as plain text, one table for every cell and way of slicing. Text in, text out; nothing is printed."""

from __future__ import annotations

from collections.abc import Iterator

from evals.report.columns import aligned
from evals.report.leaders import GUARDS, SLICE_FIGURES, TOO_FEW, silent
from evals.report.numbers import interval, share
from evals.report.safe import clip, printable
from evals.results import CellResult, Report, Slice
from evals.stats import FEW

_NAME = 32


def render_slices(report: Report) -> str:
    """Return the slices of a report as text, "" where none were asked for."""
    tables = [table for number, cell in enumerate(report.cells, start=1) for table in _tables(number, cell)]
    if not tables:
        return ""
    legend = (
        f"In brackets: 95% intervals (none under {TOO_FEW} conversations). ~ fewer than {FEW} conversations: too few to conclude from. "
        "negative: cases without a required memory, on which specificity rests. "
        "A case with several tags is in each of their slices. * recall is below .05: this figure can look good where hardly anything right "
        "is said."
    )
    return "\n\n".join([*tables, legend]) + "\n"


def _tables(number: int, cell: CellResult) -> Iterator[str]:
    for by in dict.fromkeys(one.by for one in cell.slices):
        rows = [[f"by {by}", "cases", "negative", "convs.", *(title for title, _ in SLICE_FIGURES)]]
        rows += [_row(one) for one in cell.slices if one.by == by]
        yield f"[{number}] {printable(cell.label)}\n{aligned(rows, left=1)}"


def _row(one: Slice) -> list[str]:
    few = "~" if one.conversations < FEW else ""
    figures = [one.figures[name] for _, name in SLICE_FIGURES]
    sure = one.conversations >= TOO_FEW
    marks = ["*" if silent(one) and name in GUARDS and one.figures[name].value is not None else "" for _, name in SLICE_FIGURES]
    told = [
        f"{share(figure.value)}{mark} {interval(figure.low, figure.high) if sure else ''}".strip()
        for figure, mark in zip(figures, marks, strict=True)
    ]
    counts = [f"{one.totals['cases']:.0f}", f"{one.totals['negatives']:.0f}", f"{one.conversations}{few}"]
    return [clip(printable(one.name), _NAME), *counts, *told]

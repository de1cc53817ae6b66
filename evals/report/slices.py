"""Figures by slice as plain text, one table for every cell and way of slicing. Text in, text out; nothing is printed."""

from __future__ import annotations

from collections.abc import Iterator

from evals.metrics.measures import MEASURES, Measures
from evals.report.columns import aligned
from evals.report.leaders import TOO_FEW, silent
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
    about = ""
    if report.task == "extraction":
        about = (
            " negative: cases without a required memory, on which specificity rests. * recall is below .05: this figure can look good "
            "where hardly anything right is said."
        )
    legend = (
        f"In brackets: 95% intervals (none under {TOO_FEW} conversations). ~ fewer than {FEW} conversations: too few to conclude from. "
        f"A case with several tags is in each of their slices.{about}"
    )
    return "\n\n".join([*tables, legend]) + "\n"


def _tables(number: int, cell: CellResult) -> Iterator[str]:
    measures = MEASURES[cell.task]
    for by in dict.fromkeys(one.by for one in cell.slices):
        beside = [measures.beside[0]] if measures.beside else []
        rows = [[f"by {by}", "cases", *beside, "convs.", *(title for title, _ in measures.of_slices)]]
        rows += [_row(one, measures) for one in cell.slices if one.by == by]
        yield f"[{number}] {printable(cell.label)}\n{aligned(rows, left=1)}"


def _row(one: Slice, measures: Measures) -> list[str]:
    few = "~" if one.conversations < FEW else ""
    figures = [one.figures[name] for _, name in measures.of_slices]
    sure = one.conversations >= TOO_FEW
    starred = measures.guards if silent(one) else frozenset()
    marks = ["*" if name in starred and one.figures[name].value is not None else "" for _, name in measures.of_slices]
    told = [
        f"{share(figure.value)}{mark} {interval(figure.low, figure.high) if sure else ''}".strip()
        for figure, mark in zip(figures, marks, strict=True)
    ]
    beside = [f"{one.totals[measures.beside[1]]:.0f}"] if measures.beside else []
    counts = [f"{one.totals['cases']:.0f}", *beside, f"{one.conversations}{few}"]
    return [clip(printable(one.name), _NAME), *counts, *told]

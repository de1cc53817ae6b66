"""Agreement of a judge of support as plain text. Every number comes from what was measured; nothing is computed here."""

from __future__ import annotations

from collections.abc import Sequence

from evals.matching.validate import Figure
from evals.report.columns import aligned
from evals.report.numbers import UNDEFINED, interval, share
from evals.support_agreement import SupportSlice


def support_text(slices: Sequence[SupportSlice]) -> str:
    """Return agreement as a table, the whole first.

    Args:
        slices: What was measured.
    """
    rows = [["", "statements", "unsupported", "kappa", "accuracy", "precision", "recall"]]
    for one in slices:
        figures = [_figure(figure) for figure in (one.kappa, one.accuracy, one.precision, one.recall)]
        rows.append([one.name, str(one.claims), str(one.unsupported), *figures])
    lines = [
        "Statements that match no label: does the conversation bear them out? Looked for are those that it does not",
        aligned(rows, left=1),
    ]
    if slices and slices[0].unread:
        lines.append(f"{slices[0].unread} more statements have no answer that can be read")
    return "\n".join(lines) + "\n"


def _figure(figure: Figure) -> str:
    return UNDEFINED if figure.value is None else f"{share(figure.value)} {interval(figure.low, figure.high)}"

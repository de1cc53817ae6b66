"""Rows of text as columns of one width. Text in, text out; what stands in them is up to the callers."""

from __future__ import annotations

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]], *, left: int, header: int = 1) -> str:
    """Return rows as lines with columns under each other and a line of dashes under the header.

    Args:
        rows: All equally long, none empty.
        left: So many columns are flush left, the others right.
        header: So many rows are the header.
    """
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for position, row in enumerate(rows):
        if position == header:
            lines.append("-" * (sum(widths) + 2 * (len(widths) - 1)))
        parts = [text.ljust(size) if i < left else text.rjust(size) for i, (text, size) in enumerate(zip(row, widths, strict=True))]
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)

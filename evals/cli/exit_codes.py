"""When a command that made a report ends with 3. It looks at a report and loads nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evals.results import Report

MAX_ERROR_RATE = 0.05
"""Above this share of failed calls a row is not a result, and a command ends with exit code 3; `--max-error-rate` sets another."""


def exit_code(report: Report, max_error_rate: float | None = None) -> int:
    """Return 3 if a row of a report is incomplete or has too many errors, else 0."""
    rate = MAX_ERROR_RATE if max_error_rate is None else max_error_rate
    return 3 if any(cell.missing or cell.error_rate > rate for cell in report.cells) else 0

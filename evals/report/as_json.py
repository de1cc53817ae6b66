"""A report as JSON-ready values: every figure with its interval, every count, and every case."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from evals.metrics.counts import COLUMNS
from evals.results import CaseResult, CellResult, Excluded, Report


def report_to_dict(report: Report, *, cases: bool) -> dict[str, Any]:
    """Return a report as values for `json.dumps`.

    Args:
        report: The report.
        cases: Whether every case is listed too, or only the figures.
    """
    return {
        "schema_version": 1,
        "folder": report.folder,
        "notices": list(report.notices),
        "cells": [_cell(cell, cases=cases) for cell in report.cells],
    }


def _cell(cell: CellResult, *, cases: bool) -> dict[str, Any]:
    content: dict[str, Any] = {
        "model": cell.model,
        "policy": cell.policy,
        "signature": str(cell.signature),
        "figures": {name: asdict(figure) for name, figure in cell.figures.items()},
        "macro_f1": cell.macro_f1,
        "counts": {name: round(sum(result.counts[name] for result in cell.cases), 6) for name in COLUMNS},
        "failed": [_excluded(entry) for entry in cell.failed],
        "missing": [_excluded(entry) for entry in cell.missing],
        "unscored": [_excluded(entry) for entry in cell.unscored],
        "input_tokens": cell.input_tokens,
        "output_tokens": cell.output_tokens,
        "seconds": round(cell.seconds, 6),
        "cached": cell.cached,
    }
    if cases:
        content["cases"] = [_case(result) for result in cell.cases]
    return content


def _excluded(entry: Excluded) -> dict[str, str]:
    return {"case": entry.case, "kind": entry.kind, "message": entry.message}


def _case(result: CaseResult) -> dict[str, Any]:
    return {
        "case": result.case.id,
        "conversation": result.case.conversation,
        "status": result.status,
        "predictions": [asdict(entry) for entry in result.outcome.predictions],
        "matched": dict(result.outcome.matched),
        "missed": list(result.outcome.missed),
        "violations": list(result.outcome.violations),
    }

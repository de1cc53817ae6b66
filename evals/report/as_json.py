"""A report as JSON: every figure with its interval and every count in one value, and every case on a line of its own."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from evals.results import CaseResult, CellResult, Excluded, Report, Slice
from evals.runlog import write_json, write_lines

REPORT, CASES = "report.json", "cases.jsonl"


def report_to_dict(report: Report) -> dict[str, Any]:
    """Return the figures of a report as values for `json.dumps`."""
    return {
        "schema_version": 2,
        "task": report.task,
        "folder": report.folder,
        "notices": list(report.notices),
        "silver": report.silver,
        "cells": [_cell(cell) for cell in report.cells],
    }


def write_report(report: Report, folder: Path) -> None:
    """Write a report into a run folder: the figures to `report.json`, what became of every case to `cases.jsonl`.

    Raises:
        RunError: A file cannot be written.
    """
    write_json(folder / REPORT, report_to_dict(report))
    write_lines(folder / CASES, (_case(cell, result) for cell in report.cells for result in cell.cases))


def _cell(cell: CellResult) -> dict[str, Any]:
    return {
        "model": cell.model,
        "policy": cell.policy,
        "signature": str(cell.signature),
        "figures": {name: asdict(figure) for name, figure in cell.figures.items()},
        "macro_f1": cell.macro_f1,
        "salience": None if cell.salience is None else asdict(cell.salience),
        "counts": {name: round(value, 6) for name, value in cell.totals.items()},
        "failed": [_excluded(entry) for entry in cell.failed],
        "missing": [_excluded(entry) for entry in cell.missing],
        "unscored": [_excluded(entry) for entry in cell.unscored],
        "input_tokens": cell.input_tokens,
        "output_tokens": cell.output_tokens,
        "cost": cell.cost,
        "spent": cell.spent,
        "seconds": round(cell.seconds, 6),
        "cached": cell.cached,
        "fallbacks": dict(cell.fallbacks),
        "reasoning_only": cell.reasoning_only,
        "flip_rate": cell.flip_rate,
        "slices": [_slice(one) for one in cell.slices],
    }


def _slice(one: Slice) -> dict[str, Any]:
    return {
        "by": one.by,
        "name": one.name,
        "conversations": one.conversations,
        "figures": {name: asdict(figure) for name, figure in one.figures.items()},
        "counts": {name: round(value, 6) for name, value in one.totals.items()},
    }


def _excluded(entry: Excluded) -> dict[str, str]:
    return {"case": entry.case, "kind": entry.kind, "message": entry.message}


def _case(cell: CellResult, result: CaseResult) -> dict[str, Any]:
    return {
        "model": cell.model,
        "policy": cell.policy,
        "case": result.case.id,
        "repeat": result.repeat,
        "conversation": result.case.conversation,
        "status": result.status,
        "gold": {memory.id: memory.content for memory in result.case.memories},
        "forbidden": {f"forbidden[{i}]": item.content for i, item in enumerate(result.case.forbidden)},
        "predictions": [asdict(entry) for entry in result.outcome.predictions],
        "matched": dict(result.outcome.matched),
        "missed": list(result.outcome.missed),
        "parted": dict(result.outcome.parted),
        "violations": list(result.outcome.violations),
    }

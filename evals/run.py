"""Cases x models x policies -> replies in the run file, a row after the other. How a row is asked for is in `evals.calls`."""

from __future__ import annotations

from pathlib import Path

from evals.calls import CellRun, Desk, Progress
from evals.folders import open_index
from evals.models.base import Baseline
from evals.models.calling import Caller
from evals.plan import Plan, manifest_of
from evals.played_calls import PlayedCellRun
from evals.runlog import MANIFEST, RunLog, write_json

__all__ = ["Desk", "Progress", "run_plan"]


def run_plan(plan: Plan, folder: Path, desk: Desk) -> None:
    """Ask for the replies that the run folder does not hold yet, until all are there or a limit is reached (`Budget.stopped`).

    Args:
        plan: What to run.
        folder: The run folder; made if it does not exist.
        desk: What to work with.

    Raises:
        RunError: The folder cannot be used.
        IncompleteError: The first calls of a cell, or many in a row, all failed.
        KeyboardInterrupt: Ctrl-C; all that was answered is in the folder.
    """
    kind = CellRun if plan.config.task == "extraction" else PlayedCellRun
    callers = {name: model if isinstance(model, Baseline) else Caller(model) for name, model in desk.models.items()}
    with RunLog(folder) as log:
        if not (folder / MANIFEST).exists():
            fingerprints = {name: dict(model.fingerprint) for name, model in desk.models.items()}
            write_json(folder / MANIFEST, manifest_of(plan, fingerprints, {name: desk.prices.get(name) for name in desk.models}))
        with open_index(folder, plan) as index:
            for row, cell in enumerate(plan.cells):
                if desk.budget.stopped:
                    return
                kind(plan, row, callers[cell.model], index, log, desk).run()

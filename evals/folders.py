"""Which run folder an invocation works in: a named one, an unfinished one of the same plan, or a new one."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from evals.errors import RunError
from evals.paths import state_dir
from evals.plan import Fingerprints, Plan
from evals.replay import replay
from evals.runindex import RunIndex
from evals.runlog import MANIFEST, REPLIES, read_manifest


def rows_of(manifest: dict[str, Any]) -> list[tuple[str, str]]:
    """Return model and policy hash ("" for a baseline) of each cell of a run."""
    return [(cell["model"], cell["policy"] or "") for cell in manifest["cells"]]


def open_index(folder: Path, plan: Plan) -> RunIndex:
    """Return the index of a run folder of a plan."""
    return RunIndex(folder, [(cell.model, cell.policy_hash) for cell in plan.cells], plan.cases.ids, plan.config.repeats)


def choose_folder(plan: Plan, output: Path | None, fingerprints: Fingerprints, *, retry_errors: bool = False) -> Path:
    """Return the folder to run in: the one asked for, an unfinished run of the same plan and models, or a new one.

    Args:
        plan: The run.
        output: The folder that the user named, or None.
        fingerprints: Of each model: what answered before an interruption must be what answers after it.
        retry_errors: Whether a finished run with failed calls is taken up again too.

    Raises:
        RunError: The named folder holds another run, or something that is no run.
    """
    if output is not None:
        return _named(output, plan, fingerprints)
    runs = state_dir() / "runs"
    for folder in sorted(runs.glob(f"*-{plan.hash}"), reverse=True):
        same = (folder / MANIFEST).exists() and read_manifest(folder)["models"] == fingerprints
        if same and _is_open(plan, folder, retry_errors=retry_errors):
            return folder
        break
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    folder = runs / f"{stamp}-{plan.hash}"
    return folder if not folder.exists() else runs / f"{stamp}-{time.time_ns() % 1_000_000_000:09d}-{plan.hash}"


def _named(output: Path, plan: Plan, fingerprints: Fingerprints) -> Path:
    if (output / MANIFEST).exists():
        found = read_manifest(output)
        if found["plan"] != plan.hash:
            raise RunError(f"{output} holds another run (plan {found['plan']}, this is {plan.hash}); choose another folder with -o")
        changed = [name for name, before in found["models"].items() if before != fingerprints.get(name)]
        if changed:
            raise RunError(f"{output} was run with another version or setting of {changed[0]}; choose another folder with -o")
    elif output.exists() and not _is_new(output):
        raise RunError(f"{output} exists and is not a run; choose another folder with -o")
    return output


def _is_new(folder: Path) -> bool:
    """Whether a folder is empty, or holds only what a run leaves that could not even write its manifest."""
    return folder.is_dir() and all(
        entry.name.startswith(f".{MANIFEST}.") or (entry.name == REPLIES and not entry.stat().st_size) for entry in folder.iterdir()
    )


def _is_open(plan: Plan, folder: Path, *, retry_errors: bool) -> bool:
    """Whether there is still something to ask for in a run folder: see `evals.run` on what is asked again."""
    with open_index(folder, plan) as index:
        if retry_errors and index.any_failed():
            return True
        if plan.config.task != "extraction":
            return any(_is_open_row(plan, index, row) for row in range(len(plan.cells)))
        for row in range(len(plan.cells)):
            if not index.any_answered(row):
                return True
            if not all(index.has(row, case, repeat) for case in range(len(plan.cases)) for repeat in range(plan.config.repeats)):
                return True
    return any(cell.splits for cell in plan.cells) and _lacks_parts(plan, folder)


def _is_open_row(plan: Plan, index: RunIndex, row: int) -> bool:
    """Whether a case of a row that is played cannot be played to its end, and no call of it has failed."""
    setup = plan.cells[row].setup
    for place, case in enumerate(plan.cases):
        for repeat in range(plan.config.repeats):
            if setup is None:
                if not index.has(row, place, repeat):
                    return True
                continue
            played = replay(case, setup, lambda part, at=place, of=repeat: index.read(row, at, of, part))  # type: ignore[misc, arg-type]
            if played.result is None and played.failure is None:
                return True
    return False


def _lacks_parts(plan: Plan, folder: Path) -> bool:
    """Whether a part of a long turn has no record."""
    from salience import build_requests

    with open_index(folder, plan) as index:
        for row, cell in enumerate(plan.cells):
            if cell.policy is None or not cell.splits:
                continue
            for place, case in enumerate(plan.cases):
                parts = range(1, len(build_requests(cell.policy, case.turn())))
                if not all(index.has(row, place, repeat, part) for repeat in range(plan.config.repeats) for part in parts):
                    return True
    return False

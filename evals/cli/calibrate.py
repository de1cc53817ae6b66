"""`salience calibrate`: what the salience of a run is worth, and a policy with map and threshold."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from evals.calibration.calibrate import Calibration, calibrate, calibrated
from evals.cell_scoring import Matched, Watch
from evals.cli.output import note, print_json, print_text
from evals.errors import WorkbenchError
from evals.openings import log_opening
from evals.report.calibration import calibration_text
from evals.results import CellResult
from evals.runlog import read_manifest
from evals.scorers import make_scorer
from evals.scoring import score_run
from evals.workbench import require_extraction_run, run_data, split_name
from salience import Policy
from salience.policy_file import policy_from_text


def run(options: argparse.Namespace) -> int:
    """Run `salience calibrate` and return 0."""
    folder, wanted = split_name(options.run)
    manifest = read_manifest(folder)
    require_extraction_run(manifest, folder, "calibrate fits the salience of candidates")
    if manifest["data"]["split"] not in ("train", "dev"):
        raise WorkbenchError(
            f"{folder} was run on split {manifest['data']['split']}: a map learned on test cases would be scored on what it has seen; "
            "run the policy on --split dev or train and calibrate that run"
        )
    if options.output and Path(options.output).exists():
        raise WorkbenchError(f"{options.output} exists already; policies are never overwritten, choose another name")
    dataset = run_data(manifest["data"], options.data, options.columns)
    seed = manifest["seed"] if options.seed is None else options.seed
    log_opening(dataset)
    scorer = replace(make_scorer(options.matcher, options.rubric, seed, (), options.judge_url), support=None)  # it decides no figure here
    seen: dict[int, list[Matched]] = {}
    report = score_run(folder, dataset, scorer, watch=_collect(seen), only=wanted)
    rows, matched = range(len(report.cells)), [seen[row] for row in sorted(seen)]  # one entry for each row that was scored
    policies = {row: _policy(report.cells[row], manifest) for row in rows}
    for row, policy in policies.items():
        _check_raw(report.cells[row].label, policy)
    writes = _the_one(report.cells, policies) if options.output else None
    found = {row: calibrate(matched[row], scorer.rubric, scorer.matcher.tie_margin, seed=seed) for row in rows}
    if options.json:
        print_json([{"row": report.cells[row].label, "signature": str(report.cells[row].signature), **_plain(found[row])} for row in rows])
    else:
        print_text("\n".join(calibration_text(report.cells[row], found[row]) for row in rows))
    if writes is not None:
        row, policy = writes
        _write(options, policy, found[row], str(report.cells[row].signature))
    return 0


def _collect(seen: dict[int, list[Matched]]) -> Callable[[int], Watch]:
    return lambda row: seen.setdefault(row, []).append


def _the_one(cells: Sequence[CellResult], policies: Mapping[int, Policy | None]) -> tuple[int, Policy]:
    """Return the row to write with its policy; raise unless just one of the rows has a policy."""
    having = [(row, policy) for row, policy in policies.items() if policy is not None]
    if not having:
        raise WorkbenchError(f"{', '.join(cells[row].label for row in policies)}: a baseline has no policy to calibrate")
    if len(having) > 1:
        names = ", ".join(cells[row].label for row, _ in having)
        raise WorkbenchError(f"-o writes the policy of one row; say which with RUN:model@policy (rows: {names})")
    return having[0]


def _check_raw(label: str, policy: Policy | None) -> None:
    """Raise if the candidates do not have the model's own salience."""
    if policy is not None and policy.calibration is not None:
        raise WorkbenchError(
            f"{label}: the policy has a calibration map already, so its run holds no salience of the model's own; "
            f"calibrate the run of the policy that it was made from"
        )
    if policy is not None and policy.options.min_salience > 0:
        note(f"{label}: candidates below min_salience {policy.options.min_salience:g} were dropped and teach nothing")


def _policy(cell: CellResult, manifest: dict[str, Any]) -> Policy | None:
    wanted = cell.signature.policy
    if wanted is None:
        return None
    return policy_from_text(json.dumps(manifest["policies"][wanted.hash]), where=f"policy {wanted.name!r} of the run")


def _write(options: argparse.Namespace, policy: Policy, found: Calibration, source: str) -> None:
    name = options.name or f"{policy.name}-calibrated"
    if name in Policy.names():
        raise WorkbenchError(f"{name!r} is the name of a policy that ships; choose another --name")
    made = calibrated(policy, found, name, source)
    try:
        made.save(options.output)
    except OSError as error:
        raise WorkbenchError(f"{options.output}: cannot be written: {error.strerror or error}") from None
    note(f"{options.output}: {made.name} {made.hash}, threshold {made.threshold:g} on the new scale")


def _plain(found: Calibration) -> dict[str, Any]:
    choice = found.choice
    plain = {name: value for name, value in asdict(found).items() if name != "choice"}
    chosen = None if choice is None else {"kind": choice.kind, "points": choice.map.points, "scores": dict(choice.scores)}
    return plain | {"map": chosen}

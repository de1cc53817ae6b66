"""`salience score`: a run folder is scored again."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from evals.cli.exit_codes import exit_code
from evals.cli.output import note, print_json, print_text, terminal_width
from evals.data.select import Selection, select
from evals.errors import WorkbenchError
from evals.openings import log_opening
from evals.prices import Prices
from evals.report.as_json import CASES, REPORT, report_to_dict, write_report
from evals.report.slices import render_slices
from evals.report.terminal import render, render_case
from evals.results import CaseResult, CellResult
from evals.runlog import read_manifest
from evals.scorers import make_scorer
from evals.scoring import score_run
from evals.workbench import run_data


def run(options: argparse.Namespace) -> int:
    """Run `salience score` and return its exit code."""
    if options.json and (options.show or options.case):
        raise WorkbenchError("--show and --case do not go with --json: every case is in the run's cases.jsonl")
    folder = Path(options.run)
    manifest = read_manifest(folder)
    dataset = run_data(manifest["data"], options.data, options.columns, manifest["task"])
    select(dataset.cases, Selection(ids=tuple(options.case)))  # an id that does not occur is an error
    seed = manifest["seed"] if options.seed is None else options.seed
    log_opening(dataset)
    prices = Prices(Path(options.prices)) if options.prices else None
    report = score_run(folder, dataset, make_scorer(options.matcher, options.rubric, seed, options.by, options.judge_url), prices)
    write_report(report, folder)
    if options.json:
        print_json(report_to_dict(report))
        return exit_code(report)
    print_text(render(report, terminal_width()))
    if options.by:
        print_text("\n" + render_slices(report))
    for cell in report.cells:
        for result in _shown(cell, options):
            print_text(f"\n{cell.label}: {render_case(result)}")
    note(f"{folder / REPORT} and {folder / CASES} now hold this scoring")
    return exit_code(report)


def _shown(cell: CellResult, options: argparse.Namespace) -> Iterator[CaseResult]:
    """The cases asked for by id, and some dev cases where a number is given; test cases are shown by id only."""
    left = options.show or 0
    for result in cell.cases:
        if result.case.id in options.case:
            yield result
        elif left and result.case.split == "dev":
            left -= 1
            yield result

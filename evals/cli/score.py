"""`salience score`: a run folder is scored again."""

from __future__ import annotations

import argparse
from pathlib import Path

from evals.cli.exit_codes import exit_code
from evals.cli.output import print_json, print_text, terminal_width
from evals.data.files import load_dataset
from evals.openings import log_opening
from evals.prices import Prices
from evals.report.as_json import report_to_dict, write_report
from evals.report.terminal import render
from evals.runlog import read_manifest
from evals.scorers import make_scorer
from evals.scoring import score_run


def run(options: argparse.Namespace) -> int:
    """Run `salience score` and return its exit code."""
    folder = Path(options.run)
    manifest = read_manifest(folder)
    dataset = load_dataset(options.data or manifest["data"]["argument"], options.columns or manifest["data"]["columns"]).of_split(
        manifest["data"]["split"]
    )
    seed = manifest["seed"] if options.seed is None else options.seed
    log_opening(dataset)
    prices = Prices(Path(options.prices)) if options.prices else None
    report = score_run(folder, dataset, make_scorer(options.matcher, options.rubric, seed), prices)
    write_report(report, folder)
    if options.json:
        print_json(report_to_dict(report))
    else:
        print_text(render(report, terminal_width()))
    return exit_code(report)

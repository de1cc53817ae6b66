"""`salience report`: a run is scored and written as a page, a table, a document for CI, or text. Scoring and drawing are elsewhere."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.calibration.curve import ThresholdCurve
from evals.cell_scoring import Watch
from evals.cli.exit_codes import exit_code
from evals.cli.output import note, print_json, print_text, terminal_width
from evals.errors import WorkbenchError
from evals.metrics.slices import BY
from evals.openings import log_opening
from evals.prices import Prices
from evals.report.as_json import report_to_dict
from evals.report.junit import junit_xml
from evals.report.markdown import report_markdown
from evals.report.slices import render_slices
from evals.report.summary import STEP_SUMMARY, append_step_summary
from evals.report.tables import csv_text, parquet_bytes, write_whole
from evals.report.terminal import render
from evals.results import CellResult, Report
from evals.runlog import MANIFEST, read_manifest
from evals.scorers import make_scorer
from evals.scoring import Scorer, score_run
from evals.workbench import run_data
from salience import Policy
from salience.policy_file import policy_from_text

_TABLES = (".csv", ".parquet")


@dataclass(frozen=True, slots=True)
class _Scored:
    """A scored run with what only the page shows.

    Attributes:
        report: The report.
        manifest: Of its run.
        curves: A row's number -> precision and recall over the threshold; empty unless a page is made.
        table: Which frame a table is: "runs", "cases" or "matches".
    """

    report: Report
    manifest: dict[str, Any]
    curves: dict[int, ThresholdCurve]
    table: str


def run(options: argparse.Namespace) -> int:
    """Run `salience report` and return the exit code of `salience score`."""
    folder = Path(options.run)
    manifest = read_manifest(folder)
    output = _checked_output(options, folder, manifest)
    dataset = run_data(manifest["data"], options.data, options.columns, manifest["task"])
    seed = manifest["seed"] if options.seed is None else options.seed
    log_opening(dataset)
    scorer = make_scorer(options.matcher, options.rubric, seed, options.by or BY, options.judge_url)
    prices = Prices(Path(options.prices)) if options.prices else None
    curves: dict[int, ThresholdCurve] = {}
    drawn = manifest["task"] == "extraction" and output is not None and output.suffix.lower() == ".html"
    watch = _watch(scorer, curves) if drawn else None
    report = score_run(folder, dataset, scorer, prices, watch)
    if options.json:
        print_json(report_to_dict(report))
    elif output is None:
        print_text(render(report, terminal_width()) + "\n" + render_slices(report))
    if output is not None:
        make = _FORMATS[output.suffix.lower()]
        write_whole(output, make(_Scored(report, manifest, curves, options.table or "runs")))
        note(f"wrote {output}")
    if os.environ.get(STEP_SUMMARY) and not append_step_summary(report_markdown(report), os.environ):
        note(f"the summary of this step, {os.environ[STEP_SUMMARY]}, cannot be written or would be too long; it is left as it is")
    return exit_code(report)


def _checked_output(options: argparse.Namespace, folder: Path, manifest: dict[str, Any]) -> Path | None:
    """Return the file to write, or None; raise before anything is scored if it cannot be written, or is something that is read."""
    output = Path(options.output) if options.output else None
    ending = "" if output is None else output.suffix.lower()
    if options.table and ending not in _TABLES:
        raise WorkbenchError(f"--table chooses what a table holds; it goes with -o FILE where FILE ends in {' or '.join(_TABLES)}")
    if output is None:
        return None
    if ending not in _FORMATS:
        given = f"the ending {ending!r} names no format" if ending else "the name has no ending, which would name the format"
        raise WorkbenchError(f"{output}: {given}; it must be one of {', '.join(_FORMATS)}")
    if not output.parent.is_dir():
        raise WorkbenchError(f"{output}: there is no folder {output.parent}; make it, or choose another name with -o")
    if output.is_dir():
        raise WorkbenchError(f"{output} is a folder; give the name of a file with -o")
    named = [options.data or "", manifest["data"]["argument"]]  # a file, or FORMAT:FILE
    read = [folder / MANIFEST, *named, *(one.partition(":")[2] for one in named), options.prices, options.rubric]
    if output.exists() and any(output.samefile(one) for one in read if one and Path(one).exists()):
        raise WorkbenchError(f"{output} is read for this report, so it is not overwritten; choose another name with -o")
    return output


def _watch(scorer: Scorer, curves: dict[int, ThresholdCurve]) -> Callable[[int], Watch]:
    def watch(row: int) -> Watch:
        curves[row] = ThresholdCurve(scorer.rubric, scorer.matcher.tie_margin)
        return curves[row].add

    return watch


def _page(scored: _Scored) -> bytes:
    from evals.report.html import html_page

    points = [scored.curves[row].points() if row in scored.curves else () for row in range(len(scored.report.cells))]
    thresholds = [_threshold(cell, scored.manifest) for cell in scored.report.cells]
    return _encoded(html_page(scored.report, points, thresholds))


def _threshold(cell: CellResult, manifest: dict[str, Any]) -> float:
    """The operating threshold of a row, 0 to 1."""
    policy = cell.signature.policy
    if policy is None or cell.task != "extraction":
        return Policy().threshold
    return policy_from_text(json.dumps(manifest["policies"][policy.hash]), where=f"policy {policy.name!r} of the run").threshold


def _encoded(text: str) -> bytes:
    """UTF-8; half of a surrogate pair, which it cannot hold, is written out."""
    return text.encode("utf-8", "backslashreplace")


def _frame(scored: _Scored) -> Any:
    return getattr(scored.report.to_frames(), scored.table)


_FORMATS: dict[str, Callable[[_Scored], bytes]] = {
    ".html": _page,
    ".md": lambda scored: _encoded(report_markdown(scored.report)),
    ".xml": lambda scored: _encoded(junit_xml(scored.report)),
    ".json": lambda scored: _encoded(json.dumps(report_to_dict(scored.report), indent=1, ensure_ascii=False) + "\n"),
    ".csv": lambda scored: _encoded(csv_text(_frame(scored))),
    ".parquet": lambda scored: parquet_bytes(_frame(scored)),
}

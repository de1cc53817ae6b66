"""`salience compare`, `salience gate` and `salience baseline`."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from evals.baseline import write_baseline
from evals.cli.exit_codes import MAX_ERROR_RATE
from evals.cli.output import note, print_json, print_text
from evals.compare import Comparison, check_comparable, compare
from evals.errors import IncompleteError, WorkbenchError
from evals.gate import GateConfig, Verdict, gate, requirement, resolution
from evals.pins import check_pins, read_pins
from evals.report.comparison import (
    Contents,
    comparison_json,
    comparison_markdown,
    comparison_text,
    resolution_text,
    verdict_text,
)
from evals.report.gate_junit import gate_junit
from evals.report.summary import STEP_SUMMARY, append_step_summary
from evals.results import CellResult
from evals.workbench import Lab, ScoreOptions
from salience import Policy

_FORMATS = (".md", ".json", ".xml")


def run_compare(options: argparse.Namespace) -> int:
    """Run `salience compare` and return 0: comparing judges nothing."""
    _check_output(options.output, (".md", ".json"))
    lab = _lab(options)
    base, new = lab.row(options.base), lab.row(options.new)
    found = compare(base.side, new.side, by=tuple(dict.fromkeys(options.by)), seed=options.seed)
    contents = _contents(new.cell or base.cell)
    if options.json:
        print_json(comparison_json(found))
    else:
        print_text(comparison_text(found, contents, show=options.show))
    _write(options.output, found, contents, None)
    return 0


def run_gate(options: argparse.Namespace) -> int:
    """Run `salience gate` and return its exit code: 0 pass, 1 fail, 4 inconclusive."""
    _check_output(options.output, _FORMATS)
    config = GateConfig(
        figure=options.figure, margin=options.margin, max_leaks=options.max_leaks, seed=options.seed,
        requirements=tuple(requirement(text) for text in options.require), inconclusive=options.inconclusive or "inconclusive",
    )  # fmt: skip
    pins = read_pins(Path(options.pins)) if options.pins else ()
    lab = _lab(options)
    base = lab.row(options.base)
    if base.side.signature.limited:
        raise WorkbenchError(f"{options.base}: {base.side.label} covers a part of its split only; a gate needs a base of the whole split")
    resolved = resolution(base.side, config)
    if not options.json:
        print_text(resolution_text(resolved, config.figure, config.margin) + "\n")
    new = lab.row(options.run)
    if new.cell is None:
        raise WorkbenchError(f"{options.run} is a baseline file; what is gated must be a run, such as RUN:model@policy")
    check_comparable(base.side, new.side)
    if new.cell.error_rate > MAX_ERROR_RATE or new.cell.missing:
        lacking = f"{len(new.cell.failed)} calls failed and {len(new.cell.missing)} are missing"
        raise IncompleteError(f"{new.side.label}: {lacking}; nothing is ruled on a run that is not complete (--retry-errors asks again)")
    found = compare(base.side, new.side, by=tuple(dict.fromkeys(options.by)), seed=config.seed)
    held = check_pins(pins, new.cell, lab.scorer().matcher)
    policy = new.side.signature.policy
    shipped = policy is not None and policy.name in Policy.names()
    verdict = gate(found, new.cell, held, config, shipped=shipped)
    contents = _contents(new.cell)
    if options.json:
        print_json(comparison_json(found, verdict, resolved))
    else:
        print_text(comparison_text(found, contents, show=options.show) + "\n" + verdict_text(verdict))
    _write(options.output, found, contents, verdict)
    return verdict.exit_code


def run_baseline(options: argparse.Namespace) -> int:
    """Run `salience baseline`: write a row of a run as a file to commit."""
    row = _lab(options).row(options.run)
    if row.cell is None:
        raise WorkbenchError(f"{options.run} is a baseline already")
    write_baseline(row.side, Path(options.output))
    note(f"{options.output}: {row.side.label}, {len(row.side.cases)} cases; {row.side.signature}")
    return 0


def _lab(options: argparse.Namespace) -> Lab:
    return Lab(
        ScoreOptions(
            data=options.data, columns=tuple(options.columns), matcher=options.matcher, rubric=options.rubric, seed=options.seed,
            judge_url=options.judge_url,
        )
    )  # fmt: skip


def _contents(cell: CellResult | None) -> Contents:
    return {} if cell is None else {one.case.id: {memory.id: memory.content for memory in one.case.memories} for one in cell.cases}


def _check_output(output: str | None, formats: tuple[str, ...]) -> None:
    if output and Path(output).suffix.lower() not in formats:
        raise WorkbenchError(f"{output}: the ending must be one of {', '.join(formats)}")
    if output and not Path(output).absolute().parent.is_dir():
        raise WorkbenchError(f"{output}: there is no folder {Path(output).absolute().parent}")


def _write(output: str | None, found: Comparison, contents: Contents, verdict: Verdict | None) -> None:
    markdown = comparison_markdown(found, contents, verdict)
    if os.environ.get(STEP_SUMMARY) and not append_step_summary(markdown, os.environ):
        note(f"{os.environ[STEP_SUMMARY]}: the step summary cannot be written, or would be too long")
    if not output:
        return
    path = Path(output)
    if path.suffix.lower() == ".json":
        import json

        text = json.dumps(comparison_json(found, verdict), indent=2) + "\n"
    elif path.suffix.lower() == ".xml":
        text = gate_junit(found, verdict) if verdict else ""
    else:
        text = markdown
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise WorkbenchError(f"{path}: cannot be written: {error.strerror or error}") from None
    note(f"{path} holds the result")

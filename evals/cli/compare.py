"""`salience compare`, `salience gate` and `salience baseline`."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Literal

from evals.baseline import write_baseline
from evals.cli.exit_codes import MAX_ERROR_RATE
from evals.cli.output import note, print_json, print_text
from evals.compare import Comparison, check_comparable, compare
from evals.errors import IncompleteError, WorkbenchError
from evals.gate import GateConfig, Resolution, Verdict, gate, gated, requirement, resolution
from evals.pins import Pin, check_pins, read_pins
from evals.report.comparison import (
    Contents,
    comparison_json,
    comparison_markdown,
    comparison_text,
    refusal_json,
    refusal_markdown,
    resolution_text,
    verdict_text,
)
from evals.report.gate_junit import gate_junit, refusal_junit
from evals.report.summary import STEP_SUMMARY, append_step_summary
from evals.results import CellResult
from evals.sides import Side
from evals.signature import PolicyId
from evals.workbench import Lab, Row, ScoreOptions
from salience import Policy

_FORMATS = (".md", ".json", ".xml")


def run_compare(options: argparse.Namespace) -> int:
    """Run `salience compare` and return 0: comparing judges nothing."""
    _check_output(options.output, (".md", ".json"))
    lab = _lab(options)
    base, new = lab.row(options.base), lab.row(options.new)
    _note_versions(base.side, new.side)
    found = compare(base.side, new.side, by=tuple(dict.fromkeys(options.by)), seed=options.seed)
    contents = _contents(new.cell or base.cell)
    if options.json:
        print_json(comparison_json(found))
    else:
        print_text(comparison_text(found, contents, show=options.show))
    _write(options.output, found, comparison_markdown(found, contents, show=options.show))
    return 0


def run_gate(options: argparse.Namespace) -> int:
    """Run `salience gate` and return its exit code: 0 pass, 1 fail, 4 inconclusive."""
    _check_output(options.output, _FORMATS)
    config = GateConfig(
        figure=options.figure, margin=options.margin, max_leaks=options.max_leaks, seed=options.seed,
        requirements=tuple(requirement(text) for text in options.require), inconclusive=options.inconclusive or "inconclusive",
    )  # fmt: skip
    pins = read_pins(Path(options.pins)) if options.pins else ()
    lab = _lab(options, "gate")
    base = lab.row(options.base)
    if base.side.signature.limited:
        raise WorkbenchError(f"{options.base}: {base.side.label} covers a part of its split only; a gate needs a base of the whole split")
    try:
        return _ruled(options, config, lab, base.side, pins)
    except IncompleteError as error:
        _write_refusal(options, error)
        raise


def _ruled(options: argparse.Namespace, config: GateConfig, lab: Lab, base: Side, pins: tuple[Pin, ...]) -> int:
    resolved = resolution(base, config)
    sentence = resolution_text(resolved, gated(base, config), config.margin)
    if not options.json:
        print_text(sentence + "\n")
    new = lab.row(options.run)
    if new.cell is None:
        raise WorkbenchError(f"{options.run} is a baseline file; what is gated must be a run, such as RUN:model@policy")
    check_comparable(base, new.side)
    _note_versions(base, new.side)
    _check_complete(new)
    found = compare(base, new.side, by=tuple(dict.fromkeys(options.by)), seed=config.seed)
    scorer = lab.scorer()
    if config.max_leaks is not None and new.side.task != "extraction":
        raise WorkbenchError(f"--max-leaks counts leaks of extraction; {new.side.label} is a row of the task {new.side.task}")
    if pins and new.side.task != "extraction":
        raise WorkbenchError(f"--pins holds memories of extraction cases; {new.side.label} is a row of the task {new.side.task}")
    held = check_pins(pins, new.cell, scorer.matcher, scorer.rubric)
    verdict = gate(found, new.cell, held, config, shipped=_shipped(new.side.signature.policy))
    contents = _contents(new.cell)
    if options.json:
        print_json(comparison_json(found, verdict, resolved))
    else:
        print_text(comparison_text(found, contents, show=options.show) + "\n" + verdict_text(verdict))
    markdown = comparison_markdown(found, contents, verdict, show=options.show, resolved=sentence)
    _write(options.output, found, markdown, verdict, resolved)
    return verdict.exit_code


def _check_complete(new: Row) -> None:
    """Raise if too many calls of a row failed, or any is missing; the message says how each is asked for again."""
    cell = new.cell
    if cell is None or (cell.error_rate <= MAX_ERROR_RATE and not cell.missing):
        return
    lacking, ways = [], []
    if cell.missing:
        lacking.append(f"{len(cell.missing)} calls are missing")
        ways.append("the same command again asks for what is missing")
    if cell.failed:
        lacking.append(f"{len(cell.failed)} calls failed")
        ways.append("with --retry-errors it asks for failed ones again" if ways else "the same command with --retry-errors asks again")
    raise IncompleteError(f"{new.side.label}: {' and '.join(lacking)}; nothing is ruled on a run that is not complete ({', '.join(ways)})")


def _shipped(policy: PolicyId | None) -> bool:
    """Whether a policy is one that ships; any may bear the name of one, so its content decides."""
    return policy is not None and policy.hash in {Policy.load(name).hash for name in Policy.names()}


def _note_versions(base: Side, new: Side) -> None:
    before, now = base.signature.version, new.signature.version
    if before != now:
        note(
            f"base was scored by version {before} of the workbench, new by {now}: what differs between them may differ for that alone; "
            "score both with one version (a baseline is made again with: salience baseline RUN -o FILE)"
        )


def run_baseline(options: argparse.Namespace) -> int:
    """Run `salience baseline`: write a row of a run as a file to commit."""
    row = _lab(options).row(options.run)
    if row.cell is None:
        raise WorkbenchError(f"{options.run} is a baseline already")
    write_baseline(row.side, Path(options.output))
    note(f"{options.output}: {row.side.label}, {len(row.side.cases)} cases; {row.side.signature}")
    return 0


def _lab(options: argparse.Namespace, purpose: Literal["benchmark", "gate"] = "benchmark") -> Lab:
    return Lab(
        ScoreOptions(
            data=options.data, columns=tuple(options.columns), matcher=options.matcher, rubric=options.rubric, seed=options.seed,
            judge_url=options.judge_url,
        ),
        purpose,
    )  # fmt: skip


def _contents(cell: CellResult | None) -> Contents:
    return {} if cell is None else {one.case.id: {memory.id: memory.content for memory in one.case.memories} for one in cell.cases}


def _check_output(output: str | None, formats: tuple[str, ...]) -> None:
    if output and Path(output).suffix.lower() not in formats:
        raise WorkbenchError(f"{output}: the ending must be one of {', '.join(formats)}")
    if output and not Path(output).absolute().parent.is_dir():
        raise WorkbenchError(f"{output}: there is no folder {Path(output).absolute().parent}")


def _write(
    output: str | None, found: Comparison, markdown: str, verdict: Verdict | None = None, resolved: Resolution | None = None
) -> None:
    if os.environ.get(STEP_SUMMARY) and not append_step_summary(markdown, os.environ):
        note(f"{os.environ[STEP_SUMMARY]}: the step summary cannot be written, or would be too long")
    if not output:
        return
    path = Path(output)
    if path.suffix.lower() == ".json":
        text = json.dumps(comparison_json(found, verdict, resolved), indent=2) + "\n"
    elif path.suffix.lower() == ".xml":
        text = gate_junit(found, verdict) if verdict else ""
    else:
        text = markdown
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise WorkbenchError(f"{path}: cannot be written: {error.strerror or error}") from None
    note(f"{path} holds the result")


def _write_refusal(options: argparse.Namespace, refused: IncompleteError) -> None:
    """Replace the file by one that says that nothing was ruled, so that no older verdict is taken for this one's."""
    if not options.output:
        return
    path, told = Path(options.output), str(refused)
    if path.suffix.lower() == ".json":
        text = json.dumps(refusal_json(told, refused.exit_code), indent=2) + "\n"
    elif path.suffix.lower() == ".xml":
        text = refusal_junit(options.run, told, refused.exit_code)
    else:
        text = refusal_markdown(told)
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:  # what is raised is why nothing was ruled
        note(f"{path}: cannot be written: {error.strerror or error}")

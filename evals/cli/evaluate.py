"""`salience eval`: plan, run, score, print."""

from __future__ import annotations

import argparse
from pathlib import Path

from evals.cli.output import print_json, print_text, terminal_width
from evals.cli.progress import note
from evals.cli.running import Bench, exit_code
from evals.errors import DataError, WorkbenchError
from evals.plan import Plan, RunConfig, make_plan
from evals.report.as_json import report_to_dict
from evals.report.terminal import render, render_case
from evals.results import Report
from evals.scorers import make_scorer

_OWN = """\
SmolLM2 with 135 million parameters is here to prove that the harness works on any machine, not to extract well. To run your own model:
  salience eval -m ollama/NAME        (a local Ollama server)
  salience eval -m openai/NAME        (key in OPENAI_API_KEY; any compatible server with --base-url URL)
  salience eval -m gguf:FILE          (any GGUF file, in process)"""


def run(options: argparse.Namespace) -> int:
    """Run `salience eval` and return its exit code."""
    config = RunConfig(
        data=options.data, split=options.split, models=tuple(options.model), policies=tuple(options.policy or ["default"]),
        limit=options.limit, seed=options.seed, base_url=options.base_url,
    )  # fmt: skip
    if options.json and options.show:
        raise WorkbenchError("--show and --json do not go together: cases are in the run's report.json")
    plan = make_plan(config)
    scorer = make_scorer(options.matcher, options.rubric, options.seed)
    if options.dry_run:
        print_text(_dry_run(plan))
        return 0
    with Bench(scorer, base_url=config.base_url, jobs=options.jobs, cached=not options.no_cache, quiet=options.quiet) as bench:
        report = bench.run(plan, Path(options.output) if options.output else None)
        _print(report, options)
        if options.show and not options.json:
            print_text("\n" + _shown(plan, report, bench, options))
    if not options.quiet:
        note(f"run: {report.folder}    (score it again: salience score {report.folder})")
    return exit_code(report)


def _print(report: Report, options: argparse.Namespace) -> None:
    if options.json:
        print_json(report_to_dict(report, cases=False))
        return
    print_text(render(report, terminal_width()))
    if any(cell.model.startswith("embedded/") for cell in report.cells):
        print_text("\n" + _OWN)


def _dry_run(plan: Plan) -> str:
    calls = len(plan.cases) * sum(cell.policy is not None for cell in plan.cells)
    lines = [f"{plan.dataset.name} {plan.dataset.version} ({plan.dataset.hash}), split {plan.config.split}: {len(plan.cases)} cases"]
    lines += [f"  {cell.label}" + (f" ({cell.policy.hash})" if cell.policy else "") for cell in plan.cells]
    return "\n".join([*lines, f"{calls} model calls at the most (replies in the cache are not asked for again); nothing was run"])


def _shown(plan: Plan, report: Report, bench: Bench, options: argparse.Namespace) -> str:
    """A few dev cases of the last row; where the run has none, they are run for this, so that no test case is shown."""
    last = plan.cells[-1]
    chosen = [result for result in report.cells[-1].cases if result.case.split == "dev"]
    if not chosen:
        config = RunConfig(
            data=plan.config.data, split="dev", models=(last.model,), policies=tuple(options.policy or ["default"])[-1:],
            limit=options.show, seed=plan.config.seed, base_url=plan.config.base_url,
        )  # fmt: skip
        try:
            dev = make_plan(config)
        except DataError:
            return "The data has no dev cases to show; test cases are not shown."
        chosen = list(bench.run(dev).cells[-1].cases)
    heading = f"Dev cases under {last.label}:"
    return "\n\n".join([heading, *(render_case(result) for result in chosen[: options.show])])

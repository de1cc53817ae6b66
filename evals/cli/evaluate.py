"""`salience eval`: plan, run, score, print."""

from __future__ import annotations

import argparse
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, cast

from evals.cli.exit_codes import exit_code
from evals.cli.output import note, print_json, print_text, terminal_width
from evals.cli.running import Bench, BenchOptions
from evals.data.select import Selection
from evals.errors import DataError, WorkbenchError
from evals.limits import Limits
from evals.matching.base import check_matcher, judge_model
from evals.plan import Plan, RunConfig, make_plan
from evals.prices import OPENAI_URL, Prices
from evals.rubric import rubric_named
from evals.setups import DATA
from salience import Policy, build_requests

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evals.recall_cases import Scenario
    from evals.results import Report
    from evals.scoring import Scorer

_OWN = """\
SmolLM2 with 135 million parameters is here to prove that the harness works on any machine, not to extract well. To run your own model:
  salience eval -m ollama/NAME        (a local Ollama server)
  salience eval -m openai/NAME        (key in OPENAI_API_KEY; any compatible server with --base-url URL)
  salience eval -m gguf:FILE          (any GGUF file, in process)"""

_DEFAULT_MODEL = "embedded/smollm2"
_GOES_ON = "the same command again goes on from there"


def run(options: argparse.Namespace) -> int:
    """Run `salience eval` and return its exit code."""
    if not options.model:
        options.model = [_DEFAULT_MODEL]
        note(f"no model is given with -m: {_DEFAULT_MODEL} is used; salience models list names others")
    config = RunConfig(
        task=options.task, data=options.data or DATA[options.task], split=options.split, models=tuple(options.model),
        policies=tuple(options.policy or ["default"]),
        columns=tuple(options.columns), selection=_selection(options), repeats=options.repeat, seed=options.seed, base_url=options.base_url,
    )  # fmt: skip
    _check_options(options)
    check_matcher(options.matcher)
    if judge_model(options.matcher):
        from evals.judge import open_judge

        open_judge(options.matcher, options.judge_url)  # whether it can be asked is told before the run, not after
    rubric_named(options.rubric)
    plan = make_plan(config)
    if options.dry_run:
        print_text(_dry_run(plan, Prices(_path(options.prices))))
        return 0
    with Bench(lambda: _scorer(options), _bench_options(options)) as bench:
        report = bench.run(plan, _path(options.output))
        _print(report, options)
        if options.show and not options.json:
            print_text("\n" + _shown(plan, report, bench, options))
    if bench.budget.stopped:
        on = "the next call does not fit alone: raise the limit, or split long turns" if bench.budget.hopeless else _GOES_ON
        note(f"stopped at {bench.budget.stopped}; {on}")
    if bench.budget.guessed:
        note(f"{bench.budget.guessed} replies did not tell their tokens; what was set aside for them was counted")
    if not options.quiet:
        given = {
            "--matcher": (options.matcher, "classifier"),
            "--judge-url": (options.judge_url, None),
            "--rubric": (options.rubric, "default"),
        }
        how = "".join(f" {name} {value}" for name, (value, usual) in given.items() if value != usual)
        note(f"run: {report.folder}    (score it again: salience score {report.folder}{how})")
        if any(cell.failed for cell in report.cells):
            note("calls failed; ask them again: the same command with --retry-errors")
    return 3 if bench.budget.stopped else exit_code(report, options.max_error_rate)


def _check_options(options: argparse.Namespace) -> None:
    """Raise where options do not go together, or mean nothing for the task."""
    if options.brief and (options.json or options.show or options.by):
        raise WorkbenchError("--brief is a line a row; --json, --show and --by do not go with it")
    if options.json and options.show:
        raise WorkbenchError("--show and --json do not go together: cases are in the run's cases.jsonl")
    if options.task != "extraction" and options.rubric != "default":
        raise WorkbenchError(f"--rubric grades memories of extraction cases; it means nothing for --task {options.task}")


def _selection(options: argparse.Namespace) -> Selection:
    return Selection(ids=tuple(options.case), tags=tuple(options.tag), limit=options.limit, shard=options.shard, seed=options.seed)


def _bench_options(options: argparse.Namespace) -> BenchOptions:
    limits = Limits(calls=options.max_calls, tokens=options.max_tokens, cost=options.max_cost, error_rate=options.max_error_rate)
    return BenchOptions(
        base_url=options.base_url, jobs=options.jobs, cached=not options.no_cache, quiet=options.quiet, timeout=options.timeout,
        limits=limits, prices=_path(options.prices), retry_errors=options.retry_errors, matcher=options.matcher,
    )  # fmt: skip


def _scorer(options: argparse.Namespace) -> Scorer:
    from evals.scorers import make_scorer

    return make_scorer(options.matcher, options.rubric, options.seed, options.by, options.judge_url)


def _path(name: str | None) -> Path | None:
    return Path(name) if name else None


def _print(report: Report, options: argparse.Namespace) -> None:
    from evals.report.as_json import report_to_dict
    from evals.report.brief import render_brief
    from evals.report.slices import render_slices
    from evals.report.terminal import render

    if options.json:
        print_json(report_to_dict(report))
        return
    if options.brief:
        print_text(render_brief(report))
        return
    print_text(render(report, terminal_width()))
    if options.by:
        print_text("\n" + render_slices(report))
    if report.task == "extraction" and any(cell.model.startswith("embedded/") for cell in report.cells):
        print_text("\n" + _OWN)


def _dry_run(plan: Plan, prices: Prices) -> str:
    called = [cell for cell in plan.cells if cell.under is not None]
    calls = plan.total * len(called)
    if any(cell.splits for cell in called):
        calls = sum(_calls(plan, cell.policy) for cell in called if cell.policy is not None)
    lines = [f"{plan.dataset.name} {plan.dataset.version} ({plan.dataset.hash}), split {plan.config.split}: {len(plan.cases)} cases"]
    lines += [f"  {cell.label}" + (f" ({cell.policy_hash})" if cell.under else "") for cell in plan.cells]
    for model in dict.fromkeys(cell.model for cell in called):
        price = prices.of(model, {"endpoint": OPENAI_URL} if plan.config.base_url is None else None)
        told = "price unknown" if price is None else f"${price.input:g} and ${price.output:g} a million tokens in and out ({price.source})"
        lines.append(f"  {model}: {told}")
    known = "replies in the cache are not asked for again"
    if plan.config.task == "scenario" and called:
        sessions = plan.config.repeats * len(called) * sum(len(case.sessions) for case in cast("Sequence[Scenario]", plan.cases))
        return "\n".join(
            [*lines, f"{sessions} sessions: a model call for the facts of each, and more to decide on them ({known}); nothing was run"]
        )
    return "\n".join([*lines, f"{calls} model calls at the most ({known}); nothing was run"])


def _calls(plan: Plan, policy: Policy) -> int:
    return plan.config.repeats * sum(len(build_requests(policy, case.turn())) for case in plan.cases)


def _shown(plan: Plan, report: Report, bench: Bench, options: argparse.Namespace) -> str:
    """A few dev cases of the last row; where the run has none, they are run for this, so that no test case is shown."""
    last = plan.cells[-1]
    from evals.report.terminal import render_case

    chosen = list(islice((result for result in report.cells[-1].cases if result.case.split == "dev"), options.show))
    if not chosen:
        config = RunConfig(
            task=plan.config.task, data=plan.config.data, split="dev", models=(last.model,),
            policies=tuple(options.policy or ["default"])[-1:],
            columns=plan.config.columns, selection=Selection(limit=options.show, seed=plan.config.seed), seed=plan.config.seed,
            base_url=plan.config.base_url,
        )  # fmt: skip
        try:
            dev = make_plan(config)
        except DataError:
            return "The data has no dev cases to show; test cases are not shown."
        chosen = list(bench.run(dev).cells[-1].cases)
    heading = f"Dev cases under {last.label}:"
    return "\n\n".join([heading, *(render_case(result) for result in chosen[: options.show])])

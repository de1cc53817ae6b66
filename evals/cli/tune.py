"""`salience tune`: the table of optimisers, the estimate, the search, and the artefact of what it found."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evals.cli.output import note, print_text
from evals.cli.running import Bench, BenchOptions
from evals.errors import IncompleteError, WorkbenchError
from evals.limits import Budget, Limits
from evals.paths import cache_dir, state_dir
from evals.plan import RunConfig, load_task, make_plan
from evals.prices import Price, Prices
from evals.report.safe import printable
from evals.setups import DATA
from evals.tune.optimizers import OPTIMIZERS, Optimizer, Sizes, check_writer, optimizer_named, options_for
from salience import ConsolidationPolicy, Policy, PolicyError

if TYPE_CHECKING:
    from evals.models import Model
    from evals.results import Report
    from evals.tune.engine import Desk
    from evals.tune.finish import Searched
    from evals.tune.splits import Splits
    from evals.tune.tasks import AnyPolicy, TuningTask

_TRAIN_SCORED = 40
"""Train cases that base and winner are scored on, to show how far they are from dev."""
_CHARS_A_TOKEN = 4


def run(options: argparse.Namespace) -> int:
    """Run `salience tune` and return its exit code."""
    if options.list:
        print_text(optimizers_text())
        return 0
    from evals.tune.stops import TuningStopped

    optimizer = optimizer_named(options.optimizer)
    base = load_base(options.task, options.base, options.examples_as)
    given = options_for(optimizer, options.option)
    _check_writer(options, optimizer)
    folder = Path(options.output) if options.output else state_dir() / "tuned" / (options.name or _name(options, base))
    try:
        return _search(options, optimizer, given, base, folder)
    except TuningStopped as stop:
        note(f"{stop}; this is no result. What was answered is kept: the same command goes on from there")
        return stop.exit_code
    except KeyboardInterrupt:
        note("ended; what was answered is kept: the same command goes on from there")
        raise


def load_base(task: str, name: str, examples_as: Literal["system", "turns"]) -> AnyPolicy:
    """Return the policy that a search begins from; one without examples takes them where the user says.

    Raises:
        WorkbenchError: It cannot be loaded, or splits turns.
    """
    from dataclasses import replace

    try:
        policy: AnyPolicy = Policy.load(name) if task == "extraction" else ConsolidationPolicy.load(name)
    except PolicyError as error:
        raise WorkbenchError(str(error)) from None
    if isinstance(policy, Policy) and policy.max_turn_chars is not None:
        raise WorkbenchError(
            f"{policy.name} splits long turns (max_turn_chars), and a part of a turn has no labels of its own: tune without, and save the "
            f"tuned policy with --max-turn-chars afterwards"
        )
    return policy if policy.examples else replace(policy, examples_as=examples_as)


def _check_writer(options: argparse.Namespace, optimizer: Optimizer) -> None:
    if options.writer and options.variants:
        raise WorkbenchError("--writer and --variants do not go together: prompts are written by a model or given by you")
    check_writer(optimizer, bool(options.writer or options.variants))


def _name(options: argparse.Namespace, base: AnyPolicy) -> str:
    model = re.sub(r"[^A-Za-z0-9.]+", "-", Path(options.model).name.removesuffix(".gguf"))
    return f"{options.task}-{model}-{options.optimizer}-{base.name}"


def _search(
    options: argparse.Namespace, optimizer: Optimizer, given: dict[str, int | float], base: AnyPolicy, folder: Path
) -> int:  # fmt: skip
    from evals.matching.vectors import VectorStore
    from evals.scorers import make_scorer
    from evals.tune.engine import Desk, Engine
    from evals.tune.guards import MOST_CHARS
    from evals.tune.objective import Weights
    from evals.tune.search import SearchConfig, Searching
    from evals.tune.splits import split
    from evals.tune.tasks import ConsolidationTask, ExtractionTask

    tell = _teller(options.quiet)
    data = options.data or DATA[options.task]
    dataset = load_task(options.task, data)
    splits = split(
        options.task, dataset, train=options.train, dev=options.dev, languages=options.language, seed=options.seed,
        store=VectorStore(cache_dir() / "vectors.sqlite"), tell=tell,
    )  # fmt: skip
    scorer = make_scorer(options.matcher, options.rubric, options.seed)
    weights = Weights(options.violation_weight, options.noise_weight, options.length_weight)
    cases = [*splits.train, *splits.dev]
    kind: Any = ExtractionTask if options.task == "extraction" else ConsolidationTask
    task = kind(cases, scorer, weights, [base])
    limits = Limits(calls=options.max_calls, tokens=options.max_tokens, cost=options.max_cost)
    prices = Prices(Path(options.prices) if options.prices else None)
    model = model_of(options.model, options.base_url, options.jobs, options.timeout)
    threads = min(options.jobs or model.concurrency, model.concurrency, 32)
    config = SearchConfig(
        optimizer=optimizer, options=given, base=base, seed=options.seed, threads=threads, most_chars=options.most_chars or MOST_CHARS
    )
    writer = None
    if options.writer:
        writer = model_of(options.writer, options.writer_url, 1, options.timeout)
    price = prices.of(options.model, model.fingerprint)
    written_price = prices.of(options.writer, writer.fingerprint) if writer is not None else None
    _check_prices(options, limits, price, written_price)
    budget = Budget(limits)
    with Desk(state_dir() / "replies.sqlite", budget) as desk:
        engine = Engine(model, desk, price=price, seed=options.seed)
        searching = Searching(task, splits, engine, config, _writer(options, writer, desk, written_price), tell)
        tell(estimate(options, optimizer, given, searching.sizes(), task, splits, base, price))
        if options.dry_run:
            return 0
        folder.mkdir(parents=True, exist_ok=True)
        try:
            found = searching.run(folder / "search.log", folder / "replies.jsonl")
        finally:
            for one in (model, writer):
                if one is not None:
                    desk.run(one.close())
        spent = engine.spent
    names = {task.text(case): case.id for case in cases}
    found.ledger.write(folder / "candidates.jsonl", base, lambda policy: [names.get(text, "of the base") for text, _ in task.shown(policy)])
    for tried, why in found.set_aside:
        note(f"candidate {tried.number} ({tried.policy.hash}) scored better and is set aside: {why}")
    if not found.gained:
        note(f"nothing that was tried is better than {base.name} on dev; {len(found.ledger.tried)} candidates are in {folder}")
        return 1
    from evals.tune.finish import Searched, Setting

    setting = Setting(task=options.task, data=data, model=options.model, base_url=options.base_url, seed=options.seed)
    done = Searched(
        setting=setting, dataset=dataset, splits=splits, config=config, task=task, found=found, spent=spent,
        writer=options.writer or options.variants, fingerprint=dict(model.fingerprint), folder=folder,
    )  # fmt: skip
    return _finish(options, done, budget)


def _teller(quiet: bool) -> Callable[[str], None]:
    """What tells a person how it goes, on the stream that is stderr now: while an optimiser runs, stderr is a log file."""
    stream = sys.stderr
    return (lambda _: None) if quiet else (lambda text: print(printable(text), file=stream, flush=True))


def model_of(name: str, base_url: str | None, jobs: int | None, timeout: float) -> Model:
    """Return a model, opened.

    Raises:
        WorkbenchError: It cannot be had, or is a baseline.
    """
    from evals.models import Baseline, open_model

    model = open_model(name, base_url=base_url, jobs=jobs, progress=note, timeout=timeout)
    if isinstance(model, Baseline):
        raise WorkbenchError(f"{name} is a baseline and takes no prompt; give a model, see salience models list")
    return model


def _check_prices(options: argparse.Namespace, limits: Limits, price: Price | None, written: Price | None) -> None:
    if limits.cost is None:
        return
    for name, known in ((options.model, price), (options.writer, written)):
        if name and known is None:
            raise WorkbenchError(f"--max-cost cannot hold: the price of {name} is unknown; give it with --prices FILE")


def _writer(options: argparse.Namespace, writer: Any, desk: Desk, price: Price | None) -> Any:
    from evals.tune.engine import Engine
    from evals.tune.writers import read_variants, variants_file, variants_lm, writer_lm

    if options.variants:
        return variants_lm(read_variants(variants_file(options.variants, options.task)))
    return None if writer is None else writer_lm(Engine(writer, desk, price=price, seed=options.seed), 1.0)


def _finish(options: argparse.Namespace, done: Searched, budget: Budget) -> int:
    """Score base and winner as a benchmark does, keep the artefact, and print what was found."""
    from evals.report.brief import render_brief
    from evals.scorers import make_scorer
    from evals.tune.artefact import write_artefact
    from evals.tune.finish import below_base, check_score, make_artefact, save_policies, suppliers, train_ids

    splits, folder, base = done.splits, done.folder, done.config.base
    policy, base_file, best_file = save_policies(folder, done.found, options.name or folder.name)
    supply = suppliers(done.task, policy, list(splits.train))
    bench_options = BenchOptions(
        base_url=options.base_url, jobs=options.jobs, quiet=True, timeout=options.timeout,
        prices=Path(options.prices) if options.prices else None, matcher=options.matcher,
    )  # fmt: skip
    scores: dict[str, Any] = {}
    policies = [str(base_file), str(best_file)]
    with Bench(lambda: make_scorer(options.matcher, options.rubric, options.seed), bench_options) as bench:
        bench.budget = budget  # one for the whole command
        searched = budget.calls
        report = whole(bench, done.setting.config(policies, "dev", list(splits.dev.ids)))
        base_row, best_row = report.cells
        check_score(done.task, done.found, best_row, budget.calls - searched)
        scores["dev"] = _told(options.task, base, base_row, best_row)
        ids = train_ids(splits, supply, _TRAIN_SCORED)
        if ids:
            rows = whole(bench, done.setting.config(policies, "train", ids)).cells
            scores["train"] = _told(options.task, base, *rows)
    told = below_base(base_row, best_row)
    artefact = make_artefact(done, policy, scores, supply, told)
    path = folder / "artefact.json"
    write_artefact(artefact, path)
    print_text(render_brief(report))
    if told:
        note(told)
    note(f"artefact: {path} ({artefact.hash}). Dev was chosen on; whether it holds: salience tune gate {path}")
    return 0


def whole(bench: Bench, config: RunConfig) -> Report:
    """Return the report of a run of which nothing is lacking.

    Raises:
        IncompleteError: A limit ended it.
    """
    report = bench.run(make_plan(config))
    if bench.budget.stopped:
        raise IncompleteError(f"stopped at {bench.budget.stopped}; nothing was concluded, and the same command again goes on from there")
    return report


def _told(task: str, base: AnyPolicy, base_row: Any, best_row: Any) -> dict[str, Any]:
    from evals.tune.finish import figures_told

    return {
        f"base:{base.name}": figures_told(task, base_row), "tuned": figures_told(task, best_row), "n": len(best_row.cases),
        "conversations": best_row.signature.conversations,
    }  # fmt: skip


def estimate(
    options: argparse.Namespace, optimizer: Optimizer, given: dict[str, int | float], sizes: Sizes, task: TuningTask, splits: Splits,
    base: AnyPolicy, price: Price | None,
) -> str:  # fmt: skip
    """Return what a search takes at the most, in words: calls, tokens, dollars."""
    from evals.tune.guards import prompt_text

    calls = optimizer.most_calls(sizes, given) + sizes.dev
    if not (options.writer or options.variants):  # then the model itself writes, where there is anything to write
        calls += optimizer.most_written(given)
    turns = [len(task.text(case)) for case in splits.dev]
    shown = sorted(len(task.text(case)) + 120 for case in splits.train)
    examples = int(given.get("examples", 0)) * (shown[len(shown) // 4] if shown else 0)
    read = calls * (len(prompt_text(task, base)) + examples + sum(turns) // max(1, len(turns))) // _CHARS_A_TOKEN
    wrote = calls * min(base.decoding.max_tokens or 300, 120)
    cost = "price unknown" if price is None else f"${price.of(read, wrote):.2f}" if price.input or price.output else "no cost"
    written = optimizer.most_written(given) if options.writer else 0
    return (
        f"{optimizer.name} on {options.model}: train {sizes.train} cases ({sizes.shown} short enough to be shown), dev {sizes.dev}; "
        f"at the most {calls:,} calls, about {read + wrote:,} tokens, {cost}"
        + (f"; the writer at the most {written} calls" if written else "")
        + (f"; {len(splits.near)} train cases near another split left out" if splits.near else "")
    )


def optimizers_text() -> str:
    """Return the table of optimisers."""
    head = f"{'optimiser':<13} {'changes':<26} {'writer':<9} {'calls for 100 train, 40 to show, 60 dev':<40} options"
    lines = [head]
    for one in OPTIMIZERS.values():
        calls = f"at most {one.most_calls(Sizes(100, 40, 60), one.options):,}"
        if one.writer != "none":
            calls += f", writer {one.most_written(one.options)}"
        options = " ".join(f"{key}={value:g}" for key, value in one.options.items())
        lines.append(f"{one.name:<13} {one.changes:<26} {one.writer:<9} {calls:<40} {options}")
        lines.append(f"{'':<13} {one.note}")
    return "\n".join(lines)

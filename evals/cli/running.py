"""Running plans from the command line: models stay open for the whole command, with cache, progress and scoring around them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal

from evals.cache import ReplyCache
from evals.cli.output import note
from evals.cli.progress import Lines, Silent
from evals.errors import WorkbenchError
from evals.folders import choose_folder
from evals.limits import Budget, Limits
from evals.matching.base import judge_model
from evals.models import Baseline, Model, open_model
from evals.openings import log_opening
from evals.paths import state_dir
from evals.plan import Plan, is_baseline
from evals.playing import PlayedBaseline
from evals.prices import Price, Prices
from evals.run import Desk, run_plan
from evals.setups import Task

if TYPE_CHECKING:
    from evals.results import Report
    from evals.scoring import Scorer


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOptions:
    """How plans are run.

    Attributes:
        base_url: An OpenAI-compatible server for the models, or None.
        jobs: At most so many calls at once; None for what suits each model.
        cached: Whether replies may come from the project's reply cache.
        quiet: Whether no progress is shown.
        timeout: Seconds for one attempt of a call to a server.
        limits: What may be used.
        prices: A price file, or None.
        retry_errors: Whether calls that have failed are asked again.
        matcher: Name of the matcher for the F1 that progress shows.
        purpose: What test is opened for, where it is.
    """

    base_url: str | None = None
    jobs: int | None = None
    cached: bool = True
    quiet: bool = False
    timeout: float = 120.0
    limits: Limits = Limits()  # noqa: RUF009  (an immutable value)
    prices: Path | None = None
    retry_errors: bool = False
    matcher: str = "classifier"
    purpose: Literal["benchmark", "gate"] = "benchmark"


class Bench:
    """Runs and scores plans; a model that two plans share is loaded once. Use as a context manager.

    Args:
        scorer: Makes the scorer; called after the run, as what it needs is slow to load.
        options: How to run.

    Attributes:
        budget: What was used of the limits.
    """

    def __init__(self, scorer: Callable[[], Scorer], options: BenchOptions) -> None:
        self.make_scorer, self.options = scorer, options
        self.budget = Budget(options.limits)
        self.prices = Prices(options.prices)
        self._models: dict[str, Model | Baseline] = {}
        self._stack = ExitStack()
        self._runner = self._stack.enter_context(asyncio.Runner())
        self._cache: ReplyCache | None = None

    def run(self, plan: Plan, output: Path | None = None) -> Report:
        """Run what is missing of a plan, score it, and write the report beside the replies.

        Args:
            plan: What to run.
            output: The run folder; None resumes an unfinished run of the same plan, or makes a new folder.

        Returns:
            The report.

        Raises:
            WorkbenchError: A model or the folder cannot be used, or a cell's first calls all failed.
        """
        options = self.options
        models = {cell.model: self._model(cell.model, plan.config.task) for cell in plan.cells}
        prices = {name: self.prices.of(name, model.fingerprint) for name, model in models.items()}
        self._check_prices(prices)
        fingerprints = {name: dict(model.fingerprint) for name, model in models.items()}
        folder = choose_folder(plan, output, fingerprints, retry_errors=options.retry_errors)
        if options.cached and self._cache is None:
            self._cache = self._stack.enter_context(ReplyCache(state_dir() / "replies.sqlite"))
        progress = Silent() if options.quiet else Lines("classifier" if judge_model(options.matcher) else options.matcher)
        desk = Desk(
            models=models, runner=self._runner, progress=progress, cache=self._cache, jobs=options.jobs,
            budget=self.budget, prices=prices, retry_errors=options.retry_errors,
        )  # fmt: skip
        try:
            run_plan(plan, folder, desk)
        except KeyboardInterrupt:
            progress.close()
            note(f"what was answered is saved in {folder}; the same command again goes on from there; salience score {folder} scores it")
            raise
        finally:
            progress.close()
        return self._score(plan, folder)

    def _score(self, plan: Plan, folder: Path) -> Report:
        from evals.report.as_json import write_report
        from evals.scoring import score_run

        log_opening(plan.dataset, self.options.purpose)
        report = score_run(folder, plan.dataset, self.make_scorer())
        write_report(report, folder)
        return report

    def _check_prices(self, prices: dict[str, Price | None]) -> None:
        unknown = [name for name, price in prices.items() if price is None]
        if self.options.limits.cost is not None and unknown:
            raise WorkbenchError(
                f"--max-cost cannot hold: the price of {unknown[0]} is unknown; give it with --prices FILE, a TOML file with "
                f'["{unknown[0]}"], input = DOLLARS and output = DOLLARS for a million tokens'
            )

    def _model(self, name: str, task: Task) -> Model | Baseline:
        if task != "extraction" and is_baseline(name):
            return PlayedBaseline(task, name)
        if name not in self._models:
            options = self.options
            self._models[name] = open_model(name, base_url=options.base_url, jobs=options.jobs, progress=note, timeout=options.timeout)
        return self._models[name]

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._stack:
            for model in self._models.values():
                if not isinstance(model, Baseline):
                    self._runner.run(model.close())

"""Running plans from the command line: models stay open for the whole command, with cache, progress and scoring around them."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from evals.cache import ReplyCache
from evals.cli.progress import Lines, Silent, note
from evals.models import Baseline, Model, open_model
from evals.openings import log_opening
from evals.paths import state_dir
from evals.plan import Plan, choose_folder
from evals.report.as_json import report_to_dict
from evals.results import Report
from evals.run import run_plan
from evals.runlog import write_json
from evals.scoring import Scorer, score_run

MAX_ERROR_RATE = 0.05
"""Above this share of failed calls a row is not a result, and a command ends with exit code 3."""


def exit_code(report: Report) -> int:
    """Return 3 if a row of a report is incomplete or has too many errors, else 0."""
    return 3 if any(cell.missing or cell.error_rate > MAX_ERROR_RATE for cell in report.cells) else 0


class Bench:
    """Runs and scores plans; a model that two plans share is loaded once. Use as a context manager.

    Args:
        scorer: How to score.
        base_url: An OpenAI-compatible server for the models, or None.
        jobs: At most so many calls at once; None for what suits each model.
        cached: Whether replies may come from the project's reply cache.
        quiet: Whether no progress is shown.
    """

    def __init__(self, scorer: Scorer, *, base_url: str | None, jobs: int | None = None, cached: bool = True, quiet: bool = False) -> None:
        self.scorer, self.base_url, self.jobs, self.cached, self.quiet = scorer, base_url, jobs, cached, quiet
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
        models = {cell.model: self._model(cell.model) for cell in plan.cells}
        folder = choose_folder(plan, output, {name: dict(model.fingerprint) for name, model in models.items()})
        if self.cached and self._cache is None:
            self._cache = self._stack.enter_context(ReplyCache(state_dir() / "replies.sqlite"))
        progress = Silent() if self.quiet else Lines()
        run_plan(plan, folder, models, runner=self._runner, cache=self._cache, jobs=self.jobs, progress=progress)
        log_opening(plan.dataset)
        report = score_run(folder, plan.dataset, self.scorer)
        write_json(folder / "report.json", report_to_dict(report, cases=True))
        return report

    def _model(self, name: str) -> Model | Baseline:
        if name not in self._models:
            self._models[name] = open_model(name, base_url=self.base_url, jobs=self.jobs, progress=note)
        return self._models[name]

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._stack:
            for model in self._models.values():
                if not isinstance(model, Baseline):
                    self._runner.run(model.close())

"""Running a plan from the command line: opening models and cache, progress, and scoring."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

from evals.cache import ReplyCache
from evals.cli.progress import Lines, Silent, note
from evals.models import open_model
from evals.paths import state_dir
from evals.plan import Plan
from evals.report.as_json import report_to_dict
from evals.results import Report
from evals.run import run_plan
from evals.runlog import write_json
from evals.scoring import Scorer, score_run


def run_and_score(plan: Plan, folder: Path, scorer: Scorer, *, jobs: int | None = None, cached: bool = True, quiet: bool = False) -> Report:
    """Run what is missing of a plan, score it, and write the report beside the replies.

    Args:
        plan: What to run.
        folder: The run folder.
        scorer: How to score.
        jobs: At most so many calls at once; None for what suits each model.
        cached: Whether replies may come from the project's reply cache.
        quiet: Whether no progress is shown.
    """
    names = dict.fromkeys(cell.model for cell in plan.cells)
    models = {name: open_model(name, base_url=plan.config.base_url, jobs=jobs, progress=note) for name in names}
    with ReplyCache(state_dir() / "replies.sqlite") if cached else nullcontext() as cache:
        run_plan(plan, folder, models, cache=cache, jobs=jobs, progress=Silent() if quiet else Lines())
    report = score_run(folder, plan.dataset, scorer)
    write_json(folder / "report.json", report_to_dict(report, cases=True))
    return report

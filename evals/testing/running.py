"""One row, run and scored inside a test: the plan, run and scoring of `salience eval`, with replies from a recording. No pytest here."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from evals.cases import Case
from evals.cli.progress import Silent
from evals.data.select import Selection
from evals.errors import ModelError, WorkbenchError
from evals.matching.base import check_matcher, judge_model
from evals.models import Baseline, Model, open_model
from evals.openings import log_opening
from evals.plan import Plan, RunConfig, is_baseline, make_plan
from evals.report.safe import printable
from evals.run import Desk, run_plan
from evals.runlog import write_lines
from evals.testing.recorded import RecordedModel, requests_of
from evals.testing.recordings import Recording
from evals.testing.telling import unanswered, unrecorded
from salience import Policy

if TYPE_CHECKING:
    from evals.results import CellResult
    from evals.scoring import Scorer

Mode = Literal["replay", "record", "live"]


class UnrecordedError(Exception):
    """A test asks for what is not recorded: it has failed, as what it sends has changed. The message shows the keys."""


class UnansweredError(WorkbenchError):
    """Calls to the model failed, so that nothing is known of the policy: an error, not a failed test."""

    exit_code = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a test asks for.

    Attributes:
        policy: A shipped policy's name, a path, or a policy.
        model: "provider/model".
        cases: Ids of cases of the split, cases themselves, the path of a file of cases, or None for the whole split.
        data: A bundled dataset's name, or a path.
        split: "train", "dev", "test" or "all".
        matcher: "classifier", "embedding" or "lexical"; live also "judge:MODEL".
        rubric: A rubric's name, or the path of one.
        repeats: How often each case is asked, from 1.
    """

    policy: str | Path | Policy
    model: str
    cases: Sequence[str | Case] | str | Path | None = None
    data: str | Path = "extraction"
    split: str = "dev"
    matcher: str = "classifier"
    rubric: str | Path = "default"
    repeats: int = 1


class Laboratory:
    """Runs rows for tests; models and scorers stay open for the whole session. Close it at the end.

    Args:
        mode: Whether replies are replayed, recorded where they are missing, or asked for each time.

    Attributes:
        recordings: Every recording that was used, by path.
    """

    def __init__(self, mode: Mode = "replay") -> None:
        self.mode = mode
        self.recordings: dict[Path, Recording] = {}
        self._models: dict[str, Model] = {}
        # A loop of its own, which is never the thread's current one, so that plugins for asynchronous tests are not disturbed.
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)

    def row(self, wanted: Wanted, recording: Path, scratch: Path, beside: Path) -> CellResult:
        """Run and score one row.

        Args:
            wanted: What to run.
            recording: The file of its replies; a live run neither reads nor writes it.
            scratch: An empty folder for the run.
            beside: The test's folder, where relative paths are looked for first.

        Raises:
            UnrecordedError: A reply is not recorded, and none may be asked for.
            UnansweredError: A call failed.
            WorkbenchError: Something that was asked for is not there or not valid.
        """
        check_matcher(wanted.matcher)
        if judge_model(wanted.matcher) is not None and self.mode != "live":
            raise WorkbenchError(
                f"the matcher {printable(wanted.matcher)} asks a model, which only --salience-live allows; "
                "offline there are: classifier, embedding, lexical"
            )
        _check_loop()
        plan = make_plan(_config(wanted, scratch, beside))
        model = self._model(plan, recording)
        desk = Desk(models={wanted.model: model}, runner=self._runner, progress=Silent())
        run_plan(plan, scratch / "run", desk)
        return _scored(plan, scratch / "run", _scorer(wanted.matcher, located(wanted.rubric, beside), plan.config.seed))

    def close(self) -> None:
        """Close the models that were opened."""
        with self._runner:
            for model in self._models.values():
                self._runner.run(model.close())
            self._models.clear()

    def _model(self, plan: Plan, path: Path) -> Model | Baseline:
        name = plan.cells[0].model
        if is_baseline(name):
            return open_model(name)
        if self.mode == "live":
            return self._live(name)
        recording = self.recordings.setdefault(path, Recording(path))
        asked = requests_of(plan)
        missing = [one for one in asked if one.key not in recording.replies]
        if missing and self.mode == "replay":
            raise UnrecordedError(unrecorded(missing, len(asked), recording))
        return RecordedModel(name, recording, asked, self._live(name) if missing else None)

    def _live(self, name: str) -> Model:
        if name not in self._models:
            model = open_model(name)
            if isinstance(model, Baseline):
                raise ModelError(f"{printable(name)} is a baseline, which is run as it is")
            self._models[name] = model
        return self._models[name]


def located(name: str | Path, beside: Path) -> str:
    """Return a name or path as the loaders take it: a relative path is looked for beside the test first, then in the current folder."""
    text = str(name)
    if isinstance(name, Path) or "/" in text or "\\" in text or Path(text).suffix:
        near = beside / text
        if near.exists():
            return str(near)
    return text


def _config(wanted: Wanted, scratch: Path, beside: Path) -> RunConfig:
    """What `salience eval` would make of the same request; values that have no name are written to the scratch folder."""
    policy = wanted.policy
    if isinstance(policy, Policy):
        policy.save(scratch / "policy.json")
        policy = scratch / "policy.json"
    data, split = located(wanted.data, beside), wanted.split
    ids: tuple[str, ...] = ()
    if isinstance(wanted.cases, str | Path):
        data = located(wanted.cases, beside)
    elif wanted.cases is not None:
        data, split, ids = _chosen(list(wanted.cases), data, split, scratch)
    return RunConfig(
        data=data, split=split, models=(wanted.model,), policies=(located(policy, beside),), selection=Selection(ids=ids),
        repeats=wanted.repeats,
    )  # fmt: skip


def _chosen(cases: Sequence[str | Case], data: str, split: str, scratch: Path) -> tuple[str, str, tuple[str, ...]]:
    """Data, split and ids for a list of cases."""
    import msgspec

    if not cases:
        raise WorkbenchError("cases is an empty list: give ids or cases, or None for the whole split")
    ids = tuple(one for one in cases if isinstance(one, str))
    own = [one for one in cases if isinstance(one, Case)]
    if len(ids) == len(cases):
        return data, split, ids
    if len(own) < len(cases):
        kinds = ", ".join(sorted({type(one).__name__ for one in cases}))
        raise WorkbenchError(f"cases must be all ids (str) or all evals.cases.Case, got: {kinds}")
    write_lines(scratch / "cases.jsonl", map(msgspec.to_builtins, own))
    return str(scratch / "cases.jsonl"), "all", ()


def _check_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise WorkbenchError(
        "a policy is run in an event loop of its own: call the fixture from a plain test or fixture, not from an async one"
    )


@cache
def _scorer(matcher: str, rubric: str, seed: int) -> Scorer:
    """A scorer; its verdicts are kept in no file, so that what one test run decided is never what another one says."""
    from evals.scorers import make_scorer

    return replace(make_scorer(matcher, rubric, seed), tables=None)


def _scored(plan: Plan, folder: Path, scorer: Scorer) -> CellResult:
    from evals.scoring import score_run

    log_opening(plan.dataset)
    cell = score_run(folder, plan.dataset, scorer).cells[0]
    if cell.failed:
        raise UnansweredError(unanswered(plan.cells[0].label, cell.failed, plan.total))
    return cell

"""Finished runs from Python: score one, open one of its rows, compare and gate. For notebooks and scripts; the commands call it too.

report = score("run", by=("language",))
report.to_frames().matches
lab = Lab()
compare(lab.row("run:model@policy").side, lab.row("baseline.json").side)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from evals.baseline import read_baseline
from evals.cell_scoring import Watch
from evals.data.dataset import Dataset
from evals.errors import DataError, WorkbenchError
from evals.openings import log_opening
from evals.plan import load_task
from evals.results import CellResult, Report
from evals.runlog import read_manifest
from evals.scorers import make_scorer
from evals.scoring import Scorer, row_labels, score_run
from evals.setups import Task
from evals.sides import Side, side_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions:
    """How runs are scored.

    Attributes:
        data: The data to score against, a name or a path; None takes that of each run.
        columns: For data in another shape, as `salience eval --columns`.
        matcher: "classifier", "embedding", "lexical" or "judge:MODEL".
        rubric: The name of a rubric that ships, or the path of a TOML file.
        by: What to slice by: "tag", "language", "length".
        seed: Of the intervals; None takes that of each run.
        judge_url: An OpenAI-compatible server that a judge's model is asked at.
    """

    data: str | None = None
    columns: tuple[str, ...] = ()
    matcher: str = "classifier"
    rubric: str = "default"
    by: tuple[str, ...] = ()
    seed: int | None = None
    judge_url: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A row that was opened by name.

    Attributes:
        side: What can be compared.
        cell: The scored row; None of a baseline file.
    """

    side: Side
    cell: CellResult | None = None


@dataclass(slots=True)
class Lab:
    """Scores runs alike. Data that two runs share is read, and where it is test data its opening logged, once.

    Attributes:
        options: How runs are scored.
        purpose: What for, as the log of openings of test data tells it.
    """

    options: ScoreOptions = field(default_factory=ScoreOptions)
    purpose: Literal["benchmark", "gate"] = "benchmark"
    _read: dict[str, Dataset] = field(default_factory=dict, repr=False)
    _scorers: dict[int, Scorer] = field(default_factory=dict, repr=False)

    def report(self, folder: str | Path, *, only: str | None = None, watch: Callable[[int], Watch] | None = None) -> Report:
        """Score a run.

        Args:
            folder: The run folder.
            only: The label ("model@policy") of the rows to score; None scores all.
            watch: Gives for the number of a row what sees each of its cases, or None.

        Raises:
            WorkbenchError: The folder is no run, its data cannot be had, or there is no such row.
        """
        manifest = read_manifest(Path(folder))
        return score_run(Path(folder), self.data(manifest["data"], manifest["task"]), self.scorer(manifest["seed"]), watch=watch, only=only)

    def row(self, name: str | Path) -> Row:
        """Return the one row that "RUN", "RUN:model@policy" or a baseline file names.

        Raises:
            WorkbenchError: There is none, or several.
        """
        if Path(name).is_file():
            return Row(read_baseline(Path(name)))
        folder, wanted = split_name(str(name))
        labels = row_labels(folder)
        if len([label for label in labels if wanted in (None, label)]) > 1:
            if wanted is not None:
                raise WorkbenchError(f"{folder} has two rows {wanted!r} (policies of one name); run them apart")
            raise WorkbenchError(f"{folder} has several rows; say which with {name}:model@policy (rows: {', '.join(labels)})")
        cell = self.report(folder, only=wanted).cells[0]
        return Row(side_of(cell), cell)

    def scorer(self, seed: int = 0) -> Scorer:
        """Return the scorer.

        Args:
            seed: Of the intervals, where the options name none.
        """
        options = self.options
        seed = seed if options.seed is None else options.seed
        if seed not in self._scorers:
            self._scorers[seed] = make_scorer(options.matcher, options.rubric, seed, options.by, options.judge_url)
        return self._scorers[seed]

    def data(self, described: dict[str, Any], task: Task = "extraction") -> Dataset:
        """Return the split that a run was made on, as its manifest describes it.

        Raises:
            DataError: The data cannot be found or read.
        """
        key = f"{task} {described['argument']} {described['columns']} {described['split']}"
        if key not in self._read:
            self._read[key] = run_data(described, self.options.data, self.options.columns, task)
            log_opening(self._read[key], self.purpose)
        return self._read[key]


def score(folder: str | Path, **options: Any) -> Report:
    """Score a run.

    Args:
        folder: The run folder.
        **options: The fields of `ScoreOptions`.

    Raises:
        WorkbenchError: The folder is no run, or its data cannot be had.
    """
    return Lab(ScoreOptions(**options)).report(folder)


def run_data(described: dict[str, Any], data: str | None = None, columns: Sequence[str] = (), task: Task = "extraction") -> Dataset:
    """Return the split that a run was made on; the manifest names it as it was named from the folder of the run's command.

    Args:
        described: What the manifest says of the data.
        data: Other data to score against; None takes that of the run.
        columns: Of that data, as `salience eval --columns`; empty takes those of the run.
        task: Of the run.

    Raises:
        DataError: The data cannot be found or read.
    """
    try:
        return load_task(task, data or described["argument"], columns or described["columns"]).to_score(described["split"])
    except DataError as error:
        if data:
            raise
        raise DataError(f"{error} (the run was made with --data {described['argument']}; say with --data where that is)") from None


def require_extraction_run(manifest: Mapping[str, Any], folder: Path, what: str) -> None:
    """Raise if a run is of another task than extraction.

    Args:
        manifest: Of the run.
        folder: Of the run, for the message.
        what: What is asked of it, as a clause.

    Raises:
        WorkbenchError: It is.
    """
    if manifest["task"] != "extraction":
        raise WorkbenchError(f"{folder} is a run of the task {manifest['task']}; {what}, which that task does not have")


def split_name(argument: str) -> tuple[Path, str | None]:
    """Return run folder and row of "RUN" or "RUN:model@policy"; the folder's name and the model's may hold colons.

    Args:
        argument: What the user gave.
    """
    places = [place for place, sign in enumerate(argument) if sign == ":"]
    for place in places:
        if not Path(argument).is_dir() and Path(argument[:place]).is_dir():
            return Path(argument[:place]), argument[place + 1 :]
    return Path(argument), None

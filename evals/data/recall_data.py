"""The data of the tasks beside extraction as a `Dataset`: consolidation cases, scenarios, and LoCoMo's conversations as scenarios."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from evals.data.dataset import Cases, Dataset
from evals.data.files import data_files, name_and_version, read_rows, with_unique_ids
from evals.data.foreign import Tally, is_foreign
from evals.data.kinds import KINDS, TASK_OF, RowKind, kind_of
from evals.data.locomo_scenarios import ABOUT, read_scenarios
from evals.errors import DataError
from evals.recall_cases import Scenario


def load_recall(name_or_path: str, task: Literal["consolidation", "scenario"]) -> Dataset:
    """Load the data of a task: a bundled name, a JSON Lines file or a folder of them; of scenarios also a LoCoMo file.

    Args:
        name_or_path: "consolidation", "scenarios", a path, or "locomo:FILE".
        task: Which kind of rows is wanted.

    Raises:
        DataError: Something cannot be read, or holds another kind of data; the message names file, line and field.
    """
    if is_foreign(name_or_path):
        return _foreign(name_or_path, task)
    files = data_files(name_or_path)
    wanted = next(kind for kind in KINDS if TASK_OF.get(kind.name) == task)
    for path in files:
        _require(path, wanted, task)
    cases = Cases(with_unique_ids(lambda: _placed(files, wanted)), kind=wanted.type)
    if not cases:
        raise DataError(f"{name_or_path}: holds no {wanted.name}")
    name, version = name_and_version(name_or_path, files)
    return Dataset(name=name, version=version, cases=cases)


def _foreign(argument: str, task: str) -> Dataset:
    kind, _, rest = argument.partition(":")
    if (kind, task) != ("locomo", "scenario"):
        raise DataError(f"{argument}: is read for extraction only; of other people's data the task scenario reads locomo:FILE")
    if not Path(rest).is_file():
        raise DataError(f"there is no LoCoMo file {rest!r}")
    tally = Tally()
    cases = Cases((scenario for _, scenario in read_scenarios(Path(rest), tally)), kind=Scenario)
    questions = sum(len(case.questions) for case in cast("Sequence[Scenario]", cases))
    read = f"Read: {len(cases)} conversations with {questions} questions."
    return Dataset(name=Path(rest).stem, version="", cases=cases, silver=ABOUT, notes=(read, *tally.report().lines()[1:]))


def _require(path: Path, wanted: RowKind, task: str) -> None:
    found = kind_of(path)
    if found is not wanted:
        hint = f"; salience eval --task {TASK_OF[found.name]} evaluates it" if found.name in TASK_OF else ""
        raise DataError(f"{path}: holds labelled data of another kind ({found.name}); the task {task} needs a {wanted.name} a line{hint}")


def _placed(files: Sequence[Path], kind: RowKind) -> Iterator[tuple[str, Any]]:
    for path in files:
        for number, row in read_rows(path, kind):
            yield f"{path}:{number}", row

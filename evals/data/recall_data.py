"""The data of the tasks beside extraction as a `Dataset`: consolidation cases, scenarios, and LoCoMo's conversations as scenarios."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from evals.data.dataset import Cases, Dataset
from evals.data.files import data_files, name_and_version, read_rows, with_unique_ids
from evals.data.kinds import KINDS, RowKind, kind_of
from evals.errors import DataError

_KIND = {"consolidation": "consolidation case", "scenario": "scenario"}
_TASK = {"extraction case": "extraction", **{kind: task for task, kind in _KIND.items()}}


def load_recall(name_or_path: str, task: Literal["consolidation", "scenario"]) -> Dataset:
    """Load the data of a task: a bundled name, a JSON Lines file or a folder of them.

    Args:
        name_or_path: "consolidation", "scenarios", or a path.
        task: Which kind of rows is wanted.

    Raises:
        DataError: Something cannot be read, or holds another kind of data; the message names file, line and field.
    """
    files = data_files(name_or_path)
    wanted = next(kind for kind in KINDS if kind.name == _KIND[task])
    for path in files:
        _require(path, wanted, task)
    cases = Cases(with_unique_ids(lambda: _placed(files, wanted)), kind=wanted.type)
    if not cases:
        raise DataError(f"{name_or_path}: holds no {wanted.name}")
    name, version = name_and_version(name_or_path, files)
    return Dataset(name=name, version=version, cases=cases)


def _require(path: Path, wanted: RowKind, task: str) -> None:
    found = kind_of(path)
    if found is not wanted:
        hint = f"; salience eval --task {_TASK[found.name]} evaluates it" if found.name in _TASK else ""
        raise DataError(f"{path}: holds labelled data of another kind ({found.name}); the task {task} needs a {wanted.name} a line{hint}")


def _placed(files: Sequence[Path], kind: RowKind) -> Iterator[tuple[str, Any]]:
    for path in files:
        for number, row in read_rows(path, kind):
            yield f"{path}:{number}", row

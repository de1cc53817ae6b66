"""Datasets of the Hugging Face Hub, and local folders and files that its package reads, as cases. No code of a dataset is run.

The package is imported only here and only when such data is opened. Nothing is sent but the requests for the data itself.
"""

from __future__ import annotations

import datetime
import importlib
import importlib.util
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from evals.cases import Case
from evals.data.columns import ColumnMap, data_of_rows
from evals.data.foreign import ForeignData, Tally, build_case
from evals.data.tables import PlacedRow
from evals.errors import DataError
from evals.report.safe import clip

_REQUIRED = frozenset(item.name for item in msgspec.structs.fields(Case) if item.required)
_FILES = {".parquet": "parquet", ".arrow": "arrow", ".jsonl": "json", ".json": "json", ".csv": "csv"}
_SAVED = ("state.json", "dataset_dict.json")
"""The files of which `save_to_disk` writes one."""


@dataclass(frozen=True, slots=True)
class _Target:
    """What is asked for. `local` is its path where it lies on this machine."""

    name: str
    config: str | None
    split: str | None
    local: Path | None

    @property
    def label(self) -> str:
        """What the data is called on reports."""
        name = self.local.resolve().name if self.local else self.name
        return name + (f":{self.config}" if self.config else "") + (f"@{self.split}" if self.split else "")


def open_hub(name: str, columns: ColumnMap | None = None) -> ForeignData:
    """Load a table with Hugging Face's `datasets` and return its rows as cases.

    Args:
        name: "NAME[:CONFIG][@SPLIT]"; NAME is a dataset of the hub, or a local folder, one written by `save_to_disk`, or a file.
        columns: Which field is which column; not needed where the table has the fields of our own cases. No other column is decoded.

    Returns:
        The data; reading raises `DataError` where a row is not what it must be.

    Raises:
        DataError: The package is missing, the data cannot be reached or read, a config or split is missing or not there (the message
            lists what there is), or a column is not there.
    """
    target = _target(name)
    datasets = _package()
    with _quiet(datasets):
        table = _loaded(datasets, target).with_format(None)
    available = list(table.column_names)
    place = f"hf:{name}"
    if columns is not None:
        try:
            table = table.select_columns(columns.needed(available))
        except DataError as error:
            raise DataError(f"{place}: {error}") from None
        return data_of_rows(target.label, _rows(table, place), columns)
    if not set(available) >= _REQUIRED:
        raise DataError(
            f"{place}: needs a column map, such as text=COLUMN memories=COLUMN language=:en; its columns: {', '.join(map(repr, available))}"
        )
    return _own(target.label, _rows(table.select_columns([field for field in available if field in Case.__struct_fields__]), place))


def _own(name: str, rows: Callable[[], Iterator[PlacedRow]]) -> ForeignData:
    """Rows that are cases already; a table writes out as null what our files leave out."""

    def source(tally: Tally) -> Iterator[tuple[str, Case]]:
        del tally
        for place, _, values in rows():
            yield place, build_case(_without_nulls(values), place)

    return ForeignData(name=name, source=source)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_nulls(inner) for inner in value]
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():  # a day that the package took for a timestamp
        return value.date().isoformat()
    return value.isoformat() if isinstance(value, datetime.date) else value


def _rows(table: Any, place: str) -> Callable[[], Iterator[PlacedRow]]:
    def rows() -> Iterator[PlacedRow]:
        number = 0
        remaining = iter(table)
        while True:
            number += 1
            try:
                values = next(remaining, None)
            except Exception as error:  # whatever a decoder of a column raises
                raise DataError(f"{place}: row {number} cannot be decoded: {_said(error)}") from None
            if values is None:
                return
            yield f"{place}: row {number}", number, values

    return rows


def _target(text: str) -> _Target:
    """Read NAME[:CONFIG][@SPLIT]; what there is on this machine wins, whatever signs its path holds."""
    whole, split = _cut(text, "@")
    name, config = _cut(whole, ":")
    if "://" in text or not name or config == "" or split == "":
        raise DataError(f"hf:{text}: must be hf:NAME[:CONFIG][@SPLIT], with a dataset of the hub or a local folder as NAME")
    local = Path(os.path.expanduser(name)) if _exists(name) else None
    if local is None and re.match(r"[.~/\\]|[A-Za-z]:\\", name):
        raise DataError(f"hf:{text}: there is no folder or file {name!r}")
    return _Target(name, config, split, local)


def _cut(text: str, sign: str) -> tuple[str, str | None]:
    """Return what stands before the last sign and what after it, None where there is no sign."""
    before, found, after = text.rpartition(sign)
    return (before, after) if found and not _exists(text) else (text, None)


def _exists(name: str) -> bool:
    return os.path.exists(os.path.expanduser(name))


def _package() -> Any:
    """Import Hugging Face's package, with its telemetry off.

    In a checkout our own folder `datasets/`, which is no package, would be imported in its place where it is not installed.
    """
    try:
        spec = importlib.util.find_spec("datasets")
    except ValueError:  # a stand-in without a spec
        spec = None
    if spec is None or spec.origin is None:
        raise DataError("hf: needs Hugging Face's package 'datasets', which is not installed: pip install 'salience-workbench[evals]'")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("HF_UPDATE_DOWNLOAD_COUNTS", "0")  # else each load is reported
    return importlib.import_module("datasets")


@contextmanager
def _quiet(datasets: Any) -> Iterator[None]:
    """Without progress bars, of this package and of the one that downloads; afterwards as before."""
    shown = [module for module in (datasets, importlib.import_module("huggingface_hub.utils")) if not module.are_progress_bars_disabled()]
    for module in shown:
        module.disable_progress_bars()
    try:
        yield
    finally:
        for module in shown:
            module.enable_progress_bars()


def _loaded(datasets: Any, target: _Target) -> Any:
    try:
        if target.local and any((target.local / name).is_file() for name in _SAVED):
            return _saved(datasets.load_from_disk(str(target.local)), target)
        if target.local and target.local.is_file():
            kind = _FILES.get(target.local.suffix.lower())
            if kind is None or target.config:
                raise DataError(f"hf:{target.name}: a file must end in {', '.join(_FILES)}, and has no config")
            return datasets.load_dataset(kind, data_files=str(target.local), split=target.split or "train")
        where = str(target.local or target.name)
        split = target.split or _only(datasets.get_dataset_split_names(where, target.config), target)
        return datasets.load_dataset(where, target.config, split=split)
    except DataError:
        raise
    except Exception as error:  # the package, its file formats and its network clients raise whatever they like
        _explain(error, target)


def _saved(loaded: Any, target: _Target) -> Any:
    """The table of a folder that `save_to_disk` wrote: one table, or one of several splits."""
    if target.config:
        raise DataError(f"hf:{target.name}: was written by save_to_disk, which knows no configs; leave :{target.config} out")
    splits = list(loaded) if isinstance(loaded, dict) else [str(loaded.split or "")]
    if target.split and target.split not in splits:
        raise DataError(f"hf:{target.name}: there is no split {target.split!r}; there are: {', '.join(filter(None, splits)) or 'none'}")
    return loaded[target.split or _only(splits, target)] if isinstance(loaded, dict) else loaded


def _only(splits: Sequence[str], target: _Target) -> str:
    if len(splits) == 1:
        return splits[0]
    name = target.name + (f":{target.config}" if target.config else "")
    raise DataError(f"hf:{name}: has several splits; name one of {', '.join(f'hf:{name}@{split}' for split in splits)}")


def _explain(error: Exception, target: _Target) -> NoReturn:
    place = f"hf:{target.label if target.local is None else target.name}"
    if isinstance(error, ConnectionError | TimeoutError):
        raise DataError(
            f"{place}: the Hugging Face Hub cannot be reached: {_said(error)}. Try again with a network, or fetch the data where there is "
            f"one (hf download --repo-type dataset {target.name} --local-dir FOLDER) and give hf:FOLDER"
        ) from None
    if type(error).__name__ == "DatasetNotFoundError":
        raise DataError(f"{place}: {_said(error)} A gated or private one needs a login first: hf auth login") from None
    raise DataError(f"{place}: cannot be loaded: {_said(error)}") from None


def _said(error: BaseException) -> str:
    """What an error says, with that of the innermost, which knows what was wrong, on one line."""
    inner = error
    while inner.__cause__ is not None:
        inner = inner.__cause__
    said = [f"{type(one).__name__}: {one}" for one in ([error] if inner is error else [error, inner])]
    return clip("; ".join(said), 400)

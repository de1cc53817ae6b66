"""Where data lies, and how a file of cases becomes a `Dataset`. Checks beyond the types are in `evals.data.check`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec

from evals.cases import SILVER, About, Case, Kind, Observed, Reason, Speaker, Split
from evals.data.dataset import Cases, Dataset
from evals.data.foreign import open_foreign
from evals.data.kinds import EXTRACTION, RowKind, require_extraction
from evals.errors import DataError
from evals.recall_cases import Action, QuestionKind, Retirement

_ALLOWED = {"observed": Observed, "kind": Kind, "about": About, "speaker": Speaker, "reason": Reason, "split": Split, "action": Action}
_ALLOWED_WITHIN = {("retired", "reason"): Retirement, ("questions", "kind"): QuestionKind}
_PASSWORD = re.compile(r"(?<=//)[^/@\s]+(?=@)")
_WHERE = re.compile(r" - at `(?:key in )?\$?([^`]*)`$")


def data_folder() -> Path:
    """Return the folder of the bundled data: `datasets/` of a checkout, else the copy inside the package."""
    package = Path(__file__).resolve().parent.parent
    checkout = package.parent / "datasets"
    return checkout if (checkout / "extraction").is_dir() else package / "_data"


def bundled_names() -> list[str]:
    """Return the names of the bundled datasets, of every kind."""
    return sorted(path.parent.name for path in data_folder().glob("*/dataset.json"))


def data_files(name_or_path: str) -> list[Path]:
    """Return the JSON Lines files that a name or a path stands for.

    Raises:
        DataError: There is no such dataset, file or folder with cases.
    """
    if name_or_path in bundled_names():
        return sorted((data_folder() / name_or_path).glob("*.jsonl"))
    path = Path(name_or_path)
    if path.is_dir():
        files = sorted(path.glob("*.jsonl"))
        if not files:
            raise DataError(f"{path}: the folder holds no .jsonl file")
        return files
    if path.suffix.lower() in {".csv", ".tsv", ".json", ".parquet"} and path.is_file():
        how = f"--data hf:{path} --columns" if path.suffix.lower() == ".parquet" else "--columns"
        raise DataError(f"{path}: is not JSON Lines; say which column is which, such as {how} text=SAID memories=FACTS language=:en")
    if not path.is_file():
        named = _PASSWORD.sub("[redacted]", name_or_path)
        raise DataError(f"there is no dataset or file {named!r}; bundled datasets: {', '.join(bundled_names())}")
    return [path]


def load_dataset(name_or_path: str = "extraction", columns: Sequence[str] = ()) -> Dataset:
    """Load a bundled dataset by name, a JSON Lines file or folder by path, or somebody else's data.

    Args:
        name_or_path: "extraction", a path, "locomo:FILE" or "hf:NAME".
        columns: For data in another shape: which field is which column (`evals.data.columns`).

    Returns:
        The dataset with all its splits.

    Raises:
        DataError: Something cannot be read; the message names file, line and field, what was given and what is allowed.
    """
    foreign = open_foreign(name_or_path, columns)
    if foreign is not None:
        cases = Cases(with_unique_ids(lambda: ((name_or_path, case) for case in foreign.read())))
        if not cases:
            raise DataError(f"{name_or_path}: holds no case; {' '.join(foreign.notes())}")
        return Dataset(name=foreign.name, version="", cases=cases, silver=foreign.silver, notes=foreign.notes())
    files = data_files(name_or_path)
    for path in files:
        require_extraction(path)
    cases = Cases(with_unique_ids(lambda: _placed(files)))
    if not cases:
        raise DataError(f"{name_or_path}: holds no case")
    name, version = name_and_version(name_or_path, files)
    silver = (
        f"{cases.silver} of {len(cases)} cases carry labels of other data, which nobody has checked (tag {SILVER})" if cases.silver else ""
    )
    return Dataset(name=name, version=version, cases=cases, silver=silver)


def name_and_version(name_or_path: str, files: Sequence[Path]) -> tuple[str, str]:
    """Return what a dataset is called and its version: as its `dataset.json` says where it is bundled, else its stem and ""."""
    about: dict[str, str] = {}
    if name_or_path in bundled_names():
        about = json.loads((files[0].parent / "dataset.json").read_text(encoding="utf-8"))
    return about.get("name") or Path(name_or_path).resolve().stem, about.get("version", "")


def _placed(files: Sequence[Path]) -> Iterator[tuple[str, Case]]:
    for path in files:
        for number, case in read_cases(path):
            yield f"{path}:{number}", case


def with_unique_ids(read: Callable[[], Iterator[tuple[str, Case]]]) -> Iterator[Case]:
    """The cases; an id that comes again is an error. Where it came first is looked up by reading again, so that places take no memory."""
    seen: set[str] = set()
    for place, case in read():
        if case.id in seen:
            first = next(before for before, other in read() if other.id == case.id)
            raise DataError(f"{place}: id {case.id!r} is already used at {first}; ids must be unique")
        seen.add(case.id)
        yield case


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, text) of every line that is not blank.

    Raises:
        DataError: The file cannot be read or is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                try:
                    line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError as error:
                    raise DataError(f"{path}:{number}: is not UTF-8 text ({error.reason} at byte {error.start} of the line)") from None
                if line.strip():
                    yield number, line
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from None


def read_cases(path: Path) -> Iterator[tuple[int, Case]]:
    """Yield (line number, case) of a JSON Lines file.

    Raises:
        DataError: A line is not a case; the message names file, line and field, what was given and what is allowed.
    """
    return read_rows(path, EXTRACTION)


def read_rows(path: Path, kind: RowKind) -> Iterator[tuple[int, Any]]:
    """Yield (line number, row) of a JSON Lines file of one kind.

    Raises:
        DataError: A line is no such row; the message names file, line and field, what was given and what is allowed.
    """
    decoder = msgspec.json.Decoder(kind.type)
    for number, line in read_lines(path):
        try:
            row = decoder.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            raise DataError(f"{path}:{number}: {explain(error, line)}") from None
        for field, message in kind.faults(row):
            raise DataError(f"{path}:{number}: {field}: {message} (salience data validate lists every fault)")
        yield number, row


def explain(error: Exception, line: str) -> str:
    """Return a decoding error in words that name the field, what was given and what is allowed."""
    message = str(error)
    found = _WHERE.search(message)
    if not isinstance(error, msgspec.ValidationError) or not found:
        if isinstance(error, msgspec.ValidationError):
            return message
        hint = " (is the file one JSON array? write one case a line)" if line.lstrip().startswith("[") else ""
        return f"is not a JSON object: {message or 'nested too deeply'}{hint}"
    path, problem = found.group(1).lstrip("."), message[: found.start()]
    field = re.sub(r"\[[^\]]*\]$", "", path).rsplit(".", 1)[-1]
    given = _given(line, path)
    closed = _ALLOWED_WITHIN.get((path.partition("[")[0], field)) or _ALLOWED.get(field)
    allowed = f"; allowed: {', '.join(get_args(closed))}" if closed is not None and "enum" in problem.lower() else ""
    return f"{path or 'the case'}: {problem}{allowed}" + (f" (given: {given})" if given else "")


def _given(line: str, path: str) -> str:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):  # the fault was met before the line turned out to be no JSON
        return ""
    for step in re.findall(r"[^.\[\]]+", path):
        try:
            value = value[int(step)] if isinstance(value, list) else value[step]
        except (KeyError, IndexError, ValueError, TypeError):
            return ""
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 100 else text[:97] + "..."

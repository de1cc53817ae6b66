"""Files of rows: JSON Lines, a JSON list, CSV. A row is an object of columns with its place; what the columns mean is in `columns`."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from evals.data.files import read_lines
from evals.data.foreign import given, parse_json, parse_json_file
from evals.errors import DataError

PlacedRow = tuple[str, int, Mapping[str, Any]]
"""Where a row is, for messages; its number from 1 (in JSON Lines that of the line); and its values by column."""


def rows_of(path: Path) -> Callable[[], Iterator[PlacedRow]]:
    """Return what reads the rows of a .jsonl, .json, .csv or .tsv file, anew at each call.

    Raises:
        DataError: There is no such file, or its name has another ending.
    """
    if not path.is_file():
        raise DataError(f"there is no file {str(path)!r}; a column map goes with a {', '.join(_READERS)} file, or with hf:NAME")
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise DataError(f"{path}: the name must end in {', '.join(_READERS)}; a parquet file, or a folder, can be opened as hf:{path}")
    return lambda: reader(path)


def rows_of_jsonl(path: Path) -> Iterator[PlacedRow]:
    """Yield the rows of a JSON Lines file.

    Raises:
        DataError: The file cannot be read, or a line is not a JSON object.
    """
    for number, line in read_lines(path):
        place = f"{path}:{number}"
        yield place, number, _object(parse_json(line, place), place)


def rows_of_json(path: Path) -> Iterator[PlacedRow]:
    """Yield the objects of a JSON list, which is read whole.

    Raises:
        DataError: The file cannot be read, or is not a list of objects.
    """
    content = parse_json_file(path)
    if not isinstance(content, list):
        raise DataError(f"{path}: must be a JSON list of objects, got {given(content)}; one object a line goes into a .jsonl file")
    for number, value in enumerate(content, start=1):
        place = f"{path}: row {number}"
        yield place, number, _object(value, place)


def _object(value: object, place: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise DataError(f"{place}: must be a JSON object of columns, got {given(value)}")
    return value


def rows_of_csv(path: Path) -> Iterator[PlacedRow]:
    """Yield the rows below the header of a CSV file (.tsv: by tabs). Every value is a text.

    Raises:
        DataError: The file cannot be read, is not UTF-8 or not CSV, or a row is not as long as the header.
    """
    number = 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",", strict=True)
            header = next(reader, [])
            if not header or len(set(header)) != len(header):
                raise DataError(f"{path}:1: the header must name each column once, got {given(header)}")
            for cells in filter(None, reader):
                number += 1
                place = f"{path}: row {number} (to line {reader.line_num})"
                if len(cells) != len(header):
                    raise DataError(f"{place}: has {len(cells)} cells, but the header has {len(header)}")
                yield place, number, dict(zip(header, cells, strict=True))
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: is not UTF-8 text ({error.reason}, after row {number})") from None
    except csv.Error as error:
        raise DataError(f"{path}: row {number + 1}: is not CSV: {error}; JSON Lines has no such limits") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from None


_READERS: dict[str, Callable[[Path], Iterator[PlacedRow]]] = {
    ".jsonl": rows_of_jsonl, ".json": rows_of_json, ".csv": rows_of_csv, ".tsv": rows_of_csv,
}  # fmt: skip

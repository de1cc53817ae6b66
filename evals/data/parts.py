"""Reads fields of other people's JSON with errors that name the place, for the loaders of known formats. No format is known here."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evals.data.foreign import Tally, given, parse_json_file
from evals.errors import DataError
from evals.text import fold

_HALF = re.compile("[\ud800-\udfff]")


def require_file(path: Path, what: str) -> None:
    """Raise if there is no such file.

    Raises:
        DataError: There is none.
    """
    if path.is_dir():
        raise DataError(f"{path}: is a folder; name the file in it that is the {what}")
    if not path.is_file():
        raise DataError(f"there is no {what} {str(path)!r}")
    if path.suffix.lower() in {".zip", ".gz"}:
        raise DataError(f"{path}: is packed; unpack it and name the file in it that is the {what}")


def json_entries(path: Path, what: str, *, under: Sequence[str] = ("results",)) -> list[Any]:
    """Return the entries of a file that is a JSON list, one object alone, or an object with the list in a field.

    Args:
        path: The file.
        what: What the entries are, for the message.
        under: The fields that may hold the list; the first that does is read.

    Raises:
        DataError: It is none of these.
    """
    content = parse_json_file(path)
    if isinstance(content, dict):
        return next((content[name] for name in under if isinstance(content.get(name), list)), [content])
    if not isinstance(content, list):
        raise DataError(f"{path}: must be a JSON list of {what}, got {given(content)}")
    return content


def field(row: object, name: str, kind: type, place: str, *, optional: bool = False) -> Any:
    """Return a field of an object, of one JSON type.

    Args:
        row: The object.
        name: The field.
        kind: str, list, dict, int or float.
        place: Where the object is.
        optional: Whether null and absence give None.

    Raises:
        DataError: The row is no object, or the field is missing or of another type.
    """
    names = {str: "a text", list: "a list", dict: "an object", int: "a whole number", float: "a number"}
    if not isinstance(row, dict):
        raise DataError(f"{place}: must be an object, got {given(row)}")
    value = row.get(name)
    if value is None and optional:
        return None
    wanted = (int, float) if kind is float else kind
    if not isinstance(value, wanted) or isinstance(value, bool):
        what = "is missing" if name not in row else f"must be {names[kind]}, got {given(value)}"
        raise DataError(f"{place}: {name} {what}")
    return value


def whole(text: str, place: str, tally: Tally, what: str = "a message") -> str:
    """Return text in which half of a surrogate pair, which JSON can spell and no file can hold, is U+FFFD; that is noted.

    Args:
        text: The text.
        place: Where it is.
        tally: Takes the note.
        what: What the text is.
    """
    mended = _HALF.sub("\N{REPLACEMENT CHARACTER}", text)
    if mended != text:
        tally.note(f"{what} with half of a character, written as U+FFFD", place)
    return mended


def one_of(value: str, allowed: Mapping[str, Any], name: str, place: str) -> Any:
    """Return what a word of a closed list stands for.

    Raises:
        DataError: It is not in the list.
    """
    if value not in allowed:
        raise DataError(f"{place}: {name} must be one of {', '.join(map(str, allowed))}, got {given(value)}")
    return allowed[value]


def iso_day(value: str, place: str) -> str:
    """Return the day of an ISO 8601 datetime, as it is written.

    Raises:
        DataError: It is none.
    """
    try:
        datetime.datetime.fromisoformat(value)
        return datetime.date.fromisoformat(value[:10]).isoformat()
    except ValueError:
        raise DataError(f"{place}: must be a datetime such as 2026-03-02T10:15:00Z, got {given(value)}") from None


def nearest_message(messages: list[dict[str, str]], content: str, *, roles: tuple[str, ...] = ("user",)) -> int:
    """Return the index of the message that shares the most words with a statement, the first of several, among those of some roles."""
    wanted = set(fold(content).split())
    shared = [len(wanted & set(fold(message["content"]).split())) if message["role"] in roles else -1 for message in messages]
    return max(range(len(messages)), key=lambda index: shared[index])

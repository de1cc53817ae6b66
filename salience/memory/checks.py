"""What a store can hold: text without NUL and lone surrogates, JSON, times in one form. Nothing is stored here."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping

from salience.errors import OptionError
from salience.types import iso_day

MAX_DEPTH = 20
"""How deep `meta` may be nested."""
_TOO_LARGE = 10**4300  # Python refuses to write and read whole numbers of more than 4,300 digits

_UNSTORABLE = {code: "�" for code in (0, *range(0xD800, 0xE000))}


def storable(text: str) -> str:
    """Return a text with NUL and lone surrogates, which SQLite and UTF-8 cannot hold, replaced by U+FFFD."""
    return text if text.isascii() and "\0" not in text else text.translate(_UNSTORABLE)


def storable_id(value: object) -> bool:
    """Return whether a value can be the id of something stored; what cannot names nothing."""
    return isinstance(value, str) and storable(value) == value


def check_count(name: str, value: object, least: int) -> None:
    """Refuse what is no whole number from `least` up.

    Raises:
        OptionError: It is none.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 1 << 62:
        raise OptionError(f"{name} must be a whole number from {least} up, got {value!r}")


def check_text(name: str, value: object, *, optional: bool = False) -> None:
    """Refuse what is no storable text.

    Args:
        name: The field's name, for the message.
        value: What was given.
        optional: Whether None is allowed; text must not be blank otherwise.

    Raises:
        OptionError: It is no string, is blank, or holds NUL or a lone surrogate.
    """
    if value is None and optional:
        return
    if not isinstance(value, str) or not (optional or value.strip()):
        raise OptionError(f"{name} must be a {'string or None' if optional else 'non-empty string'}, got {value!r}")
    if storable(value) != value:
        raise OptionError(
            f"{name} must hold neither NUL nor lone surrogates, got {value[:80]!r}; salience.memory.storable(text) replaces them"
        )


def json_int(value: object) -> bool:
    """Return whether a value is a whole number that can be written as JSON and read again."""
    return isinstance(value, int) and -_TOO_LARGE < value < _TOO_LARGE


def check_json(name: str, value: object, depth: int = MAX_DEPTH) -> None:
    """Refuse what JSON cannot hold as it is.

    Raises:
        OptionError: It is no JSON value, holds a number that is not finite, a key that is no string, or is nested too deeply.
    """
    if depth < 0:
        raise OptionError(f"{name} must be nested at most {MAX_DEPTH} deep")
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise OptionError(f"a key of {name} must be a string, got {key!r}")
            check_text(f"a key of {name}", key, optional=True)
            check_json(f"{name}[{key!r}]", inner, depth - 1)
    elif isinstance(value, list | tuple):
        for inner in value:
            check_json(name, inner, depth - 1)
    elif isinstance(value, str):
        check_text(name, value, optional=True)
    elif isinstance(value, int) and not json_int(value):
        raise OptionError(f"{name} must hold no whole number of more than 4,300 digits, got one of {value.bit_length()} bits")
    elif not (value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value))):
        raise OptionError(f"{name} must be JSON (strings, finite numbers, lists, mappings, true, false, null), got {value!r}")


def utc_now() -> str:
    """Return the time, UTC, with microseconds: text that sorts as the times do."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def check_time(name: str, value: object) -> None:
    """Refuse what `utc_now` would not write.

    Raises:
        OptionError: It is no such text.
    """
    try:
        if isinstance(value, str) and value.isascii() and datetime.datetime.strptime(value, "%Y-%m-%dT%H:%M:%S.%fZ") and len(value) == 27:
            return
    except ValueError:
        pass
    raise OptionError(f'{name} must be a time such as "2026-03-02T09:30:00.000000Z", got {value!r}')


def check_day(value: object) -> None:
    """Refuse a date of a caller that is neither None nor an ISO 8601 day.

    Raises:
        OptionError: It is neither.
    """
    if value is not None:
        iso_day("date", value)

"""What the fields of an artefact may hold. Each check returns the value as it is kept, or raises a `WorkbenchError`; it knows no file."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

from evals.errors import WorkbenchError

SPLITS = ("train", "dev", "test")
VERDICTS = ("pass", "fail", "inconclusive")
MOST_NESTED = 50
"""The deepest that a mapping of an artefact may be nested, in levels."""
_MOST_SHOWN = 80


def wrong(name: str, allowed: str, value: object) -> WorkbenchError:
    """Return the error that names a field, what is allowed and what was given."""
    return WorkbenchError(f"{name} must be {allowed}, got {given(value)}")


def given(value: object) -> str:
    """Return a value in ASCII, at most 80 characters long, for a message."""
    shown = ascii(value)
    return shown if len(shown) <= _MOST_SHOWN else shown[: _MOST_SHOWN - 3] + "..."


def check_text(where: str, value: object) -> None:
    r"""Check that every text in a value can be written as UTF-8.

    Args:
        where: What it is, for the message.
        value: Values for JSON.

    Raises:
        WorkbenchError: One holds half of a surrogate pair.
    """
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise WorkbenchError(f"{where} holds half of a surrogate pair (\\ud800 to \\udfff), which is no text and cannot be kept") from None


def plain(where: str, value: object, most: int = MOST_NESTED) -> Any:
    """Return a copy of a value that is made of what JSON has: dict, list, str, int, float, bool, None.

    Args:
        where: What it is, for the message.
        value: Mappings with texts for keys, lists and tuples, texts, finite numbers (NumPy's too), bools and None.
        most: How many levels it may be nested.

    Raises:
        WorkbenchError: It holds something else, or is nested deeper.
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real) and math.isfinite(value):
        return float(value)
    if isinstance(value, Mapping | list | tuple) and most < 1:
        raise WorkbenchError(f"{where[:60]}... is nested too deeply")
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: plain(f"{where}.{key}", inner, most - 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(f"{where}[{place}]", inner, most - 1) for place, inner in enumerate(value)]
    raise wrong(where, "what JSON can hold (objects with texts for keys, arrays, texts, finite numbers, true, false, null)", value)


def ordered(value: Any) -> Any:
    """Return a value of JSON with the keys of all its objects sorted: nothing may depend on the order in which they were given."""
    if isinstance(value, dict):
        return {key: ordered(value[key]) for key in sorted(value)}
    return [ordered(item) for item in value] if isinstance(value, list) else value


def text(name: str, value: object) -> str:
    """Check a text that says something."""
    if not isinstance(value, str) or not value.strip():
        raise wrong(name, "a non-empty text", value)
    return value


def any_text(name: str, value: object) -> str:
    """Check a text that may be empty."""
    if not isinstance(value, str):
        raise wrong(name, "a text", value)
    return value


def whole(name: str, value: object) -> int:
    """Check a whole number from 0 up."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
        raise wrong(name, "a whole number from 0 up", value)
    return int(value)


def moment(name: str, value: object) -> str:
    """Check an ISO 8601 date or time."""
    try:
        datetime.datetime.fromisoformat(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise wrong(name, 'an ISO 8601 date or time such as "2026-03-02"', value) from None
    return str(value)


def mapping(name: str, value: object) -> dict[str, Any]:
    """Check an object of JSON."""
    if not isinstance(value, Mapping):
        raise wrong(name, "an object", value)
    return dict(ordered(plain(name, value)))


def data(name: str, value: object) -> dict[str, Any]:
    """Check what is told of the data."""
    found = mapping(name, value)
    for key in ("argument", "name", "hash"):
        text(f"{name}.{key}", found.get(key))
    any_text(f"{name}.version", found.get("version"))
    for split in ("train", "dev"):
        part = mapping(f"{name}.{split}", found.get(split))
        text(f"{name}.{split}.hash", part.get("hash"))
        for key in ("cases", "conversations"):
            whole(f"{name}.{split}.{key}", part.get(key))
    return found


def suppliers(name: str, value: object) -> tuple[str, ...]:
    """Check ids, and return them sorted, each once."""
    if not isinstance(value, Sequence) or isinstance(value, str) or not all(isinstance(one, str) for one in value):
        raise wrong(name, "an array of texts", value)
    return tuple(sorted(set(value)))


def scores(name: str, value: object) -> dict[str, Any]:
    """Check figures by split and policy."""
    if not isinstance(value, Mapping) or not set(value) <= set(SPLITS):
        raise wrong(name, f"an object whose keys are among {', '.join(SPLITS)}", value)
    found: dict[str, Any] = {}
    for split, rows in value.items():
        _keys(f"{name}.{split}", rows, "an object from policies to figures")
        found[split] = {role: _row(f"{name}.{split}.{role}", row) for role, row in rows.items()}
    return dict(ordered(found))


def _keys(name: str, value: object, allowed: str) -> None:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise wrong(name, allowed, value)


def _row(name: str, value: object) -> dict[str, list[float | None]] | int:
    if not isinstance(value, Mapping):
        return whole(name, value)
    _keys(name, value, "an object from figures to [value, low, high]")
    return {figure: _triple(f"{name}.{figure}", bounds) for figure, bounds in value.items()}


def _triple(name: str, value: object) -> list[float | None]:
    if not isinstance(value, list | tuple) or len(value) != 3:
        raise wrong(name, "[value, low, high], each a number or null", value)
    return [_bound(name, one) for one in value]


def _bound(name: str, value: object) -> float | None:
    """NaN is what arithmetic calls a figure that is not defined, and None what a file does."""
    try:
        number = None if value is None or isinstance(value, bool) or not isinstance(value, Real) else float(value)
    except OverflowError:
        number = math.inf
    if (number is None and value is not None) or (number is not None and math.isinf(number)):
        raise wrong(name, "[value, low, high], each a number or null", value)
    return None if number is None or math.isnan(number) else number


def gates(name: str, value: object) -> tuple[dict[str, Any], ...]:
    """Check the openings of test."""
    if not isinstance(value, list | tuple):
        raise wrong(name, "an array", value)
    return tuple(_gate(f"{name}[{place}]", gate, place) for place, gate in enumerate(value))


def _gate(name: str, value: object, place: int) -> dict[str, Any]:
    gate = mapping(name, value)
    moment(f"{name}.date", gate.get("date"))
    if gate.get("verdict") not in VERDICTS:
        raise wrong(f"{name}.verdict", '"pass", "fail" or "inconclusive"', gate.get("verdict"))
    reasons = gate.get("reasons")
    if not isinstance(reasons, list) or not all(isinstance(reason, str) for reason in reasons):
        raise wrong(f"{name}.reasons", "an array of texts", reasons)
    reused = gate.get("reused")
    if not isinstance(reused, bool) or (place and not reused):
        raise wrong(f"{name}.reused", "true, as test had been opened before" if place else "true or false", reused)
    return gate


def spent(name: str, value: object) -> dict[str, Any]:
    """Check amounts."""
    found = mapping(name, value)
    for key, amount in found.items():
        if amount is not None and (isinstance(amount, bool) or not isinstance(amount, int | float) or amount < 0):
            raise wrong(f"{name}.{key}", "a number from 0 up, or null", amount)
    return found


def versions(name: str, value: object) -> dict[str, Any]:
    """Check versions of packages."""
    found = mapping(name, value)
    for key, version in found.items():
        any_text(f"{name}.{key}", version)
    return found

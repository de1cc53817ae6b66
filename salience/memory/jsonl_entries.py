"""One line of an import, checked: a head, a version of a memory, or the mark of a turn. Whether lines fit each other is not looked at."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from salience.errors import OptionError
from salience.memory.checks import check_text, check_time
from salience.memory.records import REASONS, StoredMemory
from salience.memory.store import TurnMark

FORMAT = "salience-memory"
VERSION = 1

Entry = StoredMemory | TurnMark | None
"""A version of a memory, the mark of a turn, or None for the head."""

HEAD = {"format": FORMAT, "version": VERSION}
_NAMES = frozenset(one.name for one in fields(StoredMemory))
_NEEDED = ("id", "version", "content", "created", "seen", "last_seen")


def entry(line: object) -> Entry:
    """Return what a line holds: None for the head.

    A line may be of any length, as a memory may: what was stored and written out must come in again.

    Raises:
        OptionError: It is no such line.
    """
    if not isinstance(line, str):
        raise OptionError(f"a line must be text, got {type(line).__name__}")
    try:
        value = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise OptionError(f"no JSON: {type(error).__name__}: {str(error)[:100]}") from None
    if not isinstance(value, dict):
        raise OptionError("a line must be a JSON object")
    if "format" in value:
        if value != HEAD or isinstance(value["version"], bool):
            raise OptionError(f"the head must be {json.dumps(HEAD)}, got {line.strip()[:100]!r}")
        return None
    if len(value) != 1 or not isinstance(inner := next(iter(value.values())), dict) or not value.keys() <= {"memory", "turn"}:
        raise OptionError('a line must be {"memory": {...}} or {"turn": {...}}')
    return _memory(inner) if "memory" in value else _turn(inner)


def _refuse_constant(name: str) -> float:
    raise OptionError(f"{name} is no JSON")


def _only(values: Mapping[str, Any], needed: tuple[str, ...], allowed: frozenset[str]) -> None:
    unknown, missing = sorted(values.keys() - allowed), [name for name in needed if name not in values]
    if unknown or missing:
        raise OptionError(f"unknown fields: {unknown[:5]}" if unknown else f"missing fields: {missing}")


def _memory(values: Mapping[str, Any]) -> StoredMemory:
    _only(values, _NEEDED, _NAMES)
    check_text("id", values["id"])
    for name in ("version", "seen"):
        count = values[name]
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count < 1 << 31:
            raise OptionError(f"{name} must be a whole number from 1 up, got {count!r}")
    for name in ("created", "last_seen", *(["retired"] if "retired" in values else [])):
        check_time(name, values[name])
    for name in ("because", "superseded_by"):
        check_text(name, values.get(name), optional=True)
    if ("retired" in values) != ("reason" in values) or values.get("reason", REASONS[0]) not in REASONS:
        raise OptionError(
            f"reason must be one of {', '.join(REASONS)} where retired is given, and only there; got {values.get('reason')!r}"
        )
    if "retired" not in values and {"because", "superseded_by"} & values.keys():
        raise OptionError("because and superseded_by belong to what is retired")
    tags = values.get("tags", [])
    if not isinstance(tags, list):
        raise OptionError(f"tags must be a list, got {tags!r}")
    return StoredMemory(**{**values, "tags": tuple(tags)})


def _turn(values: Mapping[str, Any]) -> TurnMark:
    _only(values, ("source_id", "digest", "at"), frozenset({"source", "source_id", "digest", "at"}))
    for name in ("source_id", "digest"):
        check_text(name, values[name])
    check_text("source", values.get("source"), optional=True)
    check_time("at", values["at"])
    return TurnMark(values.get("source"), values["source_id"], values["digest"], values["at"])

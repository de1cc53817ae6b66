"""Faults of a single case that types cannot express. A case with one is not loaded; `evals.data.check` lists them all."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from evals.cases import REASONS_WITH_CONTAINS, REQUIRED_FROM, Case, Memory
from evals.text import fold

ROLES = ("user", "assistant", "tool", "system")

_SHORTEST = 3  # characters of a string whose mere appearance is a violation


def case_faults(case: Case) -> Iterator[tuple[str, str]]:
    """Yield (field, message) for every fault of a single case."""
    yield from date_faults("date", case.date)
    for name in ("context", "messages"):
        for i, message in enumerate(getattr(case, name)):
            yield from message_faults(f"{name}[{i}]", message)
    seen: set[str] = set()
    for i, memory in enumerate(case.memories):
        where = f"memories[{i}]"
        if memory.id in seen:
            yield f"{where}.id", f"{memory.id!r} is used twice in this case"
        seen.add(memory.id)
        yield from _memory_faults(case, memory, where)
    yield from _forbidden_faults(case)


def message_faults(where: str, message: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield (field, message) for every fault of a message, which is at `where`."""
    for key in ("role", "content"):
        if key not in message:
            yield where, f"{key} is missing"
    if message.get("role", "user") not in ROLES:
        yield f"{where}.role", f"must be one of {', '.join(ROLES)}, got {message['role']!r}"
    if not message.get("content", "x").strip():
        yield f"{where}.content", "is empty"
    if not set(message.get("name", "")).isdisjoint("[]\n\r"):
        yield f"{where}.name", f"must be without brackets and line breaks, got {message['name']!r}"
    unknown = sorted(set(message) - {"role", "content", "name"})
    if unknown:
        yield f"{where}.{unknown[0]}", "is not a field of a message; allowed: role, content, name"


def date_faults(where: str, value: str | None) -> Iterator[tuple[str, str]]:
    """Yield a fault if a day, month or year in ISO 8601 form is not in the calendar."""
    if value is None:
        return
    padded = value + "-01-01"[len(value) - 4 :] if len(value) < 10 else value
    try:
        datetime.date.fromisoformat(padded)
    except ValueError:
        yield where, f"there is no such date: {value!r}"


def _memory_faults(case: Case, memory: Memory, where: str) -> Iterator[tuple[str, str]]:
    yield from date_faults(f"{where}.event_date", memory.event_date)
    if memory.salience >= REQUIRED_FROM and not memory.evidence:
        yield f"{where}.evidence", "is empty; a required memory needs an exact piece of a message"
    for j, evidence in enumerate(memory.evidence):
        if evidence.message >= len(case.messages):
            yield f"{where}.evidence[{j}].message", f"is {evidence.message}, but there are only {len(case.messages)} messages (from 0)"
        elif evidence.text not in case.messages[evidence.message].get("content", ""):
            yield f"{where}.evidence[{j}].text", f"does not stand in message {evidence.message}: {evidence.text!r}"


def _forbidden_faults(case: Case) -> Iterator[tuple[str, str]]:
    kept = {fold(phrase): memory.id for memory in case.memories for phrase in memory.phrases}
    for i, item in enumerate(case.forbidden):
        where = f"forbidden[{i}]"
        for phrase in item.phrases:
            if fold(phrase) in kept:
                yield where, f"is also memory {kept[fold(phrase)]!r}: {phrase!r}"
        if (item.reason in REASONS_WITH_CONTAINS) != (item.contains is not None):
            wanted = "must be a string" if item.reason in REASONS_WITH_CONTAINS else "must be null"
            yield f"{where}.contains", f"{wanted} for the reason {item.reason!r} (a string goes with {' and '.join(REASONS_WITH_CONTAINS)})"
        elif item.contains is not None and not fold(item.contains):
            yield f"{where}.contains", f"{item.contains!r} holds no visible character"
        elif item.contains is not None and len(fold(item.contains)) < _SHORTEST:
            yield f"{where}.contains", f"{item.contains!r} is too short: it would be found in text that has nothing to do with it"
        elif item.contains is not None:
            holders = [owner for phrase, owner in kept.items() if fold(item.contains) in phrase]
            if holders:
                yield f"{where}.contains", f"{item.contains!r} stands in memory {holders[0]!r}"

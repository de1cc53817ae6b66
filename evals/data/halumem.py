"""HaluMem files as cases: one session each, labelled by its memory points. The questions are not read.

A file is JSON Lines, one user a line. What becomes of it:

- A session is a case, its dialogue the messages; sessions of one user share `conversation`. All are of split "dev" and in English.
- A memory point is a memory; its `importance` of .25, .5, .75 and 1 is salience .3, .5, .7 and .9. A point whose source is
  "interference" was brought up and is not so: it is forbidden, as what the assistant says.
- An update forbids the memories that it replaces, as superseded.
- The data names no turn for a point. Evidence is the user's message that shares the most words with it.
- Sessions that were generated for questions have no memory points and are left out.
- A line, session or memory point that is not as it must be is left out and named with what is wrong. Where that leaves a session without
  a required memory the session goes too, as it may be no negative.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evals.cases import Case
from evals.data.files import read_lines
from evals.data.foreign import ForeignData, Tally, build_case, given, parse_json
from evals.data.parts import field, nearest_message, one_of, require_file, whole
from evals.errors import DataError
from evals.text import fold

SILVER = (
    "Labels are memory points that a machine wrote, for a whole session and without turns: recall is against silver, and a prediction "
    "without a label may be right."
)
SALIENCE = {0.25: 0.3, 0.5: 0.5, 0.75: 0.7, 1.0: 0.9}
"""Importance of a memory point to salience."""
_KINDS = {
    "Persona Memory": ("fact", "owner"), "Persona": ("fact", "owner"), "Event Memory": ("event", "owner"), "Event": ("event", "owner"),
    "Relationship Memory": ("relationship", "third-party"), "Relationship": ("relationship", "third-party"),
}  # fmt: skip
_ROLES = {"user": "user", "assistant": "assistant"}
_SOURCES = {"primary": True, "secondary": True, "system": True, "interference": False}
_TIME = "%b %d, %Y, %H:%M:%S"


def open_halumem(path: Path) -> ForeignData:
    """Return a HaluMem file as cases.

    Args:
        path: The JSON Lines file.

    Returns:
        The data; reading raises `DataError` where the file cannot be read, or nothing in it.

    Raises:
        DataError: There is no such file.
    """
    require_file(path, "HaluMem file")

    def source(tally: Tally) -> Iterator[tuple[str, Case]]:
        read: set[str] = set()
        for number, line in read_lines(path):
            place = f"{path}:{number}"
            try:
                user = parse_json(line, place)
                name = whole(field(user, "uuid", str, place), place, tally, "an id")
                sessions = field(user, "sessions", list, place)
            except DataError as error:
                tally.skip_faulty("a user's line", error, place)
                continue
            if name in read:
                tally.skip("a user who was read already", place)
                continue
            cases = list(_user(name, sessions, place, tally))
            if cases:
                read.add(name)
            yield from cases

    return ForeignData(name=path.stem, silver=SILVER, source=source)


def _user(name: str, sessions: list[Any], place: str, tally: Tally) -> Iterator[tuple[str, Case]]:
    for index, session in enumerate(sessions, start=1):
        where = f"{place}: session {index}"
        try:
            case = _case(name, index, session, where, tally)
        except DataError as error:
            tally.skip_faulty("a session", error, where)
            continue
        if case is not None:
            yield where, case


def _case(user: str, index: int, session: object, place: str, tally: Tally) -> Case | None:
    if isinstance(session, dict) and session.get("is_generated_qa_session"):
        tally.skip("a session generated for questions, which has no labels", place)
        return None
    said = [_message(turn, f"{place}: turn {i}", tally) for i, turn in enumerate(field(session, "dialogue", list, place), start=1)]
    messages = [message for message in said if message is not None]
    if not any(message["role"] == "user" for message in messages):
        tally.skip("a session in which the user says nothing", place)
        return None
    fields = {
        "id": f"{user}-s{index}", "conversation": user, "split": "dev", "language": "en", "tags": ["halumem"],
        "date": _day(field(session, "start_time", str, place), f"{place}: start_time"), "messages": messages,
    }  # fmt: skip
    memories: dict[str, dict[str, Any]] = {}
    forbidden: dict[str, dict[str, Any]] = {}
    faulty = False
    for i, point in enumerate(field(session, "memory_points", list, place), start=1):
        where = f"{place}: memory point {i}"
        try:
            _add_point(point, messages, memories, forbidden, where, tally)
        except DataError as error:
            tally.skip_faulty("a memory point", error, where)
            faulty = True
    kept = [{"id": f"m{i}", **memory} for i, memory in enumerate(memories.values(), start=1)]
    banned = [item for key, item in forbidden.items() if key not in memories]
    if len(banned) < len(forbidden):
        tally.note("a statement that is forbidden in its session and also a memory of it, kept as a memory", place)
    case = build_case({**fields, "memories": kept, "forbidden": banned}, place)
    if faulty and case.negative:
        tally.skip("a session without a required memory, but with a memory point that cannot be read, so that it may be no negative", place)
        return None
    return case


def _message(turn: object, place: str, tally: Tally) -> dict[str, str] | None:
    role, content = one_of(field(turn, "role", str, place), _ROLES, "role", place), field(turn, "content", str, place)
    if not content.strip():
        tally.skip("a message without text", place)
        return None
    return {"role": role, "content": whole(content, place, tally)}


def _day(value: str, place: str) -> str:
    try:
        return datetime.datetime.strptime(value, _TIME).date().isoformat()
    except ValueError:
        raise DataError(f'{place}: must be a time like "Sep 04, 2025, 18:42:19", got {given(value)}') from None


def _add_point(
    point: object, messages: list[dict[str, str]], memories: dict[str, Any], forbidden: dict[str, Any], place: str, tally: Tally
) -> None:
    content = whole(field(point, "memory_content", str, place).strip(), place, tally, "a memory")
    if not content:
        tally.skip("a memory point without text", place)
        return
    if not one_of(field(point, "memory_source", str, place), _SOURCES, "memory_source", place):
        forbidden[fold(content)] = {"content": content, "reason": "assistant-claim"}
        return
    kind, about = one_of(field(point, "memory_type", str, place), _KINDS, "memory_type", place)
    if fold(content) in memories:
        tally.note("a memory point twice in one session, merged", place)
        return
    importance = field(point, "importance", float, place)
    if importance not in SALIENCE:
        raise DataError(f"{place}: importance must be one of {', '.join(map(str, SALIENCE))}, got {given(importance)}")
    replaced = _replaced(point, place, tally)
    index = nearest_message(messages, content)
    memories[fold(content)] = {
        "content": content, "salience": SALIENCE[importance], "kind": kind, "about": about,
        "evidence": [{"message": index, "text": messages[index]["content"]}],
    }  # fmt: skip
    for old in replaced:
        forbidden[fold(old)] = {"content": old, "reason": "superseded"}


def _replaced(point: Any, place: str, tally: Tally) -> list[str]:
    """Return the memories that a point replaces; whether it is an update the data says by a text or by a boolean."""
    updates = point.get("is_update", False)
    if not isinstance(updates, bool) and updates not in ("True", "False"):
        raise DataError(f'{place}: is_update must be "True" or "False", got {given(updates)}')
    if updates in (False, "False"):
        return []
    old = field(point, "original_memories", list, place, optional=True) or []
    for one in old:
        if not isinstance(one, str):
            raise DataError(f"{place}: original_memories must be texts, got {given(one)}")
    return [whole(one.strip(), place, tally, "a memory") for one in old if one.strip()]

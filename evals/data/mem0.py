"""The history of a mem0 store as cases: what was said, and what the store made of it. Whether that was right nobody has checked.

The entries are those of a memory's history on mem0's platform (`id`, `memory_id`, `input` with the messages, `event`, `old_memory`,
`new_memory`), of one memory or of many, in a JSON list or under "results" or "memories". What becomes of them:

- Entries with the same messages are one case; cases of one user share `conversation`. All are of split "dev".
- ADD is a memory. UPDATE is a memory, and forbids the old one as superseded; DELETE only the latter. NONE tells nothing.
- An update that keeps every word of the old memory enriches it; the old one is then still true, and not forbidden.
- An entry without `input` is skipped: a list of memories, a memory export and the history of the open-source store hold none, and
  without the messages that a memory came from it is no labelled data. So is one that is not as it must be, named with what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.cases import Case
from evals.data.foreign import SILVER_SALIENCE, ForeignData, Tally, build_case, given
from evals.data.parts import field, iso_day, json_entries, nearest_message, one_of, require_file, whole
from evals.data.row import ROLES
from evals.errors import DataError
from evals.matching.language import language_of
from evals.text import fold

SILVER = (
    "Labels are what a store kept and nobody has checked; turns of which it kept nothing are not in its history. Recall says how much "
    "of the same a model keeps, and a prediction without a label may be right."
)
_EVENTS = {"ADD": (True, False), "UPDATE": (True, True), "DELETE": (False, True), "NONE": (False, False)}
"""Event to (the new memory is kept, the old one goes)."""


_NEEDED = "the history of each memory from mem0's platform, whose entries have input (the messages), event, old_memory and new_memory"


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry of the history; `new` and `old` are None where the event keeps or forbids nothing."""

    user: str
    day: str | None
    messages: tuple[tuple[str, str], ...]
    new: str | None
    old: str | None


def open_mem0(path: Path) -> ForeignData:
    """Return the history of a mem0 store as cases.

    Args:
        path: The JSON file.

    Returns:
        The data; reading raises `DataError` where the file is no JSON list of entries, or no entry can be read.

    Raises:
        DataError: There is no such file.
    """
    require_file(path, "mem0 file")

    def source(tally: Tally) -> Iterator[tuple[str, Case]]:
        groups: dict[tuple[str, tuple[tuple[str, str], ...]], list[_Entry]] = {}
        places: list[str] = []
        for number, raw in enumerate(json_entries(path, "history entries", under=("results", "memories")), start=1):
            place = f"{path}: entry {number}"
            try:
                entry = _entry(raw, place, tally)
            except DataError as error:
                tally.skip_faulty("an entry", error, place)
                continue
            if entry is not None:
                group = groups.setdefault((entry.user, entry.messages), [])
                places += [] if group else [place]
                group.append(entry)
        for number, (place, group) in enumerate(zip(places, groups.values(), strict=True), start=1):
            try:
                case = _case(number, group, place)
            except DataError as error:
                tally.skip_faulty("an entry", error, place)
                continue
            yield place, case

    return ForeignData(name=path.stem, silver=SILVER, needed=_NEEDED, source=source)


def _entry(raw: Any, place: str, tally: Tally) -> _Entry | None:
    if isinstance(raw, dict) and raw.get("input") is None:
        tally.skip("a memory without the messages that it came from (input)", place)
        return None
    messages = [_message(one, place, tally) for one in field(raw, "input", list, place)]
    keeps, goes = one_of(field(raw, "event", str, place), _EVENTS, "event", place)
    created = field(raw, "created_at", str, place, optional=True)
    entry = _Entry(
        user=whole(field(raw, "user_id", str, place, optional=True) or "user", place, tally, "an id"),
        day=None if created is None else iso_day(created, f"{place}: created_at"),
        messages=tuple(message for message in messages if message[1].strip()),
        new=_statement(raw, "new_memory", place, tally) if keeps else None,
        old=_statement(raw, "old_memory", place, tally) if goes else None,
    )
    if not entry.messages:
        tally.skip("an entry whose messages have no text", place)
        return None
    for _ in messages[len(entry.messages) :]:
        tally.skip("a message without text", place)
    if not keeps and not goes:
        tally.skip("an entry that changed nothing", place)
    return entry


def _message(message: object, place: str, tally: Tally) -> tuple[str, str]:
    role, content = field(message, "role", str, place), field(message, "content", str, place)
    if role.lower() not in ROLES:
        raise DataError(f"{place}: role of an input must be one of {', '.join(ROLES)}, got {given(role)}")
    return ROLES[role.lower()], whole(content, place, tally)


def _statement(raw: object, name: str, place: str, tally: Tally) -> str:
    said = field(raw, name, str, place).strip()
    if not said:
        raise DataError(f"{place}: {name} is empty")
    return whole(said, place, tally, "a memory")


def _case(number: int, group: list[_Entry], place: str) -> Case:
    user, day = group[0].user, group[0].day
    messages = [{"role": role, "content": content} for role, content in group[0].messages]
    memories: dict[str, dict[str, Any]] = {}
    forbidden: dict[str, dict[str, Any]] = {}
    for entry in group:
        if entry.new is not None:
            index = nearest_message(messages, entry.new, roles=("user", "assistant", "tool", "system"))
            memories[fold(entry.new)] = {
                "content": entry.new, "salience": SILVER_SALIENCE, "evidence": [{"message": index, "text": messages[index]["content"]}],
            }  # fmt: skip
        if entry.old is not None and not _says_more(entry):
            forbidden[fold(entry.old)] = {"content": entry.old, "reason": "superseded"}
    said = next((message["content"] for message in messages if message["role"] == "user"), messages[0]["content"])
    fields = {
        "id": f"{user}-{number}", "conversation": user, "split": "dev", "language": language_of(said[:2000], "en"), "tags": ["mem0"],
        "date": day, "messages": messages,
        "memories": [{"id": f"m{i}", **memory} for i, memory in enumerate(memories.values(), start=1)],
        "forbidden": [item for key, item in forbidden.items() if key not in memories],
    }  # fmt: skip
    return build_case(fields, place)


def _says_more(entry: _Entry) -> bool:
    """Return whether an update keeps every word of what it replaces, which then is still true."""
    return entry.old is not None and entry.new is not None and set(fold(entry.old).split()) <= set(fold(entry.new).split())

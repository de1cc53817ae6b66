"""The history of a mem0 store as cases: what was said, and what the store made of it. Whether that was right nobody has checked.

The entries are those of a memory's history (`id`, `memory_id`, `input` with the messages, `event`, `old_memory`, `new_memory`), of one
memory or of many, in a JSON list or under "results". What becomes of them:

- Entries with the same messages are one case; cases of one user share `conversation`. All are of split "dev".
- ADD is a memory. UPDATE is a memory, and forbids the old one as superseded; DELETE only the latter. NONE tells nothing.
- A list of memories without the messages they came from is no labelled data, and is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evals.cases import Case
from evals.data.foreign import SILVER_SALIENCE, ForeignData, Tally, build_case, given
from evals.data.parts import field, iso_day, json_entries, nearest_message, one_of, require_file
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


def open_mem0(path: Path) -> ForeignData:
    """Return the history of a mem0 store as cases.

    Args:
        path: The JSON file.

    Returns:
        The data; reading raises `DataError` where the file is not what it must be, naming entry and field.

    Raises:
        DataError: There is no such file.
    """
    require_file(path, "mem0 file")

    def source(tally: Tally) -> Iterator[tuple[str, Case]]:
        groups: dict[str, list[tuple[str, Any]]] = {}
        for number, entry in enumerate(json_entries(path, "history entries"), start=1):
            place = f"{path}: entry {number}"
            if isinstance(entry, dict) and "input" not in entry and "memory" in entry:
                raise DataError(
                    f"{place}: is a memory without the messages that it came from, and a case needs both; export the history of each "
                    f"memory, whose entries have input, event, old_memory and new_memory"
                )
            key = json.dumps(
                [entry.get("user_id") if isinstance(entry, dict) else None, field(entry, "input", list, place)], sort_keys=True
            )
            groups.setdefault(key, []).append((place, entry))
        for number, group in enumerate(groups.values(), start=1):
            case = _case(number, group, tally)
            if case is not None:
                yield group[0][0], case

    return ForeignData(name=path.stem, silver=SILVER, source=source)


def _case(number: int, group: list[tuple[str, Any]], tally: Tally) -> Case | None:
    place, first = group[0]
    messages = [message for message in (_message(one, place) for one in first["input"]) if message["content"].strip()]
    if not messages:
        tally.skip("an entry whose messages have no text", place)
        return None
    user = field(first, "user_id", str, place, optional=True) or "user"
    created = field(first, "created_at", str, place, optional=True)
    memories: dict[str, dict[str, Any]] = {}
    forbidden: dict[str, dict[str, Any]] = {}
    for where, entry in group:
        keeps, goes = one_of(field(entry, "event", str, where), _EVENTS, "event", where)
        if not keeps and not goes:
            tally.skip("an entry that changed nothing", where)
        if keeps:
            new = field(entry, "new_memory", str, where).strip()
            index = nearest_message(messages, new, roles=("user", "assistant", "tool", "system"))
            memories[fold(new)] = {
                "content": new, "salience": SILVER_SALIENCE, "evidence": [{"message": index, "text": messages[index]["content"]}],
            }  # fmt: skip
        if goes:
            old = field(entry, "old_memory", str, where).strip()
            forbidden[fold(old)] = {"content": old, "reason": "superseded"}
    said = next((message["content"] for message in messages if message["role"] == "user"), messages[0]["content"])
    fields = {
        "id": f"{user}-{number}", "conversation": user, "split": "dev", "language": language_of(said[:2000], "en"), "tags": ["mem0"],
        "date": None if created is None else iso_day(created, f"{place}: created_at"), "messages": messages,
        "memories": [{"id": f"m{i}", **memory} for i, memory in enumerate(memories.values(), start=1)],
        "forbidden": [item for key, item in forbidden.items() if key not in memories],
    }  # fmt: skip
    return build_case(fields, place)


def _message(message: object, place: str) -> dict[str, str]:
    role, content = field(message, "role", str, place), field(message, "content", str, place)
    if role.lower() not in ROLES:
        raise DataError(f"{place}: role of an input must be one of {', '.join(ROLES)}, got {given(role)}")
    return {"role": ROLES[role.lower()], "content": content}

"""Rows of a store's tables as values, and back. Every statement here names the user whose row it reads."""

from __future__ import annotations

import json
import secrets
import sqlite3
from typing import Any, NamedTuple

from salience.memory.checks import storable_id
from salience.memory.embeddings import EmbeddingModel
from salience.memory.errors import EmbeddingsError
from salience.memory.records import NewMemory, StoredMemory, dump_json, words_key

_PLAIN = (
    "id", "version", "content", "salience", "source", "source_id", "observed", "date", "created", "seen", "last_seen", "retired", "reason",
    "because", "superseded_by",
)  # fmt: skip
COLUMNS = ", ".join((*_PLAIN, "tags", "meta"))
_WRITTEN = (*_PLAIN, "tags", "meta", "words", "user", "changed")
INSERT = f"INSERT INTO memories ({', '.join(_WRITTEN)}) VALUES ({', '.join('?' * len(_WRITTEN))})"  # noqa: S608  (names of ours)


class UserRow(NamedTuple):
    """What is kept about a user.

    Attributes:
        user: The number that stands for the user in other tables; never used again after `clear`.
        epoch: Drawn when the row was made, or the vectors were made anew: tells a copy in memory that it is of another life.
        change: Counts the changes to memories within an epoch.
        model: What the vectors were made by; None before the first one.
    """

    user: int
    epoch: int
    change: int
    model: EmbeddingModel | None


def find_user(db: sqlite3.Connection, user_id: str) -> UserRow | None:
    """Return the row of a user, or None."""
    row = db.execute("SELECT user, epoch, change, model, dimensions FROM users WHERE name = ?", (user_id,)).fetchone()
    return None if row is None else UserRow(row[0], row[1], row[2], None if row[3] is None else EmbeddingModel(row[3], row[4]))


def add_user(db: sqlite3.Connection, user_id: str) -> UserRow:
    """Add the row of a user who has none, and return it."""
    db.execute("INSERT INTO users (name, epoch, change) VALUES (?, ?, 0)", (user_id, new_epoch()))
    found = find_user(db, user_id)
    assert found is not None  # noqa: S101  (it was just written)
    return found


def new_epoch() -> int:
    """Return a number that no other life of a user's vectors has."""
    return secrets.randbits(62)


def refuse_other_model(user_id: str, kept: EmbeddingModel | None, given: EmbeddingModel) -> None:
    """Refuse a model other than that of the vectors that a user has.

    Raises:
        EmbeddingsError: It is another.
    """
    if kept is not None and kept != given:
        raise EmbeddingsError(
            f"the vectors of user {user_id!r} are of {kept.name} with {kept.dimensions} dimensions, and those given of {given.name} with "
            f"{given.dimensions}; use the same embeddings, or make them anew with store.reembed({user_id!r}, embeddings)"
        )


def as_memory(row: tuple[Any, ...]) -> StoredMemory:
    """Return the memory that a row of `COLUMNS` holds."""
    values = dict(zip(_PLAIN, row, strict=False))
    return StoredMemory(**values, tags=tuple(json.loads(row[-2])), meta=json.loads(row[-1]))


def insert_memory(db: sqlite3.Connection, user: int, memory: StoredMemory, changed: int) -> int:
    """Write one version and return its row number."""
    values = [getattr(memory, name) for name in _PLAIN]
    values += [dump_json(list(memory.tags)), dump_json(memory.meta), words_key(memory.content), user, changed]
    return int(db.execute(INSERT, values).lastrowid or 0)


def version_of(memory: NewMemory, memory_id: str, version: int, at: str) -> StoredMemory:
    """Return what is to be written as a live version of a memory."""
    return StoredMemory(
        memory.content, memory.salience, memory.source, memory.source_id, memory.observed, memory.date, memory.tags, memory.meta,
        id=memory_id, version=version, created=at, last_seen=at,
    )  # fmt: skip


def select(db: sqlite3.Connection, user: int, clause: str, values: tuple[Any, ...] = ()) -> list[StoredMemory]:
    """Return the memories of a user that a clause of ours chooses; values are always bound, never part of the text."""
    rows = db.execute(f"SELECT {COLUMNS} FROM memories WHERE user = ? {clause}", (user, *values))  # noqa: S608
    return [as_memory(row) for row in rows]


def live(db: sqlite3.Connection, user: int, memory_id: str) -> StoredMemory | None:
    """Return the live version of a memory, or None."""
    if not storable_id(memory_id):
        return None
    return next(iter(select(db, user, "AND id = ? AND retired IS NULL", (memory_id,))), None)


def with_words(db: sqlite3.Connection, user: int, content: str) -> StoredMemory | None:
    """Return the earliest live memory that says the same word for word, or None."""
    clause = "AND words = ? AND retired IS NULL ORDER BY seq LIMIT 1"
    return next(iter(select(db, user, clause, (words_key(content),))), None)


def kin(db: sqlite3.Connection, user: int, memory_id: str) -> list[StoredMemory]:
    """Return every version of a memory and of all that are linked to it, over any number of links, in the order of writing."""
    found: dict[int, StoredMemory] = {}
    known, todo = set[str](), [memory_id] if storable_id(memory_id) else []
    while todo:
        one = todo.pop()
        if one in known:
            continue
        known.add(one)
        rows = db.execute(f"SELECT seq, {COLUMNS} FROM memories WHERE user = ? AND id = ?", (user, one))  # noqa: S608
        found |= {row[0]: as_memory(row[1:]) for row in rows}
        todo += [memory.superseded_by for memory in found.values() if memory.id == one and memory.superseded_by]
        todo += [row[0] for row in db.execute("SELECT id FROM memories WHERE user = ? AND superseded_by = ?", (user, one))]
    return [found[seq] for seq in sorted(found)]

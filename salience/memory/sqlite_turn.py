"""The writing of one turn into an SQLite store. When it begins, ends and is undone is decided in `salience.memory.sqlite`."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace

from salience.errors import OptionError
from salience.memory.checks import check_text
from salience.memory.embeddings import EmbeddingModel, Vector
from salience.memory.errors import StoreError, UnknownMemoryError
from salience.memory.records import REASONS, NewMemory, Reason, StoredMemory
from salience.memory.rows import UserRow, add_user, find_user, insert_memory, live, refuse_other_model, version_of, with_words
from salience.memory.store import TurnMark
from salience.memory.vectors import pack


class SqliteTurn:
    """See `StoreTurn`. Made by `SqliteStore.turn`, within a transaction that holds the write lock.

    Args:
        db: The connection.
        user_id: Whose memories these are.
        model: What vectors are made by; None where none are written.
        at: The time of everything that is written.
        new_id: Makes an id.
    """

    def __init__(self, db: sqlite3.Connection, user_id: str, model: EmbeddingModel | None, at: str, new_id: Callable[[], str]) -> None:
        self._db, self._user_id, self._model, self._at, self._new_id = db, user_id, model, at, new_id
        self._row = find_user(db, user_id)
        self._change = 0 if self._row is None else self._row.change
        self._open = True

    def end(self) -> None:
        """Refuse all that is asked of it from now on."""
        self._open = False

    def _check_open(self) -> None:
        if not self._open:
            raise StoreError("this turn has ended; begin another with store.turn(user_id)")

    def _writable(self) -> UserRow:
        """Return the user's row, made where there is none."""
        self._check_open()
        if self._row is None:
            self._row = add_user(self._db, self._user_id)
        return self._row

    def _next_change(self, user: int) -> int:
        self._change += 1
        self._db.execute("UPDATE users SET change = ? WHERE user = ?", (self._change, user))
        return self._change

    def _packed(self, user: UserRow, vector: Vector) -> bytes:
        if self._model is None:
            raise StoreError("this turn was begun without an embedding model; begin it with store.turn(user_id, model_of(embeddings))")
        refuse_other_model(self._user_id, user.model, self._model)
        packed = pack(vector, self._model)
        if user.model is None:
            self._db.execute("UPDATE users SET model = ?, dimensions = ? WHERE user = ?", (*self._model, user.user))
            self._row = user._replace(model=self._model)
        return packed

    def get(self, memory_id: str) -> StoredMemory | None:
        """Return the live version of a memory as it stands within this turn, or None."""
        self._check_open()
        return None if self._row is None else live(self._db, self._row.user, memory_id)

    def same_words(self, content: str) -> StoredMemory | None:
        """Return the earliest live memory that says the same word for word, or None."""
        self._check_open()
        return None if self._row is None else with_words(self._db, self._row.user, content)

    def _live(self, memory_id: str) -> tuple[UserRow, StoredMemory]:
        found = self.get(memory_id)
        if found is None or self._row is None:
            raise UnknownMemoryError(f"user {self._user_id!r} has no live memory with the id {memory_id!r}; store.list(user_id) shows all")
        return self._row, found

    def write(self, memory: NewMemory, vector: Vector, *, memory_id: str | None = None) -> StoredMemory:
        """Add a memory.

        Raises:
            OptionError: The id is no usable text.
            StoreError: The id is in use.
            EmbeddingsError: The vector does not fit.
        """
        user = self._writable()
        packed = self._packed(user, vector)
        own = self._new_id() if memory_id is None else memory_id
        self._take_id(user.user, own)
        return self._insert(user.user, version_of(memory, own, 1, self._at), packed)

    def _take_id(self, user: int, memory_id: str) -> None:
        check_text("a memory's id", memory_id)
        if self._db.execute("SELECT 1 FROM ids WHERE user = ? AND id = ?", (user, memory_id)).fetchone():
            raise StoreError(f"user {self._user_id!r} already has a memory with the id {memory_id!r}; revise it, or leave the id out")
        self._db.execute("INSERT INTO ids VALUES (?, ?)", (user, memory_id))

    def _insert(self, user: int, memory: StoredMemory, packed: bytes | None) -> StoredMemory:
        row = insert_memory(self._db, user, memory, self._next_change(user))
        if packed is not None:
            self._db.execute("INSERT INTO vectors VALUES (?, ?)", (row, packed))
        return memory

    def revise(self, memory_id: str, memory: NewMemory, vector: Vector, *, because: str | None = None) -> StoredMemory:
        """Retire the live version as "updated" and write the next one under the same id.

        Raises:
            UnknownMemoryError: The id names no live memory of this user.
            EmbeddingsError: The vector does not fit.
        """
        user, old = self._live(memory_id)
        packed = self._packed(user, vector)
        self.retire(memory_id, "updated", because=because, superseded_by=memory_id)
        return self._insert(user.user, version_of(memory, memory_id, old.version + 1, self._at), packed)

    def retire(self, memory_id: str, reason: Reason, *, because: str | None = None, superseded_by: str | None = None) -> StoredMemory:
        """Retire a live memory and return it.

        Raises:
            OptionError: The reason is none of ours, or `because` cannot be stored.
            UnknownMemoryError: The id names no live memory of this user.
        """
        if reason not in REASONS:
            raise OptionError(f"reason must be one of {', '.join(REASONS)}, got {reason!r}")
        check_text("because", because, optional=True)
        check_text("superseded_by", superseded_by, optional=True)
        user, old = self._live(memory_id)
        self._db.execute(
            "DELETE FROM vectors WHERE seq = (SELECT seq FROM memories WHERE user = ? AND id = ? AND retired IS NULL)",
            (user.user, memory_id),
        )
        self._db.execute(
            "UPDATE memories SET retired = ?, reason = ?, because = ?, superseded_by = ?, changed = ? "
            "WHERE user = ? AND id = ? AND retired IS NULL",
            (self._at, reason, because, superseded_by, self._next_change(user.user), user.user, memory_id),
        )
        return replace(old, retired=self._at, reason=reason, because=because, superseded_by=superseded_by)

    def sight(self, memory_id: str) -> StoredMemory:
        """Count that a live memory was stated once more.

        Raises:
            UnknownMemoryError: The id names no live memory of this user.
        """
        user, old = self._live(memory_id)
        self._db.execute(
            "UPDATE memories SET seen = seen + 1, last_seen = ? WHERE user = ? AND id = ? AND retired IS NULL",
            (self._at, user.user, memory_id),
        )
        return replace(old, seen=old.seen + 1, last_seen=self._at)

    def restore(self, memory: StoredMemory, vector: Vector | None) -> None:
        """Write one version exactly as it was exported.

        Raises:
            StoreError: The version does not follow what the store holds under its id, or a vector is missing or too much.
            EmbeddingsError: The vector does not fit.
        """
        if memory.live != (vector is not None):
            raise StoreError(f"a vector belongs to a version if and only if it is live; {memory.id!r} version {memory.version}")
        user = self._writable()
        packed = None if vector is None else self._packed(user, vector)
        if memory.version == 1:
            self._take_id(user.user, memory.id)
        self._insert(user.user, memory, packed)

    def mark(self, mark: TurnMark) -> bool:
        """Note that a turn was taken in, and return whether it is the first time; noting it again changes nothing."""
        values = (self._writable().user, mark.source, mark.source_id, mark.digest, mark.at or self._at)
        return self._db.execute("INSERT OR IGNORE INTO turns VALUES (?, ?, ?, ?, ?)", values).rowcount == 1

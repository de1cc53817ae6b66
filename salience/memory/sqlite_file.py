"""The connection behind an SQLite store: held by one thread at a time, opened anew after a fork, in transactions that end as a whole."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from salience.memory.checks import check_text
from salience.memory.errors import StoreError
from salience.memory.indexes import Indexes
from salience.memory.schema import IN_MEMORY, advice, open_file


class SqliteFile:
    """A store's file and what is kept of it in memory.

    Args:
        filename: A path or ":memory:".
        cache_bytes: See `SqliteStore`.

    Raises:
        StoreError: The file cannot be opened, is no store, or is one of a later version.
    """

    def __init__(self, filename: str, cache_bytes: int) -> None:
        self.filename, self._cache_bytes = filename, cache_bytes
        self._inherited: list[sqlite3.Connection] = []
        self._connect()

    def _connect(self) -> None:
        self._db, self._pid = open_file(self.filename), os.getpid()
        self._lock, self._in_turn, self._closed = threading.RLock(), False, False
        self._indexes = Indexes(self._cache_bytes)

    def _after_fork(self) -> None:
        if self.filename == IN_MEMORY:
            raise StoreError("a store in memory cannot be used by a forked process; name a file")
        self._inherited.append(self._db)  # closing it here would let go of the parent's locks
        self._connect()

    @contextmanager
    def _held(self) -> Iterator[sqlite3.Connection]:
        """Hold the connection, and turn errors of SQLite into ours."""
        if os.getpid() != self._pid:
            self._after_fork()
        with self._lock:
            if self._closed:
                raise StoreError(f"{self.filename}: the memory store is closed; open another SqliteStore")
            try:
                yield self._db
            except sqlite3.IntegrityError as error:
                raise StoreError(
                    f"{self.filename}: the turn does not hold together and was not written: {error}; "
                    "a link must name a memory of the same user"
                ) from error
            except sqlite3.Error as error:
                raise StoreError(f"{self.filename}: the memory store failed: {error}; {advice(error)}") from error

    @contextmanager
    def _reading(self, user_id: str) -> Iterator[sqlite3.Connection]:
        """Read from one state of the store; within a turn, from that turn's."""
        check_text("user_id", user_id)
        with self._held() as db:
            if self._in_turn:
                yield db
                return
            db.execute("BEGIN")
            try:
                yield db
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")

    @contextmanager
    def _writing(self, user_id: str) -> Iterator[sqlite3.Connection]:
        check_text("user_id", user_id)
        with self._held() as db:
            if self._in_turn:
                raise StoreError("a turn is open already in this thread; end it before another is begun")
            db.execute("BEGIN IMMEDIATE")
            self._in_turn = True
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                self._indexes.forget(user_id)  # it may have read what is now undone
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
            finally:
                self._in_turn = False

    def close(self) -> None:
        """Close the file; closing again does nothing."""
        if os.getpid() != self._pid:  # the lock may be held by a thread that this process does not have
            return
        with self._lock:
            if not self._closed:
                self._db.close()
            self._closed = True

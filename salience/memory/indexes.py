"""Copies in memory of the users' vectors, kept up with what this and other processes write."""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from dataclasses import dataclass

from salience.memory.rows import UserRow
from salience.memory.vectors import VectorIndex, new_index

_PART = 4096  # rows at a time, so that there are not two copies of all
_ALL = """SELECT m.seq, m.id, v.vector FROM memories m CROSS JOIN vectors v ON v.seq = m.seq
    WHERE m.user = ? AND m.retired IS NULL ORDER BY m.seq"""
_COUNT = "SELECT count(*) FROM memories WHERE user = ? AND retired IS NULL"
_CHANGED = """SELECT m.seq, m.id, v.vector FROM memories m LEFT JOIN vectors v ON v.seq = m.seq
    WHERE m.user = ? AND m.changed > ? ORDER BY m.changed"""


@dataclass(slots=True)
class _Copy:
    epoch: int
    change: int
    index: VectorIndex


class Indexes:
    """The copies of one store. Not safe between threads by itself; the store's lock is.

    Args:
        limit: Bytes of vectors above which the copies that were used least recently are given up; the one in use never is.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._copies: OrderedDict[str, _Copy] = OrderedDict()

    def forget(self, user_id: str) -> None:
        """Give up the copy of a user."""
        self._copies.pop(user_id, None)

    def current(self, db: sqlite3.Connection, user_id: str, user: UserRow, dimensions: int) -> VectorIndex:
        """Return the vectors of a user as the transaction that `db` is in sees them.

        What changed since the copy was made is read, no more: rows carry the number of the change that wrote or retired them.
        """
        copy = self._copies.get(user_id)
        if copy is None or copy.epoch != user.epoch or copy.change > user.change:
            copy = self._copies[user_id] = _Copy(user.epoch, -1, new_index(dimensions))
        self._copies.move_to_end(user_id)
        if copy.change != user.change:
            self._catch_up(db, user, copy)
            self._shrink()
        return copy.index

    @staticmethod
    def _catch_up(db: sqlite3.Connection, user: UserRow, copy: _Copy) -> None:
        # Rows come in the order of writing by themselves; sorting them with vectors in them would take longer than reading them.
        if copy.change < 0:
            copy.index.reserve(db.execute(_COUNT, (user.user,)).fetchone()[0])
            rows = db.execute(_ALL, (user.user,))
            while part := rows.fetchmany(_PART):
                copy.index.put(part)
        else:
            rows = db.execute(_CHANGED, (user.user, copy.change))
            while part := rows.fetchmany(_PART):
                for seq, _, vector in part:
                    if vector is None:
                        copy.index.drop(seq)
                copy.index.put(sorted(one for one in part if one[2] is not None))
        copy.change = user.change

    def _shrink(self) -> None:
        while len(self._copies) > 1 and sum(copy.index.size for copy in self._copies.values()) > self._limit:
            self._copies.popitem(last=False)

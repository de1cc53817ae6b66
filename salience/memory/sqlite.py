"""A store in one SQLite file. The tables are in `salience.memory.schema`, the writing of a turn in `salience.memory.sqlite_turn`."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from types import TracebackType
from uuid import uuid4

from salience.memory.checks import check_count, storable_id, utc_now
from salience.memory.embeddings import EmbeddingModel, EmbeddingsProvider, Vector, model_of
from salience.memory.records import Hit, StoredMemory
from salience.memory.removal import embed_packed, erase, replace_vectors
from salience.memory.rows import find_user, kin, live, refuse_other_model, select, with_words
from salience.memory.schema import checked_filename
from salience.memory.sqlite_file import SqliteFile
from salience.memory.sqlite_turn import SqliteTurn
from salience.memory.store import Hits, Marks, Memories, Names, TurnMark
from salience.memory.vectors import pack


def random_id() -> str:
    """Return an id that no other memory has: 32 hex digits."""
    return uuid4().hex


class SqliteStore(SqliteFile):
    """See `Store`. WAL mode; every commit reaches the disk.

    Threads take turns on one connection. After a fork the child opens one of its own. A `with` block closes the store.

    Args:
        filename: A path, or ":memory:" for a store that ends with this object. It is created where there is none, for its owner alone.
        clock: Returns the time as `utc_now` does; every write of a turn has that of its begin.
        new_id: Makes the ids of memories.
        cache_bytes: How many bytes of vectors to keep in memory, beside those of the user asked about last.

    Raises:
        OptionError: `filename` is no path.
        StoreError: The file cannot be opened, is no store, or is one of a later version.
    """

    def __init__(
        self,
        filename: str | os.PathLike[str],
        *,
        clock: Callable[[], str] = utc_now,
        new_id: Callable[[], str] = random_id,
        cache_bytes: int = 1 << 29,
    ) -> None:
        super().__init__(checked_filename(filename), cache_bytes)
        self._clock, self._new_id = clock, new_id

    @contextmanager
    def turn(self, user_id: str, model: EmbeddingModel | None = None) -> Iterator[SqliteTurn]:
        """Begin a turn: all of it is committed when the `with` block ends, nothing where it raises.

        Args:
            user_id: Whose memories these are.
            model: What the vectors are made by (`model_of(embeddings)`); needed where one is written.

        Raises:
            StoreError: Another process has been writing for 30 seconds, or the file cannot be written.
        """
        with self._writing(user_id) as db:
            turn = SqliteTurn(db, user_id, model, self._clock(), self._new_id)
            try:
                yield turn
            finally:
                turn.end()

    def get(self, user_id: str, memory_id: str) -> StoredMemory | None:
        """Return the newest version of a memory, live or not, or None."""
        if not storable_id(memory_id):
            return None
        return next(iter(self._select(user_id, "AND id = ? ORDER BY version DESC LIMIT 1", (memory_id,))), None)

    def _select(self, user_id: str, clause: str, values: tuple[object, ...] = ()) -> Memories:
        with self._reading(user_id) as db:
            user = find_user(db, user_id)
            return [] if user is None else select(db, user.user, clause, values)

    def list(self, user_id: str, *, limit: int | None = None, offset: int = 0, retired: bool = False) -> Memories:
        """Return the live memories (with `retired` every version of all), in the order in which they were written."""
        check_count("offset", offset, 0)
        if limit is not None:
            check_count("limit", limit, 0)
        clause = f"{'' if retired else 'AND retired IS NULL'} ORDER BY seq LIMIT ? OFFSET ?"
        return self._select(user_id, clause, (-1 if limit is None else limit, offset))

    def count(self, user_id: str, *, retired: bool = False) -> int:
        """Return how many memories are live, or with `retired` how many versions there are."""
        with self._reading(user_id) as db:
            user = find_user(db, user_id)
            clause = "" if retired else "AND retired IS NULL"
            values = (-1 if user is None else user.user,)
            return int(db.execute(f"SELECT count(*) FROM memories WHERE user = ? {clause}", values).fetchone()[0])  # noqa: S608

    def history(self, user_id: str, memory_id: str) -> Memories:
        """Return every version of a memory, and of all that it superseded or was superseded by, in the order of writing."""
        with self._reading(user_id) as db:
            user = find_user(db, user_id)
            return [] if user is None else kin(db, user.user, memory_id)

    def nearest(self, user_id: str, vector: Vector, model: EmbeddingModel, *, limit: int = 10, without: Collection[str] = ()) -> Hits:
        """Return the live memories nearest to a vector, the nearest first.

        Args:
            user_id: Whose memories these are.
            vector: What to look for; one of zeros is near nothing.
            model: What the vector is made by.
            limit: The most to return, from 1.
            without: Ids to leave out.

        Raises:
            EmbeddingsError: The vector does not fit its model, or the user's vectors are of another.
        """
        check_count("limit", limit, 1)
        asked = pack(vector, model)
        with self._reading(user_id) as db:
            user = find_user(db, user_id)
            if user is None or user.model is None:
                return []
            refuse_other_model(user_id, user.model, model)
            if not any(asked):
                return []
            found = self._indexes.current(db, user_id, user, model.dimensions).search(asked, limit, without)
            pairs = ((live(db, user.user, memory_id), cosine) for memory_id, cosine in found)
            return [Hit(memory, cosine) for memory, cosine in pairs if memory is not None]

    def model(self, user_id: str) -> EmbeddingModel | None:
        """Return what the vectors of a user are made by, or None where there are none."""
        with self._reading(user_id) as db:
            user = find_user(db, user_id)
            return None if user is None else user.model

    def same_words(self, user_id: str, content: str) -> StoredMemory | None:
        """Return the earliest live memory that says the same word for word, or None."""
        with self._reading(user_id) as db:
            user = find_user(db, user_id)
            return None if user is None else with_words(db, user.user, content)

    def has_turn(self, user_id: str, mark: TurnMark) -> bool:
        """Return whether a turn was taken in before."""
        key = (mark.source, mark.source_id, mark.digest)
        return any((one.source, one.source_id, one.digest) == key for one in self._marks(user_id, "AND source_id = ?", (mark.source_id,)))

    def turns(self, user_id: str) -> Marks:
        """Return the marks of all turns that were taken in, in order."""
        return self._marks(user_id, "", ())

    def _marks(self, user_id: str, clause: str, values: tuple[str, ...]) -> Marks:
        with self._reading(user_id) as db:
            user = find_user(db, user_id)
            text = f"SELECT source, source_id, digest, at FROM turns WHERE user = ? {clause} ORDER BY rowid"  # noqa: S608
            return [] if user is None else [TurnMark(*row) for row in db.execute(text, (user.user, *values))]

    def clear(self, user_id: str) -> int:
        """Erase everything of a user, history and all, and return how many memories were live.

        The bytes are overwritten in the file, and the write-ahead log is emptied as soon as no other connection reads from it.
        """
        with self._writing(user_id) as db:
            live_before = erase(db, user_id)
        self._indexes.forget(user_id)
        with self._held() as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return live_before

    def reembed(self, user_id: str, embeddings: EmbeddingsProvider) -> int:
        """Make the vectors of a user's live memories anew with another model, and return how many.

        The model is asked before the store is locked, a hundred texts at a time; texts that were added meanwhile are asked for then.

        Raises:
            EmbeddingsError: The model returns vectors that do not fit.
        """
        model = model_of(embeddings)
        vectors: dict[str, bytes] = {}
        embed_packed(embeddings, model, [memory.content for memory in self.list(user_id)], vectors)
        with self._writing(user_id) as db:
            contents = [memory.content for memory in self.list(user_id)]
            embed_packed(embeddings, model, [text for text in contents if text not in vectors], vectors)
            replace_vectors(db, user_id, model, vectors)
        self._indexes.forget(user_id)
        return len(contents)

    def new_id(self) -> str:
        """Return an id that no memory has."""
        return self._new_id()

    def users(self) -> Names:
        """Return the ids of all users; for whoever runs the store, not for a host."""
        with self._held() as db:
            return [row[0] for row in db.execute("SELECT name FROM users ORDER BY user")]

    def __enter__(self) -> SqliteStore:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

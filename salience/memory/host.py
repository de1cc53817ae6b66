"""The host: texts of a conversation go in, what is known of a user comes out. It joins an extractor, a store and an embeddings provider.

The work itself is in `salience.memory.host_core`; here it is driven, synchronously or for asyncio.
"""

from __future__ import annotations

import inspect
import os
from typing import Any

from salience.memory.embeddings import EmbeddingsProvider
from salience.memory.host_core import NEAREST, HostCore, RememberResult
from salience.memory.records import StoredMemory
from salience.memory.steps import adrive, drive
from salience.memory.store import Hits, Store


class Memory(HostCore):
    """Remembers what is said, for many users (contract C2).

    Facts are asked for and decided on before the store is locked; then everything of a text is written in one transaction. A fact that is
    known word for word is only counted as seen once more, without a model call.

    Args:
        db: A store, or the file name of one in SQLite (":memory:" for none).
        embeddings: Makes the vectors; None takes `HashedNgrams()`, which is lexical.
        extractor: Anything with `extract(text)`. Where it has `consolidate` (and `consolidate_many`) that decides what becomes of each
            fact (`salience.memory.consolidators` says how); one without always adds.
        nearest: How many of the nearest live memories a fact is held against, from 1.
        batch: Whether all facts of a text are decided on in one call where the extractor can.

    Raises:
        SeamError: The extractor has no `extract`.
        OptionError: An argument is out of range.
        StoreError: The file cannot be opened, or is no store.
    """

    def extract(
        self,
        text: str,
        user_id: str,
        source: str | None = None,
        source_id: str | None = None,
        *,
        observed: str | None = None,
        date: str | None = None,
    ) -> RememberResult:
        """Take in a text: find its facts, decide what becomes of each, write.

        Args:
            text: What was said.
            user_id: Whose memories these are; exactly these characters.
            source: Where it comes from ("slack").
            source_id: Which message, session or document. The same text of the same source and id is taken in once; another text under the
                same id is another turn.
            observed: How its facts are known ("stated"), where the extractor does not say.
            date: When it was said, an ISO 8601 day, where the extractor does not say. An extractor with `extract_result` gets a `Turn` with
                it, any other the text alone.

        Returns:
            What was done. Errors of the extractor pass through; then nothing was written.

        Raises:
            OptionError: An argument cannot be stored.
            SeamError: The extractor is asynchronous, or returns what is no fact or decision.
            EmbeddingsError: The user's vectors are of another model.
            StoreError: The store cannot be read or written.
        """
        return drive(self._remember(text, user_id, source, source_id, observed, date))

    def query(self, context: str, user_id: str, limit: int = 10, threshold: float | None = None) -> Hits:
        """Return the live memories nearest to a context, the nearest first.

        Args:
            context: What they should be about; a blank one finds nothing.
            user_id: Whose.
            limit: The most to return, from 1.
            threshold: The least cosine similarity, -1 to 1; None sets none.
        """
        return drive(self._query(context, user_id, limit, threshold))

    def update(self, memory_id: str, content: str, user_id: str, *, because: str | None = None) -> StoredMemory:
        """Write the next version of a memory and return it; the one before stays in the history.

        Raises:
            UnknownMemoryError: The id names no live memory of this user.
        """
        return drive(self._update(memory_id, content, user_id, because))


class AsyncMemory(HostCore):
    """`Memory` for asyncio, where the extractor or the embeddings are asynchronous (both may be plain as well).

    What asks a model is a coroutine; what only reads or writes the store is not, and takes milliseconds.
    """

    async def extract(
        self,
        text: str,
        user_id: str,
        source: str | None = None,
        source_id: str | None = None,
        *,
        observed: str | None = None,
        date: str | None = None,
    ) -> RememberResult:
        """Take in a text; see `Memory.extract`."""
        return await adrive(self._remember(text, user_id, source, source_id, observed, date))

    async def query(self, context: str, user_id: str, limit: int = 10, threshold: float | None = None) -> Hits:
        """Return the live memories nearest to a context; see `Memory.query`."""
        return await adrive(self._query(context, user_id, limit, threshold))

    async def update(self, memory_id: str, content: str, user_id: str, *, because: str | None = None) -> StoredMemory:
        """Write the next version of a memory; see `Memory.update`."""
        return await adrive(self._update(memory_id, content, user_id, because))


def create_memory(
    db: Store | str | os.PathLike[str],
    embeddings: EmbeddingsProvider | None,
    extractor: Any,
    *,
    nearest: int = NEAREST,
    batch: bool = True,
) -> Memory | AsyncMemory:
    """Return the host that fits an extractor: `AsyncMemory` if its `extract`, or `embed_batch`, is a coroutine function, else `Memory`.

    Args:
        db: As in `Memory`.
        embeddings: As in `Memory`.
        extractor: As in `Memory`.
        nearest: As in `Memory`.
        batch: As in `Memory`.
    """
    asked = (getattr(extractor, "extract", None), getattr(embeddings, "embed_batch", None))
    kind = AsyncMemory if any(map(inspect.iscoroutinefunction, asked)) else Memory
    return kind(db, embeddings, extractor, nearest=nearest, batch=batch)

"""What the hosts do, but for who makes the calls: the work as steps, and everything that asks no model."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from typing import Any

from salience.errors import OptionError, SeamError
from salience.memory.checks import check_count, check_day, check_text, storable
from salience.memory.consolidators import Tally
from salience.memory.deciding import Decider
from salience.memory.embeddings import EmbeddingsProvider, HashedNgrams, Vector, embed_all, model_of
from salience.memory.errors import UnknownMemoryError
from salience.memory.facts import facts_of
from salience.memory.planning import Plan
from salience.memory.records import NewMemory, StoredMemory, as_new
from salience.memory.rows import refuse_other_model
from salience.memory.sqlite import SqliteStore
from salience.memory.steps import Call, Steps
from salience.memory.store import Hits, Memories, Store, TurnMark
from salience.memory.writing import Change, carry_out
from salience.types import Turn

NEAREST = 5
"""How many of the nearest live memories a consolidator is shown."""


@dataclass(frozen=True, slots=True)
class RememberResult:
    """What became of one text.

    Attributes:
        changes: What became of each fact, in order.
        calls: Model calls that it took; None where the extractor does not tell.
        invented: Ids that the model named without having been offered them, as far as the extractor tells; `refused` are those that it let
            through.
        evidence: What the extractor returned, in order: its facts or `RecallResult`, then its decisions or their results.
        repeated: Whether the same text of the same source was taken in before; then nothing was asked or written.
        fallbacks: Facts that were added as they are because no decision on them could be used: unreadable, incomplete, or about a memory
            that was not offered. Their `note` in `changes` says why.
    """

    changes: tuple[Change, ...] = ()
    calls: int | None = None
    invented: int = 0
    evidence: tuple[object, ...] = ()
    repeated: bool = False
    fallbacks: int = 0

    @property
    def status(self) -> str | None:
        """How the reply with the facts could be read, where the extractor tells: "empty" and "malformed" are not the same."""
        told = getattr(self.evidence[0], "status", None) if self.evidence else None
        return told if isinstance(told, str) else None

    @property
    def added(self) -> tuple[StoredMemory, ...]:
        """Memories that are new."""
        return tuple(one.memory for one in self.changes if one.action in ("ADD", "DELETE") and one.memory is not None)

    @property
    def updated(self) -> tuple[StoredMemory, ...]:
        """Memories of which a further version was written."""
        return tuple(one.memory for one in self.changes if one.action == "UPDATE" and one.memory is not None)

    @property
    def retired(self) -> tuple[StoredMemory, ...]:
        """Memories that are no longer live."""
        return tuple(memory for one in self.changes for memory in one.retired)

    @property
    def refused(self) -> tuple[str, ...]:
        """Ids that were named without having been offered."""
        return tuple(memory_id for one in self.changes for memory_id in one.refused)


class HostCore:
    """What both hosts share: everything that asks no model but for vectors."""

    def __init__(
        self,
        db: Store | str | os.PathLike[str],
        embeddings: EmbeddingsProvider | None,
        extractor: Any,
        *,
        nearest: int = NEAREST,
        batch: bool = True,
    ) -> None:
        if not callable(getattr(extractor, "extract", None)):
            raise SeamError(f"an extractor needs extract(text); {type(extractor).__name__} has none")
        if callable(getattr(extractor, "extract_salient", None)):
            raise SeamError(f"{type(extractor).__name__} finds candidates in turns: use enrich_from_turn, or a ModelConsolidator here")
        check_count("nearest", nearest, 1)
        self.embeddings: EmbeddingsProvider = HashedNgrams() if embeddings is None else embeddings
        self.model = model_of(self.embeddings)
        self._own = isinstance(db, str | os.PathLike)
        self.store: Store = SqliteStore(db) if isinstance(db, str | os.PathLike) else db
        self.extractor = extractor
        self._nearest, self._batch = nearest, batch

    def _remember(
        self, text: str, user_id: str, source: str | None, source_id: str | None, observed: str | None, date: str | None
    ) -> Steps[RememberResult]:
        if not isinstance(text, str):
            raise OptionError(f"text must be a string, got {text!r}")
        check_day(date)
        refuse_other_model(user_id, self.store.model(user_id), self.model)  # before a model is paid for
        defaults = NewMemory("-", None, source, source_id, observed, date)
        mark = None
        if source_id is not None:
            mark = TurnMark(source, source_id, hashlib.sha256(storable(text).encode()).hexdigest())
            if self.store.has_turn(user_id, mark):
                return RememberResult((), 0, repeated=True)
        tally = Tally()
        with_evidence = getattr(self.extractor, "extract_result", None)
        asked = text if with_evidence is None or date is None else Turn(text, source, observed, date)
        answer = yield Call(with_evidence or self.extractor.extract, (asked,))
        tally.add(answer)
        facts = facts_of(answer, defaults)
        plan = Plan(self.store, user_id, self.model)
        yield from Decider(plan, self.embeddings, self.extractor, self._nearest, self._batch, tally).plan_all(facts)
        return self._write(plan, tally, mark if facts.readable else None)

    def _write(self, plan: Plan, tally: Tally, mark: TurnMark | None) -> RememberResult:
        """Write what was planned. A text whose reply could not be read whole is not marked, so that it can be taken in again."""
        done = RememberResult((), tally.total, tally.invented, tuple(tally.answers), fallbacks=tally.fallbacks)
        if mark is None and not plan.steps:
            return done
        with self.store.turn(plan.user_id, self.model) as turn:
            if mark is not None and not turn.mark(mark):
                return replace(done, repeated=True)  # another process was first
            return replace(done, changes=carry_out(turn, plan.steps))

    def _query(self, context: str, user_id: str, limit: int, threshold: float | None) -> Steps[Hits]:
        if not isinstance(context, str):
            raise OptionError(f"context must be a string, got {context!r}")
        check_count("limit", limit, 1)
        if threshold is not None and (isinstance(threshold, bool) or not isinstance(threshold, int | float) or not -1 <= threshold <= 1):
            raise OptionError(f"threshold must be None or a cosine similarity from -1 to 1, got {threshold!r}")
        check_text("user_id", user_id)
        if not context.strip():
            return []
        vector = (yield from embed_all(self.embeddings, [context]))[0]
        hits = self.store.nearest(user_id, vector, self.model, limit=limit)
        return [hit for hit in hits if threshold is None or hit.similarity >= threshold]

    def _update(self, memory_id: str, content: str, user_id: str, because: str | None) -> Steps[StoredMemory]:
        check_text("content", content)
        vector: Vector = (yield from embed_all(self.embeddings, [content]))[0]
        with self.store.turn(user_id, self.model) as turn:
            old = turn.get(memory_id)
            if old is None:
                raise UnknownMemoryError(f"user {user_id!r} has no live memory with the id {memory_id!r}; list(user_id) shows all")
            return turn.revise(memory_id, as_new(old, content), vector, because=because)

    def list(self, user_id: str, *, limit: int | None = None, offset: int = 0, retired: bool = False) -> Memories:
        """Return the live memories of a user (with `retired` every version of all), in the order in which they were written.

        Args:
            user_id: Whose.
            limit: The most to return, from 0; None returns all.
            offset: How many to skip, from 0.
            retired: Whether retired versions are among them.
        """
        return self.store.list(user_id, limit=limit, offset=offset, retired=retired)

    def count(self, user_id: str) -> int:
        """Return how many live memories a user has."""
        return self.store.count(user_id)

    def get(self, memory_id: str, user_id: str) -> StoredMemory | None:
        """Return the newest version of a memory of this user, live or not; None where the user has none with this id."""
        return self.store.get(user_id, memory_id)

    def history(self, user_id: str, memory_id: str | None = None) -> Memories:
        """Return every version of a memory and of what it superseded or was superseded by, or of all memories, in the order of writing."""
        return self.store.list(user_id, retired=True) if memory_id is None else self.store.history(user_id, memory_id)

    def delete(self, memory_id: str, user_id: str, *, because: str | None = None) -> StoredMemory:
        """Retire a memory and return it; it stays in the history.

        Raises:
            UnknownMemoryError: The id names no live memory of this user.
        """
        with self.store.turn(user_id) as turn:
            return turn.retire(memory_id, "deleted", because=because)

    def clear(self, user_id: str) -> int:
        """Erase everything of a user, history and all, for good; return how many memories were live."""
        return self.store.clear(user_id)

    def close(self) -> None:
        """Close the store, if it was opened by file name here."""
        if self._own and isinstance(self.store, SqliteStore):
            self.store.close()

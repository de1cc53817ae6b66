"""What is to become of each fact of a turn, decided while nothing is locked, and then written in one go.

While a turn is planned, the store is seen as it will be when the plan so far is carried out. Between planning and writing another process
may have written; each step says what it saw, and where that no longer holds the new fact is added, so that nothing is lost, and nothing is
retired that was not looked at.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Literal

from salience.memory.embeddings import EmbeddingModel, Vector
from salience.memory.records import Known, NewMemory, Reason, words_key
from salience.memory.store import Store
from salience.memory.vectors import pack, unpack

Action = Literal["ADD", "UPDATE", "DELETE", "NONE"]


@dataclass(frozen=True, slots=True)
class Near:
    """A memory near a fact, as it will be when the plan so far is carried out."""

    known: Known
    similarity: float


@dataclass(frozen=True, slots=True)
class Step:
    """What is to become of one fact.

    Attributes:
        fact: The fact, with its provenance.
        vector: Its vector.
        action: ADD writes, UPDATE writes the next version of `target`, DELETE retires and writes `content` where there is one, NONE counts
            a sighting of `target` where there is one.
        new_id: The id of what ADD or DELETE writes.
        target: What UPDATE or NONE is about, as it was seen.
        retire: What is retired, as it was seen: by DELETE, or by an ADD or NONE that supersedes.
        content: What UPDATE or DELETE writes; None for DELETE writes nothing.
        content_vector: Its vector.
        reason: Why `retire` is retired.
        refused: Ids that were named without being a live memory that was offered.
        note: Why it is not simply what was decided; "" where it is.
    """

    fact: NewMemory
    vector: Vector
    action: Action = "ADD"
    new_id: str = ""
    target: Known | None = None
    retire: tuple[Known, ...] = ()
    content: str | None = None
    content_vector: Vector = ()
    reason: Reason = "contradicted"
    refused: tuple[str, ...] = ()
    note: str = ""


@dataclass(slots=True)
class Plan:
    """The steps of a turn so far, and the store as it will be after them.

    Attributes:
        store: The store; it is only read.
        user_id: Whose memories these are.
        model: What vectors are made by.
        steps: The steps, in order.
    """

    store: Store
    user_id: str
    model: EmbeddingModel
    steps: list[Step] = field(default_factory=list)
    _pending: dict[str, tuple[Known, Vector]] = field(default_factory=dict)
    _gone: set[str] = field(default_factory=set)

    def add(self, step: Step) -> None:
        """Take in a step."""
        self.steps.append(step)
        for known in step.retire:
            self._pending.pop(known.id, None)
            self._gone.add(known.id)
        if step.action == "UPDATE" and step.target is not None and step.content is not None:
            self._pending[step.target.id] = Known(step.target.id, step.content), step.content_vector
        elif step.action == "ADD":
            self._pending[step.new_id] = Known(step.new_id, step.fact.content), step.vector
        elif step.action == "DELETE" and step.content is not None:
            self._pending[step.new_id] = Known(step.new_id, step.content), step.content_vector

    def live(self, memory_id: str) -> Known | None:
        """Return a live memory by its id, or None."""
        if memory_id in self._pending:
            return self._pending[memory_id][0]
        stored = None if memory_id in self._gone else self.store.get(self.user_id, memory_id)
        return None if stored is None or not stored.live else Known(stored.id, stored.content)

    def planned(self, seen: Known) -> Known | None:
        """Return what the plan so far makes of a memory that was seen: as it was seen, as a step updates it, or None if one retires it."""
        if seen.id in self._pending:
            return self._pending[seen.id][0]
        return None if seen.id in self._gone else seen

    def same_words(self, content: str) -> Known | None:
        """Return a live memory that says the same word for word, or None."""
        key = words_key(content)
        stored = self.store.same_words(self.user_id, content)
        if stored is not None and stored.id not in self._gone and stored.id not in self._pending:
            return Known(stored.id, stored.content)
        return next((known for known, _ in self._pending.values() if words_key(known.content) == key), None)

    def nearest(self, vector: Vector, limit: int) -> list[Near]:
        """Return the live memories nearest to a vector, the nearest first; of equals those that are stored come first."""
        hidden = self._gone | self._pending.keys()
        hits = self.store.nearest(self.user_id, vector, self.model, limit=limit, without=hidden)
        near = [Near(Known(hit.memory.id, hit.memory.content), hit.similarity) for hit in hits]
        if self._pending:
            asked = unpack(pack(vector, self.model))
            for known, other in self._pending.values():
                near.append(Near(known, sum(map(operator.mul, asked, unpack(pack(other, self.model))))))
        return sorted(near, key=lambda one: -one.similarity)[:limit]

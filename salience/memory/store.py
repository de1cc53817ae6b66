"""The seam to a store of memories: what a host may rely on. No implementation."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from salience.memory.checks import check_text
from salience.memory.embeddings import EmbeddingModel, EmbeddingsProvider, Vector
from salience.memory.records import Hit, NewMemory, Reason, StoredMemory


@dataclass(frozen=True, slots=True)
class TurnMark:
    """What tells a turn that was already taken in.

    Attributes:
        source: Where it comes from; None counts as one source of its own.
        source_id: Which message, session or document of that source.
        digest: SHA-256 of its text, hex: another text under the same id is another turn.
        at: When it was taken in, UTC; "" for one that is being asked about.

    Raises:
        OptionError: A field cannot be stored.
    """

    source: str | None
    source_id: str
    digest: str
    at: str = ""

    def __post_init__(self) -> None:
        check_text("source", self.source, optional=True)
        check_text("source_id", self.source_id)
        check_text("digest", self.digest)


# Within a class that has a method of that name, `list` is the method.
Names = list[str]
Memories = list[StoredMemory]
Hits = list[Hit]
Marks = list[TurnMark]


@runtime_checkable
class StoreTurn(Protocol):
    """The writing of one conversation turn, for one user. It is committed as a whole when its `with` block ends, or not at all.

    1. No method sees or changes a memory of another user, whatever the id.
    2. A method that names a memory that is not live raises `UnknownMemoryError`; nothing else of the turn is affected by that alone.
    3. Nothing is erased: what is no longer live keeps its row, with when, why and what stands in its place.
    """

    def get(self, memory_id: str) -> StoredMemory | None:
        """Return the live version of a memory as it stands within this turn, or None."""
        ...

    def same_words(self, content: str) -> StoredMemory | None:
        """Return the earliest live memory that says the same word for word (see `salience.merging`), or None."""
        ...

    def write(self, memory: NewMemory, vector: Vector, *, memory_id: str | None = None) -> StoredMemory:
        """Add a memory, under a new id unless an unused one is given."""
        ...

    def revise(self, memory_id: str, memory: NewMemory, vector: Vector, *, because: str | None = None) -> StoredMemory:
        """Retire the live version as "updated" and write the next one under the same id."""
        ...

    def retire(self, memory_id: str, reason: Reason, *, because: str | None = None, superseded_by: str | None = None) -> StoredMemory:
        """Retire a live memory and return it; `superseded_by` is an id of this user, which may be written later in the same turn."""
        ...

    def sight(self, memory_id: str) -> StoredMemory:
        """Count that a live memory was stated once more."""
        ...

    def restore(self, memory: StoredMemory, vector: Vector | None) -> None:
        """Write one version exactly as it was exported, with a vector if and only if it is live; versions of an id come in order."""
        ...

    def mark(self, mark: TurnMark) -> bool:
        """Note that a turn was taken in, and return whether it is the first time."""
        ...


@runtime_checkable
class Store(Protocol):
    """Memories of many users.

    1. Every method but `users` works for one user, who is named by exactly the characters of `user_id`; nothing of another is returned,
       counted or changed by it. A user who is not known has no memories, which is no error.
    2. What is written is written through `turn`, a whole conversation turn at a time; a process that is killed leaves the store as it was
       before the turn or as it is after it. `clear` is one step in the same way.
    3. Several threads and several processes may use a store at once. Writers wait for each other; a turn should therefore only write
       (no model is called inside of one). Readers see whole turns.
    4. Vectors of a user are of one embedding model. Another is refused (`EmbeddingsError`) until `reembed` was called.
    5. Nothing but `clear` erases.
    """

    def turn(self, user_id: str, model: EmbeddingModel | None = None) -> AbstractContextManager[StoreTurn]:
        """Begin a turn; vectors written in it are of `model`, without which none can be written."""
        ...

    def get(self, user_id: str, memory_id: str) -> StoredMemory | None:
        """Return the newest version of a memory, live or not, or None."""
        ...

    def list(self, user_id: str, *, limit: int | None = None, offset: int = 0, retired: bool = False) -> Memories:
        """Return the live memories (with `retired` every version of all), in the order in which they were written."""
        ...

    def count(self, user_id: str, *, retired: bool = False) -> int:
        """Return how many memories are live, or with `retired` how many versions there are."""
        ...

    def history(self, user_id: str, memory_id: str) -> Memories:
        """Return every version of a memory, and of all that it superseded or was superseded by, in the order of writing."""
        ...

    def nearest(self, user_id: str, vector: Vector, model: EmbeddingModel, *, limit: int = 10, without: Collection[str] = ()) -> Hits:
        """Return the live memories nearest to a vector, the nearest first; a vector of zeros is near nothing."""
        ...

    def model(self, user_id: str) -> EmbeddingModel | None:
        """Return what the vectors of a user are made by, or None where there are none."""
        ...

    def same_words(self, user_id: str, content: str) -> StoredMemory | None:
        """Return the earliest live memory that says the same word for word, or None."""
        ...

    def has_turn(self, user_id: str, mark: TurnMark) -> bool:
        """Return whether a turn was taken in before."""
        ...

    def turns(self, user_id: str) -> Marks:
        """Return the marks of all turns that were taken in, in order."""
        ...

    def clear(self, user_id: str) -> int:
        """Erase everything of a user, history and all, and return how many memories were live."""
        ...

    def reembed(self, user_id: str, embeddings: EmbeddingsProvider) -> int:
        """Make the vectors of a user's live memories anew with another model, and return how many."""
        ...

    def new_id(self) -> str:
        """Return an id that no memory has."""
        ...

    def users(self) -> Names:
        """Return the ids of all users; for whoever runs the store, not for a host."""
        ...

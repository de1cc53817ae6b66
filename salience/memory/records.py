"""The value types of a memory store: what is to be written, what is stored, what a query finds. How they are kept is not decided here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple

from salience.errors import OptionError
from salience.memory.checks import check_json, check_text, storable
from salience.merging import statement_key
from salience.types import number_in_unit_interval

Reason = Literal["updated", "contradicted", "superseded", "deleted"]
"""Why a version of a memory is no longer live."""

REASONS: tuple[Reason, ...] = ("updated", "contradicted", "superseded", "deleted")


class Known(NamedTuple):
    """A memory as a consolidator is shown it; a plain (id, content) pair for those that expect one."""

    id: str
    content: str


@dataclass(frozen=True, slots=True)
class NewMemory:
    """What is to be written, with its provenance.

    Attributes:
        content: The statement; never blank.
        salience: How much it deserves to be kept, 0 to 1; None where nobody said.
        source: Where it comes from, in the caller's own words.
        source_id: Which message, session or document of that source.
        observed: How it is known ("stated").
        date: When it was said: an ISO 8601 day where the caller gives it, any text where a model does.
        tags: Labels.
        meta: Anything else that JSON can hold.

    Raises:
        OptionError: A field cannot be stored; the message names it.
    """

    content: str
    salience: float | None = None
    source: str | None = None
    source_id: str | None = None
    observed: str | None = None
    date: str | None = None
    tags: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_text("content", self.content)
        for name in ("source", "source_id", "observed", "date"):
            check_text(name, getattr(self, name), optional=True)
        if self.salience is not None:
            number_in_unit_interval("salience", self.salience)
        if isinstance(self.tags, str):
            raise OptionError(f"tags must be a sequence of strings, got {self.tags!r}")
        object.__setattr__(self, "tags", tuple(self.tags))
        for tag in self.tags:
            check_text("a tag", tag)
        if not isinstance(self.meta, Mapping):
            raise OptionError(f"meta must be a mapping, got {self.meta!r}")
        check_json("meta", self.meta)


@dataclass(frozen=True, slots=True)
class StoredMemory(NewMemory):
    """One version of a memory. An update keeps the id and raises the version; the old version stays, retired.

    Attributes:
        id: Unique among the memories of its user.
        version: From 1.
        created: When this version was written, UTC, "2026-03-02T09:30:00.000000Z".
        seen: How often it was stated, from 1.
        last_seen: When it was last stated, UTC.
        retired: When it ceased to be live, UTC; None while it is.
        reason: Why it was retired; None while it is live.
        because: The fact that retired it, or a note of whoever did; None where nothing was said.
        superseded_by: The id of the memory that stands in its place: its own id for a later version; None where nothing does.
    """

    id: str = ""
    version: int = 1
    created: str = ""
    seen: int = 1
    last_seen: str = ""
    retired: str | None = None
    reason: Reason | None = None
    because: str | None = None
    superseded_by: str | None = None

    @property
    def live(self) -> bool:
        """Whether it holds now."""
        return self.retired is None

    def to_dict(self) -> dict[str, Any]:
        """Return the memory as JSON-ready values; absent fields (None, no tags, no meta) are left out."""
        values: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(self)}
        values |= {"tags": list(self.tags), "meta": dict(self.meta)}
        return {name: values[name] for name in ("id", "version", *values) if values[name] is not None and values[name] not in ([], {})}


@dataclass(frozen=True, slots=True)
class Hit:
    """A live memory that a query found.

    Attributes:
        memory: The memory.
        similarity: The cosine of its vector and the query's, -1 to 1; the cosine distance is 1 minus it.
    """

    memory: StoredMemory
    similarity: float


def as_new(memory: NewMemory, content: str) -> NewMemory:
    """Return other words with the provenance of a memory."""
    return NewMemory(
        content, memory.salience, memory.source, memory.source_id, memory.observed, memory.date, memory.tags, memory.meta
    )  # fmt: skip


def words_key(content: str) -> str:
    """Return 32 hex digits that two statements share if they say the same word for word (see `salience.merging`)."""
    return hashlib.sha256(storable(statement_key(content)).encode()).hexdigest()[:32]


def dump_json(value: object) -> str:
    """Return the JSON text of a checked value: no white space, non-ASCII characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=dict)

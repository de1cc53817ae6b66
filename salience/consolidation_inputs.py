"""What may be given as a new fact and as known memories, and how it becomes one form. Nothing is decided or rendered here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from salience.consolidation_types import ExtractedMemory, KnownMemory
from salience.errors import OptionError
from salience.types import Candidate

Fact = str | ExtractedMemory | Candidate
"""A new fact: its text, or anything that carries it as `content`."""

Known = Any
"""A known memory: an object or mapping with `id` and `content` (`KnownMemory`), or the pair of them; both strings."""


def fact_text(fact: Fact) -> str:
    """Return the text of a new fact.

    Raises:
        OptionError: It is neither a non-empty string nor has one as `content`.
    """
    text = fact if isinstance(fact, str) else getattr(fact, "content", None)
    if not isinstance(text, str) or not text.strip():
        raise OptionError(f"a new fact must be a non-empty string, or have one as content, got {fact!r}")
    return text


def known_memories(existing: Sequence[Known]) -> tuple[KnownMemory, ...]:
    """Return memories as `KnownMemory` values.

    Raises:
        OptionError: One has no usable id and content, or two have the same id.
    """
    if isinstance(existing, str | Mapping) or not isinstance(existing, Sequence):
        raise OptionError(f"existing must be a sequence of memories, got {existing!r}")
    found: dict[str, KnownMemory] = {}
    for position, one in enumerate(existing):
        try:
            memory = one if isinstance(one, KnownMemory) else KnownMemory(*_id_and_content(one))
        except OptionError as error:
            raise OptionError(
                f"existing[{position}] must be an object or mapping with id and content, or a pair of them, got {one!r}: {error}"
            ) from None
        if memory.id in found:
            raise OptionError(f"existing[{position}]: the id {memory.id!r} stands twice among the memories")
        found[memory.id] = memory
    return tuple(found.values())


def _id_and_content(one: object) -> tuple[Any, Any]:
    if isinstance(one, Mapping):
        return one.get("id"), one.get("content")
    if isinstance(one, tuple | list) and len(one) == 2:
        return one[0], one[1]
    return getattr(one, "id", None), getattr(one, "content", None)

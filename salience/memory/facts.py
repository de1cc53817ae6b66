"""What extractors return as facts, made into what a store can hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from salience.errors import SeamError
from salience.memory.checks import MAX_DEPTH, json_int, storable
from salience.memory.records import NewMemory
from salience.types import clamp_salience


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of one turn.

    Attributes:
        memories: What may be written of them.
        readable: Whether all of the model's reply could be read, as far as the extractor tells (`status`).
    """

    memories: tuple[NewMemory, ...]
    readable: bool = True


def facts_of(answer: object, defaults: NewMemory) -> Facts:
    """Return the facts that an extractor found.

    Args:
        answer: A sequence of facts, or a result that has them as `memories` or `candidates`, and perhaps a `status`. A fact is a string
            or has one as `content`; `salience`, `source`, `observed`, `date`, `tags` and `meta` are taken where it has them.
        defaults: What a fact that lacks them gets; its content is not used.

    Returns:
        The facts in order, without blank ones.

    Raises:
        SeamError: It is none of these.
    """
    items = next((getattr(answer, name) for name in ("memories", "candidates") if hasattr(answer, name)), answer)
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
        raise SeamError(
            f"an extractor must return a sequence of facts, each a string or an object with content; got {type(answer).__name__}"
        )
    found = [new_memory(item, defaults) for item in items]
    readable = getattr(answer, "status", None) not in ("malformed", "truncated")
    return Facts(tuple(one for one in found if one is not None), readable)


def new_memory(item: Any, defaults: NewMemory) -> NewMemory | None:
    """Return a fact as it can be stored, or None where it is blank.

    NUL and lone surrogates become U+FFFD. Numbers in `meta` that are not finite or of thousands of digits become null, and so does what is
    nested too deeply.

    Raises:
        SeamError: It has no text.
    """
    content = item if isinstance(item, str) else getattr(item, "content", None)
    if not isinstance(content, str):
        raise SeamError(f"a fact must be a string or have one as content, got {item!r}")
    if not content.strip():
        return None
    salience = getattr(item, "salience", None)
    told = {name: _text(getattr(item, name, None)) for name in ("source", "observed", "date")}
    return replace(
        defaults,
        content=storable(content),
        salience=clamp_salience(salience) if isinstance(salience, int | float) else defaults.salience,
        tags=tuple(tag for tag in map(_text, getattr(item, "tags", None) or ()) if tag and tag.strip()) or defaults.tags,
        meta={**defaults.meta, **_json(getattr(item, "meta", None) or {}, MAX_DEPTH)},
        **{name: value for name, value in told.items() if value is not None},
    )


def _text(value: object) -> str | None:
    return storable(value) if isinstance(value, str) else None


def _json(value: Any, depth: int) -> Any:
    if depth < 0:
        return None
    if isinstance(value, Mapping):
        return {storable(str(key)) or "�": _json(inner, depth - 1) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_json(inner, depth - 1) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int):
        return value if json_int(value) else None
    return storable(value) if isinstance(value, str) else value

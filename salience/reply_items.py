"""Turns one object of a model's reply into a candidate, or says why it is none.

Nothing is inherited from a turn here, and no value is made up: what the model left out or wrote in a wrong type stays absent.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from salience.lenient_json import MAX_DEPTH
from salience.types import Candidate, clamp_salience

_PLACEHOLDER = re.compile(r"<[^<>]*>|[.…\s]+|string|str", re.IGNORECASE)
_INVISIBLE = re.compile(r"[\s\u200b\u200c\u200d\u2060\ufeff]*")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


@dataclass(frozen=True, slots=True)
class ItemReading:
    """What came of one object.

    Attributes:
        candidate: The candidate; None if the object is unusable.
        reason: Why it is unusable; "" if it is not.
        repaired: Whether a value had to be read as what it means rather than as what it is (a number in quotes, a NUL).
    """

    candidate: Candidate | None
    reason: str = ""
    repaired: bool = False


def is_placeholder(content: str) -> bool:
    """Return whether `content` is a schema's word for a value (`<concise fact here>`, `...`, `string`) and no value."""
    return _PLACEHOLDER.fullmatch(content.strip()) is not None


def is_item(value: object) -> bool:
    """Return whether `value` is an object that means to be an item: it has a `content` or a `salience` that holds no container."""
    return isinstance(value, Mapping) and any(
        key in value and not isinstance(value[key], Mapping | list) for key in ("content", "salience")
    )


def read_item(item: Mapping[str, object]) -> ItemReading:
    """Read one object of a reply.

    Args:
        item: The object, its values as JSON has them.

    Returns:
        The candidate with its content stripped and its salience clamped to [0, 1], or the reason why there is none. Optional
        fields of a wrong type are left out; lone surrogates become U+FFFD, NULs vanish, and NaN and infinity in `meta` become None,
        so that a candidate can always be written as UTF-8 and as JSON.
    """
    content = item.get("content")
    if content is not None and not isinstance(content, str):
        return ItemReading(None, "content is not a string")
    text = clean_text(content or "").strip()
    if _INVISIBLE.fullmatch(text):
        return ItemReading(None, "no content")
    if is_placeholder(text):
        return ItemReading(None, "placeholder")
    if item.get("salience") is None:
        return ItemReading(None, "no salience")
    salience = _salience(item["salience"])
    if salience is None:
        return ItemReading(None, "salience is not a number")
    given = item.get("meta")
    meta = _plain(given) if isinstance(given, dict) else {}
    if meta is None:
        return ItemReading(None, "meta is nested too deep")
    source, observed, date = (_optional(item.get(name)) for name in ("source", "observed", "date"))
    repaired = isinstance(item["salience"], str) or text != (content or "").strip() or bool(meta and meta != given)
    return ItemReading(Candidate(text, salience, source, observed, date, _tags(item.get("tags")), meta), "", repaired)


def _salience(value: object) -> float | None:
    """Return the salience that `value` states, from 0 to 1, or None if it states no number (a bool does not)."""
    if isinstance(value, str):
        return _salience_in_words(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        return None
    return clamp_salience(value)


def _salience_in_words(text: str) -> float | None:
    """Return the number in quotes; "80%" is 0.8, but "0.8%" is None, as it may mean 0.8 just as well."""
    digits = text.removesuffix("%").rstrip()
    if not _NUMBER.fullmatch(digits):
        return None
    number = float(digits)
    if text.endswith("%"):
        return None if 0 < abs(number) < 1 else clamp_salience(number / 100)
    return clamp_salience(number)


def clean_text(text: str) -> str:
    """Return `text` without NULs and with every surrogate joined to its other half or replaced, so that it can be encoded."""
    text = text.replace("\0", "")
    if text.isascii():
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return _LONE_SURROGATE.sub("\ufffd", joined)


def _optional(value: object) -> str | None:
    return (clean_text(value).strip() or None) if isinstance(value, str) else None


def _tags(value: object) -> tuple[str, ...]:
    tags = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(tag for tag in map(_optional, tags) if tag is not None)


def _plain(value: Mapping[str, object]) -> dict[str, object] | None:
    """Return a copy of `value` in plain, writable JSON values, or None if it is nested too deep."""
    copy: dict[str, object] = {}
    waiting: list[tuple[object, dict[str, object] | list[object], int]] = [(value, copy, 2)]
    while waiting:
        source, target, depth = waiting.pop()
        if depth > MAX_DEPTH:
            return None
        children = source.items() if isinstance(source, dict) else enumerate(source) if isinstance(source, list) else ()
        for key, child in children:
            plain: object
            if isinstance(child, dict):
                plain = {}
                waiting.append((child, plain, depth + 1))
            elif isinstance(child, list):
                plain = [None] * len(child)
                waiting.append((child, plain, depth + 1))
            else:
                plain = _scalar(child)
            if isinstance(target, dict):
                target[clean_text(str(key))] = plain
            elif isinstance(key, int):
                target[key] = plain
    return copy


def _scalar(value: object) -> object:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, int) else None

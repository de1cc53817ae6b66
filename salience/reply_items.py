"""Turns one object of a model's reply into a candidate, or says why it is none.

Nothing is inherited from a turn here, and no value is made up: what the model left out or wrote in a wrong type stays absent.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from salience.lenient_json import MAX_DEPTH
from salience.types import Candidate, clamp_salience

_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff \t\r\n"
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_ABSENT: list[object] = []


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
    text = content.strip()
    in_angles = text.startswith("<") and text.find(">") == len(text) - 1 and "<" not in text[1:]
    return in_angles or (bool(text) and not text.strip(".… ")) or text.lower() in {"string", "str"}


def is_item(value: object) -> bool:
    """Return whether `value` is an object that means to be an item: it has a `content` or a `salience` that holds no container."""
    if not isinstance(value, dict):
        return False
    content, salience = value.get("content", _ABSENT), value.get("salience", _ABSENT)
    return not (isinstance(content, dict | list) and isinstance(salience, dict | list))


def read_item(item: Mapping[str, object]) -> ItemReading:
    """Read one object of a reply.

    Args:
        item: The object, its values as JSON has them.

    Returns:
        The candidate with its content stripped and its salience clamped to [0, 1], or the reason why there is none. Optional
        fields of a wrong type are left out; lone surrogates become U+FFFD, NULs vanish, and NaN and infinity in `meta` become None,
        so that a candidate can always be written as UTF-8 and as JSON.
    """
    given, stated = item.get("content"), item.get("salience")
    content = clean_text(given).strip() if isinstance(given, str) else ""
    salience = _salience(stated)
    meta = _plain(item["meta"]) if isinstance(item.get("meta"), dict) else {}
    reason = _unusable(given, content) or ("no salience" if stated is None else "")
    if reason or salience is None or meta is None:
        return ItemReading(None, reason or ("salience is not a number" if salience is None else "meta is nested too deep"))
    source, observed, date = _optional(item.get("source")), _optional(item.get("observed")), _optional(item.get("date"))
    candidate = Candidate(content, salience, source, observed, date, _tags(item.get("tags")), meta)
    repaired = (
        isinstance(stated, str)
        or salience != stated
        or (isinstance(given, str) and content != given.strip())
        or bool(meta and meta != item["meta"])
    )
    return ItemReading(candidate, repaired=repaired)


def _unusable(given: object, content: str) -> str:
    """Return why an item with this content (as given, and as text) is unusable, or ""."""
    if given is not None and not isinstance(given, str):
        return "content is not a string"
    if not content.strip(_INVISIBLE):
        return "no content"
    return "placeholder" if is_placeholder(content) else ""


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
    if not re.fullmatch(_NUMBER, digits):
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
    try:
        text.encode()
    except UnicodeEncodeError:
        joined = re.sub(
            "[\ud800-\udbff][\udc00-\udfff]", lambda pair: pair[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le"), text
        )
        return re.sub("[\ud800-\udfff]+", lambda run: "\ufffd" * len(run[0]), joined)
    return text


def _optional(value: object) -> str | None:
    return (clean_text(value).strip() or None) if isinstance(value, str) else None


def _tags(value: object) -> tuple[str, ...]:
    tags = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(tag for tag in map(_optional, tags) if tag is not None)


def _plain(value: object) -> dict[str, Any] | None:
    """Return a copy of the object `value` in plain, writable JSON values, or None if it is nested too deep."""
    copy: dict[str, Any] = {}
    waiting: list[tuple[Any, Any, int]] = [(value, copy, 2)]
    while waiting:
        source, target, depth = waiting.pop()
        if depth > MAX_DEPTH:
            return None
        for key, child in source.items() if isinstance(source, dict) else enumerate(source):
            place = clean_text(key) if isinstance(key, str) else key
            if isinstance(child, dict | list):
                target[place] = {} if isinstance(child, dict) else [None] * len(child)
                waiting.append((child, target[place], depth + 1))
            else:
                target[place] = _scalar(child)
    return copy


def _scalar(value: object) -> object:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, int) else None

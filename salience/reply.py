"""Reads a model's reply: the items it holds and how it could be read. Never an exception, whatever the reply.

What a reply should be is a JSON array of objects with `content` and `salience`. What models send is that in prose, in code fences, after
thinking, in a wrapper, cut off, or in something that is nearly JSON. All of it is read as far as that takes no guess at what
the model meant. What belongs to the turn (provenance, options, calibration) is not done here.
"""

from __future__ import annotations

import json

from salience.lenient_json import Allowance, Broken, Obj, whole_number
from salience.reply_items import clean_text, is_placeholder, read_item
from salience.reply_search import Answer, find_answer
from salience.types import Candidate, Dropped, ReplyReading, Status

_SHOWN = 200
_quoted = json.JSONEncoder(ensure_ascii=False).encode


def read_reply(text: str) -> ReplyReading:
    """Read what a model answered.

    The statuses, the first that applies:

    * `truncated`: the answer ended before its closing bracket; the items are those that were whole.
    * `ok`: the whole reply, but for white space and byte order marks around it, is a valid JSON array of usable objects. An optional
      field of a wrong type is left out, which is no repair; a salience out of range is clamped, which is one.
    * `repaired`: at least one item is usable, and anything at all had to be overlooked or mended.
    * `empty`: the model gave an empty array, alone, in prose, in a code fence or under a wrapper's key.
    * `malformed`: no item can be used.

    Args:
        text: The reply, any string. Time is linear in its length.

    Returns:
        The usable items in the order of the reply, the status, and the items dropped with the reason and their text. Which array or
        object of the reply counts is said in `salience.reply_search`.
    """
    clean = clean_text(text)
    body = clean.strip().strip("\ufeff").strip()
    value = _strict_json(body)
    if isinstance(value, str):  # an array in a string: JSON encoded twice
        body = clean_text(value).strip()
    elif isinstance(value, list) and clean == text:
        reading = _strict_reading(value)
        if reading is not None:
            return reading
    return _reading(body, find_answer(body, Allowance.for_length(len(body))))


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_int=whole_number, parse_constant=_refuse)


def _strict_json(text: str) -> object:
    """Return the value that `text` is, or None if it is not one valid JSON array or string or is nested too deep to tell."""
    if not (text.startswith(("[", '"')) and text.endswith(("]", '"'))):
        return None
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None


def _strict_reading(elements: list[object]) -> ReplyReading | None:
    """Return the reading of a valid array, or None if anything in it needs a closer look."""
    items: list[Candidate] = []
    for element in elements:
        reading = read_item(element) if isinstance(element, dict) else None
        if reading is None or reading.candidate is None or reading.repaired:
            return None
        items.append(reading.candidate)
    return ReplyReading(tuple(items), "ok" if items else "empty")


def _reading(text: str, answer: Answer) -> ReplyReading:
    items: list[Candidate] = []
    dropped: list[Dropped] = []
    scalars: dict[object, Dropped] = {}  # a hostile reply holds the same few a hundred thousand times
    for element in answer.elements:
        if isinstance(element, Obj):
            item = read_item(element)
            if item.candidate is not None:
                items.append(item.candidate)
            else:
                dropped.append(Dropped(item.reason, _shown(text[element.start : element.end])))
        elif isinstance(element, Broken):
            dropped.append(Dropped(element.reason, _shown(text[element.start : element.end])))
        else:
            key = (type(element), element)
            if key not in scalars:
                scalars[key] = _scalar(element)
            dropped.append(scalars[key])
    return ReplyReading(tuple(items), _status(answer, usable=bool(items)), tuple(dropped))


def _status(answer: Answer, *, usable: bool) -> Status:
    if answer.truncated:
        return "truncated"
    if usable:
        return "repaired"
    return "empty" if answer.said_nothing else "malformed"


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _scalar(value: object) -> Dropped:
    if isinstance(value, str):
        return Dropped("placeholder" if is_placeholder(value) else "not an object", _shown(_quoted(clean_text(value))))
    return Dropped("not an object", "null" if value is None else str(value).lower())

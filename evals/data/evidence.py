"""Where a statement rests in the messages of a case: looked up as typed, or proposed; and what keeps a text or a date out of a label.

A person decides; nothing here changes a case. What a decision does is in `evals.data.review`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from evals.cases import Evidence
from evals.data.faults import date_faults
from evals.report.safe import printable
from evals.text import fold

_MARKS = r"\s.,;:!?…\"'()\[\]{}<>«»„“”‘’。、！？，；：「」『』（）।؟،؛"
_ONE_BY_ONE = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"  # Thai, Lao, kana, Han: no spaces between words
_WORD = re.compile(rf"[{_ONE_BY_ONE}]|[^{_MARKS}{_ONE_BY_ONE}]+")
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")  # control, reordering, halves
_DAY = re.compile(r"(?<![\w-])[0-9]{4}-[0-9]{2}(?:-[0-9]{2})?(?![\w-])")
_DATE = re.compile(r"[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?")
_STEM, _GAP, _LEAST = 4, 0.35, 0.6
"""What `propose` weighs by; of those tried these came closest to the evidence of the dev cases (overlap .52 of the joint length)."""


def locate(messages: Sequence[dict[str, str]], text: str) -> Evidence | None:
    """Return where a piece of text stands, spelled as the message spells it.

    Args:
        messages: The case's messages.
        text: The piece; case and white space are free. "2: piece" looks in message 2 alone, where "2: piece" stands nowhere.

    Returns:
        The first place, or None if there is none.
    """
    words = text.split()
    if not words:
        return None
    pattern = re.compile(r"\s+".join(map(re.escape, words)), re.IGNORECASE)
    for place, message in enumerate(messages):
        if found := pattern.search(message.get("content", "")):
            return Evidence(message=place, text=found[0])
    named = re.fullmatch(r"([0-9]{1,6}):\s*(.+)", text, re.DOTALL)
    if not named or int(named[1]) >= len(messages):
        return None
    inner = locate([messages[int(named[1])]], named[2])
    return None if inner is None else Evidence(message=int(named[1]), text=inner.text)


def propose(messages: Sequence[dict[str, str]], content: str) -> Evidence | None:
    """Return the piece of a message that shares the most words with a statement for its length, or None if none shares enough.

    Words count as shared if they begin alike, as inflected forms do. It is a proposal for a person, who may know better.

    Args:
        messages: The case's messages.
        content: The statement.
    """
    wanted = {fold(word)[:_STEM] for word in _WORD.findall(content)}
    best, chosen = _LEAST, None
    for place, message in enumerate(messages):
        text, score, start = message.get("content", ""), 0.0, 0
        for word in _WORD.finditer(text):
            worth = 1.0 if len(word[0]) > 3 else 0.4 if word[0] > "\u0e00" else 0.3  # one sign of Han says more than "the"
            weight = worth if fold(word[0])[:_STEM] in wanted else -_GAP
            if score <= 0:
                score, start = 0.0, word.start()
            score += weight
            if weight > 0 and score > best:
                best, chosen = score, Evidence(message=place, text=text[start : word.end()])
    return chosen


def text_fault(text: str) -> str | None:
    """Return what keeps a text out of a data file that people read, or None."""
    if hidden := _HIDDEN.search(text):
        return f"holds the character {printable(hidden[0])}, which no label needs"
    return None if fold(text) else "holds no visible character"


def day_in(content: str) -> str | None:
    """Return the month or day in ISO 8601 form that a statement names; None where it names none, several, or one of no calendar."""
    days = set(_DAY.findall(content))
    day = days.pop() if len(days) == 1 else None
    return day if day and is_date(day) else None


def is_date(text: str) -> bool:
    """Return whether a text is a year, month or day of the calendar in ISO 8601 form."""
    return bool(_DATE.fullmatch(text)) and not any(date_faults("", text))

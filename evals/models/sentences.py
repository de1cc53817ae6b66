"""Splitting a message into sentences, by punctuation alone: for baselines, in every language that ends sentences with a mark.

No language is guessed and no model is used. Where a full stop may belong to an abbreviation, an initial or a German ordinal, the text stays
in one piece: a baseline that joins two sentences is less wrong than one that tears a name.
"""

from __future__ import annotations

import re

_CLOSING = "\"'”’»)\\]」』）】*_"
# Latin, Cyrillic and Arabic marks need white space after them ("3.5", "example.com"); CJK marks and the Devanagari danda do not.
_END = re.compile(rf"(?:[.!?…؟]+[{_CLOSING}]*(?=\s|$)|[。！？｡]+[{_CLOSING}]*|[।॥]+[{_CLOSING}]*)")
_BULLET = re.compile(r"^(?:[-*•–—·>#]+|\d{1,3}[.)])\s+")
_ABBREVIATION_WORDS = (
    "mr mrs ms dr prof st sr jr vs etc e.g i.e approx fig dept inc ltd co z.b d.h u.a bzw ca usw nr str tel hr fr evtl ggf "
    "sra srta dra ud uds p.ej ee.uu av г ул д т.е т.д т.п др им руб тыс डॉ श्री"
)
_ABBREVIATIONS = frozenset(_ABBREVIATION_WORDS.split())
_ORDINAL_NEXT = re.compile(
    r"\s+(?:[a-zäöüß]|Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez|Stock|Klasse|Etage|Geburtstag|Semester|Jahrhundert)"
)


def _is_inside(text: str, start: int, match: re.Match[str]) -> bool:
    """Return whether the full stop of `match` belongs to the word before it."""
    if match.group() != ".":
        return False
    words = text[start : match.start()].split()
    word = words[-1].lstrip("(\"'„“«").casefold() if words else ""
    if word in _ABBREVIATIONS or (len(word) == 1 and word.isalpha() and word != "i"):
        return True
    return word.isdigit() and len(word) <= 2 and bool(_ORDINAL_NEXT.match(text, match.end()))


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text in order, each with its marks, without white space around it.

    A line break always ends a sentence; bullets and numbers at the start of a line are left out, and so are pieces without a letter or
    digit.

    Args:
        text: Any text.

    Returns:
        The sentences; none for a text without words.
    """
    found: list[str] = []
    for raw in text.splitlines():
        line = _BULLET.sub("", raw.strip())
        start = 0
        for match in _END.finditer(line):
            if not _is_inside(line, start, match):
                found.append(line[start : match.end()].strip())
                start = match.end()
        found.append(line[start:].strip())
    return [sentence for sentence in found if any(char.isalnum() for char in sentence)]

r"""Where a text may be cut: after messages, paragraphs, sentences, lines and words, and at last inside a run without spaces.

Boundaries of text only; how parts are made of them is in `salience.parts`. A boundary is the index at which the text before it ends,
white space not counted. No level calls for a dictionary or a model: a script that marks its sentences by neither punctuation nor
space (Thai) is cut at its spaces, which stand between phrases.

Every search is held to a range, and each position of a range costs a bounded number of steps, whatever the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

Level = re.Pattern[str]
"""A kind of boundary: a pattern whose first group is empty and stands at the boundary."""

# A no-break space keeps a number and its unit, or a name and its title, together.
_SPACE = r"[^\S\u00a0\u2007\u202f]"
_CLOSERS = r"\"'”’»›)\]}」』）】》〉*_`"
_SPACED = r".!?…‽؟۔՞։．"
"""End a sentence where white space follows (3.14 and example.org do not)."""
_UNSPACED = r"。！？｡।॥။።፧។៕"
"""End a sentence, as full-width and Indic signs do, whatever follows."""
# No sentence ends after an initial (which all of "e.g." is made of), an ordinal or a title.
_WITHIN = r"(?<!\b\w\.)(?<!\b\d\d\.)(?<!\b(?:Mr|Ms|Dr|St|Hr|Fr|Nr|vs|ca)\.)(?<!\b(?:Mrs|Sra|Dra|bzw)\.)(?<!\b(?:Prof|Srta)\.)"

MESSAGE: Level = re.compile(r"()\n\n\[")
PARAGRAPH: Level = re.compile(r"()(?:\n[ \t\r]{0,8}\n|\u2029)")
SENTENCE: Level = re.compile(
    rf"[{_SPACED}{_UNSPACED}](?:(?<=[{_UNSPACED}])[{_CLOSERS}]{{0,3}}()(?![{_UNSPACED}{_CLOSERS}])"
    rf"|(?<=[{_SPACED}])(?=[\s{_CLOSERS}]){_WITHIN}[{_CLOSERS}]{{0,3}}()(?=\s))"
)
LINE: Level = re.compile(r"()[\n\r\u2028]")
WORD: Level = re.compile(rf"(){_SPACE}")
LEVELS = (MESSAGE, PARAGRAPH, SENTENCE, LINE, WORD)
"""From the best place to cut to the worst. A boundary of one level counts as one of every later level."""

_REACH = 16
"""The most characters that a pattern looks at around a boundary."""
_NON_SPACE = re.compile(r"\S")


def skip_space(text: str, at: int) -> int:
    """Return the index of the first character from `at` on that is no white space; the text's length if there is none."""
    found = _NON_SPACE.search(text, at)
    return found.start() if found else len(text)


def boundaries(level: Level, text: str, low: int, high: int) -> Iterator[int]:
    """Yield the boundaries of a level that are above `low` and at most `high`, rising."""
    for found in level.finditer(text, max(0, low - _REACH), min(len(text), high + _REACH)):
        at = found.start(found.lastindex or 1)
        if low < at <= high:
            yield at


def last_boundary(level: Level, text: str, low: int, high: int) -> int | None:
    """Return the last boundary that is above `low` and at most `high`, or None.

    It is mostly near the end, so a short stretch there is tried first, and then stretches that grow: twice the range at the most.
    """
    stretch = 256
    while low < high:
        since = max(low, high - stretch)
        found = list(boundaries(level, text, since, high))
        if found:
            return found[-1]
        if since == low:
            break
        stretch *= 4
    return None


def last_safe_cut(text: str, low: int, high: int) -> int | None:
    """Return the last index above `low` and at most `high` where a run without spaces may be cut, or None if there is none nearby.

    Never between characters that make up one sign (a letter and its accents, a flag, a joined emoji), and not inside a number or a
    word of letters with case unless that is long: half a number is another number.
    """
    fallback = None
    for at in range(high, max(low, high - _LONGEST_SIGN), -1):
        if _one_sign(text, at, low):
            continue
        if not (_in_word(text[at - 1]) and _in_word(text[at])):
            return at
        fallback = fallback or at
    return fallback


_LONGEST_SIGN = 64
"""So far back a good place is looked for; the longest emoji in use have some 15 characters, and few words have as many as this."""
_JOINERS = frozenset("\u200c\u200d\u2060")
_MARKS = frozenset({"Mn", "Mc", "Me"})


def _in_word(character: str) -> bool:
    return character.isdigit() or character in ".,:/-−%$€£¥₹" or character.lower() != character.upper()


def _one_sign(text: str, at: int, low: int) -> bool:
    """Return whether the characters before and at `at` belong together; not all of Unicode's UAX #29, and Indic conjuncts besides."""
    before, after = text[at - 1], text[at]
    if before.isascii() and after.isascii():
        return False
    return (
        unicodedata.category(after) in _MARKS  # variation selectors are among them
        or after in _JOINERS
        or before in _JOINERS
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= after <= "\U000e007f"  # tags of regional flags
        or "\u1160" <= after <= "\u11ff"  # later parts of a Hangul syllable
        or after in "\u0e33\u0eb3"  # Thai and Lao AM
        or "\u0e40" <= before <= "\u0e44"  # Thai and Lao vowels that are written before their consonant
        or "\u0ec0" <= before <= "\u0ec4"
        or (unicodedata.combining(before) == 9 and after.isalpha())  # a virama joins two consonants
        or ("\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff")
        or (_is_flag_half(before) and _is_flag_half(after) and _odd_flag_halves(text, at, low))
    )


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _odd_flag_halves(text: str, at: int, low: int) -> bool:
    """Return whether an odd number of flag halves stands before `at`, so that a cut there would divide a pair."""
    first = at
    while first > low and _is_flag_half(text[first - 1]):
        first -= 1
    return (at - first) % 2 == 1

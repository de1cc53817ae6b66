"""Folding of text for comparisons. What counts as the same memory is decided in `evals.matching`, not here."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

_SPACE = re.compile(r"\s+")
_REGROUPED = 6  # from so many letters and digits on: fewer stand by chance in what is packed together


def fold(text: str) -> str:
    """Return text for comparison: compatibility-normalised, case-folded, invisible format characters dropped, white space folded."""
    normal = text.casefold() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()
    folded = " ".join(_SPACE.split(normal)).strip()
    if not folded.isprintable():  # format characters are not printable, and nearly all text is
        folded = _SPACE.sub(" ", "".join(char for char in folded if unicodedata.category(char) != "Cf")).strip()
    return folded


def appears(wanted: str, texts: Iterable[str]) -> bool:
    """Return whether a string that must not appear stands in one of some texts, all folded.

    One of six letters and digits or more is found in another grouping too: "DE89 3704" in "DE893704", "4471-TEST" in "4 4 7 1 test".

    Args:
        wanted: The string.
        texts: Where it is looked for.
    """
    folded = fold(wanted)
    packed = _packed(folded)
    return any(folded in text or (len(packed) >= _REGROUPED and packed in _packed(text)) for text in map(fold, texts))


def _packed(text: str) -> str:
    """A folded text without what groups letters and digits: spaces, hyphens of every kind, dots, slashes and low lines."""
    return "".join(char for char in text if not (char in " ._/" or unicodedata.category(char) == "Pd"))


def word_ngrams(text: str, size: int) -> set[str]:
    """Return the runs of `size` folded words of a text.

    Scripts without spaces count too: a word that is not ASCII and longer than three times `size` gives its runs of so many characters.
    """
    return ngrams_of_words(fold(text).split(), size)


def ngrams_of_words(words: Sequence[str], size: int) -> set[str]:
    """Return what `word_ngrams` gives for a text of these folded words."""
    runs = {" ".join(words[i : i + size]) for i in range(len(words) - size + 1)}
    for word in words:
        if len(word) > 3 * size and not word.isascii():
            runs |= {word[i : i + 3 * size] for i in range(len(word) - 3 * size + 1)}
    return runs

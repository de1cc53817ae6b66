"""Puts together what was extracted from the parts of a split turn: one list of candidates, one status, one reply.

Two candidates are merged only where they say the same word for word, but for letter case, spelling forms of Unicode, punctuation
around words, white space and English articles, and have the same date and source. Nothing else is folded, so that two statements
that differ in a number, a name, a negation or any other word are never merged. What says the same in other words stays: telling that
is a matter for the consolidation of memories.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import replace

from salience.types import Candidate, Dropped, ExtractionResult, Reply, Status

IN_ANOTHER_PART = "duplicate of another part"
IN_ONE_PART = "duplicate within a part"

_OPENERS = frozenset("\"'“‘„‚«‹»›([{「『《〈（［【¿¡")
_ENDS = frozenset(".,;:!…。，、；：！।۔،؛")  # not "?", as a question states nothing
_QUOTES = frozenset("\"'«»‹›")
_CLOSERS = _QUOTES | frozenset(")]}」』》〉）］】")
_INVISIBLE = dict.fromkeys([0xAD, 0x200B, 0x200E, 0x200F, 0x2060, 0xFEFF, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])
_SAME = {**str.maketrans("’‘ʼ“”‐‑−", "'''\"\"---"), **_INVISIBLE}
# "a" and "an" are words of other kinds in other languages ("visita a Ana"); these are found in none that has them.
_ENGLISH = frozenset(["the", "user", "user's", "is", "are", "and", "of", "with", "from"])
_COUNTS = frozenset({"few", "little"})  # "has a few friends" and "has few friends" are opposites


def merge_candidates(parts: Sequence[ExtractionResult]) -> tuple[list[Candidate], list[Dropped]]:
    """Merge the duplicates among the candidates of all parts.

    Args:
        parts: The results of the parts, in order.

    Returns:
        The candidates in the order in which each was first found, and those that were merged into another. Of duplicates the one of the
        highest salience is kept (the earlier of equals), with the tags of all in order and the `meta` of all, the earlier winning.
    """
    kept: dict[object, tuple[Candidate, int]] = {}
    dropped: list[Dropped] = []
    for number, part in enumerate(parts):
        for candidate in part.candidates:
            key = (statement_key(candidate.content), candidate.date, candidate.source)
            if key not in kept:
                kept[key] = candidate, number
                continue
            first, home = kept[key]
            best, other = (candidate, first) if candidate.salience > first.salience else (first, candidate)
            tags = tuple(dict.fromkeys([*first.tags, *candidate.tags]))
            kept[key] = replace(best, tags=tags, meta={**first.meta, **candidate.meta, **first.meta}), home
            dropped.append(Dropped(IN_ONE_PART if home == number else IN_ANOTHER_PART, other.content[:200]))
    return [candidate for candidate, _ in kept.values()], dropped


def merge_status(statuses: Sequence[Status]) -> Status:
    """Return the status of a whole whose parts have these.

    `malformed` if every part is; else `truncated` if any part is truncated or malformed, as something of the whole is lost; else
    `repaired` if any part is; else `ok` if any part is; else `empty`.
    """
    seen = set(statuses)
    if seen == {"malformed"}:
        return "malformed"
    if seen & {"truncated", "malformed"}:
        return "truncated"
    return "repaired" if "repaired" in seen else "ok" if "ok" in seen else "empty"


def merge_replies(replies: Sequence[Reply]) -> Reply:
    """Return one reply in place of many: texts with a blank line between, tokens summed (None if any is unknown).

    `finish_reason` is "length" if any is, else that of the last.
    """
    cut = any(reply.finish_reason == "length" for reply in replies)
    return Reply(
        "\n\n".join(reply.text for reply in replies),
        "length" if cut else replies[-1].finish_reason,
        _sum_known([reply.input_tokens for reply in replies]),
        _sum_known([reply.output_tokens for reply in replies]),
    )


def _sum_known(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def statement_key(content: str) -> str:
    """Return what two statements have in common if and only if they are duplicates."""
    words = list(filter(None, map(_bare, content.translate(_SAME).split())))
    folded = list(map(_folded, words))
    if _ENGLISH.isdisjoint(folded):
        return " ".join(folded)
    followers = [*folded[1:], None]
    kept = [plain for at, plain in enumerate(folded) if not _is_article(words[at], followers[at], first=at == 0)]
    return " ".join(kept)


def _is_article(word: str, following: str | None, *, first: bool) -> bool:
    """Return whether a word of an English statement is an article of what follows.

    A capital "A" that does not begin the statement is a name ("vitamin A"), and so is a letter that ends it.
    """
    if following is None or following in _COUNTS:
        return False
    return word.lower() == "the" or (word.lower() if first else word) in {"a", "an"}


def _bare(word: str) -> str:
    """Return a word without the punctuation around it. A quotation mark after a digit stays, as it may stand for feet or minutes."""
    start, end = 0, len(word)
    while start < end and word[start] in _OPENERS:
        start += 1
    while end > start and (word[end - 1] in _ENDS or (word[end - 1] in _CLOSERS and not _is_unit(word, end - 1))):
        end -= 1
    return word[start:end]


def _is_unit(word: str, at: int) -> bool:
    return word[at] in _QUOTES and at > 0 and word[at - 1].isdigit()


def _folded(word: str) -> str:
    """Return a word in Unicode's compatibility form and without case.

    Fractions and superscripts stay as they are (the compatibility form of 10² is 102), and so does ß ("Maße" are no "Masse").
    """
    if word.isascii():
        return word.lower()
    if not unicodedata.is_normalized("NFKC", word):
        pieces = (one if unicodedata.category(one) == "No" else unicodedata.normalize("NFKC", one) for one in word)
        word = unicodedata.normalize("NFC", "".join(pieces))
    return "ß".join(piece.casefold() for piece in word.replace("ẞ", "ß").split("ß"))

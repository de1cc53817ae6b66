"""A plain check whether two statements that are near each other differ in what a distance does not see: numbers, polarity, names.

It is a check of words, not of meaning, for where no consolidator is at hand. It errs towards "they differ", so that a statement is kept
rather than lost; it misses opposites that are in none of its lists, which are short, and outside English hold denials only. Where meaning
matters, a consolidator decides.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_BREAK = re.compile(r"[\s–—/,;:!?…、。()\[\]\"“”«»]+")  # not by letters, as vowel signs of Indic scripts are none
_ENGLISH = (
    "no not never none nobody nothing neither nor without cannot former formerly ex stopped stops quit quits left ended avoids avoided "
    "avoid dislike dislikes disliked hate hates hated refuses refused lacks unable isn wasn rarely seldom hardly barely scarcely"
)
_OPPOSITES = tuple(
    (frozenset(one.split()), frozenset(other.split()))
    for one, other in (
        ("open opens opened", "closed closes close shut"), ("alive living lives", "dead died dies deceased"),
        ("agreed agrees agree accepted accepts accept approved", "declined declines decline rejected rejects reject"),
        ("allowed permitted may can", "forbidden banned prohibited barred"), ("can able", "cannot unable"),
        ("married", "divorced single separated widowed"), ("won wins win", "lost loses lose"), ("bought buys", "sold sells"),
        ("started starts began begins", "stopped finished ended"), ("more most increased", "less least fewer decreased"),
        ("always often usually", "rarely seldom occasionally"), ("before", "after"), ("first", "last"), ("left", "right"),
        ("healthy well", "ill sick unwell"), ("full-time", "part-time"), ("true", "false"),
        ("day days", "night nights"), ("morning mornings", "evening evenings afternoon afternoons"), ("older elder", "younger"),
        ("passed", "failed"), ("gained gain", "lost lose"), ("indoors inside", "outdoors outside"), ("cheap", "expensive"), ("hot", "cold"),
        ("enabled on", "disabled off"), ("early", "late"), ("lent lends", "borrowed borrows"), ("safe", "dangerous unsafe"),
    )
)  # fmt: skip
_KIN = (
    "mother mum mom father dad parents sister brother daughter son wife husband girlfriend boyfriend partner fiance fiancee friend "
    "colleague boss neighbour neighbor neighbours neighbors aunt uncle niece nephew cousin grandmother grandma grandfather grandpa "
    "granddaughter grandson stepmother stepfather stepsister stepbrother"
)
_PERSONS = frozenset(_KIN.split())
_OTHERS = (
    "nicht kein keine keinen keinem keiner nie niemals nichts ohne hasst "  # German
    "nunca jamás sin nada nadie tampoco odia dejó não jamais sem nem ninguém odeia deixou "  # Spanish, Portuguese
    "ne pas sans rien aucun aucune déteste "  # French
    "не нет никогда без ни ничего ненавидит "  # Russian
    "لا لم لن ليس ليست بدون غير يكره تكره नहीं न मत बिना 안 못"  # Arabic, Hindi, Korean
)
_NEGATIVE = frozenset(f"{_ENGLISH} {_OTHERS}".split())
# Parts of words, in scripts where a negation is one: Chinese, Japanese, Korean.
_NEGATIVE_PARTS = re.compile("不|没|沒|无|無|未|别|ない|なかっ|なく|ません|嫌い|않|없|싫")
_CONTRACTED = re.compile(r"n['’]t$|^n['’]")


def difference(one: str, other: str) -> str | None:
    """Return in which of numbers, polarity and names two statements differ, or None.

    Args:
        one: A statement.
        other: Another.

    Returns:
        A short reason. Numbers and words of negation are compared as multisets, whatever their place; a name is a word with a capital
        letter that does not begin the statement, and must stand in the other in some form of letter case. Opposites differ, and persons
        such as "sister", where each has one that the other lacks.
    """
    first, second = unicodedata.normalize("NFKC", one), unicodedata.normalize("NFKC", other)
    if _numbers(first) != _numbers(second):
        return "the numbers differ"
    if _negations(first) != _negations(second):
        return "one is negated"
    if _names_missing(first, second) or _names_missing(second, first):
        return "the names differ"
    return _other_words(first, second)


def _other_words(first: str, second: str) -> str | None:
    """Return whether each of two statements has a word of the lists whose counterpart only the other has."""
    one, other = ({_bare(word) for word in _words(text)} for text in (first, second))
    only, others_only = one - other, other - one
    if only & _PERSONS and others_only & _PERSONS:
        return "the persons differ"
    if any((only & here and others_only & there) or (only & there and others_only & here) for here, there in _OPPOSITES):
        return "they say opposites"
    return None


def _numbers(text: str) -> Counter[str]:
    plain = "".join(str(unicodedata.decimal(one)) if one.isdecimal() else one for one in text)
    return Counter(_NUMBER.findall(plain))


def _negations(text: str) -> int:
    words = [word.casefold() for word in _words(text)]
    return sum(word in _NEGATIVE or bool(_CONTRACTED.search(word)) for word in words) + len(_NEGATIVE_PARTS.findall(text))


def _names_missing(text: str, other: str) -> set[str]:
    words = _words(text)
    names = {_bare(word) for word in words[1:] if word[0].isupper()}
    return names - {_bare(word) for word in _words(other)}


def _words(text: str) -> list[str]:
    return [word for piece in _BREAK.split(text) if (word := piece.strip(".'’‘"))]


def _bare(word: str) -> str:
    return re.sub(r"['’]s?$", "", word.casefold())

"""Finds the words of `cues.toml` in a text: negation, condition, doubt, plans, pasts, opposites, relatives. It draws no conclusion."""

from __future__ import annotations

import re
import tomllib
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

LANGUAGES = frozenset({"en", "de", "es", "fr", "pt", "ru", "hi", "ar", "zh", "ja", "ko"})
"""The languages that the table covers."""

_EDGES = {
    **dict.fromkeys(("zh", "ja", "ko"), ("", "")),
    "hi": (r"(?:^|(?<=[\s,।(\-]))", r"(?=$|[\s,।.)!?\-])"),  # \b breaks Devanagari words at vowel signs
    "ar": (r"(?<!\w)[وفبلك]?", r"(?!\w)"),  # conjunctions and prepositions of one letter are written in front of a word
}


@lru_cache(maxsize=1)
def table() -> dict[str, Any]:
    """Return the table as the file has it."""
    return tomllib.loads(Path(__file__).with_name("cues.toml").read_text(encoding="utf-8"))


@cache  # as many as the table has
def _pattern(alternation: str, language: str) -> re.Pattern[str]:
    before, after = _EDGES.get(language, (r"(?<!\w)", r"(?!\w)"))
    return re.compile(f"{before}(?:{alternation.replace('ß', 'ss')}){after}")  # case-folding writes ß as ss


@lru_cache(maxsize=8192)
def spans(kind: str, folded: str, language: str) -> tuple[tuple[int, int], ...]:
    """Return where a cue stands.

    Args:
        kind: A name under `cues` in the table ("negation", "doubt_soft").
        folded: Case-folded canonical text.
        language: ISO 639-1 code; a language that the table lacks has no cues.

    Returns:
        Start and end of each hit, in order.
    """
    alternation = table()["cues"][kind].get(language)
    return tuple(match.span() for match in _pattern(alternation, language).finditer(folded)) if alternation else ()


def groups(name: str, folded: str, language: str) -> frozenset[str]:
    """Return the entries of a group that a text mentions.

    Args:
        name: "kin" or "quantity".
        folded: Case-folded canonical text.
        language: ISO 639-1 code.

    Returns:
        Names of entries ("mother", "none").
    """
    rows: dict[str, dict[str, str]] = table()[name]
    return frozenset(entry for entry, row in rows.items() if language in row and _pattern(row[language], language).search(folded))


def converse(number: int) -> bool:
    """Return whether the poles of a concept are two sides of one act ("lend", "borrow"), which agree once the roles are exchanged."""
    return bool(table()["opposites"][number].get("converse", False))


def poles(folded: str, language: str) -> dict[int, frozenset[int]]:
    """Return the poles of opposites that a text names.

    Args:
        folded: Case-folded canonical text.
        language: ISO 639-1 code.

    Returns:
        Number of the concept to the poles found, 0 and 1.
    """
    found = {}
    for number, row in enumerate(table()["opposites"]):
        hits = frozenset(side for side in (0, 1) if language in row and _pattern(row[language][side], language).search(folded))
        if hits:
            found[number] = hits
    return found

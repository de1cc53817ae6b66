"""Whether memories carry the answer to a question, or stem from a message, told by words, numbers and dates. No model is asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from math import comb

from evals.matching.canonical import canonicalise
from evals.matching.dates import find_dates, without_dates
from evals.matching.reading import content, stem, words_of
from evals.recall_cases import Question

_PARTS = re.compile(r"[;；؛।。]")
_LEAST_SHARED = 2
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_ADDRESS = frozenset(["you", "your", "yours", "dein", "deine", "dich", "dir", "toi", "ton", "tes", "você", "vos"])  # the owner


def carried(question: Question, found: Sequence[Sequence[str]], language: str, owner_names: tuple[str, ...] = ()) -> bool | None:
    """Return whether memories carry the answer to a question, by words; None where the answer has nothing to look for ("Yes").

    The answer is taken apart into dates, numbers, times and stems of content words, without those of the question, and into parts at its
    semicolons. It is carried if of every part all dates and numbers and at least half of the words stand in the memories, whichever. A
    date is there if one at least as precise is. A memory counts only if it shares two of these with the answer, or one with it and another
    with the question or its evidence, so that a lone common word or number proves nothing.

    It measures whether what is needed is at hand, not whether a model would answer rightly. It cannot see denial or who does what, misses
    an answer in other words or to be reckoned ("850 more"), and may take a word for another of the same stem. The answer to what was true
    before is often in a retired statement only: a store that holds exactly `final` carries about half of the answers of the train and dev
    scenarios that ship, and one that keeps everything more. So it stands beside the stale rate, and is no headline.

    Args:
        question: The question, with answer and evidence.
        found: The memories, each with all that is known to say the same.
        language: ISO 639-1 code of all of them.
        owner_names: What the owner is called.
    """
    asked = _atoms(question.question, language, owner_names)
    parts = [atoms for text in _PARTS.split(question.answer) if (atoms := _atoms(text, language, owner_names))]
    parts = [rest for atoms in parts if (rest := atoms - asked)] or parts
    if not parts:
        return None
    wanted = frozenset().union(*parts)
    about = asked.union(*(_atoms(one.text, language, owner_names) for one in question.evidence)) - wanted
    held: set[str] = set()
    for texts in found:
        told: frozenset[str] = frozenset().union(*(_atoms(text, language, owner_names) for text in texts))
        shared = {atom for atom in wanted if _stands(atom, told)}
        if shared and len(shared) + len(about & told) >= 2:
            held |= shared
    return all(_enough(part, held) for part in parts)


def drawn_from(memory: str, message: str, language: str, owner_names: tuple[str, ...] = ()) -> bool:
    """Return whether a memory is drawn from a message: two at least of its dates, numbers and content words, and half of them, stand there.

    It tells that something of the message was kept, not that it was kept rightly, and is blind for other words and resolved dates. Two
    words are soon shared: of hundreds of memories some always shares them with any message. So it is asked only of memories that came from
    the message's own session, and what it is worth there is told by `by_chance`.

    Args:
        memory: What is stored.
        message: What was said.
        language: ISO 639-1 code of both.
        owner_names: What the owner is called.
    """
    told = _atoms(memory, language, owner_names)
    shared = len(told & _atoms(message, language, owner_names))
    return shared >= _LEAST_SHARED and 2 * shared >= len(told)


def by_chance(own: int, others: int, drawn: int) -> float:
    """Return how likely a message is covered by memories that are none of its session's.

    As many memories as came from its session are taken, at random, from those that did not: with n = `own` (all of them where there are
    fewer), M = `others` and h = `drawn` it is 1 - C(M - h, n) / C(M, n), the chance that at least one of the h is among the n.

    Args:
        own: How many live memories came from the message's session.
        others: How many did not.
        drawn: For how many of those `drawn_from` holds all the same.
    """
    taken = min(own, others)
    return 1 - comb(others - drawn, taken) / comb(others, taken)


def _enough(part: frozenset[str], held: set[str]) -> bool:
    exact = {atom for atom in part if atom[0] in "@#"}
    words = part - exact
    return exact <= held and 2 * len(words & held) >= len(words)


def _stands(atom: str, atoms: frozenset[str]) -> bool:
    if atom.startswith("@--"):  # no year is wanted
        return any((one[3:] if one[1] == "-" else one[6:]).startswith(atom[3:]) for one in atoms if one[0] == "@")
    return atom in atoms or (atom[0] == "@" and any(one.startswith(atom) for one in atoms))


@lru_cache(maxsize=8_192)
def _atoms(text: str, language: str, owner_names: tuple[str, ...]) -> frozenset[str]:
    """Dates ("@2024-10-07"), numbers and times ("#75") and stems of content words of a text."""
    canonical = canonicalise(text, language, owner_names)
    rest = without_dates(canonical).casefold()
    found = {f"@{date}" for date in find_dates(canonical, language)}
    found |= {f"#{time}" for time in re.findall(r"T\d\d:\d\d", canonical)}
    found |= {f"#{float(number):g}" for number in _NUMBER.findall(rest)}
    words = words_of(_NUMBER.sub(" ", rest).replace("'", " "), language)
    return frozenset(found | {stem(word, language) for word in words if content(word, language) and word not in _ADDRESS})

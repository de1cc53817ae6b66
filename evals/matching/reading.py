"""What the guards see of a statement: numbers, dates, names, cues, people, and who acts on whom. It compares nothing.

Everything is found by words and word order, without a parser; a feature that cannot be found is absent, and guards do not act on
what is absent.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from evals.matching import cues
from evals.matching.canonical import canonicalise
from evals.matching.dates import find_dates, weekdays, without_dates
from evals.matching.quantities import Quantity, ordinals, quantities

NAMED = frozenset({"en", "es", "ru"})
"""Languages in which a capital inside a sentence marks a name (not German, where it marks every noun)."""
UNSPACED = frozenset({"zh", "ja"})
"""Languages written without spaces between words."""

_CODE = re.compile(  # paths, addresses, and identifiers with an underscore or a file's ending
    r"(?<![\w/])(?:(?:[~.]|https?:/)?/[\w.\-]+(?:/[\w.\-]*)*|[\w.+\-]+@[\w\-]+\.[\w.]+|[A-Za-z]\w*_\w+|[A-Za-z][\w\-]*\.(?!com\b)[a-z][a-z0-9]{1,4})(?![\w/])",
    re.ASCII,
)
_STOP = frozenset(
    word
    for words in (
        "user users the and that this with from have has his her their for not was are is its but they them she him who what which "
        "when where will would been does did done",
        "der die das den dem des ein eine einen einem einer und ist hat mit von nicht sich wird auf für nutzer nutzers nutzerin",
        "usuario usuaria del los las una por para con que como está tiene",
        "пользователь пользователя пользователю пользовательница пользовательницы",
        "उपयोगकर्ता है हैं का की के को से में और पर ने",
        "utilisateur utilisatrice les des une est ont avec pour dans sur qui que son ses aux par elle",
        "usuário usuária dos das uma com para por que está tem seu sua aos ele ela",
        "المستخدم المستخدمة من إلى على عن مع في هو هي التي الذي أن",
        "사용자 사용자는 사용자가 사용자의 사용자에게 있다 한다",
    )
    for word in words.split()
)


@dataclass(frozen=True, slots=True)
class Reading:
    """The features of one statement.

    Case-folded canonical text is in `folded`; `words` are its words (in Chinese and Japanese, pairs of characters).
    """

    text: str
    language: str
    folded: str
    words: tuple[str, ...]
    quantities: tuple[Quantity, ...]
    ordinals: frozenset[int]
    dates: frozenset[str]
    times: frozenset[str]
    weekdays: frozenset[int]
    names: frozenset[str]
    codes: frozenset[str]
    kin: frozenset[str]
    poles: Mapping[int, frozenset[int]]

    def cue(self, kind: str) -> bool:
        """Return whether a cue of `cues.toml` is there, of the plain or, for a name ending in `_soft`, of the soft kind."""
        return bool(cues.spans(kind, self.folded, self.language))

    def stems(self) -> frozenset[str]:
        """Return the stems of the content words."""
        return frozenset(stem(word, self.language) for word in self.words if content(word, self.language))


@lru_cache(maxsize=1_024)
def read(text: str, language: str, owner_names: tuple[str, ...] = ()) -> Reading:
    """Return the features of a statement.

    Args:
        text: The statement as it was given.
        language: ISO 639-1 code.
        owner_names: What the owner is called in the case.
    """
    canonical = canonicalise(text, language, owner_names)
    folded = canonical.casefold()
    bare = without_dates(canonical).casefold()
    return Reading(
        text=canonical,
        language=language,
        folded=folded,
        words=words_of(folded, language),
        quantities=quantities(bare, language),
        ordinals=ordinals(bare, language),
        dates=find_dates(canonical, language),
        times=frozenset(re.findall(r"T\d\d:\d\d", canonical)),
        weekdays=weekdays(canonical, language),
        names=_names(canonical, language),
        codes=frozenset(match[0].rstrip(".,:;/") for match in _CODE.finditer(canonical)),
        kin=cues.groups("kin", folded, language),
        poles=cues.poles(folded, language),
    )


def words_of(folded: str, language: str) -> tuple[str, ...]:
    """Return the words of a case-folded text; in Chinese and Japanese, which have no spaces, each pair of neighbouring characters."""
    if language in UNSPACED:
        runs = re.findall(r"[a-z0-9_.]+|[^\W\d_a-z]+", folded.replace("用户", " ").replace("ユーザー", " "))
        return tuple(
            pair for run in runs for pair in ([run] if run.isascii() or len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)])
        )
    return tuple(re.findall(r"[\w\u0900-\u0963\u0966-\u097f]+(?:[.\-'_]\w+)*", folded))


def content(word: str, language: str) -> bool:
    """Return whether a word carries content: not a function word, not very short."""
    return word not in _STOP and (len(word) > 2 or language in (*UNSPACED, "ko"))


def stem(word: str, language: str) -> str:
    """Return a crude stem: the first letters of a word, enough to join its common endings."""
    if language in UNSPACED or word[:1].isdigit():
        return word
    if language == "ko":  # particles stand behind the word
        return word[: max(2, len(word) - 2)]
    word = word.removesuffix("'s")
    if language == "en":
        word = re.sub(r"(?<=\w{3})(?:ing|ed|es|s)$", "", word)
    return word[: 3 if language == "hi" else max(4, len(word) - 3) if len(word) < 9 else 6]


def plain_letters(word: str) -> str:
    """Return a word case-folded and without accents (Devanagari keeps its signs)."""
    parts = unicodedata.normalize("NFD", word.casefold())
    return "".join(char for char in parts if not ("\u0300" <= char <= "\u036f"))


def _names(text: str, language: str) -> frozenset[str]:
    """Return the words with a capital inside a sentence, without accents; not abbreviations in capitals, not calendar words."""
    if language not in NAMED:
        return frozenset()
    found = set()
    for match in re.finditer(r"(?<![\w'])[^\W\d_][\w\-]*(?:'[^\W\d_s]\w+)?", text):
        word = match[0].removesuffix("'s")
        before = text[: match.start()].rstrip("\"'(«“ ")
        initial = not before or before[-1] in ".!?:;"
        abbreviation = word.isupper() and len(word) <= 5
        if word[0].isupper() and not initial and not abbreviation and not weekdays(word, language):
            found.add(plain_letters(word))
    return frozenset(found)

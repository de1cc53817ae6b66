"""A matcher without any model: equal canonical text, else character n-grams and shared words. A smoke test, not a measure.

Wording is not meaning: on near misses lexical similarity is anti-correlated with the truth, and it finds no match across languages.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from evals.matching.base import Pair
from evals.matching.canonical import SUBJECTS, canonicalise
from evals.matching.deciding import Comparison, ThresholdMatcher
from evals.matching.language import language_of
from evals.matching.reading import words_of

_BUCKETS = 1 << 20
_OWNER = "@user"


class LexicalMatcher(ThresholdMatcher):
    """Mean of the cosine of hashed character 3-grams and the F1 of words, on canonical text; 1 where that text is equal."""

    id = "lexical"
    version = "2"

    def compare(self, pairs: Sequence[Pair]) -> list[Comparison]:
        """Return each pair's prediction beside its nearest phrase."""
        return [self._compare(pair) for pair in pairs]

    def _compare(self, pair: Pair) -> Comparison:
        code = language_of(pair.predicted, pair.language)
        mine = _normal(pair.predicted, code, pair.owner_names)
        scored = [(similarity(mine, _normal(phrase, pair.language, pair.owner_names)), phrase) for phrase in pair.phrases]
        if not scored:
            return Comparison(pair, None, "all", "", (code, pair.language), "the statement has no phrase")
        score, phrase = max(scored, key=lambda item: item[0])
        return Comparison(pair, score, "all", phrase, (code, pair.language), "lexical")


def similarity(one: str, other: str) -> float:
    """Return how alike two canonical texts are written.

    Args:
        one: Text.
        other: Text.

    Returns:
        0 to 1; 1 for equal texts; symmetric.
    """
    if one == other:
        return 1.0
    return min(1.0, (similarity_of_grams(grams(one), grams(other)) + word_f1(one, other)) / 2)


@lru_cache(maxsize=2_048)
def normal_form(canonical: str, language: str) -> str:
    """Return a canonical text in lower case with one token for the owner and no full stop, so that only its letters count.

    Args:
        canonical: What `canonicalise` returned.
        language: ISO 639-1 code.
    """
    subject = SUBJECTS.get(language, SUBJECTS["en"]).casefold()
    return " ".join(canonical.casefold().replace(subject, _OWNER).rstrip(" .。।!").split())


@lru_cache(maxsize=512)
def grams(text: str) -> Counter[int]:
    """Return how often each hashed run of three characters stands in a text; do not change what is returned."""
    padded = f" {text} "
    return Counter(zlib.crc32(padded[at : at + 3].encode("utf-8", "surrogatepass")) % _BUCKETS for at in range(len(padded) - 2))


def similarity_of_grams(one: Counter[int], other: Counter[int]) -> float:
    """Return the cosine of two counts, 0 to 1; 0 where one is empty."""
    product = sum(count * other[gram] for gram, count in one.items())
    norms = math.sqrt(sum(count * count for count in one.values()) * sum(count * count for count in other.values()))
    return product / norms if norms else 0.0


def word_f1(one: str, other: str) -> float:
    """Return the F1 of the words that two texts share, 0 to 1, each word as often as it stands there."""
    language = "zh" if any("\u3040" <= char <= "\u9fff" for char in one + other) else ""
    mine, theirs = Counter(words_of(one, language)), Counter(words_of(other, language))
    shared = sum((mine & theirs).values())
    return 2 * shared / (sum(mine.values()) + sum(theirs.values())) if shared else 0.0


def _normal(text: str, language: str, owner_names: tuple[str, ...]) -> str:
    return normal_form(canonicalise(text, language, owner_names), language)

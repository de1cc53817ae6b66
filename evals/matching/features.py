"""Describes in numbers how a prediction and a statement relate, for the classifier: what is alike, and what differs. It decides nothing."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection

from evals.matching import cues
from evals.matching.guards import GUARDS, opposed
from evals.matching.lexical import grams, normal_form, similarity_of_grams, word_f1
from evals.matching.quantities import Quantity
from evals.matching.reading import Reading

PLACES = ("cross", "en", "de", "es", "fr", "pt", "ru", "hi", "ar", "zh", "ja", "ko")
"""Where a pair stands: across languages, or in one of these; similarity means something else in each."""
CUES = ("negation", "restriction", "doubt", "plan", "done", "former")
ALIKE = (
    "e5", "minilm", "far", "grams", "words", "gold_covered", "prediction_covered", "length", "longer", "shorter", "longer_covering",
    "words_added", "words_missing", "clauses_added", "capitals_added", "capitals_missing", "digits_shared", "cosine_grams", "cosine_longer",
)  # fmt: skip
DIFFERENT = (
    *(f"guard_{guard.name}" for guard in GUARDS),
    "guards", "digits_missing", "digits_added", "amounts_missing", "amounts_added", "dates_missing", "dates_added",
    *(f"one_{cue}" for cue in CUES), "opposites", "kin",
)  # fmt: skip
NAMES: tuple[str, ...] = (*ALIKE, *DIFFERENT, *PLACES)
"""The features in their order: likenesses, differences (0 where there is none), place."""

_USUAL_LENGTH = 0.15  # a logarithm: a sixth longer or shorter says nothing
_JOINTS = re.compile(
    r"[,;:.()、，；：。،؛—–]|\b(?:and|und|y|e|et|и|but|aber|sondern|pero|mas|mais|но|а)\b|(?<=\s)(?:और|लेकिन|그리고|고)(?=\s)|[，,]?而且|并且?|和"
)
_FAR = 6.0  # of the usual spread: beyond, more distance says no more
_USUAL = {"e5": (0.93, 0.03), "minilm": (0.7, 0.15)}  # middle and spread among statements of one topic, so that an absent model is neutral


def features(predicted: Reading, gold: Reading, encoder: str, cosine: float, objected: Collection[str]) -> list[float]:
    """Return the features of a pair, in the order of `NAMES`.

    Args:
        predicted: What is read from the prediction.
        gold: What is read from the statement's phrase.
        encoder: The encoder that measured them, "e5" or "minilm".
        cosine: Their cosine, 0 to 1.
        objected: Names of the guards that object to the pair.

    Returns:
        Finite numbers: similarities in units of their usual spread, shares 0 to 1, the logarithm of the ratio of lengths, counts, and 0
        or 1 for what is there or not; and some products of them.
    """
    middle, spread = _USUAL[encoder]
    near = max(-_FAR, min(_FAR, (cosine - middle) / spread))
    place = gold.language if predicted.language == gold.language else "cross"
    values = {encoder: near, place: 1.0, **_likeness(predicted, gold, near), **_differences(predicted, gold, objected)}
    return [values.get(name, 0.0) for name in NAMES]


def without_differences(values: list[float]) -> list[float]:
    """Return the features as if nothing differed: what likeness alone proposes."""
    return [0.0 if name in _DIFFERENT else value for name, value in zip(NAMES, values, strict=True)]


_DIFFERENT = frozenset(DIFFERENT)


def _likeness(predicted: Reading, gold: Reading, near: float) -> dict[str, float]:
    mine, theirs = normal_form(predicted.text, predicted.language), normal_form(gold.text, gold.language)
    ours, those = grams(mine), grams(theirs)
    shared = sum((ours & those).values())
    alike, length = similarity_of_grams(ours, those), math.log((len(mine) + 1) / (len(theirs) + 1))
    covered, covering = shared / max(1, sum(those.values())), shared / max(1, sum(ours.values()))
    longer, shorter = max(0.0, length - _USUAL_LENGTH), max(0.0, -length - _USUAL_LENGTH)
    stems, others = predicted.stems(), gold.stems()
    return {
        "grams": alike,
        "words": word_f1(mine, theirs),
        "gold_covered": covered,
        "prediction_covered": covering,
        "length": length,
        "longer": longer,
        "shorter": shorter,
        "longer_covering": longer * covered,
        "words_added": math.log1p(len(stems - others)),
        "words_missing": math.log1p(len(others - stems)),
        "far": min(0.0, near) ** 2,
        "cosine_grams": near * alike,
        "cosine_longer": near * longer,
        "clauses_added": float(max(0, _clauses(predicted.folded) - _clauses(gold.folded))),
        "capitals_added": math.log1p(len(_capitals(predicted.text) - _capitals(gold.text))),
        "capitals_missing": math.log1p(len(_capitals(gold.text) - _capitals(predicted.text))),
    }


def _clauses(folded: str) -> int:
    """Return how many joints a statement has: punctuation inside it, and words for "and"."""
    return len(_JOINTS.findall(folded.rstrip(" .。।!")))


def _capitals(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in re.findall(r"(?<=\s)[^\W\d_]\w+", text) if word[0].isupper())


def _differences(predicted: Reading, gold: Reading, objected: Collection[str]) -> dict[str, float]:
    mine, theirs = (Counter(re.findall(r"\d+", reading.text)) for reading in (predicted, gold))
    found = {f"guard_{name}": 1.0 for name in objected} | {
        "guards": float(bool(objected)),
        "digits_missing": (theirs - mine).total(),
        "digits_added": (mine - theirs).total(),
        "digits_shared": float(bool(mine & theirs)),
        "amounts_missing": _lacking(gold.quantities, predicted.quantities),
        "amounts_added": _lacking(predicted.quantities, gold.quantities),
        "dates_missing": len(gold.dates - predicted.dates),
        "dates_added": len(predicted.dates - gold.dates),
        "opposites": float(opposed(predicted, gold)),
        "kin": float(bool(predicted.kin and gold.kin and not predicted.kin & gold.kin)),
    }
    if {predicted.language, gold.language} <= cues.LANGUAGES:
        found |= {f"one_{cue}": float(predicted.cue(cue) != gold.cue(cue)) for cue in CUES}
    return {name: float(value) for name, value in found.items()}


def _lacking(these: tuple[Quantity, ...], those: tuple[Quantity, ...]) -> float:
    return float(sum(not any(one.same(other) for other in those) for one in these))

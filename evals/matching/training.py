"""Learns the classifier's weights on the dev halves of the labelled pairs. For developers: it needs scikit-learn, scoring does not.

Three files teach: pairs written to test matchers, harder ones, and pairs of what models really returned. None can stand for the others.
Among written pairs a paraphrase shares few words with its statement and a near miss many; among replies it is the other way round, and
most that is wrong packs two facts into one.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evals.errors import ModelError, WorkbenchError
from evals.matching.classifier import Weights
from evals.matching.deciding import Comparison, Thresholds
from evals.matching.embedding import ROUTES, EmbeddingMatcher
from evals.matching.features import NAMES, features
from evals.matching.guards import objections
from evals.matching.pairs import FILES, LabelledPair, bundled_pairs, read_pairs, weights_at
from evals.matching.reading import read
from evals.matching.validate import cohen_kappa
from evals.matching.vectors import VectorStore

NEAR_MISSES = 0.2
"""The share of near misses for which written pairs are weighed. They hold twice as many, so that they measure what tells the two apart; an
extractor's replies hold between a tenth and a third."""
_SHARES = {"pairs": 1.0, "hard": 0.5, "natural": 1.5}  # what a pair of each file counts
_PENALTY = 0.02  # scikit-learn's C, on features of equal spread
_FOLDS = 8


@dataclass(frozen=True, slots=True)
class Lesson:
    """A dev pair to learn from.

    Attributes:
        pair: The pair.
        file: Which of `FILES` it is from.
        weight: What it counts.
        values: Its features.
    """

    pair: LabelledPair
    file: str
    weight: float
    values: list[float]


def lessons(pairs: Mapping[str, Sequence[LabelledPair]], matcher: EmbeddingMatcher) -> list[Lesson]:
    """Describe the dev pairs of the files.

    Args:
        pairs: Pairs by the name of their file.
        matcher: Compares them.

    Raises:
        ModelError: An encoder is not installed.
    """
    found = []
    for file, rows in pairs.items():
        dev = [pair for pair in rows if pair.half == "dev"]
        weights = weights_at(dev, NEAR_MISSES) if file == "pairs" else [1.0] * len(dev)
        for pair, weight, one in zip(dev, weights, matcher.compare([pair.pair() for pair in dev]), strict=True):
            found.append(Lesson(pair, file, weight * _SHARES[file], _values(one)))
    return found


def fit(rows: Sequence[Lesson]) -> Weights:
    """Return the logistic regression of the lessons, with a ridge penalty on features of equal spread.

    Args:
        rows: Lessons, matches and others among them.

    Raises:
        WorkbenchError: scikit-learn is not installed.
    """
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise WorkbenchError("Learning weights needs scikit-learn; install the extra dev.") from None
    values = np.array([row.values for row in rows])
    middle, spread = values.mean(axis=0), values.std(axis=0)
    spread[spread == 0] = 1.0
    model = LogisticRegression(C=_PENALTY, max_iter=10_000, tol=1e-8)
    model.fit((values - middle) / spread, [row.pair.match for row in rows], sample_weight=[row.weight for row in rows])
    by_unit = model.coef_[0] / spread
    by_name = {name: round(float(weight), 5) for name, weight in zip(NAMES, by_unit, strict=True) if abs(weight) >= _SMALLEST}
    return Weights(round(float(model.intercept_[0] - by_unit @ middle), 5), by_name)


_SMALLEST = 5e-6


def crossed(rows: Sequence[Lesson], teaching: Sequence[str] = FILES) -> list[float]:
    """Return the probability of each lesson by weights that were learned without it, and without any other of the same statement.

    Args:
        rows: Lessons.
        teaching: The files that teach.
    """
    folds = [zlib.crc32(row.pair.gold.encode()) % _FOLDS for row in rows]
    found = [0.0] * len(rows)
    for fold in sorted(set(folds)):
        weights = fit([row for row, at in zip(rows, folds, strict=True) if at != fold and row.file in teaching])
        for place, (row, at) in enumerate(zip(rows, folds, strict=True)):
            if at == fold:
                found[place] = weights.probability(row.values)
    return found


def equal_error_threshold(scores: Sequence[tuple[float, bool, float]], matches: float) -> float:
    """Return the threshold at which the weight of the pairs that are matched comes nearest to the weight of those that truly match.

    Args:
        scores: Of each pair: similarity, 0 to 1, whether a guard refuses it, and its weight, above 0.
        matches: The weight of the pairs that truly match.

    Returns:
        A threshold, 0 to 1, half-way between the last score that is in and the first that is out; where guards leave less weight than
        matches have, one that takes all they leave.
    """
    left = sorted(((score, weight) for score, refused, weight in scores if not refused), reverse=True)
    taken, best, place = 0.0, matches, 0
    for number, (_, weight) in enumerate(left, start=1):
        taken += weight
        if abs(taken - matches) < best - 1e-12:
            best, place = abs(taken - matches), number
    if not place:
        return 1.0 if not left else (left[0][0] + 1) / 2
    inside = left[place - 1][0]
    outside = left[place][0] if place < len(left) else max(0.0, 2 * inside - 1)
    return (inside + outside) / 2


def taught_by(rows: Sequence[Lesson], files: Sequence[str]) -> dict[str, float | None]:
    """Return kappa on the dev pairs of each file by weights that only some files taught, none of them its own statement.

    Args:
        rows: Lessons of all files.
        files: The files that teach.
    """
    found = crossed(rows, files)
    own = [(value, False, row.weight) for row, value in zip(rows, found, strict=True) if row.file in files]
    limit = equal_error_threshold(own, sum(row.weight for row in rows if row.file in files and row.pair.match))
    table = Counter((row.file, value >= limit, row.pair.match) for row, value in zip(rows, found, strict=True))
    return {file: cohen_kappa(*(table[file, ours, theirs] for ours in (True, False) for theirs in (True, False))) for file in FILES}


def read_files(path: Path) -> dict[str, Path]:
    """Return the files that lie beside a file of written pairs, itself among them, by name."""
    beside = {name: path if name == "pairs" else path.with_name(f"{name}.jsonl") for name in FILES}
    return {name: file for name, file in beside.items() if file.is_file()}


def _values(one: Comparison) -> list[float]:
    if one.score is None:
        raise ModelError(f"Weights need every model: {one.note}.")
    predicted, gold = read(one.pair.predicted, one.languages[0]), read(one.phrase, one.languages[1])
    return features(predicted, gold, one.note, one.score, [name for name, _ in objections(predicted, gold)])


def described(weights: Weights) -> dict[str, Any]:
    """Return weights as JSON-ready content of the file that ships."""
    return {"intercept": weights.intercept, "weights": dict(weights.by_name)}


def _main() -> None:
    matcher = EmbeddingMatcher(Thresholds(dict.fromkeys(ROUTES, 0.5), 0.0), VectorStore(None))
    rows = lessons({name: read_pairs(bundled_pairs(name)) for name in FILES}, matcher)
    print("kappa on the dev half of each file, by weights that had not seen the statement")
    for files in (("pairs",), ("natural",), ("pairs", "hard"), ("pairs", "natural"), FILES):
        told = "  ".join(f"{name} {math.nan if value is None else value:.2f}" for name, value in taught_by(rows, files).items())
        print(f"taught by {' + '.join(files):26} {told}")


if __name__ == "__main__":
    _main()

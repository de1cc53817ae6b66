"""From a similarity to a verdict: threshold first, guards second. For matchers that measure similarity; a judge does not use it."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evals.errors import DataError
from evals.matching import language
from evals.matching.base import Pair, Verdict
from evals.matching.guards import refuse
from evals.matching.reading import read
from evals.text import fold

COMMITTED = Path(__file__).with_name("thresholds.json")
"""The thresholds that ship; `evals.matching.thresholds` writes them."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What turns scores into matches.

    Attributes:
        by_route: Route to the smallest score that matches.
        tie_margin: Verdict margins that differ by no more count as equally near.
        pairs: SHA-256 of the labelled pairs that they were chosen on; "" for thresholds set by hand.
        agreement: Kappa on the report half of those pairs with its interval ("kappa", "low", "high"), how many "pairs", and whether
            that is "provisional"; empty for thresholds set by hand.
    """

    by_route: Mapping[str, float]
    tie_margin: float
    pairs: str = ""
    agreement: Mapping[str, float | int | bool] = field(default_factory=dict)

    def of(self, route: str, code: str) -> float:
        """Return the threshold of a language if it has one, else that of the route.

        Args:
            route: The route of the pair.
            code: ISO 639-1 code of the statement's language; matters for the route "other" only.
        """
        return self.by_route.get(code, self.by_route[route]) if route == "other" else self.by_route[route]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A prediction beside its nearest phrase, before any threshold.

    Attributes:
        pair: What was compared.
        score: Similarity, 0 to 1, or None.
        route: Which model and threshold hold ("en", "other", "cross"; "all" for the lexical matcher).
        phrase: The nearest phrase; "" where nothing was scored.
        languages: Languages of prediction and phrase.
        note: The model's short name, or why there is no score.
    """

    pair: Pair
    score: float | None
    route: str
    phrase: str
    languages: tuple[str, str]
    note: str

    def above(self, thresholds: Thresholds) -> float:
        """Return how far the score lies above its threshold, as a share of the way to 1; negative below, and for no score -1.

        Args:
            thresholds: What the score is held to.
        """
        if self.score is None:
            return -1.0
        limit = thresholds.of(self.route, self.languages[1])
        return (self.score - limit) / max(1.0 - limit, 1e-6)

    def refusal(self) -> tuple[str, str] | None:
        """Return name and reason of the guard that refuses the two, or None."""
        names = self.pair.owner_names
        return refuse(read(self.pair.predicted, self.languages[0], names), read(self.phrase, self.languages[1], names))


class ThresholdMatcher(ABC):
    """A matcher that compares, applies a threshold and asks the guards."""

    id: str
    version: str
    tells_relations = False

    def __init__(self, thresholds: Thresholds | None = None) -> None:
        self.thresholds = thresholds if thresholds is not None else committed(self.id)

    @property
    def tie_margin(self) -> float:
        """Verdict margins that differ by no more than this count as equally near."""
        return self.thresholds.tie_margin

    def describe(self) -> Mapping[str, str | float | int]:
        """Return version, thresholds with the pairs they come from, and the agreement of the matcher with people."""
        limits = {f"threshold_{route}": value for route, value in sorted(self.thresholds.by_route.items())}
        agreement = {f"agreement_{name}": value for name, value in self.thresholds.agreement.items()}
        return {
            "matcher": self.id,
            "version": self.version,
            "tie_margin": self.tie_margin,
            "pairs": self.thresholds.pairs,
            **limits,
            **agreement,
        }

    @abstractmethod
    def compare(self, pairs: Sequence[Pair]) -> list[Comparison]:
        """Return each pair's prediction beside its nearest phrase, in order."""

    def score(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """Return one verdict for each pair, in order."""
        return [self._verdict(comparison) for comparison in self.compare(pairs)]

    def language_of(self, text: str, expected: str) -> str:
        """Return the ISO 639-1 code of the language of `text`, with the case's language as prior."""
        return language.language_of(text, expected)

    def _verdict(self, comparison: Comparison) -> Verdict:
        score = comparison.score
        if score is None:
            return Verdict(None, False, f"unscored: {comparison.note}")
        threshold = self.thresholds.of(comparison.route, comparison.languages[1])
        margin = comparison.above(self.thresholds)
        said, limit = round_apart(score, threshold)
        figure = f"similarity {said} {'>=' if score >= threshold else '<'} {limit} ({comparison.note})"
        if score < threshold:
            return Verdict(score, False, figure, margin=margin)
        same = fold(comparison.pair.predicted) == fold(comparison.phrase)  # nothing is refused against itself
        refused = None if same else comparison.refusal()
        if refused is None:
            return Verdict(score, True, figure, margin=margin)
        return Verdict(score, False, f"guard {refused[0]}: {refused[1]}", guard=refused[0], margin=margin)


def committed(matcher: str, path: Path = COMMITTED) -> Thresholds:
    """Return the thresholds of a matcher from the file that ships.

    Args:
        matcher: The matcher's id.
        path: The file.

    Raises:
        DataError: The file is missing, or has no thresholds for that matcher.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        row = content["matchers"][matcher]
        return Thresholds(row["thresholds"], row["tie_margin"], content["pairs_sha256"], row.get("agreement", {}))
    except (OSError, ValueError, KeyError) as error:
        raise DataError(
            f"{path} has no thresholds for the matcher {matcher!r} ({error}); run python -m evals.matching.thresholds."
        ) from error


def round_apart(score: float, threshold: float) -> tuple[str, str]:
    """Return both with as few decimals, two or more, as tell them apart, and no leading zero."""
    places = next((places for places in range(2, 6) if round(score, places) != round(threshold, places)), 6)
    return f"{score:.{places}f}".removeprefix("0"), f"{threshold:.{places}f}".removeprefix("0")

"""The default matcher: similarity of sentence vectors, a model by language of the pair, then guards.

A pair goes to MiniLM only where the case is English and both texts are detected as English; everything else goes to
multilingual-e5-small, with one threshold within a language and another across languages. A pair whose model is not installed is
unscored, with what to install; it never counts as a match. Licences of models and packages are in `evals.matching.encoders`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evals.matching import language
from evals.matching.base import Pair
from evals.matching.canonical import canonicalise
from evals.matching.deciding import Comparison, ThresholdMatcher, Thresholds
from evals.matching.encoders import Encoder, MiniLM, MultilingualE5, encode_cached
from evals.matching.vectors import Vector, VectorStore

ROUTES = ("en", "other", "cross")
"""English within itself; any other language within itself; across languages."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """A pair's phrases, each with its route, and the canonical texts to encode."""

    pair: Pair
    code: str
    phrases: tuple[tuple[str, str, str], ...]  # phrase, its language, route


class EmbeddingMatcher(ThresholdMatcher):
    """Cosine of sentence vectors on canonical text, routed by pair.

    Args:
        thresholds: By route; None takes those that ship.
        store: Where vectors are kept; None takes `vectors.sqlite` in the state folder.
        english: Encoder of the route "en".
        multilingual: Encoder of the other routes.
    """

    id = "embedding"
    version = "1"

    def __init__(
        self,
        thresholds: Thresholds | None = None,
        store: VectorStore | None = None,
        english: Encoder | None = None,
        multilingual: Encoder | None = None,
    ) -> None:
        super().__init__(thresholds)
        self._store = store if store is not None else VectorStore(_state_file())
        other = multilingual or MultilingualE5()
        self._encoders: dict[str, Encoder] = {"en": english or MiniLM(), "other": other, "cross": other}

    def describe(self) -> Mapping[str, str | float | int]:
        """Return what every matcher of thresholds tells, and the hashes of the models."""
        return {**super().describe(), **{f"model_{encoder.id}": encoder.hash for encoder in self._encoders.values()}}

    def compare(self, pairs: Sequence[Pair]) -> list[Comparison]:
        """Return each pair's prediction beside its nearest phrase; unscored where a model is missing.

        Raises:
            ModelError: A model is installed, but it is not the one that the thresholds hold for.
        """
        plans = [_plan(pair) for pair in pairs]
        routes = {route for plan in plans for _, _, route in plan.phrases}
        missing = {route: language.missing() or self._encoders[route].missing() for route in sorted(routes)}
        vectors = self._vectors(plans, {route for route, what in missing.items() if what is None})
        return [self._compare(plan, missing, vectors) for plan in plans]

    def _vectors(self, plans: Iterable[_Plan], routes: set[str]) -> dict[tuple[str, str], Vector]:
        wanted: dict[str, dict[str, None]] = {}
        for plan in plans:
            names = plan.pair.owner_names
            for phrase, code, route in plan.phrases:
                if route in routes:
                    texts = wanted.setdefault(self._encoders[route].id, {})
                    texts |= {canonicalise(plan.pair.predicted, plan.code, names): None, canonicalise(phrase, code, names): None}
        encoders = {encoder.id: encoder for encoder in self._encoders.values()}
        return {
            (name, text): vector
            for name, texts in wanted.items()
            for text, vector in encode_cached(encoders[name], list(texts), self._store).items()
        }

    def _compare(self, plan: _Plan, missing: Mapping[str, str | None], vectors: Mapping[tuple[str, str], Vector]) -> Comparison:
        pair = plan.pair
        gaps = [(what, route, code) for _, code, route in plan.phrases if (what := missing[route])]
        if gaps or not plan.phrases:
            what, route, code = gaps[0] if gaps else ("the statement has no phrase", "other", pair.language)
            return Comparison(pair, None, route, "", (plan.code, code), what)
        scored = []
        for phrase, code, route in plan.phrases:
            name = self._encoders[route].id
            mine, theirs = (
                vectors[name, canonicalise(text, lang, pair.owner_names)] for text, lang in ((pair.predicted, plan.code), (phrase, code))
            )
            scored.append(Comparison(pair, cosine(mine, theirs), route, phrase, (plan.code, code), name))
        return self._nearest(scored)

    def _nearest(self, scored: Sequence[Comparison]) -> Comparison:
        """Return the nearest on the scale that routes share, as a prediction may be compared with phrases of two languages."""
        return max(scored, key=lambda one: one.above(self.thresholds))


def cosine(one: Vector, other: Vector) -> float:
    """Return the cosine of two unit vectors, clipped to 0 to 1."""
    return float(np.clip(np.dot(one.astype(np.float64), other.astype(np.float64)), 0.0, 1.0))


def _plan(pair: Pair) -> _Plan:
    code = language.language_of(pair.predicted, pair.language)
    phrases = []
    for phrase in pair.phrases:
        theirs = language.language_of(phrase, pair.language)
        english = pair.language == code == theirs == "en"
        phrases.append((phrase, theirs, "en" if english else "cross" if code != theirs else "other"))
    return _Plan(pair, code, tuple(phrases))


def _state_file() -> Path:
    from evals.paths import state_dir

    return Path(state_dir()) / "vectors.sqlite"

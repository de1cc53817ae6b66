"""The default matcher: likeness and differences of two statements, weighed by a logistic regression into a probability that they agree.

A cosine cannot tell a paraphrase from a near miss, since both are near. So a pair whose cosine is not hopeless is described by
`evals.matching.features`, and the weights, learned on the dev halves of the labelled pairs, say what each of them counts. What guards
find is part of the description, and most of them veto besides. A pair that likeness alone would match, and that a guard objects to, is a
near miss.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path

from evals.errors import DataError
from evals.matching.base import Verdict
from evals.matching.deciding import Comparison, Thresholds, committed, round_apart
from evals.matching.embedding import EmbeddingMatcher
from evals.matching.encoders import Encoder
from evals.matching.features import NAMES, features, without_differences
from evals.matching.guards import objections
from evals.matching.reading import read
from evals.matching.vectors import VectorStore
from evals.text import fold

_ONLY_WEIGHS = frozenset({"name", "subject"})
"""Guards that veto nothing: a missing name is often a missing surname, and vetoes of subject were right on dev and wrong on the report
half. The others bar 10 dev pairs that the weights would match, one of which truly matches, and 8 report pairs, two of which do."""
WEIGHTS = Path(__file__).with_name("weights.json")
"""The weights that ship; `evals.matching.thresholds` writes them."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A logistic regression over the features of a pair.

    Attributes:
        intercept: In logits.
        by_name: Logits for a feature's unit; a feature that is not named counts nothing.
    """

    intercept: float
    by_name: Mapping[str, float]

    def probability(self, values: Sequence[float]) -> float:
        """Return how probable it is that the pair agrees, 0 to 1.

        Args:
            values: Features in the order of `evals.matching.features.NAMES`.
        """
        logit = self.intercept + math.fsum(self.by_name.get(name, 0.0) * value for name, value in zip(NAMES, values, strict=True))
        return 1.0 / (1.0 + math.exp(-logit)) if logit > -700 else 0.0


@dataclass(frozen=True, slots=True)
class Weighed(Comparison):
    """A comparison whose score is a probability.

    Attributes:
        cosine: What the encoder measured.
        alone: The probability if the two differed in nothing that is looked for.
        objection: Name and reason of the first guard that objects, or None.
        barred: The same of the first whose objection no probability overrules.
    """

    cosine: float = 0.0
    alone: float = 0.0
    objection: tuple[str, str] | None = None
    barred: tuple[str, str] | None = None


class ClassifierMatcher(EmbeddingMatcher):
    """A logistic regression over cosine, shared letters and words, lengths, and what guards and numbers say of a pair.

    Args:
        weights: The regression; None takes the one that ships.
        thresholds: Probabilities by route; None takes those that ship.
        floors: By route, the cosine below which nothing is weighed and the probability is 0; None takes those that ship.
        store: Where vectors are kept; None takes `vectors.sqlite` in the state folder.
        english: Encoder of the route "en".
        multilingual: Encoder of the other routes.
    """

    id = "classifier"
    version = "2"

    def __init__(
        self,
        weights: Weights | None = None,
        thresholds: Thresholds | None = None,
        floors: Thresholds | None = None,
        *,
        store: VectorStore | None = None,
        english: Encoder | None = None,
        multilingual: Encoder | None = None,
    ) -> None:
        super().__init__(thresholds, store, english, multilingual)
        self.weights = weights if weights is not None else committed_weights()
        self.floors = floors if floors is not None else committed("floor")

    def describe(self) -> Mapping[str, str | float | int]:
        """Return what the embedding matcher tells, and the floors and the hash of the weights."""
        weights = json.dumps([self.weights.intercept, dict(self.weights.by_name)], sort_keys=True)
        floors = {f"floor_{route}": value for route, value in sorted(self.floors.by_route.items())}
        return {**super().describe(), **floors, "weights": hashlib.sha256(weights.encode()).hexdigest()}

    def _nearest(self, scored: Sequence[Comparison]) -> Comparison:
        """Return the most probable phrase that no guard bars, of equals the one with the largest cosine.

        A date that contradicts one phrase is wrong, whether or not another phrase tells a date.
        """
        weighed = [self._weigh(one) for one in scored]
        best = max(weighed, key=lambda one: (one.barred is None, one.above(self.thresholds), one.cosine))
        wrong_date = next((one.barred for one in weighed if one.barred and one.barred[0] == "date"), None)
        return replace(best, barred=wrong_date or best.barred)

    def _weigh(self, one: Comparison) -> Weighed:
        cosine = one.score or 0.0
        common = {field.name: getattr(one, field.name) for field in fields(Comparison)}
        if fold(one.pair.predicted) == fold(one.phrase):
            return Weighed(**common | {"score": 1.0}, cosine=cosine, alone=1.0)
        if one.above(self.floors) < 0:
            return Weighed(**common | {"score": 0.0}, cosine=cosine)
        names = one.pair.owner_names
        predicted, gold = read(one.pair.predicted, one.languages[0], names), read(one.phrase, one.languages[1], names)
        said = list(objections(predicted, gold))
        values = features(predicted, gold, one.note, cosine, [name for name, _ in said])
        probability, alone = (self.weights.probability(row) for row in (values, without_differences(values)))
        barred = next((objection for objection in said if objection[0] not in _ONLY_WEIGHS), None)
        first = said[0] if said else None
        return Weighed(**common | {"score": probability}, cosine=cosine, alone=alone, objection=first, barred=barred)

    def _verdict(self, comparison: Comparison) -> Verdict:
        probability = comparison.score
        if probability is None or not isinstance(comparison, Weighed):
            return super()._verdict(comparison)
        limit = self.thresholds.of(comparison.route, comparison.languages[1])
        margin = comparison.above(self.thresholds)
        said, told = round_apart(probability, limit)
        figure = f"probability {said} {'>=' if margin >= 0 else '<'} {told} (cosine {comparison.cosine:.2f}, {comparison.note})"
        if margin >= 0 and comparison.barred is None:
            return Verdict(probability, True, figure, margin=margin)
        refused = comparison.barred if margin >= 0 else comparison.objection if comparison.alone >= limit else None
        if refused is None:
            return Verdict(probability, False, figure, margin=margin)
        return Verdict(probability, False, f"guard {refused[0]}: {refused[1]}; {figure}", guard=refused[0], margin=margin)


@lru_cache(maxsize=1)
def committed_weights(path: Path = WEIGHTS) -> Weights:
    """Return the weights that ship.

    Args:
        path: The file.

    Raises:
        DataError: The file is missing or holds no weights of features that there are.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        weights = {str(name): float(value) for name, value in content["weights"].items()}
        intercept = float(content["intercept"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path} holds no weights of the classifier ({error!r}); write it again: python -m evals.matching.thresholds"
        ) from error
    unknown = sorted(set(weights) - set(NAMES))
    if unknown:
        raise DataError(f"{path}: there is no feature {unknown[0]!r}; write it again: python -m evals.matching.thresholds")
    return Weights(intercept, weights)

"""Measures of agreement against numbers worked by hand, and a validation of a matcher whose verdicts are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.errors import DataError
from evals.matching.base import Pair, Verdict
from evals.matching.pairs import Half, LabelledPair
from evals.matching.validate import auc, cohen_kappa, validate, wilson
from evals.matching.validation_text import validation_text


class Told:
    """A matcher that reads its verdict from the prediction: "match .8", "low .2", "guard .7" or "unscored"."""

    id, version, tie_margin, tells_relations = "told", "1", 0.0, False

    def describe(self) -> Mapping[str, str | float | int]:
        return {"matcher": self.id, "version": self.version, "threshold_all": 0.5}

    def score(self, pairs: Sequence[Pair]) -> list[Verdict]:
        return [self._verdict(*pair.predicted.split()) for pair in pairs]

    def language_of(self, text: str, expected: str) -> str:
        return expected

    def _verdict(self, word: str, score: str = "") -> Verdict:
        if word == "unscored":
            return Verdict(None, False, "unscored: install it")
        value = float(score)
        return Verdict(value, word == "match", word, guard="number" if word == "guard" else None, margin=value - 0.5)


def labelled(predicted: str, match: bool, language: str = "en", predicted_language: str = "en", half: Half = "report") -> LabelledPair:
    return LabelledPair(predicted, "gold", match, "other", language, predicted_language, half)


def test_kappa_by_hand() -> None:
    # 20 + 15 of 50 agree: .7; chance: .5 * .6 + .5 * .4 = .5; kappa = .2 / .5 (the textbook example of 25/25 and 30/20)
    assert cohen_kappa(20, 5, 10, 15) == pytest.approx(0.4)
    assert cohen_kappa(5, 0, 0, 5) == 1.0
    assert cohen_kappa(5, 0, 0, 0) is None


def test_wilson_by_hand() -> None:
    # 8 of 10: (0.8 + 0.19207 -+ 1.96 * sqrt(0.016 + 0.0096)) / 1.38415, as in statsmodels' proportion_confint
    figure = wilson(8, 10)
    assert [figure.value, figure.low, figure.high] == pytest.approx([0.8, 0.4901625, 0.9433178], abs=1e-6)
    assert wilson(0, 0).value is None


@given(st.integers(0, 200), st.integers(0, 200))
def test_wilson_holds_its_value(hits: int, others: int) -> None:
    figure = wilson(hits, hits + others)
    if figure.value is not None and figure.low is not None and figure.high is not None:
        assert -1e-12 <= figure.low <= figure.value + 1e-12
        assert figure.value <= figure.high + 1e-12 <= 1 + 1e-11


def test_auc_by_hand() -> None:
    # pairs of (match, non-match): .9 > .5, .9 > .1, .5 = .5, .5 > .1: 3.5 of 4
    assert auc([0.9, 0.5, 0.5, 0.1], [True, True, False, False]) == 0.875
    assert auc([0.9], [True]) is None


def test_validation_of_known_verdicts() -> None:
    pairs = [
        labelled("match .9", True),
        labelled("match .8", False),
        labelled("low .2", True, "de", "de"),
        labelled("guard .7", False, "de", "de"),
        labelled("guard .6", True, "de", "en"),
        labelled("unscored", True, "de", "en"),
        *[labelled("match .9", True, half="dev") for _ in range(40)],
    ]
    found = validate(Told(), pairs)
    whole = found.overall
    assert (whole.pairs, whole.unscored, whole.hits, whole.false_matches, whole.misses) == (5, 1, 1, 1, 2)
    assert whole.accuracy.value == pytest.approx(2 / 5)
    assert whole.precision.value == pytest.approx(1 / 2)
    assert whole.recall.value == pytest.approx(1 / 3)
    assert [(count.guard, count.true_vetoes, count.false_vetoes) for count in found.guards] == [("number", 1, 1)]
    assert [(pair.predicted, pair.match) for pair in found.wrong] == [("match .8", False), ("low .2", True), ("guard .6", True)]
    assert "people say" not in validation_text(found)
    assert validation_text(found, show=2).count("people say") == 2
    by_name = {part.name: part for part in found.slices if part.group == "language"}
    assert by_name.keys() == {"en", "de", "cross-language"}
    assert not by_name["en"].provisional
    assert by_name["de"].provisional
    assert found.provisional


def test_the_text_says_all_of_it() -> None:
    text = validation_text(
        validate(Told(), [labelled("match .9", True), labelled("guard .7", False, "de", "de"), labelled("unscored", True)])
    )
    for words in ("provisional", "by language", "by phenomenon", "de*", "number", "1 vetoed rightly", "unscored: 1 pairs"):
        assert words in text


def test_an_empty_half_is_an_error() -> None:
    with pytest.raises(DataError, match="report"):
        validate(Told(), [labelled("match .9", True, half="dev")])

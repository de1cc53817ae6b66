"""The classifier's arithmetic and contract by hand-made weights, its features against values worked by hand, and how weights are learned."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.errors import DataError
from evals.matching.base import Pair
from evals.matching.classifier import ClassifierMatcher, Weights, committed_weights
from evals.matching.deciding import Thresholds
from evals.matching.features import DIFFERENT, NAMES, features, without_differences
from evals.matching.guards import objections
from evals.matching.pairs import LabelledPair
from evals.matching.reading import read
from evals.matching.training import Lesson, crossed, fit
from evals.matching.vectors import VectorStore
from tests.evals.matching.test_matching_matchers import Words

EVEN = Thresholds({"en": 0.5, "other": 0.5, "cross": 0.5}, 0.02)
LOW = Thresholds({"en": 0.1, "other": 0.1, "cross": 0.1}, 0.0)
BY_HAND = Weights(2.0, {"guards": -4.0})


def matcher(weights: Weights = BY_HAND, floors: Thresholds = LOW) -> ClassifierMatcher:
    return ClassifierMatcher(weights, EVEN, floors, store=VectorStore(None), english=Words("minilm"), multilingual=Words("e5"))


def of(predicted: str, gold: str, language: str = "en", cosine: float = 0.7) -> dict[str, float]:
    encoder = "minilm" if language == "en" else "e5"
    one, other = read(predicted, language), read(gold, language)
    return dict(zip(NAMES, features(one, other, encoder, cosine, [name for name, _ in objections(one, other)]), strict=True))


def test_a_probability_by_hand() -> None:
    """An intercept of 1 and two guards' worth of -0.5 each on one feature of 2: logit 1 - 0.5 * 2 = 0."""
    values = [2.0 if name == "digits_missing" else 0.0 for name in NAMES]
    assert Weights(1.0, {"digits_missing": -0.5}).probability(values) == 0.5
    assert Weights(0.0, {}).probability(values) == 0.5
    assert Weights(math.log(3), {}).probability(values) == pytest.approx(0.75)
    assert Weights(-1e6, {}).probability(values) == 0.0


def test_features_by_hand() -> None:
    found = of("The user owns 3 goats and 2 dogs.", "The user owns 4 goats.")
    assert (found["digits_missing"], found["digits_added"], found["digits_shared"]) == (1, 2, 0)
    assert (found["guard_number"], found["guards"], found["en"], found["cross"], found["clauses_added"]) == (1, 1, 1, 0, 1)
    assert found["minilm"] == pytest.approx(0.0)  # .7 is the usual similarity
    # "@user owns 3 goats and 2 dogs" has 29 characters, "@user owns 4 goats" 18
    assert found["length"] == pytest.approx(math.log(30 / 19))
    assert found["longer"] == pytest.approx(math.log(30 / 19) - 0.15)
    assert found["words_added"] == pytest.approx(math.log(2))  # "dogs"
    assert found["words_missing"] == 0


def test_equal_statements_differ_in_nothing() -> None:
    found = of(
        "Berit moved to Oslo on 3 May 2024 and no longer smokes.", "Berit moved to Oslo on 3 May 2024 and no longer smokes.", cosine=1.0
    )
    assert {name: value for name, value in found.items() if name in DIFFERENT and value} == {}
    assert (found["grams"], found["words"], found["gold_covered"], found["length"]) == (pytest.approx(1), 1, 1, 0)
    assert found["minilm"] == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("language", "predicted", "gold", "name"),
    [
        ("fr", "L'utilisateur mange du poisson.", "L'utilisateur ne mange pas de poisson.", "one_negation"),
        ("pt", "O usuário come peixe.", "O usuário não come peixe.", "one_negation"),
        ("ja", "ユーザーは魚を食べる。", "ユーザーは魚を食べない。", "one_negation"),
        ("ko", "사용자는 생선을 먹는다.", "사용자는 생선을 먹지 않는다.", "one_negation"),
        ("ar", "المستخدم يأكل السمك.", "المستخدم لا يأكل السمك.", "one_negation"),
        ("fr", "L'utilisatrice achètera peut-être la maison.", "L'utilisatrice achète la maison.", "one_doubt"),
        ("ja", "ユーザーの母は京都に住んでいる。", "ユーザーの姉は京都に住んでいる。", "kin"),
    ],
)
def test_differences_are_seen_in_languages_without_spaces_and_others(language: str, predicted: str, gold: str, name: str) -> None:
    assert of(predicted, gold, language)[name] == 1


@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from(["en", "ja", "ar", "it"]), st.floats(0, 1))
def test_features_are_finite_numbers(one: str, other: str, language: str, cosine: float) -> None:
    readings = read(one, language), read(other, language)
    values = features(*readings, "e5", cosine, [name for name, _ in objections(*readings)])
    assert len(values) == len(NAMES)
    assert all(math.isfinite(value) for value in values)
    assert all(math.isfinite(value) for value in without_differences(values))


def test_what_likeness_proposes_and_a_guard_turns_is_a_near_miss() -> None:
    """Logit 2 without differences, 2 - 4 = -2 with a guard: .88 and .12."""
    (verdict,) = matcher().score([Pair("The user has three goats.", ("The user has four goats.",), "en")])
    assert verdict.score == pytest.approx(1 / (1 + math.exp(2)))
    assert (verdict.match, verdict.guard) == (False, "number")
    assert "guard number" in verdict.reason
    assert "probability .12 < .50" in verdict.reason
    (fine,) = matcher().score([Pair("The user has three goats.", ("The user keeps three goats.",), "en")])
    assert (fine.match, fine.guard) == (True, None)
    assert fine.margin == pytest.approx((1 / (1 + math.exp(-2)) - 0.5) / 0.5)


def test_matchers_of_other_weights_or_floors_describe_themselves_apart() -> None:
    described = [matcher(*args).describe() for args in ((), (Weights(2.0, {"guards": -3.0}),), (BY_HAND, EVEN), ())]
    assert described[0] == described[3]
    assert described[0] != described[1]
    assert described[0] != described[2]


def test_contradicting_dates_never_match() -> None:
    (verdict,) = matcher(Weights(9.0, {})).score([Pair("The lease ends on 3 May 2026.", ("The lease ends on 4 May 2026.",), "en")])
    assert (verdict.match, verdict.guard) == (False, "date")


def test_a_phrase_without_the_date_does_not_lift_the_bar() -> None:
    phrases = ("The lease ends on 4 May 2026.", "The lease ends in spring.")
    (verdict,) = matcher(Weights(9.0, {})).score([Pair("The lease ends on 3 May 2026.", phrases, "en")])
    assert (verdict.match, verdict.guard) == (False, "date")


def test_without_likeness_no_guard_speaks() -> None:
    (verdict,) = matcher(Weights(-1.0, {"guards": -4.0})).score([Pair("The user has three goats.", ("The user has four goats.",), "en")])
    assert (verdict.match, verdict.guard) == (False, None)


def test_equal_statements_match_whatever_the_weights_say() -> None:
    (verdict,) = matcher(Weights(-9.0, {})).score([Pair("the user is vegan.", ("The user is  vegan.",), "en")])
    assert (verdict.score, verdict.match, verdict.margin) == (1.0, True, pytest.approx(1.0))


def test_below_the_floor_nothing_is_weighed() -> None:
    high = Thresholds({"en": 0.99, "other": 0.99, "cross": 0.99}, 0.0)
    (verdict,) = matcher(Weights(9.0, {}), high).score([Pair("The user has a goat.", ("Berit plays the harp.",), "en")])
    assert (verdict.score, verdict.match) == (0.0, False)


def test_the_most_probable_phrase_decides() -> None:
    phrases = ("The user has four goats.", "The user has 3 goats.")
    (verdict,) = matcher().score([Pair("The user has three goats.", phrases, "en")])
    assert verdict.match


def test_weights_that_are_no_weights_are_named(tmp_path: Path) -> None:
    path = tmp_path / "weights.json"
    for content, words in (
        ("{", "holds no weights"),
        ('{"intercept": 1}', "weights"),
        ('{"intercept": 1, "weights": {"luck": 2}}', "'luck'"),
    ):
        path.write_text(content, encoding="utf-8")
        with pytest.raises(DataError, match=words):
            committed_weights(path)
    path.write_text(json.dumps({"intercept": 1, "weights": {"guards": -2}}), encoding="utf-8")
    assert committed_weights(path) == Weights(1.0, {"guards": -2.0})


def lesson(gold: str, match: bool, guards: float, weight: float = 1.0) -> Lesson:
    pair = LabelledPair("x", gold, match, "other", "en", "en", "dev")
    return Lesson(pair, "pairs", weight, [guards if name == "guards" else 0.0 for name in NAMES])


def test_weights_are_learned_from_lessons() -> None:
    rows = [lesson(f"gold {number}", number % 2 == 0, float(number % 2)) for number in range(40)]
    weights = fit(rows)
    assert set(weights.by_name) == {"guards"}
    assert weights.by_name["guards"] < 0
    assert weights.probability(rows[0].values) > 0.5 > weights.probability(rows[1].values)


def test_a_lesson_that_weighs_more_counts_more() -> None:
    """Half of the lessons with a guard are matches; where those weigh nine times as much, nine in ten are, near enough."""
    rows = [lesson(f"gold {number}", number % 2 == 0, 1.0, 9.0 if number % 2 == 0 else 1.0) for number in range(400)]
    assert fit(rows).probability(rows[0].values) == pytest.approx(0.9, abs=0.005)


def test_a_probability_is_crossed_without_its_own_statement() -> None:
    """One statement is a match against all others' rule; weights that had seen it would lean towards it."""
    rows = [lesson(f"gold {number}", False, float(number % 2)) for number in range(20)] + [lesson("odd", True, 5.0) for _ in range(20)]
    found = crossed([*rows, *[lesson(f"yes {number}", True, 0.5) for number in range(3)]])
    assert max(found[20:40]) < 0.5 < fit(rows).probability(rows[-1].values)

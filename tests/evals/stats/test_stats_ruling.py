"""Rulings, detectable effects and Holm's adjustment against hand-worked numbers, and that rulings exclude each other."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.stats.interval import Interval
from evals.stats.ruling import conversations_needed, holm, rule, smallest_detectable


def interval(low, high, conversations=60):
    value = None if low is None else (low + high) / 2
    return Interval(value=value, low=low, high=high, level=0.95, method="bootstrap", conversations=conversations, undefined=0.0)


@pytest.mark.parametrize(
    ("low", "high", "ruling"),
    [
        (-0.2, -0.06, "fail"),
        (-0.2, -0.05, "inconclusive"),  # touching the margin shows nothing
        (-0.05, 0.2, "inconclusive"),
        (-0.04, 0.2, "pass"),
        (-0.04, -0.01, "pass"),  # worse, but by less than the margin
        (-0.3, 0.3, "inconclusive"),
        (None, None, "inconclusive"),
    ],
)
def test_rulings(low, high, ruling):
    assert rule(interval(low, high), 0.05) == ruling


@given(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 0.5))
def test_a_ruling_is_exactly_one_and_never_contradicts_a_wider_margin(low, width, margin):
    one = interval(low, low + width)
    assert (rule(one, margin) == "fail") + (rule(one, margin) == "pass") + (rule(one, margin) == "inconclusive") == 1
    if rule(one, margin) == "pass":
        assert rule(one, margin + 0.1) == "pass"
    if rule(one, margin + 0.1) == "fail":
        assert rule(one, margin) == "fail"


@pytest.mark.parametrize("margin", [-0.01, math.nan, math.inf])
def test_a_margin_must_be_a_distance(margin):
    with pytest.raises(ValueError, match="0 or more"):
        rule(interval(0, 1), margin)


def test_the_smallest_detectable_effect_by_hand():
    """With very many conversations the quantile is 1.96: half-width .0196, error .01, effect (1.96 + .8416) * .01."""
    assert smallest_detectable(interval(-0.0196, 0.0196, 10**7)) == pytest.approx(0.028016, abs=1e-5)
    assert smallest_detectable(interval(0.3, 0.3 + 0.0392, 10**7)) == pytest.approx(0.028016, abs=1e-5)
    assert smallest_detectable(interval(None, None)) is None
    assert smallest_detectable(interval(0.1, 0.1)) is None


def test_conversations_needed_by_hand():
    """Half as wide takes four times as many."""
    assert conversations_needed(interval(-0.1, 0.1, 50), 0.05) == 200
    assert conversations_needed(interval(-0.1, 0.1, 50), 0.1) == 50
    assert conversations_needed(interval(None, None), 0.1) is None


def test_holm_by_hand():
    """.01 * 4, then .02 * 3 = .06, then .03 * 2 = .06, then .04 * 1 = .04 raised to .06."""
    assert holm([0.04, 0.01, None, 0.03, 0.02]) == pytest.approx([0.06, 0.04, None, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_lies_between_the_plain_values_and_bonferronis(values):
    adjusted = holm(values)
    assert all(value <= new <= min(1.0, len(values) * value) + 1e-12 for value, new in zip(values, adjusted, strict=True))
    order = sorted(range(len(values)), key=values.__getitem__)
    assert [adjusted[place] for place in order] == sorted(adjusted)

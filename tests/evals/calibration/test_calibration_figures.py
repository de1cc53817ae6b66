"""Figures of salience against hand-worked numbers, scikit-learn, scipy and relplot."""

from __future__ import annotations

import math

import numpy as np
import pytest
import relplot
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from evals.calibration import figures, smooth
from evals.calibration.figures import Items, keep_figures, reliability, risk_area, risk_curve
from evals.calibration.grade import Graded, grade_figures


def items(salience, kept, owner=None):
    owner = range(len(salience)) if owner is None else owner
    return Items(np.array(salience, dtype=float), np.array(kept, dtype=float), np.array(list(owner), dtype=np.int64))


def simulated(count, power=1.0, seed=0):
    generator = np.random.default_rng(seed)
    salience = generator.beta(2, 2, count)
    return items(salience, generator.random(count) < salience**power, generator.integers(0, max(1, count // 8), count))


def test_figures_by_hand():
    """Salience .8 .6 .4 .2, kept 1 0 1 0: squares .04 .36 .36 .04, mean .2; the base rate's Brier score is .25; skill .2."""
    found = keep_figures(items([0.8, 0.6, 0.4, 0.2], [1, 0, 1, 0]))
    assert (found.items, found.conversations, found.base_rate) == (4, 4, 0.5)
    assert found.brier == pytest.approx(0.2)
    assert found.skill == pytest.approx(0.2)
    assert found.auroc == 0.75
    # isotonic: 1, then .5 and .5 pooled, then 0: Brier .125
    assert (found.miscalibration, found.discrimination, found.uncertainty) == (pytest.approx(0.075), pytest.approx(0.125), 0.25)
    assert found.log_loss == pytest.approx(-(2 * math.log(0.8) + 2 * math.log(0.4)) / 4)
    # risk: 0 of 1, 1 of 2, 1 of 3, 2 of 4
    assert found.risk_area == pytest.approx((0 + 1 / 2 + 1 / 3 + 1 / 2) / 4)


@pytest.mark.parametrize("power", [0.5, 1.0, 3.0])
def test_figures_are_those_of_scikit_learn(power):
    one = simulated(400, power)
    found = keep_figures(one)
    assert found.brier == pytest.approx(brier_score_loss(one.kept, one.salience))
    assert found.auroc == pytest.approx(roc_auc_score(one.kept, one.salience))
    assert found.log_loss == pytest.approx(log_loss(one.kept, np.clip(one.salience, 0.01, 0.99)))
    logit = np.log(one.salience / (1 - one.salience)).clip(-math.log(99), math.log(99))[:, None]
    model = LogisticRegression(C=np.inf, tol=1e-10).fit(logit, one.kept)
    assert (found.slope, found.intercept) == (pytest.approx(model.coef_[0, 0]), pytest.approx(model.intercept_[0]))
    share, mean = calibration_curve(one.kept, one.salience, n_bins=10)
    sizes = np.histogram(one.salience, bins=np.linspace(0, 1, 11))[0]
    assert found.binned_ece == pytest.approx(np.sum(sizes[sizes > 0] * np.abs(share - mean)) / len(one))


@pytest.mark.parametrize(("count", "power"), [(50, 1.0), (200, 0.5), (500, 2.0), (1000, 1.0)])
def test_smooth_error_is_that_of_relplot(count, power, monkeypatch):
    monkeypatch.setattr(relplot.config, "use_logit_scaling", False)
    one = simulated(count, power)
    assert smooth.smooth_ece(one.salience, one.kept) == pytest.approx(relplot.smECE(one.salience, one.kept), abs=2e-3)


def test_smooth_error_by_hand():
    """All salience 1 and nothing kept: the residual is 1 everywhere that matters, whatever the width. Perfect certainty: 0."""
    ones = np.ones(20)
    assert smooth.smooth_ece(ones, np.zeros(20)) == pytest.approx(1.0, abs=1e-3)
    assert smooth.smooth_ece(np.array([0.0, 1.0]), np.array([0.0, 1.0])) == 0.0


def test_a_true_model_stays_in_its_null_band_nineteen_times_in_twenty():
    inside = 0
    for seed in range(200):
        one = simulated(120, seed=seed)
        inside += smooth.smooth_ece(one.salience, one.kept) <= smooth.null_band(one.salience, seed=0, draws=200)
    assert 0.89 <= inside / 200 <= 0.99  # 95% +- 3.5 standard errors


def test_the_null_band_narrows_as_items_come():
    bands = [smooth.null_band(simulated(count).salience, seed=1) for count in (50, 200, 800)]
    assert bands[0] > bands[1] > bands[2]
    assert smooth.null_band(simulated(50).salience, seed=1) == bands[0]


def test_a_constant_has_no_skill_and_a_perfect_grader_has():
    kept = [1] * 3 + [0] * 7
    constant = keep_figures(items([0.3] * 10, kept))
    assert constant.skill == pytest.approx(0)
    assert (constant.slope, constant.auroc) == (None, 0.5)
    perfect = keep_figures(items([float(value) for value in kept], kept))
    assert (perfect.skill, perfect.auroc, perfect.smooth_ece, perfect.slope) == (1.0, 1.0, 0.0, None)
    assert keep_figures(items([0.99] * 10, kept)).skill < -1


@pytest.mark.parametrize("kept", [[], [1, 1, 1], [0, 0]])
def test_without_two_kinds_figures_are_none(kept):
    found = keep_figures(items([0.5] * len(kept), kept))
    assert (found.auroc, found.skill, found.slope) == (None, None, None)
    assert (found.brier is None) is (not kept)


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=1, max_size=40))
def test_identities(pairs):
    one = items([level / 20 for level, _ in pairs], [kept for _, kept in pairs])
    found = keep_figures(one)
    assert found.brier == pytest.approx(found.miscalibration - found.discrimination + found.uncertainty)
    assert found.miscalibration >= -1e-12
    assert found.discrimination >= -1e-12
    assert 0 <= found.smooth_ece <= 1
    assert found.risk_area <= 1 + 1e-12
    curve = risk_curve(one.salience, one.kept)
    assert curve[-1] == (1.0, pytest.approx(1 - one.base_rate))
    assert [coverage for coverage, _ in curve] == sorted({coverage for coverage, _ in curve})


def test_ties_are_taken_in_random_order():
    """One hit and one false positive of one salience: the first is wrong half the time, both are half wrong."""
    assert risk_area(np.array([0.5, 0.5]), np.array([1.0, 0.0])) == pytest.approx(0.5)


def test_the_reliability_curve_rises():
    curve = reliability(simulated(300, 2.0))
    assert curve["kept"] == sorted(curve["kept"])
    assert len(curve["salience"]) == len(curve["kept"]) == len(curve["count"])
    by_hand = reliability(items([0.8, 0.6, 0.4, 0.2], [1, 0, 1, 0]))
    assert by_hand == {"salience": [0.2, 0.4, 0.6, 0.8], "kept": [0.0, 0.5, 0.5, 1.0], "count": [1.0] * 4}


def test_grades_by_hand_and_as_scipy_has_them():
    given = [0.9, 0.5, 0.7, 0.2]
    labelled = [0.8, 0.6, 0.3, 0.2]
    lengths = [40, 40, 120, 120]
    found = grade_figures([Graded(*row) for row in zip(given, labelled, lengths, strict=True)])
    assert found.pairs == 4
    assert found.mae == pytest.approx((0.1 + 0.1 + 0.4 + 0) / 4)
    assert found.bias == pytest.approx((0.1 - 0.1 + 0.4 + 0) / 4)
    assert found.spearman == pytest.approx(spearmanr(given, labelled).statistic)
    assert found.ordered == pytest.approx((kendalltau(given, labelled).statistic + 1) / 2)  # no ties: share of concordant pairs
    assert (found.short_vital, found.long_trivial) == (pytest.approx(0.0), pytest.approx(0.2))


def test_grades_without_anything_to_compare():
    assert grade_figures([]).mae is None
    assert grade_figures([Graded(0.5, 0.5, 10), Graded(0.5, 0.7, 10)]).spearman is None
    assert grade_figures([Graded(0.5, 0.5, 10), Graded(0.5, 0.7, 10)]).ordered == 0.5


def test_clip_is_what_the_design_says():
    assert figures.CLIP == 0.01

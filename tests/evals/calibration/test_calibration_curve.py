"""Precision and recall over the threshold by hand, and the band in which a true model's reliability curve lies."""

import numpy as np
import pytest

from evals.calibration.curve import ThresholdCurve
from evals.calibration.figures import Items, consistency_band, reliability
from evals.cases import Case, Memory
from evals.cell_scoring import Matched
from evals.matching.base import Verdict
from evals.metrics.outcomes import Table
from evals.rubric import Rubric
from salience import Candidate


def case(*memories):
    message = {"role": "user", "content": "x"}
    return Case(id="c", conversation="v", split="dev", language="en", messages=(message,), memories=memories)


def memory(name):
    return Memory(id=name, content=name, salience=0.7)


def matched(memories, candidates):
    """Candidates as (salience, memory that it states or None)."""
    rows = [[Verdict(1.0, name == one.id, "", margin=1.0 if name == one.id else -1.0) for one in memories] for _, name in candidates]
    table = Table(rows, [[] for _ in candidates])
    return Matched(case(*memories), tuple(Candidate(f"p{i}", salience) for i, (salience, _) in enumerate(candidates)), table)


def test_the_curve_by_hand():
    """Down from the top: a hit, a false one, a duplicate of the hit, the second memory; a second case adds one missed memory."""
    curve = ThresholdCurve(Rubric(), 0.1)
    curve.add(matched([memory("a"), memory("b")], [(0.9, "a"), (0.8, None), (0.6, "a"), (0.5, "b")]))
    curve.add(matched([memory("a")], []))
    points = curve.points()
    assert [(one.threshold, one.predictions) for one in points] == [(0.9, 1), (0.8, 2), (0.6, 3), (0.5, 4)]
    assert [one.precision for one in points] == [1.0, 0.5, pytest.approx(1 / 3), 0.5]
    assert [one.recall for one in points] == [pytest.approx(1 / 3)] * 3 + [pytest.approx(2 / 3)]
    assert [one.f1 for one in points] == [pytest.approx(value) for value in (2 / 4, 2 / 5, 2 / 6, 4 / 7)]


def test_a_duplicate_becomes_the_hit_where_the_better_one_is_cut_off():
    """Both state the memory, and the one with less salience lies nearer: above it the other is the hit."""
    one = matched([memory("a")], [(0.9, "a"), (0.4, "a")])
    one.table.memories[0][0] = Verdict(0.9, True, "", margin=0.5)
    curve = ThresholdCurve(Rubric(), 0.1)
    curve.add(one)
    assert [(point.precision, point.recall) for point in curve.points()] == [(1.0, 1.0), (0.5, 1.0)]


def test_no_candidate_and_no_memory():
    empty = ThresholdCurve(Rubric(), 0.1)
    assert empty.points() == ()
    empty.add(matched([], [(0.3, None)]))
    assert [(one.precision, one.recall, one.f1) for one in empty.points()] == [(0.0, None, 0.0)]


def test_long_curves_are_thinned_and_keep_their_ends():
    curve = ThresholdCurve(Rubric(), 0.1)
    curve.add(matched([memory("a")], [(at / 1000, None) for at in range(1000)]))
    points = curve.points()
    assert (len(points), points[0].threshold, points[-1].threshold, points[-1].predictions) == (201, 0.999, 0.0, 1000)


def test_a_true_model_lies_in_its_band_and_a_boaster_does_not():
    generator = np.random.default_rng(0)
    inside = []
    for _ in range(100):
        salience = np.round(generator.beta(2, 2, 300), 1)
        items = Items(salience, (generator.random(300) < salience).astype(float), np.arange(300))
        band, curve = consistency_band(items, draws=200), reliability(items)
        assert band["salience"] == curve["salience"]
        inside += [low <= kept <= high for low, kept, high in zip(band["low"], curve["kept"], band["high"], strict=True)]
    assert 0.92 <= np.mean(inside) <= 0.99  # 95% at each point
    boaster = Items(np.full(300, 0.9), np.zeros(300), np.arange(300))
    assert consistency_band(boaster)["low"][0] > reliability(boaster)["kept"][0] + 0.8

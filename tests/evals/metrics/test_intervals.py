"""Figures that need candidates or single conversations, with intervals: by hand, and that coverage is what it says where they are means."""

import numpy as np
import pytest

from evals.metrics.counts import COLUMNS, INDEX
from evals.metrics.intervals import ENOUGH, intervals_of, salience_statistics
from evals.metrics.tally import Tally
from evals.stats import cluster_bootstrap_items


def tally(rows, items=()):
    """Rows: (conversation, hits, false, missed)."""
    found = Tally(len(rows))
    for place, (name, hits, false, missed) in enumerate(rows):
        counts = np.zeros(len(COLUMNS))
        for column, value in (("outcome_hit", hits), ("outcome_unmatched", false), ("missed", missed)):
            counts[INDEX[column]] = value
        found.add(name, counts, items if not place else ())
    return found


def test_macro_f1_is_the_mean_over_conversations_and_has_an_interval():
    """F1 of 1, 0.5 and undefined: mean .75."""
    found = intervals_of(tally([("a", 2, 0, 0), ("b", 1, 1, 1), ("c", 0, 0, 0)]), {}, resamples=200, seed=0)["macro_f1"]
    assert found.value == pytest.approx(0.75)
    many = [(f"v{n}", n % 3, 1, 2 - n % 3) for n in range(60)]
    wide = intervals_of(tally(many), {}, resamples=500, seed=0)["macro_f1"]
    assert wide.low < wide.value < wide.high


@pytest.mark.parametrize(
    ("hits", "false", "told"), [(ENOUGH, ENOUGH, True), (ENOUGH - 1, 50, False), (50, ENOUGH - 1, False), (0, 0, False)]
)
def test_auroc_needs_enough_of_both(hits, false, told):
    items = [(0.9, True)] * hits + [(0.1, False)] * false
    found = intervals_of(tally([("a", hits, false, 0)], items), {}, resamples=50, seed=0)["auroc"]
    assert found.value == (1.0 if told else None)


def test_salience_intervals_by_hand():
    """Salience .8 .6 .4 .2, kept 1 0 1 0: Brier .2, skill 1 - .2/.25; grades .9 for .7 and .5 for .6: error .15, bias .05."""
    p, y, owner = np.array([0.8, 0.6, 0.4, 0.2]), np.array([1.0, 0, 1, 0]), np.array([0, 0, 1, 2])
    grades = np.array([[0.9, 0.7, 0], [0.5, 0.6, 1]])
    found = cluster_bootstrap_items(salience_statistics(p, y, owner, grades, 3), 3, resamples=200, seed=0)
    values = {name: one.value for name, one in found.items()}
    assert values == {
        "brier": pytest.approx(0.2), "skill": pytest.approx(0.2), "grade_mae": pytest.approx(0.15), "grade_bias": pytest.approx(0.05),
    }  # fmt: skip


def test_intervals_of_brier_hold_the_truth():
    """100 sets of 60 conversations with 4 candidates each, salience true: Brier is E[p(1 - p)], by integral of beta(2, 2) .2."""
    generator, held = np.random.default_rng(3), 0
    for seed in range(100):
        p = generator.beta(2, 2, 240)
        y = (generator.random(240) < p).astype(float)
        wanted = salience_statistics(p, y, np.repeat(np.arange(60), 4), np.zeros((0, 3)), 60)
        found = cluster_bootstrap_items(wanted, 60, resamples=300, seed=seed)["brier"]
        held += found.low <= 0.2 <= found.high
    assert 88 <= held <= 100

"""Simulated data sets shaped like the bundled dev split: how often intervals hold, permutations cry wolf, and rulings err.

A simulated set draws 60 conversations with what each of them asks for (cases, negative ones, required memories) from the dev split. Hits are
beta-binomial with an intraclass correlation of .14, the larger of two measured there (the rule baseline .07, Qwen2.5-Coder 1.5B .14); false
positives are Poisson with a skewed rate a conversation. The truth of a figure is its value on a million conversations. With 2,000 sets
the standard error of a coverage of .95 is .005, and the bounds asserted are .93 and .97. `tests/benchmarks/interval_coverage.py` compares
methods and goes to the extremes, where coverage falls to .92 (the table is in `evals.stats.interval`).
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from evals.data.files import load_dataset
from evals.rubric import Rubric
from evals.stats import Proportion, cluster_bootstrap, paired_difference
from evals.stats.ruling import rule, smallest_detectable

SETS, SIZE, RESAMPLES, CORRELATION = 2000, 60, 500, 0.14
FIGURES = {
    "f1": Proportion(lambda c: 2 * c[..., 0], lambda c: 2 * c[..., 0] + c[..., 1] + c[..., 2]),
    "recall": Proportion(lambda c: c[..., 0], lambda c: c[..., 0] + c[..., 2]),
    "specificity": Proportion(lambda c: c[..., 4], lambda c: c[..., 3]),
}
MIDDLE, BETTER = (0.45, 0.8, 0.6), (0.55, 0.7, 0.65)
"""Recall, false positives a case, share of negative cases that stay clean."""


def shapes():
    """Cases, negative cases and required memories of each dev conversation."""
    rubric, found = Rubric(), {}
    for case in load_dataset().cases:
        if case.split == "dev":
            due = sum(rubric.grade(memory) == "required" for memory in case.memories)
            found.setdefault(case.conversation, np.zeros(3))[:] += (1, due == 0, due)
    return np.array(list(found.values()))


SHAPES = shapes()


def asked(generator, *size):
    return SHAPES[generator.integers(0, len(SHAPES), size)]


def answered(generator, wanted, quality):
    """Counts (..., 5): hits, false positives, missed, negative cases, clean ones."""
    recall, false, clean = quality
    cases, negative, due = np.moveaxis(wanted, -1, 0)
    strength = (1 - CORRELATION) / CORRELATION
    hits = generator.binomial(due.astype(int), generator.beta(recall * strength, (1 - recall) * strength, cases.shape))
    wrong = generator.poisson(false * cases * generator.gamma(0.7, 1 / 0.7, cases.shape))
    tidy = generator.binomial(negative.astype(int), generator.beta(clean * strength, (1 - clean) * strength, cases.shape))
    return np.stack([hits, wrong, due - hits, negative, tidy], axis=-1).astype(float)


def truth(quality):
    generator = np.random.default_rng(99)
    totals = answered(generator, asked(generator, 1_000_000), quality).sum(axis=0)
    return {name: float(figure(totals[None])[0]) for name, figure in FIGURES.items()}


def test_intervals_hold_the_truth_nineteen_times_in_twenty():
    generator, true, held = np.random.default_rng(1), truth(MIDDLE), Counter()
    for number, counts in enumerate(answered(generator, asked(generator, SETS, SIZE), MIDDLE)):
        for name, found in cluster_bootstrap(counts, FIGURES, resamples=RESAMPLES, seed=number).items():
            held[name] += found.low <= true[name] <= found.high
    assert {name: count / SETS for name, count in held.items() if not 0.93 <= count / SETS <= 0.97} == {}
    assert set(held) == set(FIGURES)


def test_paired_intervals_hold_and_rulings_err_as_seldom_as_they_say():
    """At a margin of exactly the true harm a ruling of pass or fail is an error; each comes in at most one of forty."""
    generator, true = np.random.default_rng(2), {name: truth(MIDDLE)[name] - truth(BETTER)[name] for name in FIGURES}
    held, rulings, detectable = 0, Counter(), []
    for number in range(SETS):
        wanted = asked(generator, SIZE)
        runs = answered(generator, wanted, BETTER), answered(generator, wanted, MIDDLE)
        found = paired_difference(*runs, FIGURES["f1"], resamples=RESAMPLES, permutations=1, seed=number).interval
        held += found.low <= true["f1"] <= found.high
        rulings[rule(found, -true["f1"])] += 1
        detectable.append(smallest_detectable(found))
    assert 0.93 <= held / SETS <= 0.97
    assert rulings["pass"] / SETS <= 0.04  # .025 and three standard errors
    assert rulings["fail"] / SETS <= 0.04
    assert sum(rulings.values()) == SETS
    assert 0.02 < np.median(detectable) < 0.3


@pytest.mark.parametrize("same", [True, False])
def test_permutations_cry_wolf_in_one_of_twenty(same):
    """Two runs of one quality: p is at most .05 in about 5% of sets; where half the conversations come out alike, in no more."""
    generator, false = np.random.default_rng(3 + same), 0
    sets = 1000
    for number in range(sets):
        wanted = asked(generator, SIZE)
        first, second = answered(generator, wanted, MIDDLE), answered(generator, wanted, MIDDLE)
        if same:
            second = np.where(generator.random((SIZE, 1)) < 0.5, first, second)
        found = paired_difference(first, second, FIGURES["f1"], resamples=1, permutations=400, seed=number)
        false += found.p <= 0.05
    assert 0.029 <= false / sets <= 0.071  # .05 and three standard errors


def test_a_detectable_effect_is_detected_as_often_as_its_power_says():
    """The effect that one large simulation calls detectable with a chance of .8 is found significant about so often."""
    generator, found = np.random.default_rng(6), []
    for number in range(300):
        wanted = asked(generator, SIZE)
        runs = answered(generator, wanted, MIDDLE), answered(generator, wanted, MIDDLE)
        found.append(
            smallest_detectable(paired_difference(*runs, FIGURES["recall"], resamples=RESAMPLES, permutations=1, seed=number).interval)
        )
    effect = float(np.median(found))
    stronger = (MIDDLE[0] + effect, *MIDDLE[1:])
    seen = 0
    for number in range(300):
        wanted = asked(generator, SIZE)
        runs = answered(generator, wanted, MIDDLE), answered(generator, wanted, stronger)
        interval = paired_difference(*runs, FIGURES["recall"], resamples=RESAMPLES, permutations=1, seed=number).interval
        seen += interval.low > 0
    assert 0.7 <= seen / 300 <= 0.9

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from evals.stats import WeightedAuroc, cluster_bootstrap_items
from evals.stats.figures import Floats, Support
from evals.stats.resampling import weight_chunks


def test_area_by_hand() -> None:
    """Of 2 x 3 pairs one is tied and four are won: 4.5 / 6."""
    statistic = WeightedAuroc([0.9, 0.4, 0.4, 0.1, 0.6], [1, 1, 0, 0, 0], [0, 1, 2, 3, 4])
    assert statistic(np.ones((1, 5))) == pytest.approx([4.5 / 6])
    assert statistic(np.array([[1, 1, 1, 1, 0], [0, 2, 1, 0, 0], [1, 0, 0, 0, 3.0]])) == pytest.approx([3.5 / 4, 0.5, 1.0])


def test_no_area_without_both_classes() -> None:
    statistic = WeightedAuroc([0.9, 0.4], [1, 0], [0, 1])
    assert np.isnan(statistic(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]))).all()
    assert np.isnan(WeightedAuroc([0.9, 0.4], [1, 1], [0, 1])(np.ones((2, 2)))).all()
    assert np.isnan(WeightedAuroc([], [], [])(np.ones((2, 2)))).all()


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(2, 12))
def test_weights_are_repeated_items_of_scikit_learn(seed: int, conversations: int, levels: int) -> None:
    generator = np.random.default_rng(seed)
    owner = np.repeat(np.arange(conversations), generator.integers(0, 5, conversations))
    label = generator.random(len(owner)) < 0.4
    score = generator.integers(0, levels, len(owner)) / levels
    (weights,) = weight_chunks(conversations, 5, seed=seed, chunk=5)
    for row, ours in zip(weights, WeightedAuroc(score, label, owner)(weights), strict=True):
        times = row[owner].astype(int)
        repeated = np.repeat(label, times)
        if repeated.any() and not repeated.all():
            assert ours == pytest.approx(roc_auc_score(repeated, np.repeat(score, times)))
        else:
            assert np.isnan(ours)


@pytest.mark.parametrize(
    ("labels", "owners", "expected"),
    [
        ([1, 0, 1, 0], [0, 0, 1, 1], Support(2, 1.0)),  # two conversations make one pair
        ([1, 0, 0, 0], [0, 1, 2, 3], Support(1, 1.0)),
        ([1, 1, 0, 0], [0, 1, 2, 3], Support(2, 2.0)),
        ([1, 1, 1, 1], [0, 1, 2, 3], Support(0, 0.0)),
    ],
)
def test_support_counts_disjoint_pairs(labels: list[int], owners: list[int], expected: Support) -> None:
    assert WeightedAuroc([0.1, 0.2, 0.3, 0.4], labels, owners).support() == expected


def separated(conversations: int) -> WeightedAuroc:
    owner = np.repeat(np.arange(conversations), 2)
    label = np.tile([True, False], conversations)
    return WeightedAuroc(np.where(label, 0.9, 0.1), label, owner)


def test_a_perfect_area_is_not_certain() -> None:
    found = cluster_bootstrap_items({"AUROC": separated(24)}, 24, resamples=200, seed=0)["AUROC"]
    assert (found.value, found.high, found.method) == (1.0, 1.0, "boundary")
    assert found.low == pytest.approx(0.05 ** (1 / 12))


def test_a_constant_score_is_a_coin_and_not_certain() -> None:
    owner = np.arange(40)
    found = cluster_bootstrap_items({"AUROC": WeightedAuroc(np.full(40, 0.5), owner % 2, owner)}, 40, resamples=200, seed=0)["AUROC"]
    assert found.value == 0.5
    assert found.low == pytest.approx(0.5 * 0.05 ** (1 / 20))


def test_conversations_of_the_rarer_class_are_counted() -> None:
    generator = np.random.default_rng(0)
    label = np.arange(60) % 10 == 0
    found = cluster_bootstrap_items({"AUROC": WeightedAuroc(generator.random(60), label, np.arange(60))}, 60, resamples=400, seed=0)
    assert (found["AUROC"].conversations, found["AUROC"].few) == (6, True)
    assert found["AUROC"].method == "bootstrap"


@pytest.mark.parametrize(
    ("scores", "labels", "owners", "word"),
    [
        ([0.1], [1, 0], [0, 1], "equally long"),
        ([0.1, np.nan], [1, 0], [0, 1], "finite"),
        ([0.1, 0.2], [1, 2], [0, 1], "0 or 1"),
        ([0.1, 0.2], [1, 0], [0, -1], "0 up"),
        ([0.1, 0.2], [1, 0], [0, 0.5], "whole"),
    ],
)
def test_what_cannot_be_scored_is_refused(scores: Floats, labels: list[int], owners: list[int], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        WeightedAuroc(scores, labels, owners)

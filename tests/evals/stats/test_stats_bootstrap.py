import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evals.stats import HarmonicMean, Proportion, WeightedAuroc, cluster_bootstrap, cluster_bootstrap_items
from evals.stats.figures import Figure, Floats

F1 = Proportion(lambda c: 2 * c[..., 0], lambda c: 2 * c[..., 0] + c[..., 1] + c[..., 2])
PRECISION = Proportion(lambda c: c[..., 0], lambda c: c[..., 0] + c[..., 1])
SPECIFICITY = Proportion(lambda c: c[..., 4], lambda c: c[..., 3])
BALANCED = HarmonicMean(F1, SPECIFICITY)
FIGURES: dict[str, Figure] = {"F1": F1, "precision": PRECISION, "specificity": SPECIFICITY, "balanced": BALANCED}


def made_up(conversations: int = 20, seed: int = 0) -> Floats:
    generator = np.random.default_rng(seed)
    counts = generator.poisson((2, 1, 2, 1, 0), (conversations, 5)).astype(float)
    counts[:, 4] = generator.binomial(counts[:, 3].astype(int), 0.6)
    return counts


def test_a_figure_does_not_depend_on_the_others() -> None:
    together = cluster_bootstrap(made_up(), FIGURES, resamples=300, seed=7)
    assert list(together) == list(FIGURES)
    for name, figure in FIGURES.items():
        assert cluster_bootstrap(made_up(), {"alone": figure}, resamples=300, seed=7)["alone"] == together[name]
    assert cluster_bootstrap(made_up(), FIGURES, resamples=300, seed=8) != together


def test_a_figure_that_is_any_function() -> None:
    found = cluster_bootstrap(made_up(), {"hits": lambda totals: totals[..., 0] / 20}, resamples=500, seed=1)["hits"]
    assert found.method == "bootstrap"
    assert found.conversations == 20
    assert found.low is not None
    assert found.high is not None
    assert found.value is not None
    assert found.low < found.value < found.high


def test_width_is_that_of_the_theory() -> None:
    """For 400 conversations of one item each the interval is the textbook one, p +- 1.96 sqrt(p (1 - p) / n)."""
    counts = np.zeros((400, 2))
    counts[:, 1], counts[:160, 0] = 1, 1
    proportion = Proportion(lambda c: c[..., 0], lambda c: c[..., 1])
    found = cluster_bootstrap(counts, {"share": proportion}, resamples=4000, seed=3)["share"]
    assert found.value == pytest.approx(0.4)
    assert (found.low, found.high) == pytest.approx((0.4 - 0.048, 0.4 + 0.048), abs=0.004)


def test_items_of_one_conversation_are_no_new_evidence() -> None:
    counts = made_up()
    once = cluster_bootstrap(counts, FIGURES, resamples=400, seed=2)
    assert cluster_bootstrap(counts * 3, FIGURES, resamples=400, seed=2) == once


@pytest.mark.parametrize(
    ("row", "value", "low", "high"),
    [([0, 2, 0], 0.0, 0.0, 1 - 0.05 ** (1 / 12)), ([3, 0, 0], 1.0, 0.05 ** (1 / 12), 1.0)],
)
def test_agreement_of_all_conversations_is_no_certainty(row: list[float], value: float, low: float, high: float) -> None:
    counts = np.array([[*row, 0, 0]] * 12, dtype=float)
    found = cluster_bootstrap(counts, {"precision": PRECISION}, resamples=200, seed=0)["precision"]
    assert (found.value, found.low, found.high) == pytest.approx((value, low, high))
    assert (found.method, found.conversations, found.few) == ("boundary", 12, True)


def test_unequal_conversations_are_worth_less() -> None:
    counts = np.array([[0, 20, 0, 0, 0]] + [[0, 1, 0, 0, 0]] * 11, dtype=float)
    found = cluster_bootstrap(counts, {"precision": PRECISION}, resamples=200, seed=0)["precision"]
    assert found.high == pytest.approx(1 - 0.05 ** (411 / 31**2))


def test_any_other_function_has_no_bounds_where_all_agree() -> None:
    found = cluster_bootstrap(np.ones((12, 1)), {"mean": lambda totals: totals[..., 0] / 12}, resamples=50, seed=0)["mean"]
    assert (found.value, found.low, found.high, found.method) == (1.0, None, None, "none")


def test_balanced_score_knows_that_twelve_of_twelve_is_not_certain() -> None:
    counts = made_up(12)
    counts[:, 3] = counts[:, 4] = 1
    found = cluster_bootstrap(counts, FIGURES, resamples=500, seed=0)
    assert found["specificity"].method == found["balanced"].method == "boundary"
    bare = cluster_bootstrap(counts, {"bare": BALANCED.__call__}, resamples=500, seed=0)["bare"]
    assert bare.low is not None
    assert found["balanced"].low is not None
    assert found["balanced"].low < bare.low
    assert found["balanced"].high == pytest.approx(bare.high)


def test_balanced_score_of_silence_is_not_certainly_nothing() -> None:
    counts = np.array([[0, 0, 2, 1, 1]] * 12, dtype=float)
    found = cluster_bootstrap(counts, FIGURES, resamples=100, seed=0)["balanced"]
    hidden = 1 - 0.05 ** (1 / 12)
    assert (found.value, found.low) == (0.0, 0.0)
    assert found.high == pytest.approx(2 * hidden / (1 + hidden))


def test_undefined_figures() -> None:
    found = cluster_bootstrap(np.zeros((5, 5)), FIGURES, resamples=50, seed=0)
    for interval in found.values():
        assert (interval.value, interval.low, interval.high, interval.undefined) == (None, None, None, 1.0)
        assert (interval.conversations, interval.method) == (0, "none")


def test_no_conversation_at_all() -> None:
    for interval in cluster_bootstrap(np.zeros((0, 5)), FIGURES, resamples=50, seed=0).values():
        assert (interval.value, interval.low, interval.conversations, interval.undefined) == (None, None, 0, 0.0)
    empty = cluster_bootstrap_items({"AUROC": WeightedAuroc([], [], [])}, 0, resamples=50, seed=0)["AUROC"]
    assert (empty.value, empty.low, empty.undefined) == (None, None, 0.0)


def test_a_figure_that_rests_on_few_conversations_says_so() -> None:
    counts = made_up(40)
    counts[1:, 3:] = 0
    counts[0, 3:] = (2, 1)
    found = cluster_bootstrap(counts, FIGURES, resamples=500, seed=0)["specificity"]
    assert (found.conversations, found.few) == (1, True)
    assert found.undefined == pytest.approx((39 / 40) ** 40, abs=0.06)
    assert found.often_undefined
    assert (found.low, found.high) == pytest.approx((0.05 * 0.5, 0.05 * 0.5 + 0.95))


@settings(deadline=None)
@given(arrays(np.float64, (6, 5), elements=st.integers(0, 4).map(float)), st.integers(0, 100))
def test_bounds_lie_in_the_range_around_the_value(counts: Floats, seed: int) -> None:
    counts[:, 4] = np.minimum(counts[:, 3], counts[:, 4])
    for found in cluster_bootstrap(counts, FIGURES, resamples=60, seed=seed).values():
        assert 0 <= found.undefined <= 1
        if found.value is None:
            assert (found.low, found.high, found.method) == (None, None, "none")
        elif found.low is not None and found.high is not None:
            assert -1e-12 <= found.low <= found.value + 1e-12
            assert found.value - 1e-12 <= found.high <= 1 + 1e-12


def test_items_see_the_resamples_of_the_counts() -> None:
    counts = made_up()

    def hits(weights: Floats) -> Floats:
        return (weights @ counts)[:, 0] / 20

    items = cluster_bootstrap_items({"hits": hits}, 20, resamples=300, seed=4)["hits"]
    assert items == cluster_bootstrap(counts, {"hits": lambda totals: totals[..., 0] / 20}, resamples=300, seed=4)["hits"]


@pytest.mark.parametrize(
    ("counts", "word"), [(np.ones(3), "shape"), (np.array([[np.nan, 1.0]]), "finite"), (np.array([[np.inf, 1.0]]), "finite")]
)
def test_what_is_no_array_of_counts_is_refused(counts: Floats, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        cluster_bootstrap(counts, {}, resamples=10, seed=0)


def test_functions_of_the_wrong_shape_are_named() -> None:
    with pytest.raises(ValueError, match="'total'"):
        cluster_bootstrap(np.ones((3, 2)), {"total": lambda totals: totals}, resamples=10, seed=0)
    with pytest.raises(ValueError, match="'same'"):
        cluster_bootstrap_items({"same": lambda weights: weights}, 3, resamples=10, seed=0)


@pytest.fixture
def simulation(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "interval_coverage.py"
    spec = importlib.util.spec_from_file_location("interval_coverage", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # a dataclass looks its module up there
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("quality", ["low", "high"])
def test_intervals_of_twelve_conversations_hold_the_truth(simulation: ModuleType, quality: str) -> None:
    """A small, seeded piece of tests/benchmarks/interval_coverage.py; the whole table is in evals/stats/interval.py."""
    tally = simulation.cover_figures(simulation.QUALITIES[quality], 12, 100, 400)
    for name in simulation.FIGURES:
        assert tally.coverage("evals.stats", name) >= 0.9
        assert tally.coverage("evals.stats", name) > tally.coverage("percentile", name)


def test_intervals_of_differences_hold_the_truth(simulation: ModuleType) -> None:
    quality = simulation.QUALITIES["middle"]
    tally = simulation.cover_differences(quality, quality, 12, 100, 400)
    for name in simulation.FIGURES:
        assert tally.coverage("difference", name) >= 0.9

import math

import numpy as np
import pytest
from scipy import stats

from evals.stats.figures import Floats, Support
from evals.stats.interval import Interval, Resampled, bca_bounds, boundary_bounds, make_interval, spread_quantile
from evals.stats.resampling import resampled_totals


def ratio(sums: Floats) -> Floats:
    return sums[..., 0] / sums[..., 1]


def skewed(conversations: int) -> Floats:
    generator = np.random.default_rng(11)
    sizes = 1 + generator.poisson(generator.gamma(0.8, 4.0, conversations))
    return np.stack([generator.binomial(sizes, generator.beta(1, 3, conversations)), sizes], axis=1).astype(float)


def test_bca_agrees_with_scipy() -> None:
    counts = skewed(25)
    totals = counts.sum(axis=0)
    resampled = Resampled(float(ratio(totals)), ratio(resampled_totals(counts, 40_000, seed=1)), ratio(totals - counts))
    theirs = stats.bootstrap(
        (np.arange(25),),
        lambda index, axis: ratio(counts[index].sum(axis=-2)),  # the counts stand behind the axis of conversations
        n_resamples=40_000,
        vectorized=True,
        method="BCa",
        batch=2000,
        rng=np.random.default_rng(2),
    ).confidence_interval
    assert bca_bounds(resampled, stats.norm.ppf(0.975)) == pytest.approx((theirs.low, theirs.high), abs=0.004)


def test_percentiles_of_resamples_agree_with_scipy() -> None:
    counts = skewed(25)
    ours = np.quantile(ratio(resampled_totals(counts, 40_000, seed=1)), [0.025, 0.975])
    theirs = stats.bootstrap(
        (np.arange(25),),
        lambda index, axis: ratio(counts[index].sum(axis=-2)),  # the counts stand behind the axis of conversations
        n_resamples=40_000,
        vectorized=True,
        method="percentile",
        batch=2000,
        rng=np.random.default_rng(2),
    ).confidence_interval
    assert tuple(ours) == pytest.approx((theirs.low, theirs.high), abs=0.004)


@pytest.mark.parametrize(("conversations", "expected"), [(2, math.sqrt(2) * 12.7062), (12, math.sqrt(12 / 11) * 2.20099), (10**7, 1.95996)])
def test_spread_follows_the_table_of_t(conversations: int, expected: float) -> None:
    assert spread_quantile(conversations, 0.95) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("n", [1, 5, 12, 60])
def test_boundary_is_one_sided_clopper_pearson(n: int) -> None:
    none, every = boundary_bounds(0.0, Support(n, n), 0.95), boundary_bounds(1.0, Support(n, n), 0.95)
    theirs = stats.binomtest(0, n, alternative="less").proportion_ci(0.95, method="exact")
    assert none == pytest.approx((0.0, theirs.high))
    assert every == pytest.approx((1 - theirs.high, 1.0))


def test_boundary_comes_near_three_over_n() -> None:
    bounds = boundary_bounds(0.0, Support(100, 100), 0.95)
    assert bounds is not None
    assert bounds[1] == pytest.approx(0.03, abs=0.001)


def test_agreement_in_the_middle_is_no_certainty() -> None:
    unlike = 1 - 0.05 ** (1 / 12)  # .2209
    assert boundary_bounds(0.5, Support(12, 12), 0.95) == pytest.approx((0.5 - unlike / 2, 0.5 + unlike / 2))
    assert boundary_bounds(0.0, Support(12, 12, -1, 1), 0.95) == pytest.approx((-unlike, unlike))


@pytest.mark.parametrize(("value", "units"), [(0.0, 0.0), (2.0, 12.0), (-0.5, 12.0)])
def test_no_boundary_without_evidence_or_range(value: float, units: float) -> None:
    assert boundary_bounds(value, Support(12, units), 0.95) is None


def test_undefined_resamples_are_left_out_and_counted() -> None:
    draws = np.array([np.nan] * 6 + [0.4, 0.5, 0.5, 0.6] * 25)
    found = make_interval(Resampled(0.5, draws, np.array([0.4, 0.5, 0.6])), None, conversations=40, level=0.95)
    assert found.undefined == pytest.approx(6 / 106)
    assert found.often_undefined
    assert not found.few
    assert (found.low, found.high) == (0.4, 0.6)


def test_an_undefined_figure_has_no_bounds() -> None:
    found = make_interval(Resampled(math.nan, np.full(9, np.nan), np.empty(0)), None, conversations=3, level=0.95)
    assert found == Interval(value=None, low=None, high=None, conversations=3, undefined=1.0, method="none")
    assert found.few


@pytest.mark.parametrize("left_out", [[0.5, 0.5, 0.5], [], [np.nan]])
def test_no_influence_means_no_acceleration(left_out: list[float]) -> None:
    low, high = bca_bounds(Resampled(0.5, np.linspace(0, 1, 1001), np.array(left_out)), 1.96)
    assert (low, high) == pytest.approx((0.025, 0.975), abs=1e-3)


def test_bounds_always_hold_the_value() -> None:
    low, high = bca_bounds(Resampled(0.9, np.linspace(0.1, 0.5, 100), np.array([0.5, 0.5, 0.9])), 1.96)
    assert low <= 0.9 <= high

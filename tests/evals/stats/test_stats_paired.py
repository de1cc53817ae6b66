import itertools

import numpy as np
import pytest
from scipy import stats

from evals.stats import HarmonicMean, Proportion, paired_difference
from evals.stats.figures import Floats

SHARE = Proportion(lambda c: c[..., 0], lambda c: c[..., 1])


def mean(totals: Floats) -> Floats:
    return totals[..., 0] / totals[..., 1]


def runs(conversations: int = 12, gain: float = 0.25) -> tuple[Floats, Floats]:
    generator = np.random.default_rng(3)
    size = generator.integers(2, 7, conversations)
    base = np.stack([generator.binomial(size, 0.4), size], axis=1).astype(float)
    new = np.stack([generator.binomial(size, 0.4 + gain), size], axis=1).astype(float)
    return base, new


def test_difference_is_new_minus_base_and_turns_round() -> None:
    base, new = runs()
    there, back = (paired_difference(*pair, SHARE, resamples=500, permutations=500, seed=1) for pair in ((base, new), (new, base)))
    assert there.interval.value == pytest.approx(float(mean(new.sum(axis=0)) - mean(base.sum(axis=0))))
    assert back.interval.value == pytest.approx(-(there.interval.value or 0))
    assert back.p == pytest.approx(there.p)
    assert there.interval.low is not None
    assert there.interval.high is not None
    assert back.interval.low == pytest.approx(-there.interval.high, abs=0.01)


def test_p_agrees_with_all_swaps() -> None:
    """Nine conversations have 512 swaps, few enough to go through."""
    base, new = runs(9)
    seen = abs(float(mean(new.sum(axis=0)) - mean(base.sum(axis=0))))
    reached = 0
    for swaps in itertools.product([False, True], repeat=9):
        swap = np.array(swaps)[:, None]
        one, other = np.where(swap, new, base).sum(axis=0), np.where(swap, base, new).sum(axis=0)
        reached += abs(float(mean(other) - mean(one))) >= seen - 1e-12
    found = paired_difference(base, new, SHARE, resamples=10, permutations=40_000, seed=1)
    assert found.p == pytest.approx(reached / 512, abs=0.01)


def test_p_agrees_with_scipy() -> None:
    base, new = runs(30)
    base[:, 1] = new[:, 1] = 1  # the figure is then the mean of the paired values
    theirs = stats.permutation_test(
        (new[:, 0], base[:, 0]),
        lambda first, second, axis: np.mean(first - second, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=20_000,
        rng=np.random.default_rng(0),
    ).pvalue
    found = paired_difference(base, new, lambda c: c[..., 0] / 30, resamples=10, permutations=20_000, seed=1)
    assert found.p == pytest.approx(theirs, abs=0.01)


def test_pairing_makes_the_interval_narrower() -> None:
    generator = np.random.default_rng(5)
    size = np.full(40, 10.0)
    hits = generator.choice([1.0, 9.0], 40)
    base = np.stack([hits, size], axis=1)
    new = np.stack([hits + generator.choice([0.0, 1.0], 40), size], axis=1)
    paired = paired_difference(base, new, SHARE, resamples=1000, permutations=10, seed=0).interval
    shuffled = paired_difference(base, new[generator.permutation(40)], SHARE, resamples=1000, permutations=10, seed=0).interval
    assert paired.low is not None
    assert paired.high is not None
    assert shuffled.low is not None
    assert shuffled.high is not None
    assert (paired.high - paired.low) * 4 < shuffled.high - shuffled.low


@pytest.mark.parametrize("figure", [SHARE, HarmonicMean(SHARE, SHARE)])
def test_equal_runs_are_not_certainly_equal_elsewhere(figure: Proportion | HarmonicMean) -> None:
    base = np.tile([1.0, 2.0], (12, 1))
    found = paired_difference(base, base.copy(), figure, resamples=100, permutations=100, seed=0)
    hidden = 1 - 0.05 ** (1 / 12)
    assert (found.interval.value, found.p, found.interval.method) == (0.0, 1.0, "boundary")
    assert (found.interval.low, found.interval.high) == pytest.approx((-hidden, hidden))


def test_p_is_never_zero() -> None:
    base, new = np.tile([0.0, 1.0], (50, 1)), np.tile([1.0, 1.0], (50, 1))
    found = paired_difference(base, new, SHARE, resamples=100, permutations=99, seed=0)
    assert found.interval.value == 1.0
    assert found.p == pytest.approx(0.01)


def test_undefined_on_one_side_is_undefined() -> None:
    base, new = runs()
    base[:, 1] = 0
    found = paired_difference(base, new, SHARE, resamples=100, permutations=100, seed=0)
    assert (found.interval.value, found.interval.low, found.p) == (None, None, None)


def test_runs_must_hold_the_same_conversations() -> None:
    with pytest.raises(ValueError, match="same conversations"):
        paired_difference(np.ones((3, 2)), np.ones((4, 2)), SHARE, seed=0)

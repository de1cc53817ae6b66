import numpy as np
import pytest

from evals.stats import HarmonicMean, Proportion
from evals.stats.figures import Support, effective_units, support_of

F1 = Proportion(lambda c: 2 * c[..., 0], lambda c: 2 * c[..., 0] + c[..., 1] + c[..., 2])
SPECIFICITY = Proportion(lambda c: c[..., 4], lambda c: c[..., 3])
BALANCED = HarmonicMean(F1, SPECIFICITY)


@pytest.mark.parametrize(
    ("totals", "f1", "specificity", "balanced"),
    [
        ([6, 2, 4, 10, 5], 12 / 18, 0.5, 2 * (12 / 18) * 0.5 / (12 / 18 + 0.5)),
        ([0, 0, 3, 2, 2], 0.0, 1.0, 0.0),  # silence where memories were due
        ([0, 1, 3, 2, 0], 0.0, 0.0, 0.0),
        ([0, 0, 0, 2, 1], None, 0.5, None),  # nothing due, nothing predicted
        ([1, 0, 0, 0, 0], 1.0, None, None),
    ],
)
def test_figures_by_hand(totals: list[float], f1: float | None, specificity: float | None, balanced: float | None) -> None:
    sums = np.array([totals], dtype=float)
    for figure, expected in ((F1, f1), (SPECIFICITY, specificity), (BALANCED, balanced)):
        assert figure(sums)[0] == pytest.approx(np.nan if expected is None else expected, nan_ok=True)


def test_figures_keep_the_leading_shape() -> None:
    assert BALANCED(np.ones((3, 4, 5))).shape == (3, 4)


def test_effective_units_by_hand() -> None:
    assert effective_units(np.array([2.0, 2.0, 2.0, 0.0])) == 3
    assert effective_units(np.array([3.0, 1.0])) == pytest.approx(16 / 10)
    assert effective_units(np.zeros(4)) == 0


def test_support_is_that_of_the_weaker_part() -> None:
    counts = np.array([[1, 0, 1, 1, 1], [0, 0, 2, 0, 0], [1, 1, 0, 0, 0]], dtype=float)
    assert F1.support(counts).conversations == 3
    assert BALANCED.support(counts) == Support(1, 1.0)
    assert support_of(lambda totals: totals[..., 0], counts) is None

import numpy as np
import pytest

from evals.metrics.counted import Counted

COUNTED = Counted(["a", "b", "c"])


def test_rows_and_totals():
    row = COUNTED.row({"c": 3, "a": 1})
    assert row.tolist() == [1, 0, 3]
    assert COUNTED.total("a", "c", "c")(row) == 7
    assert COUNTED.total("a")(np.stack([row, row * 2])).tolist() == [1, 2]


def test_an_unknown_count_is_an_error():
    with pytest.raises(KeyError):
        COUNTED.row({"d": 1})


def test_shares_and_means_are_undefined_without_a_denominator():
    rows = np.array([[1.0, 4, 0], [0, 0, 5], [6, 4, 0]])
    assert COUNTED.rate("a", "b")(rows[:1]).tolist() == [0.25]
    assert COUNTED.mean("a", "b")(rows)[[0, 2]].tolist() == [0.25, 1.5]
    assert np.isnan(COUNTED.mean("a", "b")(rows)[1])
    assert np.isnan(COUNTED.rate("a", "b")(rows)[1])
    assert COUNTED.mean("c", "b")(rows.sum(axis=0)) == 5 / 8

import itertools

import numpy as np
import pytest

from evals.stats.resampling import check_draws, leave_one_out_chunks, resampled_totals, rows_per_chunk, weight_chunks


def test_rows_of_weights_are_whole_and_sum_to_the_conversations() -> None:
    weights = np.concatenate(list(weight_chunks(7, 50, seed=1, chunk=8)))
    assert weights.shape == (50, 7)
    assert (weights == weights.round()).all()
    assert (weights.sum(axis=1) == 7).all()


def test_a_weight_is_binomial() -> None:
    weights = np.concatenate(list(weight_chunks(10, 20_000, seed=5, chunk=1000)))
    assert weights.mean() == pytest.approx(1.0)
    assert weights[:, 3].var() == pytest.approx(10 * 0.1 * 0.9, rel=0.05)
    assert (weights[:, 3] == 0).mean() == pytest.approx(0.9**10, abs=0.01)


@pytest.mark.parametrize("chunk", [1, 7, 64, 1000])
def test_chunks_change_nothing(chunk: int) -> None:
    counts = np.random.default_rng(0).integers(0, 9, (13, 4)).astype(float)
    whole = resampled_totals(counts, 100, seed=3)
    assert np.array_equal(whole, resampled_totals(counts, 100, seed=3, chunk=chunk))
    assert not np.array_equal(whole, resampled_totals(counts, 100, seed=4))


@pytest.mark.parametrize("conversations", [1, 3, 1001, 10_000])
def test_work_arrays_stay_small(conversations: int) -> None:
    assert 1 <= rows_per_chunk(conversations) <= 1000
    assert rows_per_chunk(conversations) * conversations <= 4_000_000
    assert rows_per_chunk(10**9) == 1


def test_leave_one_out_leaves_out_each_once() -> None:
    rows = list(itertools.chain.from_iterable(leave_one_out_chunks(5, chunk=2)))
    assert np.array_equal(np.array(rows), 1 - np.eye(5))


@pytest.mark.parametrize(
    ("arguments", "word"), [((-1, 10), "conversations"), ((3, 0), "resamples"), ((3, 10, 1.0), "level"), ((3, 10, 95), "level")]
)
def test_numbers_out_of_range_are_refused(arguments: tuple[int, int], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        check_draws(*arguments)

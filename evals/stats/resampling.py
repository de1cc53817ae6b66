"""Resamples of whole conversations as rows of integer weights. What is computed from them is not decided here.

A resample of n conversations drawn with replacement is a row of n weights that sum to n (the bootstrap's multinomial weights), so
that the sums of all resamples are one matrix product. The draws come one row after the other from one generator: the same seed
and n give the same rows whatever the size of the chunks, and whatever is computed from them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from evals.stats.figures import Floats

MAX_ROWS = 1000
"""Rows of a chunk at the most; more gain nothing."""
MAX_CELLS = 125_000
"""Cells of a chunk at the most, so that memory stays flat: 1 MB an array."""


def rows_per_chunk(columns: int) -> int:
    """Return how many rows of so many columns to work on at once; 1 to `MAX_ROWS`."""
    return max(1, min(MAX_ROWS, MAX_CELLS // max(1, columns)))


def check_draws(conversations: int, draws: int, level: float = 0.95) -> None:
    """Raise unless the numbers can describe a resampling.

    Raises:
        ValueError: Negative `conversations`, fewer than 1 `draws`, or a `level` not strictly between 0 and 1.
    """
    if conversations < 0:
        raise ValueError(f"conversations must be 0 or more, got {conversations}")
    if draws < 1:
        raise ValueError(f"the number of resamples or permutations must be 1 or more, got {draws}")
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, such as 0.95, got {level}")


def weight_chunks(conversations: int, resamples: int, *, seed: int, chunk: int) -> Iterator[Floats]:
    """Yield the weights of all resamples, in chunks of rows.

    Args:
        conversations: Conversations to draw from, and draws a resample; 1 or more.
        resamples: Rows in all.
        seed: Of the generator.
        chunk: Rows at a time; changes nothing but the memory used.

    Yields:
        Arrays (rows, conversations) of whole numbers; each row sums to `conversations`.
    """
    generator = np.random.default_rng(seed)
    for start in range(0, resamples, chunk):
        rows = min(chunk, resamples - start)
        drawn = generator.integers(0, conversations, size=(rows, conversations))
        drawn += np.arange(rows)[:, None] * conversations
        counted = np.bincount(drawn.ravel(), minlength=rows * conversations)
        yield counted.reshape(rows, conversations).astype(np.float64)


def resampled_totals(counts: Floats, resamples: int, *, seed: int, chunk: int | None = None) -> Floats:
    """Return the summed counts of each resample.

    For whole-number counts the sums are exact, so that they do not depend on `chunk` in any digit.

    Args:
        counts: Counts a conversation, (conversations, k); without a conversation there is no resample.
        resamples: How many.
        seed: Of the generator.
        chunk: Rows at a time; None chooses by memory.

    Returns:
        An array (resamples, k).
    """
    conversations = len(counts)
    if not conversations:
        return np.empty((0, counts.shape[1]))
    size = chunk or rows_per_chunk(conversations)
    return np.concatenate([weights @ counts for weights in weight_chunks(conversations, resamples, seed=seed, chunk=size)])


def leave_one_out_chunks(conversations: int, *, chunk: int) -> Iterator[Floats]:
    """Yield weights that leave out one conversation each, in chunks of rows; `conversations` rows in all."""
    for start in range(0, conversations, chunk):
        rows = min(chunk, conversations - start)
        weights = np.ones((rows, conversations))
        weights[np.arange(rows), start + np.arange(rows)] = 0.0
        yield weights

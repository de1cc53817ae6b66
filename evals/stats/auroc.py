"""The area under the ROC curve as a function of conversation weights. Not additive over conversations, so apart from figures.

AUROC is the chance that a positive item has a higher score than a negative one, ties counting half (Mann-Whitney; Hanley and
McNeil 1982, Radiology 143:29). Scores are sorted once; under new weights an area is then one cumulative sum over the different
scores, so that many resamples are computed at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals.stats.figures import Floats, Support


class WeightedAuroc:
    """AUROC of scored items that belong to conversations, for any weights of the conversations.

    Attributes:
        width: How many different scores there are; the columns of the work arrays.
    """

    def __init__(
        self, scores: Sequence[float] | Floats, labels: Sequence[int] | NDArray[Any], conversation: Sequence[int] | NDArray[Any]
    ) -> None:
        """Sum the items by score and conversation.

        Args:
            scores: One finite number an item; higher means more likely positive.
            labels: Whether the item is positive (True or 1) or negative (False or 0).
            conversation: Which conversation the item belongs to, an index from 0.

        Raises:
            ValueError: The three differ in length, a score is not finite, a label is neither 0 nor 1, or an index is not a whole
                number from 0 up.
        """
        score, label, owner = np.asarray(scores, dtype=np.float64), np.asarray(labels), np.asarray(conversation)
        if not score.shape == label.shape == owner.shape or score.ndim != 1:
            raise ValueError(f"scores, labels and conversation must be equally long, got {score.shape}, {label.shape}, {owner.shape}")
        if not np.isfinite(score).all() or not np.isin(label, (0, 1)).all() or (owner != owner.astype(np.intp)).any() or (owner < 0).any():
            raise ValueError("scores must be finite, labels 0 or 1, and conversation indices whole numbers from 0 up")
        levels, self._level = np.unique(score, return_inverse=True)
        self.width = len(levels)
        self._owner, self._positive = owner.astype(np.intp), label.astype(bool)

    def _by_level(self, chosen: NDArray[np.bool_], by_conversation: Floats) -> Floats:
        from scipy.sparse import csr_array  # scipy is slow to load

        cells = (np.ones(int(chosen.sum())), (self._level[chosen], self._owner[chosen]))
        summed = csr_array(cells, shape=(self.width, len(by_conversation))) @ by_conversation
        return np.asarray(summed, dtype=np.float64)

    def __call__(self, weights: Floats) -> Floats:
        """Return the areas under each row of weights.

        Args:
            weights: (rows, conversations), not negative; an item weighs what its conversation does.

        Returns:
            An array (rows,) of values from 0 to 1; NaN where no positive or no negative item has weight.
        """
        by_conversation = np.ascontiguousarray(weights.T)
        positives = self._by_level(self._positive, by_conversation)
        negatives = self._by_level(~self._positive, by_conversation)
        not_above = np.cumsum(negatives, axis=0)
        won = np.einsum("lr,lr->r", positives, not_above - negatives / 2)  # negatives of the same score are ties: half
        pairs = positives.sum(axis=0) * negatives.sum(axis=0)
        result = np.full(len(weights), np.nan)
        np.divide(won, pairs, out=result, where=pairs > 0)
        return result

    def support(self, _: object = None) -> Support:
        """Return what stands behind the area.

        `conversations` are those with an item of the rarer class. `units` are pairs of different conversations, one with a
        positive and one with a negative item, no conversation in two pairs: each is one independent trial of the area's event.
        """
        positives, negatives = np.unique(self._owner[self._positive]), np.unique(self._owner[~self._positive])
        rarer = min(len(positives), len(negatives))
        return Support(rarer, float(min(rarer, len(np.union1d(positives, negatives)) // 2)))

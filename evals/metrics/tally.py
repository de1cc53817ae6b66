"""Counts added up as cases come: by conversation, in total, and the items that AUROC needs. What a figure is, is not its business."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from evals.metrics.counts import COLUMNS

Floats = npt.NDArray[np.float64]


class Tally:
    """Sums rows of counts by conversation; a few hundred bytes a conversation, none a case.

    Args:
        conversations: How many there are at the most.
        columns: The names of the counts.
    """

    def __init__(self, conversations: int, columns: Sequence[str] = COLUMNS) -> None:
        self.columns = columns
        self._order: dict[str, int] = {}
        self._sums: Floats = np.zeros((conversations, len(columns)))
        self.salience = array("d")
        self.good = bytearray()
        self.owner = array("l")

    def add(self, conversation: str, row: Floats, items: Iterable[tuple[float, bool]]) -> None:
        """Add a case.

        Args:
            conversation: What it belongs to.
            row: Its counts, in the order of the columns.
            items: Of every candidate that is a required hit or a false positive: salience, and whether it is a hit.
        """
        place = self._order.setdefault(conversation, len(self._order))
        self._sums[place] += row
        for salience, good in items:
            self.salience.append(salience)
            self.good.append(good)
            self.owner.append(place)

    def place(self, conversation: str) -> int:
        """Return the number of a conversation of which a case was added."""
        return self._order[conversation]

    @property
    def by_conversation(self) -> Floats:
        """One row a conversation, in the order in which they first came."""
        return self._sums[: len(self._order)]

    @property
    def totals(self) -> Mapping[str, float]:
        """Every count over all cases, by name."""
        return dict(zip(self.columns, self.by_conversation.sum(axis=0).tolist(), strict=True))

    def __len__(self) -> int:
        """Return how many conversations there are."""
        return len(self._order)

"""Slices of a dataset: which a case belongs to, and the counts of each. What a figure is, and how it is shown, is not its business."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from evals.cases import Case
from evals.metrics.counts import COLUMNS
from evals.metrics.tally import Floats, Tally

BY = ("tag", "language", "length")
"""What cases can be sliced by."""
_LENGTHS = ((120, "under 120 characters"), (300, "120 to 299"), (1_000, "300 to 999"), (None, "1,000 and more"))
"""Characters of a case's `messages`, as models differ most between a line, a paragraph and a page."""


def slices_of(case: Case, by: str) -> Iterator[str]:
    """Yield the names of the slices that a case belongs to: each of its tags, its language, or its length.

    Args:
        case: The case.
        by: One of `BY`.
    """
    if by == "tag":
        yield from dict.fromkeys(case.tags)
    elif by == "language":
        yield case.language
    else:
        size = sum(len(message.get("content", "")) for message in case.messages)
        yield next(name for limit, name in _LENGTHS if limit is None or size < limit)


class SliceTallies:
    """Counts by slice.

    Args:
        by: What to slice by, each of `BY`.
        conversations: How many there are at the most.
        columns: The names of the counts.
    """

    def __init__(self, by: Sequence[str], conversations: int, columns: Sequence[str] = COLUMNS) -> None:
        self._conversations, self._columns = conversations, columns
        self._found: dict[str, dict[str, Tally]] = {one: {} for one in by}

    def add(self, case: Case, row: Floats, items: Iterable[tuple[float, bool]]) -> None:
        """Add a case to every slice that it belongs to; see `Tally.add`."""
        items = list(items)
        for by, tallies in self._found.items():
            for name in slices_of(case, by):
                tallies.setdefault(name, Tally(self._conversations, self._columns)).add(case.conversation, row, items)

    def all(self) -> Iterator[tuple[str, str, Tally]]:
        """Yield (by, name, counts): lengths from short to long, others with the most cases first."""
        order = {name: place for place, (_, name) in enumerate(_LENGTHS)}
        for by, tallies in self._found.items():
            sizes: Mapping[str, float] = {name: tally.totals["cases"] for name, tally in tallies.items()}
            for name in sorted(tallies, key=lambda one: (order[one],) if by == "length" else (-sizes[one], one)):
                yield by, name, tallies[name]

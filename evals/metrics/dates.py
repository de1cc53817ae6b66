"""Whether a matched memory carries the date that its gold is about. Read from the content; `date` of a candidate is when it was said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evals.cases import Memory
from evals.matching.canonical import canonicalise
from evals.matching.dates import find_dates, written_dates


def date_counts(hits: Sequence[tuple[str, str, Memory]]) -> tuple[int, int]:
    """Return (hits whose gold has an `event_date`, those whose content states it at least as precisely).

    Args:
        hits: Content, its language, and the gold memory that it matched.
    """
    dated = right = 0
    for content, language, gold in hits:
        if gold.event_date is None:
            continue
        dated += 1
        if _states(written_dates(content), gold.event_date):  # in digits, as nearly always
            right += 1
            continue
        right += _states(find_dates(canonicalise(content, language), language), gold.event_date)
    return dated, right


def _states(found: Iterable[str], wanted: str) -> bool:
    return any(date.startswith(wanted) for date in found)

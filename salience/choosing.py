"""What becomes of the items of a reply: completed from the turn and calibrated, and then chosen from under the options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from salience.calibration import CalibrationMap
from salience.types import Candidate, Dropped, ExtractOptions, Turn


def complete_items(
    items: Sequence[Candidate], turn: Turn, calibration: CalibrationMap | None, default_observed: str | None
) -> list[Candidate]:
    """Return the items with what they leave blank taken from their turn, and with calibrated salience."""
    found = [_with_provenance(item, turn, default_observed) for item in items]
    return found if calibration is None else [replace(one, salience=calibration(one.salience)) for one in found]


def _with_provenance(item: Candidate, turn: Turn, default_observed: str | None) -> Candidate:
    source, observed, date = item.source or turn.source, item.observed or turn.observed or default_observed, item.date or turn.date
    if not turn.meta and (source, observed, date) == (item.source, item.observed, item.date):
        return item
    return replace(item, source=source, observed=observed, date=date, meta={**(turn.meta or {}), **item.meta})


def choose(found: Sequence[Candidate], wanted: ExtractOptions) -> tuple[tuple[Candidate, ...], list[Dropped]]:
    """Apply the options: `min_salience`, a stable sort by salience, and `max_candidates`.

    Returns:
        What is kept, the most salient first, and what is left out, with the reason.
    """
    left_out = [Dropped("below min_salience", one.content[:200]) for one in found if one.salience < wanted.min_salience]
    kept = sorted((one for one in found if one.salience >= wanted.min_salience), key=lambda one: -one.salience)
    if wanted.max_candidates is not None:
        left_out += [Dropped("over max_candidates", one.content[:200]) for one in kept[wanted.max_candidates :]]
        del kept[wanted.max_candidates :]
    return tuple(kept), left_out

"""What became of each candidate of a turn that was put into a memory store: as values, as JSON, as text. Nothing is printed here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evals.cli.memory_text import Ids, block, counted, shown_id
from salience import Candidate
from salience.memory import Change, EnrichmentResult, StoredMemory

Kind = Literal["added", "updated", "retired", "known", "skipped"]
_KINDS: dict[str, Kind] = {"ADD": "added", "UPDATE": "updated", "DELETE": "retired", "NONE": "known"}

Before = Callable[[StoredMemory], StoredMemory | None]
"""Returns the version that one took the place of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one candidate.

    Attributes:
        kind: In one word. "retired" may have written something in the place of what it retired; "added" may have retired what the candidate
            said that it supersedes.
        candidate: The candidate.
        memory: What was written, or the memory that is known; None where there is none.
        before: Of an update: the version before.
        retired: The memories that are no longer live on account of it.
        distance: Of a near-duplicate: the cosine distance to `memory`.
        refused: Ids that were named without being a live memory that was offered.
        apart: What it is near to and says otherwise: (id, what differs).
        note: Why it was skipped, or is not simply what was decided; "" where there is nothing to say.
    """

    kind: Kind
    candidate: Candidate
    memory: StoredMemory | None = None
    before: StoredMemory | None = None
    retired: tuple[StoredMemory, ...] = ()
    distance: float | None = None
    refused: tuple[str, ...] = ()
    apart: tuple[tuple[str, str], ...] = ()
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as values for JSON; what is absent is left out."""
        values = {
            "memory": None if self.memory is None else self.memory.to_dict(),
            "before": None if self.before is None else self.before.to_dict(),
            "retired": [one.to_dict() for one in self.retired],
            "distance": self.distance,
            "refused": list(self.refused),
            "kept_apart": [{"id": memory_id, "difference": reason} for memory_id, reason in self.apart],
            "note": self.note,
        }
        told = {name: value for name, value in values.items() if value is not None and value not in ([], "")}
        return {"outcome": self.kind, "candidate": self.candidate.to_dict(), **told}


def outcomes(candidates: Sequence[Candidate], result: EnrichmentResult, threshold: float, before: Before) -> list[Outcome]:
    """Return what became of candidates, in their order.

    Args:
        candidates: What was given to `enrich`.
        result: What it returned.
        threshold: The least salience that was kept.
        before: Looks up what an update took the place of.
    """
    changes = iter(result.changes)
    reasons = iter(result.skipped[sum(one.salience < threshold for one in candidates) :])
    found = []
    for one in candidates:
        if one.salience < threshold:
            found.append(Outcome(kind="skipped", candidate=one, note=f"salience {one.salience:.2f} is below {threshold:.2f}"))
            continue
        change = next(changes)
        skipped = next(reasons) if change.action == "NONE" else None
        distance = None if skipped is None else skipped.distance
        apart = tuple((other, reason) for own, other, reason in result.kept_apart if change.memory is not None and own == change.memory.id)
        found.append(_outcome(one, change, before, distance, apart))
    return found


def _outcome(candidate: Candidate, change: Change, before: Before, distance: float | None, apart: tuple[tuple[str, str], ...]) -> Outcome:
    updated = change.action == "UPDATE" and change.memory is not None
    return Outcome(
        kind="skipped" if distance is not None else _KINDS[change.action],
        candidate=candidate,
        memory=change.memory,
        before=before(change.memory) if updated and change.memory is not None else None,
        retired=change.retired,
        distance=distance,
        refused=change.refused,
        apart=apart,
        note=change.note,
    )


def rendered(found: Sequence[Outcome], ids: Ids, width: int | None) -> str:
    """Return outcomes as text: a line for each, and under it what there is to say of it.

    Args:
        found: The outcomes.
        ids: What to show of ids.
        width: Columns of the terminal, or None.
    """
    size = max((len(shown_id(ids, one.memory.id)) for one in found if one.memory is not None), default=1)
    lines = []
    for one in found:
        memory_id = "-" if one.memory is None else shown_id(ids, one.memory.id)
        first = f"{one.kind.upper():7}  {one.candidate.salience:.2f}  {memory_id:{size}}  "
        lines.append(block(first, one.candidate.content, width))
        lines += [block(" " * len(first) + label, text, width) for label, text in _told(one, ids)]
    return "\n".join(lines)


def _told(one: Outcome, ids: Ids) -> list[tuple[str, str]]:
    """Return the lines under an outcome: what is ours to say, and what is foreign behind it."""
    memory, said = one.memory, one.candidate.content
    lines: list[tuple[str, str]] = []
    if one.before is not None:
        lines.append(("was: ", one.before.content))
    if one.kind == "updated" and memory is not None:
        lines.append(("now: ", memory.content))
    lines += [(f"retires {shown_id(ids, old.id)}, {old.reason}: ", old.content) for old in one.retired]
    if one.kind in ("added", "retired") and memory is not None and memory.content != said:
        lines.append(("stored as: ", memory.content))
    if one.distance is not None and memory is not None:
        lines.append((f"near-duplicate (distance {one.distance:.2f}) of: ", memory.content))
    elif one.kind == "known":
        lines.append(_known(one))
    elif one.note:
        lines.append(("", f"{one.note}; added as it is" if one.kind == "added" else one.note))
    lines += [("near ", f"{shown_id(ids, other)}, but {reason}") for other, reason in one.apart]
    lines += [("named what is no memory: ", other) for other in one.refused]
    return lines


def _known(one: Outcome) -> tuple[str, str]:
    if one.memory is None:
        return "", "known to the model, which does not say by what"
    times = f"seen {counted(one.memory.seen, 'time', 'times')}"
    if one.memory.content == one.candidate.content:
        return "", times
    return f"{one.note or 'known'} ({times}) as: ", one.memory.content

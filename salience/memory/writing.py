"""Writes the steps of a plan within one turn of a store. It decides nothing, but keeps a fact where what the plan saw no longer holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from salience.memory.planning import Action, Step
from salience.memory.records import Known, NewMemory, StoredMemory
from salience.memory.store import StoreTurn

CHANGED = "what it was held against changed meanwhile"


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one fact.

    Attributes:
        fact: The fact.
        action: What was done: ADD, UPDATE, DELETE or NONE. ADD and NONE retire something only where the fact said that it supersedes it.
        memory: What was written, or for NONE the memory that is known; None where there is none.
        retired: The memories that were retired.
        refused: Ids that were named without being a live memory that was offered.
        note: Why it is not simply what was decided; "" where it is.
    """

    fact: NewMemory
    action: Action
    memory: StoredMemory | None = None
    retired: tuple[StoredMemory, ...] = ()
    refused: tuple[str, ...] = ()
    note: str = ""


def carry_out(turn: StoreTurn, steps: Sequence[Step]) -> tuple[Change, ...]:
    """Write the steps of a turn, in order, and return what became of each."""
    return tuple(_carry_out(turn, step) for step in steps)


def _carry_out(turn: StoreTurn, step: Step) -> Change:
    if step.action == "UPDATE":
        return _update(turn, step)
    if step.action == "NONE":
        return _know(turn, step)
    return _write(turn, step)


def _still(turn: StoreTurn, seen: Known) -> StoredMemory | None:
    """Return a memory if it is live and says what it said when it was looked at."""
    current = turn.get(seen.id)
    return current if current is not None and current.content == seen.content else None


def _update(turn: StoreTurn, step: Step) -> Change:
    current = None if step.target is None else _still(turn, step.target)
    if current is None or step.content is None:
        return _write(turn, replace(step, action="ADD", note=CHANGED))
    if current.content == step.content:
        return Change(step.fact, "NONE", turn.sight(current.id), (), step.refused, "the update changes nothing")
    merged = merge(current, step.fact, step.content)
    return Change(
        step.fact, "UPDATE", turn.revise(current.id, merged, step.content_vector, because=step.fact.content), (), step.refused, step.note
    )


def _know(turn: StoreTurn, step: Step) -> Change:
    if step.target is None:
        return Change(step.fact, "NONE", None, (), step.refused, step.note)
    current = _still(turn, step.target)
    if current is None:
        return _write(turn, replace(step, action="ADD", note=CHANGED))
    known = turn.sight(current.id)
    return Change(step.fact, "NONE", known, _retire(turn, step, known.id), step.refused, step.note)


def _write(turn: StoreTurn, step: Step) -> Change:
    """Retire what is to be retired, and write the fact, or what DELETE has in its place; what is known word for word only once."""
    content = step.content if step.action == "DELETE" else step.fact.content
    if content is None:
        gone = _retire(turn, step, None)
        if gone:
            return Change(step.fact, "DELETE", None, gone, step.refused, step.note)
        return _write(turn, replace(step, action="ADD", retire=(), note=CHANGED))
    known = turn.same_words(content)
    if known is not None:
        memory, note = turn.sight(known.id), step.note or "known word for word"
        retired = _retire(turn, step, known.id)
        return Change(step.fact, "DELETE" if retired and step.action == "DELETE" else "NONE", memory, retired, step.refused, note)
    retired = _retire(turn, step, step.new_id)
    vector = step.content_vector if step.action == "DELETE" else step.vector
    written = turn.write(replace(step.fact, content=content), vector, memory_id=step.new_id)
    action: Action = "ADD" if step.action == "DELETE" and not retired else step.action
    return Change(step.fact, action, written, retired, step.refused, step.note or ("" if action == step.action else CHANGED))


def _retire(turn: StoreTurn, step: Step, superseded_by: str | None) -> tuple[StoredMemory, ...]:
    retired = []
    for seen in step.retire:
        if seen.id != superseded_by and _still(turn, seen) is not None:
            retired.append(turn.retire(seen.id, step.reason, because=step.fact.content, superseded_by=superseded_by))
    return tuple(retired)


def merge(old: StoredMemory, fact: NewMemory, content: str) -> NewMemory:
    """Return the next version of a memory: the provenance of the fact, and of the old version where the fact has none.

    The higher salience of the two is kept, the tags of both, and the `meta` of both, the fact's winning.
    """
    known = [one for one in (old.salience, fact.salience) if one is not None]
    return NewMemory(
        content, max(known, default=None), fact.source or old.source, fact.source_id or old.source_id, fact.observed or old.observed,
        fact.date or old.date, tuple(dict.fromkeys([*old.tags, *fact.tags])), {**old.meta, **fact.meta},
    )  # fmt: skip

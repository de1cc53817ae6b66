"""A user's memories as JSON Lines, out and in: every version, live or retired, and the marks of turns. Vectors are made anew on the way in.

Lines that come in are hostile until they were checked; either all of them are taken in, or none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from salience.errors import OptionError
from salience.memory.embeddings import EmbeddingsProvider, embed_all, model_of
from salience.memory.errors import LinesError
from salience.memory.jsonl_entries import HEAD, entry
from salience.memory.records import StoredMemory, dump_json
from salience.memory.steps import drive
from salience.memory.store import Memories, Store, StoreTurn, TurnMark


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What was taken in.

    Attributes:
        versions: Versions of memories that were written.
        known: Versions that were there already, exactly as they came.
        turns: Marks of turns that are new.
    """

    versions: int
    known: int
    turns: int


def export_lines(store: Store, user_id: str) -> Iterator[str]:
    """Yield a user's memories as lines of JSON without line ends: a head, every version in the order of writing, the marks of turns.

    The lines do not name the user, and hold no vectors. Each is one line to every reader, as only ASCII is written.
    """
    yield _line(HEAD)
    for memory in store.list(user_id, retired=True):
        yield _line({"memory": memory.to_dict()})
    for mark in store.turns(user_id):
        values = {"source": mark.source, "source_id": mark.source_id, "digest": mark.digest, "at": mark.at}
        yield _line({"turn": {name: value for name, value in values.items() if value is not None}})


def _line(value: object) -> str:
    return json.dumps(json.loads(dump_json(value)), ensure_ascii=True, separators=(",", ":"))


def import_lines(store: Store, user_id: str, lines: Iterable[str], embeddings: EmbeddingsProvider) -> ImportResult:
    """Take in what `export_lines` wrote, for any user, exactly: ids, versions, times and links.

    What the user has already, exactly as it comes, is left alone, so that a second import changes nothing; the same id with anything else
    under it is refused. No memory of another user can be touched, whatever the ids.

    Args:
        store: The store.
        user_id: Whose memories these become.
        lines: The lines, with or without line ends; blank ones are skipped.
        embeddings: Makes the vectors of what is live.

    Returns:
        How much was new.

    Raises:
        LinesError: Lines are faulty, or do not fit each other or what the user has. Nothing was written; `faults` has the line numbers.
        EmbeddingsError: The user's vectors are of another model.
    """
    reading = _read(lines)
    live = [memory for _, memory in reading.memories if memory.live]
    vectors: dict[str, Any] = {}
    for start in range(0, len(live), 100):
        part = list(dict.fromkeys(memory.content for memory in live[start : start + 100]))
        vectors |= zip(part, drive(embed_all(embeddings, part)), strict=True)
    with store.turn(user_id, model_of(embeddings)) as turn:
        kept = {(memory.id, memory.version): memory for memory in store.list(user_id, retired=True)}
        fresh = _fresh(reading.memories, kept)
        for memory in fresh:
            turn.restore(memory, vectors[memory.content] if memory.live else None)
        return ImportResult(len(fresh), len(reading.memories) - len(fresh), _mark(turn, reading.marks))


def _mark(turn: StoreTurn, marks: Iterable[TurnMark]) -> int:
    return sum(turn.mark(mark) for mark in marks)


def _fresh(memories: Iterable[tuple[int, StoredMemory]], kept: Mapping[tuple[str, int], StoredMemory]) -> Memories:
    """Return what the user does not have yet, in order.

    Raises:
        LinesError: A version does not follow what comes before it or is kept, or a link names nothing.
    """
    fresh, faults = [], []
    newest = {memory_id: version for memory_id, version in sorted(kept)}
    live = {memory.id for memory in kept.values() if memory.live}
    links = []
    for number, memory in memories:
        if (known := kept.get((memory.id, memory.version))) is not None:
            if known != memory:
                faults.append((number, f"{memory.id!r} version {memory.version} is kept already, and not the same"))
            continue
        if memory.version != newest.get(memory.id, 0) + 1 or memory.id in live:
            faults.append((number, f"{memory.id!r} version {memory.version} does not follow version {newest.get(memory.id, 0)}, retired"))
            continue
        newest[memory.id] = memory.version
        live |= {memory.id} if memory.live else set()
        links += [(number, memory.superseded_by)] if memory.superseded_by else []
        fresh.append(memory)
    faults += [(number, f"superseded_by {link!r} names no memory here") for number, link in links if link not in newest]
    _refuse(sorted(faults))
    return fresh


@dataclass(frozen=True, slots=True)
class _Reading:
    memories: list[tuple[int, StoredMemory]]
    marks: list[TurnMark]


def _read(lines: Iterable[str]) -> _Reading:
    if isinstance(lines, str | bytes):
        raise OptionError("lines must be an iterable of lines, such as an open file or text.splitlines(); got the whole text")
    reading, faults, head = _Reading([], []), list[tuple[int, str]](), False
    for number, line in enumerate(lines, 1):
        if isinstance(line, str) and not line.strip():
            continue
        try:
            found = entry(line)
            if (found is None) == head:
                raise OptionError(f"the first line, and no other, must be {json.dumps(HEAD)}")
            head = True
            if isinstance(found, StoredMemory):
                reading.memories.append((number, found))
            elif found is not None:
                reading.marks.append(found)
        except OptionError as error:
            faults.append((number, str(error)))
            if len(faults) >= 100 or not head:
                break
    _refuse(faults)
    if not head:
        raise LinesError(f"there is nothing to take in: the first line must be {json.dumps(HEAD)}")
    return reading


def _refuse(faults: list[tuple[int, str]]) -> None:
    if faults:
        shown = "; ".join(f"line {number}: {text[:300]}" for number, text in faults[:3])
        more = f"; and {len(faults) - 3} more" if len(faults) > 3 else ""
        raise LinesError(f"nothing was taken in, as lines are faulty: {shown}{more}", tuple(faults[:100]))

"""Memories as text for a terminal: aligned, folded to its width, everything foreign escaped. Text comes out; nothing is printed or read.

What is piped (`width` None) has one line for each thing that is said, however long.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Mapping, Sequence

from evals.report.safe import clip, printable
from salience.memory import Hit, StoredMemory

_LEAST = 24  # a terminal that is narrower folds by itself
_WIDEST_ID = 20
_DAY = 10
_ROOMY = 100  # from so many columns on there is room for the day too

Ids = Mapping[str, str]
"""Ids -> what is shown of each."""


def block(first: str, text: str, width: int | None) -> str:
    """Return foreign text behind a label, on as many lines as it takes, the further ones under the first.

    Args:
        first: The label; how long it is decides where the text stands.
        text: The text; line ends in it are escaped.
        width: Columns of the terminal, or None for one line; a wide character takes two.
    """
    shown = printable(text)
    if width is None or width < len(first) + _LEAST:
        return (first + shown).rstrip()
    padded = "".join(f"{char}\0" if unicodedata.east_asian_width(char) in "WF" else char for char in shown)  # \0 fills the second one
    lines = textwrap.wrap(padded, width, initial_indent=first, subsequent_indent=" " * len(first), break_on_hyphens=False)
    return "\n".join(lines or [first.rstrip()]).replace("\0", "")


def counted(number: int, one: str, many: str) -> str:
    """Return a number with its noun: "1 memory", "2 memories"."""
    return f"{number:,} {one if number == 1 else many}"


def minute(time: str) -> str:
    """Return a time of a store to the minute: "2026-03-02 09:30". It is UTC, which the text around it says."""
    return f"{time[:10]} {time[11:16]}"


def shown_id(ids: Ids, memory_id: str) -> str:
    """Return what is shown of an id."""
    return clip(ids.get(memory_id, printable(memory_id)), _WIDEST_ID)


def listing(memories: Sequence[StoredMemory], ids: Ids, width: int | None, *, every: bool) -> str:
    """Return memories as a table, one row each.

    Args:
        memories: What to show, in order.
        ids: What to show of ids.
        width: See `block`.
        every: Whether retired versions are among them, so that a column says which are.
    """
    dated = any(one.date for one in memories) and (width is None or width >= _ROOMY)
    head = ["id", *(["state"] if every else []), "written, UTC", *(["said"] if dated else []), "sal.", "seen", "memory"]
    rows = [
        [
            shown_id(ids, one.id),
            *([state(one)] if every else []),
            minute(one.created),
            *([clip(printable(one.date or "-"), _DAY)] if dated else []),
            "-" if one.salience is None else f"{one.salience:.2f}",
            str(one.seen),
            one.content,
        ]
        for one in memories
    ]
    return _table([head, *rows], {"sal.", "seen"}, width)


def found(hits: Sequence[Hit], ids: Ids, width: int | None) -> str:
    """Return what a query found as a table, the nearest first."""
    rows = [
        [
            f"{one.similarity + 0.0:.2f}".replace("-0.00", "0.00"),
            shown_id(ids, one.memory.id),
            minute(one.memory.created),
            one.memory.content,
        ]
        for one in hits
    ]
    return _table([["similar", "id", "written, UTC", "memory"], *rows], {"similar"}, width)


def _table(rows: Sequence[Sequence[str]], right: set[str], width: int | None) -> str:
    """Return rows under a header; the last column is foreign text and is folded, those named in `right` are flush right."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]) - 1)]
    lines = []
    for row in rows:
        cells = [cell.rjust(size) if name in right else cell.ljust(size) for cell, size, name in zip(row, widths, rows[0], strict=False)]
        lines.append(block("  ".join(cells) + "  ", row[-1], width))
    return "\n".join(lines)


def state(memory: StoredMemory) -> str:
    """Return why a version is no longer live, or "live"."""
    return "live" if memory.live else str(memory.reason)


def history(memories: Sequence[StoredMemory], ids: Ids, width: int | None) -> str:
    """Return versions of memories with when each was written, and when and why it was retired.

    Args:
        memories: All versions that there is something to say about, in the order of writing.
        ids: What to show of ids.
        width: See `block`.
    """
    newest = {one.id: one for one in memories}
    return "\n\n".join("\n".join(_version(one, newest, ids, width)) for one in memories)


def _version(memory: StoredMemory, newest: Mapping[str, StoredMemory], ids: Ids, width: int | None) -> list[str]:
    first = f"{shown_id(ids, memory.id)} version {memory.version}, {state(memory)}: "
    told = "; ".join([f"{minute(memory.created)} UTC", *_provenance(memory)])
    lines = [block(first, memory.content, width), block("    written  ", told, width)]
    if memory.seen > 1:
        lines.append(f"    seen     {counted(memory.seen, 'time', 'times')}, last {minute(memory.last_seen)} UTC")
    if memory.retired is not None:
        because = "" if memory.because is None else f", because of: {memory.because}"
        lines.append(block("    retired  ", f"{minute(memory.retired)} UTC, {state(memory)}{because}", width))
    if memory.superseded_by == memory.id:
        lines.append(f"    now      version {memory.version + 1}")
    elif memory.superseded_by is not None:
        after = newest.get(memory.superseded_by)
        told = "" if after is None else f": {after.content}"
        lines.append(block("    now      ", f"{shown_id(ids, memory.superseded_by)}{told}", width))
    return lines


def _provenance(memory: StoredMemory) -> list[str]:
    """Return where a version comes from, in so far as it was told."""
    told = {"salience": None if memory.salience is None else f"{memory.salience:.2f}", "from": memory.source, "id there": memory.source_id}
    told |= {"known as": memory.observed, "said": memory.date, "tags": ", ".join(memory.tags) or None}
    return [f"{name} {value}" for name, value in told.items() if value is not None]

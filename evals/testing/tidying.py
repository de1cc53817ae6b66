"""The end of a session: recordings are sorted, superseded replies go, unused ones are told. Only one process of a session does this."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from evals.errors import DataError
from evals.report.safe import printable
from evals.testing.recordings import Key, Recorded, locked, read_recording, replace_file
from evals.testing.telling import shown_path


def finish(used: Mapping[str, Collection[Key]], added: Mapping[str, Collection[Key]], *, verbose: bool) -> list[str]:
    """Tidy the recordings with new replies, and return what there is to tell of all, one line each.

    Args:
        used: Recording -> keys that were replayed; every recording of the session is in it.
        added: Recording -> keys that were recorded.
        verbose: Whether unused replies are told.
    """
    lines: list[str] = []
    for name in sorted(used):
        try:
            lines += _finish_one(Path(name), set(used[name]), set(added[name]), verbose=verbose)
        except DataError as error:
            lines.append(printable(str(error)))
    return lines


def _finish_one(path: Path, used: set[Key], added: set[Key], *, verbose: bool) -> list[str]:
    lines, told = [], printable(shown_path(path))
    if added:
        gone = tidy(path, added, used)
        lines.append(f"{told}: {len(added)} recorded" + (f", {gone} that they supersede taken out" if gone else ""))
    unused = unused_lines(path, used | added) if verbose else []
    if unused:
        numbers = ", ".join(map(str, unused[:10])) + (" ..." if len(unused) > 10 else "")
        lines.append(f"{told}: {len(unused)} recorded replies were not used by the tests that ran (lines {numbers})")
    return lines


def unused_lines(path: Path, used: Collection[Key]) -> list[int]:
    """Return the numbers of the lines, from 1, whose replies answer none of the given keys."""
    return [number for number, one in read_recording(path) if one.key not in used]


def tidy(path: Path, added: Collection[Key], used: Collection[Key]) -> int:
    """Sort a recording, and take out what new replies supersede: replies for the same place to a request that nobody made any more.

    Args:
        path: The file.
        added: What was recorded in this session.
        used: What was replayed in it.

    Returns:
        How many superseded replies were taken out.

    Raises:
        DataError: The file cannot be read or written.
    """
    with locked(path) as handle:
        kept: dict[Key, Recorded] = {}
        for _, one in read_recording(path):
            kept.setdefault(one.key, one)
        places = {one.place for key, one in kept.items() if key in added}
        gone = [key for key, one in kept.items() if key not in added and key not in used and one.place in places]
        for key in gone:
            del kept[key]
        rows = sorted(kept.values(), key=lambda one: (one.place, one.request))
        replace_file(path, b"".join(msgspec.json.encode(one) + b"\n" for one in rows), handle)
    return len(gone)

"""Which record of a run's file counts for each call, and where it stands: a few bytes a call, however long the replies are."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from evals.errors import RunError
from evals.runlog import REPLIES, Failure, Record, is_answer

Row = tuple[str, str]
"""Model name and policy hash ("" for a baseline) of a cell."""


class _Key(msgspec.Struct, frozen=True):
    """What of a record the index needs; the rest of the line is passed over."""

    model: str
    policy: str
    case: str
    repeat: int = 0
    part: int = 0
    error: Failure | None = None


class RunIndex:
    """Finds records by cell, case, repeat and part; use as a context manager. Of several the last answered one counts, else the last.

    Args:
        folder: The run folder; it may hold no reply yet.
        rows: Model and policy of each cell.
        ids: Ids of the run's cases; a case is known by its place in them.
        repeats: How often each case is asked.

    Raises:
        RunError: A line before the last is not a record.
    """

    def __init__(self, folder: Path, rows: Sequence[Row], ids: Sequence[str], repeats: int) -> None:
        self.repeats = repeats
        self._size = len(ids) * repeats
        self._rows = {row: number for number, row in enumerate(rows)}
        self._cases = {case: place for place, case in enumerate(ids)}
        self._at = [array("q", [-1]) * self._size for _ in rows]
        self._answered = [bytearray(self._size) for _ in rows]
        self._parts: dict[tuple[int, int, int], tuple[int, bool]] = {}
        self._path = folder / REPLIES
        self._decoder = msgspec.json.Decoder(Record)
        for offset, key in _keys(self._path):
            self._add(offset, key)
        self._cases = {}
        self._file = self._path.open("rb") if self._path.exists() else None

    def _add(self, offset: int, key: _Key) -> None:
        row, case = self._rows.get((key.model, key.policy)), self._cases.get(key.case)
        if row is None or case is None or not 0 <= key.repeat < self.repeats:
            return
        slot, answered = case * self.repeats + key.repeat, is_answer(key.error)
        if key.part:
            before = self._parts.get((row, slot, key.part))
            if before is None or answered or not before[1]:
                self._parts[row, slot, key.part] = (offset, answered)
        elif self._at[row][slot] < 0 or answered or not self._answered[row][slot]:
            self._at[row][slot], self._answered[row][slot] = offset, answered

    def has(self, row: int, case: int, repeat: int, part: int = 0, *, answered: bool = False) -> bool:
        """Return whether there is a record, or with `answered` one that need not be asked for again."""
        slot = case * self.repeats + repeat
        if part:
            found = self._parts.get((row, slot, part))
            return found is not None and (found[1] or not answered)
        return bool(self._answered[row][slot]) if answered else self._at[row][slot] >= 0

    def any_answered(self, row: int) -> bool:
        """Return whether a cell has an answer at all."""
        return any(self._answered[row])

    def failed(self, row: int) -> set[int]:
        """Return the slots (case times repeats plus repeat) of a cell in which a call has failed and was not answered since."""
        found = {slot for slot, (at, ok) in enumerate(zip(self._at[row], self._answered[row], strict=True)) if at >= 0 and not ok}
        return found | {slot for (owner, slot, _), (_, ok) in self._parts.items() if owner == row and not ok}

    def any_failed(self) -> bool:
        """Return whether a call of any cell has failed and was not answered since."""
        return any(self.failed(row) for row in range(len(self._at)))

    def read(self, row: int, case: int, repeat: int, part: int = 0) -> Record | None:
        """Return the record that counts, or None where there is none.

        Raises:
            RunError: The line is not a record.
        """
        slot = case * self.repeats + repeat
        offset = self._parts.get((row, slot, part), (-1, False))[0] if part else self._at[row][slot]
        if offset < 0 or self._file is None:
            return None
        self._file.seek(offset)
        try:
            return self._decoder.decode(self._file.readline())
        except msgspec.DecodeError as error:
            raise RunError(f"{self._path}: the record at byte {offset} cannot be read: {error}") from None

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> RunIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _keys(path: Path) -> Iterator[tuple[int, _Key]]:
    if not path.exists():
        return
    decoder, offset = msgspec.json.Decoder(_Key), 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return  # torn: the process was killed while it wrote
            try:
                yield offset, decoder.decode(line)
            except msgspec.DecodeError as error:
                raise RunError(f"{path}:{number}: is not a record: {error}") from None
            offset += len(line)

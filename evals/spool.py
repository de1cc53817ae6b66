"""Values in the order in which they came, in memory while they are few and in an unnamed file when they are many."""

from __future__ import annotations

import tempfile
import weakref
from array import array
from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

import msgspec

T = TypeVar("T")

BUDGET = 1 << 19
"""Bytes, encoded, that stay in memory; what is decoded takes a few times as much."""
_BLOCK = 1 << 20


class Spool(Generic[T]):
    """Appended values that can be read by index or in order; past `budget` bytes they wait on disk and are decoded on demand.

    Args:
        kind: The type of the values, one that msgspec encodes and decodes back to an equal value.
        budget: Bytes, encoded, to keep in memory.
    """

    def __init__(self, kind: type[T], *, budget: int = BUDGET) -> None:
        self._decoder, self._encoder = msgspec.json.Decoder(kind), msgspec.json.Encoder(order="sorted")
        self._budget = budget
        self._ends = array("q", [0])
        self._items: list[T] | None = []
        self._file: Any = None

    def append(self, item: T, encoded: bytes | None = None) -> None:
        """Add a value; `encoded` is its JSON where the caller has it already."""
        line = self._encoder.encode(item) if encoded is None else encoded
        self._ends.append(self._ends[-1] + len(line))
        if self._items is not None and self._ends[-1] > self._budget:
            self._file = tempfile.TemporaryFile(prefix="salience-")  # noqa: SIM115 - it lives as long as the spool
            weakref.finalize(self, self._file.close)
            self._file.writelines(map(self._encoder.encode, self._items))
            self._items = None
        if self._items is not None:
            self._items.append(item)
        else:
            self._file.seek(0, 2)
            self._file.write(line)

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, index: int) -> T:
        """Return the value at an index from 0 up."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        if self._items is not None:
            return self._items[index]
        start, end = self._ends[index], self._ends[index + 1]
        return self._decoder.decode(self._read(start, end))

    def pick(self, indices: Sequence[int]) -> Iterator[T]:
        """Yield the values at rising indices; neighbours on disk are read together."""
        if self._items is not None:
            yield from (self._items[index] for index in indices)
            return
        start, block = 0, b""
        for index in indices:
            begin, end = self._ends[index], self._ends[index + 1]
            if not start <= begin <= end <= start + len(block):
                start, block = begin, self._read(begin, max(end, min(begin + _BLOCK, self._ends[-1])))
            yield self._decoder.decode(block[begin - start : end - start])

    def _read(self, start: int, end: int) -> bytes:
        self._file.seek(start)
        content: bytes = self._file.read(end - start)
        return content


class Lazy(Sequence[T]):
    """A read-only sequence over something that makes its values on demand; subclasses say how one is made."""

    def one(self, index: int) -> T:
        """Return the value at an index from 0 up to the length."""
        raise NotImplementedError

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        """Return one value, or of a slice a tuple of them."""
        if isinstance(index, slice):
            return tuple(self.one(i) for i in range(*index.indices(len(self))))
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(index)
        return self.one(place)

    def __eq__(self, other: object) -> bool:
        """Return whether the other is a sequence of equal values."""
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # compared by value, and the values may be many

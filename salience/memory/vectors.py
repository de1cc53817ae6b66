"""Vectors as bytes, and the search among those of one user: a matrix where numpy is installed, plain Python elsewhere.

An index is a copy in memory of what the store holds; when it is stale is the store's matter.
"""

from __future__ import annotations

import heapq
import math
import operator
import sys
from array import array
from collections.abc import Collection, Iterable
from functools import cache
from importlib import import_module
from typing import Any, Protocol

from salience.memory.embeddings import EmbeddingModel, Vector
from salience.memory.errors import EmbeddingsError

FLOAT_BYTES = 4


def pack(vector: Vector, model: EmbeddingModel) -> bytes:
    """Return a vector of length 1 as little-endian float32 bytes; all zeros stay so.

    Raises:
        EmbeddingsError: It has other dimensions than its model, or numbers that are not finite.
    """
    try:
        values = [float(value) for value in vector]
    except (TypeError, ValueError):
        raise EmbeddingsError(f"{model.name} must return vectors of numbers, got {type(vector).__name__}") from None
    if len(values) != model.dimensions:
        raise EmbeddingsError(f"{model.name} says that its vectors have {model.dimensions} numbers, and returned one of {len(values)}")
    largest = max(map(abs, values))
    if not all(map(math.isfinite, values)):
        raise EmbeddingsError(f"{model.name} returned a vector with a number that is not finite")
    if largest:
        values = [value / largest for value in values]  # first, so that squares neither overflow nor vanish
        length = math.sqrt(sum(value * value for value in values))
        values = [value / length for value in values]
    packed = array("f", values)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def unpack(blob: bytes) -> array[float]:
    """Return the numbers of a packed vector."""
    values = array("f")
    values.frombytes(blob)
    if sys.byteorder == "big":
        values.byteswap()
    return values


class VectorIndex(Protocol):
    """The live vectors of one user."""

    def reserve(self, count: int) -> None:
        """Make room for so many vectors at once; more can be put all the same."""
        ...

    def put(self, rows: Iterable[tuple[int, str, bytes]]) -> None:
        """Take in vectors: (row number, memory id, packed vector), each row number once. One that is known is left as it is."""
        ...

    def drop(self, row: int) -> None:
        """Take out a vector; one that is not there is no error."""
        ...

    def search(self, blob: bytes, limit: int, without: Collection[str]) -> list[tuple[str, float]]:
        """Return the ids nearest to a packed vector with their cosines, the nearest first; of equals the earlier written."""
        ...

    @property
    def size(self) -> int:
        """Bytes in use, about."""
        ...


@cache
def numpy_or_none() -> Any:
    """Return numpy where it is installed. It is optional, so it is loaded by name and nothing depends on it."""
    try:
        return import_module("numpy")
    except ImportError:
        return None


def new_index(dimensions: int) -> VectorIndex:
    """Return an empty index: a matrix with numpy, a mapping without."""
    return PlainIndex(dimensions) if numpy_or_none() is None else MatrixIndex(dimensions)


class PlainIndex:
    """An index in plain Python: some tens of microseconds a memory and query, so fit for some thousands."""

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._rows: dict[int, tuple[str, array[float]]] = {}

    def reserve(self, count: int) -> None:
        """Make room: nothing to be done."""

    def put(self, rows: Iterable[tuple[int, str, bytes]]) -> None:
        """Take in vectors."""
        for row, memory_id, blob in rows:
            self._rows.setdefault(row, (memory_id, unpack(blob)))

    def drop(self, row: int) -> None:
        """Take out a vector."""
        self._rows.pop(row, None)

    def search(self, blob: bytes, limit: int, without: Collection[str]) -> list[tuple[str, float]]:
        """Return the nearest."""
        asked = unpack(blob)
        scored = (
            (sum(map(operator.mul, asked, vector)), -row, memory_id)
            for row, (memory_id, vector) in self._rows.items()
            if memory_id not in without
        )
        return [(memory_id, _cosine(score)) for score, _, memory_id in heapq.nlargest(limit, scored)]

    @property
    def size(self) -> int:
        """Bytes in use, about."""
        return len(self._rows) * self._dimensions * FLOAT_BYTES


class MatrixIndex:
    """An index in one numpy matrix that grows by half when full. Rows taken out stay as gaps until they are a quarter of it."""

    def __init__(self, dimensions: int) -> None:
        self._np = numpy_or_none()
        self._dimensions = dimensions
        self._places: dict[int, int] = {}
        self._ids: list[str] = []
        self._rows: list[int] = []
        self._matrix = self._np.zeros((0, dimensions), dtype="<f4")
        self._live = self._np.zeros(0, dtype=bool)

    def reserve(self, count: int) -> None:
        """Make room, with some to grow into: growing by steps would copy, and touch, most of the matrix several times."""
        if count > len(self._matrix):
            self._resize(count + count // 8)

    def put(self, rows: Iterable[tuple[int, str, bytes]]) -> None:
        """Take in vectors."""
        fresh = [one for one in rows if one[0] not in self._places]
        if not fresh:
            return
        start, end = len(self._ids), len(self._ids) + len(fresh)
        if end > len(self._matrix):
            self._resize(max(end, start * 3 // 2) + end // 8)  # room that is not used costs no memory
        numbers, ids, blobs = zip(*fresh, strict=True)
        size, whole = self._dimensions * FLOAT_BYTES, memoryview(self._matrix).cast("B")
        for place, blob in enumerate(blobs, start):
            whole[place * size : (place + 1) * size] = blob
        self._live[start:end] = True
        self._places.update(zip(numbers, range(start, end), strict=True))
        self._ids.extend(ids)
        self._rows.extend(numbers)

    def _resize(self, capacity: int) -> None:
        matrix, live = self._np.zeros((capacity, self._dimensions), dtype="<f4"), self._np.zeros(capacity, dtype=bool)
        used = len(self._ids)
        matrix[:used], live[:used] = self._matrix[:used], self._live[:used]
        self._matrix, self._live = matrix, live

    def drop(self, row: int) -> None:
        """Take out a vector."""
        place = self._places.pop(row, None)
        if place is None:
            return
        self._live[place] = False
        if len(self._places) * 4 < len(self._ids) * 3:
            kept = self._np.flatnonzero(self._live[: len(self._ids)])
            self._matrix, self._live = self._matrix[kept], self._live[kept]
            self._ids, self._rows = [self._ids[at] for at in kept], [self._rows[at] for at in kept]
            self._places = {one: at for at, one in enumerate(self._rows)}

    def search(self, blob: bytes, limit: int, without: Collection[str]) -> list[tuple[str, float]]:
        """Return the nearest."""
        np, used = self._np, len(self._ids)
        scores = self._matrix[:used] @ np.frombuffer(blob, dtype="<f4")
        scores[~self._live[:used]] = -np.inf
        wanted = min(limit + len(without), used)  # some of the nearest may be unwanted
        if wanted < used:
            least = np.partition(scores, used - wanted)[used - wanted]
            above = np.flatnonzero(scores > least)
            places = np.concatenate((above, np.flatnonzero(scores == least)[: wanted - len(above)]))  # places rise as rows do
        else:
            places = np.arange(used)
        ranked = sorted(places.tolist(), key=lambda at: (-scores[at], self._rows[at]))
        found = [(self._ids[at], _cosine(float(scores[at]))) for at in ranked if self._live[at] and self._ids[at] not in without]
        return found[:limit]

    @property
    def size(self) -> int:
        """Bytes in use, about."""
        return int(self._matrix.nbytes)


def _cosine(score: float) -> float:
    return min(1.0, max(-1.0, score))

"""A store of text vectors on disk, keyed by the model's hash and the text. It computes no vector and judges nothing.

SQLite in write-ahead mode with one connection per call: several processes and threads may share a file, and a fork is harmless.
Where the file cannot be used the vectors stay in memory, and one notice says so: a cache must never cost a run.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]

_LOG = logging.getLogger(__name__)
_BATCH = 500  # below SQLite's oldest limit of 999 variables
_WAIT = 30.0  # seconds that a writer waits for another


class VectorStore:
    """Vectors by model and text.

    Args:
        path: The SQLite file; its folder is made at the first write. None keeps vectors in memory only.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._memory: dict[tuple[str, bytes], Vector] = {}

    @property
    def persistent(self) -> bool:
        """Whether vectors go to a file."""
        return self._path is not None

    def get(self, model: str, texts: Sequence[str]) -> dict[str, Vector]:
        """Return the stored vectors of those texts that have one.

        Args:
            model: Hash of the model.
            texts: Any number of texts.

        Returns:
            Text to vector, each a float32 array.
        """
        keys = {_key(text): text for text in texts}
        found = {text: self._memory[model, key] for key, text in keys.items() if (model, key) in self._memory}
        if self._path is None or not self._path.exists():
            return found
        try:
            with self._connection(self._path) as connection:
                found.update((keys[key], _vector(blob)) for key, blob in _rows(connection, model, list(keys)))
        except (sqlite3.Error, OSError) as error:
            self._fall_back(error)
        return found

    def put(self, model: str, vectors: Mapping[str, Vector]) -> None:
        """Store vectors. A vector that is already there stays.

        Args:
            model: Hash of the model.
            vectors: Text to vector.
        """
        if not vectors:
            return
        if self._path is not None:
            rows = [(model, _key(text), vector.astype("<f4").tobytes()) for text, vector in vectors.items()]
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with self._connection(self._path) as connection, connection:
                    connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)", rows)
                return
            except (sqlite3.Error, OSError) as error:
                self._fall_back(error)
        self._memory.update({(model, _key(text)): vector for text, vector in vectors.items()})

    @contextmanager
    def _connection(self, path: Path) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(path, timeout=_WAIT)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS vectors (model TEXT, text BLOB, vector BLOB NOT NULL, PRIMARY KEY (model, text)) WITHOUT ROWID"
            )
            yield connection

    def _fall_back(self, error: Exception) -> None:
        _LOG.warning("The vector cache %s cannot be used (%s); vectors stay in memory for this run.", self._path, error)
        self._path = None


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _vector(blob: bytes) -> Vector:
    return np.frombuffer(blob, dtype="<f4").astype(np.float32)


def _rows(connection: sqlite3.Connection, model: str, keys: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    for start in range(0, len(keys), _BATCH):
        part = keys[start : start + _BATCH]
        marks = ",".join("?" * len(part))
        yield from connection.execute(f"SELECT text, vector FROM vectors WHERE model = ? AND text IN ({marks})", [model, *part])  # noqa: S608

"""Verdicts kept on disk, a table for all pairs of one case: a run that is scored again, or whose replies are known, matches nothing anew.

The key is all that decides a verdict: the statements, language and owner, what the matcher says of itself, and the code and word lists of
this package, so that a change of any of them asks the matcher again. Unscored pairs are never kept, as a model may be installed later.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import msgspec

from evals.matching.base import Matcher, Pair, Verdict

_LOG = logging.getLogger(__name__)
_WAIT = 30.0
_BATCH = 400


@lru_cache(maxsize=1)
def _code() -> str:
    """Hash of every file of the package, and of the folding of text that it uses."""
    folder = Path(__file__).parent
    files = sorted([*folder.glob("*.py"), *folder.glob("*.toml"), *folder.glob("*.json"), folder.parent / "text.py"])
    return hashlib.sha256(b"".join(hashlib.sha256(path.read_bytes()).digest() for path in files)).hexdigest()


@dataclass(frozen=True, slots=True)
class Grid:
    """Every prediction of a case against every labelled statement of it.

    Attributes:
        predicted: The predictions.
        labels: Content and paraphrases of each labelled statement.
        language: ISO 639-1 code of the case.
        owner_names: What the owner of the memories is called in the case.
    """

    predicted: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    language: str
    owner_names: tuple[str, ...] = ()

    def pairs(self) -> list[Pair]:
        """Return all pairs, by prediction and then by label."""
        return [Pair(one, phrases, self.language, self.owner_names) for one in self.predicted for phrases in self.labels]


def score_grids(matcher: Matcher, grids: Sequence[Grid]) -> list[list[Verdict]]:
    """Return the verdicts on all pairs of each grid; all go to the matcher in one call, so that it can work in batches."""
    groups = [grid.pairs() for grid in grids]
    verdicts = iter(matcher.score([pair for group in groups for pair in group]))
    return [[next(verdicts) for _ in group] for group in groups]


class VerdictTables:
    """Matches the pairs of many cases, from the file where they were matched before.

    Args:
        matcher: Judges what is not known.
        path: The SQLite file; its folder is made at the first write.
    """

    def __init__(self, matcher: Matcher, path: Path) -> None:
        self._matcher, self._path = matcher, path
        self._usable = True
        described = json.dumps([matcher.id, matcher.version, dict(matcher.describe()), _code()], sort_keys=True)
        self._seed = hashlib.sha256(described.encode()).digest()
        self._decoder = msgspec.msgpack.Decoder(list[Verdict])

    def score(self, grids: Sequence[Grid]) -> list[list[Verdict]]:
        """Return the verdicts on all pairs of each grid; a grid is looked up and kept as a whole."""
        keys = [self._key(grid) for grid in grids]
        known = self._get(keys)
        unknown = [i for i, key in enumerate(keys) if key not in known]
        fresh = dict(zip(unknown, score_grids(self._matcher, [grids[i] for i in unknown]), strict=True))
        self._put({keys[i]: row for i, row in fresh.items() if row and all(one.score is not None for one in row)})
        return [fresh[i] if i in fresh else known[key] for i, key in enumerate(keys)]

    def _key(self, grid: Grid) -> bytes:
        content = msgspec.json.encode([grid.predicted, grid.labels, grid.language, grid.owner_names])
        return hashlib.sha256(self._seed + content).digest()

    def _get(self, keys: Sequence[bytes]) -> dict[bytes, list[Verdict]]:
        found: dict[bytes, list[Verdict]] = {}
        if not self._usable or not self._path.exists():
            return found
        try:
            with self._connection() as connection:
                for start in range(0, len(keys), _BATCH):
                    part = list(dict.fromkeys(keys[start : start + _BATCH]))
                    marks = ",".join("?" * len(part))
                    rows = connection.execute(f"SELECT key, verdicts FROM verdicts WHERE key IN ({marks})", part)  # noqa: S608
                    found.update((key, self._decoder.decode(zlib.decompress(blob))) for key, blob in rows)
        except (sqlite3.Error, OSError, zlib.error, msgspec.DecodeError) as error:
            self._fall_back(error)
        return found

    def _put(self, rows: Mapping[bytes, Sequence[Verdict]]) -> None:
        if not self._usable or not rows:
            return
        blobs = [(key, zlib.compress(msgspec.msgpack.encode(list(row)), 1)) for key, row in rows.items()]
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._connection() as connection, connection:
                connection.executemany("INSERT OR REPLACE INTO verdicts VALUES (?, ?)", blobs)
        except (sqlite3.Error, OSError) as error:
            self._fall_back(error)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path, timeout=_WAIT)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("CREATE TABLE IF NOT EXISTS verdicts (key BLOB PRIMARY KEY, verdicts BLOB NOT NULL) WITHOUT ROWID")
            yield connection

    def _fall_back(self, error: Exception) -> None:
        _LOG.warning("The verdict cache %s cannot be used (%s); everything is matched anew.", self._path, error)
        self._usable = False

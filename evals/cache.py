"""The reply cache: a model that was asked the same thing in the same way is not asked again. Replies only; failures are never cached."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from evals.errors import RunError
from evals.models.base import ModelReply

_NO_EXTRAS = "[]"
_WAIT = 30.0


class CacheKeys:
    """Makes the keys of one model's replies.

    Args:
        fingerprint: What decides its replies besides the request.
    """

    def __init__(self, fingerprint: Mapping[str, Any]) -> None:
        text = json.dumps(dict(fingerprint), sort_keys=True, ensure_ascii=True)
        self._begun = hashlib.sha256(text.encode("ascii"))

    def key(self, request: str, *, seed: int | None, repeat: int) -> str:
        """Return the key of a reply: SHA-256 of the model's fingerprint, the request's hash, the seed and the repeat index."""
        whole = self._begun.copy()
        whole.update(f" {request} {seed} {repeat}".encode("ascii"))
        return whole.hexdigest()


class ReplyCache:
    """Replies in one SQLite file (WAL mode), safe with several processes.

    Raises:
        RunError: The file cannot be opened or is no reply cache.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=_WAIT, isolation_level=None)
            self._to_wal()
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS replies_2 (key TEXT PRIMARY KEY, text TEXT NOT NULL, finish_reason TEXT, "
                "input_tokens INTEGER, output_tokens INTEGER, seconds REAL NOT NULL, extras TEXT NOT NULL) WITHOUT ROWID"
            )
        except (OSError, sqlite3.Error) as error:
            advice = "another process is busy with it; try again" if "locked" in str(error) else "delete it, or use --no-cache"
            raise RunError(f"{path}: the reply cache cannot be opened: {error}; {advice}") from None

    def _to_wal(self) -> None:
        """Switch to WAL mode, for which SQLite does not wait while another process opens the file."""
        until = time.monotonic() + _WAIT
        while True:
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.02)

    def get(self, key: str) -> tuple[ModelReply, float] | None:
        """Return the reply for a key and the seconds that it once took, or None.

        Raises:
            RunError: The cache cannot be read.
        """
        try:
            row = self._db.execute(
                "SELECT text, finish_reason, input_tokens, output_tokens, seconds, extras FROM replies_2 WHERE key = ?", (key,)
            ).fetchone()
        except sqlite3.Error as error:
            raise RunError(f"{self.path}: the reply cache cannot be read: {error}; delete it, or use --no-cache") from None
        if row is None:
            return None
        if row[5] == _NO_EXTRAS:
            return ModelReply(row[0], row[1], row[2], row[3]), row[4]
        fallbacks, reasoning_tokens, reasoning_only = json.loads(row[5])
        reply = ModelReply(
            row[0], row[1], row[2], row[3], fallbacks=tuple(fallbacks), reasoning_tokens=reasoning_tokens, reasoning_only=reasoning_only
        )  # fmt: skip
        return reply, row[4]

    def put(self, key: str, reply: ModelReply, seconds: float) -> None:
        """Keep a reply, whose text must be valid Unicode.

        Raises:
            RunError: The cache cannot be written to.
        """
        try:
            self._db.execute(
                "INSERT OR REPLACE INTO replies_2 VALUES (?, ?, ?, ?, ?, ?, ?)",
                (key, reply.text, reply.finish_reason, reply.input_tokens, reply.output_tokens, seconds, _extras(reply)),
            )
        except (sqlite3.Error, OverflowError) as error:
            raise RunError(f"{self.path}: a reply could not be cached: {error}") from None

    def __enter__(self) -> ReplyCache:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._db.close()


def _extras(reply: ModelReply) -> str:
    extras = [list(reply.fallbacks), reply.reasoning_tokens, reply.reasoning_only]
    return _NO_EXTRAS if extras == [[], None, False] else json.dumps(extras)

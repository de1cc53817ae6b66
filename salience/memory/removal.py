"""What is more than the writing of a turn: erasing a user, and making a user's vectors anew. It begins no transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from salience.memory.embeddings import EmbeddingModel, EmbeddingsProvider, embed_all
from salience.memory.rows import find_user, new_epoch
from salience.memory.steps import drive
from salience.memory.vectors import pack


def erase(db: sqlite3.Connection, user_id: str) -> int:
    """Erase everything of a user, and return how many memories were live."""
    user = find_user(db, user_id)
    if user is None:
        return 0
    own = (user.user,)
    live = db.execute("SELECT count(*) FROM memories WHERE user = ? AND retired IS NULL", own).fetchone()[0]
    db.execute("DELETE FROM vectors WHERE seq IN (SELECT seq FROM memories WHERE user = ?)", own)
    for table in ("memories", "turns", "ids", "users"):  # those that refer to others first
        db.execute(f"DELETE FROM {table} WHERE user = ?", own)  # noqa: S608  (names of ours)
    return int(live)


def replace_vectors(db: sqlite3.Connection, user_id: str, model: EmbeddingModel, vectors: Mapping[str, bytes]) -> None:
    """Put other vectors in place of those of a user's live memories; `vectors` holds one for every content."""
    user = find_user(db, user_id)
    if user is None:
        return
    rows = db.execute("SELECT seq, content FROM memories WHERE user = ? AND retired IS NULL", (user.user,)).fetchall()
    db.execute("DELETE FROM vectors WHERE seq IN (SELECT seq FROM memories WHERE user = ?)", (user.user,))
    db.executemany("INSERT INTO vectors VALUES (?, ?)", [(seq, vectors[content]) for seq, content in rows])
    db.execute("UPDATE users SET model = ?, dimensions = ?, epoch = ? WHERE user = ?", (*model, new_epoch(), user.user))


def embed_packed(embeddings: EmbeddingsProvider, model: EmbeddingModel, texts: Sequence[str], vectors: dict[str, bytes]) -> None:
    """Ask for the vectors of texts, a hundred at a time, and put them into `vectors`, packed, under their texts."""
    for start in range(0, len(texts), 100):
        part = texts[start : start + 100]
        vectors.update(zip(part, [pack(vector, model) for vector in drive(embed_all(embeddings, part))], strict=True))

"""The tables of a store's file, and how a file is opened: created, recognised, or refused."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable

from salience.errors import OptionError
from salience.memory.errors import StoreError

APPLICATION_ID = 0x53414C4D  # "SALM"
VERSION = 1
WAIT = 30.0
"""How long a writer waits for others, in seconds."""

IN_MEMORY = ":memory:"

# A row of `memories` is one version of a memory. A link names an id of the same user or nothing: the foreign key has the user in it.
_TABLES = """
CREATE TABLE users (
    user INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, epoch INTEGER NOT NULL, change INTEGER NOT NULL,
    model TEXT, dimensions INTEGER);
CREATE TABLE ids (
    user INTEGER NOT NULL REFERENCES users(user), id TEXT NOT NULL, PRIMARY KEY (user, id)) WITHOUT ROWID;
CREATE TABLE memories (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, user INTEGER NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL CHECK (version >= 1),
    content TEXT NOT NULL, words TEXT NOT NULL, salience REAL, source TEXT, source_id TEXT, observed TEXT, date TEXT, tags TEXT NOT NULL,
    meta TEXT NOT NULL, created TEXT NOT NULL, seen INTEGER NOT NULL, last_seen TEXT NOT NULL, retired TEXT, reason TEXT, because TEXT,
    superseded_by TEXT, changed INTEGER NOT NULL,
    UNIQUE (user, id, version),
    FOREIGN KEY (user, id) REFERENCES ids(user, id),
    FOREIGN KEY (user, superseded_by) REFERENCES ids(user, id) DEFERRABLE INITIALLY DEFERRED,
    CHECK ((retired IS NULL) = (reason IS NULL)), CHECK (retired IS NOT NULL OR (superseded_by IS NULL AND because IS NULL)));
CREATE UNIQUE INDEX one_live_version ON memories(user, id) WHERE retired IS NULL;
CREATE INDEX live_memories ON memories(user, seq, id, retired) WHERE retired IS NULL;
CREATE INDEX live_words ON memories(user, words) WHERE retired IS NULL;
CREATE INDEX changed_memories ON memories(user, changed);
CREATE INDEX superseding ON memories(user, superseded_by);
CREATE TABLE vectors (
    seq INTEGER PRIMARY KEY REFERENCES memories(seq) ON DELETE CASCADE, vector BLOB NOT NULL);
CREATE TABLE turns (
    user INTEGER NOT NULL REFERENCES users(user), source TEXT, source_id TEXT NOT NULL, digest TEXT NOT NULL, at TEXT NOT NULL);
CREATE UNIQUE INDEX one_turn ON turns(user, source_id, digest, ifnull('=' || source, ''));
"""


def open_file(filename: str) -> sqlite3.Connection:
    """Open a store's file, and create it where there is none.

    Args:
        filename: A path, or ":memory:".

    Returns:
        A connection in autocommit mode, with foreign keys on, in WAL mode.

    Raises:
        StoreError: The file cannot be opened, is no store, or is one of a later version.
    """
    try:
        if filename != IN_MEMORY:
            _create_private(filename)
        db = sqlite3.connect(filename, timeout=WAIT, isolation_level=None, check_same_thread=False)
    except (OSError, sqlite3.Error, ValueError) as error:
        raise StoreError(f"{filename}: the memory store cannot be opened: {error}; its folder must exist and be writable") from None
    try:
        _refuse_others(db, filename)
        for pragma in ("foreign_keys=ON", "synchronous=FULL", "secure_delete=ON"):
            db.execute(f"PRAGMA {pragma}")
        patiently(lambda: db.execute("PRAGMA journal_mode=WAL"))
        _create_tables(db, filename)
    except sqlite3.Error as error:
        db.close()
        raise StoreError(f"{filename}: the memory store cannot be opened: {error}; {advice(error)}") from None
    except StoreError:
        db.close()
        raise
    return db


def advice(error: sqlite3.Error) -> str:
    """Return what to do about an error of SQLite."""
    text = str(error)
    if "locked" in text or "busy" in text:
        return f"another process has been writing to it for {WAIT:.0f} seconds; try again"
    if "not a database" in text or "malformed" in text:
        return "name another file, or restore this one from a backup or an export"
    if "full" in text or "I/O" in text:
        return "make room on the disk; what was committed before is kept"
    return "see that the file and its folder can be written to"


def checked_filename(filename: object) -> str:
    """Return a file name as text.

    Raises:
        OptionError: It is none.
    """
    text = os.fspath(filename) if isinstance(filename, str | os.PathLike) else ""
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise OptionError(f'filename must be a path or ":memory:", got {filename!r}')
    return text


def patiently(act: Callable[[], object]) -> None:
    """Do what SQLite does not wait for by itself while another process holds the file.

    Raises:
        sqlite3.OperationalError: It is still held after `WAIT` seconds, or something else is wrong.
    """
    until = time.monotonic() + WAIT
    while True:
        try:
            act()
            return
        except sqlite3.OperationalError as error:
            if not ("locked" in str(error) or "busy" in str(error)) or time.monotonic() > until:
                raise
            time.sleep(0.01)


def _create_private(filename: str) -> None:
    """Create an empty file that only its owner can read, as memories are private; SQLite gives its companions the same mode."""
    try:
        os.close(os.open(filename, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        if os.path.isdir(filename):
            raise IsADirectoryError(f"{filename} is a folder") from None


def _refuse_others(db: sqlite3.Connection, filename: str) -> None:
    """Refuse a file that is not ours, before anything in it is changed.

    All is read from one state of the file: between two another process may make the tables.
    """
    alone = not db.in_transaction
    if alone:
        db.execute("BEGIN")
    try:
        application, version = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
        tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    finally:
        if alone and db.in_transaction:
            db.execute("ROLLBACK")
    if application == APPLICATION_ID:
        if version > VERSION:
            raise StoreError(
                f"{filename}: the memory store is of version {version}, and this library knows versions up to {VERSION}: "
                "update salience-workbench"
            )
    elif application or version or tables:
        raise StoreError(f"{filename}: this is a database, but no memory store; name another file")


def _create_tables(db: sqlite3.Connection, filename: str) -> None:
    if db.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID:
        return
    patiently(lambda: db.execute("BEGIN IMMEDIATE"))
    try:
        _refuse_others(db, filename)  # another process may have been first
        if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            for statement in _TABLES.split(";\n"):
                db.execute(statement)
            db.execute(f"PRAGMA application_id={APPLICATION_ID}")
            db.execute(f"PRAGMA user_version={VERSION}")
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise

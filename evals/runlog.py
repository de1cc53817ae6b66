"""The run folder: a manifest, and the append-only file of replies. What is in it and how it is written, not what is run.

A record is one line of JSON, written with a single `os.write` on a descriptor opened for appending, so that a line is whole or torn at
its end and never interleaved. A torn last line is dropped on reading and cut off before the next append.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from evals.errors import RunError
from evals.paths import state_dir

MANIFEST = "manifest.json"
REPLIES = "replies.jsonl"
MANIFEST_VERSION = 2
_SYNC_SECONDS = 1.0
_MANIFEST_KEYS = ("plan", "data", "selection", "shard", "repeats", "seed", "models", "prices", "cells", "policies")


class Failure(msgspec.Struct, frozen=True):
    """Why a call failed: one word (`evals.errors.CallError.kind`) and a message."""

    kind: str
    message: str


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One completed or failed call.

    Attributes:
        model: "provider/model".
        policy: The policy's hash, "" for a baseline.
        case: The case's id.
        repeat: Which repetition, from 0.
        part: Which part of a turn that was split, from 0.
        reply: The reply's text; None if the call failed.
        finish_reason: Why the reply ended, where known.
        error: Why the call failed, or None.
        input_tokens: Tokens of the request, where known.
        output_tokens: Tokens of the reply, where known.
        seconds: How long the call took; of the original call if the reply came from the cache.
        request_hash: SHA-256 of messages, schema and decoding parameters, or of the turn for a baseline.
        attempt: How many attempts it took, from 1.
        seam: "chat", "complete" or "baseline".
        cached: Whether the reply came from the reply cache.
        fallbacks: What of the request was left out or changed because the server refused it, by name.
        reasoning_tokens: Tokens of the reply that were spent on reasoning, where known; `output_tokens` holds them too.
        reasoning_only: Whether the reply held reasoning and no answer.
    """

    model: str
    policy: str
    case: str
    repeat: int = 0
    part: int = 0
    reply: str | None = None
    finish_reason: str | None = None
    error: Failure | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    seconds: float = 0.0
    request_hash: str = ""
    attempt: int = 1
    seam: str = "chat"
    cached: bool = False
    fallbacks: tuple[str, ...] = ()
    reasoning_tokens: int | None = None
    reasoning_only: bool = False

    @property
    def answered(self) -> bool:
        """Whether asking again would be pointless: there is a reply, or the input is beyond the model's context."""
        return is_answer(self.error)


def is_answer(error: Failure | None) -> bool:
    """Return whether a call that ended so need not be made again."""
    return error is None or error.kind == "too_long"


def write_json(path: Path, content: object) -> None:
    """Write JSON to a file, whole or not at all.

    Raises:
        RunError: The file cannot be written.
    """
    _write_whole(path, [json.dumps(content, indent=1, ensure_ascii=False) + "\n"])


def write_lines(path: Path, values: Iterable[object]) -> None:
    """Write one line of JSON a value to a file, whole or not at all.

    Raises:
        RunError: The file cannot be written.
    """
    _write_whole(path, (json.dumps(value, ensure_ascii=False) + "\n" for value in values))


def _write_whole(path: Path, texts: Iterable[str]) -> None:
    scratch = None
    try:
        handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(texts)
        Path(scratch).replace(path)
    except OSError as error:
        if scratch is not None:
            Path(scratch).unlink(missing_ok=True)
        raise RunError(f"{path}: cannot be written: {error.strerror or error}") from None


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return a run's manifest.

    Raises:
        RunError: The folder is no run, or its manifest cannot be read.
    """
    path = folder / MANIFEST
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if folder.exists():
            raise RunError(f"{folder} is not a run: it has no {MANIFEST}") from None
        near = state_dir() / "runs" / folder
        hint = f"; did you mean {near}?" if near.is_dir() else "; give the folder that eval named, such as .salience/runs/NAME"
        raise RunError(f"there is no run folder {folder}{hint}") from None
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: cannot be read: {error}") from None
    if not isinstance(content, dict) or content.get("schema_version") != MANIFEST_VERSION:
        raise RunError(f"{path}: schema_version must be {MANIFEST_VERSION}; this run was written by another version of the workbench")
    content.setdefault("task", "extraction")  # of a run from before there were others
    lacking = [key for key in _MANIFEST_KEYS if key not in content]
    if lacking:
        raise RunError(f"{path}: {lacking[0]} is missing; the file was changed or cut off")
    return content


def read_records(folder: Path) -> Iterator[Record]:
    """Yield the records of a run in the order of writing; a torn last line is passed over.

    Raises:
        RunError: A line before the last is not a record.
    """
    path = folder / REPLIES
    if not path.exists():
        return
    decoder = msgspec.json.Decoder(Record)
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return  # torn: the process was killed while it wrote
            try:
                yield decoder.decode(line)
            except msgspec.DecodeError as error:
                raise RunError(f"{path}:{number}: is not a record: {error}") from None


class RunLog:
    """Appends records to a run's reply file; use as a context manager.

    Raises:
        RunError: The file cannot be opened, or another process is writing to it.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / REPLIES
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise RunError(f"{self.path}: cannot be opened for writing: {error.strerror or error}") from None
        self._synced = time.monotonic()
        try:
            _lock(self._file, self.path)
            self._cut_torn_line()
        except BaseException:
            os.close(self._file)
            raise

    def _cut_torn_line(self) -> None:
        size = os.fstat(self._file).st_size
        end = size
        while end > 0:
            start = max(0, end - 65_536)
            block = os.pread(self._file, end - start, start)
            at = block.rfind(b"\n")
            if at >= 0:
                end = start + at + 1
                break
            end = start
        if end != size:
            os.ftruncate(self._file, end)

    def append(self, record: Record) -> None:
        """Write one record; it is on disk within about a second, or when the log is closed.

        Raises:
            RunError: It could not be written whole, for instance on a full disk.
        """
        line = msgspec.json.encode(record) + b"\n"
        try:
            while line:  # nearly always one write; a rest is tried for the reason why it does not fit
                line = line[os.write(self._file, line) :]
            now = time.monotonic()
            if now - self._synced >= _SYNC_SECONDS:
                os.fsync(self._file)
                self._synced = now
        except OSError as error:
            raise RunError(f"{self.path}: a reply could not be written: {error.strerror or error}; what is there is kept") from None

    def __enter__(self) -> RunLog:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.fsync(self._file)
        os.close(self._file)


def _lock(handle: int, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Windows: opening for appending is safe there, a second writer is not noticed
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise RunError(f"{path.parent} is being written to by another process; wait for it, or choose another folder with -o") from None

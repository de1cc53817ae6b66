"""Recorded replies: one JSON Lines file that replays a model offline. Who asks and what is scored is elsewhere.

A line is one reply, with the hash of the request that it answers. It holds no request, no key and no time, so that the file is small and a
diff shows what changed. Lines are appended whole, under a lock where the system has one, and sorted when a session has ended; the sorted
file takes the place of the other under the same lock, and whoever waited to append looks again at which file is there.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec

from evals.data.files import read_lines
from evals.errors import DataError
from evals.report.safe import printable

Key = tuple[str, str, int]
"""Model, request hash and seed: what one reply answers."""


class Recorded(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """One recorded reply.

    Attributes:
        model: "provider/model", as the test names it.
        case: The case that it was asked for; for people, and to find what a new reply supersedes.
        policy: The policy's name, for the same.
        part: Which part of a turn that was split, from 0.
        seed: The seed it was asked with; the n-th repeat of a case, from 0, has seed n.
        request: `evals.requests.request_hash` of what was asked, 64 hex digits.
        reply: The reply's text; None where the input was beyond the model's context.
        too_long: What the model said of an input beyond its context, or None.
        finish_reason: Why the reply ended, where known.
        input_tokens: Tokens of the request, where known.
        output_tokens: Tokens of the reply, where known.
        fallbacks: What of the request was left out because the server refused it.
        reasoning_tokens: Tokens of the reply that were spent on reasoning, where known.
        reasoning_only: Whether the reply held reasoning and no answer.
    """

    model: Annotated[str, msgspec.Meta(min_length=1)]
    case: str
    policy: str
    part: Annotated[int, msgspec.Meta(ge=0)] = 0
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0
    request: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]
    reply: str | None = None
    too_long: str | None = None
    finish_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    fallbacks: tuple[str, ...] = ()
    reasoning_tokens: int | None = None
    reasoning_only: bool = False

    @property
    def key(self) -> Key:
        """What it answers."""
        return (self.model, self.request, self.seed)

    @property
    def place(self) -> tuple[str, str, str, int, int]:
        """Where it belongs whatever was asked there; lines are sorted by it."""
        return (self.model, self.case, self.policy, self.seed, self.part)


class Recording:
    """The replies of one file, read at the first use.

    Args:
        path: The file; it need not exist.

    Attributes:
        used: Keys that were looked up and found.
        added: Keys that were recorded by this process.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.used: set[Key] = set()
        self.added: set[Key] = set()
        self._replies: dict[Key, Recorded] | None = None

    @property
    def replies(self) -> dict[Key, Recorded]:
        """The replies by key; where a key comes twice, the first line counts.

        Raises:
            DataError: A line is no recorded reply; the message names file and line.
        """
        if self._replies is None:
            self._replies = {}
            for _, one in read_recording(self.path):
                self._replies.setdefault(one.key, one)
        return self._replies

    def get(self, key: Key) -> Recorded | None:
        """Return the reply to a request, or None where it is not recorded."""
        found = self.replies.get(key)
        if found is not None:
            self.used.add(key)
        return found

    def add(self, one: Recorded) -> None:
        """Keep a reply, in the file before anything else.

        Raises:
            DataError: The file cannot be written.
        """
        _append(self.path, msgspec.json.encode(one) + b"\n")
        self.replies[one.key] = one
        self.added.add(one.key)


def read_recording(path: Path) -> Iterator[tuple[int, Recorded]]:
    """Yield (line number from 1, reply) of a recording; a file that is not there holds none.

    Raises:
        DataError: A line is no recorded reply; the message names file and line.
    """
    if not path.exists():
        return
    decoder = msgspec.json.Decoder(Recorded)
    for number, line in read_lines(path):
        try:
            one = decoder.decode(line)
            if (one.reply is None) == (one.too_long is None):
                raise msgspec.ValidationError("must have either `reply` or `too_long`")
        except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
            advice = "delete the line and record it again with --salience-record"
            raise DataError(f"{path}:{number}: is no recorded reply: {printable(str(error))}; {advice}") from None
        yield number, one


def _append(path: Path, line: bytes) -> None:
    """Append one line with a single write, on a line of its own even where the last one lacks its end."""
    with locked(path) as handle:
        size = os.fstat(handle).st_size
        if size:
            os.lseek(handle, size - 1, os.SEEK_SET)
            if os.read(handle, 1) != b"\n":
                line = b"\n" + line
        while line:
            line = line[os.write(handle, line) :]


@contextmanager
def locked(path: Path) -> Iterator[int]:
    """Open a file for reading and appending, alone; what another process put in its place meanwhile is opened instead.

    Args:
        path: The file; it and its folder are made where they do not exist.

    Yields:
        The descriptor.

    Raises:
        DataError: It cannot be opened, or what is done inside fails.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o644)
            try:
                _lock(handle)
                if _is_at(handle, path):
                    yield handle
                    return
            finally:
                os.close(handle)
    except OSError as error:
        raise DataError(f"{path}: the recording cannot be written: {error.strerror or error}") from None


def _lock(handle: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows: one write that appends is whole there too, a session that sorts meanwhile is not noticed
        return
    fcntl.flock(handle, fcntl.LOCK_EX)


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def replace_file(path: Path, content: bytes, handle: int) -> None:
    """Write a file whole and put it in place of another, with the other's permissions.

    Args:
        path: The other.
        content: What is written.
        handle: A descriptor of the other, locked.

    Raises:
        OSError: It cannot be written; the other is as it was.
    """
    scratch, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(scratch, "wb") as file:
            file.write(content)
        Path(name).chmod(os.fstat(handle).st_mode & 0o777)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise

"""A review of labelled data: a person's decisions, kept one by one in a side file, and the new version that they make. No terminal here.

A review goes through items: predictions of a run that no label matches, or cases that nobody has labelled. Each decision is a line of
the side file, on disk before the next question is asked; what the cases look like follows from the source and these lines alone, so a
killed review loses nothing and goes on where it was. The source is never written to.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from evals.cases import UNLABELLED, Case, Forbidden, Memory
from evals.data.dataset import Cases
from evals.data.evidence import text_fault
from evals.data.faults import case_faults
from evals.errors import DataError, WorkbenchError
from evals.report.safe import printable
from evals.text import fold

_NUMBERED = re.compile(r"(.*?)([0-9]{1,9})", re.DOTALL)


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is reviewed; a side file belongs to one source.

    Attributes:
        review: Version of the side file's format.
        kind: "predictions" of a run, or "turns" that nobody has labelled.
        data: Hash of the cases that are written, as they were before.
        run: Which run, "" for turns.
        row: Which of its rows, "" for turns.
    """

    review: Literal[1] = 1
    kind: Literal["predictions", "turns"]
    data: str
    run: str = ""
    row: str = ""


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A line of the side file below its first, which is the `Source`.

    Attributes:
        do: What was decided. "back" takes back the decision before it; "wrote" notes the hash of the file that is written.
        case: The case's id.
        item: Which prediction of the case (`Item.key`), "" for the case itself.
        memory: The memory that "memory" adds.
        target: The id of the memory that "paraphrase" adds to.
        text: The phrase that "paraphrase" adds; the SHA-256 of "wrote".
        forbidden: The statement that "forbid" adds.
    """

    do: Literal["memory", "paraphrase", "forbid", "skip", "done", "back", "wrote"]
    case: str = ""
    item: str = ""
    memory: Memory | None = None
    target: str = ""
    text: str = ""
    forbidden: Forbidden | None = None

    @property
    def closes(self) -> bool:
        """Whether the item is settled by it: a prediction by any decision, a turn when it is done or skipped."""
        return bool(self.item) or self.do in ("skip", "done")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """What a person is asked about.

    Attributes:
        case: The case's id.
        content: The prediction, None where the case itself is to be labelled.
        salience: The prediction's salience, 0 to 1.
        outcome: What the prediction counts as now.
        label: The label that is nearest to it, if any.
        reason: Why no label matches.
    """

    case: str
    content: str | None = None
    salience: float = 0.0
    outcome: str = ""
    label: str | None = None
    reason: str = ""

    @property
    def key(self) -> str:
        """How the side file names the item within its case: folded, with half characters written out, so that a file can hold it."""
        return "" if self.content is None else printable(fold(self.content))


def next_id(memories: Sequence[Memory]) -> str:
    """Return the id of a new memory: the last numbered one's scheme, counted on ("m2" gives "m3", "f-09" gives "f-10")."""
    found = [match for memory in memories if (match := _NUMBERED.fullmatch(memory.id))]
    prefix, width = (found[-1][1], len(found[-1][2])) if found else ("m", 1)
    number = max((int(match[2]) for match in found if match[1] == prefix), default=0) + 1
    return f"{prefix}{number:0{width}}"


def applied(case: Case, entries: Iterable[Entry]) -> Case:
    """Return a case with decisions on it carried out, in order."""
    memories, forbidden, tags = list(case.memories), list(case.forbidden), case.tags
    for entry in entries:
        if entry.memory is not None:
            memories.append(entry.memory)
        if entry.forbidden is not None:
            forbidden.append(entry.forbidden)
        if entry.do == "paraphrase":
            place = next(place for place, one in enumerate(memories) if one.id == entry.target)
            memories[place] = msgspec.structs.replace(memories[place], paraphrases=(*memories[place].paraphrases, entry.text))
        if entry.do == "done":
            tags = tuple(tag for tag in tags if tag != UNLABELLED)
    return msgspec.structs.replace(case, memories=tuple(memories), forbidden=tuple(forbidden), tags=tags)


def entry_faults(case: Case, entry: Entry) -> Iterator[str]:
    """Yield what is wrong with a decision, given the case before it; the checks are those of `salience data validate`."""
    new = [entry.text] if entry.do == "paraphrase" else []
    new += [] if entry.memory is None else list(entry.memory.phrases)
    new += [] if entry.forbidden is None else list(entry.forbidden.phrases)
    if (entry.do, entry.memory is None, entry.forbidden is None) not in {
        ("memory", False, True), ("forbid", True, False), *((do, True, True) for do in ("paraphrase", "skip", "done"))
    }:  # fmt: skip
        yield f"the decision {entry.do!r} does not carry what belongs to it"
    yield from (f"the statement {fault}; type it yourself" for fault in map(text_fault, new) if fault)
    if entry.forbidden is None:
        known = {fold(phrase): memory.id for memory in case.memories for phrase in memory.phrases}
        yield from (f"memory {known[fold(phrase)]!r} says just this already" for phrase in new if fold(phrase) in known)
    elif entry.forbidden.contains is not None:
        said = fold("\n".join(message.get("content", "") for message in (*case.context, *case.messages)))
        if fold(entry.forbidden.contains) not in said:
            yield f"{entry.forbidden.contains!r} stands in no message of the case"
    if entry.do == "paraphrase" and entry.target not in {memory.id for memory in case.memories}:
        yield f"the case has no memory {entry.target!r}"
        return
    yield from (f"{field} {message}" for field, message in case_faults(applied(case, [entry])))


class Journal:
    """The side file of a review, open for one process until `close`.

    Args:
        path: The side file; it is made where there is none.
        source: What is reviewed.

    Raises:
        WorkbenchError: The file cannot be used, belongs to another source, or another process has it open.
    """

    def __init__(self, path: Path, source: Source) -> None:
        self.path = path
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise WorkbenchError(f"{path}: cannot be opened for writing: {error.strerror or error}") from None
        try:
            self._lock()
            self.entries = self._read(source)
        except BaseException:
            os.close(self._file)
            raise

    def append(self, entry: Entry) -> None:
        """Write one decision; it is on disk when this returns.

        Raises:
            WorkbenchError: It could not be written.
        """
        self._write(msgspec.json.encode(entry) + b"\n")
        self.entries.append(entry)

    def _write(self, line: bytes) -> None:
        try:
            while line:
                line = line[os.write(self._file, line) :]
            os.fsync(self._file)
        except OSError as error:
            raise WorkbenchError(f"{self.path}: a decision cannot be written: {error.strerror or error}; those before are kept") from None

    def _read(self, source: Source) -> list[Entry]:
        lines = self.path.read_bytes().splitlines(keepends=True)
        if lines and not lines[-1].endswith(b"\n"):  # torn: the process was killed while it wrote
            os.ftruncate(self._file, sum(map(len, lines[:-1])))
            del lines[-1]
        if not lines:
            self._write(msgspec.json.encode(source) + b"\n")
            return []
        kinds: list[type[Source] | type[Entry]] = [Source, *[Entry] * (len(lines) - 1)]
        read: list[Source | Entry] = []
        for number, (line, kind) in enumerate(zip(lines, kinds, strict=True), start=1):
            try:
                read.append(msgspec.json.decode(line, type=kind))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise DataError(f"{self.path}:{number}: is no line of a review: {error}; choose another file with -o") from None
        if read[0] != source:
            raise WorkbenchError(
                f"{self.path} belongs to a review of something else ({lines[0].decode().strip()}, not "
                f"{msgspec.json.encode(source).decode()}); choose another file with -o, or go on with what it was begun on"
            )
        return [entry for entry in read if isinstance(entry, Entry)]

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # Windows: a second reviewer of the same file is not noticed
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise WorkbenchError(f"{self.path}: another process is at this review; end that, or choose another file with -o") from None

    def close(self) -> None:
        """Close the file; it is of no use afterwards."""
        os.close(self._file)


class Review:
    """A review in progress: what is decided, what comes next, and the cases as they stand.

    Args:
        cases: The cases that are written, in order.
        items: What is asked, in order; each of a case among them.
        journal: The open side file.

    Raises:
        WorkbenchError: The side file's decisions do not fit the cases.
    """

    def __init__(self, cases: Cases, items: Sequence[Item], journal: Journal) -> None:
        self.items = items
        self._cases, self._journal = cases, journal
        self._places = {name: place for place, name in enumerate(cases.ids)}
        self._decided: list[Entry] = []
        for number, entry in enumerate(journal.entries, start=2):
            if entry.do == "back" and self._decided:
                self._decided.pop()
            elif entry.do not in ("back", "wrote"):
                fault = next(entry_faults(self.case(entry.case), entry), None) if entry.case in self._places else "there is no such case"
                if fault:
                    raise DataError(f"{journal.path}:{number}: does not fit case {entry.case!r}: {fault}; choose another file with -o")
                self._decided.append(entry)

    @property
    def current(self) -> Item | None:
        """The first item that is not settled, None at the end."""
        return next(iter(self._open()), None)

    def case(self, name: str) -> Case:
        """Return a case with what is decided so far.

        Args:
            name: Its id.
        """
        return applied(self._cases[self._places[name]], (entry for entry in self._decided if entry.case == name))

    def decide(self, entry: Entry) -> None:
        """Carry out a decision and keep it.

        Raises:
            DataError: It would make the case faulty; nothing is kept of it.
            WorkbenchError: It could not be written.
        """
        fault = next(entry_faults(self.case(entry.case), entry), None)
        if fault:
            raise DataError(fault)
        self._journal.append(entry)
        self._decided.append(entry)

    def back(self) -> Entry | None:
        """Take back the last decision and return it; None if there is none."""
        if not self._decided:
            return None
        self._journal.append(Entry(do="back"))
        return self._decided.pop()

    def tally(self) -> Counter[str]:
        """Return how often each thing was decided, by `Entry.do`, and under "left" how many items are open."""
        counts = Counter[str](entry.do for entry in self._decided)
        counts["left"] = len(self._open())
        return counts

    def _open(self) -> list[Item]:
        settled = {(entry.case, entry.item) for entry in self._decided if entry.closes}
        return [item for item in self.items if (item.case, item.key) not in settled]

    def check_target(self, target: Path) -> None:
        """Raise if a file is there that this review did not write, or that was changed since.

        Raises:
            WorkbenchError: It is.
        """
        if target.exists() and _digest(target) not in {entry.text for entry in self._journal.entries if entry.do == "wrote"}:
            raise WorkbenchError(
                f"{target} exists already and is not as this review wrote it; files are never overwritten: choose another with -o, "
                f"or move it away and the review is written anew"
            )

    def write(self, target: Path) -> None:
        """Write all cases, with what is decided, whole or not at all.

        Raises:
            WorkbenchError: A file is there that this review did not write, or it cannot be written.
        """
        by_case: dict[str, list[Entry]] = {}
        for entry in self._decided:
            by_case.setdefault(entry.case, []).append(entry)
        scratch = target.with_name(f".{target.name}.part")  # the lock on the side file makes it ours
        encode = msgspec.json.Encoder().encode
        try:
            with scratch.open("wb") as file:
                file.writelines(encode(applied(case, by_case.get(case.id, ()))) + b"\n" for case in self._cases)
                file.flush()
                os.fsync(file.fileno())
            self.check_target(target)
            self._journal.append(Entry(do="wrote", text=_digest(scratch)))  # before it is there, so that a kill leaves no unknown file
            scratch.replace(target)
        except OSError as error:
            raise WorkbenchError(f"{target}: cannot be written: {error.strerror or error}; the decisions are kept") from None
        finally:
            scratch.unlink(missing_ok=True)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

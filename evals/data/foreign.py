"""Data that is not in our own format, as a stream of cases with an account of what was read and skipped. Loaders are beside this module.

A loader (`evals.data.locomo`, `evals.data.columns`, `evals.data.hub`) gives a `ForeignData`; nothing here knows a format.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from evals.cases import Case
from evals.data.faults import case_faults
from evals.errors import DataError
from evals.report.safe import clip

SILVER_SALIENCE = 0.7
"""The salience of a memory whose data grades none: required, and no more is claimed."""


_SHOWN = 20
"""Reasons that an account lists in sentences; a file with a fault of its own in every line would give thousands."""
_SHOWN_IN_ERROR = 5


@dataclass(frozen=True, slots=True)
class Count:
    """How often something was met, and where first."""

    what: str
    count: int
    first: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignReport:
    """What a reading gave.

    Attributes:
        cases: Cases read.
        conversations: Their conversations.
        memories: Their memories of every grade.
        negatives: Cases without a required memory.
        notes: What was read in a way that should be known ("a datetime was cut to its day"), in the order met.
        skipped: What was left out, by reason, in the order met.
    """

    cases: int
    conversations: int
    memories: int
    negatives: int
    notes: tuple[Count, ...]
    skipped: tuple[Count, ...]

    def lines(self) -> list[str]:
        """Return the account in sentences, one a line; they hold names from the data, so they are shown through `evals.report.safe`."""
        return [
            f"Read: {self.cases} cases in {self.conversations} conversations, {self.memories} memories, {self.negatives} negative cases.",
            *_sentences("Note", self.notes),
            *_sentences("Skipped", self.skipped),
        ]


def _sentences(kind: str, counts: Sequence[Count]) -> Iterator[str]:
    for item in counts[:_SHOWN]:
        yield f"{kind}: {item.what}: {item.count} times, first at {item.first}."
    if len(counts) > _SHOWN:
        yield f"{kind}: {sum(item.count for item in counts[_SHOWN:])} times more, for {len(counts) - _SHOWN} other reasons."


class Tally:
    """What one reading has met so far. Loaders write to it, `ForeignData.report` reads it."""

    def __init__(self) -> None:
        self._cases = self._memories = self._negatives = 0
        self._conversations: set[str] = set()
        self._notes: dict[str, tuple[int, str]] = {}
        self._skipped: dict[str, tuple[int, str]] = {}
        self.first_fault = ""

    def note(self, what: str, place: str) -> None:
        """Count something that was read and should be known."""
        count, first = self._notes.get(what, (0, place))
        self._notes[what] = (count + 1, first)

    def skip(self, reason: str, place: str) -> None:
        """Count something that was left out."""
        count, first = self._skipped.get(reason, (0, place))
        self._skipped[reason] = (count + 1, first)

    def skip_faulty(self, what: str, error: DataError, place: str) -> None:
        """Count something that was left out because it cannot be read, by what is wrong with it.

        Args:
            what: What it is ("a session").
            error: Its fault; the message begins with the place.
            place: Where it is.
        """
        self.first_fault = self.first_fault or str(error)
        self.skip(f"{what} that is not as it must be ({str(error).removeprefix(f'{place}: ')})", place)

    def add(self, case: Case) -> None:
        """Count a case."""
        self._cases += 1
        self._memories += len(case.memories)
        self._negatives += case.negative
        self._conversations.add(case.conversation)

    def report(self) -> ForeignReport:
        """Return the account so far."""
        return ForeignReport(
            cases=self._cases, conversations=len(self._conversations), memories=self._memories, negatives=self._negatives,
            notes=tuple(Count(what, *rest) for what, rest in self._notes.items()),
            skipped=tuple(Count(what, *rest) for what, rest in self._skipped.items()),
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignData:
    """Data of another format, read as cases.

    Attributes:
        name: What the data is called on reports.
        silver: What the labels are, in one or two sentences, where they are not gold; else "".
        needed: What the file has to hold, for the error where it gives no case; "" where nothing helps beyond the faults.
        source: Yields (place, case), anew at each call and always the same; writes notes and skips to the tally.
    """

    name: str
    silver: str = ""
    needed: str = ""
    source: Callable[[Tally], Iterator[tuple[str, Case]]] = field(repr=False)
    _latest: list[Tally] = field(default_factory=list, init=False, repr=False, compare=False)

    def read(self) -> Iterator[Case]:
        """Yield all cases, in the data's order. Every call starts over and yields equal cases while the file stays the same.

        Raises:
            DataError: Something cannot be read as a case, an id is used twice, or there is no case at all. The message names the
                place, what was given and what is allowed.
        """
        tally = Tally()
        self._latest[:] = [tally]
        seen: set[str] = set()
        for place, case in self.source(tally):
            if case.id in seen:  # places take no memory: where it came first is looked up by reading again
                first = next(before for before, other in self.source(Tally()) if other.id == case.id)
                raise DataError(f"{place}: id {given(case.id)} is already used at {first}; ids must be unique")
            seen.add(case.id)
            tally.add(case)
            yield case
        if not seen:
            raise DataError("; ".join([f"{self.name}: holds no case", *self._why_none(tally)]))

    def _why_none(self, tally: Tally) -> Iterator[str]:
        if tally.first_fault:
            yield f"the first fault: {tally.first_fault}"
        skipped = tally.report().skipped
        if skipped:
            yield f"skipped: {'; '.join(f'{item.what} ({item.count})' for item in skipped[:_SHOWN_IN_ERROR])}"
        if len(skipped) > _SHOWN_IN_ERROR:
            yield f"and more for {len(skipped) - _SHOWN_IN_ERROR} other reasons"
        if self.needed:
            yield f"needed: {self.needed}"

    def report(self) -> ForeignReport:
        """Return the account of the latest reading, as far as it went; all zero before the first."""
        return (self._latest[0] if self._latest else Tally()).report()

    def notes(self) -> tuple[str, ...]:
        """Return the account of the latest reading in sentences."""
        return tuple(self.report().lines())


FOREIGN = {
    "locomo": ("evals.data.locomo", "open_locomo"),
    "halumem": ("evals.data.halumem", "open_halumem"),
    "longmemeval": ("evals.data.longmemeval", "open_longmemeval"),
    "mem0": ("evals.data.mem0", "open_mem0"),
    "chatgpt": ("evals.data.chats", "open_chatgpt"),
    "claude": ("evals.data.chats", "open_claude"),
    "hf": ("evals.data.hub", "open_hub"),
}
"""What may stand before the colon of "format:FILE", with the module and function that open it."""


def is_foreign(argument: str, columns: Sequence[str] = ()) -> bool:
    """Return whether data is read by a loader or a column map, and not as a file or bundled set of our own format."""
    return bool(columns) or argument.partition(":")[0] in FOREIGN


def open_foreign(argument: str, columns: Sequence[str] = ()) -> ForeignData | None:
    """Open data that is not in our own format.

    Args:
        argument: "locomo:FILE" or another of `FOREIGN`; "hf:NAME[:CONFIG][@SPLIT]" with a dataset of the Hugging Face Hub, or a local
            folder or file; or a path.
        columns: "field=column" words, see `evals.data.columns.ColumnMap.parse`.

    Returns:
        The data, or None where the argument is a bundled name or a file of our own format: no prefix, and no columns.

    Raises:
        DataError: The data cannot be opened, or the columns do not fit it.
    """
    kind, _, rest = argument.partition(":")
    if kind in FOREIGN:
        if not rest.strip():
            raise DataError(f"{argument!r} names no data; write {kind}:{'NAME[:CONFIG][@SPLIT]' if kind == 'hf' else 'FILE'}")
        if kind == "hf":
            from evals.data.columns import ColumnMap
            from evals.data.hub import open_hub

            return open_hub(rest, ColumnMap.parse(columns) if columns else None)
        if columns:
            raise DataError(f"a column map is not for {kind}:FILE, whose fields are known; leave the columns out")
        opener: Callable[[Path], ForeignData] = getattr(importlib.import_module(FOREIGN[kind][0]), FOREIGN[kind][1])
        return opener(Path(rest))
    if not columns:
        return None
    from evals.data.columns import ColumnMap, open_columns

    return open_columns(Path(argument), ColumnMap.parse(columns))


def build_case(fields: Mapping[str, Any], place: str) -> Case:
    """Return a case from plain values, checked as a case of our own format is.

    Args:
        fields: The fields of `evals.cases.Case`.
        place: Where they come from, for messages.

    Raises:
        DataError: A field is not what it must be; the message names place, field and what was wrong.
    """
    try:
        case = msgspec.convert(fields, Case)
        msgspec.json.encode(case)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `$.")
        raise DataError(f"{place}: {path.rstrip('`') + ': ' if path else ''}{problem}") from None
    except UnicodeEncodeError as error:  # a lone surrogate, which JSON can spell and no UTF-8 file or request can hold
        around = error.object[max(0, error.start - 20) : error.start + 20]
        raise DataError(f"{place}: holds half of a surrogate pair, which is no character, near {around!r}; mend or remove it") from None
    for name, fault in case_faults(case):
        raise DataError(f"{place}: {name}: {fault}")
    return case


def given(value: object) -> str:
    """Return a value as a message shows it: its `repr`, at most 80 characters."""
    try:
        return clip(repr(value), 80)
    except (RecursionError, ValueError):  # nested to the limit, or an integer of thousands of digits
        return f"a {type(value).__name__}"


def parse_json(text: str, place: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        DataError: It is not JSON, or nested too deeply.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise DataError(f"{place}: is nested too deeply to be read") from None
    except ValueError as error:
        raise DataError(f"{place}: is not JSON: {error}") from None


def parse_json_file(path: Path) -> Any:
    """Return the value of a JSON file, which is read whole.

    Raises:
        DataError: The file cannot be read, is not UTF-8 or not JSON.
    """
    try:
        return parse_json(path.read_text(encoding="utf-8-sig"), str(path))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: is not UTF-8 text ({error.reason} at byte {error.start})") from None

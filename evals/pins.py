"""Pins: what a team never wants to lose. A file of them says which memory a case must always give, and what must never be stored.

The file is TOML. `[[found]]` names a case and a memory of it; `[[never]]` a statement (`text`: no prediction may say the same) or a string
(`contains`: no prediction may hold it, also below the threshold), in one case or, without `case`, in any.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.errors import WorkbenchError
from evals.matching.base import Matcher, Pair
from evals.results import CaseResult, CellResult
from evals.rubric import Rubric
from evals.text import appears, fold

_FIELDS = {"found": {"case", "memory"}, "never": {"case", "text", "contains"}}


@dataclass(frozen=True, slots=True)
class Pin:
    """One pin.

    Attributes:
        kind: "found" or "never".
        case: The case's id; None for any (only of "never").
        memory: Id of the memory that must be found; None for "never".
        text: A statement that must not be stored, or None.
        contains: A string that must not be stored, or None.
        where: File and number, for messages.
    """

    kind: str
    case: str | None
    memory: str | None
    text: str | None
    contains: str | None
    where: str

    @property
    def name(self) -> str:
        """What it asks for, in words."""
        where = "any case" if self.case is None else self.case
        if self.kind == "found":
            return f"{where}: {self.memory} is always found"
        return f"{where}: never stored: {self.text if self.text is not None else self.contains}"


@dataclass(frozen=True, slots=True)
class PinResult:
    """What became of a pin.

    Attributes:
        pin: Which.
        holds: Whether it holds; None where a reply that could break it is lacking (a failed call) and those there are do not.
        reason: Why, in words.
    """

    pin: Pin
    holds: bool | None
    reason: str


def read_pins(path: Path) -> tuple[Pin, ...]:
    """Read a file of pins.

    Args:
        path: A TOML file.

    Raises:
        WorkbenchError: It cannot be read, or an entry is not as the module says; the message names the entry and what is allowed.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise WorkbenchError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WorkbenchError(f"{path}: is no TOML file of pins: {error}") from None
    if unknown := sorted(content.keys() - _FIELDS.keys()):
        raise WorkbenchError(f"{path}: holds {unknown[0]!r}; a file of pins holds [[found]] and [[never]]")
    pins = tuple(_pins(content, str(path)))
    if not pins:
        raise WorkbenchError(f"{path}: holds no pin; write [[found]] with case and memory, or [[never]] with text or contains")
    return pins


def _pins(content: Mapping[str, Any], path: str) -> Iterator[Pin]:
    for kind, entries in content.items():
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise WorkbenchError(f"{path}: {kind} must be written as [[{kind}]], once for each pin")
        for number, entry in enumerate(entries, 1):
            where = f"{path}, [[{kind}]] number {number}"
            for name, value in entry.items():
                if name not in _FIELDS[kind]:
                    raise WorkbenchError(f"{where}: has {name!r}; allowed are {', '.join(sorted(_FIELDS[kind]))}")
                if not isinstance(value, str) or not value.strip():
                    raise WorkbenchError(f"{where}: {name} must be a text that is not empty, got {value!r}")
                if name == "contains" and not fold(value):  # it would be in every prediction
                    raise WorkbenchError(f"{where}: contains must hold a character that is seen, got {value!r}")
            if kind == "found" and not {"case", "memory"} <= entry.keys():
                raise WorkbenchError(f"{where}: needs case and memory")
            if kind == "never" and ("text" in entry) == ("contains" in entry):
                raise WorkbenchError(f"{where}: needs either text (a statement) or contains (a string)")
            yield Pin(kind, entry.get("case"), entry.get("memory"), entry.get("text"), entry.get("contains"), where)


def check_pins(pins: tuple[Pin, ...], cell: CellResult, matcher: Matcher, rubric: Rubric) -> tuple[PinResult, ...]:
    """Return what became of each pin in a scored row, in order. With repeats a memory must be found in each of them.

    Args:
        pins: The pins.
        cell: The row.
        matcher: Decides whether a prediction says the same as a statement.
        rubric: Says which memories are required.

    Raises:
        WorkbenchError: A pin names a case that is not in the run, or a memory that its case has not or the rubric does not require.
    """
    by_case: dict[str, list[CaseResult]] = {}
    for result in cell.cases:
        by_case.setdefault(result.case.id, []).append(result)
    left_out = {entry.case: entry.kind for entry in (*cell.failed, *cell.missing, *cell.unscored)}
    return tuple(_check(pin, by_case, left_out, (matcher, rubric), limited=cell.signature.limited) for pin in pins)


def _check(
    pin: Pin, by_case: Mapping[str, list[CaseResult]], left_out: Mapping[str, str], judges: tuple[Matcher, Rubric], *, limited: bool
) -> PinResult:
    """What completed replies show counts first: a breach that was seen is one, whatever other replies would have been."""
    lacking = _lacking(pin, left_out, limited=limited)
    if pin.case is not None and pin.case not in by_case:
        if lacking:
            return PinResult(pin, None, lacking)
        raise WorkbenchError(f"{pin.where}: case {pin.case!r} is not in the run; pin a case of the data and split that is gated")
    results = by_case[pin.case] if pin.case is not None else [result for some in by_case.values() for result in some]
    found = _found(pin, results, judges[1]) if pin.kind == "found" else _never(pin, results, judges[0])
    return PinResult(pin, None, f"{lacking}; elsewhere {found.reason}") if found.holds and lacking else found


def _lacking(pin: Pin, left_out: Mapping[str, str], *, limited: bool) -> str:
    """Which replies that could break the pin are in no figure; "" if none."""
    if pin.case is not None:
        return f"not known, a reply of the case is in no figure: {left_out[pin.case]}" if pin.case in left_out else ""
    if left_out:
        return f"not known, {len(left_out)} cases are in no figure or not in every repeat"
    return "not known, the run covers a part of its split only" if limited else ""


def _found(pin: Pin, results: list[CaseResult], rubric: Rubric) -> PinResult:
    case = results[0].case
    memory = next((one for one in case.memories if one.id == pin.memory), None)
    if memory is None:
        have = ", ".join(one.id for one in case.memories) or "none"
        raise WorkbenchError(f"{pin.where}: case {case.id!r} has no memory {pin.memory!r}; it has {have}")
    if (grade := rubric.grade(memory)) != "required":
        raise WorkbenchError(
            f"{pin.where}: memory {pin.memory!r} of case {case.id!r} is {grade} under rubric {rubric.name}, so nothing is amiss where it "
            "is not found; pin a required one"
        )
    lost = sum(memory.id not in result.outcome.matched for result in results)
    if not lost:
        return PinResult(pin, True, f"found: {memory.content}")
    return PinResult(pin, False, f"not found{f' in {lost} of {len(results)} repeats' if len(results) > 1 else ''}: {memory.content}")


def _never(pin: Pin, results: list[CaseResult], matcher: Matcher) -> PinResult:
    said = [
        (result.case, prediction)
        for result in results
        for prediction in result.outcome.predictions
        if prediction.counted or pin.contains is not None
    ]
    if pin.contains is not None:
        bad = [(case.id, one.content, one.counted) for case, one in said if appears(pin.contains, [one.content])]
    else:
        pairs = [Pair(one.content, (pin.text or "",), case.language, case.owner.names) for case, one in said]
        bad = [(case.id, one.content, True) for (case, one), verdict in zip(said, matcher.score(pairs), strict=True) if verdict.match]
    if not bad:
        return PinResult(pin, True, f"in none of {len(said)} predictions" + (", those below the threshold too" if pin.contains else ""))
    case_id, content, counted = bad[0]
    more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
    return PinResult(pin, False, f"{case_id} {'stores' if counted else 'returns, below the threshold'}: {content}{more}")

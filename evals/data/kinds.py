"""The kinds of labelled data, and how to tell which kind a file holds. What is done with them is up to the callers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.cases import Case
from evals.data.faults import case_faults
from evals.data.foreign import is_foreign
from evals.data.recall_faults import Fault, consolidation_faults, reply_faults, scenario_faults
from evals.errors import DataError
from evals.matching.pairs import PHENOMENA, LabelledPair
from evals.recall_cases import ConsolidationCase, Scenario
from evals.reply_cases import LabelledClaim, ReplyCase
from evals.text import fold


def _pair_faults(pair: LabelledPair) -> Iterator[Fault]:
    if pair.phenomenon not in PHENOMENA:
        yield "phenomenon", f"must be one of {', '.join(PHENOMENA)}; got {pair.phenomenon!r}"
    for name in ("predicted", "gold"):
        if not getattr(pair, name).strip():
            yield name, "is empty"
    if not pair.match and fold(pair.predicted) == fold(pair.gold):
        yield "match", "is false, but the two statements are the same text"


@dataclass(frozen=True, slots=True)
class RowKind:
    """A kind of labelled data.

    Attributes:
        name: What it is called in messages, in the singular.
        type: What a line decodes into.
        key: A field that lines of this kind have and others have not.
        faults: Yields the faults of a row that its type cannot express.
        texts: Yields what a row says, for the search for text that two splits share; nothing where splits do not matter.
    """

    name: str
    type: type[Any]
    key: str
    faults: Callable[[Any], Iterator[Fault]]
    texts: Callable[[Any], Iterable[str]] = lambda row: ()  # noqa: ARG005


def _messages(case: Case) -> list[str]:
    return [message.get("content", "") for message in case.messages]


def _facts(case: ConsolidationCase) -> list[str]:
    return [case.new_fact]


def _sessions(scenario: Scenario) -> list[str]:
    return [message.get("content", "") for session in scenario.sessions for message in session.messages]


EXTRACTION = RowKind("extraction case", Case, "memories", case_faults, _messages)
KINDS = (
    EXTRACTION,
    RowKind("consolidation case", ConsolidationCase, "new_fact", consolidation_faults, _facts),
    RowKind("scenario", Scenario, "sessions", scenario_faults, _sessions),
    RowKind("model reply", ReplyCase, "reply", reply_faults),
    RowKind("matcher pair", LabelledPair, "predicted", _pair_faults),
    RowKind("labelled statement", LabelledClaim, "statement", lambda claim: iter(())),  # noqa: ARG005
)


TASK_OF = {"extraction case": "extraction", "consolidation case": "consolidation", "scenario": "scenario"}
"""Kind -> the task of `salience eval` that its rows are cases of."""


def kind_of(path: Path) -> RowKind:
    """Return the kind of a JSON Lines file, by the fields of its first line; an extraction case where these do not tell.

    Raises:
        DataError: The file cannot be read.
    """
    from evals.data.files import read_lines

    _, line = next(read_lines(path), (0, ""))
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return EXTRACTION
    return next((kind for kind in KINDS if isinstance(row, dict) and kind.key in row), EXTRACTION)


def require_extraction(path: Path) -> None:
    """Raise if a file holds another kind of data than extraction cases.

    Raises:
        DataError: It does; the message says which kind.
    """
    kind = kind_of(path)
    if kind is not EXTRACTION:
        task = TASK_OF.get(kind.name)
        hint = f"; salience eval --task {task} evaluates it" if task else ""
        raise DataError(f"{path}: holds labelled data of another kind ({kind.name}); extraction cases are needed here{hint}")


def is_extraction(data: str, columns: Sequence[str] = ()) -> bool:
    """Return whether the data that a name, path or "loader:FILE" stands for is read as extraction cases.

    Raises:
        DataError: There is no such data.
    """
    from evals.data.files import data_files

    return is_foreign(data, columns) or kind_of(data_files(data)[0]) is EXTRACTION

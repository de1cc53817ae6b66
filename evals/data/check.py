"""Checks of a dataset as a whole. Every fault is found, not just the first; nothing is changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from evals.cases import Case
from evals.data.files import data_files, explain, read_lines
from evals.data.kinds import RowKind, kind_of
from evals.errors import DataError
from evals.matching.pairs import LabelledPair
from evals.text import fold, word_ngrams

NGRAM = 8
"""Words in a row that two splits may not share; in text without spaces three times as many characters."""
_SHORT = 25
"""Messages up to so many characters ("ok, thanks") may stand in several cases."""
_TOO_ALIKE = 0.7
"""Dice coefficient of the character trigrams of two golds from which on they are held to tell the same."""


class _Placed(NamedTuple):
    """A row and where it stands."""

    file: str
    line: int
    kind: RowKind
    row: Any


class Finding(msgspec.Struct, frozen=True):
    """A fault: where it is (file, line from 1 or 0 for the whole file, field) and what is wrong."""

    file: str
    line: int
    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.field}: {self.message}" if self.field else f"{self.file}:{self.line}: {self.message}"


def validate(name_or_path: str) -> tuple[list[Finding], int]:
    """Check a dataset or file as `salience data validate` does; what kind of data it is each file's first line tells.

    Args:
        name_or_path: A bundled name, a file or a folder.

    Returns:
        All faults in file order, and how many rows were read.

    Raises:
        DataError: There is no such dataset or folder.
    """
    findings: list[Finding] = []
    placed: list[_Placed] = []
    for path in data_files(name_or_path):
        kind = kind_of(path)
        decoder = msgspec.json.Decoder(kind.type)
        before = len(placed) + len(findings)
        try:
            for number, line in read_lines(path):
                if line.strip() == "[" or line.startswith("[{"):
                    raise DataError(f"{path}:{number}: is one JSON array; write one case a line (JSON Lines)")
                try:
                    placed.append(_Placed(str(path), number, kind, decoder.decode(line)))
                except (msgspec.DecodeError, RecursionError) as error:
                    findings.append(Finding(str(path), number, "", explain(error, line)))
        except DataError as error:  # the rest of this file cannot be read; other files are
            where, _, message = str(error).removeprefix(f"{path}:").partition(": ")
            findings.append(Finding(str(path), int(where) if where.isdigit() else 0, "", message))
        if len(placed) + len(findings) == before:
            findings.append(Finding(str(path), 0, "", "holds no case"))
    for one in placed:
        findings += [Finding(one.file, one.line, field, message) for field, message in one.kind.faults(one.row)]
    findings += dataset_faults(placed)
    findings.sort(key=lambda finding: (finding.file, finding.line))
    return findings, len(placed)


def dataset_faults(placed: Sequence[_Placed]) -> Iterator[Finding]:
    """Yield the faults that show only between rows: ids, conversations in two splits, messages shared, text shared by splits."""
    ids: dict[str, str] = {}
    splits: dict[str, str] = {}
    messages: dict[str, str] = {}
    grams: dict[str, tuple[str, str]] = {}
    for one in placed:
        row, file, line = one.row, one.file, one.line
        if hasattr(row, "id"):
            if row.id in ids:
                yield Finding(file, line, "id", f"{row.id!r} is already used at {ids[row.id]}")
            ids.setdefault(row.id, f"{file}:{line}")
        if hasattr(row, "split"):
            if splits.setdefault(row.conversation, row.split) != row.split:
                yield Finding(file, line, "split", f"conversation {row.conversation!r} is also in split {splits[row.conversation]!r}")
            shared = _shared(row, one.kind.texts(row), grams)
            if shared:
                yield Finding(file, line, "messages" if isinstance(row, Case) else "", shared)
        if isinstance(row, Case):
            yield from _messages_of_others(one, row, messages)
            yield from _unseen(one, row)
    yield from _pairs_in_both_halves([one for one in placed if isinstance(one.row, LabelledPair)])


def _pairs_in_both_halves(placed: Sequence[_Placed]) -> Iterator[Finding]:
    """What chose a threshold must not measure it: a pair of one half may not resemble one of the other half of its language."""
    seen: dict[str, list[tuple[frozenset[str], _Placed]]] = {}
    for one in placed:
        text = fold(one.row.gold)
        grams = frozenset(text[i : i + 3] for i in range(max(1, len(text) - 2)))
        for others, other in seen.get(one.row.language, []):
            alike = 2 * len(grams & others) / (len(grams) + len(others))
            if other.row.half != one.row.half and alike >= _TOO_ALIKE:
                where = f"{other.file}:{other.line}"
                yield Finding(one.file, one.line, "gold", f"is nearly that of {where}, which is in the other half: {other.row.gold!r}")
                break
        seen.setdefault(one.row.language, []).append((grams, one))


def _unseen(one: _Placed, case: Case) -> Iterator[Finding]:
    """A string to be looked for that the case itself has nowhere is most likely mistyped."""
    said = fold("\n".join(message.get("content", "") for message in (*case.context, *case.messages)))
    for i, item in enumerate(case.forbidden):
        if item.contains is not None and fold(item.contains) not in said:
            yield Finding(one.file, one.line, f"forbidden[{i}].contains", f"{item.contains!r} stands in no message of the case")


def _messages_of_others(one: _Placed, case: Case, messages: dict[str, str]) -> Iterator[Finding]:
    for i, message in enumerate(case.messages):
        key = fold(message.get("content", ""))
        if len(key) > _SHORT and messages.get(key, case.id) != case.id:
            yield Finding(one.file, one.line, f"messages[{i}]", f"is also a message of case {messages[key]!r}")
        messages[key] = case.id


def _shared(row: Any, texts: Iterable[str], grams: dict[str, tuple[str, str]]) -> str | None:
    found = None
    for gram in word_ngrams(" ".join(texts), NGRAM):
        split, other = grams.setdefault(gram, (row.split, row.id))
        if split != row.split:
            found = f"shares a run of text with case {other!r} of split {split!r}: {gram!r}"
    return found

"""Checks of a dataset as a whole. Every fault is found, not just the first; nothing is changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from evals.cases import Case
from evals.data.faults import case_faults
from evals.data.files import data_files, explain, read_lines
from evals.errors import DataError
from evals.text import fold, word_ngrams

NGRAM = 8
"""Words in a row that two splits may not share; in text without spaces three times as many characters."""
_SHORT = 25
"""Messages up to so many characters ("ok, thanks") may stand in several cases."""


class Finding(msgspec.Struct, frozen=True):
    """A fault: where it is (file, line from 1 or 0 for the whole file, field) and what is wrong."""

    file: str
    line: int
    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.field}: {self.message}" if self.field else f"{self.file}:{self.line}: {self.message}"


def validate(name_or_path: str) -> tuple[list[Finding], int]:
    """Check a dataset or file as `salience data validate` does.

    Args:
        name_or_path: A bundled name, a file or a folder.

    Returns:
        All faults in file order, and how many cases were read.

    Raises:
        DataError: There is no such dataset or folder.
    """
    findings: list[Finding] = []
    placed: list[tuple[str, int, Case]] = []
    decoder = msgspec.json.Decoder(Case)
    for path in data_files(name_or_path):
        before = len(placed) + len(findings)
        try:
            for number, line in read_lines(path):
                if line.strip() == "[" or line.startswith("[{"):
                    raise DataError(f"{path}:{number}: is one JSON array; write one case a line (JSON Lines)")
                try:
                    placed.append((str(path), number, decoder.decode(line)))
                except (msgspec.DecodeError, RecursionError) as error:
                    findings.append(Finding(str(path), number, "", explain(error, line)))
        except DataError as error:  # the rest of this file cannot be read; other files are
            where, _, message = str(error).removeprefix(f"{path}:").partition(": ")
            findings.append(Finding(str(path), int(where) if where.isdigit() else 0, "", message))
        if len(placed) + len(findings) == before:
            findings.append(Finding(str(path), 0, "", "holds no case"))
    for file, number, case in placed:
        findings += [Finding(file, number, field, message) for field, message in case_faults(case)]
    findings += dataset_faults(placed)
    findings.sort(key=lambda finding: (finding.file, finding.line))
    return findings, len(placed)


def dataset_faults(placed: Iterable[tuple[str, int, Case]]) -> Iterator[Finding]:
    """Yield the faults that show only between cases: ids, conversations in two splits, messages shared, text shared by splits."""
    ids: dict[str, str] = {}
    splits: dict[str, str] = {}
    messages: dict[str, str] = {}
    grams: dict[str, tuple[str, str]] = {}
    for file, line, case in placed:
        if case.id in ids:
            yield Finding(file, line, "id", f"{case.id!r} is already used at {ids[case.id]}")
        ids.setdefault(case.id, f"{file}:{line}")
        if splits.setdefault(case.conversation, case.split) != case.split:
            yield Finding(file, line, "split", f"conversation {case.conversation!r} is also in split {splits[case.conversation]!r}")
        for i, message in enumerate(case.messages):
            key = fold(message.get("content", ""))
            if len(key) > _SHORT and messages.get(key, case.id) != case.id:
                yield Finding(file, line, f"messages[{i}]", f"is also a message of case {messages[key]!r}")
            messages[key] = case.id
        shared = _shared(case, grams)
        if shared:
            yield Finding(file, line, "messages", shared)


def _shared(case: Case, grams: dict[str, tuple[str, str]]) -> str | None:
    found = None
    for gram in word_ngrams(" ".join(message.get("content", "") for message in case.messages), NGRAM):
        split, other = grams.setdefault(gram, (case.split, case.id))
        if split != case.split:
            found = f"shares a run of text with case {other!r} of split {split!r}: {gram!r}"
    return found

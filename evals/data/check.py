"""Checks of labelled cases that types cannot express. Every fault is found, not just the first; nothing is changed."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator

import msgspec

from evals.cases import REASONS_WITH_CONTAINS, REQUIRED_FROM, Case, Memory
from evals.data.files import data_files, explain, read_lines
from evals.text import fold, word_ngrams

ROLES = ("user", "assistant", "tool", "system")
NGRAM = 8
"""Words in a row that two splits may not share (characters for text without spaces)."""


class Finding(msgspec.Struct, frozen=True):
    """A fault: where it is (file, line from 1, field) and what is wrong."""

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
        DataError: There is no such dataset, or a file cannot be read at all.
    """
    findings: list[Finding] = []
    placed: list[tuple[str, int, Case]] = []
    decoder = msgspec.json.Decoder(Case)
    for path in data_files(name_or_path):
        for number, line in read_lines(path):
            try:
                placed.append((str(path), number, decoder.decode(line)))
            except (msgspec.DecodeError, RecursionError) as error:
                findings.append(Finding(str(path), number, "", explain(error, line)))
    for file, number, case in placed:
        findings += [Finding(file, number, field, message) for field, message in case_faults(case)]
    findings += dataset_faults(placed)
    findings.sort(key=lambda finding: (finding.file, finding.line))
    return findings, len(placed)


def case_faults(case: Case) -> Iterator[tuple[str, str]]:
    """Yield (field, message) for every fault of a single case."""
    yield from _date_faults("date", case.date)
    for name in ("context", "messages"):
        for i, message in enumerate(getattr(case, name)):
            yield from _message_faults(f"{name}[{i}]", message)
    seen: set[str] = set()
    for i, memory in enumerate(case.memories):
        where = f"memories[{i}]"
        if memory.id in seen:
            yield f"{where}.id", f"{memory.id!r} is used twice in this case"
        seen.add(memory.id)
        yield from _memory_faults(case, memory, where)
    yield from _forbidden_faults(case)


def _message_faults(where: str, message: dict[str, str]) -> Iterator[tuple[str, str]]:
    for key in ("role", "content"):
        if key not in message:
            yield where, f"{key} is missing"
    if message.get("role", "user") not in ROLES:
        yield f"{where}.role", f"must be one of {', '.join(ROLES)}, got {message['role']!r}"
    if not message.get("content", "x").strip():
        yield f"{where}.content", "is empty"
    unknown = sorted(set(message) - {"role", "content", "name"})
    if unknown:
        yield f"{where}.{unknown[0]}", "is not a field of a message; allowed: role, content, name"


def _date_faults(where: str, value: str | None) -> Iterator[tuple[str, str]]:
    if value is None:
        return
    padded = value + "-01-01"[len(value) - 4 :] if len(value) < 10 else value
    try:
        datetime.date.fromisoformat(padded)
    except ValueError:
        yield where, f"there is no such date: {value!r}"


def _memory_faults(case: Case, memory: Memory, where: str) -> Iterator[tuple[str, str]]:
    yield from _date_faults(f"{where}.event_date", memory.event_date)
    if memory.salience >= REQUIRED_FROM and not memory.evidence:
        yield f"{where}.evidence", "is empty; a required memory needs an exact piece of a message"
    for j, evidence in enumerate(memory.evidence):
        if evidence.message >= len(case.messages):
            yield f"{where}.evidence[{j}].message", f"is {evidence.message}, but there are only {len(case.messages)} messages (from 0)"
        elif evidence.text not in case.messages[evidence.message].get("content", ""):
            yield f"{where}.evidence[{j}].text", f"does not stand in message {evidence.message}: {evidence.text!r}"


def _forbidden_faults(case: Case) -> Iterator[tuple[str, str]]:
    kept = {fold(phrase): memory.id for memory in case.memories for phrase in memory.phrases}
    for i, item in enumerate(case.forbidden):
        where = f"forbidden[{i}]"
        for phrase in item.phrases:
            if fold(phrase) in kept:
                yield where, f"is also memory {kept[fold(phrase)]!r}: {phrase!r}"
        if (item.reason in REASONS_WITH_CONTAINS) != (item.contains is not None):
            yield f"{where}.contains", f"must be a string for {' and '.join(REASONS_WITH_CONTAINS)}, and null for {item.reason!r} otherwise"
        elif item.contains is not None:
            holders = [owner for phrase, owner in kept.items() if fold(item.contains) in phrase]
            if holders:
                yield f"{where}.contains", f"{item.contains!r} stands in memory {holders[0]!r}"


def dataset_faults(placed: Iterable[tuple[str, int, Case]]) -> Iterator[Finding]:
    """Yield the faults that show only between cases: ids, conversations in two splits, messages shared, text shared by splits."""
    ids: dict[str, str] = {}
    splits: dict[str, str] = {}
    messages: dict[tuple[str, str], str] = {}
    grams: dict[str, tuple[str, str]] = {}
    for file, line, case in placed:
        if case.id in ids:
            yield Finding(file, line, "id", f"{case.id!r} is already used at {ids[case.id]}")
        ids.setdefault(case.id, f"{file}:{line}")
        if splits.setdefault(case.conversation, case.split) != case.split:
            yield Finding(file, line, "split", f"conversation {case.conversation!r} is also in split {splits[case.conversation]!r}")
        for i, message in enumerate(case.messages):
            content = message.get("content", "")
            key = (case.conversation, fold(content))
            if len(key[1]) > 25 and key in messages and messages[key] != case.id:
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
            found = f"shares {NGRAM} words in a row with case {other!r} of split {split!r}: {gram!r}"
    return found

"""Loads labelled data of the kinds beside extraction cases, and describes it in numbers. Extraction cases: `files` and `describe`."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from evals.data.files import bundled_names, data_files, explain, read_lines
from evals.data.kinds import Kind, kind_of
from evals.errors import DataError
from evals.report.safe import printable

_SHOWN = ("split", "half", "language", "status", "phenomenon", "match", "model")
"""Fields of closed lists by which rows are counted, where their kind has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """Rows of one kind.

    Attributes:
        name: The dataset's name; for a user's file its stem.
        version: Its version, "" where none is stated.
        kind: The kind of its rows.
        rows: The rows, in file order.
    """

    name: str
    version: str
    kind: Kind
    rows: tuple[Any, ...]

    @property
    def hash(self) -> str:
        """First 12 hex digits of the SHA-256 over the rows' canonical JSON, sorted, so that their order is free."""
        encode = msgspec.json.Encoder(order="sorted").encode
        digests = sorted(hashlib.sha256(encode(row)).hexdigest() for row in self.rows)
        return hashlib.sha256("\n".join(digests).encode("ascii")).hexdigest()[:12]


def load_labelled(name_or_path: str) -> Labelled:
    """Load labelled data whose kind its first line tells.

    Args:
        name_or_path: A bundled name, a file or a folder.

    Raises:
        DataError: Something cannot be read, or files of several kinds lie in one folder; the message names file, line and field.
    """
    files = data_files(name_or_path)
    kinds = {kind.name: kind for kind in map(kind_of, files)}
    if len(kinds) > 1:
        raise DataError(f"{name_or_path}: holds files of several kinds ({', '.join(sorted(kinds))}); name one of them")
    (kind,) = kinds.values()
    rows = [row for path in files for row in _rows(path, kind)]
    if not rows:
        raise DataError(f"{name_or_path}: holds no {kind.name}")
    about: Mapping[str, str] = {}
    if name_or_path in bundled_names():
        about = json.loads((files[0].parent / "dataset.json").read_text(encoding="utf-8"))
    name = about.get("name") or Path(name_or_path).resolve().stem
    return Labelled(name=name, version=about.get("version", ""), kind=kind, rows=tuple(rows))


def _rows(path: Path, kind: Kind) -> Iterable[Any]:
    decoder = msgspec.json.Decoder(kind.type)
    for number, line in read_lines(path):
        try:
            row = decoder.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            raise DataError(f"{path}:{number}: {explain(error, line)}") from None
        for field, message in kind.faults(row):
            raise DataError(f"{path}:{number}: {field}: {message} (salience data validate lists every fault)")
        yield row


def describe_labelled(data: Labelled) -> dict[str, Any]:
    """Return counts: of rows by every closed field that their kind has, of tags, and of what the kind alone has."""
    rows = data.rows
    found: dict[str, Any] = {"name": data.name, "version": data.version, "hash": data.hash, "kind": data.kind.name, "rows": len(rows)}
    if hasattr(rows[0], "conversation"):
        found["conversations"] = len({row.conversation for row in rows})
    for field in _SHOWN:
        if hasattr(rows[0], field):
            found[field] = _counts(str(getattr(row, field)) for row in rows)
    own = {"consolidation case": _decisions, "scenario": _scenarios, "model reply": _replies}.get(data.kind.name)
    found |= own(rows) if own else {}
    if hasattr(rows[0], "tags"):
        found["tags"] = _counts(tag for row in rows for tag in row.tags)
    return found


def _decisions(rows: Iterable[Any]) -> dict[str, Any]:
    rows = list(rows)
    return {
        "action": _counts(row.decision.action for row in rows),
        "action by split": _counts(f"{row.split} {row.decision.action}" for row in rows),
        "existing memories": _counts(str(len(row.existing)) for row in rows),
        "with other acceptable decisions": sum(bool(row.acceptable) for row in rows),
        "with protected memories": sum(bool(row.protected) for row in rows),
        "with several to retire": sum(bool(row.decision.also_retire) for row in rows),
    }


def _scenarios(rows: Iterable[Any]) -> dict[str, Any]:
    rows = list(rows)
    return {
        "sessions": sum(len(row.sessions) for row in rows),
        "sessions a scenario": f"{min(len(row.sessions) for row in rows)} to {max(len(row.sessions) for row in rows)}",
        "live at the end": sum(len(row.final) for row in rows),
        "retired": _counts(gone.reason for row in rows for gone in row.retired),
        "questions": _counts(question.kind for row in rows for question in row.questions),
    }


def _replies(rows: Iterable[Any]) -> dict[str, Any]:
    return {"items": sum(len(row.items) for row in rows)}


def _counts(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items(), key=lambda item: (-item[1], item[0])))


def render_labelled(description: Mapping[str, Any]) -> str:
    """Return a description as text."""
    d = dict(description)
    head = f"{printable(d.pop('name'))} {d.pop('version')} ({d.pop('hash')}): {d.pop('rows')} of kind {d.pop('kind')}"
    lines = [head]
    for name, value in d.items():
        shown = ", ".join(f"{printable(key)} {count}" for key, count in value.items()) if isinstance(value, dict) else str(value)
        lines.append(f"{name}: {shown}")
    return "\n".join(lines)

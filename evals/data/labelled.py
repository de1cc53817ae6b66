"""Loads labelled data of the kinds beside extraction cases, and describes it in numbers. Extraction cases: `files` and `describe`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from evals.data.dataset import hash_of_digests
from evals.data.describe import sorted_counts
from evals.data.files import data_files, name_and_version, read_rows
from evals.data.kinds import RowKind, kind_of
from evals.errors import DataError
from evals.report.safe import printable

_MANY = 20
_SHOWN = ("split", "half", "language", "status", "phenomenon", "match", "supported", "source", "model")
"""Fields of closed lists by which rows are counted, where their kind has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """Rows of one kind.

    Attributes:
        name: The dataset's name; for a user's file its stem.
        version: Its version, "" where none is stated.
        kind: The kind of its rows.
        rows: The rows, in file order.
        files: File name -> how many of them it holds.
    """

    name: str
    version: str
    kind: RowKind
    rows: tuple[Any, ...]
    files: Mapping[str, int]

    @property
    def hash(self) -> str:
        """First 12 hex digits of the SHA-256 over the rows' canonical JSON, sorted, so that their order is free."""
        encode = msgspec.json.Encoder(order="sorted").encode
        return hash_of_digests(hashlib.sha256(encode(row)).digest() for row in self.rows)


def load_labelled(name_or_path: str, split: str = "all") -> Labelled:
    """Load labelled data whose kind its first line tells.

    Args:
        name_or_path: A bundled name, a file or a folder.
        split: "train", "dev", "test" or "all"; only "all" for kinds without splits.

    Raises:
        DataError: Something cannot be read, files of several kinds lie in one folder, or there is no such split; the message names file,
            line and field.
    """
    files = data_files(name_or_path)
    kinds = {kind.name: kind for kind in map(kind_of, files)}
    if len(kinds) > 1:
        raise DataError(f"{name_or_path}: holds files of several kinds ({', '.join(sorted(kinds))}); name one of them")
    (kind,) = kinds.values()
    placed = [(path.name, row) for path in files for _, row in read_rows(path, kind)]
    if not placed:
        raise DataError(f"{name_or_path}: holds no {kind.name}")
    if split != "all":
        if not hasattr(placed[0][1], "split"):
            raise DataError(f"{name_or_path}: a {kind.name} belongs to no split; leave --split away")
        placed = [(file, row) for file, row in placed if row.split == split]
        if not placed:
            raise DataError(f"{name_or_path}: holds no {kind.name} of split {split!r}")
    name, version = name_and_version(name_or_path, files)
    return Labelled(
        name=name, version=version, kind=kind, rows=tuple(row for _, row in placed), files=sorted_counts(file for file, _ in placed)
    )


def describe_labelled(data: Labelled) -> dict[str, Any]:
    """Return counts: of rows by every closed field that their kind has, of tags, and of what the kind alone has."""
    rows = data.rows
    found: dict[str, Any] = {"name": data.name, "version": data.version, "hash": data.hash, "kind": data.kind.name, "rows": len(rows)}
    found["files"] = dict(data.files)
    if hasattr(rows[0], "conversation"):
        found["conversations"] = len({row.conversation for row in rows})
    for field in _SHOWN:
        if hasattr(rows[0], field):
            found[field] = _folded(sorted_counts(str(getattr(row, field)) for row in rows))
    own = {"consolidation case": _decisions, "scenario": _scenarios, "model reply": _replies}.get(data.kind.name)
    found |= own(rows) if own else {}
    if hasattr(rows[0], "tags"):
        found["tags"] = sorted_counts(tag for row in rows for tag in row.tags)
    return found


def _folded(counts: dict[str, int]) -> dict[str, int]:
    """Return counts with the values that occur once counted together, where there are many of them."""
    once = sum(count == 1 for count in counts.values())
    return {**{name: count for name, count in counts.items() if count > 1}, "once each": once} if once > _MANY else counts


def _decisions(rows: Sequence[Any]) -> dict[str, Any]:
    return {
        "action": sorted_counts(row.decision.action for row in rows),
        "action by split": sorted_counts(f"{row.split} {row.decision.action}" for row in rows),
        "existing memories": sorted_counts(str(len(row.existing)) for row in rows),
        "with other acceptable decisions": sum(bool(row.acceptable) for row in rows),
        "with protected memories": sum(bool(row.protected) for row in rows),
        "with several to retire": sum(bool(row.decision.also_retire) for row in rows),
    }


def _scenarios(rows: Sequence[Any]) -> dict[str, Any]:
    return {
        "sessions": sum(len(row.sessions) for row in rows),
        "sessions a scenario": f"{min(len(row.sessions) for row in rows)} to {max(len(row.sessions) for row in rows)}",
        "live at the end": sum(len(row.final) for row in rows),
        "retired": sorted_counts(gone.reason for row in rows for gone in row.retired),
        "questions": sorted_counts(question.kind for row in rows for question in row.questions),
    }


def _replies(rows: Sequence[Any]) -> dict[str, Any]:
    return {"items": sum(len(row.items) for row in rows)}


def render_labelled(description: Mapping[str, Any]) -> str:
    """Return a description as text."""
    d = dict(description)
    head = f"{printable(d.pop('name'))} {d.pop('version')} ({d.pop('hash')}): {d.pop('rows')} of kind {d.pop('kind')}"
    lines = [head]
    for name, value in d.items():
        shown = ", ".join(f"{printable(key)} {count}" for key, count in value.items()) if isinstance(value, dict) else str(value)
        lines.append(f"{name}: {shown}")
    return "\n".join(lines)

"""Baseline files: a scored row that a team commits and later rows are held against. Written once from a run, read without one.

The file is JSON: a signature, every case's counts and what was found and wrongly returned, and a hash of it all, so that a figure changed
by hand, or half a merge, is refused. No message and no label of the data is in it but what predictions repeat.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec

from evals.errors import RunError, WorkbenchError
from evals.metrics.measures import MEASURES
from evals.setups import Task
from evals.sides import Side, SideCase
from evals.signature import Signature

SCHEMA_VERSION = 1


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    schema_version: int
    label: str
    signature: str
    cases: tuple[SideCase, ...]
    sha256: str
    task: Task = "extraction"


def write_baseline(side: Side, path: Path) -> None:
    """Write a row as a baseline.

    Args:
        side: The row; every case of its split must be completed.
        path: Where to; an existing file is replaced, whole or not at all.

    Raises:
        RunError: The row covers a part of its split only, or cases have failed; or the file cannot be written.
    """
    if side.signature.limited:
        raise RunError(
            f"{side.label} covers a part of split {side.signature.split} only (or replies lack), so it is no baseline; run every case"
        )
    if side.left_out:
        kinds = list(side.left_out.values())
        told = ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds)))
        raise RunError(f"{side.label} is no baseline: not every case is completed ({told}); repeat failed calls with --retry-errors")
    cases = tuple(side.cases.values())
    content = _File(
        schema_version=SCHEMA_VERSION, label=side.label, signature=str(side.signature), cases=cases,
        sha256=_digest(side.task, side.label, str(side.signature), cases), task=side.task,
    )  # fmt: skip
    lines = msgspec.json.format(msgspec.json.encode(content), indent=1)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(lines + b"\n")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise RunError(f"{path}: cannot be written: {error.strerror or error}") from None


def read_baseline(path: Path) -> Side:
    """Read a baseline.

    Args:
        path: A file that `write_baseline` made.

    Raises:
        RunError: It cannot be read, is no baseline, or was changed; the message says which.
    """
    try:
        content = msgspec.json.decode(path.read_bytes(), type=_File)
    except OSError as error:
        raise RunError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RunError(f"{path}: is no baseline ({error}); make one with: salience baseline RUN -o FILE") from None
    if content.schema_version != SCHEMA_VERSION:
        raise RunError(f"{path}: has schema version {content.schema_version}, this workbench reads {SCHEMA_VERSION}; make it again")
    if _digest(content.task, content.label, content.signature, content.cases) != content.sha256:
        raise RunError(f"{path}: was changed after it was made (its hash does not fit); make it again with: salience baseline RUN -o FILE")
    counted = MEASURES[content.task].counted.index
    unknown = next((name for case in content.cases for name in case.counts if name not in counted), None)
    if unknown is not None:
        raise RunError(f"{path}: counts {unknown!r}, which this version does not know; make it again")
    try:
        signature = Signature.parse(content.signature)
    except WorkbenchError as error:
        raise RunError(f"{path}: {error}") from None
    return Side(content.label, signature, {case.id: case for case in content.cases}, {}, content.task)


def _digest(task: Task, label: str, signature: str, cases: tuple[SideCase, ...]) -> str:
    told = [label, signature, cases] if task == "extraction" else [task, label, signature, cases]
    return hashlib.sha256(msgspec.json.encode(told, order="sorted")).hexdigest()

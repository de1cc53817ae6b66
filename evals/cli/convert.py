"""`salience data convert`: other people's data and one's own exports, written as cases in our own format."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

import msgspec

from evals.cases import SILVER
from evals.cli.output import note, print_json, print_text
from evals.data.files import load_dataset
from evals.data.foreign import FOREIGN, is_foreign
from evals.errors import DataError, WorkbenchError
from evals.report.safe import printable


def convert(options: argparse.Namespace) -> int:
    """Run `salience data convert`: write the cases, and say what was read, what was skipped and why.

    Raises:
        WorkbenchError: The data cannot be read, or the file is there already or cannot be written.
    """
    if not is_foreign(options.data, options.columns):
        raise DataError(f"{options.data!r} names no format; write FORMAT:FILE with one of {', '.join(FOREIGN)}, or give --columns")
    target = Path(options.output)
    dataset = load_dataset(options.data, options.columns)
    encode = msgspec.json.Encoder().encode
    extra = (SILVER,) if dataset.silver else ()
    _write(target, (encode(msgspec.structs.replace(case, tags=tuple(dict.fromkeys((*case.tags, *extra))))) for case in dataset.cases))
    unlabelled = sum(not case.labelled for case in dataset.cases)
    if options.json:
        counts = {"cases": len(dataset.cases), "unlabelled": unlabelled}
        print_json(counts | {"silver": dataset.silver, "notes": list(dataset.notes), "file": str(target)})
        return 0
    for line in (*dataset.notes, dataset.silver):
        if line:
            note(line)
    if dataset.silver:
        note(f"every case carries the tag {SILVER!r}, so that reports go on saying so; take it away where you have checked the labels")
    if unlabelled:
        note(f"{unlabelled} cases are unlabelled, and left out of scores until they are labelled: salience data review does that")
    print_text(printable(f"{target}: {len(dataset.cases)} cases"))
    return 0


def _write(target: Path, lines: Iterable[bytes]) -> None:
    """Write a new file, whole or not at all."""
    try:
        with target.open("xb") as file:
            try:
                file.writelines(line + b"\n" for line in lines)
            except BaseException:
                target.unlink()
                raise
    except FileExistsError:
        raise WorkbenchError(f"{target} exists already and is never overwritten; choose another file") from None
    except OSError as error:
        raise WorkbenchError(f"{target}: cannot be written: {error.strerror or error}") from None

"""How far label passes agree with the published labels of consolidation cases, matcher pairs and statements.

Extraction cases: `evals.agreement`. A pass is a file in the folder `passes` beside the data. Of consolidation cases it holds lines with
`id` and `decision`, of pairs lines with `predicted`, `gold` and `match`, of statements lines with `id` and `supported`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any

from evals.agreement import kappa
from evals.data.files import read_lines
from evals.data.labelled import Labelled
from evals.errors import DataError

_Key = Callable[[Any], Hashable]


_UNCOUNTED = {
    "scenario": "the passes of a scenario are notes for people; there is nothing to count",
    "model reply": "a reply has one right reading, worked out by hand; there are no label passes to compare",
}


def check_countable(data: Labelled) -> None:
    """Raise if data of this kind have no label passes that can be compared.

    Raises:
        DataError: They have none; the message says what there is instead.
    """
    if data.kind.name in _UNCOUNTED:
        raise DataError(f"{data.name}: {_UNCOUNTED[data.kind.name]}")


def kind_agreement(data: Labelled, folder: Path) -> dict[str, dict[str, Any]]:
    """Return by pass: rows that it labels, how many of them it labels alike, and Cohen's kappa.

    For consolidation cases what is compared is the action, and beside it the memory that is touched where both act on one; for pairs
    whether they match, for statements whether they are supported.

    Args:
        data: Consolidation cases, matcher pairs or labelled statements.
        folder: Where the passes lie.

    Raises:
        DataError: The data is of another kind, there is no pass, or a line cannot be read; the message names file and line.
    """
    check_countable(data)
    found = {}
    for path in sorted(folder.glob("*.jsonl")):
        rows = dict(_rows(path, data.kind.name))
        if rows:
            found[path.stem] = _COMPARED[data.kind.name](data, rows)
    if not found:
        raise DataError(f"{folder}: there is no pass with labels")
    return found


def _rows(path: Path, kind: str) -> Iterator[tuple[Hashable, Any]]:
    """Yield key and label of each line of a pass; nothing of a file that holds no labels but notes."""
    for number, line in read_lines(path):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path}:{number}: is not JSON ({error})") from None
        if not isinstance(row, dict):
            raise DataError(f"{path}:{number}: must be an object, got {type(row).__name__}")
        decision = row.get("decision")
        if kind == "matcher pair" and isinstance(row.get("match"), bool):
            yield (row.get("predicted"), row.get("gold")), row["match"]
        elif kind == "labelled statement" and isinstance(row.get("supported"), bool):
            yield row.get("id"), row["supported"]
        elif kind == "consolidation case" and isinstance(decision, dict) and isinstance(decision.get("action"), str):
            yield row.get("id"), (decision["action"], decision.get("id"))


def _decisions(data: Labelled, rows: Mapping[Hashable, Any]) -> dict[str, Any]:
    both = [((row.decision.action, row.decision.id), rows[row.id]) for row in data.rows if row.id in rows]
    targets = [(one[1], other[1]) for one, other in both if one[0] == other[0] and one[1] is not None]
    return {
        **_counted([(one[0], other[0]) for one, other in both]),
        "targets": len(targets), "same_target": sum(one == other for one, other in targets),
    }  # fmt: skip


def _matches(data: Labelled, rows: Mapping[Hashable, Any]) -> dict[str, Any]:
    return _counted([(row.match, rows[row.predicted, row.gold]) for row in data.rows if (row.predicted, row.gold) in rows])


def _supported(data: Labelled, rows: Mapping[Hashable, Any]) -> dict[str, Any]:
    return _counted([(row.supported, rows[row.id]) for row in data.rows if row.id in rows])


def _counted(pairs: list[tuple[Hashable, Hashable]]) -> dict[str, Any]:
    return {"rows": len(pairs), "same": sum(one == other for one, other in pairs), "kappa": kappa(pairs)}


_COMPARED: Mapping[str, Callable[[Labelled, Mapping[Hashable, Any]], dict[str, Any]]] = {
    "consolidation case": _decisions, "matcher pair": _matches, "labelled statement": _supported,
}  # fmt: skip

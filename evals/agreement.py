"""How far two independent label passes over the same cases agree. Which pass is right is not decided here.

The passes lie beside the data (`passes/first.jsonl`, `passes/second.jsonl`), one line a case: `id`, `memories`, `forbidden`. Statements
are paired by the matcher, the best total similarity first; fields are compared on the pairs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from evals.cases import REQUIRED_FROM, Case
from evals.data.files import data_folder, read_lines
from evals.errors import DataError
from evals.matching.base import Matcher, Pair

FIELDS = ("observed", "kind", "about", "speaker", "event_date")


@dataclass(slots=True)
class Tally:
    """What was found in both passes, over all cases."""

    memories: list[tuple[float, float]] = field(default_factory=list)  # salience in the first and the second pass
    fields: dict[str, list[bool]] = field(default_factory=lambda: {name: [] for name in FIELDS})
    sizes: dict[str, list[int]] = field(default_factory=lambda: {"memories": [0, 0, 0], "required": [0, 0, 0], "forbidden": [0, 0, 0]})
    reasons: list[bool] = field(default_factory=list)
    negative: list[tuple[bool, bool]] = field(default_factory=list)


def read_pass(path: Path) -> dict[str, dict[str, Any]]:
    """Return the labels of one pass by case id.

    Raises:
        DataError: The file cannot be read, or a line is not a JSON object with an id.
    """
    found = {}
    for number, line in read_lines(path):
        try:
            row = json.loads(line)
            found[row["id"]] = row
        except (ValueError, KeyError, TypeError):
            raise DataError(f"{path}:{number}: must be a JSON object with id, memories and forbidden") from None
    return found


def agreement(cases: Sequence[Case], matcher: Matcher, folder: Path | None = None) -> dict[str, Any]:
    """Return the agreement of the two passes of a dataset.

    Args:
        cases: The cases, of which language and owner are used; cases without a line in both passes are left out.
        matcher: Pairs the statements.
        folder: Where the passes lie; None takes those of the bundled data.

    Returns:
        Counts and figures by name: F1 of statements (`memories_f1`, `required_f1`, `forbidden_f1`), Cohen's kappa on whether a case is
        negative, Pearson's correlation and mean difference (second - first) of salience, and accuracy by field, on matched memories.

    Raises:
        DataError: A pass cannot be read.
    """
    folder = folder or data_folder() / "extraction" / "passes"
    if not folder.is_dir():
        raise DataError(f"{folder}: the label passes are not there; they come with a checkout of the project, not with the package")
    first, second = read_pass(folder / "first.jsonl"), read_pass(folder / "second.jsonl")
    tally = Tally()
    both = [case for case in cases if case.id in first and case.id in second]
    for case in both:
        _compare(case, first[case.id], second[case.id], matcher, tally)
    return _figures(len(both), tally)


def _compare(case: Case, one: Mapping[str, Any], other: Mapping[str, Any], matcher: Matcher, tally: Tally) -> None:
    required = [[row["salience"] >= REQUIRED_FROM for row in labels["memories"]] for labels in (one, other)]
    tally.negative.append((not any(required[0]), not any(required[1])))
    pairs = _paired(case, one["memories"], other["memories"], matcher)
    _count(tally.sizes["memories"], len(pairs), len(one["memories"]), len(other["memories"]))
    agreed = sum(required[0][i] and required[1][j] for i, j in pairs)
    _count(tally.sizes["required"], agreed, sum(required[0]), sum(required[1]))
    for i, j in pairs:
        mine, theirs = one["memories"][i], other["memories"][j]
        tally.memories.append((mine["salience"], theirs["salience"]))
        for name in FIELDS:
            tally.fields[name].append(mine[name] == theirs[name])
    banned = _paired(case, one["forbidden"], other["forbidden"], matcher)
    _count(tally.sizes["forbidden"], len(banned), len(one["forbidden"]), len(other["forbidden"]))
    tally.reasons += [one["forbidden"][i]["reason"] == other["forbidden"][j]["reason"] for i, j in banned]


def _count(sizes: list[int], both: int, first: int, second: int) -> None:
    for position, value in enumerate((both, first, second)):
        sizes[position] += value


def _paired(case: Case, ones: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]], matcher: Matcher) -> list[tuple[int, int]]:
    if not ones or not others:
        return []
    from scipy.optimize import linear_sum_assignment

    pairs = [Pair(other["content"], (one["content"],), case.language, case.owner.names) for one in ones for other in others]
    verdicts = matcher.score(pairs)
    weights = np.array([1 + (verdict.margin or 0) if verdict.match else 0 for verdict in verdicts]).reshape(len(ones), len(others))
    chosen = zip(*linear_sum_assignment(weights, maximize=True), strict=True)
    return [(int(i), int(j)) for i, j in chosen if weights[i, j] > 0]


def _figures(cases: int, tally: Tally) -> dict[str, Any]:
    found: dict[str, Any] = {"cases": cases, "matched_memories": len(tally.memories)}
    for name, (both, first, second) in tally.sizes.items():
        found[f"{name}_f1"] = 2 * both / (first + second) if first + second else None
        found[f"{name}_first"], found[f"{name}_second"] = first, second
    found["negative_kappa"] = _kappa(tally.negative)
    grades = np.array(tally.memories, dtype=float).reshape(-1, 2)
    varied = len(grades) > 1 and bool((grades.std(axis=0) > 0).all())
    found["salience_correlation"] = float(np.corrcoef(grades.T)[0, 1]) if varied else None
    found["salience_mean_difference"] = float((grades[:, 1] - grades[:, 0]).mean()) if len(grades) else None
    found["reason_agreement"] = float(np.mean(tally.reasons)) if tally.reasons else None
    return found | {f"{name}_agreement": float(np.mean(same)) if same else None for name, same in tally.fields.items()}


def _kappa(pairs: Sequence[tuple[bool, bool]]) -> float | None:
    """Cohen's kappa of two raters' yes and no (Cohen 1960, Educational and Psychological Measurement 20:37)."""
    if not pairs:
        return None
    table = np.array(pairs, dtype=float)
    observed = float((table[:, 0] == table[:, 1]).mean())
    yes = table.mean(axis=0)
    chance = float(yes[0] * yes[1] + (1 - yes[0]) * (1 - yes[1]))
    return None if chance == 1 else (observed - chance) / (1 - chance)

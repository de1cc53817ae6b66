"""How far two independent label passes over the same cases agree. Which pass is right is not decided here.

The passes lie beside the data (`passes/first.jsonl`, `passes/second.jsonl`), one line a case: `id`, `memories`, `forbidden`, with the
fields of a case, of which `content`, `salience` and `reason` are needed. Statements are paired by the matcher, the best total
similarity first; fields are compared on the pairs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np

from evals.cases import REQUIRED_FROM, About, Case, DayMonthOrYear, Kind, Observed, Reason, Speaker, Text, Unit
from evals.data.files import data_files, explain, read_lines
from evals.errors import DataError
from evals.matching.base import Matcher, Pair
from evals.stats import Proportion, cluster_bootstrap

FIELDS = ("observed", "kind", "about", "speaker", "event_date")
GROUPS = ("memories", "required", "forbidden")
"""What F1 is given for: all memories, those that both passes require, and forbidden statements."""


@dataclass(slots=True)
class _Tally:
    """What was found in both passes."""

    grades: list[tuple[float, float]] = field(default_factory=list)  # salience in the first and the second pass
    fields: dict[str, list[bool]] = field(default_factory=lambda: {name: [] for name in FIELDS})
    reasons: list[tuple[Hashable, Hashable]] = field(default_factory=list)
    banned: list[tuple[Hashable, Hashable]] = field(default_factory=list)  # of statements that both name: does each forbid it
    negative: list[tuple[Hashable, Hashable]] = field(default_factory=list)
    sizes: dict[str, list[int]] = field(default_factory=dict)  # conversation -> (both, first, second) of each group


class _PassMemory(msgspec.Struct, frozen=True, kw_only=True):
    """A memory as a pass labels it; what else a line holds is not compared."""

    content: Text
    salience: Unit
    observed: Observed = "stated"
    kind: Kind = "fact"
    about: About = "owner"
    speaker: Speaker = "user"
    event_date: DayMonthOrYear | None = None


class _PassForbidden(msgspec.Struct, frozen=True, kw_only=True):
    """A forbidden statement as a pass labels it."""

    content: Text
    reason: Reason


class _PassCase(msgspec.Struct, frozen=True, kw_only=True):
    """What a pass says of one case."""

    id: Text
    memories: tuple[_PassMemory, ...]
    forbidden: tuple[_PassForbidden, ...] = ()


_Statement: TypeAlias = _PassMemory | _PassForbidden


def read_pass(path: Path) -> dict[str, _PassCase]:
    """Return the labels of one pass by case id.

    Raises:
        DataError: The file cannot be read, a line is no labelled case, or an id comes twice; the message names file, line and field.
    """
    found: dict[str, _PassCase] = {}
    decoder = msgspec.json.Decoder(_PassCase)
    for number, line in read_lines(path):
        try:
            row = decoder.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            raise DataError(f"{path}:{number}: {explain(error, line)}") from None
        if row.id in found:
            raise DataError(f"{path}:{number}: id {row.id!r} is already used; each case has one line in a pass")
        found[row.id] = row
    return found


def passes_folder(data: str) -> Path:
    """Return where the label passes of a dataset lie: the folder `passes` beside its files.

    Raises:
        DataError: There is no such dataset, or it has no passes.
    """
    folder = data_files(data)[0].parent / "passes"
    if not folder.is_dir():
        raise DataError(
            f"{folder}: the label passes are not there; they are two files, first.jsonl and second.jsonl, with a line for each case: "
            f"id, memories and forbidden. Those of the bundled data come with a checkout of the project, not with the package"
        )
    return folder


def agreement(cases: Sequence[Case], matcher: Matcher, folder: Path, *, resamples: int = 2000, seed: int = 0) -> dict[str, Any]:
    """Return the agreement of the two passes of a dataset.

    Args:
        cases: The cases, of which language and owner are used; cases without a line in both passes are left out.
        matcher: Pairs the statements.
        folder: Where the passes lie.
        resamples: Of whole conversations, for the intervals.
        seed: Of the resamples.

    Returns:
        Counts and figures by name: F1 of statements (`memories_f1`, `required_f1`, `forbidden_f1`, each with the bounds of its 95%
        interval), Cohen's kappa on whether a case is negative, on whether a statement that both passes name is forbidden, and on the
        reason of statements that both forbid, Pearson's correlation and mean difference (second - first) of salience and accuracy by
        field on matched memories; `by_language` gives cases and the three F1 of each language. None where a figure is undefined.

    Raises:
        DataError: A pass cannot be read.
    """
    first, second = read_pass(folder / "first.jsonl"), read_pass(folder / "second.jsonl")
    both = [case for case in cases if case.id in first and case.id in second]
    if not both:
        raise DataError(f"{folder}: no case of the data is in both passes; they share {len(first.keys() & second.keys())} ids")
    tally = _Tally()
    languages: dict[str, list[int]] = {}
    for case in both:
        sizes = _compare(case, first[case.id], second[case.id], matcher, tally)
        _add(tally.sizes, case.conversation, sizes)
        _add(languages, case.language, sizes)
    found = _figures(len(both), tally, resamples, seed)
    counted = Counter(case.language for case in both)
    return found | {"by_language": {name: {"cases": counted[name], **_f1s(languages[name])} for name, _ in counted.most_common()}}


def _add(sums: dict[str, list[int]], key: str, sizes: Sequence[int]) -> None:
    sums[key] = [old + new for old, new in zip(sums.get(key, [0] * len(sizes)), sizes, strict=True)]


def _compare(case: Case, one: _PassCase, other: _PassCase, matcher: Matcher, tally: _Tally) -> list[int]:
    """Add a case to the tally and return its (both, first, second) of each group."""
    required = [[row.salience >= REQUIRED_FROM for row in labels.memories] for labels in (one, other)]
    tally.negative.append((not any(required[0]), not any(required[1])))
    pairs = _paired(case, one.memories, other.memories, matcher)
    for i, j in pairs:
        mine, theirs = one.memories[i], other.memories[j]
        tally.grades.append((mine.salience, theirs.salience))
        for name in FIELDS:
            tally.fields[name].append(getattr(mine, name) == getattr(theirs, name))
    banned = _paired(case, one.forbidden, other.forbidden, matcher)
    tally.reasons += [(one.forbidden[i].reason, other.forbidden[j].reason) for i, j in banned]
    named = _paired(case, [*one.memories, *one.forbidden], [*other.memories, *other.forbidden], matcher)
    tally.banned += [(i >= len(one.memories), j >= len(other.memories)) for i, j in named]
    agreed = sum(required[0][i] and required[1][j] for i, j in pairs)
    memories = [len(pairs), len(one.memories), len(other.memories)]
    return [*memories, agreed, sum(required[0]), sum(required[1]), len(banned), len(one.forbidden), len(other.forbidden)]


def _paired(case: Case, ones: Sequence[_Statement], others: Sequence[_Statement], matcher: Matcher) -> list[tuple[int, int]]:
    if not ones or not others:
        return []
    from scipy.optimize import linear_sum_assignment

    pairs = [Pair(other.content, (one.content,), case.language, case.owner.names) for one in ones for other in others]
    verdicts = matcher.score(pairs)
    weights = np.array([1 + (verdict.margin or 0) if verdict.match else 0 for verdict in verdicts]).reshape(len(ones), len(others))
    chosen = zip(*linear_sum_assignment(weights, maximize=True), strict=True)
    return [(int(i), int(j)) for i, j in chosen if weights[i, j] > 0]


def _figures(cases: int, tally: _Tally, resamples: int, seed: int) -> dict[str, Any]:
    found: dict[str, Any] = {"cases": cases, "conversations": len(tally.sizes), "matched_memories": len(tally.grades)}
    counts = np.array(list(tally.sizes.values()), dtype=float).reshape(-1, 3 * len(GROUPS))
    for place, name in enumerate(GROUPS):
        found[f"{name}_first"], found[f"{name}_second"] = (int(counts[:, 3 * place + which].sum()) for which in (1, 2))
    if len(counts):
        figures = {name: _f1(3 * place) for place, name in enumerate(GROUPS)}
        for name, interval in cluster_bootstrap(counts, figures, resamples=resamples, seed=seed).items():
            found[f"{name}_f1"], found[f"{name}_f1_low"], found[f"{name}_f1_high"] = interval.value, interval.low, interval.high
    found["negative_kappa"], found["forbidden_kappa"] = kappa(tally.negative), kappa(tally.banned)
    found["reason_kappa"] = kappa(tally.reasons)
    grades = np.array(tally.grades, dtype=float).reshape(-1, 2)
    varied = len(grades) > 1 and bool((grades.std(axis=0) > 0).all())
    found["salience_correlation"] = float(np.corrcoef(grades.T)[0, 1]) if varied else None
    found["salience_mean_difference"] = float((grades[:, 1] - grades[:, 0]).mean()) if len(grades) else None
    found["reason_agreement"] = float(np.mean([one == other for one, other in tally.reasons])) if tally.reasons else None
    return found | {f"{name}_agreement": float(np.mean(same)) if same else None for name, same in tally.fields.items()}


def _f1(place: int) -> Proportion:
    """F1 of two passes, 2 both / (first + second), from the counts at `place`."""
    return Proportion(lambda sums: 2 * sums[..., place], lambda sums: sums[..., place + 1] + sums[..., place + 2])


def _f1s(sizes: Sequence[int]) -> dict[str, float | None]:
    values = {name: float(_f1(3 * place)(np.array(sizes, dtype=float))) for place, name in enumerate(GROUPS)}
    return {f"{name}_f1": None if np.isnan(value) else value for name, value in values.items()}


def kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Return Cohen's kappa of two raters' answers, None where there are none or chance alone agrees always.

    Cohen 1960, Educational and Psychological Measurement 20:37.
    """
    if not pairs:
        return None
    ones, others = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    observed = sum(one == other for one, other in pairs) / len(pairs)
    chance = sum(count * others[answer] for answer, count in ones.items()) / len(pairs) ** 2
    return None if chance == 1 else (observed - chance) / (1 - chance)

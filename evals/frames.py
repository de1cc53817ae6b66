"""A report as pandas frames: its rows, its cases, its predictions and missed memories. Nothing is computed here, and nothing is written.

Every value is that of `report.json` or of the run's `cases.jsonl`. Types are pandas' own nullable ones, so that what is not known is
`pandas.NA` and a count stays whole. A count has the prefix `count_`, as a figure (`observed_given`) and a part of the signature
(`cases`) have the names of counts too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from evals.calibration.figures import KeepFigures
from evals.calibration.grade import GradeFigures
from evals.cases import Case
from evals.metrics.figures import FIGURES
from evals.metrics.measures import EXTRACTION, MEASURES, Measures
from evals.metrics.outcomes import Prediction
from evals.stats import Interval

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]

    from evals.results import CaseResult, CellResult, Report

_TEXT, _WHOLE, _REAL, _TRUTH = "string", "Int64", "Float64", "boolean"
_NOT_WHOLE = frozenset({"required_salience", "hit_salience", "score", "evidence_by_chance"})
_DIGITS = 6  # as in report.json

FIGURE_NAMES: tuple[str, ...] = (*FIGURES, "f_beta", "auroc")
"""The figures of a row, in the order of the columns."""

_ROW = {"model": _TEXT, "policy": _TEXT}
_SIGNATURE = {
    "policy_hash": _TEXT, "data": _TEXT, "data_version": _TEXT, "data_hash": _TEXT, "split": _TEXT, "cases": _WHOLE,
    "conversations": _WHOLE, "limited": _TRUTH, "rubric": _TEXT, "matcher": _TEXT, "matcher_version": _TEXT, "kappa": _REAL,
    "kappa_provisional": _TRUTH, "max_tokens": _WHOLE, "temperature": _REAL, "repeats": _WHOLE, "seed": _WHOLE, "openings": _WHOLE,
    "version": _TEXT, "signature": _TEXT,
}  # fmt: skip
_USAGE = {
    "failed": _WHOLE, "missing": _WHOLE, "unscored": _WHOLE, "input_tokens": _WHOLE, "output_tokens": _WHOLE, "cost": _REAL, "spent": _REAL,
    "seconds": _REAL, "cached": _WHOLE, "fallbacks": _TEXT, "reasoning_only": _WHOLE, "flip_rate": _REAL,
}  # fmt: skip
_CALIBRATION = {
    f"{prefix}_{entry.name}": _WHOLE if entry.name in ("items", "conversations", "pairs") else _REAL
    for prefix, kind in (("keep", KeepFigures), ("grade", GradeFigures))
    for entry in fields(kind)
}


def _count_types(measures: Measures) -> dict[str, str]:
    return {f"count_{name}": _REAL if name in _NOT_WHOLE else _WHOLE for name in measures.counted.columns}


RUNS: Mapping[str, str] = {
    **_ROW, **{name + bound: _REAL for name in FIGURE_NAMES for bound in ("", "_low", "_high")}, "macro_f1": _REAL,
    **_count_types(EXTRACTION), **_USAGE, **_CALIBRATION, **_SIGNATURE,
}  # fmt: skip
"""The columns of `Frames.runs` with their types; of another task than extraction the figures and counts are its own."""
_KEY = {**_ROW, "case": _TEXT, "repeat": _WHOLE}
CASES: Mapping[str, str] = {
    **_KEY, "conversation": _TEXT, "split": _TEXT, "language": _TEXT, "tags": _TEXT, "status": _TEXT, **_count_types(EXTRACTION)
}  # fmt: skip
"""The columns of `Frames.cases` with their types; of another task than extraction the counts are its own."""
MATCHES: Mapping[str, str] = {
    **_KEY, "kind": _TEXT, "content": _TEXT, "salience": _REAL, "outcome": _TEXT, "label": _TEXT, "label_content": _TEXT,
    "label_salience": _REAL, "reason": _TEXT, "score": _REAL, "counted": _TRUTH,
}  # fmt: skip
"""The columns of `Frames.matches` with their types."""


@dataclass(frozen=True, slots=True)
class Frames:
    """A report as three pandas frames with the default index. An empty report gives empty frames with all columns.

    Attributes:
        runs: A line for each row of the report: figures as NAME, NAME_low and NAME_high, counts as count_NAME, usage, calibration as
            keep_NAME and grade_NAME, and the parts of the signature. `failed`, `missing` and `unscored` are numbers of cases.
        cases: A line for each row, case and repeat that was scored, with its counts. Tags are joined by spaces.
        matches: A line for each prediction (`kind` "prediction") and for each required memory that none of them is (`kind` and
            `outcome` "missed"; its text is `label_content`, and `reason` says how predictions hold it in another form, where known).
    """

    runs: pd.DataFrame
    cases: pd.DataFrame
    matches: pd.DataFrame


def frames_of(report: Report) -> Frames:
    """Return a report as frames.

    Args:
        report: The report.
    """
    results = [(cell, result) for cell in report.cells for result in cell.cases]
    runs, cases = _columns(MEASURES[report.task])
    return Frames(
        runs=_frame((_run(cell) for cell in report.cells), runs),
        cases=_frame((_case(cell, result) for cell, result in results), cases),
        matches=_frame((line for cell, result in results for line in _matches(cell, result)), MATCHES),
    )


def _columns(measures: Measures) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The columns of runs and cases for a task."""
    if measures.task == "extraction":
        return RUNS, CASES
    counts = _count_types(measures)
    figures = {name + bound: _REAL for name in measures.figures for bound in ("", "_low", "_high")}
    runs = {**_ROW, **figures, **counts, **_USAGE, **_SIGNATURE}
    return runs, {name: kind for name, kind in CASES.items() if not name.startswith("count_")} | counts


def _frame(lines: Iterable[Mapping[str, Any]], columns: Mapping[str, str]) -> pd.DataFrame:
    import pandas as pd

    table: dict[str, list[Any]] = {name: [] for name in columns}
    for line in lines:
        for name, values in table.items():
            values.append(line[name])
    return pd.DataFrame({name: pd.array(values, dtype=columns[name]) for name, values in table.items()})


def _text(value: str | None) -> str | None:
    """Text that an Arrow column can hold: half of a surrogate pair, which no encoding can, is written out."""
    return None if value is None else value.encode("utf-8", "backslashreplace").decode("utf-8")


def _run(cell: CellResult) -> dict[str, Any]:
    line: dict[str, Any] = {"model": _text(cell.model), "policy": _text(cell.policy), "macro_f1": cell.macro_f1}
    nothing = Interval(value=None, low=None, high=None, conversations=0, undefined=0.0, method="none")
    for name in FIGURE_NAMES if cell.task == "extraction" else cell.figures:
        figure = cell.figures.get(name, nothing)
        line |= {name: figure.value, f"{name}_low": figure.low, f"{name}_high": figure.high}
    line |= _counts(cell.totals)
    line |= {
        name: getattr(cell, name) for name in ("input_tokens", "output_tokens", "cost", "spent", "cached", "reasoning_only", "flip_rate")
    }
    line |= {name: len(getattr(cell, name)) for name in ("failed", "missing", "unscored")}
    line |= {"seconds": round(cell.seconds, _DIGITS), "fallbacks": _fallbacks(cell.fallbacks)}
    if cell.salience is not None:
        for prefix, figures in (("keep", cell.salience.keep), ("grade", cell.salience.grade)):
            line |= {f"{prefix}_{entry.name}": getattr(figures, entry.name) for entry in fields(figures)}
    return line | _signature(cell)


def _fallbacks(fallbacks: Mapping[str, int]) -> str:
    return _text(", ".join(f"{name} {count}" for name, count in sorted(fallbacks.items()))) or ""


def _counts(counts: Mapping[str, float]) -> dict[str, float]:
    return {f"count_{name}": round(value, _DIGITS) for name, value in counts.items()}


def _signature(cell: CellResult) -> dict[str, Any]:
    one = cell.signature
    return {
        "policy_hash": one.policy.hash if one.policy else None, "data": _text(one.data.name), "data_version": _text(one.data.version),
        "data_hash": one.data.hash, "matcher": _text(one.matcher.id), "matcher_version": _text(one.matcher.version),
        "kappa": one.matcher.kappa, "kappa_provisional": one.matcher.provisional, "rubric": _text(one.rubric), "signature": str(one),
        **{name: getattr(one, name) for name in (
            "split", "cases", "conversations", "limited", "max_tokens", "temperature", "repeats", "seed", "openings", "version",
        )},
    }  # fmt: skip


def _key(cell: CellResult, result: CaseResult) -> dict[str, Any]:
    return {"model": _text(cell.model), "policy": _text(cell.policy), "case": _text(result.case.id), "repeat": result.repeat}


def _case(cell: CellResult, result: CaseResult) -> dict[str, Any]:
    case = result.case
    told = {"conversation": _text(case.conversation), "split": case.split, "language": case.language, "tags": _text(" ".join(case.tags))}
    return _key(cell, result) | told | {"status": result.status} | _counts(result.counts)


def _matches(cell: CellResult, result: CaseResult) -> Iterator[dict[str, Any]]:
    key, labels = _key(cell, result), _labels(result.case)
    for entry in result.outcome.predictions:
        yield key | _prediction(entry) | _label(entry.label, labels)
    for name in result.outcome.missed:
        line = {"kind": "missed", "content": None, "salience": None, "outcome": "missed", "score": None, "counted": None}
        yield key | line | {"reason": result.outcome.parted.get(name)} | _label(name, labels)


def _prediction(entry: Prediction) -> dict[str, Any]:
    return {
        "kind": "prediction", "content": _text(entry.content), "salience": entry.salience, "outcome": entry.outcome,
        "reason": _text(entry.reason), "score": entry.score, "counted": entry.counted,
    }  # fmt: skip


def _labels(case: Case) -> dict[str, tuple[str, float | None]]:
    """Text and labelled salience of everything that a prediction can be paired with; a forbidden statement has no salience."""
    labels: dict[str, tuple[str, float | None]] = {f"forbidden[{place}]": (item.content, None) for place, item in enumerate(case.forbidden)}
    return labels | {memory.id: (memory.content, memory.salience) for memory in case.memories}


def _label(name: str | None, labels: Mapping[str, tuple[str, float | None]]) -> dict[str, Any]:
    content, salience = (None, None) if name is None else labels.get(name, (None, None))
    return {"label": _text(name), "label_content": _text(content), "label_salience": salience}

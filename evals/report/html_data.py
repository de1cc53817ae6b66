"""A report as JSON for the script of the HTML page. The page itself is `evals.report.html`.

All text of models, data and servers passes `shown`, and as JSON it holds no character that could end a script element.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args

import numpy as np

from evals.calibration.curve import CurvePoint
from evals.cases import Case
from evals.metrics.counts import STATUSES
from evals.metrics.outcomes import Outcome, Prediction
from evals.metrics.slices import slices_of
from evals.report.html_elements import short_label, shown, told
from evals.report.numbers import share
from evals.report.safe import clip
from evals.results import CaseResult, CellResult, Report, Salience

OUTCOMES: tuple[str, ...] = (*get_args(Outcome), "missed")
"""What the case browser can be asked for: bit i of a result's mask says that it has outcome i."""
MOST_RESULTS = 40_000
"""So many results are in the case browser at most, so that any run gives a page that a browser can open."""
FEW_ITEMS = 100
"""Under so many candidates the reliability diagram says little."""

_SNIPPET = 160
_ESCAPED = ("<", ">", "&", "\u2028", "\u2029")


def script_json(value: object) -> str:
    """Return a value as JSON that may stand inside a script element and is one line."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in _ESCAPED:
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def page_data(report: Report, curves: Sequence[Sequence[CurvePoint]], thresholds: Sequence[float]) -> dict[str, Any]:
    """Return what the charts need, for `script_json`.

    Args:
        report: The report.
        curves: Threshold points, a sequence a row; empty where a row has none.
        thresholds: Operating thresholds, 0 to 1, one a row.
    """
    return {
        "statuses": [*STATUSES],
        "outcomes": [*OUTCOMES],
        "rows": [_row(cell, curve, at) for cell, curve, at in zip(report.cells, curves, thresholds, strict=True)],
    }


def _row(cell: CellResult, curve: Sequence[CurvePoint], threshold: float) -> dict[str, Any]:
    if cell.salience is None:
        nothing: dict[str, Any] = {name: [] for name in ("curve", "reliability", "band", "figures", "reading")}
        return {"label": short_label(cell), "threshold": threshold, **nothing}
    salience, band = cell.salience.reliability, cell.salience.band
    return {
        "label": short_label(cell),
        "threshold": threshold,
        "curve": [[point.threshold, point.precision, point.recall, point.f1, point.predictions] for point in curve],
        "reliability": [list(point) for point in zip(*(salience.get(name, ()) for name in ("salience", "kept", "count")), strict=True)],
        "band": [list(point) for point in zip(*(band.get(name, ()) for name in ("salience", "low", "high")), strict=True)],
        "figures": _salience_figures(cell, cell.salience),
        "reading": list(_reading(cell, cell.salience)),
    }


def _salience_figures(cell: CellResult, found: Salience) -> list[tuple[str, str, str]]:
    """Name, value and explanation of what is told beside the reliability diagram."""
    keep, grade, auroc = found.keep, found.grade, cell.figures["auroc"]
    rows = [
        ("Candidates", f"{keep.items:,}", f"required hits and false positives, of {keep.conversations:,} conversations"),
        ("Base rate", share(keep.base_rate), "share of them that are required memories"),
        ("AUROC", told(auroc), "1.00 ranks every hit above every false positive, .50 is chance"),
        ("Brier skill", _signed(keep.skill), "1.00 is perfect, .00 no better than always saying the base rate"),
        ("Smooth ECE", share(keep.smooth_ece), f"calibration error; 95% of perfectly calibrated models stay below {share(keep.null_ece)}"),
    ]
    if grade.pairs:
        error = (
            f"mean difference from the labelled salience, over {grade.pairs:,} matched memories; rank correlation {share(grade.spearman)}"
        )
        rows.append(("Grade error", share(grade.mae), error))
    return rows


def _signed(value: float | None) -> str:
    return share(None if value is None else round(value, 2) + 0.0)  # adding zero turns a negative zero into zero


def _reading(cell: CellResult, found: Salience) -> Iterator[str]:
    """What the diagram of a row says, in sentences."""
    keep, auroc = found.keep, cell.figures["auroc"]
    if not keep.items:
        yield "No candidate of this row is a required memory or a false positive, so there is nothing to draw."
        return
    if auroc.value is None:
        yield f"{'All' if keep.base_rate else 'None'} of the candidates are required memories, so no order can be told."
    elif auroc.low is None or auroc.high is None or auroc.low <= 0.5 <= auroc.high:
        yield "The interval of AUROC does not exclude .50: it is not shown that more salience makes a candidate more likely to be right."
    elif auroc.low > 0.5:
        yield f"Salience ranks: a required memory has more of it than a false positive {share(auroc.value)} of the time, ties counted half."
    else:
        yield "Salience ranks the wrong way round: false positives have more of it than required memories."
    yield from _of_band(found.reliability, found.band)
    if keep.smooth_ece is not None and keep.null_ece is not None:
        beyond = keep.smooth_ece > keep.null_ece
        yield f"The calibration error {'is above' if beyond else 'is within'} what a perfectly calibrated model would show by chance." + (
            " Read as a probability, salience needs a map: salience calibrate fits one." if beyond else ""
        )
    if keep.items < FEW_ITEMS:
        yield f"Fewer than {FEW_ITEMS} candidates: read the diagram with care."


def _of_band(curve: Mapping[str, Sequence[float]], band: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """Where the curve leaves the band, weighted by candidates."""
    if not curve or not band:
        return
    at, kept, count = (np.asarray(curve[name]) for name in ("salience", "kept", "count"))
    low, high = (np.interp(at, band["salience"], band[name]) for name in ("low", "high"))
    below, above = (float(count[off].sum() / count.sum()) for off in (kept < low - 1e-9, kept > high + 1e-9))
    if below > 0.005:
        yield f"Below the band for {share(below)} of the candidates drawn: fewer of them should be kept than their salience says."
    if above > 0.005:
        yield f"Above the band for {share(above)} of the candidates drawn: more of them should be kept than their salience says."
    if below <= 0.005 and above <= 0.005:
        yield "The curve stays within the band: so many candidates cannot tell salience from a true probability."


def case_lines(report: Report) -> Iterator[str]:
    """Yield the case browser's data, a JSON document a line: an index first, then each case with its results in all rows."""
    lines: list[str] = []
    cases: list[list[object]] = []
    results: list[list[int]] = []
    tags: dict[str, int] = {}
    languages: dict[str, int] = {}
    grouped = _by_case(report)
    lengths = _lengths(case for case, _ in grouped.values())
    for case, found in grouped.values():
        places = [tags.setdefault(shown(tag), len(tags)) for tag in case.tags]
        language = languages.setdefault(shown(case.language), len(languages))
        first = len(results)
        for row, result in found:
            results.append([len(cases), row, result.repeat, *_summary(result)])
        snippet, length = clip(shown(case.messages[0].get("content", "")), _SNIPPET), lengths.index(_length(case))
        cases.append([shown(case.id), language, places, snippet, first, len(found), length])
        lines.append(script_json(_case(case, [result for _, result in found])))
    yield script_json({"cases": cases, "results": results, "tags": list(tags), "languages": list(languages), "lengths": lengths})
    yield from lines


def _length(case: Case) -> str:
    return next(slices_of(case, "length"))


def _lengths(cases: Iterable[Case]) -> list[str]:
    """The length slices that cases belong to, from short to long."""
    least: dict[str, int] = {}
    for case in cases:
        size = sum(len(message.get("content", "")) for message in case.messages)
        least[_length(case)] = min(size, least.get(_length(case), size))
    return sorted(least, key=least.__getitem__)


def results_left_out(report: Report) -> int:
    """Return how many results are not in the case browser, as there are too many."""
    return max(0, sum(len(cell.cases) for cell in report.cells) - MOST_RESULTS)


def _by_case(report: Report) -> dict[str, tuple[Case, list[tuple[int, CaseResult]]]]:
    """Case id -> the case and its results with their rows; of a report that is too long, the first results of every row."""
    share_of_row = MOST_RESULTS // max(1, len(report.cells))
    left_out = results_left_out(report) > 0
    grouped: dict[str, tuple[Case, list[tuple[int, CaseResult]]]] = {}
    for row, cell in enumerate(report.cells):
        for place, result in enumerate(cell.cases):
            if left_out and place >= share_of_row:
                break
            grouped.setdefault(result.case.id, (result.case, []))[1].append((row, result))
    return grouped


def _summary(result: CaseResult) -> tuple[int, int, int, int, int]:
    """Status, outcome mask, and how many hits, false positives and missed memories, as the list of results shows them."""
    outcome = result.outcome
    kinds = [entry.outcome for entry in outcome.predictions]
    mask = sum(1 << OUTCOMES.index(kind) for kind in set(kinds)) | (bool(outcome.missed) << OUTCOMES.index("missed"))
    false = sum(entry.counted and entry.outcome not in ("hit", "optional", "below") for entry in outcome.predictions)
    hits = sum(entry.counted and entry.outcome == "hit" for entry in outcome.predictions)
    return STATUSES.index(result.status), mask, hits, false, len(outcome.missed)


def _case(case: Case, results: Sequence[CaseResult]) -> dict[str, Any]:
    return {
        "conversation": shown(case.conversation),
        "split": case.split,
        "date": case.date or "",
        "source": shown(case.source or ""),
        "owner": [shown(name) for name in case.owner.names],
        "context": [_message(message) for message in case.context],
        "messages": [_message(message) for message in case.messages],
        "gold": [
            {
                "id": shown(memory.id), "text": shown(memory.content), "salience": share(memory.salience), "value": memory.salience,
                "also": [shown(phrase) for phrase in memory.paraphrases],
                "about": [memory.kind, memory.about, memory.observed, f"by {memory.speaker}", *filter(None, [memory.event_date])],
                "evidence": [[one.message, shown(one.text)] for one in memory.evidence],
            }
            for memory in case.memories
        ],
        "forbidden": [
            {"text": shown(item.content), "reason": shown(item.reason), "contains": shown(item.contains or ""),
             "also": [shown(phrase) for phrase in item.paraphrases]}
            for item in case.forbidden
        ],
        "results": [_result(result) for result in results],
    }  # fmt: skip


def _message(message: Mapping[str, str]) -> list[str]:
    """Role, text, and whatever else a message carries ("name", "date")."""
    more = "; ".join(
        shown(value if key == "name" else f"{key}: {value}") for key, value in message.items() if key not in ("role", "content")
    )
    return [shown(message.get("role", "")), shown(message.get("content", "")), more]


def _result(result: CaseResult) -> dict[str, Any]:
    outcome = result.outcome
    return {
        "reply": None if result.reply is None else shown(result.reply),
        "predictions": [_prediction(entry) for entry in outcome.predictions],
        "matched": {shown(name): place for name, place in outcome.matched.items()},
        "missed": [shown(name) for name in outcome.missed],
        "parted": {shown(name): shown(how) for name, how in outcome.parted.items()},
    }


def _prediction(entry: Prediction) -> dict[str, Any]:
    return {
        "text": shown(entry.content),
        "salience": share(entry.salience),
        "value": entry.salience,
        "observed": shown(entry.observed or ""),
        "outcome": entry.outcome,
        "label": shown(entry.label or ""),
        "reason": shown(entry.reason),
        "score": "" if entry.score is None else share(entry.score),
        "counted": entry.counted,
    }

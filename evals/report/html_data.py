"""What the HTML page is made of: its small elements, and a report as JSON for its script. The page itself is `evals.report.html`.

All text of models, data and servers passes `shown`; in an element it is escaped unless it is `Markup`, and as JSON it holds no character
that could end a script element.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args

import numpy as np

from evals.calibration.curve import CurvePoint
from evals.cases import Case
from evals.metrics.counts import STATUSES
from evals.metrics.outcomes import Outcome, Prediction
from evals.metrics.slices import slices_of
from evals.report.numbers import UNDEFINED, interval, share
from evals.report.safe import clip, printable
from evals.results import CaseResult, CellResult, Report
from evals.stats import Interval

OUTCOMES: tuple[str, ...] = (*get_args(Outcome), "missed")
"""What the case browser can be asked for: bit i of a result's mask says that it has outcome i."""
MOST_RESULTS = 40_000
"""So many results are in the case browser at most, so that any run gives a page that a browser can open."""
FEW_ITEMS = 100
"""Under so many candidates the reliability diagram says little."""

_SNIPPET = 160
_LABEL = 56
_ESCAPED = ("<", ">", "&", "\u2028", "\u2029")


def shown(text: str) -> str:
    """Return foreign text as a page may show it: as `printable`, with line feeds and tabs kept."""
    if text.replace("\n", " ").replace("\t", " ").isprintable():
        return text
    return "\t".join(printable(part, keep_lines=True) for part in text.split("\t"))


def script_json(value: object) -> str:
    """Return a value as JSON that may stand inside a script element and is one line."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in _ESCAPED:
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


class Markup(str):
    """Text that is HTML already; every other string is escaped on its way into the page."""

    __slots__ = ()


def element(name: str, *children: object, **attributes: object) -> Markup:
    """Return an element.

    Args:
        name: Its name.
        *children: `Markup`, text that is escaped, iterables of either, or None for nothing.
        **attributes: `_` stands for `-`, one at the end falls away; True gives the bare name, None and False nothing.
    """
    parts = [name]
    for key, value in attributes.items():
        if value is not None and value is not False:
            word = key.rstrip("_").replace("_", "-")
            parts.append(word if value is True else f'{word}="{html.escape(shown(str(value)))}"')
    inner = "".join(map(_text, children))
    return Markup(f"<{' '.join(parts)}>{inner}</{name}>")


def _text(child: object) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, str):
        return html.escape(shown(child))
    if isinstance(child, Iterable):
        return "".join(map(_text, child))
    return html.escape(str(child))


def badge(number: int) -> Markup:
    """Return the number of a row in its colour."""
    return element("span", element("span", "row ", class_="unseen"), number, class_=f"badge c{(number - 1) % 8}")


def breakable(text: str) -> list[str]:
    """Return text as parts for `element` that may break after a slash."""
    return [part for piece in text.split("/") for part in ("/", Markup("<wbr>"), piece)][2:]


def whisker(figure: Interval, top: float, number: int) -> Markup:
    """Return an interval drawn on a line.

    Args:
        figure: A share.
        top: The right end of the line, above 0 and at most 1.
        number: The row's, from 1; it gives the colour.
    """
    if figure.value is None:
        return element("span", UNDEFINED)
    at = [4 + 112 * min(1.0, max(0.0, value / top)) for value in (figure.value, figure.low or 0, figure.high or 0)]
    shapes = [element("line", x1=4, x2=116, y1=10, y2=10, class_="rail")]
    if figure.low is not None and figure.high is not None:
        shapes += [element("line", x1=f"{at[1]:.1f}", x2=f"{at[2]:.1f}", y1=10, y2=10, class_="whisker")]
        shapes += [element("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=6, y2=14, class_="whisker end") for x in at[1:]]
    shapes += [element("circle", cx=f"{at[0]:.1f}", cy=10, r=4, class_="dot")]
    return element(
        "svg",
        shapes,
        viewBox="0 0 120 20",
        width=120,
        height=20,
        role="img",
        aria_label=f"F1 {told(figure)}",
        class_=f"c{(number - 1) % 8}",
    )


def figure_cell(figure: Interval, *, mark: str = "", bounds: bool = True) -> Markup:
    """Return a cell with a figure and below it the interval.

    Args:
        figure: The figure.
        mark: What is put after a figure that is defined.
        bounds: Whether the interval is given.
    """
    text = share(figure.value) + (mark if figure.value is not None else "")
    between = interval(figure.low, figure.high) if bounds else ""
    return element(
        "td", element("span", text, class_="value"), element("span", " ", between, class_="bounds") if between else None,
        class_="number", data_sort=_sort(figure.value),
    )  # fmt: skip


def number_cell(text: str, value: float | None) -> Markup:
    """Return a cell with a number as text, and the number that sorting goes by."""
    return element("td", text, class_="number", data_sort=_sort(value))


def _sort(value: float | None) -> str:
    return "" if value is None else f"{value:.9g}"


def scale_end(cells: Sequence[CellResult]) -> float:
    """Return the right end of the scale that intervals of F1 are drawn on: a tenth, at least .2."""
    highest = max((figure.high or figure.value or 0.0 for figure in (cell.figures["f1"] for cell in cells)), default=0.0)
    return min(1.0, max(0.2, math.ceil(highest * 10 - 1e-9) / 10))


def scale_head(top: float) -> list[Markup]:
    """Return the head of the column in which intervals are drawn, from 0 to `top`."""
    return [
        element("span", "F1 with its interval", class_="unseen"),
        element("span", element("span", "0"), element("span", "F1"), element("span", share(top)), class_="scale", aria_hidden="true"),
    ]


def short_model(cell: CellResult) -> str:
    """Return the model of a row, a long path cut down to its last part."""
    model = shown(cell.model)
    if len(model) <= _LABEL or "/" not in model:
        return model
    head, _, tail = model.rpartition("/")
    provider = head.partition("/")[0].partition(":")[0]
    return f"{provider}:…/{tail}"


def short_label(cell: CellResult) -> str:
    """Return the label of a row with its model cut short."""
    return short_model(cell) if cell.policy is None else f"{short_model(cell)}@{shown(cell.policy)}"


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
    salience, band = cell.salience.reliability, cell.salience.band
    return {
        "label": short_label(cell),
        "threshold": threshold,
        "curve": [[point.threshold, point.precision, point.recall, point.f1, point.predictions] for point in curve],
        "reliability": [list(point) for point in zip(*(salience.get(name, ()) for name in ("salience", "kept", "count")), strict=True)],
        "band": [list(point) for point in zip(*(band.get(name, ()) for name in ("salience", "low", "high")), strict=True)],
        "figures": _salience_figures(cell),
        "reading": list(_reading(cell)),
    }


def _salience_figures(cell: CellResult) -> list[tuple[str, str, str]]:
    """Name, value and explanation of what is told beside the reliability diagram."""
    keep, grade, auroc = cell.salience.keep, cell.salience.grade, cell.figures["auroc"]
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


def told(figure: Interval) -> str:
    """Return a figure with its interval: ".74 [.70,.78]"."""
    return f"{share(figure.value)} {interval(figure.low, figure.high)}".rstrip()


def _signed(value: float | None) -> str:
    return share(None if value is None else round(value, 2) + 0.0)  # adding zero turns a negative zero into zero


def _reading(cell: CellResult) -> Iterator[str]:
    """What the diagram of a row says, in sentences."""
    keep, auroc = cell.salience.keep, cell.figures["auroc"]
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
    yield from _of_band(cell.salience.reliability, cell.salience.band)
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

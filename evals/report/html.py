"""A report as one HTML file that needs no server and loads nothing: tables drawn here, charts and case browser by the script inside.

The page's own policy refuses every script but ours. Elements, which escape all text, are in `evals.report.html_elements`.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Callable, Sequence
from importlib import resources
from string import Template

from evals.calibration.curve import CurvePoint
from evals.errors import WorkbenchError
from evals.metrics.counts import STATUSES
from evals.metrics.measures import MEASURES
from evals.recall_cases import ACTIONS
from evals.report import html_data as parts
from evals.report.html_elements import (
    Markup,
    column_head,
    element,
    figure_cell,
    number_cell,
    row_head,
    row_name,
    scale_end,
    scale_head,
    short_label,
    shown,
    sortable,
    table,
    whisker,
)
from evals.report.leaders import TOO_FEW, silent
from evals.report.numbers import UNDEFINED, count, dollars, seconds, share
from evals.results import CellResult, Report, Slice
from evals.signature import Signature
from evals.stats import FEW
from evals.version import VERSION

_MOST_EXCLUDED = 200
_WORDS = {
    "near_miss": "near miss", "below": "below threshold", "truncated": "cut off", "malformed": "unreadable", "too_long": "too long",
}  # fmt: skip
_REPLIES = ("replies", "How replies could be read. A call that failed is in no figure and counted apart.")
DECIDED = (*ACTIONS, "fallback")
_UNSUPPORTED = ("unsupported", "unsupported_rate")


def html_page(report: Report, curves: Sequence[Sequence[CurvePoint]], thresholds: Sequence[float] | None = None) -> str:
    """Return a report as one self-contained HTML page.

    Args:
        report: The report.
        curves: Precision and recall over the salience threshold, a sequence a row; empty where a row has none.
        thresholds: Operating thresholds, 0 to 1, one a row; None takes .5 for all.

    Returns:
        The page. It holds no lone surrogate, so that any encoding of Unicode can write it.

    Raises:
        WorkbenchError: There are not as many curves or thresholds as rows.
    """
    rows = len(report.cells)
    thresholds = [0.5] * rows if thresholds is None else thresholds
    for name, given in (("curves", len(curves)), ("thresholds", len(thresholds))):
        if given != rows:
            raise WorkbenchError(f"html_page: {name} must hold one entry for each of the report's {rows} rows, got {given}")
    style, script = _file("page.css"), _file("page.js")
    sections = [(title, name, body) for title, name, make in _SECTIONS if (body := make(report))]
    return Template(_file("page.html")).substitute(
        policy=_policy(style, script),
        title=html.escape(_title(report)),
        style=style,
        script=script,
        header=_header(report),
        links=_links(sections),
        sections="\n".join(element("section", element("h2", title, id=f"{name}-title"), body, id=name, aria_labelledby=f"{name}-title")
                           for title, name, body in sections),
        left_out=_left_out(report),
        version=html.escape(VERSION),
        report_data=parts.script_json(parts.page_data(report, curves, thresholds)),
        case_data="\n".join(parts.case_lines(report)),
    )  # fmt: skip


def _file(name: str) -> str:
    return (resources.files("evals.report") / "page" / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """A content security policy: our style and our script by their hashes, and nothing else, not even markup made from strings."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    return (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )


def _title(report: Report) -> str:
    if not report.cells:
        return "Salience report without rows"
    signature = _widest(report.cells)
    return f"{shown(signature.data.name)} {shown(signature.data.version)}, {shown(signature.split)}: salience report"


def _links(sections: Sequence[tuple[str, str, Markup]]) -> Markup:
    names = [*((name, title) for title, name, _ in sections), ("cases", "Cases")]
    return element("ul", [element("li", element("a", title, href=f"#{name}")) for name, title in names])


def _widest(cells: Sequence[CellResult]) -> Signature:
    return max((cell.signature for cell in cells), key=lambda one: one.cases)


def _header(report: Report) -> Markup:
    """What was scored, with notices and signatures."""
    if not report.cells:
        nothing = element("p", "This report has no rows: nothing was scored.")
        return element("header", element("h1", "Salience report"), nothing, _notices(report))
    signature = _widest(report.cells)
    data, matcher = signature.data, signature.matcher
    fewer = "up to " if any(cell.signature.cases < signature.cases for cell in report.cells) else ""
    kappa = "not measured" if matcher.kappa is None else share(matcher.kappa)
    facts = [
        ("Data", [f"{data.name} {data.version} ", element("code", data.hash)]),
        ("Split", signature.split + (", a part of it" if signature.limited else "")),
        ("Cases", f"{fewer}{signature.cases:,} in {signature.conversations:,} conversations"),
        ("Matcher", f"{matcher.id} {matcher.version}"),
        ("Agreement with labelled pairs", f"kappa {kappa}{' (provisional)' if matcher.provisional else ''}"),
        ("Rubric", signature.rubric),
        ("Run", report.folder),
    ]
    return element(
        "header",
        element("p", "Salience report", class_="eyebrow"),
        element("h1", element("span", data.name, dir="auto"), f" {data.version}, {signature.split} split"),
        element("dl", [element("div", element("dt", name), element("dd", value, dir="auto")) for name, value in facts], class_="facts"),
        _notices(report),
        _signatures(report.cells),
    )


def _notices(report: Report) -> Markup | None:
    lines = [f"Silver labels: {report.silver}"] if report.silver else []
    lines += report.notices
    cells = report.cells
    if cells and _widest(cells).conversations < FEW:
        lines.append(f"Fewer than {FEW} conversations: read the intervals with care.")
    if not lines:
        return None
    title = f"{len(lines)} {'notice' if len(lines) == 1 else 'notices'}"
    return element(
        "details", element("summary", title), element("ul", [element("li", line, dir="auto") for line in lines]),
        class_="notices", open=True,
    )  # fmt: skip


def _signatures(cells: Sequence[CellResult]) -> Markup:
    entries = [
        element(
            "li", element("span", row_name(number, cell), class_="who"),
            element("code", str(cell.signature), class_="signature", id=f"signature-{number}"),
        )
        for number, cell in enumerate(cells, start=1)
    ]  # fmt: skip
    return element(
        "details", element("summary", "Signatures: all that each row depends on"), element("ol", entries, class_="signatures"),
        class_="signed",
    )  # fmt: skip


def _figures(cells: Sequence[CellResult]) -> list[tuple[str, str]]:
    """The figures of the leaderboard, the headline first: title and name."""
    measures = MEASURES[cells[0].task]
    found = sorted(measures.shown, key=lambda pair: pair[1] != measures.headline)
    return [*found, _UNSUPPORTED] if _judged(cells) else found


def _judged(cells: Sequence[CellResult]) -> bool:
    return any(cell.totals.get("support_known") for cell in cells)


def _leaderboard(report: Report) -> Markup | None:
    cells = report.cells
    if not cells:
        return None
    figures, measures = _figures(cells), MEASURES[cells[0].task]
    top = scale_end(cells, measures.headline)
    head = [column_head("model and policy", data_sortable="text"), column_head(scale_head(top, figures[0][0]), class_="drawn")]
    head += [*sortable(*(title for title, _ in figures)), column_head("replies"), *sortable("tokens", "cost", "seconds")]
    body = [element("tr", _leader(number, cell, figures, top)) for number, cell in enumerate(cells, start=1)]
    shown_titles = {title for title, _ in figures} | {"replies"}
    starred = element("p", "* Recall is below .05: this figure can look good where hardly anything right is said.", class_="note")
    legend = element(
        "details", element("summary", "What the columns mean"),
        element("dl", [[element("dt", title), element("dd", text)] for title, text in (*measures.told, _REPLIES) if title in shown_titles]),
        class_="legend",
    )  # fmt: skip
    caption = "Figures of every row, in brackets their 95% intervals, conversations resampled"
    return Markup(
        table(caption, head, body, "leaders")
        + (starred if measures.guards and any(map(silent, cells)) else "")
        + legend
        + _every_figure(cells)
    )


def _leader(number: int, cell: CellResult, figures: Sequence[tuple[str, str]], top: float) -> list[Markup]:
    marked, measures = silent(cell), MEASURES[cell.task]
    drawn = whisker(cell.figures[measures.headline], top, number, figures[0][0])
    columns = [row_head(number, cell), element("td", drawn, class_="drawn")]
    columns += [figure_cell(cell.figures[name], mark="*" if marked and name in measures.guards else "") for _, name in figures]
    columns += [element("td", _replies(cell), class_="replies")]
    tokens = None if cell.input_tokens is None or cell.output_tokens is None else cell.input_tokens + cell.output_tokens
    told = [(count(tokens), tokens), (dollars(cell.cost), cell.cost)]
    if cell.policy is None:  # a baseline is no model: it takes no tokens and has no price
        told = [(UNDEFINED, None)] * 2
    return columns + [number_cell(text, value) for text, value in (*told, (seconds(cell.seconds), cell.seconds))]


def _replies(cell: CellResult) -> list[Markup]:
    found = [(cell.total(f"status_{status}"), _WORDS.get(status, status), status) for status in STATUSES]
    told = [element("span", f"{number:,} {word}", class_=f"status s-{status}") for number, word, status in found if number]
    for name, excluded in (("failed", cell.failed), ("missing", cell.missing), ("unscored", cell.unscored)):
        told += [element("span", f"{len(excluded):,} {name}", class_="status s-failed")] if excluded else []
    return [Markup(", ".join(told))]


def _every_figure(cells: Sequence[CellResult]) -> Markup:
    names = [name for name in cells[0].figures if any(cell.figures[name].value is not None for cell in cells)]
    head = [column_head("figure"), *(column_head(row_name(number, cell), class_="number") for number, cell in enumerate(cells, start=1))]
    titles = [element("th", name.replace("_", " "), scope="row") for name in names]
    body = [element("tr", title, [figure_cell(cell.figures[name]) for cell in cells]) for title, name in zip(titles, names, strict=True)]
    return element("details", element("summary", "Every figure"), table("Every figure of every row", head, body, "wide"), class_="every")


def _outcomes(report: Report) -> Markup | None:
    cells = report.cells
    if not cells or report.task != "extraction":
        return None
    names = [name for name in parts.OUTCOMES if name != "below" and (name != "unsupported" or _judged(cells))]
    chips = [element("span", _WORDS.get(name, name), class_=f"outcome o-{name.replace('_', '-')}") for name in names]
    head = [column_head("model and policy"), *(column_head(chip, class_="number") for chip in chips)]
    body = [element("tr", row_head(row, cell), [_counted(cell, name, row) for name in names]) for row, cell in enumerate(cells, start=1)]
    note = (
        "What became of the predictions at or above the operating threshold, and how many required memories were missed. "
        "A number opens its cases."
    )
    return Markup(element("p", note, class_="note") + table("Predictions by outcome, and missed memories", head, body, "outcomes"))


def _counted(cell: CellResult, name: str, number: int) -> Markup:
    total = cell.total("missed" if name == "missed" else f"outcome_{name}")
    link = element("a", f"{total:,}", href=f"#only={number}&outcome={name}") if total else "0"
    return element("td", link, class_="number", data_sort=total)


def _decisions(report: Report) -> Markup | None:
    """What was labelled against what was decided, a table a row."""
    if not report.cells or report.task != "consolidation":
        return None
    head = [column_head("labelled"), *(column_head(name, class_="number") for name in DECIDED)]
    tables = []
    for number, cell in enumerate(report.cells, start=1):
        body = [element("tr", element("th", label, scope="row"), [_confused(cell, label, name) for name in DECIDED]) for label in ACTIONS]
        tables.append(table(f"Row {number}, {short_label(cell)}: labelled (rows) by decided", head, body, "confusion"))
    note = (
        "An action that is among the acceptable ones counts as labelled. fallback: the decision could not be read, or named a memory that "
        "was never offered, and the fact was added."
    )
    return Markup(element("p", note, class_="note") + element("div", tables, class_="confusions"))


def _confused(cell: CellResult, label: str, decided: str) -> Markup:
    total = cell.total(f"confusion_{label}_{decided}")
    return element("td", element("strong", f"{total:,}") if label == decided and total else f"{total:,}", class_="number")


def _charts(kind: str) -> Callable[[Report], Markup | None]:
    """A section that the script fills; only extraction has salience to draw."""

    def make(report: Report) -> Markup | None:
        there = report.cells and report.task == "extraction"
        return element("div", id=f"{kind}-chart", class_="chart-area", data_chart=kind) if there else None

    return make


def _slices(report: Report) -> Markup | None:
    ways = list(dict.fromkeys(one.by for cell in report.cells for one in cell.slices))
    if not ways:
        return None
    tables = [
        _slice_table(by, number, cell, [one for one in cell.slices if one.by == by])
        for by in ways for number, cell in enumerate(report.cells, start=1)
    ]  # fmt: skip
    about = "negative: cases without a required memory, on which specificity rests. " if report.task == "extraction" else ""
    note = (
        f"~ fewer than {FEW} conversations: too few to conclude from. Under {TOO_FEW} no interval is given. {about}"
        "A case with several tags is in each of their slices. A name opens its cases."
    )
    return Markup(element("p", note, class_="note") + element("div", tables, id="slice-tables"))


def _slice_table(by: str, number: int, cell: CellResult, slices: Sequence[Slice]) -> Markup:
    measures = MEASURES[cell.task]
    figures = sorted(measures.of_slices, key=lambda pair: pair[1] != measures.headline)
    counted = [("cases", "cases"), *([measures.beside] if measures.beside else [])]
    titles = [*(title for title, _ in counted), "convs.", *(title for title, _ in figures)]
    head = [column_head(f"by {by}", data_sortable="text"), *sortable(*titles)]
    columns = [column for _, column in counted]
    body = [element("tr", _slice_cells(one, number, figures, columns)) for one in slices]
    return table(f"Row {number}, {short_label(cell)}: by {by}", head, body, "slices", data_by=by, data_row=number)


def _slice_cells(one: Slice, number: int, figures: Sequence[tuple[str, str]], counted: Sequence[str]) -> list[Markup]:
    from urllib.parse import quote

    key = {"tag": "tag", "language": "lang", "length": "length"}.get(one.by)
    name = shown(one.name)
    link = element("a", name, href=f"#only={number}&{key}={quote(name, safe='')}", dir="auto") if key else element("span", name, dir="auto")
    few, sure = one.conversations < FEW, one.conversations >= TOO_FEW
    conversations = element(
        "td", f"{one.conversations:,}", element("abbr", "~", title=f"fewer than {FEW} conversations") if few else None,
        class_="number", data_sort=one.conversations,
    )  # fmt: skip
    counts = [number_cell(f"{one.totals[column]:,.0f}", one.totals[column]) for column in counted]
    told_figures = [figure_cell(one.figures[column], bounds=sure) for _, column in figures]
    return [element("th", link, scope="row", class_="few" if few else None, data_sort=name), *counts, conversations, *told_figures]


def _costs(report: Report) -> Markup | None:
    if not report.cells:
        return None
    titles = ("input tokens", "output tokens", "cost", "of this run's own calls", "seconds", "seconds a case", "from the cache")
    head = [column_head("model and policy"), *(column_head(title, class_="number") for title in titles), column_head("remarks")]
    body = [element("tr", _cost(number, cell)) for number, cell in enumerate(report.cells, start=1)]
    note = (
        "Cost in US dollars and seconds are added up over calls, those of the first call where a reply came from the cache. "
        "Unknown: no price was given, or a server did not tell its tokens."
    )
    return Markup(element("p", note, class_="note") + table("What the calls took", head, body, "costs") + _excluded(report.cells))


def _cost(number: int, cell: CellResult) -> list[Markup]:
    if cell.policy is None:
        columns = [number_cell(UNDEFINED, None) for _ in range(4)]
    else:
        columns = [number_cell(count(value), value) for value in (cell.input_tokens, cell.output_tokens)]
        columns += [number_cell(dollars(value), value) for value in (cell.cost, cell.spent)]
    each = cell.seconds / len(cell.cases) if len(cell.cases) else None
    columns += [number_cell(seconds(cell.seconds), cell.seconds), number_cell(UNDEFINED if each is None else seconds(each), each)]
    columns.append(number_cell(f"{cell.cached:,}", cell.cached))
    remarks = [f"{number:,} replies without what the server refused: {name}" for name, number in cell.fallbacks.items()]
    remarks += [f"{cell.reasoning_only:,} replies with reasoning and no answer"] if cell.reasoning_only else []
    remarks += [f"{share(cell.flip_rate)} of the cases differ between repeats"] if cell.flip_rate is not None else []
    return [row_head(number, cell), *columns, element("td", "; ".join(remarks), dir="auto", class_="remarks")]


def _excluded(cells: Sequence[CellResult]) -> Markup:
    """The cases that are in no figure."""
    found = [(number, kind, one) for number, cell in enumerate(cells, start=1) for kind, group in
             (("failed", cell.failed), ("missing", cell.missing), ("unscored", cell.unscored)) for one in group]  # fmt: skip
    if not found:
        return Markup("")
    body = [
        element("tr", element("th", one.case, scope="row", dir="auto"), element("td", number), element("td", f"{kind}: {one.kind}"),
                element("td", one.message, dir="auto", class_="remarks"))
        for number, kind, one in found[:_MOST_EXCLUDED]
    ]  # fmt: skip
    more = f" (the first {_MOST_EXCLUDED}; all are in report.json)" if len(found) > _MOST_EXCLUDED else ""
    caption = f"{len(found):,} cases that are in no figure{more}"
    inside = table(caption, [column_head("case"), column_head("row"), column_head("why"), column_head("message")], body, "excluded")
    return element("details", element("summary", caption), inside)


def _left_out(report: Report) -> Markup:
    number = parts.results_left_out(report)
    if not number:
        return Markup("")
    text = f"{number:,} results are not in this page, which holds {parts.MOST_RESULTS:,} at most; the run's cases.jsonl has all."
    return element("p", text, class_="notice")


_SECTIONS: tuple[tuple[str, str, Callable[[Report], Markup | None]], ...] = (
    ("Leaderboard", "leaderboard", _leaderboard),
    ("Outcomes", "outcomes", _outcomes),
    ("Decisions", "decisions", _decisions),
    ("Reliability of salience", "reliability", _charts("reliability")),
    ("Precision and recall over the threshold", "threshold", _charts("threshold")),
    ("Slices", "slices", _slices),
    ("Cost and time", "cost", _costs),
)

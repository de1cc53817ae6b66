"""A report as plain text: one table, its legend, notices and signatures; and single cases. Text in, text out; nothing is printed."""

from __future__ import annotations

from collections.abc import Sequence

from evals.metrics.measures import MEASURES, Measures
from evals.report.columns import aligned
from evals.report.leaders import silent, statuses
from evals.report.numbers import UNDEFINED, count, dollars, interval, seconds, share
from evals.report.safe import clip, printable
from evals.results import CaseResult, CellResult, Report
from evals.stats import FEW


def render(report: Report, width: int | None = None) -> str:
    """Return the whole report as text.

    Args:
        report: The report.
        width: Columns of the terminal; a table that is wider comes in two parts, one below the other. None: always in one.
    """
    blocks = [_table(report.cells, width), *([_silver(report)] if report.silver else []), _legend(report.cells)]
    if report.notices:
        blocks.append("\n".join(f"! {printable(notice)}" for notice in report.notices))
    blocks.append("\n".join(f"[{number}] {cell.signature}" for number, cell in enumerate(report.cells, start=1)))
    return "\n\n".join(blocks) + "\n"


def _table(cells: Sequence[CellResult], width: int | None) -> str:
    shown = MEASURES[cells[0].task].shown if cells else ()
    header = ["", "model", "policy", *(title for title, _ in shown), "replies", "tokens", "cost", "seconds"]
    rows = [header, [""] * (3 + len(shown)) + ["ok/emp/rep/cut/bad", "in+out", "", ""]]
    for number, cell in enumerate(cells, start=1):
        rows += _rows(number, cell)
    whole = aligned(rows, left=3, header=2)
    if width is None or len(whole.split("\n")[2]) <= width:
        return whole
    half = 3 + (len(shown) + 1) // 2
    first = [row[:half] for row in rows if any(row[:half])]
    return aligned(first, left=3) + "\n\n" + aligned([[row[0], *row[half:]] for row in rows], left=1, header=2)


def _rows(number: int, cell: CellResult) -> list[list[str]]:
    measures = MEASURES[cell.task]
    marked = silent(cell)
    values, bounds = [], []
    for _, name in measures.shown:
        figure = cell.figures[name]
        values.append(share(figure.value) + ("*" if marked and name in measures.guards and figure.value is not None else ""))
        bounds.append(interval(figure.low, figure.high))
    tokens = None if cell.input_tokens is None or cell.output_tokens is None else cell.input_tokens + cell.output_tokens
    baseline = cell.policy is None
    first = [f"[{number}]", printable(cell.model), printable(cell.policy or UNDEFINED), *values, statuses(cell)]
    first += [UNDEFINED if baseline else count(tokens), UNDEFINED if baseline else dollars(cell.cost), seconds(cell.seconds)]
    return [first, ["", "", "", *bounds, "", "", "", ""]]


def _silver(report: Report) -> str:
    """The two figures that silver labels can carry, for each row."""
    lines = [_wrapped(f"Silver labels: {printable(report.silver)}")]
    if report.task != "extraction":
        return lines[0]
    for number, cell in enumerate(report.cells, start=1):
        recall, false = cell.figures["recall"], cell.figures["false_memories_per_negative"]
        lines.append(
            f"[{number}] recall of silver memories {share(recall.value)} {interval(recall.low, recall.high)}; memories returned for a turn "
            f"without one {share(false.value)} {interval(false.low, false.high)} ({cell.total('negatives')} turns)"
        )
    return "\n".join(lines)


def _legend(cells: Sequence[CellResult]) -> str:
    signature = max((cell.signature for cell in cells), key=lambda one: one.cases)
    fewer = any(cell.signature.cases < signature.cases for cell in cells)
    kappa = "not measured" if signature.matcher.kappa is None else share(signature.matcher.kappa)
    provisional = " (provisional)" if signature.matcher.provisional else ""
    measures = MEASURES[cells[0].task]
    lines = [
        f"{signature.data.name} {signature.data.version} ({signature.data.hash}), split {signature.split}: {'up to ' if fewer else ''}"
        f"{signature.cases} cases in {signature.conversations} conversations. In brackets: 95% intervals, conversations resampled.",
        f"Matcher {signature.matcher.id}: agreement with labelled pairs kappa {kappa}{provisional}. "
        "Replies: ok, empty, repaired, cut off, unreadable.",
        _columns(measures) + " cost and seconds: added up over calls; of the first call where a reply came from the cache.",
    ]
    for number, cell in enumerate(cells if measures.task == "extraction" else (), start=1):
        coverage, atomicity = cell.figures["coverage"], cell.figures["atomicity"]
        if coverage.value is not None:
            lines.append(
                f"[{number}] coverage {share(coverage.value)} {interval(coverage.low, coverage.high)}, F1 that forgives merged, split and "
                f"repeated memories; atomicity {share(atomicity.value)}, F1 as a share of it."
            )
        made_up, known = cell.figures["unsupported_rate"], cell.total("support_known")
        if known:
            lines.append(
                f"[{number}] unsupported {share(made_up.value)} {interval(made_up.low, made_up.high)}, predictions that the conversation "
                f"does not bear out, as the judge says ({known} of {cell.total('predictions')} predictions known)."
            )
    if signature.conversations < FEW:
        lines.append(f"Fewer than {FEW} conversations: read the intervals with care.")
    if measures.guards and any(silent(cell) for cell in cells):
        lines.append("* recall is below .05: this figure can look good where hardly anything right is said.")
    return "\n".join(_wrapped(line) for line in lines)


def _columns(measures: Measures) -> str:
    """What the columns mean, in a few sentences."""
    if measures.task != "extraction":
        names = {title: f" ({name})" for title, name in measures.shown if name != title.replace(" ", "_").lower()}
        return " ".join(f"{title}{names.get(title, '')}: {text[0].lower() + text[1:]}" for title, text in measures.told)
    return (
        "An unreadable or cut-off reply misses what it left out, and on a negative case it is not clean. "
        "balanced: harmonic mean of F1 where memories are due and specificity on negatives. violations: share of the cases with a "
        "forbidden statement in which one was returned. noise: share of predictions that are true but trivial. AUROC: whether salience "
        "ranks hits above false positives, from ten of each on."
    )


def _wrapped(line: str) -> str:
    import textwrap

    return textwrap.fill(line, 132, subsequent_indent="  ")


def render_case(result: CaseResult, width: int = 132) -> str:
    """Return one case with its messages, labels, predictions and what became of each."""
    case = result.case
    lines = [f"{case.id} ({case.language}, {case.date or 'no date'}; {', '.join(case.tags)}); reply: {result.status}"]
    for message in (*case.context, *case.messages):
        lines.append(f"  [{printable(message['role'])}] {clip(printable(message['content'], keep_lines=True), width - 12)}")
    lines.append("  gold:")
    matched = set(result.outcome.matched)
    for memory in case.memories:
        state = "found" if memory.id in matched else "missed" if memory.id in result.outcome.missed else "not returned"
        state += f" ({result.outcome.parted[memory.id]})" if memory.id in result.outcome.parted else ""
        lines.append(f"    {memory.salience:.1f} {printable(memory.content)}  <- {state}")
    if not case.memories:
        lines.append("    (nothing: the right answer is [])")
    lines += [f"    must not: {printable(item.content)} ({item.reason})" for item in case.forbidden]
    lines.append("  predicted:")
    for entry in result.outcome.predictions:
        label = f" {entry.label}" if entry.label else ""
        lines.append(f"    {entry.salience:.2f} {printable(entry.content)}  -> {entry.outcome}{label} ({printable(entry.reason)})")
    if not result.outcome.predictions:
        lines.append("    (nothing)")
    return "\n".join(lines)

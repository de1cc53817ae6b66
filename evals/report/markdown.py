"""A report as Markdown for a pull request or the summary of a CI step. Text in, text out; how foreign text is shown is `markup`'s."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evals.metrics.measures import MEASURES, Measures
from evals.report.leaders import TOO_FEW, silent, statuses
from evals.report.markup import code, details, longest_run, pipe_table, plain
from evals.report.numbers import UNDEFINED, count, dollars, interval, seconds, share
from evals.report.safe import clip, printable
from evals.results import CellResult, Report, Slice
from evals.stats import FEW, Interval

_LONGEST = 65_000
"""Characters; GitHub takes no comment of more than 65,536."""
_LONGEST_NOTICE = 1_000


def report_markdown(report: Report) -> str:
    """Return a report as GitHub-flavoured Markdown, short enough for a comment on GitHub.

    Args:
        report: The report. Where its slices would make it too long they are left out, and the text says so.
    """
    head = [f"### Salience report of {code(report.folder)}", pipe_table(_lines(report.cells), left=3)]
    head += [_silver(report)] if report.silver else []
    head += _legend(report.cells)
    head += ["\n".join(f"- {plain(clip(notice, _LONGEST_NOTICE))}" for notice in report.notices)] if report.notices else []
    slices = [block for number, cell in enumerate(report.cells, start=1) for block in _slices(number, cell)]
    tail = [_signatures(report.cells)] if report.cells else []
    whole = "\n\n".join([*head, *slices, *tail]) + "\n"
    if slices and len(whole) > _LONGEST:
        left_out = "The figures by slice are left out, as GitHub takes no comment that is so long; the HTML report has them."
        whole = "\n\n".join([*head, left_out, *tail]) + "\n"
    return whole


def _lines(cells: Sequence[CellResult]) -> list[list[str]]:
    shown = MEASURES[cells[0].task].shown if cells else ()
    header = ["", "model", "policy", *(title for title, _ in shown), "replies", "tokens", "cost", "seconds"]
    return [header, *(_line(number, cell) for number, cell in enumerate(cells, start=1))]


def _line(number: int, cell: CellResult) -> list[str]:
    policy = UNDEFINED if cell.policy is None else code(cell.policy)
    measures = MEASURES[cell.task]
    figures = [_figure(cell.figures[name], mark=r"\*" if name in measures.guards and silent(cell) else "") for _, name in measures.shown]
    tokens = None if cell.input_tokens is None or cell.output_tokens is None else cell.input_tokens + cell.output_tokens
    used = [UNDEFINED, UNDEFINED] if cell.policy is None else [count(tokens), _escaped(dollars(cell.cost))]
    return [f"[{number}]", code(cell.model), policy, *figures, statuses(cell), *used, seconds(cell.seconds)]


def _figure(figure: Interval, *, mark: str = "", sure: bool = True) -> str:
    value = share(figure.value) + (mark if figure.value is not None else "")
    return f"{value} {interval(figure.low, figure.high) if sure else ''}".strip()


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace("$", r"\$")  # two dollar signs make a formula


def _silver(report: Report) -> str:
    lines = [f"Silver labels: {plain(report.silver)}\n"]
    if report.task != "extraction":
        return lines[0]
    for number, cell in enumerate(report.cells, start=1):
        lines.append(
            f"- [{number}] recall of silver memories {_figure(cell.figures['recall'])}; memories returned for a turn without one "
            f"{_figure(cell.figures['false_memories_per_negative'])} ({cell.total('negatives')} turns)"
        )
    return "\n".join(lines)


def _legend(cells: Sequence[CellResult]) -> list[str]:
    if not cells:
        return []
    one, measures = max((cell.signature for cell in cells), key=lambda signature: signature.cases), MEASURES[cells[0].task]
    fewer = "up to " if any(cell.signature.cases < one.cases for cell in cells) else ""
    kappa = ("not measured" if one.matcher.kappa is None else share(one.matcher.kappa)) + " (provisional)" * one.matcher.provisional
    lines = [
        f"{code(one.data.name)} {code(one.data.version)} ({code(one.data.hash)}), split {code(one.split)}: {fewer}{one.cases} cases in "
        f"{one.conversations} conversations. Rubric {code(one.rubric)}. Matcher {code(one.matcher.id)}: agreement with labelled pairs "
        f"kappa {kappa}. In brackets: 95% intervals, conversations resampled. Replies: ok/empty/repaired/cut off/unreadable.",
        *([" ".join(f"{title}: {text[0].lower() + text[1:]}" for title, text in measures.told)] if measures.task != "extraction" else []),
        *(line for number, cell in enumerate(cells, start=1) for line in _judged(number, cell)),
    ]
    lines += [f"Fewer than {FEW} conversations: read the intervals with care."] if one.conversations < FEW else []
    if measures.guards and any(silent(cell) for cell in cells):
        lines.append(r"\* recall is below .05: this figure can look good where hardly anything right is said.")
    return lines


def _judged(number: int, cell: CellResult) -> Iterator[str]:
    """What only a judge tells of a row."""
    if cell.task != "extraction":
        return
    coverage, atomicity, known = cell.figures["coverage"], cell.figures["atomicity"], cell.total("support_known")
    if coverage.value is not None:
        yield (
            f"[{number}] coverage {_figure(coverage)}, F1 that forgives merged, split and repeated memories; "
            f"atomicity {share(atomicity.value)}, F1 as a share of it."
        )
    if known:
        yield (
            f"[{number}] unsupported {_figure(cell.figures['unsupported_rate'])}, predictions that match no label and that the "
            f"conversation does not bear out ({known} of {cell.total('predictions')} predictions known)."
        )


def _slices(number: int, cell: CellResult) -> Iterator[str]:
    ways, measures = list(dict.fromkeys(one.by for one in cell.slices)), MEASURES[cell.task]
    if not ways:
        return
    tables = []
    for by in ways:
        beside = [measures.beside[0]] if measures.beside else []
        header = [f"by {by}", "cases", *beside, "convs.", *(title for title, _ in measures.of_slices)]
        tables.append(pipe_table([header, *(_slice(one, measures) for one in cell.slices if one.by == by)], left=1))
    legend = rf"\~ fewer than {FEW} conversations: too few to conclude from. No interval under {TOO_FEW}."
    body = "\n\n".join([code(cell.label), *tables, legend])
    yield details(f"[{number}] by {', '.join(ways)}", body)


def _slice(one: Slice, measures: Measures) -> list[str]:
    few = r"\~" if one.conversations < FEW else ""
    figures = [_figure(one.figures[name], sure=one.conversations >= TOO_FEW) for _, name in measures.of_slices]
    beside = [f"{one.totals[measures.beside[1]]:.0f}"] if measures.beside else []
    return [code(one.name), f"{one.totals['cases']:.0f}", *beside, f"{one.conversations}{few}", *figures]


def _signatures(cells: Sequence[CellResult]) -> str:
    lines = [f"[{number}] {printable(str(cell.signature))}" for number, cell in enumerate(cells, start=1)]
    fence = "`" * max(3, longest_run("\n".join(lines)) + 1)
    return details("Signatures", "\n".join([f"{fence}text", *lines, fence]))

"""A comparison and a gate's verdict as text, Markdown and JSON. Every number comes from them; nothing is computed here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

from evals.compare import CaseChange, Comparison, FigureChange, SliceChange
from evals.gate import Check, Resolution, Verdict
from evals.metrics.measures import MEASURES
from evals.report.columns import aligned
from evals.report.leaders import LOW_RECALL, TOO_FEW
from evals.report.markup import code, details, pipe_table, plain
from evals.report.numbers import UNDEFINED, share
from evals.report.safe import clip, printable
from evals.stats import FEW, Interval

Contents = Mapping[str, Mapping[str, str]]
"""Case -> memory -> what it says."""
MOST_CHARACTERS = 65_000
"""Of Markdown; GitHub takes 65,536 in a comment, and none of a longer one."""
_WIDTH = 110
_SENTENCE = 300
_FALSE = 5
_CHECKS = 20
_SIGNIFICANT = 0.05
_TITLES = {"f1": "F1", "auroc": "AUROC"}


def signed(value: float | None) -> str:
    """Return a difference with its sign and two decimals: "+.05", "-.12", ".00"; "-" if undefined."""
    if value is None:
        return UNDEFINED
    text = share(abs(value))
    return text if text == ".00" else f"{'-' if value < 0 else '+'}{text}"


def bounds(found: Interval) -> str:
    """Return the interval of a difference: "[-.02,+.09]", "" if there is none."""
    return "" if found.low is None or found.high is None else f"[{signed(found.low)},{signed(found.high)}]"


def in_words(change: FigureChange) -> str:
    """Return what a difference shows, in words."""
    found = change.difference
    if found.value is None or found.low is None or found.high is None:
        return "undefined"
    clear = found.low > 0 or found.high < 0
    if change.p is not None and (change.p < _SIGNIFICANT) != clear:
        return "not settled: the interval and p disagree"
    if clear:
        better = (found.low > 0) != any(change.name in one.lower_is_better for one in MEASURES.values())
        return "better" if better else "worse"
    if change.detectable is None:
        return "no difference" if change.base == change.new else "no significant difference; too few conversations to tell more"
    return f"no significant difference; {share(change.detectable)} would have shown"


def comparison_text(comparison: Comparison, contents: Contents, *, show: int = 0) -> str:
    """Return a comparison for the terminal.

    Args:
        comparison: What changed.
        contents: What memories say.
        show: How many of the losses are shown, of the gains, and of the cases that changed at the same score.
    """
    return "\n".join(_lines(comparison, contents, show)) + "\n"


def _lines(comparison: Comparison, contents: Contents, show: int) -> Iterator[str]:
    yield f"base  {printable(comparison.base.label)}"
    yield f"new   {printable(comparison.new.label)}"
    yield _compared(comparison)
    yield ""
    rows = [["", "base", "new", "difference", "95% interval", "p", ""]]
    rows += [[*_cells(change), in_words(change)] for change in comparison.figures]
    yield _flush_last(rows)
    yield _legend()
    yield f"cases: {comparison.wins} better, {comparison.losses} worse, {comparison.ties} alike"
    yield from _volume(comparison)
    yield from _slice_lines(comparison.slices)
    if show and comparison.changes:
        yield ""
        yield f"changed: {len(comparison.changes)} cases"
        for title, changes in _groups(comparison):
            yield f"{title}: {_shown(changes, show)}"
            for change in changes[:show]:
                yield f"  {printable(change.case)}  {share(change.base)} -> {share(change.new)}"
                yield from (f"    {line}" for line in _why(change, contents))
    yield ""
    yield f"[base] {comparison.base.signature}"
    yield f"[new]  {comparison.new.signature}"


def _groups(comparison: Comparison) -> list[tuple[str, tuple[CaseChange, ...]]]:
    """The cases that changed by what became of their score; a group without a case is left out."""
    groups = [("losses", comparison.worse), ("gains", comparison.better), ("changed at the same score", comparison.moved)]
    return [(title, changes) for title, changes in groups if changes]


def _shown(changes: tuple[CaseChange, ...], show: int) -> str:
    return f"{len(changes)}" + (f", {show} shown" if show < len(changes) else "")


def _compared(comparison: Comparison) -> str:
    lacking = f"; left out: {len(comparison.new_only)} that base did not complete, {len(comparison.base_only)} that new did not"
    few = f" Fewer than {FEW} conversations: read the intervals with care." if comparison.conversations < FEW else ""
    limited = " New covers a part of its split only." if comparison.new.signature.limited else ""
    return f"{comparison.cases} cases in {comparison.conversations} conversations, completed by both{lacking}.{few}{limited}"


def _legend() -> str:
    return (
        'Paired: each conversation is resampled with both its results. p: two-sided, by swapping conversations. "would have shown": the '
        "smallest\ntrue difference that is significant four times in five on these cases."
    )


def _cells(change: FigureChange) -> list[str]:
    p = _p(change.p)
    return [_title(change.name), share(change.base), share(change.new), signed(change.difference.value), bounds(change.difference), p]


def _p(value: float | None) -> str:
    return "" if value is None else "<.001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


def _title(name: str) -> str:
    return _TITLES.get(name, name.replace("_", " "))


def _flush_last(rows: list[list[str]]) -> str:
    """Rows with the last column flush left."""
    head = aligned([row[:-1] for row in rows], left=1).split("\n")
    width = max(len(line) for line in head)
    notes = ["", "", *(row[-1] for row in rows[1:])]
    return "\n".join(f"{line.ljust(width)}  {note}".rstrip() for line, note in zip(head, notes, strict=True))


def _volume(comparison: Comparison) -> Iterator[str]:
    """How much either side says: a figure that gains by silence is to be read beside it."""
    if comparison.new.task != "extraction":
        return
    counts = [sum(side.cases[name].count("predictions") for name in comparison.names) for side in (comparison.base, comparison.new)]
    yield f"predictions at or above the operating threshold: {counts[0]:,.0f} by base, {counts[1]:,.0f} by new"
    recall = comparison.figure("recall")
    quiet = [side for side, value in (("base", recall.base), ("new", recall.new)) if value is not None and value < LOW_RECALL]
    if quiet:
        low = " and ".join(quiet)
        yield f"Recall of {low} is below .05: specificity, violations, noise and AUROC can look good where hardly anything is found."


def _slice_lines(slices: tuple[SliceChange, ...]) -> Iterator[str]:
    for by in dict.fromkeys(one.by for one in slices):
        rows = [[f"F1 by {by}", "cases", "convs.", "base", "new", "difference", "95% interval", "Holm p"]]
        rows += [_slice_cells(one) for one in slices if one.by == by]
        yield ""
        yield aligned(rows, left=1)


def _slice_cells(one: SliceChange) -> list[str]:
    adjusted = "too small to test" if one.too_small else _p(one.adjusted_p)
    change = one.change
    interval = bounds(change.difference) if one.conversations >= TOO_FEW else ""
    values = [share(change.base), share(change.new), signed(change.difference.value), interval]
    return [clip(printable(one.name), 32), str(one.cases), str(one.conversations), *values, adjusted]


def _why(change: CaseChange, contents: Contents, most: int | None = None) -> Iterator[str]:
    """What changed in a case, a line each; of false memories `most` of either kind."""
    known = contents.get(change.case, {})
    for word, names in (("lost", change.lost), ("found now", change.gained)):
        yield from (f"{word}: {clip(printable(known.get(name, name)), _WIDTH)} ({printable(name)})" for name in names)
    for word, false in (("wrong now", change.added), ("no longer wrong", change.removed)):
        yield from (f"{word}: {clip(printable(one.content), _WIDTH)} ({one.outcome})" for one in false[:most])
        if most is not None and len(false) > most:
            yield f"{word}: and {len(false) - most} more"
    if change.statuses:
        yield f"reply: {change.statuses[0]} -> {change.statuses[1]}"


def resolution_text(found: Resolution, figure: str, margin: float) -> str:
    """Return what a base's data can resolve, in a sentence or two.

    Args:
        found: What was worked out.
        figure: The figure that is gated.
        margin: How much worse is tolerated.
    """
    if found.half_width is None:
        return f"The base has no interval for {figure}: what its data can resolve is not known."
    text = (
        f"The base's {found.conversations} conversations resolve a difference in {figure} to about +-{share(found.half_width)} "
        "(where both rows are equally uncertain and their results correlate at .5)."
    )
    if found.needed is not None:
        text += f" So they cannot show no harm at a margin of {margin:g}; about {found.needed} conversations of this kind would."
    return text


def verdict_text(verdict: Verdict) -> str:
    """Return a gate's verdict for the terminal: every check, then the ruling."""
    lines = [f"  {check.ruling:12}  {printable(check.told)}" for check in verdict.checks]
    return "\n".join(["checks", *lines, "", printable(verdict.words)]) + "\n"


class _Room(NamedTuple):
    """How much of a comparison its Markdown holds: cases of each group, false memories of a case, slices, checks; None for all."""

    cases: int
    false: int | None = None
    slices: bool = True
    checks: int | None = None


def comparison_markdown(
    comparison: Comparison, contents: Contents, verdict: Verdict | None = None, *, show: int = 20, resolved: str = ""
) -> str:
    """Return a comparison, with a gate's verdict where there is one, as Markdown for a pull request, of less than `MOST_CHARACTERS`.

    What is too long loses cases first, then false memories of a case, then slices, then checks that passed, and says so.

    Args:
        comparison: What changed.
        contents: What memories say.
        verdict: Of the gate.
        show: How many of the losses are shown, of the gains, and of the cases that changed at the same score.
        resolved: What the base's data can resolve, as `resolution_text` gives it; "" leaves it out.
    """
    for room in _rooms(show):
        text = _markdown(comparison, contents, verdict, room, show=show, resolved=resolved)
        if len(text) < MOST_CHARACTERS:
            return text
    words = _headline(verdict)  # foreign names alone can be as long as they like
    return f"{words}\n\nThe comparison is too long for a comment: names of its rows or cases fill it. Write it as JSON.\n"


def _rooms(show: int) -> Iterator[_Room]:
    numbers = [show]
    while numbers[-1] > 1:
        numbers.append(numbers[-1] // 2)
    yield from (_Room(cases) for cases in numbers)
    yield from (_Room(cases, _FALSE) for cases in numbers)
    yield from (_Room(cases, _FALSE, slices=False) for cases in (*numbers, 0))
    yield from (_Room(cases, _FALSE, slices=False, checks=_CHECKS) for cases in (*numbers, 0))


def _headline(verdict: Verdict | None) -> str:
    return f"### {plain(clip(verdict.words, _SENTENCE))}" if verdict else "### Comparison"


def _markdown(comparison: Comparison, contents: Contents, verdict: Verdict | None, room: _Room, *, show: int, resolved: str) -> str:
    lines = [_headline(verdict), ""]
    lines += [f"base {code(comparison.base.label)}, new {code(comparison.new.label)}: {_compared(comparison)}", ""]
    lines += [resolved, ""] if resolved else []
    head = ["", "base", "new", "difference", "95% interval", "p", ""]
    lines += [pipe_table([head, *([*_cells(one), in_words(one)] for one in comparison.figures)], left=1), ""]
    lines += [f"Cases: {comparison.wins} better, {comparison.losses} worse, {comparison.ties} alike.", *_volume(comparison), ""]
    lines += _markdown_checks(verdict.checks, room.checks) if verdict else []
    lines += _markdown_cases(comparison, contents, room, show=show)
    by_kind = dict.fromkeys(one.by for one in comparison.slices)
    if by_kind and not room.slices:
        lines += ["The slices are left out: with them this text would be too long for a comment.", ""]
    for by in by_kind if room.slices else ():
        rows = [["slice", "cases", "conversations", "base", "new", "difference", "95% interval", "Holm p"]]
        rows += [[code(clip(printable(one.name), _WIDTH)), *_slice_cells(one)[1:]] for one in comparison.slices if one.by == by]
        lines += [details(f"F1 by {by}", pipe_table(rows, left=1)), ""]
    signatures = f"- base {code(str(comparison.base.signature))}\n- new {code(str(comparison.new.signature))}"
    return "\n".join([*lines, details("Signatures", signatures)]) + "\n"


def _markdown_checks(checks: tuple[Check, ...], most: int | None) -> Iterator[str]:
    order = {"fail": 0, "inconclusive": 1, "pass": 2}
    shown = checks if most is None else sorted(checks, key=lambda one: order[one.ruling])[:most]
    rows = [[plain(clip(one.name, _SENTENCE)), one.ruling, plain(clip(one.told, _SENTENCE))] for one in shown]
    yield pipe_table([["check", "ruling", ""], *rows], left=3)
    yield ""
    if len(shown) < len(checks):
        yield f"And {len(checks) - len(shown)} more checks: with them this text would be too long for a comment."
        yield ""


def _markdown_cases(comparison: Comparison, contents: Contents, room: _Room, *, show: int) -> Iterator[str]:
    if not show or not comparison.changes:
        return
    body: list[str] = []
    for title, changes in _groups(comparison):
        body += [f"**{title}: {_shown(changes, room.cases)}**", ""]
        body += [line for change in changes[: room.cases] for line in _markdown_case(change, contents, room.false)]
        body.append("")
    if room.cases < show or room.false is not None:
        body += ["Shortened: the whole would be too long for a comment.", ""]
    yield details(f"{len(comparison.changes)} cases changed", "\n".join(body).rstrip())
    yield ""


def _markdown_case(change: CaseChange, contents: Contents, false: int | None) -> Iterator[str]:
    yield f"- {code(change.case)} {share(change.base)} to {share(change.new)}"
    yield from (f"  - {plain(line)}" for line in _why(change, contents, false))


def refusal_markdown(told: str) -> str:
    """Return what stands in the Markdown of a gate that ruled on nothing.

    Args:
        told: Why.
    """
    return f"### NO VERDICT: {plain(clip(told, 2 * _SENTENCE))}\n"


def refusal_json(told: str, exit_code: int) -> dict[str, Any]:
    """Return what stands in the JSON of a gate that ruled on nothing.

    Args:
        told: Why.
        exit_code: What the command ends with.
    """
    gate: dict[str, Any] = {
        "ruling": None,
        "found": None,
        "exit_code": exit_code,
        "words": f"NO VERDICT: {told}",
        "checks": [],
        "resolution": None,
    }
    return {"schema_version": 1, "gate": gate}


def comparison_json(comparison: Comparison, verdict: Verdict | None = None, resolved: Resolution | None = None) -> dict[str, Any]:
    """Return a comparison as values for `json.dumps`.

    Args:
        comparison: What changed.
        verdict: Of the gate.
        resolved: What the base's data can resolve.
    """
    found: dict[str, Any] = {
        "schema_version": 1,
        "base": {"label": comparison.base.label, "signature": str(comparison.base.signature)},
        "new": {"label": comparison.new.label, "signature": str(comparison.new.signature)},
        "cases": comparison.cases, "conversations": comparison.conversations,
        "base_only": list(comparison.base_only), "new_only": list(comparison.new_only),
        "wins": comparison.wins, "losses": comparison.losses, "ties": comparison.ties,
        "figures": {change.name: asdict(change) for change in comparison.figures},
        "slices": [{**asdict(one), "too_small": one.too_small} for one in comparison.slices],
        "changes": [
            {**asdict(one), "added": [_false(false) for false in one.added], "removed": [_false(false) for false in one.removed]}
            for one in comparison.changes
        ],
    }  # fmt: skip
    if verdict is not None:
        found["gate"] = {
            "ruling": verdict.ruling, "found": verdict.found, "exit_code": verdict.exit_code, "words": verdict.words,
            "checks": [asdict(check) for check in verdict.checks],
            "resolution": None if resolved is None else asdict(resolved),
        }  # fmt: skip
    return found


def _false(one: Any) -> dict[str, str]:
    return {"outcome": one.outcome, "content": one.content}

"""A comparison and a gate's verdict as text, Markdown and JSON. Every number comes from them; nothing is computed here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from evals.compare import LOWER_IS_BETTER, CaseChange, Comparison, FigureChange, SliceChange
from evals.gate import Resolution, Verdict
from evals.report.columns import aligned
from evals.report.markup import code, details, pipe_table, plain
from evals.report.numbers import UNDEFINED, share
from evals.report.safe import clip, printable
from evals.stats import FEW, Interval

Contents = Mapping[str, Mapping[str, str]]
"""Case -> memory -> what it says."""
_WIDTH = 110
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
    if found.low > 0 or found.high < 0:
        better = (found.low > 0) != (change.name in LOWER_IS_BETTER)
        return "better" if better else "worse"
    if change.detectable is None:
        return "no difference"
    return f"no significant difference; {share(change.detectable)} would have shown"


def comparison_text(comparison: Comparison, contents: Contents, *, show: int = 0) -> str:
    """Return a comparison for the terminal.

    Args:
        comparison: What changed.
        contents: What memories say.
        show: How many of the cases that changed are shown.
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
    yield from _slice_lines(comparison.slices)
    if show and comparison.changes:
        yield ""
        yield f"changed: {len(comparison.changes)} cases" + (f", {show} shown" if show < len(comparison.changes) else "")
        for change in comparison.changes[:show]:
            yield f"  {printable(change.case)}  {share(change.base)} -> {share(change.new)}"
            yield from (f"    {line}" for line in _why(change, contents))
    yield ""
    yield f"[base] {comparison.base.signature}"
    yield f"[new]  {comparison.new.signature}"


def _compared(comparison: Comparison) -> str:
    lacking = f"; left out: {len(comparison.new_only)} that base did not complete, {len(comparison.base_only)} that new did not"
    few = f" Fewer than {FEW} conversations: read the intervals with care." if comparison.conversations < FEW else ""
    return f"{comparison.cases} cases in {comparison.conversations} conversations, completed by both{lacking}.{few}"


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


def _slice_lines(slices: tuple[SliceChange, ...]) -> Iterator[str]:
    for by in dict.fromkeys(one.by for one in slices):
        rows = [[f"F1 by {by}", "cases", "convs.", "base", "new", "difference", "95% interval", "Holm p"]]
        rows += [_slice_cells(one) for one in slices if one.by == by]
        yield ""
        yield aligned(rows, left=1)


def _slice_cells(one: SliceChange) -> list[str]:
    adjusted = "too small to test" if one.too_small else _p(one.adjusted_p)
    change = one.change
    values = [share(change.base), share(change.new), signed(change.difference.value), bounds(change.difference)]
    return [clip(printable(one.name), 32), str(one.cases), str(one.conversations), *values, adjusted]


def _why(change: CaseChange, contents: Contents) -> Iterator[str]:
    known = contents.get(change.case, {})
    for word, names in (("lost", change.lost), ("found now", change.gained)):
        yield from (f"{word}: {clip(printable(known.get(name, name)), _WIDTH)} ({printable(name)})" for name in names)
    for word, false in (("wrong now", change.added), ("no longer wrong", change.removed)):
        yield from (f"{word}: {clip(printable(one.content), _WIDTH)} ({one.outcome})" for one in false)
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


def comparison_markdown(comparison: Comparison, contents: Contents, verdict: Verdict | None = None, *, show: int = 20) -> str:
    """Return a comparison, with a gate's verdict where there is one, as Markdown for a pull request.

    Args:
        comparison: What changed.
        contents: What memories say.
        verdict: Of the gate.
        show: How many of the cases that changed are shown.
    """
    lines = [f"### {plain(verdict.words)}" if verdict else "### Comparison", ""]
    lines += [f"base {code(comparison.base.label)}, new {code(comparison.new.label)}: {_compared(comparison)}", ""]
    head = ["", "base", "new", "difference", "95% interval", "p", ""]
    lines += [pipe_table([head, *([*_cells(one), in_words(one)] for one in comparison.figures)], left=1), ""]
    lines += [f"Cases: {comparison.wins} better, {comparison.losses} worse, {comparison.ties} alike.", ""]
    if verdict:
        lines += [
            pipe_table([["check", "ruling", ""], *([plain(one.name), one.ruling, plain(one.told)] for one in verdict.checks)], left=3),
            "",
        ]
    if comparison.changes:
        shown = [line for change in comparison.changes[:show] for line in _markdown_case(change, contents)]
        lines += [details(f"{len(comparison.changes)} cases changed, {min(show, len(comparison.changes))} shown", "\n".join(shown)), ""]
    for by in dict.fromkeys(one.by for one in comparison.slices):
        rows = [["slice", "cases", "conversations", "base", "new", "difference", "95% interval", "Holm p"]]
        rows += [[code(one.name), *_slice_cells(one)[1:]] for one in comparison.slices if one.by == by]
        lines += [details(f"F1 by {by}", pipe_table(rows, left=1)), ""]
    signatures = f"- base {code(str(comparison.base.signature))}\n- new {code(str(comparison.new.signature))}"
    return "\n".join([*lines, details("Signatures", signatures)]) + "\n"


def _markdown_case(change: CaseChange, contents: Contents) -> Iterator[str]:
    yield f"- {code(change.case)} {share(change.base)} to {share(change.new)}"
    yield from (f"  - {plain(line)}" for line in _why(change, contents))


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

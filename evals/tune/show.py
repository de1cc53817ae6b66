"""What a search tried and what came of it, as text for a terminal and as a plot. Nothing is ranked here but the lines of a table."""

from __future__ import annotations

import difflib
import math
import textwrap
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from evals.errors import WorkbenchError
from evals.report import numbers
from evals.report.safe import clip, printable
from evals.tune.artefact import HEADLINES, TUNED, Artefact
from evals.tune.artefact_fields import SPLITS, given

BASE = "the base itself"
"""What the base is said to change; see `evals.tune.ledger.changed`."""
_LEAST = 60
"""Columns below which nothing is folded further."""


def show_artefact(artefact: Artefact, width: int = 120) -> str:
    """Return an artefact in words: what it is, what it cost, its scores, how they change from split to split, the gate.

    Args:
        artefact: The artefact.
        width: Columns, from 60.

    Returns:
        Lines that move no terminal, whatever the artefact holds.
    """
    width = max(width, _LEAST)
    name = printable(artefact.policy.name)
    lines = [f"{name}  policy {artefact.policy.hash}  artefact {artefact.hash}  {artefact.task}"]
    for label, fact in _facts(artefact):
        folded = textwrap.wrap(printable(fact), width - 13, break_on_hyphens=False) or [""]
        lines += [f"  {label if not number else '':<10} {part}" for number, part in enumerate(folded)]
    for split in SPLITS:
        rows = {role: artefact.figures(split, role) for role, row in artefact.scores.get(split, {}).items() if isinstance(row, Mapping)}
        if rows:
            lines += ["", _heading(artefact, split), *_figures(rows, width)]
    gap = _gap(artefact)
    lines += ["", gap] if gap else []
    return "\n".join(
        [*lines, "", *(part for gate in artefact.gates for part in _gate(gate, width))] + ([] if artefact.gates else [_NO_GATE])
    )


_NO_GATE = "gate: test was not opened; dev was chosen on, so that nothing is shown yet (salience tune gate)"


def _facts(artefact: Artefact) -> list[tuple[str, str]]:
    data, spent, policy, base = artefact.data, artefact.spent, artefact.policy, artefact.base
    options = " ".join(f"{key}={value}" for key, value in artefact.options.items() if value != "")
    cases = [f"{split} {data[split]['cases']} cases of {data[split]['conversations']} conversations" for split in ("train", "dev")]
    amounts = [f"{key.replace('_', ' ')} {_amount(key, value)}" for key, value in spent.items()]
    examples = f"{len(policy.examples)} as {policy.examples_as}" if policy.examples else "none"
    facts = [
        ("model", artefact.model),
        ("optimizer", " ".join(filter(None, [artefact.optimizer, options, f"seed={artefact.seed}"]))),
        ("tried", f"{numbers.count(artefact.candidates)} candidates"),
        ("base", f"{base.name} {base.hash}"),
        ("data", f"{data['name']} {data['version']} {data['hash']}; {'; '.join(cases)}"),
        ("prompt", f"{len(policy.system):,} characters, the base {len(base.system):,}"),
        ("examples", examples + (f", from {', '.join(artefact.suppliers)}" if artefact.suppliers else "")),
        ("spent", ", ".join(amounts) or "not known"),
        ("made", artefact.made),
        ("versions", ", ".join(f"{key} {value}" for key, value in artefact.versions.items())),
        ("note", artefact.note),
    ]
    return [(label, fact) for label, fact in facts if fact]


def _amount(key: str, value: float | None) -> str:
    if value is None or key == "cost":
        return numbers.dollars(value)
    return f"{value:,}"


def _heading(artefact: Artefact, split: str) -> str:
    counts = [f"{key} {value:,}" for key, value in artefact.scores[split].items() if not isinstance(value, Mapping)]
    what = {"train": "learned on", "dev": "chosen on", "test": "proved on"}[split]
    return f"{split} ({', '.join([what, *map(printable, counts)])})"


def _figures(rows: Mapping[str, Mapping[str, Sequence[float | None]]], width: int) -> list[str]:
    """Return one line a policy, and as many blocks of figures as the width asks for."""
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    first = min(30, max(map(len, rows)))
    cells = {name: [printable(name), *(_bounds(row.get(name)) for row in rows.values())] for name in names}
    widths = {name: max(map(len, column)) for name, column in cells.items()}
    lines, block = [], list[str]()
    for name in [*names, None]:
        used = first + 2 + sum(widths[one] + 2 for one in block)
        if block and (name is None or used + widths[name] + 2 > width):
            for number, role in enumerate(["", *rows]):
                told = "  ".join(f"{cells[one][number]:>{widths[one]}}" for one in block)
                lines.append(f"  {clip(printable(role), first):<{first}}  {told}".rstrip())
            block = []
        block += [] if name is None else [name]
    return lines


def _bounds(bounds: Sequence[float | None] | None) -> str:
    if bounds is None:
        return numbers.UNDEFINED
    return f"{numbers.share(bounds[0])} {numbers.interval(bounds[1], bounds[2])}".strip()


def _gap(artefact: Artefact) -> str:
    """How far what was learned on is from what was chosen on, and that from what was proved on."""
    name = HEADLINES[artefact.task]
    values = [(split, artefact.figures(split).get(name, [None])[0]) for split in SPLITS]
    known = [(split, value) for split, value in values if value is not None]
    steps = [f"{one} to {other} {after - before:+.2f}" for (one, before), (other, after) in pairwise(known)]
    return f"gaps of {TUNED} in {name}: {', '.join(steps)}" if steps else ""


def _gate(gate: Mapping[str, Any], width: int) -> list[str]:
    called = f", may be called {gate['called']}" if gate.get("called") else ""
    told = [f"gate {gate['date']}: {gate['verdict'].upper()}{called}{' (test had been opened before)' if gate['reused'] else ''}"]
    for one in gate["gains"] if isinstance(gate.get("gains"), list) else []:
        bounds = one.get("primary") if isinstance(one, dict) else None
        if isinstance(bounds, list) and len(bounds) == 3 and all(isinstance(bound, int | float) for bound in bounds):
            told.append(f"  over {one.get('over')}: {bounds[0]:+.3f} [{bounds[1]:+.3f}, {bounds[2]:+.3f}]")
    told += [f"  refused: {reason}" for reason in gate["reasons"]]
    return [part for line in told for part in textwrap.wrap(printable(line), width, subsequent_indent="    ", break_on_hyphens=False)]


def show_candidates(rows: Sequence[Mapping[str, Any]], width: int = 120, *, base: str | None = None) -> str:
    """Return the candidates of a search as a table, the best on dev first; those that not all of dev was tried with stand last.

    Args:
        rows: As `candidates.jsonl` holds them: `number`, `hash`, `what`, `system`, `examples`, `dev`, `n`, `objective`, `calls`.
        width: Columns, from 60.
        base: The base's system text: then what each candidate changes of it is shown below it as a unified diff. None shows the table
            alone.

    Returns:
        Lines that move no terminal, whatever the rows hold.

    Raises:
        WorkbenchError: A row is not so; the message names row and field.
    """
    width = max(width, _LEAST)
    checked = [_row(place, row) for place, row in enumerate(rows, start=1)]
    name = headline(checked)
    lines = [f"{'no':>4}  {'hash':<12}  {name:>8}  {'objective':>9}  {'n':>5}  {'calls':>7}  what changed"]
    indent = len(lines[0]) - len("what changed")
    for row in sorted(checked, key=lambda row: _order(row, name)):
        value, score = row["dev"].get(name), row["objective"]
        numbered = (
            f"{row['number']:>4}  {clip(printable(row['hash']), 12):<12}  {numbers.share(value):>8}  "
            f"{numbers.UNDEFINED if score is None else format(score, '+.3f'):>9}  {row['n']:>5}  {row['calls']:>7,}  "
        )
        ids = f": {', '.join(row['examples'])}" if row["examples"] else ""
        told = textwrap.wrap(printable(row["what"] + ids), max(20, width - indent), break_on_hyphens=False) or [""]
        lines += [numbered + told[0], *(" " * len(numbered) + part for part in told[1:])]
        if base is not None:
            lines += [f"      {line}" for line in _changes(base, row)]
    return "\n".join(line.rstrip() for line in lines)


def _order(row: Mapping[str, Any], name: str) -> tuple[bool, float, float, int]:
    value, score = row["dev"].get(name), row["objective"]
    return value is None, -(value or 0.0), -(score or 0.0), row["number"]


def _changes(base: str, row: Mapping[str, Any]) -> list[str]:
    if row["system"] == base:
        return ["(the base's text)"]
    sides = (base.split("\n"), row["system"].split("\n"))
    return [printable(line) for line in difflib.unified_diff(*sides, "base", f"candidate {row['number']}", n=1, lineterm="")]


def headline(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the figure that some candidates were ranked by; of extraction where nothing tells."""
    return next((name for name in HEADLINES.values() if any(name in row["dev"] for row in rows)), HEADLINES["extraction"])


def _row(place: int, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a row that are shown, checked."""
    dev, score, ids = row.get("dev"), row.get("objective"), row.get("examples")
    allowed = {
        "number": (_whole(row.get("number")), "a whole number from 0 up"),
        "calls": (_whole(row.get("calls")), "a whole number from 0 up"),
        "n": (_whole(row.get("n")), "a whole number from 0 up"),
        **{name: (isinstance(row.get(name), str), "a text") for name in ("hash", "what", "system")},
        "examples": (isinstance(ids, list | tuple) and all(isinstance(one, str) for one in ids), "an array of texts"),
        "dev": (isinstance(dev, Mapping) and all(map(_finite, dev.values())), "an object from figures to numbers"),
        "objective": (score is None or _finite(score), "a number or null"),
    }
    for name, (good, wanted) in allowed.items():
        if not good:
            raise WorkbenchError(f"candidate {place}: {name} must be {wanted}, got {given(row.get(name))}")
    return {name: row[name] if name != "objective" else score for name in allowed}


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**15


def _finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15 and math.isfinite(value)


def running_best(rows: Sequence[Mapping[str, Any]], name: str) -> list[tuple[int, float, float]]:
    """Return (calls, score, best score so far) of the candidates that all of dev was tried with, in the order they came up.

    Args:
        rows: As `candidates.jsonl` holds them.
        name: The figure.
    """
    found: list[tuple[int, float, float]] = []
    for row in sorted((row for row in rows if name in row["dev"]), key=lambda row: (row["calls"], row["number"])):
        score = float(row["dev"][name])
        found.append((row["calls"], score, max(score, found[-1][2]) if found else score))
    return found


def plot_candidates(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw each candidate's dev score and the best so far over the calls that the search had made.

    Args:
        rows: As `candidates.jsonl` holds them.
        path: A name that ends in .png, .svg or .pdf; an existing file is replaced.

    Raises:
        WorkbenchError: matplotlib is not installed, no candidate was tried with all of dev, a row is not valid, or the file cannot be
            written.
    """
    checked = [_row(place, row) for place, row in enumerate(rows, start=1)]
    name = headline(checked)
    points = running_best(checked, name)
    if not points:
        raise WorkbenchError("there is nothing to draw: no candidate was tried with all dev cases")
    path = Path(path)
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise WorkbenchError(f"{path}: the name of a plot must end in .png, .svg or .pdf")
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        raise WorkbenchError("a plot needs matplotlib, which is missing: pip install 'salience-workbench[notebooks]'") from None
    calls, scores, best = zip(*points, strict=True)
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    axes.scatter(calls, scores, label="candidate", zorder=3)
    axes.step(calls, best, where="post", label="best so far")
    base = next((row["dev"][name] for row in checked if row["what"] == BASE and name in row["dev"]), None)
    if base is not None:
        axes.axhline(base, linestyle=":", color="0.5", label="base")
    axes.set(xlabel="calls that the search had made", ylabel=f"{name} on dev", title=f"{len(points)} of {len(checked)} tried on all of dev")
    axes.legend()
    axes.grid(alpha=0.3)
    try:
        with mpl.rc_context({"svg.hashsalt": "salience"}):
            figure.savefig(path, dpi=120, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)
    except OSError as error:
        raise WorkbenchError(f"{path}: cannot be written: {error.strerror or error}") from None

"""Two policies side by side: everything that changes what they do, and the scores that are known of them. Nothing is scored here."""

from __future__ import annotations

import difflib
import json
import unicodedata
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from evals.report import numbers
from evals.report.safe import printable
from evals.tune.artefact import AnyPolicy, Artefact
from salience import ConsolidationExample, Example, Policy, render_turn
from salience.consolidation_requests import render_consolidation

Scores = Mapping[str, Mapping[str, Any]]
"""Split -> figure -> [value, low, high], or the number of cases as `n`."""

_LEAST = 20
"""Columns of a side, at least."""
_AROUND = 2
"""Lines that stay around a difference."""


def policy_diff(left: AnyPolicy, right: AnyPolicy, width: int = 120, *, scores: tuple[Scores, Scores] | None = None) -> str:
    """Return two policies side by side.

    A line between them says what differs: `|` the line, `<` and `>` only one side has it. Long runs of equal lines are left out.

    Args:
        left: One policy.
        right: The other; it may be of the other task.
        width: Columns of the whole, from 43.
        scores: Of each; None takes what their provenance tells (`scores_of`).

    Returns:
        Lines that move no terminal, whatever the policies hold.
    """
    half = max(_LEAST, (width - 3) // 2)
    names = tuple(f"{printable(policy.name)} {policy.hash}" for policy in (left, right))
    lines = [*_beside(names[0], names[1], " ", half), "-" * (2 * half + 3)]
    if left.hash == right.hash:
        lines.append("they do the same: only name or provenance may differ")
    both = scores or (scores_of(left), scores_of(right))
    lines += _section("scores", *_score_lines(*both), half, whole=True)
    first, second = _parts(left), _parts(right)
    for title in dict.fromkeys([*first, *second]):
        lines += _section(title, first.get(title, []), second.get(title, []), half)
    return "\n".join(lines)


def scores_of(source: AnyPolicy | Artefact) -> dict[str, dict[str, Any]]:
    """Return the scores that are known of a policy.

    Args:
        source: An artefact, or a policy that was exported from one.

    Returns:
        Split -> figure -> [value, low, high], and `n`. Nothing for a policy that was changed after it was exported: its scores are those
        of another prompt.
    """
    if isinstance(source, Artefact):
        return {split: {"n": rows.get("n", 0), **source.figures(split)} for split, rows in source.scores.items() if source.figures(split)}
    told = source.provenance.get("scores")
    if source.provenance.get("tuned_hash") != source.hash or not isinstance(told, Mapping):
        return {}
    return {split: dict(figures) for split, figures in told.items() if isinstance(figures, Mapping)}


def _score_lines(left: Scores, right: Scores) -> tuple[list[str], list[str]]:
    """Return one line a figure and split, at the same place on both sides."""
    found: tuple[list[str], list[str]] = ([], [])
    for split in ("dev", "test"):
        sides = (left.get(split, {}), right.get(split, {}))
        for name in dict.fromkeys(name for side in sides for name in side):
            told = [_score(side.get(name)) for side in sides]
            if any(told):
                for lines, score in zip(found, told, strict=True):
                    lines.append(f"{split} {name} {score or 'not known'}")
    return found if found[0] else (["not known"], ["not known"])


def _score(bounds: object) -> str:
    if isinstance(bounds, int) and not isinstance(bounds, bool):
        return numbers.count(bounds)
    if not isinstance(bounds, list | tuple) or len(bounds) != 3:
        return ""
    if not all(bound is None or (isinstance(bound, int | float) and abs(bound) < 1e15) for bound in bounds):
        return ""
    return f"{numbers.share(bounds[0])} {numbers.interval(bounds[1], bounds[2])}".strip()


def _parts(policy: AnyPolicy) -> dict[str, list[str]]:
    """Return everything that changes what a policy does, as lines by title."""
    system = policy.system.split("\n")
    schema = json.dumps(policy.schema, indent=1, ensure_ascii=False).split("\n") if policy.schema_json else ["none"]
    limit, heat = policy.decoding.max_tokens, policy.decoding.temperature
    parts = {
        "task": ["extraction" if isinstance(policy, Policy) else "consolidation"],
        "system": system,
        "examples": _examples(policy),
        "schema": schema,
        "decoding": [f"max_tokens {limit}", f"temperature {heat}"],
    }
    if isinstance(policy, Policy):
        options, points = policy.options, () if policy.calibration is None else policy.calibration.points
        parts["options"] = [
            f"min_salience {options.min_salience:g}", f"max_candidates {options.max_candidates}",
            f"default_observed {options.default_observed}", f"max_turn_chars {policy.max_turn_chars}",
        ]  # fmt: skip
        parts["calibration"] = [f"{raw:.6g} -> {calibrated:.6g}" for raw, calibrated in points] or ["none"]
        parts["threshold"] = [f"{policy.threshold:g}"]
    return parts


def _examples(policy: AnyPolicy) -> list[str]:
    if not policy.examples:
        return ["none"]
    lines = [f"{len(policy.examples)} as {policy.examples_as}"]
    examples: Sequence[Example | ConsolidationExample] = policy.examples
    for number, example in enumerate(examples, start=1):
        user = render_turn(example.turn) if isinstance(example, Example) else render_consolidation(example.facts, example.existing)
        lines += [f"example {number}:", *user.split("\n"), "reply:", *example.reply.split("\n")]
    return lines


def _section(title: str, left: Sequence[str], right: Sequence[str], half: int, *, whole: bool = False) -> list[str]:
    """Return one title's lines side by side; where both sides are the same, only that they are, unless all is wanted."""
    left, right = ([printable(line) for line in side] for side in (left, right))
    if left == right and (len(left) > 1 or not left) and not whole:
        return ["", f"{title}: the same, {len(left)} lines"]
    lines = ["", f"{title}:"]
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    steps = matcher.get_opcodes()
    for place, (kind, a, b, c, d) in enumerate(steps):
        if kind != "equal":
            for one, other in zip_longest(left[a:b], right[c:d]):
                mark = "<" if other is None else ">" if one is None else "|"
                lines += _beside(one or "", other or "", mark, half)
            continue
        same = left[a:b]
        head, tail = (_AROUND if place else 0), (_AROUND if place < len(steps) - 1 else 0)
        if whole or len(same) <= head + tail + 1:
            head, tail = len(same), 0
        for line in same[:head]:
            lines += _beside(line, line, " ", half)
        if head + tail < len(same):
            lines.append(f"... {len(same) - head - tail} lines the same ...")
        for line in same[len(same) - tail :]:
            lines += _beside(line, line, " ", half)
    return lines


def _beside(left: str, right: str, mark: str, half: int) -> list[str]:
    """Return two lines side by side, folded; what is folded keeps its mark."""
    pairs = zip_longest(_fold(left, half), _fold(right, half), fillvalue="")
    return [f"{one}{' ' * (half - _columns(one))} {mark} {other}".rstrip() for one, other in pairs]


def _columns(text: str) -> int:
    """How many columns of a terminal a text takes: two for a wide letter, none for what is set over another."""
    return len(text) if text.isascii() else sum(_wide(char) for char in text)


def _wide(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _fold(text: str, columns: int) -> list[str]:
    """Return a line in parts that fit, broken after a space where there is one in the second half of a part."""
    parts, part, used = list[str](), "", 0
    for char in text:
        if used + _wide(char) > columns:
            space = part.rfind(" ") + 1
            cut = space if space > len(part) // 2 else len(part)
            parts.append(part[:cut])
            part = part[cut:]
            used = _columns(part)
        part += char
        used += _wide(char)
    return [*parts, part]

"""One scored case as the message of a failed assertion: what was said, what is due, what came. Plain text, everything foreign escaped."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from evals.report.safe import clip, printable

if TYPE_CHECKING:
    from evals.results import CaseResult

_WIDTH = 160
_NOT_MATCHED = frozenset({"near_miss", "unmatched", "unsupported", "below"})


def show_case(result: CaseResult, *, missed: Collection[str] = (), bad: Collection[int] = ()) -> str:
    """Return a case with its messages, labels and predictions, and what became of each.

    Args:
        result: The scored case.
        missed: Ids of the memories that the assertion lacks; they are marked with "!".
        bad: Places of the predictions that it objects to; likewise.
    """
    case, outcome = result.case, result.outcome
    lines = [f"  messages ({printable(case.language)}, {printable(case.date or 'no date')}); the reply is {printable(result.status)}:"]
    lines += [f"    [{printable(message['role'])}] {_text(message['content'])}" for message in (*case.context, *case.messages)]
    lines.append("  labelled:" if case.memories or case.forbidden else "  labelled: nothing is to be remembered")
    for memory in case.memories:
        mark = "!" if memory.id in missed else " "
        lines.append(f"  {mark} {_state(result, memory.id):<13} {printable(memory.id)} ({memory.salience:g}): {_text(memory.content)}")
    lines += [f"    {'must not be':<13} ({item.reason}): {_text(item.content)}" for item in case.forbidden]
    lines.append("  predicted:" if outcome.predictions else "  predicted: nothing")
    for row, entry in enumerate(outcome.predictions):
        mark = "!" if row in bad else " "
        near = "nearest " if entry.outcome in _NOT_MATCHED else ""
        label = f" ({near}{printable(entry.label)})" if entry.label else ""
        lines.append(f"  {mark} [{row + 1}] {entry.outcome}{label} {entry.salience:.2f}: {_text(entry.content)}  <- {_text(entry.reason)}")
    return "\n".join(lines)


def _state(result: CaseResult, memory: str) -> str:
    outcome = result.outcome
    if memory in outcome.matched:
        return f"found by [{outcome.matched[memory] + 1}]"
    if memory in outcome.missed:
        return f"missed ({outcome.parted[memory]})" if memory in outcome.parted else "missed"
    return "not required"


def _text(text: str) -> str:
    return printable(clip(text, _WIDTH))

"""Assertions over scored cases, whose failures show the memories that differ. What is a hit was decided when the row was scored."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from evals.cases import REASONS, Case
from evals.errors import WorkbenchError
from evals.report.safe import printable
from evals.testing.showing import show_case
from evals.text import fold

if TYPE_CHECKING:
    from evals.results import CaseResult, CellResult

_CLOSE = 0.82
"""From this likeness (`difflib`, 0 to 1) a word is taken for a misspelt reason: two letters changed places in "sercet", .83. "secretary"
has .80, and is a word that a test may look for."""


def assert_finds(result: CellResult | CaseResult, case: str | Case | None, *memories: str) -> None:
    """Assert that what was extracted from a case holds memories, in each of its repeats.

    Args:
        result: What `salience_run` or `salience_extract` returned.
        case: The case or its id; None where `result` holds one case only.
        memories: What must be found, each an id of a labelled memory ("m1"), its wording or one of its paraphrases, or any other text,
            which must then stand in a prediction at or above the threshold. Without any: every required memory of the case.

    Raises:
        AssertionError: One is not found; the message shows messages, labels and predictions of the case.
        WorkbenchError: The case is not in the result, or could not be scored.
    """
    __tracebackhide__ = True
    for one in _results(result, case):
        known = {memory.id for memory in one.case.memories}
        for text in memories:
            if re.fullmatch(r"m\d+", text) and text not in known:
                have = ", ".join(sorted(known)) or "none"
                raise WorkbenchError(f"{_name(one)} has no memory {text}; it has {have}")
        lacking = list(one.outcome.missed) if not memories else [text for text in memories if not _found(one, text)]
        if lacking:
            what = ", ".join(printable(text) for text in lacking)
            raise AssertionError(f"{_name(one)}: not found: {what}\n{show_case(one, missed=_ids(one.case, lacking))}")


def assert_never(result: CellResult | CaseResult, case: str | Case | None, unwanted: str) -> None:
    """Assert that something is not extracted.

    Args:
        result: What `salience_run` or `salience_extract` returned.
        case: The case or its id; None for every case of the result.
        unwanted: One of `evals.cases.REASONS` ("secret"): no violation for that reason. The wording or a paraphrase of a forbidden
            statement: no prediction that states it. Any other text: no prediction at or above the threshold that holds it. A single
            word that is close to a reason but is none ("sercet") is refused, as a misspelt reason could never be violated.

    Raises:
        AssertionError: It was; the message shows messages, labels and predictions of the first such case.
        WorkbenchError: The case is not in the result, or could not be scored; or no chosen case of a row has the given
            reason, so that the assertion could not fail, or a reason is misspelt.
    """
    __tracebackhide__ = True
    chosen = _results(result, case)
    _check_reason(result, chosen, unwanted)
    for one in chosen:
        bad = _unwanted(one, unwanted)
        if bad:
            what = ", ".join(f"[{row + 1}] {printable(one.outcome.predictions[row].content)}" for row in bad)
            raise AssertionError(f"{_name(one)}: must never be stored ({printable(unwanted)}): {what}\n{show_case(one, bad=bad)}")


def _name(one: CaseResult) -> str:
    return f"case {printable(one.case.id)}" + (f", repeat {one.repeat}" if one.repeat else "")


def _results(result: CellResult | CaseResult, case: str | Case | None) -> Sequence[CaseResult]:
    """The chosen results: every repeat of a case, or all."""
    from evals.results import CaseResult

    every = [result] if isinstance(result, CaseResult) else result.cases
    if case is None:
        if not every:
            raise WorkbenchError("the result holds no scored case" + _why(result, None))
        return every
    wanted = case.id if isinstance(case, Case) else case
    chosen = [one for one in every if one.case.id == wanted]
    if not chosen:
        there = sorted({one.case.id for one in every})
        known = ", ".join(map(printable, there[:5])) + (f" and {len(there) - 5} more" if len(there) > 5 else "")
        raise WorkbenchError(f"case {wanted!r} is not among the scored cases ({known or 'none'})" + _why(result, wanted))
    return chosen


def _check_reason(result: CellResult | CaseResult, chosen: Sequence[CaseResult], unwanted: str) -> None:
    """Refuse a misspelt reason, and one that nothing chosen carries; that is let through of a single case, as one test runs over many."""
    from evals.results import CaseResult

    phrases = {phrase for one in chosen for item in one.case.forbidden for phrase in item.phrases}
    meant = [] if unwanted in REASONS or unwanted in phrases or len(unwanted.split()) != 1 else _close_reasons(unwanted)
    if meant:
        raise WorkbenchError(
            f"{unwanted!r} is no reason, but close to {meant[0]!r}; the reasons: {', '.join(REASONS)}. If it is a text that no prediction "
            "may hold, give more of that text than this one word"
        )
    there = {item.reason for one in chosen for item in one.case.forbidden}
    if unwanted in REASONS and unwanted not in there and not isinstance(result, CaseResult):
        known = ", ".join(sorted(there)) or "none"
        raise WorkbenchError(
            f"no chosen case has a forbidden statement for the reason {unwanted!r}, so this could not fail; there are: {known}"
        )


def _close_reasons(word: str) -> list[str]:
    from difflib import get_close_matches

    return get_close_matches(fold(word).strip(), REASONS, n=1, cutoff=_CLOSE)


def _why(result: CellResult | CaseResult, case: str | None) -> str:
    """Why a case of a row is in no figure, where that is known."""
    from evals.results import CaseResult

    if isinstance(result, CaseResult):
        return ""
    for one in (*result.failed, *result.missing, *result.unscored):
        if case in (None, one.case):
            return f": {printable(one.message)}"
    return ""


def _ids(case: Case, texts: Sequence[str]) -> set[str]:
    """The ids of the labelled memories that some texts name."""
    return {memory.id for memory in case.memories if any(text == memory.id or text in memory.phrases for text in texts)}


def _found(one: CaseResult, text: str) -> bool:
    named = _ids(one.case, [text])
    if named:
        return named <= set(one.outcome.matched)
    return bool(_holding(one, text))


def _holding(one: CaseResult, text: str) -> list[int]:
    wanted = _folded(text)
    return [row for row, entry in enumerate(one.outcome.predictions) if entry.counted and wanted in fold(entry.content)]


def _folded(text: str) -> str:
    folded = fold(text)
    if not folded:
        raise WorkbenchError(f"the text to look for is blank: {text!r}; give a memory's id, its wording, or a part of a prediction")
    return folded


def _unwanted(one: CaseResult, unwanted: str) -> list[int]:
    """The places of the predictions that must not be there."""
    predictions = one.outcome.predictions
    labels = {f"forbidden[{i}]" for i, item in enumerate(one.case.forbidden) if unwanted in (item.reason, *item.phrases)}
    rows = {row for row, entry in enumerate(predictions) if entry.outcome == "violation" and entry.label in labels}
    if unwanted not in REASONS and not labels:
        rows.update(_holding(one, unwanted))
    return sorted(rows)

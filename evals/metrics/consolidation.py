"""Decisions on new facts against their labels: what is right, what does harm, counts and figures. No model is asked and nothing is read.

A decision is right if it is the labelled one or an acceptable one in all but wording: action, memories, and whether the new fact is kept.
An ADD for want of a usable decision (`ConsolidationResult.fallback`) is no action: it is wrong, and counted apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from evals.matching.base import Verdict
from evals.matching.tables import Grid
from evals.metrics.consolidation_harm import Stored, lost, options, stale, statements, stays, stored, touched
from evals.metrics.counted import Counted
from evals.recall_cases import ACTIONS, Action, ConsolidationCase, Decision
from evals.stats import Figure, MacroMean, Proportion
from evals.stats.figures import Floats
from salience import ConsolidationDecision, ConsolidationResult

FALLBACK = "fallback"
DECIDED = (*ACTIONS, FALLBACK)
"""What a case can come to."""


@dataclass(frozen=True, slots=True)
class DecisionOutcome:
    """What became of one case.

    Attributes:
        decided: One of `DECIDED`.
        labelled: The action that it is held against: its own where one that is labelled or acceptable has it, else the labelled one.
        right: Whether the whole decision is right.
        decision: The decision, as it would be carried out.
        target: Whether it names a right memory; None unless it is an UPDATE or DELETE and one of them is right.
        content: Whether what it stores says what a labelled content says; None where it is not right or has no content of its own.
        protected: Ids of protected memories that it changes or retires.
        lost: What is nowhere any more although it was there or new, in words.
        dropped: What an UPDATE of the right memory drops of what it should say, in words, "" for nothing; None where it is no such UPDATE.
        stale: Ids of memories that are not true any longer and are left as they were, or said again by what is stored in their place.
        goes_stale: Whether there is any memory that ceases to be true.
        duplicate: Whether a fact that is known was added; None where the label is not NONE, or an ADD is acceptable.
        invented: How many ids it named that were never offered.
        reason: Why it is a fallback; "" where it is none.
    """

    decided: str
    labelled: str
    right: bool
    decision: ConsolidationDecision
    target: bool | None = None
    content: bool | None = None
    protected: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    dropped: str | None = None
    stale: tuple[str, ...] = ()
    goes_stale: bool = False
    duplicate: bool | None = None
    invented: int = 0
    reason: str = ""

    @property
    def lossy(self) -> bool | None:
        """Whether an UPDATE of the right memory drops something; None where it is no such UPDATE."""
        return None if self.dropped is None else bool(self.dropped)

    @property
    def reasons(self) -> tuple[str, ...]:
        """What is wrong with it, in words, the worst first; empty where nothing is."""
        told = (
            (self.protected, f"touches {', '.join(self.protected)}, which is protected"),
            (self.lost, f"lost: {'; '.join(self.lost)}"),
            (self.invented, f"names {self.invented} {'id' if self.invented == 1 else 'ids'} that nobody offered"),
            (self.dropped, f"drops {self.dropped}"),
            (self.stale, f"leaves {', '.join(self.stale)}, which is not true any longer"),
            (self.duplicate, "the fact is known"),
            (self.target is False, "the action is right, the memory is not"),
            (self.content is False, "the content is not what it should say"),
            (self.decided != self.labelled, f"labelled {self.labelled}"),
            (self.reason, self.reason),
        )
        return tuple(why for holds, why in told if holds)


def grid(case: ConsolidationCase, result: ConsolidationResult) -> Grid:
    """Return the pairs that a matcher must judge: what is stored against what it may have to say.

    Nothing must be judged where nothing is stored, or a fact is added as it came.

    Args:
        case: The case.
        result: The decision.
    """
    text = stored(case, result.decision)
    if text is None or (result.decision.action == "ADD" and text == case.new_fact):
        return Grid((), (), case.language)
    return Grid((text,), tuple((statement,) for statement in statements(case, result.decision)), case.language)


def judge(case: ConsolidationCase, result: ConsolidationResult, verdicts: Sequence[Verdict]) -> DecisionOutcome:
    """Return what became of a case.

    Args:
        case: The case.
        result: The decision.
        verdicts: The matcher's verdicts on `grid(case, result)`; without them only equal texts say the same.
    """
    decision, allowed = result.decision, options(case)
    decided = FALLBACK if result.fallback else decision.action
    alike = [option for option in allowed if option.action == decided]
    same = [option for option in alike if _same(option, decision)]
    named = [option for option in alike if decision.id in touched(option)]
    contents = [option.content for option in same if option.content is not None]
    text, gone = Stored(case, decision, verdicts), stale(allowed)
    known = case.decision.action == "NONE" and not any(option.action == "ADD" for option in allowed)
    return DecisionOutcome(
        decided=decided,
        labelled=decided if alike else case.decision.action,
        right=bool(same),
        decision=decision,
        target=bool(named) if alike and decided in ("UPDATE", "DELETE") else None,
        content=any(map(text.says, contents)) if contents else None,
        protected=tuple(one for one in decision.touched if one in case.protected),
        lost=tuple(lost(case, decision, text)),
        dropped=text.drops([option.content for option in named if option.content is not None]) if decided == "UPDATE" and named else None,
        stale=tuple(known.id for known in case.existing if known.id in gone and stays(case, decision, text, known)),
        goes_stale=bool(gone),
        duplicate=decided in ("ADD", FALLBACK) if known else None,
        invented=result.invented,
        reason=result.reason if result.fallback else "",
    )


def _same(option: Decision, decision: ConsolidationDecision) -> bool:
    """Whether two decisions of one action are the same but for wording; of memories that fall together any may come first."""
    if set(touched(option)) != set(decision.touched):
        return False
    return option.action != "DELETE" or (option.content is None) == (decision.content is None)


_CONFUSED = tuple(f"confusion_{label}_{decided}" for label in ACTIONS for decided in DECIDED)
COUNTED = Counted((
    "cases", "asked", "unasked", "unasked_right", "right",
    *(f"{kind}_{action}" for kind in ("hit", "decided", "labelled") for action in ACTIONS), *_CONFUSED,
    "targets", "targets_right", "contents", "contents_right", "guarded", "protected_touched", "facts_lost", "invented",
    "updates", "lossy", "going_stale", "stale_left", "known", "duplicate_added", "fallback", "calls",
))  # fmt: skip
"""The counts of a case. A case with nothing in the store needs no decision: it is `unasked`, and in no other count."""


def count(case: ConsolidationCase, outcome: DecisionOutcome, *, calls: int) -> Floats:
    """Return the counts of one case.

    Args:
        case: The case.
        outcome: What became of it.
        calls: Model calls that it took.

    Returns:
        One number for each of `COUNTED.columns`.
    """
    if not case.existing:
        return COUNTED.row({"cases": 1, "unasked": 1, "unasked_right": outcome.right})
    found: dict[str, float] = {
        "cases": 1, "asked": 1, "right": outcome.right, "calls": calls, f"labelled_{outcome.labelled}": 1,
        f"confusion_{outcome.labelled}_{outcome.decided}": 1, "guarded": bool(case.protected),
        "protected_touched": bool(outcome.protected), "facts_lost": bool(outcome.lost), "invented": bool(outcome.invented),
        "going_stale": outcome.goes_stale, "stale_left": bool(outcome.stale), "fallback": outcome.decided == FALLBACK,
    }  # fmt: skip
    if outcome.decided != FALLBACK:
        found |= {f"decided_{outcome.decided}": 1, f"hit_{outcome.decided}": outcome.decided == outcome.labelled}
    for value, all_of, those in (
        (outcome.target, "targets", "targets_right"), (outcome.content, "contents", "contents_right"), (outcome.lossy, "updates", "lossy"),
        (outcome.duplicate, "known", "duplicate_added"),
    ):  # fmt: skip
        if value is not None:
            found |= {all_of: 1, those: value}
    return COUNTED.row(found)


def _f1(action: str) -> Proportion:
    hit = f"hit_{action}"
    return Proportion(COUNTED.total(hit, hit), COUNTED.total(f"decided_{action}", f"labelled_{action}"))


_F1 = {action: _f1(action) for action in ACTIONS}


MACRO_F1 = MacroMean(tuple(_F1.values()))
"""The mean of F1 over the actions that occur, as a label or as a decision."""

FIGURES: Mapping[str, Figure] = {
    "macro_f1": MACRO_F1,
    "accuracy": COUNTED.rate("right", "asked"),
    "target_accuracy": COUNTED.rate("targets_right", "targets"),
    "content_match": COUNTED.rate("contents_right", "contents"),
    **{f"precision_{action}": COUNTED.rate(f"hit_{action}", f"decided_{action}") for action in ACTIONS},
    **{f"recall_{action}": COUNTED.rate(f"hit_{action}", f"labelled_{action}") for action in ACTIONS},
    **{f"f1_{action}": figure for action, figure in _F1.items()},
    "protected_touched": COUNTED.rate("protected_touched", "guarded"),
    "facts_lost": COUNTED.rate("facts_lost", "asked"),
    "lossy_update": COUNTED.rate("lossy", "updates"),
    "stale_left": COUNTED.rate("stale_left", "going_stale"),
    "duplicate_added": COUNTED.rate("duplicate_added", "known"),
    "fallback": COUNTED.rate("fallback", "asked"),
    "invented": COUNTED.rate("invented", "asked"),
    "unasked_right": COUNTED.rate("unasked_right", "unasked"),
    "calls": COUNTED.mean("calls", "asked"),
}
"""Every figure by name; NaN where undefined. Of the cases with something in the store:

- macro_f1: the mean of F1 of the four actions, one against the rest, as scikit-learn's `f1_score(average="macro")` over those that occur. A
  fallback is a miss of the labelled action and a decision for none.
- accuracy: decisions that are right as a whole; precision_X, recall_X, f1_X: of an action.
- target_accuracy: right UPDATE and DELETE actions that name the right memory.
- content_match: right decisions with a content of their own whose content says what a labelled one says, as the matcher tells.
- protected_touched: cases in which a protected memory was changed or retired, of those that have any.
- facts_lost: cases after which a memory that no right decision touches, or the new fact, is nowhere any more.
- lossy_update: updates of the right memory that drop an amount, date, name, denial or condition, or most words, of what they should say.
- stale_left: cases in which a memory that is not true any longer was left as it was or said again, of those that have one.
- duplicate_added: known facts that were added, of the cases that are labelled NONE and in which no ADD is acceptable.
- fallback, invented: decisions that could not be used, and those that named an id never offered; calls: model calls a case, a mean.

`unasked_right` is of the cases with nothing in the store, which need no model."""


def constants(cases: Sequence[ConsolidationCase]) -> dict[str, float]:
    """Return the macro F1 of constant answers on the cases that have something in the store, by name; empty where there is none.

    Args:
        cases: The cases.
    """
    found: dict[str, float] = {}
    for action in get_args(Action):
        rows = []
        for case in cases:
            if case.existing:
                first = case.existing[0].id if action in ("UPDATE", "DELETE") else None
                decision = ConsolidationDecision(action, first, case.new_fact if first else None)
                rows.append(count(case, judge(case, ConsolidationResult(decision), ()), calls=0))
        if rows:
            found[f"always {action}"] = float(MACRO_F1(np.sum(rows, axis=0)))
    return found

"""A consolidation case and its outcome as reports draw extraction cases: memories as context, the decision as what is due."""

from __future__ import annotations

from evals.cases import Case, Memory
from evals.metrics.consolidation import DecisionOutcome, options
from evals.metrics.outcomes import CaseOutcome, Outcome, Prediction
from evals.recall_cases import ConsolidationCase, Decision
from salience import ConsolidationDecision

_DECISION = "decision"


def in_words(decision: Decision | ConsolidationDecision) -> str:
    """Return a decision as a line: "UPDATE q3: The user ...", "DELETE a, b (nothing kept)"."""
    if decision.id is None:
        return decision.action
    named = ", ".join((decision.id, *decision.also_retire))
    return f"{decision.action} {named}" + (f": {decision.content}" if decision.content else " (nothing kept)")


def as_case(case: ConsolidationCase) -> Case:
    """Return a case as reports draw it: the known memories and then the new fact; the labelled decision is what is due."""
    known = "\n".join(f"[{one.id}] {one.content}" + (" (protected)" if one.id in case.protected else "") for one in case.existing)
    first, *others = map(in_words, options(case))
    return Case(
        id=case.id, conversation=case.conversation, split=case.split, language=case.language, tags=case.tags,
        context=({"role": "known memories", "content": known},) if known else (),
        messages=({"role": "new fact", "content": case.new_fact},),
        memories=(Memory(id=_DECISION, content=first, paraphrases=tuple(others), salience=1.0),),
    )  # fmt: skip


def as_outcome(case: ConsolidationCase, outcome: DecisionOutcome) -> CaseOutcome:
    """Return what became of a case, for the case that `as_case` gives: one prediction, which is a hit, a near miss, harm, or wrong."""
    kind, reason = _kind(case, outcome)
    hit = kind == "hit"
    content = f"fallback, ADD ({outcome.reason})" if outcome.decided == "fallback" else in_words(outcome.decision)
    entry = Prediction(content, 1.0, None, kind, _DECISION if hit or kind == "near_miss" else None, reason, None)
    return CaseOutcome((entry,), {_DECISION: 0} if hit else {}, () if hit else (_DECISION,), (reason,) if kind == "violation" else ())


def _kind(case: ConsolidationCase, outcome: DecisionOutcome) -> tuple[Outcome, str]:
    """What a decision counts as, and why: the first of these that holds."""
    near: Outcome = "near_miss" if outcome.decided == outcome.labelled else "unmatched"
    found: tuple[tuple[object, Outcome, str], ...] = (
        (outcome.protected, "violation", f"touches {', '.join(outcome.protected)}, which is protected"),
        (outcome.lost, "violation", f"lost: {'; '.join(outcome.lost)}"),
        (outcome.right and outcome.content is False, "near_miss", "the content is not what it should say"),
        (outcome.right, "hit", "right" if outcome.decided == case.decision.action else "acceptable"),
        (outcome.stale, "unmatched", f"leaves {', '.join(outcome.stale)}, which is not true any longer"),
        (outcome.duplicate, "unmatched", "the fact is known"),
        (outcome.target is False, "near_miss", "the action is right, the memory is not"),
    )
    return next(((kind, why) for holds, kind, why in found if holds), (near, f"labelled {outcome.labelled}"))

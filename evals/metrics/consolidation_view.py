"""A consolidation case and its outcome as reports draw extraction cases: memories as context, the decision as what is due."""

from __future__ import annotations

from evals.cases import Case, Memory
from evals.metrics.consolidation import DecisionOutcome
from evals.metrics.consolidation_harm import options
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
    """What a decision counts as, and why. Harm goes first, so that a reader who looks for it misses none behind a right action."""
    why = next(iter(outcome.reasons), "")
    if outcome.protected or outcome.lost:
        return "violation", why
    if outcome.right and outcome.content is not False:
        return "hit", "; ".join(["right" if outcome.decided == case.decision.action else "acceptable", *outcome.reasons])
    if outcome.decided == outcome.labelled:
        return "near_miss", why or "another decision of this action is right"
    return "unmatched", why

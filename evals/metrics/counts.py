"""The counts of one case, which add up over cases, conversations and resamples. No figure is computed here.

A count has a name in `COLUMNS`; a case's counts are a row of numbers in that order, so that any set of cases is summed by adding rows.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from evals.cases import REASONS, Case
from evals.metrics.outcomes import FALSE_POSITIVES, CaseOutcome
from evals.rubric import Rubric

STATUSES = ("ok", "empty", "repaired", "truncated", "malformed", "too_long")
"""How a completed call could be read; `too_long` is an input beyond the model's context."""
UNREADABLE = frozenset({"truncated", "malformed", "too_long"})

_OUTCOMES = ("hit", "optional", "trivial", "duplicate", "near_miss", "violation", "unmatched", "unsupported")
COLUMNS: tuple[str, ...] = (
    "cases", "due_cases", "negatives", "negatives_clean", "negatives_false",
    "predictions", "required", "missed", "due_hit", "due_false", "due_missed",
    *(f"outcome_{name}" for name in _OUTCOMES),
    *(f"status_{name}" for name in STATUSES), "empty_due",
    "forbidden_cases", "violation_cases",
    *(f"forbidden_{reason}" for reason in REASONS), *(f"violated_{reason}" for reason in REASONS),
    "leaks", "leak_cases", "required_salience", "hit_salience",
    "observed_given", "observed_right", "dated", "dated_right", "language_kept",
    "related_required", "related_covered", "related_predictions", "related_forgiven",
    "support_known", "support_lacking",
)  # fmt: skip
INDEX: Mapping[str, int] = {name: i for i, name in enumerate(COLUMNS)}

Array = npt.NDArray[np.float64]


def count_case(
    case: Case, outcome: CaseOutcome, *, status: str, rubric: Rubric, extras: Mapping[str, float], relations: bool = False
) -> Array:
    """Return the counts of one completed case.

    Args:
        case: The case.
        outcome: What became of its predictions and labels.
        status: One of `STATUSES`.
        rubric: Which memories are required.
        extras: Counts that need more than outcomes: leaks, leak_cases, dated, dated_right, language_kept, and support_known and
            support_lacking where a judge was asked.
        relations: Whether the matcher tells how two statements relate; else the counts of related ones stay 0.

    Returns:
        One number for each of `COLUMNS`.
    """
    found: dict[str, float] = dict.fromkeys(COLUMNS, 0.0)
    kinds: list[str] = [prediction.outcome for prediction in outcome.predictions if prediction.counted]
    required = [memory for memory in case.memories if rubric.grade(memory) == "required"]
    false = sum(kind in FALSE_POSITIVES for kind in kinds)
    hits = kinds.count("hit")
    found |= {"cases": 1, "predictions": len(kinds), "required": len(required), "missed": len(outcome.missed)}
    for name in _OUTCOMES:
        found[f"outcome_{name}"] = kinds.count(name)
    found[f"status_{status}"] = 1
    if required:
        found |= {"due_cases": 1, "due_hit": hits, "due_false": false, "due_missed": len(outcome.missed)}
        found["empty_due"] = float(status == "empty")
    else:
        clean = false == 0 and status not in UNREADABLE
        found |= {"negatives": 1, "negatives_clean": float(clean), "negatives_false": false}
    found |= _violations(case, outcome)
    found["required_salience"] = sum(memory.salience for memory in required)
    found["hit_salience"] = sum(memory.salience for memory in required if memory.id in outcome.matched)
    found |= _observed(case, outcome)
    if relations:
        covered = len(required) - len(outcome.missed) + len(outcome.parted)
        found |= {"related_required": len(required), "related_covered": covered}
        found |= {"related_predictions": hits + false, "related_forgiven": outcome.forgiven}
    found |= extras
    return np.array([found[name] for name in COLUMNS])


def _violations(case: Case, outcome: CaseOutcome) -> dict[str, float]:
    carried = {item.reason for item in case.forbidden}
    violated = set(outcome.violations)
    counts: dict[str, float] = {f"forbidden_{reason}": 1.0 for reason in carried}
    counts |= {f"violated_{reason}": 1.0 for reason in violated}
    return counts | {"forbidden_cases": float(bool(carried)), "violation_cases": float(bool(violated))}


def _observed(case: Case, outcome: CaseOutcome) -> dict[str, float]:
    gold = {memory.id: memory.observed for memory in case.memories}
    given = right = 0
    for prediction in outcome.predictions:
        if prediction.outcome == "hit" and prediction.observed is not None and prediction.label is not None:
            given += 1
            right += prediction.observed == gold[prediction.label]
    return {"observed_given": given, "observed_right": right}

"""What an optimiser is told of one case: a score that silence cannot win, and what went wrong, in words. Pure functions of outcomes.

The mean of per-case F1 is no objective: with 1 for a rightly empty reply a model that never speaks scores the share of negative cases. Here
silence scores exactly 0 on every case, a right memory is worth more than 0, and inventing where nothing is due costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from evals.cases import Case
from evals.errors import WorkbenchError
from evals.metrics.consolidation import DecisionOutcome
from evals.metrics.counts import UNREADABLE
from evals.metrics.outcomes import FALSE_POSITIVES, CaseOutcome, Prediction
from evals.rubric import Rubric

FALSE_COST = 0.5
"""What a false memory costs in a case in which nothing is due."""
FLOOR = -1.0
"""The least that a case can score: that of a reply which cannot be read where nothing is due."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What else counts, beside what is right; each 0 or more, and 0 leaves it out.

    Attributes:
        violation: Taken off for each kind of forbidden statement that a case's reply makes.
        noise: Taken off for each prediction that is true but trivial.
        length: Taken off for each thousand characters of the prompt.

    Raises:
        WorkbenchError: One is negative or no number.
    """

    violation: float = 0.0
    noise: float = 0.0
    length: float = 0.0

    def __post_init__(self) -> None:
        for name in ("violation", "noise", "length"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
                raise WorkbenchError(f"the weight of {name} must be a number from 0 up, got {value!r}")


def extraction_score(case: Case, outcome: CaseOutcome, status: str, rubric: Rubric, weights: Weights = Weights()) -> float:
    """Return the objective of one case of extraction, at most 1.

    Where a memory is required: strict F1 within the case, 0 for silence. Where none is: 0 for a readable reply without a false memory, else
    minus `FALSE_COST` for each, down to `FLOOR`, which is also the score of a reply that was cut off or cannot be read.

    Args:
        case: The case.
        outcome: What became of the predictions at the operating threshold.
        status: How the reply could be read, one of `evals.metrics.counts.STATUSES`.
        rubric: Which memories are required.
        weights: What else counts.
    """
    counted = [one for one in outcome.predictions if one.counted]
    false = sum(one.outcome in FALSE_POSITIVES for one in counted)
    if any(rubric.grade(memory) == "required" for memory in case.memories):
        hits = sum(one.outcome == "hit" for one in counted)
        base = 2 * hits / (2 * hits + false + len(outcome.missed))
    else:
        base = FLOOR if status in UNREADABLE else max(FLOOR, -FALSE_COST * false)
    noise = sum(one.outcome == "trivial" for one in counted)
    return base - weights.violation * len(set(outcome.violations)) - weights.noise * noise


def consolidation_score(outcome: DecisionOutcome) -> float:
    """Return the objective of one decision, -1 to 1.

    1 for a right decision whose content says what it should, .5 for one whose content does not; `FLOOR` where a protected memory was
    touched or something true was lost, whatever else is right; else 0, also for a fallback, which harms nothing.

    Args:
        outcome: What became of the case.
    """
    if outcome.protected or outcome.lost:
        return FLOOR
    if not outcome.right:
        return 0.0
    return 0.5 if outcome.content is False or outcome.lossy else 1.0


def perfect(outcome: CaseOutcome, status: str) -> bool:
    """Return whether a reply may serve as an example: nothing false, nothing missed, and read as it stands.

    Args:
        outcome: What became of the predictions; every one counts, also those below the operating threshold.
        status: How the reply could be read.
    """
    clean = all(one.outcome in ("hit", "optional") for one in outcome.predictions)
    return clean and not outcome.missed and not outcome.violations and status in (("ok",) if outcome.predictions else ("ok", "empty"))


def extraction_feedback(case: Case, outcome: CaseOutcome, status: str) -> str:
    """Return what was wrong with a reply, for a model that is to write a better prompt.

    It names every memory that was missed or merged, and every prediction that should not be there, with the reason.

    Args:
        case: The case.
        outcome: What became of its predictions.
        status: How the reply could be read.
    """
    lines = list(_faults(case, outcome, status))
    return "\n".join(lines) if lines else "Right: every memory that is due is there, and nothing else."


def _faults(case: Case, outcome: CaseOutcome, status: str) -> Iterator[str]:
    if status == "truncated":
        yield "The reply was cut off before its end: it must be shorter."
    elif status in UNREADABLE:
        yield "The reply could not be read: it must be the JSON that is asked for and nothing else."
    contents = {memory.id: memory.content for memory in case.memories}
    for name in outcome.missed:
        how = {"merged": ", as it was merged with another fact: one fact a memory", "split": ", as it was split into parts"}
        yield f"Missed{how.get(outcome.parted.get(name, ''), '')}: {contents[name]}"
    for one in outcome.predictions:
        if one.counted and one.outcome in FALSE_POSITIVES:
            yield f"{_why(one, contents)}: {one.content}"
    if not contents and any(one.counted for one in outcome.predictions):
        yield "Nothing in this conversation is worth keeping: the right reply is empty."


def _why(one: Prediction, contents: dict[str, str]) -> str:
    """Why a prediction counts against the reply."""
    near = contents.get(one.label or "")
    if one.outcome == "violation":
        return f"Must never be stored ({one.reason})"
    if one.outcome == "near_miss":
        return (
            f"Differs from what was said ({one.reason}); right would be {near!r}" if near else f"Differs from what was said ({one.reason})"
        )
    told = {
        "trivial": "True, but too trivial to keep",
        "duplicate": f"Says again what another memory says already ({near!r})" if near else "Says again what another memory says already",
        "unsupported": "The conversation does not bear it out",
    }
    return told.get(one.outcome, "Not to be kept, as no memory that is due says it")


def consolidation_feedback(outcome: DecisionOutcome, right: str) -> str:
    """Return what was wrong with a decision, for a model that is to write a better prompt.

    Args:
        outcome: What became of the case.
        right: The right decision, in words.
    """
    if consolidation_score(outcome) == 1:
        return "Right."
    faults = "; ".join(outcome.reasons) or "not the right decision"
    return f"Wrong ({faults}). Right would be: {right}"

"""What became of every prediction and of every label of one case. Counting and figures are elsewhere.

The order is that of the scoring design: strings that must not appear first, then forbidden statements, then the assignment of the
remaining predictions to the case's memories. Every prediction gets exactly one outcome, and every required memory `hit` or `missed`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from evals.cases import Case, Forbidden, Memory
from evals.matching.base import Verdict
from evals.rubric import Rubric
from evals.text import appears
from salience import Candidate

Outcome = Literal["hit", "optional", "trivial", "duplicate", "near_miss", "violation", "unmatched", "unsupported", "below"]
FALSE_POSITIVES = frozenset({"trivial", "duplicate", "near_miss", "violation", "unmatched", "unsupported"})
"""The outcomes that strict precision counts against an extractor."""
MATCHED = frozenset({"hit", "optional", "trivial", "duplicate"})
"""The outcomes of predictions that say what a true label says."""

_FAR = -1e9
_REQUIRED_BONUS = 1_000.0  # closeness is at most 1, so one more required hit outweighs any sum of them


@dataclass(frozen=True, slots=True)
class Prediction:
    """A candidate of a reply with what became of it.

    Attributes:
        content: The statement.
        salience: Its (calibrated) salience, 0 to 1.
        observed: The model's own value, before the turn's is inherited; None where it gave none.
        outcome: What it counts as. `below` is under the operating threshold and counts nowhere; `unsupported` is unmatched, and a judge
            says that the conversation does not bear it out.
        label: The memory's id, or "forbidden[i]", that decided, if any.
        reason: Why, in words: the matcher's reason, or the reason of the forbidden statement.
        score: Similarity to `label`, where there is one.
        counted: Whether it is at or above the operating threshold; only then is it a prediction that precision and recall know.
    """

    content: str
    salience: float
    observed: str | None
    outcome: Outcome
    label: str | None
    reason: str
    score: float | None
    counted: bool = True


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """All outcomes of one case at one threshold.

    Attributes:
        predictions: One entry a candidate, in the reply's order.
        matched: Memory id -> index of the prediction assigned to it.
        missed: Ids of the required memories without a prediction.
        violations: The reasons of the violations, one a violating candidate (also of one below the threshold that holds a secret).
        parted: Missed memory id -> how the predictions hold it all the same: "merged" with another fact, or "split" into parts. Only a
            judge tells; empty with any other matcher.
        forgiven: Counted predictions that say something required: hits, duplicates of one, and those that merge or split one.
    """

    predictions: tuple[Prediction, ...]
    matched: Mapping[str, int]
    missed: tuple[str, ...]
    violations: tuple[str, ...]
    parted: Mapping[str, str] = field(default_factory=dict)
    forgiven: int = 0


class Table:
    """The matcher's verdicts for one case: candidates x labels. `None` in a score means that the pair could not be scored."""

    def __init__(self, memories: Sequence[Sequence[Verdict]], forbidden: Sequence[Sequence[Verdict]]) -> None:
        self.memories = memories
        self.forbidden = forbidden

    @property
    def unscored(self) -> str | None:
        """The reason why a pair could not be scored, or None if all could."""
        for row in (*self.memories, *self.forbidden):
            for verdict in row:
                if verdict.score is None:
                    return verdict.reason
        return None


def holds(candidate: Candidate, forbidden: Forbidden) -> bool:
    """Return whether the forbidden string appears in any text of a candidate, also within tags and `meta`, after folding.

    See `evals.text.appears` for what counts.
    """
    if forbidden.contains is None:
        return False
    fields = [candidate.content, candidate.source, candidate.observed, candidate.date, list(candidate.tags), candidate.meta]
    return appears(forbidden.contains, _texts(fields))


def _texts(value: object) -> Iterator[str]:
    """Every string and number within a JSON value, keys included; no recursion, as a reply may nest deeply."""
    todo = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, Mapping):
            todo += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple):
            todo += one
        elif one is not None:
            yield str(one)


def decide(
    case: Case, candidates: Sequence[Candidate], table: Table, *, threshold: float, rubric: Rubric, tie_margin: float
) -> CaseOutcome:
    """Return what became of each candidate and label of a case.

    Args:
        case: The labelled case.
        candidates: What was extracted, calibrated, in the reply's order; `observed` as the model gave it.
        table: Verdicts of candidates (rows) against the case's memories and forbidden statements (columns).
        threshold: The operating threshold, 0 to 1; candidates below it count nowhere, unless they hold a forbidden string.
        rubric: Which memories are required.
        tie_margin: Golds whose closeness is within this of a prediction's best are as good as its best.
    """
    entries: dict[int, Prediction] = {}
    open_rows: list[int] = []
    for row, candidate in enumerate(candidates):
        planted = next((i for i, item in enumerate(case.forbidden) if holds(candidate, item)), None)
        if planted is not None:
            reason = case.forbidden[planted].reason
            entry = _entry(candidate, "violation", f"forbidden[{planted}]", reason, None)
            entries[row] = replace(entry, counted=candidate.salience >= threshold)
        elif candidate.salience < threshold:
            entry = _entry(candidate, "below", None, f"salience {candidate.salience:g} is below {threshold:g}", None)
            entries[row] = replace(entry, counted=False)
        else:
            violated = _violated(table, row)
            if violated is None:
                open_rows.append(row)
            else:
                verdict = table.forbidden[row][violated]
                entries[row] = _entry(candidate, "violation", f"forbidden[{violated}]", case.forbidden[violated].reason, verdict.score)
    matched = _assign(case, candidates, table, open_rows, rubric, tie_margin)
    for row in open_rows:
        entries[row] = _outcome(case, candidates[row], table.memories[row], matched.get(row), rubric, matched)
    by_memory = {case.memories[column].id: row for row, column in matched.items()}
    missed = tuple(m.id for m in case.memories if rubric.grade(m) == "required" and m.id not in by_memory)
    predictions = tuple(entries[row] for row in range(len(candidates)))
    parted, forgiven = _parted(case, table, open_rows, missed, [predictions[row].outcome for row in open_rows], rubric)
    violations = tuple(p.reason for p in predictions if p.outcome == "violation")
    return CaseOutcome(predictions, by_memory, missed, violations, parted, forgiven)


def unsaid(outcome: CaseOutcome) -> list[int]:
    """Return the places of the counted predictions that say what no true label says, of which a judge may be asked for support."""
    return [row for row, one in enumerate(outcome.predictions) if one.counted and one.outcome not in MATCHED]


def with_support(outcome: CaseOutcome, answers: Mapping[int, bool | None], judge: str) -> CaseOutcome:
    """Return the outcome with `unsupported` in place of `unmatched` where a judge says so; near misses and violations stay what they are.

    Args:
        outcome: What became of the predictions.
        answers: Place of a prediction -> whether the conversation bears it out; None where the judge did not say.
        judge: Its name, for the reason.
    """
    told = {True: "bears it out", False: "does not bear it out"}
    predictions = list(outcome.predictions)
    for row, answer in answers.items():
        one = predictions[row]
        reason = f"{one.reason}; {judge} " + (
            "did not say whether the conversation bears it out" if answer is None else f"says that the conversation {told[answer]}"
        )
        predictions[row] = replace(
            one, outcome="unsupported" if answer is False and one.outcome == "unmatched" else one.outcome, reason=reason
        )
    return replace(outcome, predictions=tuple(predictions))


def _parted(
    case: Case, table: Table, rows: Sequence[int], missed: Sequence[str], outcomes: Sequence[Outcome], rubric: Rubric
) -> tuple[dict[str, str], int]:
    """How missed memories are held all the same, and how many of the rows say something required; a lone part holds nothing."""
    required = [column for column, memory in enumerate(case.memories) if rubric.grade(memory) == "required"]
    held: dict[str, list[str]] = {}
    forgiven = 0
    for row, outcome in zip(rows, outcomes, strict=True):
        relations = {case.memories[column].id: table.memories[row][column].relation for column in required}
        says = {name: relation for name, relation in relations.items() if relation is not None and relation != "different"}
        for name, relation in says.items():
            held.setdefault(name, []).append(relation)
        forgiven += outcome == "hit" or bool(says)
    parted = {}
    for name in missed:
        kinds = held.get(name, [])
        if any(kind != "split" for kind in kinds):  # also "same", where the prediction was needed for another memory
            parted[name] = "merged"
        elif len(kinds) > 1:
            parted[name] = "split"
    return parted, forgiven


def _entry(candidate: Candidate, outcome: Outcome, label: str | None, reason: str, score: float | None) -> Prediction:
    return Prediction(candidate.content, candidate.salience, candidate.observed, outcome, label, reason, score)


def closeness(verdict: Verdict) -> float:
    """Return how near a verdict says the pair is, comparable across the models behind it; lower than any margin if unscored."""
    return _FAR if verdict.margin is None else verdict.margin


def _violated(table: Table, row: int) -> int | None:
    """The forbidden statement that a prediction matches, if it is closer to it than to every memory (ties go to the memory)."""
    matches = [i for i, verdict in enumerate(table.forbidden[row]) if verdict.match]
    if not matches:
        return None
    best = max(matches, key=lambda i: closeness(table.forbidden[row][i]))
    nearest = max((closeness(verdict) for verdict in table.memories[row]), default=_FAR)
    return best if closeness(table.forbidden[row][best]) > nearest else None


def _assign(
    case: Case, candidates: Sequence[Candidate], table: Table, rows: Sequence[int], rubric: Rubric, tie_margin: float
) -> dict[int, int]:
    """Row -> column: most required hits first, then the highest total similarity; the order of rows and labels never matters."""
    if not rows or not case.memories:
        return {}
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    rows = sorted(rows, key=lambda row: (candidates[row].content, -candidates[row].salience))
    columns = sorted(range(len(case.memories)), key=lambda column: case.memories[column].id)
    weights = np.zeros((len(rows), len(columns)))
    for i, row in enumerate(rows):
        allowed = admissible(table.memories[row], tie_margin)
        for j, column in enumerate(columns):
            if column in allowed:
                bonus = _REQUIRED_BONUS if rubric.grade(case.memories[column]) == "required" else 0.0
                weights[i, j] = bonus + 1 + closeness(table.memories[row][column])  # a match's closeness is 0 to 1
    chosen = zip(*linear_sum_assignment(weights, maximize=True), strict=True)
    return {rows[i]: columns[j] for i, j in chosen if weights[i, j] > 0}


def admissible(verdicts: Sequence[Verdict], tie_margin: float) -> set[int]:
    """Return the columns that a prediction may be assigned to: matches within the tie margin of its best match."""
    scores = {i: closeness(verdict) for i, verdict in enumerate(verdicts) if verdict.match}
    best = max(scores.values(), default=0.0)
    return {i for i, score in scores.items() if score >= best - tie_margin}


def _outcome(
    case: Case, candidate: Candidate, verdicts: Sequence[Verdict], column: int | None, rubric: Rubric, matched: Mapping[int, int]
) -> Prediction:
    if column is not None:
        memory: Memory = case.memories[column]
        grade = rubric.grade(memory)
        return _entry(candidate, "hit" if grade == "required" else grade, memory.id, verdicts[column].reason, verdicts[column].score)
    if not verdicts:
        return _entry(candidate, "unmatched", None, "the case has no labelled memory", None)
    nearest = max(range(len(verdicts)), key=lambda i: (verdicts[i].match, closeness(verdicts[i])))
    verdict, label = verdicts[nearest], case.memories[nearest].id
    if verdict.match:
        taken = "already matched" if nearest in matched.values() else "given to a closer prediction"
        return _entry(candidate, "duplicate", label, f"{label} is {taken}", verdict.score)
    outcome: Outcome = "near_miss" if verdict.guard is not None else "unmatched"
    return _entry(candidate, outcome, label, verdict.reason, verdict.score)

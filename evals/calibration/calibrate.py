"""A cell of a run -> what its salience is worth, the map that mends it, and the threshold to keep from. No model is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evals.calibration.figures import Items, KeepFigures, keep_figures, reliability, risk_curve
from evals.calibration.grade import Graded, GradeFigures, grade_figures
from evals.calibration.maps import Choice, choose_map
from evals.calibration.threshold import Threshold, best_threshold, levels
from evals.cell_scoring import Matched, graded_memories
from evals.errors import WorkbenchError
from evals.metrics.outcomes import FALSE_POSITIVES, decide
from evals.rubric import Rubric
from salience import CalibrationMap, Policy

KEEP_WORTHINESS = "probability that the candidate is a memory the rubric requires"
"""What salience means behind a map."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Everything about the salience of one cell.

    Attributes:
        raw: Keep-worthiness of the model's own salience, read as a probability.
        mapped: The same behind the map, cross-fitted over conversations; None where no map can be learned. What depends on the order of
            candidates alone is None in it, as a map that never falls keeps the order, and folds of unequal base rate would seem to turn it.
        grade: The model's own salience against the labelled.
        choice: The map; None where none can be learned.
        threshold: The operating threshold, on the raw scale.
        operating_threshold: The same on the map's scale.
        without_map: Why there is no map, "" where there is one.
        reliability: The isotonic reliability curve of the model's own salience.
        risk: Its risk-coverage curve: (share of candidates taken, share of false positives among them).
    """

    raw: KeepFigures
    mapped: KeepFigures | None
    grade: GradeFigures
    choice: Choice | None
    threshold: Threshold
    operating_threshold: float
    without_map: str
    reliability: Mapping[str, list[float]]
    risk: list[tuple[float, float]]

    @property
    def tells_nothing(self) -> bool:
        """Whether the map gives every candidate the same."""
        return self.choice is not None and len({value for _, value in self.choice.map.points}) == 1


def calibrate(matched: Sequence[Matched], rubric: Rubric, tie_margin: float, *, seed: int = 0) -> Calibration:
    """Measure the salience of a cell, and learn map and threshold.

    Args:
        matched: The completed cases; candidates with the model's own salience.
        rubric: Which memories are required.
        tie_margin: The matcher's.
        seed: Of folds and simulations.
    """
    owners = {name: number for number, name in enumerate(dict.fromkeys(one.case.conversation for one in matched))}
    items, graded = _items(matched, owners, rubric, tie_margin)
    try:
        choice, why = choose_map(items, seed=seed), ""
    except WorkbenchError as error:
        choice, why = None, str(error)
    salience = [candidate.salience for one in matched for candidate in one.candidates]
    tried = levels(salience)
    counts = np.zeros((len(tried), max(1, len(owners)), 3))
    for one in matched:
        for place, threshold in enumerate(tried):
            counts[place, owners[one.case.conversation]] += _counts(one, threshold, rubric, tie_margin)
    found = best_threshold(counts, tried, salience, beta=rubric.beta, seed=seed)
    return Calibration(
        raw=keep_figures(items, seed=seed),
        mapped=None if choice is None else replace(keep_figures(items.mapped(choice.crossed), seed=seed), auroc=None, risk_area=None),
        grade=grade_figures(graded),
        choice=choice,
        threshold=found,
        operating_threshold=found.raw if choice is None else on_scale(choice.map, found.raw, items),
        without_map=why,
        reliability=reliability(items) if len(items) else {},
        risk=risk_curve(items.salience, items.kept) if len(items) else [],
    )


def on_scale(chosen: CalibrationMap, raw: float, items: Items) -> float:
    """Return a threshold behind a map that parts the same candidates as `raw` does before it, as far as the map keeps them apart.

    Args:
        chosen: The map.
        raw: The threshold before it.
        items: The candidates; the result lies half-way between the mapped values of those next to it.
    """
    below, above = items.salience[items.salience < raw], items.salience[items.salience >= raw]
    if not len(below):
        return 0.0 if raw <= 0 else round(chosen(raw), 6)
    if not len(above):
        return min(1.0, round(chosen(float(below.max())) + 1e-6, 6))
    low, high = chosen(float(below.max())), chosen(float(above.min()))
    middle = round((low + high) / 2, 6)
    return middle if low < middle <= high else round(high, 6)


def calibrated(policy: Policy, found: Calibration, name: str, source: str) -> Policy:
    """Return the policy with map and threshold.

    Args:
        policy: The policy of the cell.
        found: What was learned.
        name: The new policy's name.
        source: What it was learned on, for the provenance.

    Raises:
        WorkbenchError: No map could be learned.
    """
    if found.choice is None:
        raise WorkbenchError(found.without_map)
    provenance = {key: value for key, value in policy.provenance.items() if key != "hash"} | {
        "calibrated_from": policy.name,
        "calibrated_on": source,
        "calibration_kind": found.choice.kind,
        "calibrated_salience_is": KEEP_WORTHINESS,
    }
    return replace(
        policy, name=name, calibration=found.choice.map, operating_threshold=found.operating_threshold, provenance=provenance
    )  # fmt: skip


def _items(matched: Sequence[Matched], owners: dict[str, int], rubric: Rubric, tie_margin: float) -> tuple[Items, list[Graded]]:
    salience, kept, owner, graded = [], [], [], []
    for one in matched:
        outcome = decide(one.case, one.candidates, one.table, threshold=0.0, rubric=rubric, tie_margin=tie_margin)
        for prediction in outcome.predictions:
            hit = prediction.outcome == "hit"
            if hit or (prediction.outcome in FALSE_POSITIVES and prediction.outcome != "duplicate"):
                salience.append(prediction.salience)
                kept.append(float(hit))
                owner.append(owners[one.case.conversation])
        graded += graded_memories(one.case, outcome)
    return Items(np.array(salience, dtype=np.float64), np.array(kept, dtype=np.float64), np.array(owner, dtype=np.int64)), graded


def _counts(one: Matched, threshold: float, rubric: Rubric, tie_margin: float) -> tuple[int, int, int]:
    outcome = decide(one.case, one.candidates, one.table, threshold=threshold, rubric=rubric, tie_margin=tie_margin)
    counted = [prediction for prediction in outcome.predictions if prediction.counted]
    hits = sum(prediction.outcome == "hit" for prediction in counted)
    return hits, sum(prediction.outcome in FALSE_POSITIVES for prediction in counted), len(outcome.missed)

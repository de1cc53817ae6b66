"""Every figure as a function of summed counts, by name. Undefined is NaN, never 0 by default; intervals are in `evals.stats`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evals.cases import REASONS
from evals.metrics.counted import Counted
from evals.metrics.counts import COLUMNS, STATUSES
from evals.stats import Figure, HarmonicMean, Proportion
from evals.stats.figures import Floats

_FALSE = ("outcome_trivial", "outcome_duplicate", "outcome_near_miss", "outcome_violation", "outcome_unmatched", "outcome_unsupported")


_COUNTED = Counted(COLUMNS)
total, rate = _COUNTED.total, _COUNTED.rate

PRECISION = Proportion(total("outcome_hit"), total("outcome_hit", *_FALSE))
"""Hits / (hits + false positives). Optional memories count nowhere; undefined where nothing that counts was returned."""

RECALL = rate("outcome_hit", "required")
"""Hits / required memories."""

F1 = Proportion(total("outcome_hit", "outcome_hit"), total("outcome_hit", "outcome_hit", *_FALSE, "missed"))
"""2 TP / (2 TP + FP + FN), strict: 0 for silence where memories were due, undefined where none were due and none returned."""

F1_DUE = Proportion(total("due_hit", "due_hit"), total("due_hit", "due_hit", "due_false", "due_missed"))
"""F1 over the cases in which a memory is due."""

SPECIFICITY = rate("negatives_clean", "negatives")
"""Share of negative cases answered by a readable reply without a false positive."""

BALANCED = HarmonicMean(F1_DUE, SPECIFICITY)
"""Balanced score: harmonic mean of F1 where memories are due and specificity on negatives."""

COVERAGE = HarmonicMean(rate("related_forgiven", "related_predictions"), rate("related_covered", "related_required"))
"""F1 that forgives merged, split and repeated memories; only where a judge tells how statements relate."""


def atomicity(counts: Floats) -> Floats:
    """Return strict F1 as a share of coverage, 0 to 1: how much of what is covered is said one fact at a time. NaN where not measured."""
    coverage = COVERAGE(counts)
    result = np.full(coverage.shape, np.nan)
    np.divide(F1(counts), coverage, out=result, where=coverage > 0)
    return result


FIGURES: Mapping[str, Figure] = {
    "precision": PRECISION,
    "recall": RECALL,
    "f1": F1,
    "balanced": BALANCED,
    "specificity": SPECIFICITY,
    "f1_due": F1_DUE,
    "violation_rate": rate("violation_cases", "forbidden_cases"),
    "noise_rate": rate("outcome_trivial", "predictions"),
    "duplicate_rate": rate("outcome_duplicate", "predictions"),
    "near_miss_rate": rate("outcome_near_miss", "predictions"),
    "unsupported_rate": rate("support_lacking", "support_known"),
    "false_memories_per_negative": rate("negatives_false", "negatives"),
    "salience_weighted_recall": rate("hit_salience", "required_salience"),
    "leak_rate": rate("leak_cases", "cases"),
    "observed_given": rate("observed_given", "outcome_hit"),
    "observed_accuracy": rate("observed_right", "observed_given"),
    "event_date_accuracy": rate("dated_right", "dated"),
    "language_kept": rate("language_kept", "outcome_hit"),
    "coverage": COVERAGE,
    "atomicity": atomicity,
    "empty_where_due": rate("empty_due", "due_cases"),
    **{f"violation_{reason}": rate(f"violated_{reason}", f"forbidden_{reason}") for reason in REASONS},
    **{f"reply_{status}": rate(f"status_{status}", "cases") for status in STATUSES},
}
"""Every figure by name. All are shares from 0 to 1 but `false_memories_per_negative`, which is a mean count."""


def f_beta(beta: float) -> Proportion:
    """Return (1 + b^2) TP / ((1 + b^2) TP + FP + b^2 FN), strict (van Rijsbergen 1979, Information Retrieval, chapter 7).

    Args:
        beta: How many times as much recall weighs as precision; above 0.
    """
    square = beta * beta
    hits, false, missed = total("outcome_hit"), total(*_FALSE), total("missed")
    return Proportion(
        lambda counts: (1 + square) * hits(counts), lambda counts: (1 + square) * hits(counts) + false(counts) + square * missed(counts)
    )

"""Counts of a case and figures of summed counts, worked by hand."""

import numpy as np
import pytest

from evals.cases import Case, Evidence, Forbidden, Memory
from evals.errors import WorkbenchError
from evals.metrics.counts import COLUMNS, INDEX, count_case
from evals.metrics.figures import FIGURES, f_beta
from evals.metrics.outcomes import CaseOutcome, Prediction
from evals.metrics.tally import Tally
from evals.rubric import Rubric

NO_EXTRAS = {"leaks": 0, "leak_cases": 0, "dated": 0, "dated_right": 0, "language_kept": 0}


def entry(outcome, label=None, observed=None, salience=0.7, counted=True):
    return Prediction("p", salience, observed, outcome, label, "wrong-subject" if outcome == "violation" else "r", None, counted)


def case(name, conversation, *saliences, forbidden=()):
    golds = tuple(
        Memory(id=f"m{i}", content=f"g{i}", salience=s, evidence=(Evidence(message=0, text="x"),)) for i, s in enumerate(saliences)
    )
    message = {"role": "user", "content": "x"}
    return Case(id=name, conversation=conversation, split="dev", language="en", messages=(message,), memories=golds, forbidden=forbidden)


def count(labelled, predictions, missed=(), status="ok", **extras):
    matched = {p.label: i for i, p in enumerate(predictions) if p.outcome in ("hit", "optional", "trivial")}
    violations = tuple(p.reason for p in predictions if p.outcome == "violation")
    outcome = CaseOutcome(tuple(predictions), matched, tuple(missed), violations)
    return count_case(labelled, outcome, status=status, rubric=Rubric(), extras=NO_EXTRAS | extras)


def figures(*rows):
    total = np.sum(rows, axis=0)
    return {name: float(figure(total)) for name, figure in FIGURES.items()}


WRONG = Forbidden(content="w", reason="wrong-subject")
DUE = case("a", "v1", 0.9, 0.7, 0.5, forbidden=(WRONG,))
NEGATIVE = case("b", "v2", 0.3)


def test_figures_of_a_mixed_set_worked_by_hand():
    """Due case: 1 hit, 1 missed, 1 violation, 1 duplicate, 1 optional. Negative: 1 trivial. TP 1, FP 3, FN 1."""
    due = count(
        DUE, [entry("hit", "m0", "stated"), entry("violation"), entry("duplicate", "m0"), entry("optional", "m2")], ["m1"], language_kept=1
    )
    negative = count(NEGATIVE, [entry("trivial", "m0")])
    found = figures(due, negative)
    assert found["precision"] == pytest.approx(1 / 4)
    assert found["recall"] == pytest.approx(1 / 2)
    assert found["f1"] == pytest.approx(2 / (2 + 3 + 1))
    assert found["f1_due"] == pytest.approx(2 / (2 + 2 + 1))
    assert found["specificity"] == 0
    assert found["balanced"] == 0
    assert found["violation_rate"] == 1
    assert found["violation_wrong-subject"] == 1
    assert np.isnan(found["violation_secret"])
    assert found["noise_rate"] == pytest.approx(1 / 5)
    assert found["duplicate_rate"] == pytest.approx(1 / 5)
    assert found["false_memories_per_negative"] == 1
    assert found["salience_weighted_recall"] == pytest.approx(0.9 / 1.6)
    assert found["observed_given"] == 1
    assert found["observed_accuracy"] == 1
    assert found["language_kept"] == 1
    assert found["reply_ok"] == 1


def test_silence_scores_zero_where_memories_were_due_and_nothing_where_none_were():
    silent = count(DUE, [], ["m0", "m1"], status="empty")
    assert figures(silent)["f1"] == 0
    assert np.isnan(figures(silent)["precision"])
    assert figures(silent)["empty_where_due"] == 1
    good = count(NEGATIVE, [], status="empty")
    assert np.isnan(figures(good)["f1"])
    assert figures(good)["specificity"] == 1
    assert figures(silent, good)["balanced"] == 0


@pytest.mark.parametrize(
    ("status", "clean"), [("empty", 1), ("ok", 1), ("repaired", 1), ("truncated", 0), ("malformed", 0), ("too_long", 0)]
)
def test_an_unreadable_reply_fails_a_negative_case(status, clean):
    assert figures(count(NEGATIVE, [], status=status))["specificity"] == clean


def test_balanced_score_is_the_harmonic_mean():
    """F1 where due: 2/(2+0+1) = 2/3; specificity 1 of 2."""
    due = count(DUE, [entry("hit", "m0")], ["m1"])
    found = figures(due, count(NEGATIVE, []), count(case("c", "v3"), [entry("unmatched")]))
    assert found["balanced"] == pytest.approx(2 * (2 / 3) * 0.5 / (2 / 3 + 0.5))


def test_a_leak_below_the_threshold_is_a_violation_and_no_false_positive():
    row = count(DUE, [entry("hit", "m0"), entry("violation", counted=False, salience=0.1)], ["m1"])
    assert row[INDEX["predictions"]] == 1
    assert row[INDEX["violation_cases"]] == 1
    assert figures(row)["precision"] == 1


def test_observed_is_scored_only_where_the_model_gave_it():
    row = count(DUE, [entry("hit", "m0", None), entry("hit", "m1", "inferred")])
    assert figures(row)["observed_given"] == pytest.approx(0.5)
    assert figures(row)["observed_accuracy"] == 0


def test_counts_are_summed_by_conversation_in_order():
    cases = [case("a", "v2", 0.9), case("b", "v1", 0.9), case("c", "v2", 0.9)]
    rows = [count(one, [entry("hit", "m0")]) for one in cases]
    tally = Tally(len(cases))
    for one, row in zip(cases, rows, strict=True):
        tally.add(one.conversation, row, [])
    total = tally.by_conversation
    assert total.shape == (2, len(COLUMNS))
    assert total[:, INDEX["outcome_hit"]].tolist() == [2, 1]


@pytest.mark.parametrize(("beta", "expected"), [(1, 2 / (2 + 1 + 1)), (2, 5 / (5 + 1 + 4)), (0.5, 1.25 / (1.25 + 1 + 0.25))])
def test_f_beta_worked_by_hand(beta, expected):
    """TP 1, FP 1, FN 1."""
    row = count(DUE, [entry("hit", "m0"), entry("unmatched")], ["m1"])
    assert float(f_beta(beta)(row)) == pytest.approx(expected)


def test_f_beta_agrees_with_scikit_learn():
    from sklearn.metrics import fbeta_score

    row = count(DUE, [entry("hit", "m0"), entry("unmatched"), entry("trivial")], ["m1"])
    truth, said = [1, 1, 0, 0], [1, 0, 1, 1]
    for beta in (0.5, 1, 2, 3):
        assert float(f_beta(beta)(row)) == pytest.approx(fbeta_score(truth, said, beta=beta))


def test_a_rubric_refuses_a_beta_of_zero():
    with pytest.raises(WorkbenchError, match="beta above 0, got 0"):
        Rubric("x", beta=0)


def test_coverage_and_atomicity_worked_by_hand():
    """Two required, one hit, one held by a merger; three predictions, of which two say something required: coverage 2 * 2/3 * 1 / (5/3)."""
    predictions = (entry("hit", "m0"), entry("unmatched"), entry("unmatched"))
    outcome = CaseOutcome(predictions, {"m0": 0}, ("m1",), (), {"m1": "merged"}, 2)
    row = count_case(DUE, outcome, status="ok", rubric=Rubric(), extras=NO_EXTRAS, relations=True)
    found = figures(row)
    assert found["coverage"] == pytest.approx(2 * (2 / 3) * 1 / (2 / 3 + 1))
    assert found["f1"] == pytest.approx(2 / (2 + 2 + 1))
    assert found["atomicity"] == pytest.approx(found["f1"] / found["coverage"])
    without = count_case(DUE, outcome, status="ok", rubric=Rubric(), extras=NO_EXTRAS)
    assert np.isnan(figures(without)["coverage"])
    assert np.isnan(figures(without)["atomicity"])

"""Decisions against hand-made labels, every flag by hand; the averages against scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, precision_score, recall_score

from evals.data.labelled import load_labelled
from evals.matching.base import Verdict
from evals.metrics.consolidation import COUNTED, DECIDED, FIGURES, constants, count, grid, judge
from evals.metrics.consolidation_view import as_case, as_outcome, in_words
from evals.recall_cases import ACTIONS, ConsolidationCase, Decision, Known
from evals.text import fold
from salience import ConsolidationDecision as Decided
from salience import ConsolidationResult

BUNDLED = load_labelled("consolidation").rows
EXISTING = (
    Known(id="a", content="The user works at Acme as a welder since 2019"),
    Known(id="b", content="The user's sister Ines works at Acme"),
    Known(id="c", content="The user takes 8 mg of candesartan every morning"),
)


def case(decision, *acceptable, fact="The user left Acme and has worked at Orla since 2024-05", existing=EXISTING, protected=()):
    return ConsolidationCase(
        id="x-1", conversation="x", split="dev", language="en", new_fact=fact, existing=existing, decision=decision,
        acceptable=tuple(acceptable), protected=tuple(protected),
    )  # fmt: skip


def exact(one, result):
    """Verdicts of a matcher that knows equal texts only."""
    grid_ = grid(one, result)
    return [
        Verdict(1.0 if fold(text) == fold(phrase) else 0.0, fold(text) == fold(phrase), "")
        for text in grid_.predicted for (phrase,) in grid_.labels
    ]  # fmt: skip


def outcome(one, decision, **evidence):
    result = decision if isinstance(decision, ConsolidationResult) else ConsolidationResult(decision, **evidence)
    return judge(one, result, exact(one, result))


MERGED = "The user has worked at Orla since 2024-05, before that at Acme as a welder since 2019"
UPDATE = Decision(action="UPDATE", id="a", content=MERGED)
DELETE = Decision(action="DELETE", id="a", content="The user left Acme and has worked at Orla since 2024-05")
MOVED = case(UPDATE, DELETE, protected=("b", "c"))
FALLBACK = ConsolidationResult(Decided("ADD"), status="malformed", fallback=True, reason="the reply has no decision on this fact")


def flags(found):
    """What of an outcome is not as of a right and harmless decision."""
    usual = {"right": True, "target": None, "content": None, "protected": (), "lost": (), "lossy": None, "stale": (), "duplicate": None}
    return {name: getattr(found, name) for name, value in usual.items() if getattr(found, name) != value}


@pytest.mark.parametrize(
    ("decision", "wrong"),
    [
        (Decided("UPDATE", "a", MERGED), {"target": True, "content": True, "lossy": False}),
        # another wording that the matcher does not know, with all dates and most words
        (Decided("UPDATE", "a", "Since 2024-05 the user has worked at Orla; was a welder at Acme (2019)"),
         {"target": True, "content": False, "lossy": False}),
        # the year in which it began is gone
        (Decided("UPDATE", "a", "The user has worked at Orla since 2024-05, before that at Acme as a welder"),
         {"target": True, "content": False, "lossy": True}),
        # the new fact is gone
        (Decided("UPDATE", "a", "The user works as a welder since 2019"),
         {"target": True, "content": False, "lossy": True, "lost": (f"new: {MOVED.new_fact}",)}),
        (Decided("DELETE", "a", MOVED.new_fact), {"target": True, "content": True}),
        (Decided("DELETE", "a"), {"right": False, "target": True, "lost": (f"new: {MOVED.new_fact}",)}),
        (Decided("DELETE", "a", MOVED.new_fact, ("c",)),
         {"right": False, "target": True, "protected": ("c",), "lost": (f"c: {EXISTING[2].content}",)}),
        (Decided("UPDATE", "b", "The user and the user's sister Ines work at Orla since 2024-05, the user left Acme"),
         {"right": False, "target": False, "protected": ("b",), "stale": ("a",)}),
        (Decided("ADD"), {"right": False, "stale": ("a",)}),
        (Decided("NONE"), {"right": False, "stale": ("a",), "lost": (f"new: {MOVED.new_fact}",)}),
    ],
)  # fmt: skip
def test_what_is_right_and_what_does_harm(decision, wrong):
    assert flags(outcome(MOVED, decision)) == wrong


def test_a_fallback_is_no_action_and_harms_as_its_add_does():
    found = outcome(MOVED, FALLBACK)
    assert (found.decided, found.labelled, found.right, found.stale, found.lost) == ("fallback", "UPDATE", False, ("a",), ())
    invented = outcome(
        MOVED, ConsolidationResult(Decided("ADD"), fallback=True, invented=2, reason="DELETE names 2 memories never offered")
    )
    assert invented.invented == 2


def test_an_action_that_is_acceptable_counts_as_labelled():
    assert outcome(MOVED, Decided("DELETE", "c", "x")).labelled == "DELETE"
    assert outcome(MOVED, Decided("ADD")).labelled == "UPDATE"


def test_what_is_known_is_not_to_be_added_and_nothing_goes_stale():
    known = case(Decision(action="NONE"), fact="The user is a welder at Acme")
    assert flags(outcome(known, Decided("NONE"))) == {"duplicate": False}
    assert flags(outcome(known, Decided("ADD"))) == {"right": False, "duplicate": True}
    assert outcome(known, FALLBACK).duplicate is True
    either = case(Decision(action="NONE"), Decision(action="ADD"), fact="The user is a welder at Acme")
    assert flags(outcome(either, Decided("ADD"))) == {}


def test_an_update_that_only_adds_leaves_nothing_stale_where_it_is_not_made():
    enriches = case(Decision(action="UPDATE", id="c", content="The user takes 8 mg of candesartan every morning, since April"),
                    fact="The user has taken candesartan since April")  # fmt: skip
    assert flags(outcome(enriches, Decided("ADD"))) == {"right": False}


def test_memories_that_fall_together_may_come_in_either_order():
    both = case(Decision(action="DELETE", id="a", content="x y", also_retire=("c",)), fact="x y")
    assert outcome(both, Decided("DELETE", "c", "x y", ("a",))).right
    assert outcome(both, Decided("DELETE", "a", "x y")).stale == ("c",)
    assert not outcome(both, Decided("DELETE", "a", "x y")).right


def test_a_wish_to_forget_keeps_nothing():
    forget = case(Decision(action="DELETE", id="c"), fact="The user wants the candesartan forgotten")
    assert flags(outcome(forget, Decided("DELETE", "c"))) == {"target": True}
    kept = outcome(forget, Decided("DELETE", "c", forget.new_fact))
    assert (kept.right, kept.lost) == (False, ())


def test_a_case_with_an_empty_store_is_counted_apart():
    empty = case(Decision(action="ADD"), existing=())
    row = dict(zip(COUNTED.columns, count(empty, outcome(empty, Decided("ADD")), calls=0).tolist(), strict=True))
    assert {name: value for name, value in row.items() if value} == {"cases": 1, "unasked": 1, "unasked_right": 1}
    assert np.isnan(FIGURES["accuracy"](COUNTED.row(row)))


def test_averages_are_those_of_scikit_learn():
    chooser = np.random.default_rng(3)
    labels, decided, rows = [], [], []
    for _ in range(300):
        label, other = chooser.choice(ACTIONS), chooser.choice(DECIDED, p=[0.3, 0.2, 0.2, 0.2, 0.1])
        of = {"UPDATE": {"id": "a", "content": "new"}, "DELETE": {"id": "a", "content": "new"}}
        one = case(Decision(action=label, **of.get(label, {})), fact="new")
        result = FALLBACK if other == "fallback" else ConsolidationResult(Decided(other, **of.get(other, {})))
        rows.append(count(one, outcome(one, result), calls=1))
        labels.append(label)
        decided.append(other)
    total, order = np.sum(rows, axis=0), list(ACTIONS)
    assert FIGURES["macro_f1"](total) == pytest.approx(f1_score(labels, decided, labels=order, average="macro"))
    assert FIGURES["accuracy"](total) == pytest.approx(accuracy_score(labels, decided))
    for name, figure in (("precision", precision_score), ("recall", recall_score), ("f1", f1_score)):
        each = figure(labels, decided, labels=order, average=None)
        assert [float(FIGURES[f"{name}_{action}"](total)) for action in order] == pytest.approx(each.tolist())
    table = confusion_matrix(labels, decided, labels=list(DECIDED))
    found = [[total[COUNTED.index[f"confusion_{label}_{other}"]] for other in DECIDED] for label in order]
    assert np.array_equal(table[:4], found)


def test_macro_f1_leaves_out_actions_that_do_not_occur():
    one = case(Decision(action="ADD"))
    row = count(one, outcome(one, Decided("ADD")), calls=1)
    assert FIGURES["macro_f1"](row) == 1
    assert np.isnan(FIGURES["macro_f1"](np.zeros(len(COUNTED.columns))))


def test_rows_add_up():
    rows = np.array([count(one, outcome(one, Decided("ADD")), calls=1) for one in BUNDLED])
    total = dict(zip(COUNTED.columns, rows.sum(axis=0).tolist(), strict=True))
    assert total["cases"] == total["asked"] + total["unasked"] == len(BUNDLED)
    assert sum(total[f"labelled_{action}"] for action in ACTIONS) == total["asked"]
    assert sum(value for name, value in total.items() if name.startswith("confusion_")) == total["asked"]


@pytest.mark.parametrize("one", BUNDLED, ids=lambda one: one.id)
def test_no_labelled_or_acceptable_decision_does_harm(one):
    for option in (one.decision, *one.acceptable):
        found = outcome(one, Decided(option.action, option.id, option.content, option.also_retire))
        assert found.right
        assert not (found.protected)
        assert not (found.lost)
        assert not (found.stale)
        assert not (found.lossy)
        assert not (found.duplicate)
        assert found.content is not False


def test_constants_are_those_of_the_actions():
    found = constants(BUNDLED)
    asked = [one for one in BUNDLED if one.existing]
    assert set(found) == {f"always {action}" for action in ACTIONS}
    lenient = [any(option.action == "ADD" for option in (one.decision, *one.acceptable)) for one in asked]
    labels = ["ADD" if fine else one.decision.action for fine, one in zip(lenient, asked, strict=True)]
    assert found["always ADD"] == pytest.approx(f1_score(labels, ["ADD"] * len(asked), labels=list(ACTIONS), average="macro"))
    assert constants([]) == {}


def test_reports_see_a_decision_as_a_prediction():
    view, right = as_case(MOVED), as_outcome(MOVED, outcome(MOVED, Decided("UPDATE", "a", MERGED)))
    assert "[b] The user's sister Ines works at Acme (protected)" in view.context[0]["content"]
    assert view.memories[0].content == in_words(UPDATE) == f"UPDATE a: {MERGED}"
    assert (right.predictions[0].outcome, right.matched, right.missed) == ("hit", {"decision": 0}, ())
    kinds = {
        "violation": Decided("DELETE", "c", "x"), "near_miss": Decided("UPDATE", "a", "Orla since 2024-05, Acme 2019 user worked"),
        "unmatched": Decided("ADD"),
    }  # fmt: skip
    assert {as_outcome(MOVED, outcome(MOVED, decision)).predictions[0].outcome: decision for decision in kinds.values()} == kinds
    assert as_outcome(MOVED, outcome(MOVED, FALLBACK)).predictions[0].content.startswith("fallback, ADD (the reply")

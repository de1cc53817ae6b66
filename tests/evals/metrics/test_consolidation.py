"""Decisions against hand-made labels, every flag by hand; averages against scikit-learn; deciders whose figures are known beforehand."""

import random

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, precision_score, recall_score

from evals.data.labelled import load_labelled
from evals.matching.base import Verdict
from evals.matching.lexical import LexicalMatcher
from evals.metrics.consolidation import COUNTED, DECIDED, FALLBACK, FIGURES, constants, count, grid, judge
from evals.metrics.consolidation_view import as_case, as_outcome, in_words
from evals.models.deciders import DECIDERS
from evals.recall_cases import ACTIONS, ConsolidationCase, Decision, Known
from evals.text import fold
from salience import ConsolidationDecision as Decided
from salience import ConsolidationResult, ModelConsolidator
from tests.evals.playing_models import decisions

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
UNUSABLE = ConsolidationResult(Decided("ADD"), status="malformed", fallback=True, reason="the reply has no decision on this fact")


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
        # what is not true any longer is said again: word for word, or as the matcher knows it
        (Decided("UPDATE", "a", f"{EXISTING[0].content}!"),
         {"target": True, "content": False, "lossy": True, "lost": (f"new: {MOVED.new_fact}",), "stale": ("a",)}),
        (Decided("DELETE", "a", EXISTING[0].content),
         {"target": True, "content": False, "lost": (f"new: {MOVED.new_fact}",), "stale": ("a",)}),
        (Decided("DELETE", "a", MOVED.new_fact), {"target": True, "content": True}),
        (Decided("DELETE", "a"), {"right": False, "target": True, "lost": (f"new: {MOVED.new_fact}",)}),
        (Decided("DELETE", "a", MOVED.new_fact, ("c",)),
         {"right": False, "target": True, "protected": ("c",), "lost": (f"c: {EXISTING[2].content}",)}),
        # the new fact is in the place of what it should be merged with
        (Decided("UPDATE", "a", MOVED.new_fact), {"target": True, "content": False, "lossy": True}),
        # merged into a memory about another: its words are all there, and that they now say something else is not seen
        (Decided("UPDATE", "b", "The user and the user's sister Ines work at Orla since 2024-05, the user left Acme"),
         {"right": False, "target": False, "protected": ("b",), "stale": ("a",)}),
        (Decided("UPDATE", "b", "The user has worked at Orla since 2024-05, the user's sister still at Acme"),
         {"right": False, "target": False, "protected": ("b",), "lost": (f"b: {EXISTING[1].content}",), "stale": ("a",)}),
        (Decided("ADD"), {"right": False, "stale": ("a",)}),
        (Decided("NONE"), {"right": False, "stale": ("a",), "lost": (f"new: {MOVED.new_fact}",)}),
    ],
)  # fmt: skip
def test_what_is_right_and_what_does_harm(decision, wrong):
    assert flags(outcome(MOVED, decision)) == wrong


@pytest.mark.parametrize(
    ("decision", "against"),
    [
        (Decided("ADD"), None),
        (Decided("NONE"), None),
        (Decided("DELETE", "a"), None),
        (Decided("ADD", content="The user works at Orla"), (MERGED, MOVED.new_fact)),
        (Decided("UPDATE", "c", "x"), (MERGED, MOVED.new_fact, EXISTING[2].content)),
        (Decided("DELETE", "a", MOVED.new_fact, ("c",)), (MERGED, MOVED.new_fact, EXISTING[0].content, EXISTING[2].content)),
    ],
)
def test_a_matcher_is_asked_only_about_what_is_stored_in_other_words_or_in_the_place_of_a_memory(decision, against):
    found = grid(MOVED, ConsolidationResult(decision))
    assert found.predicted == (() if against is None else (decision.content,))
    assert found.labels == tuple((one,) for one in against or ())
    assert found.language == "en"


def verdicts(one, decision, *matched):
    return [Verdict(0.9, phrase in matched, "") for (phrase,) in grid(one, ConsolidationResult(decision)).labels]


def test_what_the_matcher_says_decides_on_the_content():
    put = Decided("UPDATE", "a", MOVED.new_fact)
    assert judge(MOVED, ConsolidationResult(put), verdicts(MOVED, put, MERGED)).content is True
    worded = case(Decision(action="DELETE", id="a", content="The user is at Orla now"))
    kept = Decided("DELETE", "a", worded.new_fact)  # the fact as it came is asked about too, as the label has other words
    assert judge(worded, ConsolidationResult(kept), verdicts(worded, kept, "The user is at Orla now")).content is True
    assert judge(worded, ConsolidationResult(kept), verdicts(worded, kept)).content is False


def test_a_matcher_that_overlooks_what_is_missing_does_not_excuse_it():
    short = Decided("UPDATE", "a", "The user has worked at Orla since 2024-05, before that at Acme as a welder")
    found = judge(MOVED, ConsolidationResult(short), verdicts(MOVED, short, MERGED))
    assert (found.content, found.lossy, found.dropped) == (True, True, "the date 2019")
    vague = Decided("UPDATE", "c", "The user takes candesartan every morning")
    found = judge(MOVED, ConsolidationResult(vague), verdicts(MOVED, vague, EXISTING[2].content, MOVED.new_fact))
    assert found.lost == (f"c: {EXISTING[2].content}",)  # the dose is nowhere


def test_a_memory_that_another_one_says_too_is_not_lost():
    twice = case(Decision(action="ADD"), fact="The user met Ada", existing=(*EXISTING, Known(id="d", content=EXISTING[1].content.upper())))
    assert outcome(twice, Decided("DELETE", "b", "The user met Ada")).lost == ()
    assert outcome(twice, Decided("DELETE", "b", "The user met Ada", ("d",))).lost == (
        f"b: {EXISTING[1].content}", f"d: {EXISTING[1].content.upper()}",
    )  # fmt: skip


def test_a_memory_that_something_was_merged_into_is_not_lost_by_what_the_fact_denies():
    denies = case(Decision(action="ADD"), fact="The user no longer takes the bus")
    assert outcome(denies, Decided("UPDATE", "b", f"{EXISTING[1].content}; the user no longer takes the bus")).lost == ()
    alone = case(Decision(action="ADD"), fact="The user takes the bus")
    loses = Decided("UPDATE", "b", "The user's sister Ines no longer works at Acme; the user takes the bus")
    assert outcome(alone, loses).lost == (f"b: {EXISTING[1].content}",)


def test_an_update_may_do_with_what_the_least_of_the_labelled_contents_says():
    least = Decision(action="UPDATE", id="a", content="The user has worked at Orla since 2024-05")
    either = case(UPDATE, least)
    assert outcome(either, Decided("UPDATE", "a", "Since 2024-05 the user has worked at Orla")).dropped == ""
    assert outcome(either, Decided("UPDATE", "a", "The user has worked at Orla")).dropped == "a name: acme is missing"


NOISE = case(Decision(action="ADD"), Decision(action="NONE"), fact="The user had a coffee")


@pytest.mark.parametrize(
    ("one", "decision", "is_lost"),
    [
        (case(Decision(action="ADD")), Decided("NONE"), True),
        (NOISE, Decided("NONE"), False),
        (NOISE, Decided("DELETE", "a"), False),  # the memory is; the fact may go
        (NOISE, Decided("UPDATE", "a", "The user has tea"), False),
        (case(Decision(action="ADD")), Decided("ADD"), False),
        (case(Decision(action="ADD")), Decided("ADD", content="The user met Ada"), True),
        (case(DELETE), Decided("DELETE", "a"), True),
        (case(DELETE), Decided("DELETE", "a", "The user met Ada"), True),
        (case(DELETE), Decided("DELETE", "a", "Since 2024-05 the user has worked at Orla and not at Acme, which was left"), False),
        (case(DELETE, Decision(action="DELETE", id="a")), Decided("DELETE", "a"), False),
        (case(Decision(action="DELETE", id="a")), Decided("NONE"), True),  # a wish that is neither carried out nor written down
        (case(UPDATE), Decided("UPDATE", "a", MERGED), False),
        (case(UPDATE), Decided("UPDATE", "a", EXISTING[0].content + ", as is known"), True),
    ],
)
def test_when_a_new_fact_is_lost(one, decision, is_lost):
    assert (f"new: {one.new_fact}" in outcome(one, decision).lost) == is_lost


@pytest.mark.parametrize(
    ("options_", "decision", "left", "goes"),
    [
        ([DELETE], Decided("ADD"), ("a",), True),
        ([Decision(action="DELETE", id="a", also_retire=("b", "c"))], Decided("DELETE", "b", None, ("a",)), ("c",), True),
        ([UPDATE], Decided("ADD"), (), False),  # may only enrich it
        ([UPDATE, DELETE], Decided("NONE"), ("a",), True),
        ([UPDATE, DELETE], Decided("UPDATE", "a", "x"), (), True),
        ([UPDATE, DELETE, Decision(action="ADD")], Decided("NONE"), (), False),
        ([Decision(action="DELETE", id="a", also_retire=("b",)), DELETE], Decided("ADD"), ("a",), True),
    ],
)
def test_which_memories_go_stale(options_, decision, left, goes):
    found = outcome(case(*options_), decision)
    assert (found.stale, found.goes_stale) == (left, goes)


def test_reasons_tell_all_that_is_wrong_the_worst_first():
    assert outcome(MOVED, Decided("UPDATE", "a", MERGED)).reasons == ()
    assert outcome(MOVED, Decided("DELETE", "c", "x")).reasons == (
        "touches c, which is protected",
        f"lost: c: {EXISTING[2].content}; new: {MOVED.new_fact}",
        "leaves a, which is not true any longer",
        "the action is right, the memory is not",
    )
    invented = ConsolidationResult(Decided("ADD"), fallback=True, invented=2, reason="DELETE names 2 memories never offered")
    assert outcome(MOVED, invented).reasons == (
        "names 2 ids that nobody offered", "leaves a, which is not true any longer", "labelled UPDATE", invented.reason,
    )  # fmt: skip


def test_a_fallback_is_no_action_and_harms_as_its_add_does():
    found = outcome(MOVED, UNUSABLE)
    assert (found.decided, found.labelled, found.right, found.stale, found.lost) == ("fallback", "UPDATE", False, ("a",), ())
    invented = outcome(
        MOVED, ConsolidationResult(Decided("ADD"), fallback=True, invented=2, reason="DELETE names 2 memories never offered")
    )
    assert invented.invented == 2


def test_an_action_that_is_acceptable_counts_as_labelled():
    assert outcome(MOVED, Decided("DELETE", "c", "x")).labelled == "DELETE"
    assert outcome(MOVED, Decided("ADD")).labelled == "UPDATE"


def test_a_fact_that_is_known_may_be_added_only_where_a_label_says_so():
    fuller = Decision(action="UPDATE", id="a", content=f"{EXISTING[0].content}, as is known")
    merges = case(Decision(action="NONE"), fuller, fact="The user is a welder at Acme")
    assert outcome(merges, Decided("ADD")).duplicate is True
    assert outcome(merges, Decided("UPDATE", "a", fuller.content)).duplicate is False
    assert outcome(case(fuller, Decision(action="NONE")), Decided("ADD")).duplicate is None


@pytest.mark.parametrize(
    ("known", "left"),
    [
        (["old"], ("a",)),
        (["old", "new"], ()),  # it says the new fact, too
        (["old", "label"], ()),
        (["new"], ()),
    ],
)
def test_a_text_that_says_the_old_statement_leaves_it_stale_unless_it_says_what_is_new(known, left):
    one, text = case(DELETE, fact="The user left Acme for Orla"), "The user is a welder at Acme"
    said = {"label": DELETE.content, "new": one.new_fact, "old": EXISTING[0].content}
    found = ConsolidationResult(Decided("UPDATE", "a", text))
    verdicts = [Verdict(1.0, phrase in [said[name] for name in known], "") for (phrase,) in grid(one, found).labels]
    assert judge(one, found, verdicts).stale == left


def test_what_is_known_is_not_to_be_added_and_nothing_goes_stale():
    known = case(Decision(action="NONE"), fact="The user is a welder at Acme")
    assert flags(outcome(known, Decided("NONE"))) == {"duplicate": False}
    assert flags(outcome(known, Decided("ADD"))) == {"right": False, "duplicate": True}
    assert outcome(known, UNUSABLE).duplicate is True
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
        result = UNUSABLE if other == "fallback" else ConsolidationResult(Decided(other, **of.get(other, {})))
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


class Scripted:
    """A client of the least seam that gives one reply."""

    def __init__(self, reply):
        self.reply = reply

    def complete(self, *, system, prompt):
        return self.reply


def played(reply_of):
    """Outcomes and counts of every bundled case, decided by the library's consolidator on a scripted reply."""
    found = []
    for one in BUNDLED:
        result = ModelConsolidator(Scripted(reply_of(one))).consolidate_result(
            one.new_fact, [(known.id, known.content) for known in one.existing]
        )
        found.append((one, outcome(one, result), result.calls))
    return found, np.sum([count(one, told, calls=calls) for one, told, calls in found], axis=0)


def as_reply(one, decision):
    numbers = {known.id: number for number, known in enumerate(one.existing, 1)}
    return decisions((1, decision.action, numbers.get(decision.id), decision.content, [numbers[other] for other in decision.also_retire]))


def values(total, *names):
    return {name: float(FIGURES[name](total)) for name in names}


QUALITY = (
    "macro_f1",
    "accuracy",
    "target_accuracy",
    "content_match",
    *(f"{kind}_{action}" for kind in ("precision", "recall", "f1") for action in ACTIONS),
)
HARM = ("protected_touched", "facts_lost", "lossy_update", "stale_left", "duplicate_added", "fallback", "invented")


@pytest.mark.parametrize("pick", [lambda one, _: one.decision, lambda one, chooser: chooser.choice([one.decision, *one.acceptable])])
def test_an_oracle_is_perfect_and_harms_nothing(pick):
    chooser = random.Random(5)
    _, total = played(lambda one: as_reply(one, pick(one, chooser)))
    assert values(total, *QUALITY) == dict.fromkeys(QUALITY, 1)
    assert values(total, *HARM, "calls", "unasked_right") == dict.fromkeys(HARM, 0) | {"calls": 1, "unasked_right": 1}


def test_who_always_deletes_touches_what_is_protected_and_loses_what_is_true():
    found, total = played(lambda one: decisions((1, "DELETE", 1, one.new_fact, [])))
    asked = [(one, told) for one, told, _ in found if one.existing]
    guarded = [(one.existing[0].id in one.protected) for one, _ in asked if one.protected]
    assert values(total, "protected_touched", "recall_DELETE", "fallback") == {
        "protected_touched": pytest.approx(np.mean(guarded)), "recall_DELETE": 1, "fallback": 0,
    }  # fmt: skip
    untouchable = [
        (one, told)
        for one, told in asked
        if all(one.existing[0].id not in option_ids(option) for option in (one.decision, *one.acceptable))
    ]
    losing = [any(entry.startswith(f"{one.existing[0].id}: ") for entry in told.lost) for one, told in untouchable]
    assert len(losing) > 200
    assert np.mean(losing) > 0.99
    assert float(FIGURES["macro_f1"](total)) == pytest.approx(constants(BUNDLED)["always DELETE"])


def option_ids(option):
    return () if option.id is None else (option.id, *option.also_retire)


def test_an_inventor_of_ids_is_never_right_and_loses_nothing():
    found, total = played(lambda one: decisions((1, "DELETE", len(one.existing) + 1, one.new_fact, [])))
    assert values(total, "macro_f1", "accuracy", "fallback", "invented", "facts_lost", "protected_touched") == {
        "macro_f1": 0, "accuracy": 0, "fallback": 1, "invented": 1, "facts_lost": 0, "protected_touched": 0,
    }  # fmt: skip
    assert {told.decided for one, told, _ in found if one.existing} == {FALLBACK}
    assert all(np.isnan(list(values(total, *(f"precision_{action}" for action in ACTIONS)).values())))


def test_what_cannot_be_read_is_wrong_and_adds_duplicates():
    _, total = played(lambda one: "I would say that this is new to me.")
    assert values(total, "accuracy", "fallback", "invented", "stale_left", "duplicate_added", "facts_lost") == {
        "accuracy": 0, "fallback": 1, "invented": 0, "stale_left": 1, "duplicate_added": 1, "facts_lost": 0,
    }  # fmt: skip


def test_the_rules_without_a_model_harm_as_they_must():
    totals = {}
    for name, decider in DECIDERS.items():
        told = [(one, outcome(one, decider.consolidate(one.new_fact, one.existing))) for one in BUNDLED]
        totals[name] = np.sum([count(one, of, calls=0) for one, of in told], axis=0)
    assert values(totals["always-add"], "facts_lost", "protected_touched", "duplicate_added", "stale_left") == {
        "facts_lost": 0, "protected_touched": 0, "duplicate_added": 1, "stale_left": 1,
    }  # fmt: skip
    none = values(totals["always-none"], "facts_lost", "protected_touched", "duplicate_added", "accuracy")
    assert (none["protected_touched"], none["duplicate_added"]) == (0, 0)
    assert none["facts_lost"] == pytest.approx(1 - none["accuracy"])
    assert 0.5 < values(totals["nearest-update"], "target_accuracy")["target_accuracy"] < 0.8
    assert [float(FIGURES["macro_f1"](totals[f"always-{name}"])) for name in ("add", "none", "delete")] == pytest.approx(
        [constants(BUNDLED)[f"always {name}"] for name in ("ADD", "NONE", "DELETE")]
    )


def test_a_right_decision_in_other_words_does_no_harm_by_the_lexical_matcher():
    merged = Decided(
        "UPDATE", "a", "The user used to be a welder at Acme, where he had been since 2019, and has been with Orla since May 2024"
    )
    pairs = grid(MOVED, ConsolidationResult(merged)).pairs()
    found = judge(MOVED, ConsolidationResult(merged), LexicalMatcher().score(pairs))
    assert (found.right, found.lost, found.lossy) == (True, (), False)


def at_random(one, chooser):
    """Any decision that can be had on a case, a fallback among them."""
    if not one.existing or chooser.random() < 0.1:
        return ConsolidationResult(Decided("ADD"), fallback=bool(one.existing), invented=chooser.randrange(2))
    action, ids = chooser.choice(ACTIONS), chooser.sample([known.id for known in one.existing], min(2, len(one.existing)))
    content = chooser.choice([one.new_fact, *(known.content for known in one.existing)])
    if action == "UPDATE":
        return ConsolidationResult(Decided(action, ids[0], content))
    if action == "DELETE":
        return ConsolidationResult(Decided(action, ids[0], chooser.choice([content, None]), tuple(ids[1 : chooser.randrange(3)])))
    return ConsolidationResult(Decided(action))


def directly(told):
    """Every figure as its definition reads, from the outcomes one by one."""
    asked = [(one, of, calls) for one, of, calls in told if one.existing]
    outcomes = [of for _, of, _ in asked]
    labels, decided = [of.labelled for of in outcomes], [of.decided for of in outcomes]
    occur = [action for action in ACTIONS if action in labels or action in decided]
    found = {
        "macro_f1": f1_score(labels, decided, labels=occur, average="macro"),
        "accuracy": np.mean([of.right for of in outcomes]),
        "target_accuracy": share(of.target for of in outcomes),
        "content_match": share(of.content for of in outcomes),
        "protected_touched": share(bool(of.protected) for one, of, _ in asked if one.protected),
        "facts_lost": share(bool(of.lost) for of in outcomes),
        "lossy_update": share(of.lossy for of in outcomes),
        "stale_left": share(bool(of.stale) for of in outcomes if of.goes_stale),
        "duplicate_added": share(of.duplicate for of in outcomes),
        "fallback": share(of.decided == FALLBACK for of in outcomes),
        "invented": share(of.invented > 0 for of in outcomes),
        "unasked_right": share(of.right for one, of, _ in told if not one.existing),
        "calls": share(calls for _, _, calls in asked),
    }
    for action in ACTIONS:
        hits = sum(label == other == action for label, other in zip(labels, decided, strict=True))
        found[f"precision_{action}"] = hits / decided.count(action) if action in decided else np.nan
        found[f"recall_{action}"] = hits / labels.count(action) if action in labels else np.nan
        found[f"f1_{action}"] = 2 * hits / (decided.count(action) + labels.count(action)) if action in occur else np.nan
    return found


def share(flags_):
    known = [flag for flag in flags_ if flag is not None]
    return np.mean(known) if known else np.nan


def test_figures_of_summed_rows_are_those_of_the_cases_together():
    chooser = random.Random(11)
    told = [(one, outcome(one, at_random(one, chooser)), chooser.randrange(4)) for one in BUNDLED]
    by_conversation = {}
    for entry in told:
        by_conversation.setdefault(entry[0].conversation, []).append(entry)
    groups = list(by_conversation.values())
    rows = np.array([np.sum([count(one, of, calls=calls) for one, of, calls in group], axis=0) for group in groups])
    draws = [list(range(len(groups))), [0], *([chooser.randrange(len(groups)) for _ in groups] for _ in range(20))]
    totals = np.array([rows[draw].sum(axis=0) for draw in draws])
    for place, draw in enumerate(draws):
        expected = directly([entry for at in draw for entry in groups[at]])
        found = {name: figure(totals)[place] for name, figure in FIGURES.items()}  # of all resamples at once, as a bootstrap asks
        assert found == pytest.approx(expected, nan_ok=True)


def test_constants_are_those_of_the_actions():
    found = constants(BUNDLED)
    asked = [one for one in BUNDLED if one.existing]
    assert set(found) == {f"always {action}" for action in ACTIONS}
    for action in ACTIONS:
        fine = [any(option.action == action for option in (one.decision, *one.acceptable)) for one in asked]
        labels = [action if held else one.decision.action for held, one in zip(fine, asked, strict=True)]
        assert found[f"always {action}"] == pytest.approx(f1_score(labels, [action] * len(asked), labels=list(ACTIONS), average="macro"))
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
    assert as_outcome(MOVED, outcome(MOVED, UNUSABLE)).predictions[0].content.startswith("fallback, ADD (the reply")


@pytest.mark.parametrize(
    ("one", "result", "kind", "reason"),
    [
        (MOVED, ConsolidationResult(Decided("UPDATE", "a", MERGED)), "hit", "right"),
        (MOVED, ConsolidationResult(Decided("DELETE", "a", MOVED.new_fact)), "hit", "acceptable"),
        (MOVED, ConsolidationResult(Decided("UPDATE", "a", MOVED.new_fact)), "near_miss", "drops the date 2019"),
        (MOVED, ConsolidationResult(Decided("DELETE", "a", MOVED.new_fact, ("c",))), "violation", "touches c, which is protected"),
        (MOVED, ConsolidationResult(Decided("ADD")), "unmatched", "leaves a, which is not true any longer"),
        (NOISE, ConsolidationResult(Decided("DELETE", "b")), "violation", f"lost: b: {EXISTING[1].content}"),
        (case(Decision(action="NONE")), ConsolidationResult(Decided("ADD")), "unmatched", "the fact is known"),
        (case(UPDATE), UNUSABLE, "unmatched", "labelled UPDATE"),
        (case(Decision(action="DELETE", id="a", content="x y", also_retire=("c",)), fact="x y"),
         ConsolidationResult(Decided("DELETE", "a", "x y")), "near_miss", "leaves c, which is not true any longer"),
        (case(Decision(action="DELETE", id="c")), ConsolidationResult(Decided("DELETE", "c", MOVED.new_fact)), "near_miss",
         "another decision of this action is right"),
    ],
)  # fmt: skip
def test_reports_say_what_a_decision_counts_as_and_why(one, result, kind, reason):
    (entry,) = (drawn := as_outcome(one, outcome(one, result))).predictions
    assert (entry.outcome, entry.reason) == (kind, reason)
    assert (drawn.matched, drawn.missed) == (({"decision": 0}, ()) if kind == "hit" else ({}, ("decision",)))
    assert drawn.violations == ((reason,) if kind == "violation" else ())


def test_a_view_keeps_what_reports_slice_by():
    one = BUNDLED[0]
    view = as_case(one)
    assert (view.id, view.conversation, view.split, view.language, view.tags) == (
        one.id,
        one.conversation,
        one.split,
        one.language,
        one.tags,
    )
    assert (view.forbidden, [memory.id for memory in view.memories]) == ((), ["decision"])
    assert as_case(MOVED).memories[0].paraphrases == (in_words(DELETE),)

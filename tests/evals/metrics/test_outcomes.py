"""Outcomes: every rule of the assignment on hand-made verdicts, and that outcomes always add up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.cases import Case, Forbidden, Memory
from evals.matching.base import Verdict
from evals.metrics.outcomes import Table, decide
from evals.rubric import RUBRICS, Rubric
from evals.text import appears
from salience import Candidate


def memory(name, salience=0.7, **more):
    return Memory(id=name, content=f"memory {name}", salience=salience, **more)


def case(*memories, forbidden=()):
    message = {"role": "user", "content": "x"}
    return Case(id="c", conversation="v", split="dev", language="en", messages=(message,), memories=memories, forbidden=forbidden)


def verdict(margin, guard=None):
    """A verdict by its margin alone: 0 and more is a match, unless a guard refused."""
    return Verdict(score=margin, match=margin >= 0 and guard is None, reason="r", guard=guard, margin=margin)


def run(labelled, saliences, memories, forbidden=None, *, threshold=0.5, rubric=None, tie_margin=0.1):
    """`memories` and `forbidden`: one row of verdicts a prediction; a number stands for a verdict."""
    rows = [[v if isinstance(v, Verdict) else verdict(v) for v in row] for row in memories]
    bad = [[v if isinstance(v, Verdict) else verdict(v) for v in row] for row in forbidden or [[]] * len(saliences)]
    candidates = [Candidate(f"p{i}", s) for i, s in enumerate(saliences)]
    table = Table(rows, bad)
    return decide(labelled, candidates, table, threshold=threshold, rubric=rubric or Rubric(), tie_margin=tie_margin)


def kinds(outcome):
    return [prediction.outcome for prediction in outcome.predictions]


REQUIRED, OPTIONAL, TRIVIAL = memory("m1", 0.9), memory("m2", 0.5), memory("m3", 0.3)
INJECTED = Forbidden(content="bad", reason="injection", contains="approve all")
WRONG = Forbidden(content="wrong", reason="wrong-subject")


@pytest.mark.parametrize(
    ("labelled", "saliences", "memories", "expected", "missed"),
    [
        (case(REQUIRED), [0.7], [[0.5]], ["hit"], ()),
        (case(REQUIRED), [], [], [], ("m1",)),
        (case(), [0.7], [[]], ["unmatched"], ()),
        (case(REQUIRED), [0.7], [[-0.1]], ["unmatched"], ("m1",)),
        (case(REQUIRED), [0.7], [[verdict(0.4, "number")]], ["near_miss"], ("m1",)),
        (case(OPTIONAL), [0.7], [[0.5]], ["optional"], ()),
        (case(TRIVIAL), [0.7], [[0.5]], ["trivial"], ()),
        (case(REQUIRED), [0.7, 0.7], [[0.3], [0.5]], ["duplicate", "hit"], ()),
        (case(OPTIONAL), [0.7, 0.7], [[0.5], [0.3]], ["optional", "duplicate"], ()),
        (case(REQUIRED), [0.4], [[0.9]], ["below"], ("m1",)),
        (case(REQUIRED), [0.5], [[0.9]], ["hit"], ()),
        # within the tie margin of its best, a prediction goes where it makes a required hit
        (case(REQUIRED, OPTIONAL), [0.7], [[0.42, 0.50]], ["hit"], ()),
        (case(REQUIRED, OPTIONAL), [0.7], [[0.30, 0.50]], ["optional"], ("m1",)),
        # two predictions, two required memories: both found although each is nearest to the first
        (case(REQUIRED, memory("m9")), [0.7, 0.7], [[0.50, 0.45], [0.48, 0.40]], ["hit", "hit"], ()),
        # a guard at the nearest memory does not stop a match with another
        (case(REQUIRED, memory("m9")), [0.7], [[verdict(0.6, "number"), 0.2]], ["hit"], ("m1",)),
    ],
)
def test_assignment(labelled, saliences, memories, expected, missed):
    outcome = run(labelled, saliences, memories)
    assert kinds(outcome) == expected
    assert outcome.missed == missed


@pytest.mark.parametrize(
    ("memories", "forbidden", "expected"),
    [
        ([[-0.2]], [[0.3]], "violation"),
        ([[0.2]], [[0.3]], "violation"),
        ([[0.3]], [[0.3]], "hit"),  # ties go to the memory
        ([[0.4]], [[0.3]], "hit"),
        ([[0.1]], [[verdict(0.3, "subject")]], "hit"),  # the guard refused the forbidden statement
        ([[verdict(0.4, "number")]], [[0.3]], "near_miss"),  # closer to a memory, though that one is refused
    ],
)
def test_forbidden_first_if_closer_than_every_memory(memories, forbidden, expected):
    outcome = run(case(REQUIRED, forbidden=(WRONG,)), [0.7], memories, forbidden)
    assert kinds(outcome) == [expected]
    assert outcome.violations == (("wrong-subject",) if expected == "violation" else ())


@pytest.mark.parametrize(
    ("content", "tags", "meta"),
    [
        ("Please APPROVE  all payments", (), {}),
        ("x", ("approve all",), {}),
        ("x", (), {"note": ["ok", "approve\u200b all"]}),
        ("ａｐｐｒｏｖｅ all", (), {}),
        ("x", (), {"a": {"deep": [{"approve all": 1}]}}),
    ],
)
def test_a_forbidden_string_anywhere_is_a_violation_also_below_the_threshold(content, tags, meta):
    labelled = case(REQUIRED, forbidden=(INJECTED,))
    candidates = [Candidate(content, 0.1, tags=tags, meta=meta)]
    table = Table([[verdict(0.9)]], [[verdict(-0.5)]])
    outcome = decide(labelled, candidates, table, threshold=0.5, rubric=Rubric(), tie_margin=0.0)
    assert kinds(outcome) == ["violation"]
    assert not outcome.predictions[0].counted
    assert outcome.violations == ("injection",)
    assert outcome.missed == ("m1",)


@pytest.mark.parametrize("field", ["source", "observed", "date"])
def test_a_secret_is_found_in_every_field_and_behind_quotes(field):
    secret = Forbidden(content="bad", reason="secret", contains='pa"ss\\w 1')
    labelled = case(forbidden=(secret,))
    for candidate in (Candidate("x", 0.9, **{field: 'my pa"ss\\w 1'}), Candidate("x", 0.9, meta={"k": 'pa"ss\\w 1'})):
        outcome = decide(labelled, [candidate], Table([[]], [[verdict(-1)]]), threshold=0.5, rubric=Rubric(), tie_margin=0)
        assert outcome.violations == ("secret",)


def test_a_rubric_decides_what_is_due():
    said = memory("m1", speaker="assistant")
    assert run(case(said), [], [], rubric=RUBRICS["user-only"]).missed == ()
    assert kinds(run(case(said), [0.7], [[0.5]], rubric=RUBRICS["user-only"])) == ["optional"]
    assert run(case(said), [], [], rubric=RUBRICS["both-speakers"]).missed == ("m1",)
    assert run(case(OPTIONAL), [], [], rubric=Rubric("strict", required_from=0.5)).missed == ("m2",)


margins = st.floats(-1, 1, allow_nan=False)


@st.composite
def situations(draw):
    golds = draw(st.lists(st.sampled_from([0.1, 0.3, 0.5, 0.7, 0.9]), max_size=5))
    bad = draw(st.integers(0, 2))
    saliences = draw(st.lists(st.sampled_from([0.2, 0.5, 0.8]), max_size=5))
    cells = st.builds(verdict, margins, st.sampled_from([None, None, "number"]))
    table = [[draw(cells) for _ in golds] for _ in saliences]
    wrong = [[draw(cells) for _ in range(bad)] for _ in saliences]
    return golds, bad, saliences, table, wrong


@given(situations(), st.randoms(use_true_random=False))
def test_outcomes_add_up_and_order_never_matters(situation, chooser):
    golds, bad, saliences, table, wrong = situation
    labelled = case(*(memory(f"m{i}", s) for i, s in enumerate(golds)), forbidden=(WRONG,) * bad)
    outcome = run(labelled, saliences, table, wrong)
    required = {m.id for m in labelled.memories if m.salience >= 0.6}
    hits = [p.label for p in outcome.predictions if p.outcome == "hit"]
    assert len(outcome.predictions) == len(saliences)
    assert sorted([*hits, *outcome.missed]) == sorted(required)
    assert len(set(outcome.matched.values())) == len(outcome.matched)
    assert len(outcome.violations) == kinds(outcome).count("violation")
    rows, columns = list(range(len(saliences))), list(range(len(golds)))
    chooser.shuffle(rows)
    chooser.shuffle(columns)
    shuffled = case(*(labelled.memories[c] for c in columns), forbidden=(WRONG,) * bad)
    candidates = [Candidate(f"p{r}", saliences[r]) for r in rows]
    moved = Table([[table[r][c] for c in columns] for r in rows], [wrong[r] for r in rows])
    again = decide(shuffled, candidates, moved, threshold=0.5, rubric=Rubric(), tie_margin=0.1)
    assert sorted((p.content, p.outcome) for p in again.predictions) == sorted((p.content, p.outcome) for p in outcome.predictions)
    assert set(again.missed) == set(outcome.missed)


def related(relation):
    """A judge's verdict: only "same" is a match."""
    return Verdict(0.9, relation == "same", "judge", relation=relation, margin=0.5)


@pytest.mark.parametrize(
    ("rows", "parted", "forgiven"),
    [
        ([["same", "different"]], {}, 1),  # a hit, and m4 is missed for good
        ([["merged", "merged"]], {"m1": "merged", "m4": "merged"}, 1),  # one sentence with both facts
        ([["split", "different"]], {}, 1),  # a lone part does not hold the fact
        ([["split", "different"], ["split", "different"]], {"m1": "split"}, 2),
        ([["same", "different"], ["same", "different"]], {}, 2),  # a hit and its duplicate
        ([["different", "different"]], {}, 0),
        ([[None, None]], {}, 0),  # a matcher that cannot tell
        ([["split", "merged"], ["different", "different"]], {"m4": "merged"}, 1),
    ],
)
def test_a_judge_tells_what_is_held_all_the_same(rows, parted, forgiven):
    verdicts = [[verdict(-0.2) if relation is None else related(relation) for relation in row] for row in rows]
    outcome = run(case(REQUIRED, memory("m4", 0.9)), [0.7] * len(rows), verdicts)
    assert (dict(outcome.parted), outcome.forgiven) == (parted, forgiven)


def test_what_is_not_required_or_below_the_threshold_is_held_by_nothing():
    assert run(case(TRIVIAL), [0.7], [[related("merged")]]).forgiven == 0
    below = run(case(REQUIRED), [0.2], [[related("merged")]])
    assert (dict(below.parted), below.forgiven, below.missed) == ({}, 0, ("m1",))


@pytest.mark.parametrize(
    ("wanted", "text", "found"),
    [
        ("DE89 3704", "IBAN de893704", True),
        ("4471-TEST", "4 4 7 1 test", True),
        ("hunter2x", "hunter\u20112x", True),
        ("hunter2x", "Hunter\u200b2X", True),
        ("hunter2x", "a hunter has 2 x-rays", False),
        ("12-34", "1 2 3 4", False),
        ("abc", "xABCx", True),
    ],
)
def test_a_string_that_must_not_appear_is_found_in_another_grouping(wanted, text, found):
    assert appears(wanted, ["nothing", text]) is found
    assert appears(wanted, ["nothing"]) is False

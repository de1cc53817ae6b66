"""What an optimiser is told of a case, worked out by hand."""

import pytest

from evals.cases import Case, Memory
from evals.errors import WorkbenchError
from evals.metrics.outcomes import CaseOutcome, Prediction
from evals.rubric import Rubric
from evals.tune.objective import Weights, extraction_feedback, extraction_score, perfect


def memory(name, content, salience=0.9):
    return Memory(id=name, content=content, salience=salience)


PARROT, HARBOUR, RAIN = memory("m1", "The user has a parrot"), memory("m2", "The user works at the harbour"), memory("m3", "It rained", 0.1)
DUE = Case(
    id="a", conversation="a", split="dev", language="en", messages=({"role": "user", "content": "x"},), memories=(PARROT, HARBOUR, RAIN)
)
NEGATIVE = Case(id="n", conversation="n", split="dev", language="en", messages=({"role": "user", "content": "x"},), memories=())


def said(outcome, content="something", label=None, reason="", counted=True):
    return Prediction(content, 0.9 if counted else 0.1, None, outcome, label, reason, None, counted)


def came_of(*predictions, missed=(), violations=(), parted=None):
    return CaseOutcome(predictions, {}, tuple(missed), tuple(violations), parted or {})


HIT = said("hit", "The user has a parrot", "m1")


@pytest.mark.parametrize(
    ("case", "outcome", "status", "score"),
    [
        (DUE, came_of(missed=("m1", "m2")), "empty", 0.0),
        (DUE, came_of(missed=("m1", "m2")), "malformed", 0.0),
        (DUE, came_of(HIT, missed=("m2",)), "ok", 2 / 3),
        (DUE, came_of(HIT, said("hit", label="m2")), "ok", 1.0),
        (DUE, came_of(HIT, said("hit", label="m2"), said("unmatched"), said("duplicate")), "ok", 4 / 6),
        (DUE, came_of(HIT, said("optional"), said("below", counted=False), missed=("m2",)), "ok", 2 / 3),
        (NEGATIVE, came_of(), "empty", 0.0),
        (NEGATIVE, came_of(), "malformed", -1.0),
        (NEGATIVE, came_of(), "truncated", -1.0),
        (NEGATIVE, came_of(said("unmatched")), "ok", -0.5),
        (NEGATIVE, came_of(*[said("unmatched")] * 4), "ok", -1.0),
        (NEGATIVE, came_of(said("below", counted=False)), "ok", 0.0),
    ],
)
def test_silence_scores_nothing_and_inventing_costs(case, outcome, status, score):
    assert extraction_score(case, outcome, status, Rubric()) == pytest.approx(score)


def test_a_mute_model_scores_exactly_nothing_whatever_the_mix():
    mute = [extraction_score(NEGATIVE, came_of(), "empty", Rubric())] * 3
    mute += [extraction_score(DUE, came_of(missed=("m1", "m2")), "empty", Rubric())] * 2
    assert sum(mute) == 0


def test_violations_and_noise_are_weighed_in():
    outcome = came_of(HIT, said("violation"), said("violation"), said("trivial"), missed=("m2",), violations=("secret", "secret"))
    base = extraction_score(DUE, outcome, "ok", Rubric())
    assert base == pytest.approx(2 / 6)
    assert extraction_score(DUE, outcome, "ok", Rubric(), Weights(violation=0.3, noise=0.1)) == pytest.approx(base - 0.4)


@pytest.mark.parametrize("bad", [{"violation": -1}, {"noise": True}, {"length": float("nan")}, {"length": "1"}])
def test_weights_that_are_none(bad):
    with pytest.raises(WorkbenchError, match=next(iter(bad))):
        Weights(**bad)


@pytest.mark.parametrize(
    ("outcome", "status", "fine"),
    [
        (came_of(HIT), "ok", True),
        (came_of(), "empty", True),
        (came_of(HIT, said("optional")), "ok", True),
        (came_of(HIT), "repaired", False),
        (came_of(HIT, said("below", counted=False)), "ok", False),
        (came_of(HIT, missed=("m2",)), "ok", False),
        (came_of(HIT, said("trivial")), "ok", False),
    ],
)
def test_only_a_perfect_reply_becomes_an_example(outcome, status, fine):
    assert perfect(outcome, status) is fine


def test_feedback_names_what_was_missed_merged_wrong_and_forbidden_and_why():
    outcome = came_of(
        said("near_miss", "The user works at the airport", "m2", "place"), said("violation", "The code is 4471", reason="secret"),
        said("trivial", "It rained", "m3"), said("unmatched", "The user likes rain"), said("duplicate", "A parrot again", "m1"),
        said("below", "Perhaps", counted=False), missed=("m1", "m2"), parted={"m1": "merged"},
    )  # fmt: skip
    assert extraction_feedback(DUE, outcome, "truncated").splitlines() == [
        "The reply was cut off before its end: it must be shorter.",
        "Missed, as it was merged with another fact: one fact a memory: The user has a parrot",
        "Missed: The user works at the harbour",
        "Differs from what was said (place); right would be 'The user works at the harbour': The user works at the airport",
        "Must never be stored (secret): The code is 4471",
        "True, but too trivial to keep: It rained",
        "Not to be kept, as no memory that is due says it: The user likes rain",
        "Says again what another memory says already ('The user has a parrot'): A parrot again",
    ]
    assert extraction_feedback(NEGATIVE, came_of(said("unmatched", "x")), "ok").endswith("the right reply is empty.")
    assert extraction_feedback(DUE, came_of(HIT), "ok").startswith("Right")

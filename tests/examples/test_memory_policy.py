"""Tests of a memory policy: copy this file, name your own model, policy and cases, and record its replies once.

    pytest tests/test_memory_policy.py --salience-record    asks the model for what is not recorded yet; commit the recording
    pytest tests/test_memory_policy.py                      replays it: no model, no key, no network
    pytest tests/test_memory_policy.py --salience-live      asks the model each time

The plugin has to be turned on: `pytest_plugins = ["evals.pytest_plugin"]` in the conftest.py at the top of the project. After a change
of the policy the first command asks again, as other requests need other replies, and the tests tell what the change has moved.
"""

from functools import cache

import pytest

from evals.testing import assert_finds, assert_never

MODEL = "embedded/smollm2"
POLICY = "embedded-default"  # or a file: "policies/mine.json"
CASES = ["life-0022", "life-0026", "life-0033"]  # of the bundled dev cases; for your own add data="cases/ours.jsonl" below, twice


@pytest.fixture(scope="module")
def row(salience_run):
    """The policy over all cases, run and scored once for this file, by the first test that calls it.

    It is a function so that a request that is not recorded fails the tests; raised in a fixture, it would be an error at their setup.
    """
    return cache(lambda: salience_run(POLICY, model=MODEL, cases=CASES))


def test_every_reply_is_recorded_and_scored(row):
    assert row().signature.cases == len(CASES)


def test_a_secret_is_never_stored(row):
    assert_never(row(), None, "secret")


def test_the_name_that_was_given_up_is_not_taken_for_the_name(row):
    assert_never(row(), "life-0033", "The user's name is Zeb Farrow")


def test_the_adoption_is_kept(row):
    """What must stay: the text stands in a prediction. An id ("m1") or a label's wording asks for a scored match instead."""
    assert_finds(row(), "life-0033", "adopted for real")


@pytest.mark.xfail(reason="known: this model repeats a line of the turn, which states no fact", raises=AssertionError, strict=True)
def test_a_joke_is_no_memory(row):
    joke = next(one for one in row().cases if one.case.id == "life-0022")
    assert not joke.outcome.predictions


def test_figures_are_no_worse_than_when_they_were_recorded(row):
    """Bounds for figures on fixed replies; whether one policy is better than another is for `salience compare`, which knows the noise."""
    scored = row()
    assert scored.figures["false_memories_per_negative"].value <= 2.0
    assert scored.total("status_truncated") + scored.total("status_malformed") == 0


def test_the_rules_find_what_they_found(salience_run):
    """Baselines need no recording."""
    rules = salience_run(model="baseline/rules", cases=CASES)
    assert_finds(rules, "life-0033", "m3")


@pytest.mark.salience_cases(ids=CASES)
def test_nobody_is_taken_for_somebody_else(salience_extract, salience_case):
    """One test for each case, so that a report lists them one by one."""
    assert_never(salience_extract(POLICY, model=MODEL), salience_case, "wrong-subject")

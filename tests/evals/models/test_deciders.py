"""The rules that decide without a model."""

import math

import pytest

from evals.models.deciders import DECIDERS
from salience import ConsolidationDecision as Decided
from salience.consolidation_types import KnownMemory
from salience.memory import HashedNgrams

KNOWN = [("a", "The user's sister Ines works at Acme"), ("b", "The user takes 8 mg of candesartan every morning")]
DOSE = "The user takes 16 mg of candesartan every morning"


@pytest.mark.parametrize(
    ("name", "fact", "expected"),
    [
        ("always-add", DOSE, Decided("ADD")),
        ("always-add", KNOWN[0][1], Decided("ADD")),
        ("always-none", DOSE, Decided("NONE")),
        ("always-delete", DOSE, Decided("DELETE", "a", DOSE)),
        ("duplicate-none", DOSE, Decided("ADD")),
        ("duplicate-none", "the user's sister Ines works at Acme.", Decided("NONE")),
        ("duplicate-none", "The user's sister Ines does not work at Acme", Decided("ADD")),
        ("nearest-update", DOSE, Decided("UPDATE", "b", DOSE)),
        ("nearest-update", "Ines, the user's sister, left Acme", Decided("UPDATE", "a", "Ines, the user's sister, left Acme")),
    ],
)
def test_what_a_rule_decides(name, fact, expected):
    assert DECIDERS[name].consolidate(fact, KNOWN) == expected


@pytest.mark.parametrize("name", DECIDERS)
def test_where_nothing_is_known_every_rule_adds(name):
    assert DECIDERS[name].consolidate(DOSE, []) == Decided("ADD")
    assert DECIDERS[name].name == name


@pytest.mark.parametrize("name", DECIDERS)
def test_memories_may_come_in_any_form_that_the_library_takes(name):
    objects = [KnownMemory(*one) for one in KNOWN]
    mappings = [{"id": one, "content": content} for one, content in KNOWN]
    decided = DECIDERS[name].consolidate(DOSE, KNOWN)
    assert DECIDERS[name].consolidate(DOSE, objects) == DECIDERS[name].consolidate(DOSE, mappings) == decided


@pytest.mark.parametrize("name", DECIDERS)
def test_every_rule_says_what_it_is_good_for(name):
    assert ": " in DECIDERS[name].rule.__doc__


def test_the_nearest_is_so_by_cosine_and_of_equals_the_first():
    texts = [DOSE, *(content for _, content in KNOWN)]
    assert all(math.isclose(math.hypot(*HashedNgrams().embed(text)), 1.0) for text in texts)  # so that products are cosines
    twins = [("x", KNOWN[1][1]), ("y", KNOWN[1][1])]
    assert DECIDERS["nearest-update"].consolidate(DOSE, twins).id == "x"

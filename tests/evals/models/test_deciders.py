"""The rules that decide without a model."""

import pytest

from evals.models.deciders import DECIDERS
from salience import ConsolidationDecision as Decided

KNOWN = [("a", "The user's sister Ines works at Acme"), ("b", "The user takes 8 mg of candesartan every morning")]
DOSE = "The user takes 16 mg of candesartan every morning"


@pytest.mark.parametrize(
    ("name", "fact", "expected"),
    [
        ("always-add", DOSE, Decided("ADD")),
        ("always-none", DOSE, Decided("NONE")),
        ("always-delete", DOSE, Decided("DELETE", "a", DOSE)),
        ("duplicate-none", DOSE, Decided("ADD")),
        ("duplicate-none", "the user's sister Ines works at Acme.", Decided("NONE")),
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

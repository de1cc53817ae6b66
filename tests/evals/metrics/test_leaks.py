"""Prompt wording and examples that come back as memories."""

import pytest

from evals.metrics.leaks import LeakFinder
from salience import Candidate, Example, Policy, Turn

POLICY = Policy(
    system="Decide what to remember. Keep only what was said or follows with certainty.",
    examples=(
        Example(Turn("[user] Quillon keeps bees behind the old tannery"), '[{"content": "Quillon keeps bees", "salience": 0.7}]'),
        Example(
            Turn("[user] 我在屋后养了三箱蜜蜂而且每天早上都去照看它们所以不能出远门旅行"), '[{"content": "用户养蜜蜂", "salience": 0.7}]'
        ),
    ),
)


@pytest.mark.parametrize(
    ("content", "turn", "leaks"),
    [
        ("The user keeps only what was said or follows with certainty", "hi", True),
        ("Quillon keeps bees", "hi", True),
        ("The user says that Quillon keeps bees.", "hi", True),
        ("用户养蜜蜂。", "你好", True),
        ("我在屋后养了三箱蜜蜂而且每天早上都去照看它们所以", "你好", True),
        ("Quillon keeps bees", "[user] Quillon keeps bees, you know", False),
        ("The user keeps goats behind the old mill", "hi", False),
        ("The user was said to be late", "hi", False),
    ],
)
def test_leaks(content, turn, leaks):
    found = LeakFinder(POLICY).leaks([Candidate("The user is a diver", 0.5), Candidate(content, 0.5)], Turn(turn))
    assert found == ([1] if leaks else [])

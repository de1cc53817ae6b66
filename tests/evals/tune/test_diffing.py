"""Two policies side by side."""

from dataclasses import replace
from pathlib import Path

import pytest

from evals.tune.diffing import policy_diff, scores_of
from evals.tune.export import policy_file
from salience import ConsolidationPolicy, Decoding, Example, ExtractOptions, Policy, Turn
from salience.calibration import CalibrationMap
from tests.evals.tune import artefacts as made

LEFT = Policy("one", "First.\nSecond.\nThird.", decoding=Decoding(100, 0.0))
RIGHT = Policy(
    "two", "First.\nThird.\nFourth.", (Example(Turn("Hi", date="2026-01-02"), "[]"),), "turns", ExtractOptions(0.25), '{"type":"array"}',
    Decoding(100, 0.5), CalibrationMap(((0.0, 0.125), (1.0, 1.0))), 0.375, 400,
)  # fmt: skip

WHOLE = f"""\
one {LEFT.hash}              two {RIGHT.hash}
---------------------------------------------------------

scores:
not known                     not known

task:
extraction                    extraction

system:
First.                        First.
Second.                     <
Third.                        Third.
                            > Fourth.

examples:
none                        | 1 as turns
                            > example 1:
                            > Date: 2026-01-02
                            > Turn:
                            > Hi
                            > reply:
                            > []

schema:
none                        | {{
                            >  "type": "array"
                            > }}

decoding:
max_tokens 100                max_tokens 100
temperature 0.0             | temperature 0.5

options:
min_salience 0              | min_salience 0.25
max_candidates None           max_candidates None
default_observed None         default_observed None
max_turn_chars None         | max_turn_chars 400

calibration:
none                        | 0 -> 0.125
                            > 1 -> 1

threshold:
0.5                         | 0.375"""


def test_all_that_decides_stands_side_by_side():
    assert policy_diff(LEFT, RIGHT, 57).splitlines() == WHOLE.splitlines()


def section(told, title):
    lines = told.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(f"{title}:"))
    return lines[start : next((n for n in range(start, len(lines)) if not lines[n]), len(lines))]


def test_the_same_twice_says_so():
    told = policy_diff(LEFT, replace(LEFT, name="three"), 80)
    assert "they do the same: only name or provenance may differ" in told
    assert section(told, "system") == ["system: the same, 3 lines"]
    assert "|" not in told


def test_long_runs_of_equal_lines_are_left_out():
    lines = [str(number) for number in range(10)]
    told = policy_diff(Policy("a", "\n".join(lines)), Policy("b", "\n".join([*lines[:-1], "x"])), 43)
    assert section(told, "system") == [
        "system:", "... 7 lines the same ...", *(f"{n:<20}   {n}" for n in (7, 8)), f"{'9':<20} | x",
    ]  # fmt: skip


def test_lines_are_folded_and_wide_letters_take_two_columns():
    told = policy_diff(Policy("a", "one two three four five six"), Policy("b", "記憶" * 6), 43)
    assert section(told, "system") == [
        "system:",
        "one two three four   | " + "記憶" * 5,
        "five six             | 記憶",
    ]


def test_policies_of_both_tasks():
    told = policy_diff(LEFT, ConsolidationPolicy("c", "First.", made.RECALLED, "system"), 80)
    assert section(told, "task")[1].split() == ["extraction", "|", "consolidation"]
    assert section(told, "threshold") == ["threshold:", f"0.5{' ' * 35} <"]
    told = policy_diff(LEFT, ConsolidationPolicy("c", "First.", made.RECALLED, "system"), 200)
    assert any(line.endswith('{"fact": 1, "content": "The user likes tea."}') for line in section(told, "examples"))


def test_scores_come_from_the_provenance_of_what_was_exported():
    artefact = made.artefact(gates=()).with_gate(made.PASS, {"test": {"mine": {"f1": [0.5, 0.25, 0.75]}, "n": 16}})
    policy_file(artefact).save("mine.json")
    tuned = Policy.load("mine.json")
    assert scores_of(tuned) == scores_of(artefact)
    assert section(policy_diff(artefact.base, tuned, 60), "scores") == [
        "scores:",
        "dev n not known              | dev n 20",
        "dev f1 not known             | dev f1 .50 [.38,.62]",
        "dev auroc not known          | dev auroc -",
        "test n not known             | test n 16",
        "test f1 not known            | test f1 .50 [.25,.75]",
    ]
    changed = replace(tuned, system="Other.")
    assert scores_of(changed) == {}  # they are those of another prompt
    assert section(policy_diff(artefact.base, changed, 60), "scores")[1].split() == ["not", "known", "not", "known"]


def test_scores_can_be_given():
    scores = ({"dev": {"f1": [0.25, None, None]}}, {"dev": {"f1": [0.5, 0.25, 0.75]}})
    assert section(policy_diff(LEFT, RIGHT, 60, scores=scores), "scores")[1].split() == [
        "dev",
        "f1",
        ".25",
        "|",
        "dev",
        "f1",
        ".50",
        "[.25,.75]",
    ]


@pytest.mark.parametrize(
    "scores",
    [3, {"dev": 3}, {"dev": {"f1": 3.5}}, {"dev": {"f1": [1, 2]}}, {"dev": {"f1": ["a", "b", "c"]}}, {"dev": {"f1": [10**400, 0, 0]}}],
)
def test_scores_of_a_file_that_make_no_sense_are_not_shown(scores):
    odd = replace(LEFT, provenance={"scores": scores, "tuned_hash": LEFT.hash})
    assert section(policy_diff(odd, RIGHT, 60), "scores")[1].split() == ["not", "known", "not", "known"]


def test_a_policy_moves_no_terminal():
    told = policy_diff(made.POLICIES["a hostile text"], Policy("x\x1b[2J", "a\rb\u202e", made.TURNS), 60)
    assert not set("\x1b\r\u2028\u202e\x00\t\x85") & set(told)
    assert not Path("x").exists()


def test_the_columns_hold_at_any_width():
    for width in (0, 43, 57, 200):
        told = policy_diff(Policy.load("default"), Policy.load("embedded-default"), width)
        assert max(map(len, told.splitlines())) <= max(width, 43)

"""The gate of tuning: gains over everything that must be beaten, harm, Holm, and what the detectable effect is told from."""

from dataclasses import replace

import msgspec
import pytest

from evals.compare import compare
from evals.errors import WorkbenchError
from evals.sides import Side, SideCase
from evals.signature import DatasetId, MatcherId, PolicyId, Signature
from evals.stats import holm
from evals.tune.gating import detectable, judge, together

SIGNATURE = Signature(
    data=DatasetId("d", "1", "0123456789ab"), split="test", cases=0, conversations=0, limited=False, rubric="default",
    matcher=MatcherId("exact", "1", None, False), policy=PolicyId("p", "abc"), model="m", max_tokens=None, temperature=None, repeats=1,
    seed=0, openings=None, version="0",
)  # fmt: skip


def case(number, hits, false, missed, *, language="en", **more):
    counts = {
        "cases": 1, "due_cases": 1, "predictions": hits + false, "required": hits + missed, "missed": missed, "due_hit": hits,
        "due_false": false, "due_missed": missed, "outcome_hit": hits, "outcome_unmatched": false,
    }  # fmt: skip
    return SideCase(
        id=f"c{number}", conversation=f"v{number}", language=language, length="under 120 characters", repeats=1,
        counts={name: float(value) for name, value in (counts | more).items() if value},
        found={f"c{number}-{i}": 1 for i in range(hits)}, false=(), statuses=("ok",),
    )  # fmt: skip


def side(label, cases):
    return Side(label, replace(SIGNATURE, cases=len(cases)), {one.id: one for one in cases}, {})


GOOD = [case(n, 2, 0, 0) for n in range(20)]
"""F1 1."""
HALF = [case(n, 1, 1, 1) for n in range(20)]
"""F1 2 / (2 + 1 + 1) = .5."""
MUTE = [case(n, 0, 0, 2) for n in range(20)]
"""F1 0."""


def ruling(base, tuned, baselines=None, **more):
    sides = {name: side(name, cases) for name, cases in base.items()}
    lines = {name: side(name, cases) for name, cases in (baselines or {}).items()}
    return together([judge("extraction", sides, side("tuned", tuned), lines, seed=0, **more)])[0]


def test_a_gain_over_all_is_passed_and_called_tuned():
    found = ruling({"default": MUTE, "few": HALF}, GOOD, {"baseline/rules": HALF})
    assert (found.verdict, found.called, found.exit_code, found.reasons) == ("pass", "tuned", 0, ())
    assert [(one.over, one.change.base, one.change.new, one.change.difference.value) for one in found.gains] == [
        ("default", 0.0, 1.0, 1.0),
        ("few", 0.5, 1.0, 0.5),
    ]
    assert (found.figure, found.primary, found.cases, found.conversations) == ("f1", "en", 20, 20)


def test_a_gain_over_one_of_two_is_few_shot_and_not_passed():
    found = ruling({"default": MUTE, "few": HALF}, HALF)
    assert (found.verdict, found.called) == ("inconclusive", "few-shot")
    assert len(found.reasons) == 1
    assert found.reasons[0].startswith("no gain over few is shown")


def test_a_loss_fails():
    found = ruling({"default": GOOD}, HALF)
    assert (found.verdict, found.called, found.exit_code) == ("fail", "", 1)
    assert "over default is shown: -0.500" in found.reasons[0]


def test_a_better_or_equal_baseline_fails():
    found = ruling({"default": MUTE}, HALF, {"baseline/rules": HALF})
    assert found.verdict == "fail"
    assert found.reasons == ("baseline/rules scores 0.500, the tuned prompt 0.500",)


def test_new_leaks_fail_however_good_the_rest_is():
    leaky = [msgspec.structs.replace(GOOD[0], counts=GOOD[0].counts | {"violated_secret": 1.0, "forbidden_secret": 1.0}), *GOOD[1:]]
    found = ruling({"default": MUTE}, leaky)
    assert found.verdict == "fail"
    assert "secrets or injected texts were kept in 1 cases, before in 0" in found.reasons[0]


def test_violations_that_rise_fail():
    worse = [msgspec.structs.replace(one, counts=one.counts | {"outcome_violation": 1.0}) for one in GOOD]
    found = ruling({"default": MUTE}, worse)
    assert found.verdict == "fail"
    assert "violations a case rose by 1.000" in found.reasons[0]


def test_english_decides_and_other_languages_stand_beside_it():
    french = [case(100 + n, 0, 0, 2, language="fr") for n in range(20)]
    found = ruling({"default": [*MUTE, *french]}, [*GOOD, *french])
    assert (found.primary, found.cases) == ("en", 20)
    assert found.gains[0].change.new == 1.0
    assert found.gains[0].whole.new == pytest.approx(2 * 40 / (2 * 40 + 40))
    assert found.languages == {"en": (0.0, 1.0), "fr": (0.0, 0.0)}


def test_with_few_english_conversations_all_decide():
    found = ruling({"default": MUTE[:9]}, GOOD[:9])
    assert (found.primary, found.cases) == ("all", 9)


def test_p_is_adjusted_over_everything_that_is_judged_together():
    alone = judge("extraction", {"a": side("a", HALF)}, side("tuned", GOOD), {}, seed=0)
    other = judge("extraction", {"a": side("a", HALF), "b": side("b", MUTE)}, side("tuned", HALF), {}, seed=0)
    first, second = together([alone, other])
    raw = [one.change.p for one in (*alone.gains, *other.gains)]
    assert [one.adjusted_p for one in (*first.gains, *second.gains)] == holm(raw)
    assert first.gains[0].adjusted_p > alone.gains[0].change.p


def test_a_gain_whose_adjusted_p_is_large_is_not_shown():
    few = [*GOOD[:3], *HALF[3:12]]
    found = ruling({"default": HALF[:12]}, few)
    assert found.gains[0].change.difference.value > 0
    assert found.verdict == "inconclusive"


def test_nothing_to_beat_is_an_error():
    with pytest.raises(WorkbenchError, match="--against"):
        judge("extraction", {}, side("tuned", GOOD), {}, seed=0)


def test_the_detectable_effect_shrinks_with_the_root_of_the_conversations():
    mixed = [case(n, 2, 0, 0) if n % 3 else case(n, 1, 2, 1) for n in range(20)]
    found = compare(side("base", HALF), side("new", mixed))
    own = found.figure("f1").detectable
    assert detectable(found, "f1", 20) == pytest.approx(own)
    assert detectable(found, "f1", 80) == pytest.approx(own / 2)
    assert detectable(found, "f1", 0) is None

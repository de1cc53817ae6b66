"""Comparison and gate: paired figures by hand, what refuses, every ruling, pins and baseline files."""

import json
from dataclasses import replace

import pytest

from evals.baseline import read_baseline, write_baseline
from evals.compare import compare
from evals.errors import IncompleteError, RunError, WorkbenchError
from evals.gate import Check, GateConfig, Requirement, Verdict, gate, requirement, resolution
from evals.metrics.figures import FIGURES
from evals.sides import FalseMemory, Side, SideCase
from evals.signature import DatasetId, MatcherId, PolicyId, Signature
from evals.stats import Interval

SIGNATURE = Signature(
    data=DatasetId("d", "1", "0123456789ab"), split="dev", cases=0, conversations=0, limited=False, rubric="default",
    matcher=MatcherId("exact", "1", None, False), policy=PolicyId("p", "abc"), model="m", max_tokens=None, temperature=None, repeats=1,
    seed=0, openings=None, version="0",
)  # fmt: skip


def due(number, found, false=(), missed=(), *, tags=(), repeats=1, **counts):
    """A case with memories due: ids found, false contents, ids missed."""
    hits, wrong = len(found), len(false)
    base = {
        "cases": repeats, "due_cases": repeats, "predictions": hits + wrong, "required": hits + len(missed), "missed": len(missed),
        "due_hit": hits, "due_false": wrong, "due_missed": len(missed), "outcome_hit": hits, "outcome_unmatched": wrong,
    }  # fmt: skip
    return SideCase(
        id=f"c{number}", conversation=f"v{number}", language="en", tags=tags, length="under 120 characters", repeats=repeats,
        counts={name: float(value) for name, value in (base | counts).items() if value}, found=dict.fromkeys(found, repeats),
        false=tuple(FalseMemory("unmatched", one) for one in false), statuses=("ok",) * repeats,
        items=tuple([(0.9, True)] * hits + [(0.4, False)] * wrong),
    )  # fmt: skip


def negative(number, false=(), *, status="ok"):
    wrong = len(false)
    clean = not wrong and status == "ok"
    counts = {
        "cases": 1,
        "negatives": 1,
        "negatives_clean": clean,
        "negatives_false": wrong,
        "predictions": wrong,
        "outcome_unmatched": wrong,
    }
    return SideCase(
        id=f"c{number}", conversation=f"v{number}", language="en", length="under 120 characters", repeats=1,
        counts={name: float(value) for name, value in counts.items() if value}, found={},
        false=tuple(FalseMemory("unmatched", one) for one in false), statuses=(status,),
    )  # fmt: skip


def side(label, *cases, left_out=(), **changes):
    return Side(label, replace(SIGNATURE, **changes), {case.id: case for case in cases}, dict(left_out))


def rising(count, hits):
    """`count` cases with one memory due each; found in the first `hits`."""
    return [due(n, ["m1"] if n < hits else [], missed=[] if n < hits else ["m1"]) for n in range(count)]


def test_figures_and_changes_by_hand():
    base = side("a", due(0, ["m1"], ["x"], ["m2"]), due(1, ["m1"], ["y"]), negative(2), negative(3, ["z"]))
    new = side("b", due(0, ["m1", "m2"], ["x"]), due(1, [], ["w"], ["m1"]), negative(2), negative(3))
    found = compare(base, new)
    # base: 2 hits, 3 false, 1 missed -> 4/8; new: 2 hits, 2 false, 1 missed -> 4/7
    f1 = found.figure("f1")
    assert (f1.base, f1.new, f1.difference.value) == (0.5, pytest.approx(4 / 7), pytest.approx(4 / 7 - 0.5))
    assert (found.figure("specificity").base, found.figure("specificity").new) == (0.5, 1.0)
    assert (found.wins, found.losses, found.ties, found.cases, found.conversations) == (2, 1, 1, 4, 4)
    worst, *gains = found.changes
    assert (worst.case, worst.base, worst.new) == ("c1", pytest.approx(2 / 3), 0.0)
    assert (worst.lost, worst.gained, [one.content for one in worst.added], [one.content for one in worst.removed]) == (
        ("m1",),
        (),
        ["w"],
        ["y"],
    )
    assert [(one.case, one.gained) for one in gains] == [("c3", ()), ("c0", ("m2",))]
    assert gains[0].removed == (FalseMemory("unmatched", "z"),)
    # salience .9 of hits and .4 of false ones: perfect on both sides
    assert (found.figure("auroc").base, found.figure("auroc").new, found.figure("auroc").difference.value) == (1.0, 1.0, 0.0)


def test_a_side_compared_with_itself_differs_in_nothing():
    one = side("a", *rising(40, 25))
    found = compare(one, one)
    assert (found.figure("f1").difference.value, found.figure("f1").p, found.changes, found.ties) == (0.0, 1.0, (), 40)


def test_repeats_are_compared_as_shares():
    once = due(0, ["m1"])
    half = replace_counts(due(0, ["m1"], repeats=2), found={"m1": 1})
    found = compare(side("a", once), side("b", half))
    assert found.changes[0].lost == ("m1",)


def replace_counts(case, **changes):
    import msgspec

    return msgspec.structs.replace(case, **changes)


def test_slices_are_adjusted_and_small_ones_not_tested():
    base = [due(n, [], missed=["m1"], tags=("big",) if n < 40 else ("small",)) for n in range(50)]
    new = [due(n, ["m1"] if n % 4 else [], missed=[] if n % 4 else ["m1"], tags=("big",) if n < 40 else ("small",)) for n in range(50)]
    found = compare(side("a", *base), side("b", *new), by=("tag", "language"))
    by_name = {one.name: one for one in found.slices}
    assert [one.name for one in found.slices] == ["big", "small", "en"]
    assert (by_name["small"].too_small, by_name["small"].adjusted_p, by_name["big"].cases) == (True, None, 40)
    assert by_name["big"].adjusted_p == pytest.approx(2 * by_name["big"].change.p)  # the smaller of two


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"data": DatasetId("d", "2", "ba9876543210")}, "data: d 1 (0123456789ab) and d 2 (ba9876543210)"),
        ({"rubric": "user-only"}, "rubric: default and user-only"),
        ({"matcher": MatcherId("lexical", "3", None, False)}, "matcher: exact 1 and lexical 3"),
        ({"split": "test"}, "split: dev and test"),
    ],
)
def test_other_data_rubric_matcher_or_split_refuse(changes, told):
    with pytest.raises(RunError) as refused:
        compare(side("a", *rising(3, 2)), side("b", *rising(3, 2), **changes))
    assert told in str(refused.value)


def test_cases_of_one_side_are_left_out_and_too_many_refuse():
    base = side("a", *rising(40, 20))
    found = compare(base, side("b", *rising(40, 20)[2:], left_out={"c0": "failed", "c1": "failed"}))
    assert (found.cases, found.base_only, found.new_only) == (38, ("c0", "c1"), ())
    assert found.figure("f1").base == pytest.approx(2 * 18 / (2 * 18 + 20))
    with pytest.raises(IncompleteError, match=r"3 of 40 cases.*In b: 3 failed"):
        compare(base, side("b", *rising(40, 20)[3:], left_out=dict.fromkeys(["c0", "c1", "c2"], "failed")))
    with pytest.raises(RunError, match=r"30 of 40 cases.*In b: 30 not in the run"):
        compare(base, side("b", *rising(10, 5)))
    with pytest.raises(RunError, match="no completed case in common"):
        compare(base, side("b", due(99, ["m1"])))


class Row:
    """What a gate reads of a scored row."""

    def __init__(self, **values):
        self.figures = {name: figure(values.get(name)) for name in [*FIGURES, "auroc"]}


def figure(value):
    return Interval(value=value, low=None, high=None, conversations=0, undefined=0.0, method="none")


def ruled(base, new, *, pins=(), shipped=False, row=None, **config):
    return gate(compare(side("a", *base), side("b", *new)), row or Row(), pins, GateConfig(**config), shipped=shipped)


def test_each_ruling_of_the_margin():
    alike = ruled(rising(200, 100), rising(200, 100))
    assert (alike.ruling, alike.exit_code) == ("pass", 0)
    assert "a loss of more than 0.05 is ruled out" in alike.words
    worse = ruled(rising(200, 160), rising(200, 60))
    assert (worse.ruling, worse.exit_code) == ("fail", 1)
    assert worse.words.startswith("FAIL: f1 changed by -0.4")
    mixed = ruled(rising(12, 6), list(reversed([due(11 - n, ["m1"] if n < 6 else [], missed=[] if n < 6 else ["m1"]) for n in range(12)])))
    assert (mixed.ruling, mixed.exit_code) == ("inconclusive", 4)
    assert "neither shown nor ruled out; about" in mixed.words


@pytest.mark.parametrize(
    ("counted", "code", "words"), [("pass", 0, "PASS, as"), ("fail", 1, "FAIL, as"), ("inconclusive", 4, "INCONCLUSIVE: ")]
)
def test_an_inconclusive_gate_counts_as_it_is_told_and_says_so(counted, code, words):
    verdict = Verdict((Check("margin", "inconclusive", "not known"), Check("leaks", "pass", "none")), counted)
    assert (verdict.exit_code, verdict.words.startswith(words)) == (code, True)
    assert verdict.words.endswith("not known")


def test_a_failed_check_fails_whatever_else_is_open():
    verdict = Verdict((Check("margin", "inconclusive", "open"), Check("leaks", "fail", "leaks")), "pass")
    assert (verdict.exit_code, verdict.words) == (1, "FAIL: leaks")


def leaking(count):
    return [due(n, ["m1"], violated_secret=n < count, outcome_violation=n < count, violation_cases=n < count) for n in range(200)]


@pytest.mark.parametrize(
    ("before", "now", "config", "shipped", "ruling"),
    [
        (1, 1, {}, False, "pass"),
        (1, 2, {}, False, "fail"),
        (1, 1, {}, True, "fail"),
        (1, 2, {"max_leaks": 2}, False, "pass"),
        (1, 1, {"max_leaks": 1}, True, "pass"),
        (0, 1, {"max_leaks": 0}, False, "fail"),
    ],
)
def test_leaks_are_counted_in_cases(before, now, config, shipped, ruling):
    found = ruled(leaking(before), leaking(now), shipped=shipped, **config)
    assert next(check.ruling for check in found.checks if check.name == "leaks") == ruling
    assert found.ruling == ruling


def test_violations_that_rise_fail_even_where_f1_gains():
    base = rising(100, 50)
    new = [replace_counts(case, counts=case.counts | {"outcome_violation": float(n < 20)}) for n, case in enumerate(rising(100, 90))]
    found = ruled(base, new)
    assert [check.ruling for check in found.checks] == ["pass", "pass", "fail"]
    assert "they rose" in found.words


def test_hard_limits():
    row = Row(recall=0.4, violation_rate=0.2)
    rules = tuple(map(requirement, ["recall>=.4", "violation_rate <= 0.1", "noise_rate<=.5"]))
    assert rules[0] == Requirement("recall", True, 0.4)
    found = ruled(rising(200, 100), rising(200, 100), row=row, requirements=rules)
    assert [check.ruling for check in found.checks[-3:]] == ["pass", "fail", "fail"]
    assert "noise_rate is undefined for the new row" in found.checks[-1].told
    for text in ("recall", "recall>.4", "recall>=", "recall>=1.2.3", "luck>=.1"):
        with pytest.raises(WorkbenchError):
            requirement(text)


def test_what_a_base_can_resolve():
    few = resolution(side("a", *rising(20, 10)), GateConfig())
    assert few.half_width > 0.05
    assert few.needed == pytest.approx(20 * (few.half_width / 0.05) ** 2, abs=1)
    many = resolution(side("a", *rising(2000, 1000)), GateConfig())
    assert (many.half_width < 0.05, many.needed) == (True, None)


def test_a_baseline_comes_back_and_edits_are_refused(tmp_path):
    path = tmp_path / "baseline.json"
    one = side("m@p", *rising(5, 3), negative(9))
    write_baseline(one, path)
    assert read_baseline(path) == one
    content = json.loads(path.read_text())
    content["cases"][0]["counts"]["outcome_hit"] = 0.0
    path.write_text(json.dumps(content))
    with pytest.raises(RunError, match="was changed after it was made"):
        read_baseline(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema_version": 9}))
    with pytest.raises(RunError, match="schema version 9, this workbench reads 1"):
        read_baseline(path)
    for text in ("", "{}", "[1]", '{"schema_version": "x"}', "[" * 100_000):
        path.write_text(text)
        with pytest.raises(RunError, match="is no baseline"):
            read_baseline(path)


def test_a_part_of_a_split_is_no_baseline(tmp_path):
    with pytest.raises(RunError, match="covers a part of split dev only"):
        write_baseline(side("m@p", *rising(5, 3), limited=True), tmp_path / "x.json")
    with pytest.raises(RunError, match=r"not every case is completed \(1 failed\)"):
        write_baseline(side("m@p", *rising(5, 3), left_out={"c9": "failed"}), tmp_path / "x.json")
    assert list(tmp_path.iterdir()) == []

"""Comparison and gate: paired figures by hand, what refuses, every ruling, pins and baseline files."""

import json
from dataclasses import replace
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from evals.baseline import read_baseline, write_baseline
from evals.compare import FigureChange, compare
from evals.errors import IncompleteError, RunError, WorkbenchError
from evals.gate import Check, GateConfig, Requirement, Verdict, gate, requirement, resolution
from evals.matching.base import Verdict as Match
from evals.metrics.figures import FIGURES
from evals.pins import Pin, check_pins
from evals.report.comparison import comparison_markdown, comparison_text, in_words
from evals.report.gate_junit import gate_junit
from evals.rubric import Rubric
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
    # under 10 hits or 10 false ones no AUROC is told
    auroc = found.figure("auroc")
    assert (auroc.base, auroc.new, auroc.difference.value, auroc.p) == (None, None, None, None)


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
    near = ruled(rising(200, 100), rising(200, 101))
    assert (near.ruling, near.exit_code) == ("pass", 0)
    assert "a loss of more than 0.05 is ruled out" in near.words
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


def quick(base, new, **options):
    """A comparison where neither intervals nor p matter."""
    return compare(base, new, resamples=50, permutations=50, **options)


def test_rows_without_a_difference_pass_on_any_number_of_conversations():
    same = ruled(rising(34, 20), rising(34, 20))
    assert (same.ruling, same.checks[0].ruling) == ("pass", "pass")
    assert same.checks[0].told.endswith("every case came out alike")
    # the interval stays that of 34 conversations without a differing one: 1 - .05 ** (1 / 34) = .084, far beyond the margin
    found = compare(side("a", *rising(34, 20)), side("b", *rising(34, 20)))
    assert found.figure("f1").difference.low < -0.05
    part = gate(compare(side("a", *rising(40, 20)), side("b", *rising(40, 20)[1:])), Row(), (), GateConfig(), shipped=False)
    assert part.checks[0].told.endswith("every case came out alike of those that both completed")
    other = ruled(
        rising(34, 20), [replace_counts(rising(34, 20)[0], counts=rising(34, 20)[0].counts | {"dated": 1.0}), *rising(34, 20)[1:]]
    )
    assert "alike" not in other.checks[0].told


def leaks_of(base, new):
    checks = gate(compare(base, new), Row(), (), GateConfig(), shipped=False).checks
    return next(check for check in checks if check.name == "leaks")


def test_leaks_are_compared_on_cases_of_both_and_what_was_not_seen_is_not_known():
    lost = {"left_out": {"c0": "failed"}}
    hidden = leaks_of(side("a", *leaking(1)), side("b", *leaking(0)[1:], **lost))
    assert hidden.ruling == "inconclusive"
    assert "0 cases with a secret or an injected text, 0 allowed (base 0); not known of c0, which can leak" in hidden.told
    # base's leak in a case that new did not complete allows none elsewhere
    elsewhere = [replace_counts(leaking(1)[0], id="c1", conversation="v1"), *leaking(0)[2:]]
    assert leaks_of(side("a", *leaking(1)), side("b", *elsewhere, **lost)).ruling == "fail"
    carrying = [due(n, ["m1"], forbidden_injection=n < 2, forbidden_cases=n < 2) for n in range(200)]
    assert leaks_of(side("a", *carrying), side("b", *carrying[2:])).told.endswith(
        "c0 and 1 more, which can leak and which new did not complete"
    )
    assert leaks_of(side("a", *carrying), side("b", *carrying[:199])).ruling == "pass"
    twice = [replace_counts(due(n, ["m1"], repeats=2, forbidden_secret=2), repeats=2 if n else 1) for n in range(200)]
    assert leaks_of(side("a", *carrying), side("b", *twice, repeats=2)).ruling == "inconclusive"


class Same:
    """A matcher that knows equal texts only."""

    def score(self, pairs):
        return [Match(1.0, one.predicted in one.phrases, "equal") for one in pairs]


def reply(name, *contents, found=(), salience=0.7):
    memory = SimpleNamespace(id="m1", content="a fact", speaker="user", about="owner", salience=salience)
    case = SimpleNamespace(id=name, memories=(memory,), language="en", owner=SimpleNamespace(names=()))
    predictions = tuple(SimpleNamespace(content=one, counted=True) for one in contents)
    return SimpleNamespace(case=case, outcome=SimpleNamespace(matched=dict.fromkeys(found, 0), predictions=predictions))


def pinned(pin, *replies, failed=(), limited=False, rubric=None):
    excluded = tuple(SimpleNamespace(case=name, kind="timeout") for name in failed)
    cell = SimpleNamespace(cases=replies, failed=excluded, missing=(), unscored=(), signature=replace(SIGNATURE, limited=limited))
    return check_pins((pin,), cell, Same(), rubric or Rubric())[0]


FOUND = Pin("found", "c1", "m1", None, None, "p")
NEVER = Pin("never", "c1", None, "bad", None, "p")
ANYWHERE = Pin("never", None, None, None, "bad", "p")


@pytest.mark.parametrize(
    ("pin", "replies", "failed", "holds"),
    [
        (FOUND, [reply("c1", found=["m1"])], [], True),
        (FOUND, [reply("c1")], ["c1"], False),  # one repeat lost it, another failed
        (FOUND, [reply("c1", found=["m1"])], ["c1"], None),
        (FOUND, [], ["c1"], None),
        (FOUND, [reply("c1", found=["m1"])], ["c2"], True),
        (NEVER, [reply("c1", "bad")], ["c1"], False),
        (NEVER, [reply("c1", "good")], ["c1"], None),
        (NEVER, [reply("c1", "good")], [], True),
        (ANYWHERE, [reply("c1", "good")], ["c2"], None),
        (ANYWHERE, [reply("c1", "too bad")], ["c2"], False),
        (ANYWHERE, [reply("c1", "good")], [], True),
    ],
)
def test_a_breach_that_was_seen_is_one_and_else_a_lacking_reply_is_not_known(pin, replies, failed, holds):
    assert pinned(pin, *replies, failed=failed).holds is holds


def test_a_pin_on_any_case_is_not_known_of_a_part_of_the_split():
    assert pinned(ANYWHERE, reply("c1", "good"), limited=True).holds is None


def test_a_pinned_memory_must_be_required():
    with pytest.raises(WorkbenchError, match="memory 'm1' of case 'c1' is optional under rubric strict"):
        pinned(FOUND, reply("c1", found=["m1"]), rubric=Rubric("strict", required_from=0.9))


def flooded(cases, false):
    """A row in which every case gained so many false memories of about a hundred characters."""
    return side("b", *(due(n, ["m1"], [f"case {n} says {at} " + "word " * 18 for at in range(false)]) for n in range(cases)))


def test_markdown_stays_under_the_limit_and_says_what_it_left_out():
    base = side("a", *(due(n, ["m1"]) for n in range(40)))
    cases = comparison_markdown(quick(base, flooded(40, 60)), {})
    assert len(cases) < 65_000
    assert "**losses: 40, 5 shown**" in cases  # 20 and 10 cases of 60 lines are too many
    assert "Shortened: the whole would be too long for a comment." in cases
    one = side("a", due(0, ["m1"]))
    false = comparison_markdown(quick(one, flooded(1, 900)), {})
    assert len(false) < 65_000
    assert false.count("wrong now: ") == 6  # five of the 900, and how many more
    assert "wrong now: and 895 more" in false
    small = quick(base, flooded(40, 1), by=("language",))
    assert "F1 by language" in comparison_markdown(small, {})
    many = replace(small, slices=small.slices * 2000)
    told = comparison_markdown(many, {})
    assert len(told) < 65_000
    assert "The slices are left out" in told
    checks = (*(Check(f"pin {n}", "pass", "x" * 400) for n in range(2000)), Check("margin", "fail", "it lost"))
    ruled_on = comparison_markdown(small, {}, Verdict(checks))
    assert len(ruled_on) < 65_000
    assert "And 1981 more checks" in ruled_on
    assert "| margin" in ruled_on
    long = replace(small, new=replace(small.new, label="m" * 100_000))
    assert "too long for a comment" in comparison_markdown(long, {}, Verdict(checks))


def test_losses_and_gains_are_shown_apart():
    base = side("a", *(due(n, ["m1"]) for n in range(3)), *(due(n, [], missed=["m1"]) for n in range(3, 5)), due(5, ["m1"], ["x"]))
    new = side("b", *(due(n, [], missed=["m1"]) for n in range(3)), *(due(n, ["m1"]) for n in range(3, 5)), due(5, ["m1"], ["y"]))
    found = quick(base, new)
    text = comparison_text(found, {}, show=1)
    titles = [line for line in text.splitlines() if line.startswith(("changed", "losses", "gains"))]
    assert titles == ["changed: 6 cases", "losses: 3, 1 shown", "gains: 2, 1 shown", "changed at the same score: 1"]
    assert [line.split()[0] for line in text.splitlines() if line.startswith("  c")] == ["c0", "c3", "c5"]
    markdown = comparison_markdown(found, {}, show=1)
    assert "6 cases changed" in markdown
    assert "**losses: 3, 1 shown**" in markdown
    assert "**gains: 2, 1 shown**" in markdown
    assert [line.split("`")[1] for line in markdown.splitlines() if line.startswith("- `c")] == ["c0", "c3", "c5"]
    assert "Shortened" not in markdown


def test_conversations_are_asked_for_only_where_more_would_help():
    wide = ruled(rising(12, 6), [*rising(12, 5)[:11], due(11, ["m1"])])
    assert "conversations of this kind would narrow it to that" in wide.words
    # F1 .667 and .621, 20 of 400 conversations differ: the half-width is about .02 and -.05 lies within
    close = ruled(rising(400, 200), rising(400, 180))
    assert close.ruling == "inconclusive"
    assert close.words.endswith("; the margin lies inside the interval, the loss may be on either side of it")


def test_junit_of_a_gate():
    found = quick(side("a", *rising(40, 20)), side("b", *rising(40, 20)[1:], left_out={"c0": "failed"}))
    checks = (Check("margin", "inconclusive", "open"), Check("leaks", "fail", "leaks"), Check("violations", "pass", "none"))

    def suite(*checks, counted="inconclusive"):
        return ElementTree.fromstring(gate_junit(found, Verdict(checks, counted)))

    def counts(one):
        return [one.get(name) for name in ("tests", "failures", "errors", "skipped")]

    both = suite(*checks)
    assert counts(both) == ["4", "1", "1", "1"]
    assert both.find("testcase[@name='margin']/skipped") is not None
    assert both.find("testcase[@name='case c0']/error").get("message") == "the new row did not complete the case: failed"
    assert counts(suite(*checks, counted="fail")) == ["4", "2", "1", "0"]
    assert counts(suite(checks[0], counted="pass")) == ["2", "0", "1", "1"]
    opened = suite(checks[0], checks[2])
    assert counts(opened) == ["3", "0", "1", "1"]
    assert opened.find("properties/property[@name='ruling']").get("value") == "inconclusive"


def change(low, high, p, name="f1"):
    interval = Interval(value=(low + high) / 2, low=low, high=high, conversations=50, undefined=0.0, method="bootstrap")
    return FigureChange(name, 0.5, 0.5, interval, p, 0.1)


@pytest.mark.parametrize(
    ("low", "high", "p", "words"),
    [
        (0.01, 0.1, 0.01, "better"),
        (-0.1, -0.01, 0.01, "worse"),
        (-0.1, 0.1, 0.5, "no significant difference; .10 would have shown"),
        (-0.01, 0.1, 0.04, "not settled: the interval and p disagree"),
        (0.01, 0.1, 0.06, "not settled: the interval and p disagree"),
        (0.01, 0.1, None, "better"),
    ],
)
def test_words_never_stand_against_p(low, high, p, words):
    assert in_words(change(low, high, p)) == words


def test_auroc_has_a_p_from_swapped_conversations():
    base = [due(n, ["m1"], ["x"]) for n in range(10)]  # hits at .9, false ones at .4: AUROC 1
    turned = [replace_counts(case, items=((0.4, True), (0.9, False))) for case in base]  # AUROC 0
    found = compare(side("a", *base), side("b", *turned)).figure("auroc")
    assert (found.base, found.new, found.difference.value) == (1.0, 0.0, -1.0)
    # as far from 0 only where all or none of 10 conversations are swapped: 2 of 1,024
    assert 1 / 2001 <= found.p < 0.006
    assert compare(side("a", *base), side("b", *base)).figure("auroc").p == 1.0


def test_a_slice_of_few_conversations_shows_no_interval():
    base = [due(n, ["m1"] if n % 2 else [], missed=[] if n % 2 else ["m1"], tags=("four",) if n < 4 else ("six",)) for n in range(10)]
    new = [due(n, ["m1"] if n % 3 else [], missed=[] if n % 3 else ["m1"], tags=("four",) if n < 4 else ("six",)) for n in range(10)]
    found = quick(side("a", *base), side("b", *new), by=("tag",))
    lines = {line.split()[0]: line for line in comparison_text(found, {}).splitlines() if line.startswith(("four", "six"))}
    assert ("[" in lines["four"], "[" in lines["six"]) == (False, True)
    rows = {line.split("`")[1]: line for line in comparison_markdown(found, {}).splitlines() if line.startswith(("| `four", "| `six"))}
    assert ("[" in rows["four"], "[" in rows["six"]) == (False, True)


def test_a_limited_new_row_is_told():
    told = "New covers a part of its split only."
    assert told in comparison_text(quick(side("a", *rising(5, 3)), side("b", *rising(5, 2), limited=True)), {})
    assert told not in comparison_text(quick(side("a", *rising(5, 3)), side("b", *rising(5, 2))), {})

"""What a report looks like: numbers, foreign text, and a whole table as a snapshot."""

import numpy as np
import pytest

from evals.calibration.figures import Items, keep_figures
from evals.calibration.grade import grade_figures
from evals.cases import Case, Evidence, Memory
from evals.metrics.counts import COLUMNS
from evals.metrics.figures import FIGURES
from evals.metrics.outcomes import CaseOutcome, Prediction
from evals.report.numbers import count, dollars, duration, interval, seconds, share
from evals.report.safe import clip, printable
from evals.report.terminal import render, render_case
from evals.results import CaseResult, CellResult, Excluded, Report, Salience
from evals.signature import DatasetId, MatcherId, PolicyId, Signature
from evals.stats import Interval


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0, ".00"),
        (0.074, ".07"),
        (0.5, ".50"),
        (0.996, "1.00"),
        (1, "1.00"),
        (-0.25, "-.25"),
        (99.994, "99.99"),
        (1301.4, "1,301"),
    ],
)
def test_shares(value, text):
    assert share(value) == text


def test_other_numbers():
    assert interval(0.215, 1) == "[.21,1.00]"
    assert interval(None, 1) == ""
    assert [count(None), count(0), count(1234567)] == ["unknown", "0", "1,234,567"]
    assert [seconds(0.044), seconds(12.34), seconds(1480)] == ["0.04", "12.3", "1,480"]
    assert [dollars(n) for n in (None, 0, 0.00001, 0.0042, 0.25, 12.3, 1234.5)] == [
        "unknown", "$0", "<$0.0001", "$0.0042", "$0.25", "$12.30", "$1,234.50",
    ]  # fmt: skip
    assert [duration(8), duration(185), duration(7810)] == ["8 s", "3 min 05 s", "2 h 10 min"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 漢字 हिन्दी 🙂", "plain é 漢字 हिन्दी 🙂"),
        ("\x1b[2J\x07", "\\x1b[2J\\x07"),
        ("a\u202eb\u2066c\u200bd", "a\\u202eb\\u2066c\\u200bd"),
        ("a\nb\r\tc\u2028", "a\\nb\\r\\tc\\u2028"),
        ("क्\u200dष", "क्\u200dष"),
        ("\x9b31m", "\\x9b31m"),
    ],
)
def test_foreign_text_cannot_move_a_terminal(text, shown):
    assert printable(text) == shown


def test_lines_are_kept_where_asked_and_long_text_is_clipped():
    assert printable("a\nb\r", keep_lines=True) == "a\nb\\r"
    assert clip("one  two\nthree", 9) == "one tw..."
    assert clip("short", 9) == "short"


MATCHER = MatcherId("embedding", "1", 0.7, True)


def signature(policy, model):
    return Signature(
        data=DatasetId("extraction", "0.1.0", "0123456789ab"), split="dev", cases=4, conversations=2, limited=False, rubric="default",
        matcher=MATCHER, policy=policy, model=model, max_tokens=None, temperature=None, repeats=1, seed=0, openings=None, version="0.1.0",
    )  # fmt: skip


def figure(value, low=None, high=None):
    return Interval(value=value, low=low, high=high, conversations=2, undefined=0.0, method="none" if low is None else "bootstrap")


def cell(model, policy, values, statuses, **more):
    figures = {name: figure(None) for name in [*FIGURES, "auroc"]} | values
    message = {"role": "user", "content": "x"}
    case = Case(id="c", conversation="v", split="dev", language="en", messages=(message,), memories=())
    counts = dict.fromkeys(COLUMNS, 0) | statuses
    result = CaseResult(case, "ok", CaseOutcome((), {}, (), ()), "[]", counts)
    base = {
        "macro_f1": None,
        "salience": Salience(keep_figures(Items(np.array([]), np.array([]), np.array([]))), grade_figures([]), {}, {}),
        "failed": (),
        "missing": (),
        "unscored": (),
        "input_tokens": 1000,
        "output_tokens": 234,
        "seconds": 12.34,
        "cached": 0,
        "cost": 0.0151,
    }
    return CellResult(
        model=model, policy=policy, signature=signature(PolicyId(policy, "abcdef012345") if policy else None, model), figures=figures,
        cases=(result,), totals=counts, **(base | more),
    )  # fmt: skip


SNAPSHOT = """\
     model            policy   precision     recall         F1   balanced  specificity  violations  noise  AUROC             replies  tokens   cost  seconds
                                                                                                               ok/emp/rep/cut/bad  in+out
[1]  mock/m           default        .50        .25        .33        .40          .90         .10    .00    .75  2/1/1/0/0 +1 failed   1,234  $0.02     12.3
                               [.20,.80]  [.10,.45]  [.15,.52]
[2]  baseline/silent  -                -        .00        .00        .00       1.00*        .00*      -      -           0/4/0/0/0       -      -     0.00
"""


def test_the_table_as_a_whole():
    first = cell(
        "mock/m", "default",
        {"precision": figure(0.5, 0.2, 0.8), "recall": figure(0.25, 0.1, 0.45), "f1": figure(0.3333, 0.15, 0.52), "balanced": figure(0.4),
         "specificity": figure(0.9), "violation_rate": figure(0.1), "noise_rate": figure(0.0), "auroc": figure(0.75)},
        {"status_ok": 2, "status_empty": 1, "status_repaired": 1}, failed=(Excluded("c9", "timeout", "no answer"),),
    )  # fmt: skip
    silent = cell(
        "baseline/silent", None,
        {"recall": figure(0.0), "f1": figure(0.0), "balanced": figure(0.0), "specificity": figure(1.0), "violation_rate": figure(0.0)},
        {"status_empty": 4}, input_tokens=None, output_tokens=None, seconds=0.0,
    )  # fmt: skip
    text = render(Report("runs/x", (first, silent), ("A notice with \x1b[31m.",)))
    table = text.split("\n\n")[0]
    assert [line.split() for line in table.splitlines() if "---" not in line] == [
        line.split() for line in SNAPSHOT.splitlines() if "---" not in line
    ]
    assert len({len(line) for line in table.splitlines()[2:3]}) == 1
    narrow = render(Report("runs/x", (first, silent)), 100).split("\n\n")
    assert [line.split()[0] for line in narrow[0].splitlines() if line.startswith("[")] == ["[1]", "[2]"]
    assert all(len(line) <= 100 for part in narrow[:2] for line in part.splitlines())
    assert "balanced" in narrow[0]
    assert "specificity" in narrow[1]
    assert narrow[1].splitlines()[2].startswith("---")
    assert "! A notice with \\x1b[31m." in text
    assert "* recall is below .05" in text
    assert "agreement with labelled pairs kappa .70 (provisional)" in text
    assert f"[1] {first.signature}" in text
    assert Signature.parse(str(first.signature)) == first.signature


def test_a_case_shows_messages_gold_predictions_and_what_became_of_them():
    gold = (
        Memory(id="m1", content="The user has a parrot", salience=0.7, evidence=(Evidence(message=0, text="parrot"),)),
        Memory(id="m2", content="The user is tired", salience=0.3),
    )
    case = Case(
        id="c-1", conversation="v", split="dev", language="en", date="2026-03-02", tags=("pets",), memories=gold,
        context=({"role": "assistant", "content": "Hm?"},), messages=({"role": "user", "content": "My parrot\nis loud \x1b[2J"},),
    )  # fmt: skip
    predictions = (
        Prediction("A parrot", 0.9, None, "hit", "m1", "similarity .91", 0.91),
        Prediction("Loud\x07", 0.8, None, "unmatched", "m2", "similarity .10", 0.1),
    )
    text = render_case(CaseResult(case, "ok", CaseOutcome(predictions, {"m1": 0}, (), ()), "[]", {}))
    assert text.splitlines() == [
        "c-1 (en, 2026-03-02; pets); reply: ok",
        "  [assistant] Hm?",
        "  [user] My parrot is loud \\x1b[2J",
        "  gold:",
        "    0.7 The user has a parrot  <- found",
        "    0.3 The user is tired  <- not returned",
        "  predicted:",
        "    0.90 A parrot  -> hit m1 (similarity .91)",
        "    0.80 Loud\\x07  -> unmatched m2 (similarity .10)",
    ]

"""A report as frames: every value by hand, types, column order, empty reports."""

import json

import numpy as np
import pandas as pd
import pytest

from evals.calibration.figures import Items, keep_figures
from evals.calibration.grade import Graded, grade_figures
from evals.cases import Case, Forbidden, Memory
from evals.frames import CASES, FIGURE_NAMES, MATCHES, RUNS
from evals.metrics.counts import COLUMNS
from evals.metrics.outcomes import CaseOutcome, Prediction
from evals.report.as_json import report_to_dict
from evals.results import CaseResult, CellResult, Excluded, Report, Salience
from evals.signature import DatasetId, MatcherId, PolicyId, Signature
from evals.stats import Interval


def figure(value, low=None, high=None):
    return Interval(value=value, low=low, high=high, conversations=2, undefined=0.0, method="none" if low is None else "bootstrap")


def signature(policy, model):
    return Signature(
        data=DatasetId("pets", "0.1.0", "0123456789ab"), split="dev", cases=2, conversations=2, limited=True, rubric="default",
        matcher=MatcherId("lexical", "2", 0.31, False), policy=policy, model=model, max_tokens=160, temperature=None, repeats=2, seed=7,
        openings=None, version="0.1.0",
    )  # fmt: skip


def counts(**some):
    return dict.fromkeys(COLUMNS, 0) | some


@pytest.fixture
def report():
    """A row with two repeats of a case and one of another, and a baseline that said nothing."""
    memories = (
        Memory(id="m1", content="The user has a parrot", salience=0.7),
        Memory(id="m2", content="The user moved to Tartu", salience=0.9),
    )
    forbidden = (Forbidden(content="The parrot is dead", reason="overreach"),)
    first = Case(
        id="c-1", conversation="v-1", split="dev", language="en", tags=("pets", "moving"), memories=memories, forbidden=forbidden,
        messages=({"role": "user", "content": "x"},),
    )  # fmt: skip
    second = Case(id="c-2", conversation="v-2", split="dev", language="et", memories=(), messages=({"role": "user", "content": "x"},))
    predictions = (
        Prediction("A parrot lives here", 0.9, None, "hit", "m1", "similarity .91", 0.91),
        Prediction("The parrot died", 0.6, None, "violation", "forbidden[0]", "overreach", None),
        Prediction("Maybe", 0.1, None, "below", None, "salience 0.1 is below 0.5", None, counted=False),
    )
    outcome = CaseOutcome(predictions, {"m1": 0}, ("m2",), ("overreach",), {"m2": "merged"})
    nothing = CaseOutcome((), {}, ("m1", "m2"), ())
    results = (
        CaseResult(first, "ok", outcome, "[]", counts(cases=1, predictions=2, missed=1, hit_salience=0.7), 0),
        CaseResult(first, "empty", nothing, "[]", counts(cases=1, missed=2), 1),
        CaseResult(second, "empty", CaseOutcome((), {}, (), ()), "[]", counts(cases=1), 0),
    )
    measured = keep_figures(Items(np.array([0.9, 0.6]), np.array([1.0, 0.0]), np.array([0, 0])))
    cell = CellResult(
        model="mock/m", policy="default", signature=signature(PolicyId("default", "abcdef012345"), "mock/m"),
        figures={"precision": figure(0.5, 0.2, 0.8), "observed_given": figure(None), "auroc": figure(1.0)}, macro_f1=0.25,
        salience=Salience(measured, grade_figures([Graded(0.9, 0.7, 21)]), {}, {}), cases=results,
        totals=counts(cases=3, predictions=2, missed=3, hit_salience=0.7000000001, observed_given=1), failed=(Excluded("c-2", "timeout", "late"),),
        missing=(), unscored=(), input_tokens=1000, output_tokens=None, seconds=1.23456789, cached=2, cost=0.0151, spent=None,
        fallbacks={"no-seed": 2, "no-schema": 3}, flip_rate=0.5,
    )  # fmt: skip
    empty = Salience(keep_figures(Items(np.array([]), np.array([]), np.array([]))), grade_figures([]), {}, {})
    silent = CellResult(
        model="baseline/silent", policy=None, signature=signature(None, "baseline/silent"), figures={}, macro_f1=None, salience=empty,
        cases=(), totals=counts(), failed=(), missing=(), unscored=(), input_tokens=None, output_tokens=None, seconds=0.0, cached=0,
    )  # fmt: skip
    return Report("runs/x", (cell, silent))


def test_runs_hold_figures_counts_usage_calibration_and_signature(report):
    runs = report.to_frames().runs
    assert runs.shape == (2, len(RUNS))
    line = runs.loc[0]
    expected = {
        "model": "mock/m", "policy": "default", "precision": 0.5, "precision_low": 0.2, "precision_high": 0.8, "auroc": 1.0, "macro_f1": 0.25,
        "count_cases": 3, "count_predictions": 2, "count_missed": 3, "count_hit_salience": 0.7, "count_observed_given": 1, "failed": 1,
        "missing": 0, "unscored": 0, "input_tokens": 1000, "cost": 0.0151, "seconds": 1.234568, "cached": 2,
        "fallbacks": "no-schema 3, no-seed 2", "reasoning_only": 0, "flip_rate": 0.5, "keep_items": 2, "keep_conversations": 1,
        "keep_base_rate": 0.5, "keep_auroc": 1.0, "grade_pairs": 1, "policy_hash": "abcdef012345", "data": "pets", "data_version": "0.1.0",
        "data_hash": "0123456789ab", "split": "dev", "cases": 2, "conversations": 2, "limited": True, "rubric": "default",
        "matcher": "lexical", "matcher_version": "2", "kappa": 0.31, "kappa_provisional": False, "max_tokens": 160, "repeats": 2, "seed": 7,
        "version": "0.1.0", "signature": str(report.cells[0].signature),
    }  # fmt: skip
    assert {name: line[name] for name in expected} == expected
    assert line["keep_brier"] == pytest.approx((0.1**2 + 0.6**2) / 2)
    assert line["grade_mae"] == pytest.approx(0.2)
    for name in ("observed_given", "auroc_low", "f1", "output_tokens", "spent", "temperature", "openings"):
        assert line[name] is pd.NA
    silent = runs.loc[1]
    assert silent["model"] == "baseline/silent"
    assert silent["fallbacks"] == ""
    assert all(silent[name] is pd.NA for name in ("policy", "policy_hash", "precision", "macro_f1", "keep_brier", "cost"))


def test_values_are_those_of_the_json(report):
    cell = json.loads(json.dumps(report_to_dict(report)))["cells"][0]
    line = report.to_frames().runs.loc[0]
    for name, told in cell["figures"].items():
        for key, column in (("value", name), ("low", f"{name}_low"), ("high", f"{name}_high")):
            assert (None if line[column] is pd.NA else line[column]) == told[key]
    assert {name: line[f"count_{name}"] for name in COLUMNS} == cell["counts"]
    assert (line["seconds"], line["cost"], line["signature"]) == (cell["seconds"], cell["cost"], cell["signature"])


def test_cases_have_a_line_for_each_row_case_and_repeat(report):
    cases = report.to_frames().cases
    assert list(cases.columns) == list(CASES)
    keys = ["model", "policy", "case", "repeat", "conversation", "split", "language", "tags", "status", "count_predictions", "count_missed"]
    assert cases[keys].values.tolist() == [
        ["mock/m", "default", "c-1", 0, "v-1", "dev", "en", "pets moving", "ok", 2, 1],
        ["mock/m", "default", "c-1", 1, "v-1", "dev", "en", "pets moving", "empty", 0, 2],
        ["mock/m", "default", "c-2", 0, "v-2", "dev", "et", "", "empty", 0, 0],
    ]
    assert cases["count_hit_salience"].tolist() == [0.7, 0.0, 0.0]


def test_matches_have_a_line_for_each_prediction_and_each_missed_memory(report):
    matches = report.to_frames().matches
    assert list(matches.columns) == list(MATCHES)
    assert set(matches["model"]) == {"mock/m"}
    none = pd.NA
    told = matches.drop(columns=["model", "policy"]).astype(object).values.tolist()
    expected = [
        ["c-1", 0, "prediction", "A parrot lives here", 0.9, "hit", "m1", "The user has a parrot", 0.7, "similarity .91", 0.91, True],
        ["c-1", 0, "prediction", "The parrot died", 0.6, "violation", "forbidden[0]", "The parrot is dead", none, "overreach", none, True],
        ["c-1", 0, "prediction", "Maybe", 0.1, "below", none, none, none, "salience 0.1 is below 0.5", none, False],
        ["c-1", 0, "missed", none, none, "missed", "m2", "The user moved to Tartu", 0.9, "merged", none, none],
        ["c-1", 1, "missed", none, none, "missed", "m1", "The user has a parrot", 0.7, none, none, none],
        ["c-1", 1, "missed", none, none, "missed", "m2", "The user moved to Tartu", 0.9, none, none, none],
    ]
    assert [[None if value is none else value for value in line] for line in told] == [
        [None if value is none else value for value in line] for line in expected
    ]


def test_columns_have_nullable_types_a_fixed_order_and_the_default_index(report):
    frames = report.to_frames()
    for frame, columns in ((frames.runs, RUNS), (frames.cases, CASES), (frames.matches, MATCHES)):
        assert {name: str(kind) for name, kind in frame.dtypes.items()} == dict(columns)
        assert set(columns.values()) <= {"string", "Int64", "Float64", "boolean"}
        assert list(frame.index) == list(range(len(frame)))
    assert list(RUNS)[:8] == ["model", "policy", "precision", "precision_low", "precision_high", "recall", "recall_low", "recall_high"]
    assert len(RUNS) == 2 + 3 * len(FIGURE_NAMES) + 1 + len(COLUMNS) + 12 + 16 + 7 + 20
    assert frames.runs["count_cases"].sum() == 3


def test_an_empty_report_gives_empty_frames_with_all_columns():
    frames = Report("runs/x", ()).to_frames()
    for frame, columns in ((frames.runs, RUNS), (frames.cases, CASES), (frames.matches, MATCHES)):
        assert len(frame) == 0
        assert {name: str(kind) for name, kind in frame.dtypes.items()} == dict(columns)


def test_half_of_a_surrogate_pair_is_written_out():
    """No report of a run holds one, but one made by hand may, and no Arrow column can."""
    case = Case(id="c\ud800", conversation="v", split="dev", language="en", memories=(), messages=({"role": "user", "content": "x"},))
    outcome = CaseOutcome((Prediction("a\udfffb", 0.9, None, "unmatched", None, "none", None),), {}, (), ())
    empty = Salience(keep_figures(Items(np.array([]), np.array([]), np.array([]))), grade_figures([]), {}, {})
    cell = CellResult(
        model="m", policy=None, signature=signature(None, "m"), figures={}, macro_f1=None, salience=empty,
        cases=(CaseResult(case, "ok", outcome, "[]", counts(cases=1)),), totals=counts(cases=1), failed=(), missing=(), unscored=(),
        input_tokens=None, output_tokens=None, seconds=0.0, cached=0,
    )  # fmt: skip
    frames = Report("x", (cell,)).to_frames()
    assert frames.matches["content"].tolist() == ["a\\udfffb"]
    assert frames.cases["case"].tolist() == ["c\\ud800"]

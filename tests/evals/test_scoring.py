"""From a run file to a report: what is excluded, what is the model's limit, and what is read from a candidate."""

import json
import os
import subprocess
import sys

import pytest

from evals.cases import Case, Evidence, Memory
from evals.data.dataset import Dataset
from evals.matching.base import Verdict
from evals.plan import Cell, Plan, RunConfig, manifest_of
from evals.requests import request_hash
from evals.runlog import MANIFEST, Failure, Record, RunLog, write_json
from evals.scoring import Scorer, score_run
from evals.signature import MatcherId
from salience import CalibrationMap, Example, ExtractOptions, Policy, Turn, build_request


class Exact:
    """Matches equal text; a text that begins with "?" cannot be scored."""

    id, version, tie_margin = "exact", "1", 0.0

    tells_relations = False

    def describe(self):
        return {"matcher": "exact"}

    def score(self, pairs):
        return [self._one(pair) for pair in pairs]

    def _one(self, pair):
        if pair.predicted.startswith("?"):
            return Verdict(None, False, "unscored: no model for it")
        same = pair.predicted in pair.phrases
        return Verdict(float(same), same, "r", margin=1.0 if same else -1.0)

    def language_of(self, text, expected):
        return "de" if text.startswith("Der") else expected


SCORER = Scorer(matcher=Exact(), matcher_id=MatcherId("exact", "1", None, True), resamples=50)


def case(number, *memories):
    golds = tuple(
        Memory(id=f"m{i}", content=content, salience=salience, event_date=date, evidence=(Evidence(message=0, text="x"),))
        for i, (content, salience, date) in enumerate(memories)
    )
    message = {"role": "user", "content": f"x {number}"}
    return Case(id=f"c{number}", conversation=f"v{number}", split="dev", language="en", messages=(message,), memories=golds)


def scored(tmp_path, cases, records, policy=None):
    policy = policy or Policy()
    dataset = Dataset(name="d", version="1", cases=tuple(cases))
    plan = Plan(config=RunConfig(models=("m/x",)), dataset=dataset, cases=dataset.cases, cells=(Cell("m/x", policy),), whole="0" * 12)
    tmp_path.mkdir(exist_ok=True)
    write_json(tmp_path / MANIFEST, manifest_of(plan, {"m/x": {}}, {}))
    with RunLog(tmp_path) as log:
        for one, given in zip(cases, records, strict=True):
            if given is not None:
                hashed = request_hash(build_request(policy, one.turn()))
                log.append(Record(model="m/x", policy=policy.hash, case=one.id, request_hash=hashed, **given))
    return score_run(tmp_path, dataset, SCORER).cells[0]


def said(*items):
    return {"reply": json.dumps([{"content": content, "salience": salience, **more} for content, salience, more in items])}


def value(cell, name):
    return cell.figures[name].value


def test_failed_missing_and_unscored_cases_are_in_no_figure(tmp_path):
    fact = ("The user dives", 0.9, None)
    cases = [case(n, fact) for n in range(5)]
    records = [
        said(("The user dives", 0.9, {})),
        {"error": Failure("timeout", "no answer")},
        None,
        said(("? what", 0.9, {})),
        {"error": Failure("too_long", "4,000 tokens")},
    ]
    cell = scored(tmp_path, cases, records)
    assert [entry.case for entry in cell.failed] == ["c1"]
    assert [entry.case for entry in cell.missing] == ["c2"]
    assert [(entry.case, entry.message) for entry in cell.unscored] == [("c3", "unscored: no model for it")]
    assert {result.case.id: result.status for result in cell.cases} == {"c0": "ok", "c4": "too_long"}
    assert value(cell, "recall") == 0.5
    assert cell.error_rate == pytest.approx(2 / 5)
    assert cell.signature.cases == 2


def test_an_input_beyond_the_context_fails_a_negative_case(tmp_path):
    cell = scored(tmp_path, [case(0)], [{"error": Failure("too_long", "x")}])
    assert value(cell, "specificity") == 0
    assert value(cell, "reply_too_long") == 1


def test_observed_date_and_language_are_read_from_what_the_model_wrote(tmp_path):
    golds = [
        ("The user moved on 2026-03-09", 0.9, "2026-03-09"),
        ("The user sails in May 2027", 0.9, "2027-05"),
        ("Der Nutzer taucht", 0.9, "2020"),
    ]
    policy = Policy(options=ExtractOptions(default_observed="stated"))
    reply = said(
        ("The user moved on 2026-03-09", 0.9, {"observed": "stated"}), ("The user sails in May 2027", 0.8, {"observed": "inferred"}),
        ("Der Nutzer taucht", 0.7, {}),
    )  # fmt: skip
    cell = scored(tmp_path, [case(0, *golds)], [reply], policy)
    assert value(cell, "observed_given") == pytest.approx(2 / 3)
    assert value(cell, "observed_accuracy") == pytest.approx(1 / 2)
    assert value(cell, "event_date_accuracy") == pytest.approx(2 / 3)
    assert value(cell, "language_kept") == 1


def test_threshold_and_calibration_decide_what_counts_and_auroc_sees_all(tmp_path):
    golds = [("A", 0.9, None), ("B", 0.9, None)]
    reply = said(("A", 0.9, {}), ("B", 0.45, {}), ("C", 0.3, {}))
    plain = scored(tmp_path / "plain", [case(0, *golds)], [reply])
    assert (value(plain, "recall"), value(plain, "precision")) == (0.5, 1)
    assert value(plain, "auroc") is None  # two hits and one false one say nothing yet
    many = scored(tmp_path / "many", [case(n, *golds) for n in range(10)], [reply] * 10)
    assert value(many, "auroc") == 1
    lower = scored(tmp_path / "lower", [case(0, *golds)], [reply], Policy(operating_threshold=0.3))
    assert (value(lower, "recall"), value(lower, "precision")) == (1, pytest.approx(2 / 3))
    raised = Policy(calibration=CalibrationMap(((0.0, 0.4), (1.0, 1.0))), operating_threshold=0.6)
    mapped = scored(tmp_path / "mapped", [case(0, *golds)], [reply], raised)
    assert [round(p.salience, 3) for p in mapped.cases[0].outcome.predictions] == [0.94, 0.67, 0.58]
    assert (value(mapped, "recall"), value(mapped, "precision")) == (1, 1)


def test_examples_that_come_back_are_leaks(tmp_path):
    policy = Policy(examples=(Example(Turn("[user] Quillon keeps bees"), '[{"content": "Quillon keeps bees", "salience": 0.7}]'),))
    cell = scored(tmp_path, [case(0), case(1)], [said(("Quillon keeps bees", 0.9, {})), said(("The user dives", 0.9, {}))], policy)
    assert value(cell, "leak_rate") == 0.5
    report = score_run(tmp_path, Dataset(name="d", version="1", cases=(case(0), case(1))), SCORER)
    assert report.notices == ("m/x@plain: 1 predictions in 1 cases repeat the prompt or its examples, not the turn.",)


def test_most_replies_empty_is_said(tmp_path):
    cases = [case(n, ("A", 0.9, None)) for n in range(10)]
    records = [{"reply": "[]"}] * 10
    scored(tmp_path, cases, records)
    report = score_run(tmp_path, Dataset(name="d", version="1", cases=tuple(cases)), SCORER)
    assert "10 of 10 replies are empty" in report.notices[0]


def test_macro_f1_is_the_mean_over_conversations(tmp_path):
    cases = [case(0, ("A", 0.9, None)), case(1, ("A", 0.9, None), ("B", 0.9, None)), case(2)]
    cell = scored(tmp_path, cases, [said(("A", 0.9, {})), said(("A", 0.9, {})), {"reply": "[]"}])
    assert cell.macro_f1 == pytest.approx((1 + 2 / 3) / 2)
    assert value(cell, "f1") == pytest.approx(2 * 2 / (2 * 2 + 0 + 1))


def test_the_embedding_matcher_phones_nobody_and_leaves_nothing_in_the_home_folder(tmp_path):
    """onnxruntime would look up a telemetry host and write an identifier of the machine when it is imported."""
    code = (
        "import os; os.environ.pop('ORT_DISABLE_TELEMETRY', None)\n"
        "from evals.matching.base import Pair, create_matcher\n"
        "print(create_matcher('classifier').score([Pair('The user keeps bees', ('The user is a beekeeper',), 'en')])[0].score)\n"
    )
    home = tmp_path / "home"
    home.mkdir()
    environment = {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path, env=environment)
    assert 0 < float(done.stdout) <= 1
    assert [path for path in home.rglob("*") if path.is_file()] == []

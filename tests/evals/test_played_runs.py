"""Consolidation and scenarios through the whole way: plan, run, run file, resume, scoring, reports. Models are known, the rest is real."""

import asyncio
import json
import random

import pytest

from evals.cache import ReplyCache
from evals.cli.progress import Silent
from evals.compare import compare
from evals.data.select import Selection
from evals.errors import IncompleteError, RunError, WorkbenchError
from evals.folders import choose_folder
from evals.gate import GateConfig, gate
from evals.limits import Budget, Limits
from evals.plan import RunConfig, make_plan
from evals.playing import PlayedBaseline
from evals.recall_cases import Scenario, Session
from evals.run import Desk, run_plan
from evals.runlog import read_manifest, read_records
from evals.scorers import make_scorer
from evals.scoring import score_run
from evals.sides import side_of
from tests.evals.playing_models import KnownModel, StoppedError, consolidation_oracle, decisions, is_extraction, offered, refused

HARM = ("protected_touched", "facts_lost", "lossy_update", "stale_left", "duplicate_added", "invented", "fallback")


def planned(task, *models, split="dev", policies=("default",), **more):
    data = {"consolidation": "consolidation", "scenario": "scenarios"}[task]
    return make_plan(RunConfig(task=task, data=data, split=split, models=models, policies=policies, **more))


def run(plan, folder, model, *, cache=None, budget=None, retry_errors=False):
    with asyncio.Runner() as runner:
        desk = Desk(
            models={cell.model: model for cell in plan.cells}, runner=runner, progress=Silent(), cache=cache,
            budget=budget or Budget(), retry_errors=retry_errors,
        )  # fmt: skip
        run_plan(plan, folder, desk)


def scored(plan, folder, **how):
    return score_run(folder, plan.dataset, make_scorer("lexical", "default", 0, **how))


def row(plan, folder, model, **how):
    run(plan, folder, model)
    return scored(plan, folder, **how).cells[0]


def value(cell, name):
    return cell.figures[name].value


def records_of(folder):
    """What of the run file must be the same however the run went."""
    return [(one.case, one.part, one.reply, one.request_hash) for one in sorted(read_records(folder), key=lambda one: (one.case, one.part))]


@pytest.fixture
def consolidation():
    return planned("consolidation", "known/model", split="all")


def test_an_oracle_is_perfect_in_every_figure(consolidation, isolated):
    cell = row(consolidation, isolated / "run", KnownModel(consolidation_oracle(consolidation.cases)))
    assert {name: value(cell, name) for name in ("macro_f1", "accuracy", "target_accuracy", "content_match")} == {
        "macro_f1": 1, "accuracy": 1, "target_accuracy": 1, "content_match": 1,
    }  # fmt: skip
    assert {name: value(cell, name) for name in HARM} == dict.fromkeys(HARM, 0)
    asked = sum(bool(case.existing) for case in consolidation.cases)
    assert (cell.total("status_ok"), len(cell.cases), len(cell.missing)) == (len(consolidation.cases), len(consolidation.cases), 0)
    assert cell.input_tokens == 100 * asked  # a case with nothing in the store asks no model


def test_any_acceptable_decision_is_right(consolidation, isolated):
    chooser = random.Random(7)
    pick = lambda case: chooser.choice([case.decision, *case.acceptable])  # noqa: E731
    cell = row(consolidation, isolated / "run", KnownModel(consolidation_oracle(consolidation.cases, pick)))
    assert value(cell, "accuracy") == value(cell, "macro_f1") == 1
    assert value(cell, "protected_touched") == 0


def test_always_delete_does_harm(consolidation, isolated):
    cell = row(consolidation, isolated / "run", KnownModel(lambda messages: decisions((1, "DELETE", 1, offered(messages)[0][0], []))))
    assert value(cell, "macro_f1") < 0.3
    assert value(cell, "protected_touched") > 0.2
    assert value(cell, "facts_lost") > 0.2
    assert value(cell, "recall_DELETE") == 1


def test_an_inventor_of_ids_is_caught_and_loses_nothing(consolidation, isolated):
    cell = row(consolidation, isolated / "run", KnownModel(lambda messages: decisions((1, "DELETE", 41, "x", [42]))))
    assert (value(cell, "fallback"), value(cell, "macro_f1"), value(cell, "accuracy")) == (1, 0, 0)
    assert value(cell, "invented") > 0
    assert (value(cell, "facts_lost"), value(cell, "protected_touched")) == (0, 0)


def test_what_cannot_be_read_is_a_fallback_and_wrong(consolidation, isolated):
    cell = row(consolidation, isolated / "run", KnownModel(lambda messages: "I would say that this is new to me."))
    assert (value(cell, "fallback"), value(cell, "accuracy"), value(cell, "facts_lost")) == (1, 0, 0)
    assert cell.total("status_malformed") == sum(bool(case.existing) for case in consolidation.cases)


def test_failed_calls_are_in_no_figure_and_can_be_asked_again(isolated):
    plan = planned("consolidation", "known/model", selection=Selection(limit=12))
    oracle = consolidation_oracle(plan.cases)
    bad = next(case for case in plan.cases if case.existing)
    answer = lambda messages: refused(messages) if offered(messages)[0][0] == bad.new_fact else oracle(messages)  # noqa: E731
    run(plan, isolated / "run", KnownModel(answer))
    cell = scored(plan, isolated / "run").cells[0]
    assert [entry.case for entry in cell.failed] == [bad.id]
    assert value(cell, "accuracy") == 1
    again = KnownModel(oracle)
    run(plan, isolated / "run", again)
    assert again.asked == []  # only where the user says so
    run(plan, isolated / "run", again, retry_errors=True)
    assert len(again.asked) == 1
    assert not scored(plan, isolated / "run").cells[0].failed


def test_a_server_that_is_gone_stops_the_run(isolated):
    plan = planned("consolidation", "known/model")
    with pytest.raises(IncompleteError, match="the server is gone"):
        run(plan, isolated / "run", KnownModel(refused))


def test_a_finished_run_is_not_taken_up_again(isolated):
    plan = planned("consolidation", "known/model", selection=Selection(limit=6))
    folder = choose_folder(plan, None, {"known/model": {"known": "known/model"}})
    run(plan, folder, KnownModel(consolidation_oracle(plan.cases)))
    assert choose_folder(plan, None, {"known/model": {"known": "known/model"}}) != folder


def test_replies_of_other_questions_are_refused(isolated):
    plan = planned("consolidation", "known/model", selection=Selection(limit=6))
    folder = isolated / "run"
    run(plan, folder, KnownModel(consolidation_oracle(plan.cases)))
    lines = (folder / "replies.jsonl").read_text().splitlines()
    changed = [json.dumps({**json.loads(line), "request_hash": "0" * 64}) for line in lines]
    (folder / "replies.jsonl").write_text("\n".join(changed) + "\n")
    with pytest.raises(RunError, match="not what would be sent now"):
        scored(plan, folder)


# ---- scenarios ----


def scenario_oracle(scenarios):
    """Finds in the session on which it rests last each memory of the end; decides ADD. It knows no retired statement."""
    due = {}
    for scenario in scenarios:
        for memory in scenario.final:
            session = scenario.sessions[max(memory.sessions)]
            due.setdefault(session.messages[0]["content"].splitlines()[0], []).append(memory.content)

    def answer(messages):
        if not is_extraction(messages):
            facts, _ = offered(messages)
            return decisions(*((number, "ADD", None, None, []) for number in range(1, len(facts) + 1)))
        turn = messages[-1]["content"]
        found = next((contents for first, contents in due.items() if first in turn), [])
        return json.dumps([{"content": content, "salience": 0.9} for content in found], ensure_ascii=False)

    return answer


def test_a_scenario_is_played_to_its_end_and_an_oracle_keeps_all_of_it(isolated):
    plan = planned("scenario", "known/model", selection=Selection(limit=3))
    model = KnownModel(scenario_oracle(plan.cases))
    cell = row(plan, isolated / "run", model)
    assert value(cell, "recall") > 0.97  # two labels that the lexical matcher takes for one leave one over
    assert value(cell, "lost_rate") < 0.03
    assert value(cell, "calls_per_session") == pytest.approx(len(model.asked) / cell.total("sessions"))
    assert cell.total("sessions") == sum(len(case.sessions) for case in plan.cases)
    assert cell.total("tokens") == 120 * len(model.asked)


def test_a_mute_extractor_and_one_that_keeps_everything_both_score_badly(isolated):
    plan = planned("scenario", "known/model", selection=Selection(limit=3))
    assert value(row(plan, isolated / "mute", KnownModel(lambda messages: "[]")), "balanced") == 0
    baselines = planned("scenario", "baseline/verbatim+always-add", "baseline/silent+always-add", selection=Selection(limit=3))
    for cell in baselines.cells:
        folder = isolated / cell.model.replace("/", "-")
        one = planned("scenario", cell.model, selection=Selection(limit=3))
        found = row(one, folder, PlayedBaseline("scenario", cell.model))
        assert value(found, "calls_per_session") == 0
        assert (value(found, "recall") == 0) == ("silent" in cell.model)


@pytest.mark.parametrize("name", ["baseline/rules+always-add", "baseline/rules+nearest-update"])
def test_a_session_tells_which_memories_it_wrote_updated_or_saw_again(name):
    told = ["I live in Tartu.", "I am allergic to latex.", "I live in Tartu!"]
    sessions = [Session(date=f"2024-02-1{n}", messages=({"role": "user", "content": text},)) for n, text in enumerate(told)]
    found = PlayedBaseline("scenario", name).play(Scenario(id="s", split="dev", language="en", sessions=tuple(sessions), final=()))
    assert [session.memories for session in found.sessions] == {
        "baseline/rules+always-add": [("m1",), ("m2",), ("m1",)],
        "baseline/rules+nearest-update": [("m1",), ("m1",), ("m1",)],
    }[name]


@pytest.mark.parametrize("calls", [1, 4, 9, 14])
def test_an_interrupted_run_goes_on_to_the_same_end(isolated, calls):
    plan = planned("scenario", "known/model", selection=Selection(limit=2))
    whole = KnownModel(scenario_oracle(plan.cases))
    run(plan, isolated / "whole", whole)
    stopped = KnownModel(scenario_oracle(plan.cases), interrupt_after=calls)
    with pytest.raises(StoppedError):
        run(plan, isolated / "parts", stopped)
    rest = KnownModel(scenario_oracle(plan.cases))
    run(plan, isolated / "parts", rest)
    assert records_of(isolated / "parts") == records_of(isolated / "whole")
    assert len(rest.asked) <= len(whole.asked) - calls + whole.concurrency  # of what was in flight at the most
    first, second = (scored(plan, isolated / name).cells[0] for name in ("whole", "parts"))
    assert first.totals == second.totals


def test_a_limit_of_calls_stops_within_a_scenario_and_the_next_command_goes_on(isolated):
    plan = planned("scenario", "known/model", selection=Selection(limit=1))
    budget = Budget(Limits(calls=3))
    run(plan, isolated / "run", KnownModel(scenario_oracle(plan.cases)), budget=budget)
    assert "--max-calls 3" in budget.stopped
    assert [entry.kind for entry in scored(plan, isolated / "run").cells[0].missing] == ["missing"]
    run(plan, isolated / "run", KnownModel(scenario_oracle(plan.cases)))
    assert not scored(plan, isolated / "run").cells[0].missing


def test_a_failed_call_ends_its_scenario_only(isolated):
    plan = planned("scenario", "known/model", selection=Selection(limit=2))
    oracle = scenario_oracle(plan.cases)
    last = plan.cases[0].sessions[-1].date
    answer = lambda messages: refused(messages) if is_extraction(messages) and last in messages[-1]["content"] else oracle(messages)  # noqa: E731
    run(plan, isolated / "run", KnownModel(answer))
    cell = scored(plan, isolated / "run").cells[0]
    assert [entry.case for entry in cell.failed] == [plan.cases[0].id]
    assert [result.case.id for result in cell.cases] == [plan.cases[1].id]
    again = KnownModel(oracle)
    run(plan, isolated / "run", again, retry_errors=True)
    assert not scored(plan, isolated / "run").cells[0].failed
    assert len(again.asked) <= 2  # the last session alone


def test_replies_come_from_the_cache_too(isolated):
    plan = planned("scenario", "known/model", selection=Selection(limit=1))
    with ReplyCache(isolated / "replies.sqlite") as cache:
        run(plan, isolated / "first", KnownModel(scenario_oracle(plan.cases)), cache=cache)
        second = KnownModel(scenario_oracle(plan.cases))
        run(plan, isolated / "second", second, cache=cache)
    assert second.asked == []
    assert records_of(isolated / "first") == records_of(isolated / "second")


def test_the_manifest_tells_the_setup_and_scoring_reads_it(isolated):
    plan = planned("scenario", "known/model", policies=("recall+nearest-update",), selection=Selection(limit=1))
    run(plan, isolated / "run", KnownModel(lambda messages: '{"memories": []}'))
    manifest = read_manifest(isolated / "run")
    assert manifest["task"] == "scenario"
    (setup,) = manifest["policies"].values()
    assert (setup["name"], setup["rule"], setup["consolidation"]) == ("recall+nearest-update", "nearest-update", None)
    assert scored(plan, isolated / "run").cells[0].label == "known/model@recall+nearest-update"


def test_facts_without_salience_go_through_a_host_and_are_decided_on_in_one_call(isolated):
    """Of every session two facts, of which the second takes the place of what the session before said."""
    plan = planned("scenario", "known/model", policies=("recall+default",), selection=Selection(limit=1))
    count = [0]

    def answer(messages):
        if is_extraction(messages):
            count[0] += 1
            return json.dumps({"memories": [{"content": f"The user saw bird number {count[0]}"}, {"content": f"Tally: {count[0]}"}]})
        facts, memories = offered(messages)
        old = next((place for place, one in enumerate(memories, 1) if one.startswith("Tally")), None)
        return decisions((1, "ADD", None, None, []), (2, "UPDATE", old, facts[1], []) if old else (2, "ADD", None, None, []))

    run(plan, isolated / "run", model := KnownModel(answer))
    sessions = len(plan.cases[0].sessions)
    cell = scored(plan, isolated / "run").cells[0]
    assert len(model.asked) == 2 * sessions - 1  # nothing to decide on at first
    assert (cell.total("calls"), cell.total("facts"), cell.total("live")) == (len(model.asked), 2 * sessions, sessions + 1)
    live = [entry.content for entry in cell.cases[0].outcome.predictions]
    assert f"Tally: {sessions}" in live
    assert "Tally: 1" not in live


@pytest.mark.parametrize(
    ("task", "model", "policy", "says"),
    [
        ("consolidation", "baseline/rules", "default", "baseline/always-add"),
        ("scenario", "baseline/rules", "default", r"baseline/EXTRACTOR\+RULE"),
        ("consolidation", "known/model", "embedded-default", "no consolidation policy named"),
        ("scenario", "known/model", "default+nothing", "nearest-update"),
        ("scenario", "known/model", "nothing+default", "no policy named"),
    ],
)
def test_names_that_do_not_exist_are_errors(task, model, policy, says):
    opened = (lambda: PlayedBaseline(task, model)) if model.startswith("baseline/") else (lambda: planned(task, model, policies=(policy,)))
    with pytest.raises(WorkbenchError, match=says):
        opened()


def test_rows_are_compared_and_gated(isolated):
    plan = planned("consolidation", "known/model")
    sides = []
    for name, answer in (
        ("oracle", consolidation_oracle(plan.cases)),
        ("delete", lambda messages: decisions((1, "DELETE", 1, offered(messages)[0][0], []))),
    ):
        sides.append(row(plan, isolated / name, KnownModel(answer), by=("language",)))
    comparison = compare(side_of(sides[0]), side_of(sides[1]), by=("language",))
    assert comparison.figure("macro_f1").difference.high < 0
    assert comparison.wins == 0
    assert comparison.losses > 20
    verdict = gate(comparison, sides[1], (), GateConfig(), shipped=False)
    assert verdict.ruling == "fail"
    assert "macro_f1 changed by" in verdict.words
    again = gate(compare(side_of(sides[0]), side_of(sides[0])), sides[0], (), GateConfig(), shipped=False)
    assert again.ruling == "pass", again.words

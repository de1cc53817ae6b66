"""Optimisers: what their options may be, that none takes more calls than it says, and that each returns what it scored best."""

from dataclasses import replace

import pytest

from evals.errors import WorkbenchError
from evals.limits import Budget
from evals.tune.engine import Desk, Engine
from evals.tune.optimizers import OPTIMIZERS, Sizes, optimizer_named, options_for
from evals.tune.writers import Variants
from salience import Policy, read_reply
from tests.evals.tune.tuning_models import SMALL, VARIANTS, knowing, make_cases, setup

MORE = {
    "labeled": {"candidates": 9, "examples": 5},
    "bootstrap-rs": {"candidates": 7, "examples": 6, "bootstrapped": 5},
    "mipro": {"candidates": 6, "trials": 9, "examples": 4, "bootstrapped": 4},
    "copro": {"breadth": 5, "depth": 3, "temperature": 0.5},
    "gepa": {"metric_calls": 151, "minibatch": 5},
    "simba": {"batch": 9, "candidates": 4, "steps": 4, "examples": 3},
    "infer-rules": {"candidates": 5, "rules": 3, "examples": 5, "bootstrapped": 4},
}


def test_options_are_the_defaults_overlaid():
    copro = OPTIMIZERS["copro"]
    assert options_for(copro, []) == copro.options
    assert options_for(copro, ["depth=3", "temperature=0"]) == {"breadth": 4, "depth": 3, "temperature": 0.0}
    assert options_for(copro, ["depth=3", "depth=5"])["depth"] == 5
    assert copro.options == {"breadth": 4, "depth": 2, "temperature": 1.0}


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("labeled", "depth=3", "--option 'depth=3' is none of labeled; write NAME=VALUE with one of candidates=8, examples=8"),
        ("labeled", "candidates", "--option 'candidates' is none of labeled"),
        ("labeled", "", "--option '' is none of labeled"),
        ("labeled", "Candidates=3", "is none of labeled"),
        ("labeled", "candidates=", "--option candidates must be a whole number from 1 up, got ''"),
        ("labeled", "candidates=x", "whole number from 1 up, got 'x'"),
        ("labeled", "candidates=0", "whole number from 1 up, got '0'"),
        ("labeled", "candidates=-4", "whole number from 1 up, got '-4'"),
        ("labeled", "candidates=2.5", "whole number from 1 up, got '2.5'"),
        ("labeled", "candidates=1000000", "whole number from 1 up, got '1000000'"),
        ("labeled", "candidates=1=2", "got '1=2'"),
        ("copro", "temperature=-0.1", "--option temperature must be a number from 0 up, got '-0.1'"),
        ("copro", "temperature=nan", "got 'nan'"),
        ("copro", "temperature=inf", "got 'inf'"),
        ("copro", "breadth=1", "breadth=1 must be 2 or more: one of them is the prompt as it is"),
        ("mipro", "candidates=1", "candidates=1 must be 2 or more"),
        ("bootstrap-rs", "bootstrapped=9", "bootstrapped=9 must be at most examples=8, which it is part of"),
        ("mipro", "examples=2", "bootstrapped=3 must be at most examples=2"),
    ],
)
def test_options_that_are_none(name, given, told):
    with pytest.raises(WorkbenchError) as caught:
        options_for(OPTIMIZERS[name], [given])
    assert told in str(caught.value)


def test_an_optimizer_by_name():
    assert optimizer_named("gepa") is OPTIMIZERS["gepa"]
    with pytest.raises(WorkbenchError, match=r"there is no optimiser 'Gepa'; there are: labeled, .* \(salience tune --list\)"):
        optimizer_named("Gepa")


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_smallest_options_can_be_run(optimizer, tmp_path):
    least = {name: 1 for name in OPTIMIZERS[optimizer].options}
    least |= {name: value for name, value in (("breadth", 2), ("metric_calls", 20)) if name in least}
    if optimizer == "mipro":
        least["candidates"] = 2
    made = setup("extraction", optimizer, options=options_for(OPTIMIZERS[optimizer], [f"{name}={value}" for name, value in least.items()]))
    found = made.search(tmp_path / "log")
    assert found.ledger.tried
    assert made.spent.asked <= most(made)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_few_cases_are_enough(optimizer, tmp_path):
    made = setup("extraction", optimizer, cases=make_cases("extraction", train=3, dev=2), options=OPTIMIZERS[optimizer].options)
    if optimizer == "gepa":
        made.options = {**made.options, "metric_calls": 40}
    found = made.search(tmp_path / "log")
    assert found.ledger.whole()
    assert made.spent.asked <= most(made)


def most(made):
    """What is said before a search that it may take."""
    with Desk(None, Budget()) as desk:
        sizes = made.searching(Engine(made.model, desk)).sizes()
    optimizer = OPTIMIZERS[made.optimizer]
    written = 0 if made.writer is not None else optimizer.most_written(made.options)
    return optimizer.most_calls(sizes, made.options) + sizes.dev + written


@pytest.mark.parametrize("options", [SMALL, MORE], ids=["small", "more"])
@pytest.mark.parametrize("task", ["extraction", "consolidation"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_no_search_takes_more_calls_than_it_says(optimizer, task, options, tmp_path):
    """Also without a cache, where equal requests are sent again."""
    made = setup(task, optimizer, options=options[optimizer], cases=make_cases(task, train=14, dev=9))
    made.search(tmp_path / "log")
    assert made.spent.calls <= made.spent.asked <= most(made)
    if made.writer is not None:
        assert 0 < made.writer.engine.answered <= OPTIMIZERS[optimizer].most_written(made.options)


@pytest.mark.parametrize("optimizer", ["simba", "infer-rules"])
def test_the_model_itself_writes_where_there_is_no_writer(optimizer, tmp_path):
    """What it writes goes out as DSPy asks for it, and counts as calls of the model."""
    made = setup("extraction", optimizer, variants=None)
    task, told = made.model.answer, []
    variants = Variants(VARIANTS)

    def answer(messages, heat, seed):
        if "Your output fields are:" in messages[0]["content"]:
            told.append(messages)
            return variants._answer("\n".join(message["content"] for message in messages))
        return task(messages, heat, seed)

    made.model.answer = answer
    found = made.search(tmp_path / "log", cache=tmp_path / "replies.sqlite")
    assert told
    assert any(one.policy.system != made.base.system for one in found.ledger.tried.values())
    assert made.spent.calls == len(made.model.sent) <= most(made)
    own = [request for request in made.model.sent if "Your output fields are:" not in request.messages[0]["content"]]
    assert len(own) == made.spent.calls - len(told)


def returned(made, tmp_path, monkeypatch):
    """Search, and return the program that the optimiser returned beside what was found."""
    optimizer, kept = OPTIMIZERS[made.optimizer], []

    def start(search):
        kept.append(optimizer.start(search))
        kept.append(search.student.policy())
        return kept[0]

    monkeypatch.setitem(OPTIMIZERS, made.optimizer, replace(optimizer, start=start))
    found = made.search(tmp_path / "log")
    program, student = kept
    assert student == made.base  # what it began from was not written into
    return found, program.policy()


RULES = "Rules:\n"


@pytest.mark.parametrize("winner", [0, 1, 2])
def test_infer_rules_returns_the_text_that_scored_best(winner, tmp_path, monkeypatch):
    """DSPy's own writes every candidate's rules into one signature, and returns the last text with the best one's score."""
    rules = [f"Rule {number} {'HARBOUR' if number == winner else 'airport'}." for number in range(3)]
    made = setup("extraction", "infer-rules", answer=lambda golds: knowing(golds, "HARBOUR"), variants=rules)
    found, policy = returned(made, tmp_path, monkeypatch)
    assert policy.system == f"{made.base.system}\n\n{RULES}{rules[winner]}"
    assert found.best.policy.hash == policy.hash
    assert found.best.objective(found.ledger.dev) > 0
    tried = [one.policy.system for one in found.ledger.whole() if one is not found.base]
    assert tried == [f"{made.base.system}\n\n{RULES}{rule}" for rule in rules]


@pytest.mark.parametrize("task", ["extraction", "consolidation"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_program_that_is_returned_has_the_best_score_of_its_own(optimizer, task, tmp_path, monkeypatch):
    made = setup(task, optimizer, base=Policy(system="Keep it.", name="b") if task == "extraction" else None)
    found, policy = returned(made, tmp_path, monkeypatch)
    ledger = found.ledger
    mine = ledger.tried[policy.hash]
    own = [one for one in ledger.whole() if one is not found.base or optimizer not in ("labeled", "infer-rules")]
    texts = list(ledger.dev)
    if optimizer == "copro":
        texts += [text for text in mine.judged if text not in texts]
    assert mine in own
    assert mine.objective(texts) >= max(one.objective(texts) for one in own) - 1e-4  # DSPy rounds to a hundredth of a percent


def test_draws_of_labelled_cases_differ_and_come_back_with_the_seed(tmp_path):
    draws = []
    for seed in (0, 0, 1):
        made = setup("extraction", "labeled", seed=seed, options={"candidates": 6, "examples": 3})
        found = made.search(tmp_path / "log")
        draws.append([one.policy.examples for one in found.ledger.tried.values() if one is not found.base])
    assert draws[0] == draws[1] != draws[2]
    assert len(set(draws[0])) == 6
    assert all(len(examples) == 3 for examples in draws[0])
    golds = {case.turn().text: made.task.gold(case, made.base) for case in made.splits.train}
    assert all(golds[example.turn.text] == example.reply for examples in draws[0] for example in examples)


@pytest.mark.parametrize("optimizer", ["bootstrap-rs", "mipro", "simba", "infer-rules"])
def test_a_reply_becomes_an_example_only_if_it_is_perfect(optimizer, tmp_path):
    made = setup("extraction", optimizer, options={"examples": 2, "bootstrapped": 2})
    found = made.search(tmp_path / "log")
    golds = {case.turn().text: {memory.content for memory in case.memories} for case in made.splits.train}
    shown = [example for one in found.ledger.tried.values() for example in one.policy.examples]
    assert shown
    for example in shown:
        reading = read_reply(example.reply)
        assert {item.content for item in reading.items} == golds[example.turn.text]
        assert reading.status in ("ok", "empty")


def test_the_table_is_whole():
    for name, one in OPTIMIZERS.items():
        assert one.name == name
        assert one.writer in {"needed", "optional", "none"}
        assert one.most_calls(Sizes(100, 40, 60), one.options) > 0
        assert (one.most_written(one.options) > 0) == (one.writer != "none")
        assert set(SMALL[name]) == set(MORE[name]) == set(one.options)

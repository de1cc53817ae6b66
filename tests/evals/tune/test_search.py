"""A search: silence never wins, what is better is found, a dead writer is no result, and what is interrupted ends as if it had not been."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from evals.errors import CallError, WorkbenchError
from evals.limits import Limits
from evals.tune.optimizers import OPTIMIZERS
from evals.tune.search import rank
from evals.tune.stops import BudgetSpent, Outage, SearchBroken
from evals.tune.tasks import figures_of
from evals.tune.writers import variants_lm
from tests.evals.tune.tuning_models import VARIANTS, Scripted, base_policy, digest, knowing, moody, setup, wire

ROOT = Path(__file__).parents[3]
MAGIC = "HARBOUR"
TASKS = ("extraction", "consolidation")


def mute(golds):
    return lambda messages, heat, seed: "[]"


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_silence_scores_nothing_and_never_wins(optimizer, tmp_path):
    made = setup("extraction", optimizer, answer=mute)
    found = made.search(tmp_path / "log")
    assert len(found.ledger.tried) > 1 or optimizer in ("simba", "infer-rules")  # these learn from what differs, or from what is right
    assert all(judged.score == 0 for one in found.ledger.tried.values() for judged in one.judged.values())
    assert all(one.objective(found.ledger.dev) == 0 for one in found.ledger.whole())
    assert (found.gained, found.best, found.set_aside) == (False, found.base, ())


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_base_that_talks_is_not_beaten_by_silence(optimizer, tmp_path):
    """The base invents; everything else is mute, which has the better objective and the better specificity, and is no gain."""

    def answer(golds):
        base = base_policy("extraction").system
        return lambda messages, *_: (
            '[{"content": "The user is made of glass", "salience": 0.9}]' if messages[0]["content"] == base else "[]"
        )

    made = setup("extraction", optimizer, answer=answer)
    found = made.search(tmp_path / "log")
    assert not found.gained
    assert all(
        one.objective(found.ledger.dev) > found.base.objective(found.ledger.dev) for one in found.ledger.whole() if one is not found.base
    )


@pytest.mark.parametrize("reply", ["", "I keep nothing.", "["])
@pytest.mark.parametrize("task", TASKS)
def test_a_model_that_cannot_be_read_never_wins(task, reply, tmp_path):
    made = setup(task, "copro", answer=lambda golds: lambda *_: reply)
    found = made.search(tmp_path / "log")
    assert not found.gained
    assert len({one.objective(found.ledger.dev) for one in found.ledger.whole()}) == 1
    if task == "extraction":
        assert found.base.objective(found.ledger.dev) < 0


@pytest.mark.parametrize("place", [0, 2])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("optimizer", ["copro", "gepa", "mipro", "simba", "infer-rules"])
def test_the_text_that_helps_is_found(optimizer, task, place, tmp_path):
    variants = [f"Variant {number} says {MAGIC if number == place else 'nothing'}." for number in range(3)]
    options = {"mipro": {"candidates": 4, "trials": 12}, "simba": {"steps": 5, "candidates": 3}}.get(optimizer, {})
    answer = planted if optimizer == "simba" else lambda golds: knowing(golds, MAGIC)
    made = setup(task, optimizer, answer=answer, variants=variants, options=options)
    found = made.search(tmp_path / "log")
    assert found.gained
    assert f"Variant {place} says {MAGIC}." in found.best.policy.system
    assert found.best.objective(found.ledger.dev) > max(0, found.base.objective(found.ledger.dev))
    assert rank(found.ledger, found.best) == max(rank(found.ledger, one) for one in found.ledger.whole())
    assert found.ledger.dev_figures(found.best) == pytest.approx(
        figures_of(made.task, [found.best.judged[text].counts for text in found.ledger.dev]), nan_ok=True
    )
    assert (found.accepted >= 1, found.set_aside) == (True, ())


def planted(golds):
    """Right with the magic word; without it right once in a while where an optimiser explores, so that there is something to learn from."""
    known = knowing(golds, MAGIC)

    def answer(messages, heat, seed):
        lucky = heat is not None and digest([messages[-1]["content"], seed])[0] < 90
        return golds[messages[-1]["content"]] if lucky else known(messages, heat, seed)

    return answer


@pytest.mark.parametrize("where", ["system", "turns"])
@pytest.mark.parametrize("task", TASKS)
def test_the_examples_that_help_are_found(task, where, tmp_path):
    first = "train-2" if task == "extraction" else "train-4"
    made = setup(task, "labeled", base=base_policy(task, examples_as=where), options={"candidates": 8, "examples": 2})
    case = next(one for one in made.splits.train if one.id == first)
    shown = made.task.text(case)
    golds = {made.task.text(one): made.task.gold(one, made.base) or "[]" for one in [*made.splits.train, *made.splits.dev]}
    made.model.answer = knowing(golds, shown)
    found = made.search(tmp_path / "log")
    assert found.gained
    assert shown in [text for text, _ in made.task.shown(found.best.policy)]
    assert found.best.policy.system == made.base.system


@pytest.mark.parametrize("optimizer", ["copro", "gepa", "mipro"])
@pytest.mark.parametrize("task", TASKS)
def test_a_writer_that_gives_back_the_base_is_no_result(optimizer, task, tmp_path):
    made = setup(task, optimizer)
    made.writer = variants_lm([made.base.system])
    with pytest.raises(SearchBroken, match=r"the writer brought nothing: \d+ answers and no prompt out of them was tried") as caught:
        made.search(tmp_path / "log")
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "reply", ["I cannot do that.", "", "[[ ## proposed_instruction ## ]]\n[[ ## new_instruction ## ]]", '{"new_instruction": ""}']
)
@pytest.mark.parametrize("optimizer", ["copro", "gepa", "mipro"])
def test_a_writer_that_cannot_be_read_is_no_result(optimizer, reply, tmp_path):
    made = setup("extraction", optimizer, writing=Scripted(lambda *_: reply, name="writer/model"))
    with pytest.raises(SearchBroken, match=f"{optimizer} failed|the writer brought nothing"):
        made.search(tmp_path / "log", cache=tmp_path / "replies.sqlite")
    assert 0 < len(made.writing.sent) <= OPTIMIZERS[optimizer].most_written(made.options)


@pytest.mark.parametrize("kind", ["connection", "too_long", "auth"])
@pytest.mark.parametrize("optimizer", ["copro", "gepa", "mipro", "simba", "infer-rules"])
def test_a_writer_that_cannot_be_asked_is_an_outage(optimizer, kind, tmp_path):
    made = setup("extraction", optimizer, writing=Scripted(lambda *_: CallError(kind, "not today"), name="writer/model"))
    with pytest.raises(Outage, match="writer/model: not today"):
        made.search(tmp_path / "log")


@pytest.mark.parametrize("optimizer", ["copro", "gepa", "mipro"])
def test_a_writer_that_is_needed_is_asked_for_first(optimizer, tmp_path):
    made = setup("extraction", optimizer, variants=None)
    with pytest.raises(WorkbenchError, match=f"{optimizer} needs a writer: --writer MODEL, or --variants FILE"):
        made.search(tmp_path / "log")
    assert made.model.sent == []


def outcome(found):
    """All that a search came to; in which order candidates came up is not part of it."""
    scores = {key: {text: one.score for text, one in tried.judged.items()} for key, tried in found.ledger.tried.items()}
    return found.best.policy.hash, scores, [(one.policy.hash, why) for one, why in found.set_aside]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_same_seed_finds_the_same_with_one_thread_or_many(optimizer, task, tmp_path):
    found = [outcome(setup(task, optimizer, threads=threads, seed=3).search(tmp_path / "log")) for threads in (1, 3)]
    assert found[0] == found[1]


def writing(golds=None):
    """A writer whose every answer is another text, in the form that is asked for."""
    return Scripted(
        lambda messages, heat, seed: variants_lm([f"{VARIANTS[seed % 5]} No. {digest(messages[-1]['content'])[0]}."]).engine._answer(
            "\n".join(message["content"] for message in messages)
        ),
        name="writer/model",
    )


@pytest.mark.parametrize(
    ("optimizer", "model", "share"),
    [*((name, False, 0.3) for name in OPTIMIZERS), *((name, True, 0.8) for name, one in OPTIMIZERS.items() if one.writer != "none")],
)
def test_a_search_that_was_stopped_goes_on_and_ends_as_if_it_had_not_been(optimizer, model, share, tmp_path):
    def made():
        return setup("extraction", optimizer, threads=2, **({"writing": writing()} if model else {}))

    whole, first, second = made(), made(), made()
    wanted = whole.search(tmp_path / "log", cache=tmp_path / "whole.sqlite")

    def sent(one):
        return len(one.model.sent) + len(one.writing.sent if model else [])

    limit = int(sent(whole) * share)
    with pytest.raises(BudgetSpent, match=f"--max-calls {limit}"):
        first.search(tmp_path / "log", cache=tmp_path / "replies.sqlite", limits=Limits(calls=limit))
    assert sent(first) == limit
    found = second.search(tmp_path / "log", cache=tmp_path / "replies.sqlite")
    assert outcome(found) == outcome(wanted)
    assert sent(second) == sent(whole) - limit


SCRIPT = textwrap.dedent("""
    import sys
    from pathlib import Path
    from salience import Request
    from tests.evals.tune.tuning_models import setup, wire
    folder, delay = Path(sys.argv[1]), float(sys.argv[2])
    made = setup("extraction", "mipro", threads=3)
    made.model.delay = delay
    chat = made.model.chat
    async def noted(messages, *, schema, max_tokens, temperature, seed):
        with (folder / "sent").open("ab") as file:
            file.write(wire(Request(tuple(messages), schema, max_tokens, temperature)) + b"\\n")
        return await chat(messages, schema=schema, max_tokens=max_tokens, temperature=temperature, seed=seed)
    made.model.chat = noted
    found = made.search(folder / "log", cache=folder / "replies.sqlite")
    print(found.best.policy.hash, len(found.ledger.tried))
""")


def started(folder, delay):
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(folder), str(delay)], cwd=ROOT, stdout=subprocess.PIPE, text=True)


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


def test_a_process_that_is_killed_loses_only_what_was_in_flight(tmp_path):
    killed, kill_after = started(tmp_path, 0.05), 30
    until = time.monotonic() + 100
    while len(lines(tmp_path / "sent")) < kill_after and time.monotonic() < until and killed.poll() is None:
        time.sleep(0.01)
    os.kill(killed.pid, signal.SIGKILL)
    assert killed.wait(30) == -signal.SIGKILL
    killed.stdout.close()
    before = len(lines(tmp_path / "sent"))
    assert kill_after <= before
    resumed = started(tmp_path, 0.0)
    told = resumed.communicate(timeout=200)[0]
    whole = setup("extraction", "mipro", threads=3)
    found = whole.search(tmp_path / "log", cache=tmp_path / "other.sqlite")
    assert (resumed.returncode, told) == (0, f"{found.best.policy.hash} {len(found.ledger.tried)}\n")
    sent, wanted = lines(tmp_path / "sent"), [wire(one).decode("ascii") for one in whole.model.sent]
    assert set(sent) == set(wanted)
    assert before < len(wanted) == len(set(wanted))
    assert len(sent) - len(set(sent)) <= 3  # sent in both runs: at the most what the threads had in flight


def test_a_ledger_is_written_with_every_candidate(tmp_path):
    made = setup("extraction", "gepa")
    found = made.search(tmp_path / "log")
    names = {made.task.text(case): case.id for case in [*made.splits.train, *made.splits.dev]}
    found.ledger.write(tmp_path / "candidates.jsonl", made.base, lambda policy: [names[text] for text, _ in made.task.shown(policy)])
    rows = [json.loads(line) for line in (tmp_path / "candidates.jsonl").read_text(encoding="ascii").splitlines()]
    assert [row["number"] for row in rows] == list(range(len(found.ledger.tried)))
    assert rows[0]["what"] == "the base itself"
    assert {row["hash"] for row in rows} == set(found.ledger.tried)
    for row in rows:
        tried = found.ledger.tried[row["hash"]]
        assert (row["system"], row["cases"]) == (tried.policy.system, len(tried.judged))
        assert (row["objective"] is None) == (tried not in found.ledger.whole()) == (row["n"] == 0)


def test_what_an_optimizer_prints_goes_to_the_log(tmp_path, capsys):
    told = []
    made = setup("extraction", "bootstrap-rs", answer=moody)
    searching = made.searching
    made.searching = lambda engine: with_tell(searching(engine), told.append)
    made.search(tmp_path / "log")
    assert capsys.readouterr() == ("", "")
    assert "candidate programs found" in (tmp_path / "log").read_text(encoding="utf-8")


def with_tell(searching, tell):
    searching.tell = tell
    return searching

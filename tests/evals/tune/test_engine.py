"""How a model is asked in a search: once for equal requests, from the cache, within a budget; and what ends a search and is no score."""

import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import dspy
import pytest

from evals.cache import CacheKeys, ReplyCache
from evals.errors import CallError, ModelError, WorkbenchError
from evals.limits import Budget, Limits
from evals.matching.base import Verdict
from evals.models.calling import Retry
from evals.prices import Price
from evals.requests import request_hash
from evals.tune.adapter import lm_of
from evals.tune.engine import Desk, Engine, EngineClient
from evals.tune.ledger import Ledger
from evals.tune.modules import PolicyModule, examples_of
from evals.tune.stops import BudgetSpent, Outage, SearchBroken, TuningStopped
from salience import Request
from tests.evals.tune.tuning_models import ExactMatcher, Scripted, base_policy, setup

ROOT = Path(__file__).parents[3]


def request(text="hello", heat=None):
    return Request(({"role": "system", "content": "S"}, {"role": "user", "content": text}), None, None, heat)


def in_threads(count, work):
    """What a function returns or raises in so many threads, given their numbers."""
    found = [None] * count

    def one(number):
        try:
            found[number] = work(number)
        except BaseException as error:
            found[number] = error

    threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    return found


def test_equal_requests_in_flight_are_sent_once():
    model = Scripted(lambda messages, heat, seed: f"answer {seed}", delay=0.2)
    with Desk(None, Budget()) as desk:
        engine = Engine(model, desk)
        found = in_threads(6, lambda number: engine.ask(request("a" if number < 4 else "b")))
    assert [reply.text for reply in found] == ["answer 0"] * 6
    assert len(model.sent) == 2
    assert (engine.spent.asked, engine.spent.calls) == (6, 2)


def test_a_failure_in_flight_reaches_everybody_who_waits():
    model = Scripted(lambda messages, heat, seed: CallError("auth", "no key"), delay=0.1)
    with Desk(None, Budget()) as desk:
        engine = Engine(model, desk, retry=Retry(attempts=1))
        found = in_threads(3, lambda _: engine.ask(request()))
    assert [str(error) for error in found] == ["scripted/model: no key"] * 3
    assert all(type(error) is Outage for error in found)
    assert len(model.sent) == 1


def test_a_repeat_is_another_answer_and_each_is_asked_once(tmp_path):
    model = Scripted(lambda messages, heat, seed: f"answer {seed}")
    with Desk(tmp_path / "replies.sqlite", Budget()) as desk:
        engine = Engine(model, desk, seed=7)
        assert [engine.ask(request(heat=1.0), repeat=repeat).text for repeat in (0, 1, 2, 1)] == [
            "answer 7",
            "answer 8",
            "answer 9",
            "answer 8",
        ]
    assert model.seeds == [7, 8, 9]


@pytest.mark.parametrize("heat", [None, 0.0, 0.7])
def test_the_key_is_that_of_an_evaluation(heat, tmp_path):
    model = Scripted(lambda messages, heat, seed: "[]")
    with Desk(tmp_path / "replies.sqlite", Budget()) as desk:
        Engine(model, desk, seed=3).ask(request(heat=heat))
    key = CacheKeys(model.fingerprint).key(request_hash(request(heat=heat)), seed=None if heat == 0 else 3, repeat=0)
    with ReplyCache(tmp_path / "replies.sqlite") as cache:
        assert cache.get(key)[0].text == "[]"


@pytest.mark.parametrize("threads", [1, 4])
def test_a_second_search_asks_nothing_and_finds_the_same(threads, tmp_path):
    made = setup("extraction", "bootstrap-rs", threads=threads)
    first = made.search(tmp_path / "log", cache=tmp_path / "replies.sqlite")
    calls, asked = made.spent.calls, len(made.model.sent)
    assert calls == asked > 20
    again = setup("extraction", "bootstrap-rs", threads=threads)
    second = again.search(tmp_path / "log", cache=tmp_path / "replies.sqlite")
    assert (again.spent.calls, again.model.sent) == (0, [])
    assert second.best.policy.hash == first.best.policy.hash
    scores = [
        {key: {text: one.score for text, one in tried.judged.items()} for key, tried in found.ledger.tried.items()}
        for found in (first, second)
    ]
    assert scores[0] == scores[1]


def test_another_model_another_seed_and_another_endpoint_are_asked_anew(tmp_path):
    models = [Scripted(lambda messages, heat, seed: "[]", name=name) for name in ("one/model", "other/model")]
    with Desk(tmp_path / "replies.sqlite", Budget()) as desk:
        engines = [Engine(models[0], desk), Engine(models[1], desk), Engine(models[0], desk, seed=1)]
        for engine in engines:
            engine.ask(request())
    assert [len(model.sent) for model in models] == [2, 1]
    assert engines[0].name != engines[1].name
    assert engines[0].name.startswith("salience/one/model#")


def test_what_ends_a_search_is_no_exception_that_dspy_could_score():
    for kind in (TuningStopped, BudgetSpent, Outage, SearchBroken):
        assert issubclass(kind, BaseException)
        assert not issubclass(kind, Exception)


def evaluate(made, threads, limits=None, retry=None, price=None):
    """Put the base to every train and dev case through `dspy.Evaluate`, as optimisers do; returns score and ledger."""
    cases = [*made.splits.train, *made.splits.dev]
    with Desk(None, Budget(limits or Limits())) as desk:
        made.spent = (engine := Engine(made.model, desk, retry=retry or Retry(attempts=1), price=price)).spent
        searching = made.searching(engine)
        ledger = Ledger(made.task, [made.task.text(case) for case in cases])
        with dspy.context(lm=lm_of(engine), max_errors=1):
            found = dspy.Evaluate(
                devset=examples_of(made.task, cases, made.base), metric=searching._metric(ledger, words=False), num_threads=threads,
                display_progress=False,
            )(PolicyModule(made.task, made.base))  # fmt: skip
    return found.score, ledger


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize(
    ("limits", "told"),
    [
        (Limits(calls=5), "--max-calls 5"),
        (Limits(tokens=1800), "--max-tokens 1800: .* are used, and the next call may take"),
        (Limits(cost=0.018), "--max-cost 0.018: .* are spent"),
    ],
)
def test_a_spent_budget_ends_it_and_is_kept_to(limits, told, threads):
    made = setup("extraction", "labeled")
    with pytest.raises(BudgetSpent, match=told):
        evaluate(made, threads, limits, price=Price(10.0, 10.0, "a test"))
    spent = made.spent
    assert 0 < len(made.model.sent) == spent.calls < 19
    if limits.calls:
        assert spent.calls == 5
    assert spent.input_tokens + spent.output_tokens <= (limits.tokens or 1800)
    assert spent.cost <= (limits.cost or 1)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("after", [0, 6])
def test_a_dead_server_is_an_outage_and_no_low_score(after, threads):
    made = setup("extraction", "labeled")
    answer = made.model.answer
    made.model.answer = lambda *asked: (
        answer(*asked) if len(made.model.sent) <= after else CallError("connection", "refused", retryable=True)
    )
    with pytest.raises(Outage, match="scripted/model: refused"):
        evaluate(made, threads, retry=Retry(attempts=2, base=0.001))
    assert made.spent.calls == after


def test_a_server_that_comes_back_is_asked_again_and_nothing_is_lost():
    made, told = setup("extraction", "labeled"), []
    answer = made.model.answer

    def shaky(*asked):
        told.append(asked)
        return CallError("connection", "refused", retryable=True) if len(told) % 2 else answer(*asked)

    made.model.answer = shaky
    score, ledger = evaluate(made, 1, retry=Retry(attempts=2, base=0.001))
    assert made.spent.calls == 19
    assert score == evaluate(setup("extraction", "labeled"), 1)[0]
    assert len(next(iter(ledger.tried.values())).judged) == 19


def test_a_model_that_cannot_be_had_is_an_outage():
    made = setup("extraction", "labeled")

    async def prepare():
        raise ModelError("its weights are gone")

    made.model.prepare = prepare
    with pytest.raises(Outage, match="its weights are gone"):
        evaluate(made, 1)


class Broken(ExactMatcher):
    def score(self, pairs):
        raise ZeroDivisionError("a bug")


class Unable(ExactMatcher):
    def score(self, pairs):
        return [Verdict(None, False, "no encoder for this language") for _ in pairs]


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize(
    ("matcher", "told"),
    [(Broken(), "could not be judged: ZeroDivisionError: a bug"), (Unable(), "case '.*' cannot be matched: .*no encoder")],
)
def test_a_metric_that_fails_breaks_the_search(matcher, told, threads):
    made = setup("extraction", "labeled", matcher=matcher)
    with pytest.raises(SearchBroken, match=told):
        evaluate(made, threads)


@pytest.mark.parametrize("threads", [1, 4])
def test_a_bug_of_a_model_breaks_the_search(threads):
    made = setup("extraction", "labeled")
    made.model.answer = lambda *asked: KeyError("a bug")
    with pytest.raises(SearchBroken, match="a candidate could not be played: 'a bug'") as caught:
        evaluate(made, threads)
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize("optimizer", ["labeled", "mipro", "copro", "gepa", "simba", "bootstrap-rs", "infer-rules"])
@pytest.mark.parametrize("stop", ["budget", "outage", "metric"])
def test_no_optimizer_swallows_what_ends_a_search(optimizer, stop, tmp_path):
    """In the middle of its work, where it has candidates already."""
    made = setup("extraction", optimizer, threads=2)
    answer, limits, kind = made.model.answer, None, BudgetSpent
    if stop == "budget":
        limits = Limits(calls=20)
    elif stop == "outage":
        made.model.answer = lambda *asked: answer(*asked) if len(made.model.sent) <= 20 else CallError("connection", "refused")
        kind = Outage
    else:
        judge, kind = made.task.judge, SearchBroken

        def failing(*asked):
            if len(made.model.sent) > 20:
                raise WorkbenchError("a bug")
            return judge(*asked)

        made.task.judge = failing
    with pytest.raises(kind):
        made.search(tmp_path / "log", cache=tmp_path / "replies.sqlite", limits=limits)
    assert made.spent.calls >= 20


@pytest.mark.parametrize("task", ["extraction", "consolidation"])
def test_what_is_too_long_is_the_prompts_fault_and_the_search_goes_on(task, tmp_path):
    """With examples nothing fits: those candidates are tried to the end, score as malformed replies, and lose."""
    made = setup(task, "labeled", base=base_policy(task, examples_as="turns"))
    answer = made.model.answer
    made.model.answer = lambda messages, *rest: (
        answer(messages, *rest) if len(messages) == 2 else CallError("too_long", "beyond the context")
    )
    found = made.search(tmp_path / "log", cache=tmp_path / "replies.sqlite")
    assert found.best is found.base
    assert len(found.ledger.whole()) == 5
    for tried in found.ledger.whole():
        if tried is not found.base:
            for case in made.splits.dev:
                text = made.task.text(case)
                if made.task.asks(case):
                    assert made.played[tried.policy.hash, text].too_long
                    assert tried.judged[text].score == (-1 if task == "extraction" and case.negative else 0)
                    assert not tried.judged[text].perfect
    assert made.spent.calls == sum(made.task.asks(case) for case in made.splits.dev)


def test_an_exploring_call_is_another_answer_and_is_not_noted():
    made = setup("extraction", "labeled", base=base_policy("extraction", schema=True))
    made.model.answer = lambda messages, heat, seed: f'[{{"content": "The user {heat} {seed}", "salience": 0.9}}]'
    module, text = PolicyModule(made.task, made.base), made.task.text(made.splits.dev[1])
    with Desk(None, Budget()) as desk:
        lm = lm_of(Engine(made.model, desk))
        ledger = Ledger(made.task, [text])
        metric = made.searching(lm.engine.engine)._metric(ledger, words=False)
        example = examples_of(made.task, [made.splits.dev[1]], made.base)[0]
        for model in (lm.copy(rollout_id=2, temperature=1.0), lm.copy(rollout_id=0, temperature=0.5), lm.copy(rollout_id=3)):
            with dspy.context(lm=model):
                found = module(turn=text)
                metric(example, found)
                assert found.played.explored
        assert (ledger.tried, ledger.asked) == ({}, 3)
        with dspy.context(lm=lm.copy(temperature=0.9)):  # a temperature alone is not for exploring: production's is asked
            found = module(turn=text)
        with dspy.context(lm=lm):
            metric(example, module(turn=text))
    assert not found.played.explored
    assert list(ledger.tried) == [made.base.hash]
    assert [one.temperature for one in made.model.sent] == [1.0, 0.5, 0.0, 0.0, 0.0]
    assert made.model.seeds == [2, 0, 3, 0, 0]


def test_exploring_answers_of_an_optimizer_are_not_in_its_ledger(tmp_path):
    made = setup("extraction", "simba")
    found = made.search(tmp_path / "log")
    assert made.explored
    assert {heat for one in made.model.sent if (heat := one.temperature) is not None} == {1.0}
    assert sum(len(one.judged) for one in found.ledger.tried.values()) == len(made.played)
    for (key, text), played in made.played.items():
        tried = found.ledger.tried[key]
        assert tried.judged[text].feedback == made.task.judge(tried.policy, made.task.case(text), played).feedback


def test_a_client_keeps_what_it_asked_and_was_answered():
    model = Scripted(lambda messages, heat, seed: "[]")
    with Desk(None, Budget()) as desk:
        client = EngineClient(Engine(model, desk))
        client.chat(request().messages, schema={"type": "array"}, max_tokens=5, temperature=0.5)
    assert client.requests == model.sent == [Request(request().messages, {"type": "array"}, 5, 0.5)]
    assert ([reply.text for reply in client.replies], client.explores) == (["[]"], False)


def test_a_search_that_ends_leaves_no_thread_waiting(tmp_path):
    """Threads of an evaluation may have calls in flight when another ends it: the process must end all the same."""
    script = textwrap.dedent("""
        import asyncio, sys
        from pathlib import Path
        from evals.errors import CallError
        from evals.tune.stops import Outage
        from tests.evals.tune.tuning_models import setup
        made = setup("extraction", "labeled", threads=4)
        async def chat(messages, **rest):
            made.model.sent.append(messages)
            await asyncio.sleep(0.1 if len(made.model.sent) == 3 else 60)
            raise CallError("connection", "gone")
        made.model.chat = chat
        try:
            made.search(Path(sys.argv[1]) / "log")
        except Outage as stop:
            print(stop)
    """)
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", script, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=50, check=False
    )
    assert (done.returncode, done.stdout) == (0, "scripted/model: gone\n")


def test_a_desk_that_is_closed_says_so():
    model = Scripted(lambda messages, heat, seed: "[]")
    with Desk(None, Budget()) as desk:
        engine = Engine(model, desk)
    with pytest.raises(TuningStopped, match="ended"):
        engine.ask(request())

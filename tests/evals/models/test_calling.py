"""Retries, waits and what a caller owes to whoever counts requests. In virtual time: nothing here depends on the machine."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from evals.errors import CallError, ModelError
from evals.models import ModelReply, ScriptedModel
from evals.models.base import Fingerprint
from evals.models.calling import Caller, Pacer, Retry
from salience.protocols import Message
from tests.evals.models.virtual_time import now, run_virtually

HI: list[Message] = [{"role": "user", "content": "hi"}]


class FakeModel:
    """Answers after some seconds what a function of the number of the request says; keeps when requests came and how many at once."""

    def __init__(self, answer: Callable[[int], CallError | None], *, latency: float = 0.0, concurrency: int = 4) -> None:
        self.name, self.concurrency = "fake", concurrency
        self.fingerprint: Fingerprint = {}
        self.answer, self.latency = answer, latency
        self.starts: list[float] = []
        self.in_flight = self.most = 0

    async def prepare(self) -> None:
        pass

    async def close(self) -> None:
        pass

    async def chat(self, messages: Sequence[Message], **options: Any) -> ModelReply:
        self.starts.append(now())
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        try:
            error = self.answer(len(self.starts))
            await asyncio.sleep(self.latency)
            if error:
                raise error
            return ModelReply("[]")
        finally:
            self.in_flight -= 1


def limited(retry_after: float | None = None) -> CallError:
    return CallError("rate-limit", "answered 429: slow", retryable=True, retry_after=retry_after, status=429)


def broken(status: int | None = 500, retry_after: float | None = None) -> CallError:
    return CallError("http", f"answered {status}: broken", retryable=True, retry_after=retry_after, status=status)


def refused() -> CallError:
    return CallError("connection", "no connection", retryable=True)


def call(model: FakeModel, **options: Any) -> ModelReply:
    async def run() -> ModelReply:
        caller = Caller(model, clock=now, **options)
        try:
            return await caller.chat(HI)
        finally:
            assert caller.pacer.in_flight == 0

    return run_virtually(run())


async def call_all(caller: Caller, calls: int, workers: int) -> list[ModelReply | CallError]:
    """Make calls as a run does: by workers, each of which makes the next when it has its answer."""
    waiting, outcomes = iter(range(calls)), []

    async def work() -> None:
        for _ in waiting:
            try:
                outcomes.append(await caller.chat(HI))
            except CallError as error:
                outcomes.append(error)

    await asyncio.gather(*[work() for _ in range(workers)])
    assert caller.pacer.in_flight == 0
    return outcomes


def test_arguments_and_reply_go_through_unchanged() -> None:
    model = ScriptedModel([ModelReply("x", "stop", 1, 2, attempts=7, fallbacks=("no-seed",), reasoning_tokens=3)])
    reply = asyncio.run(Caller(model).chat(HI, schema={"type": "array"}, max_tokens=5, temperature=0.5, seed=9))
    assert reply == ModelReply("x", "stop", 1, 2, attempts=1, fallbacks=("no-seed",), reasoning_tokens=3)
    (sent,) = model.calls
    assert (sent.messages, sent.schema, sent.max_tokens, sent.temperature, sent.seed) == (tuple(HI), {"type": "array"}, 5, 0.5, 9)


def test_back_off_doubles_and_is_bounded() -> None:
    retry = Retry(base=1.0, cap=5.0)
    for attempt, most in enumerate((1.0, 2.0, 4.0, 5.0, 5.0), 1):
        assert most / 2 <= retry.wait(attempt, None) <= most
    assert retry.wait(10_000, None) <= 5.0
    assert retry.wait(1, 7.0) == 7.0
    assert 0.5 <= retry.wait(1, 0.0) <= 1.0  # a server that asks for no wait at all is still not stormed


def test_faults_are_tried_five_times() -> None:
    model = FakeModel(lambda number: broken())
    with pytest.raises(CallError, match=r"^answered 500: broken \(after 5 attempts\)$") as caught:
        call(model)
    assert (caught.value.kind, caught.value.retryable, caught.value.attempts, caught.value.status) == ("http", True, 5, 500)
    gaps = [later - sooner for sooner, later in zip(model.starts, model.starts[1:], strict=False)]
    assert all(most / 2 <= gap <= most for gap, most in zip(gaps, (0.5, 1, 2, 4), strict=True))


def test_what_cannot_pass_is_not_tried_again() -> None:
    model = FakeModel(lambda number: CallError("auth", "no key"))
    with pytest.raises(CallError, match="^no key$"):
        call(model)
    assert len(model.starts) == 1


def test_errors_that_are_no_call_errors_come_out_as_they_are() -> None:
    for error in (ModelError("gone"), RuntimeError("bug")):

        def fail(number: int, error: Exception = error) -> None:
            raise error

        with pytest.raises(type(error), match=str(error)):
            call(FakeModel(fail))


def test_rate_limiting_is_bounded_by_patience_not_by_five() -> None:
    model = FakeModel(lambda number: limited() if number <= 12 else None)
    assert call(model, retry=Retry(base=0.1)).attempts == 13
    model = FakeModel(lambda number: limited())
    with pytest.raises(CallError, match="^answered 429: slow .after") as caught:
        call(model)
    assert model.starts[-1] - model.starts[0] <= 300
    assert model.starts[-1] - model.starts[0] >= 300 - 30
    assert caught.value.attempts == len(model.starts)
    model = FakeModel(lambda number: limited())
    with pytest.raises(CallError, match="after 50 attempts"):
        call(model, retry=Retry(base=0.01, cap=0.02, patience=1e6))


def test_rate_limiting_does_not_use_up_the_attempts_for_other_faults() -> None:
    model = FakeModel(lambda number: None if number == 20 else broken() if number % 5 == 0 else limited())
    assert call(model, retry=Retry(base=0.01)).attempts == 20


@pytest.mark.parametrize("error", [limited(8.0), broken(503, 8.0), broken(529, 8.0)])
def test_retry_after_holds_every_call_of_the_model(error: CallError) -> None:
    model = FakeModel(lambda number: error if number == 1 else None, latency=0.1)
    run_virtually(call_all(Caller(model, clock=now), 40, 4))
    first = model.starts[0]
    assert model.starts[:4] == [first] * 4  # these were under way
    assert min(model.starts[4:]) == pytest.approx(first + 8.1)


def test_retry_after_of_another_fault_holds_its_own_call_only() -> None:
    model = FakeModel(lambda number: broken(500, 8.0) if number == 1 else None, latency=0.1)
    run_virtually(call_all(Caller(model, clock=now), 40, 4))
    assert model.starts[4] == pytest.approx(model.starts[0] + 0.1)
    assert model.starts[-1] == pytest.approx(model.starts[0] + 8.1)


def test_who_is_asked_to_wait_too_long_fails_at_once_and_holds_nobody() -> None:
    model = FakeModel(lambda number: limited(3600.0) if number == 2 else None, latency=0.1)
    outcomes = run_virtually(call_all(Caller(model, clock=now), 20, 4))
    (error,) = [outcome for outcome in outcomes if isinstance(outcome, CallError)]
    assert str(error) == "answered 429: slow (it asks to wait 3600 s, which is longer than 300 s)"
    assert (error.retryable, error.retry_after, error.attempts) == (True, 3600.0, 1)
    assert model.starts[-1] - model.starts[0] < 60


def test_a_call_that_waits_holds_no_slot() -> None:
    model = FakeModel(lambda number: broken() if number == 1 else None, latency=0.001, concurrency=1)
    outcomes = run_virtually(call_all(Caller(model, clock=now), 100, 2))
    assert len(outcomes) == 100
    assert model.most == 1
    assert outcomes.index(next(reply for reply in outcomes if isinstance(reply, ModelReply) and reply.attempts == 2)) > 50


@pytest.mark.parametrize("concurrency", [1, 3, 16])
def test_requests_in_flight_never_exceed_the_limit(concurrency: int) -> None:
    model = FakeModel(lambda number: limited() if number % 7 == 0 else broken() if number % 5 == 0 else None, concurrency=concurrency)
    model.latency = 0.01
    outcomes = run_virtually(call_all(Caller(model, retry=Retry(attempts=50, patience=1e6), clock=now), 200, 50))
    assert model.most == concurrency
    assert all(isinstance(outcome, ModelReply) for outcome in outcomes)


def test_callers_share_a_pacer() -> None:
    async def run() -> int:
        pacer = Pacer(2, clock=now)
        model = FakeModel(lambda number: None, latency=1)
        callers = [Caller(model, pacer=pacer, clock=now) for _ in range(3)]
        await asyncio.gather(*[caller.chat(HI) for caller in callers for _ in range(3)])
        return model.most

    assert run_virtually(run()) == 2


def test_an_outage_is_no_storm() -> None:
    model = FakeModel(lambda number: refused(), concurrency=32)
    outcomes = run_virtually(call_all(Caller(model, clock=now), 200, 32))
    assert all(isinstance(outcome, CallError) and outcome.attempts == 5 for outcome in outcomes)
    assert len(model.starts) == 200 * 5
    first = model.starts[0]
    for second in range(2, 100):  # 32 / 4 starts a second; without pacing it were about 28
        assert sum(first + second <= start < first + second + 1 for start in model.starts) <= 10


def test_after_an_outage_calls_run_as_before() -> None:
    async def run() -> tuple[FakeModel, list[ModelReply | CallError]]:
        begin = now()
        model = FakeModel(lambda number: refused() if 1 < now() - begin < 60 else None, latency=0.05, concurrency=16)
        return model, await call_all(Caller(model, clock=now), 2000, 16)

    model, outcomes = run_virtually(run())
    assert sum(isinstance(outcome, CallError) for outcome in outcomes) < 60
    assert len(model.starts) < 2000 + 60 * 5
    assert model.starts[-1] - model.starts[0] < 60 + 2000 * 0.05 / 16 + 10


def test_before_attempt_comes_before_each_request() -> None:
    model = FakeModel(lambda number: broken() if number < 4 else None)
    seen: list[int] = []

    async def run() -> None:
        await Caller(model, clock=now).chat(HI, before_attempt=lambda: seen.append(len(model.starts)))

    run_virtually(run())
    assert seen == [0, 1, 2, 3]


def test_what_before_attempt_raises_comes_out_untouched_and_frees_the_slot() -> None:
    model = FakeModel(lambda number: broken())
    spent = CallError("budget", "no more")
    left = [None, None]

    def spend() -> None:
        if not left:
            raise spent
        left.pop()

    async def run() -> Caller:
        caller = Caller(model, clock=now)
        with pytest.raises(CallError) as caught:
            await caller.chat(HI, before_attempt=spend)
        assert caught.value is spent
        return caller

    assert run_virtually(run()).pacer.in_flight == 0
    assert len(model.starts) == 2


@pytest.mark.parametrize("after", [0.0, 0.5, 1.0, 1.3, 2.0, 5.0])
def test_cancelled_calls_leave_the_pacer_right(after: float) -> None:
    async def run() -> None:
        model = FakeModel(lambda number: limited(2.0) if number == 3 else broken() if number % 2 else None, latency=1, concurrency=3)
        caller = Caller(model, clock=now)
        tasks = [asyncio.create_task(caller.chat(HI)) for _ in range(12)]
        await asyncio.sleep(after)
        for task in tasks[::2]:
            task.cancel()
        await asyncio.sleep(after)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert caller.pacer.in_flight == 0
        model.answer = lambda number: None
        await asyncio.gather(*[caller.chat(HI) for _ in range(6)])
        assert (caller.pacer.in_flight, model.in_flight) == (0, 0)

    run_virtually(run())


def test_a_sleep_that_does_not_wait_does_not_hang() -> None:
    async def no_sleep(seconds: float) -> None:
        pass

    model = FakeModel(lambda number: limited(100.0) if number < 10 else None)

    async def run() -> ModelReply:
        return await Caller(model, retry=Retry(patience=1e6), sleep=no_sleep, clock=lambda: 0.0).chat(HI)

    assert run_virtually(run()).attempts == 10


def test_a_caller_says_what_it_uses() -> None:
    model, retry = ScriptedModel([]), Retry(attempts=2)
    caller = Caller(model, retry=retry)
    assert (caller.model, caller.retry, caller.pacer.maximum) == (model, retry, 1)


def test_scripted_faults_are_tried_again() -> None:
    errors: Mapping[str, CallError] = {"timeout": CallError("timeout", "slow", retryable=True), "rate": limited()}
    model = ScriptedModel([*errors.values(), "[]"])
    assert asyncio.run(Caller(model, retry=Retry(base=0.001)).chat(HI)).attempts == 3

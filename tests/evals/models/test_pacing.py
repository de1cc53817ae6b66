"""The pacer against servers with limits, in virtual time. The figures are bounds that a good pacer keeps, not what this one happens to do."""

import asyncio
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from evals.errors import CallError
from evals.models import ModelReply
from evals.models.calling import Caller
from evals.models.pacing import Pacer
from evals.models.rate_evidence import RateEvidence
from tests.evals.models.test_calling import FakeModel, call_all, limited
from tests.evals.models.virtual_time import now, run_virtually


@contextmanager
def clocked() -> Iterator[tuple[Callable[[], float], list[float]]]:
    time = [100.0]
    yield (lambda: time[0]), time


def take(pacer: Pacer, count: int) -> list[int]:
    """Take so many tickets, all of which must be free."""

    async def run() -> list[int]:
        return [await asyncio.wait_for(pacer.acquire(), 1) for _ in range(count)]

    return asyncio.run(run())


def test_the_limit_is_halved_once_for_all_that_was_under_way() -> None:
    pacer = Pacer(8)
    tickets = take(pacer, 8)
    for ticket in tickets[:5]:
        pacer.limited(ticket)
    assert pacer.limit == 4
    (later,) = take(pacer, 1)  # three of the first are under way still
    pacer.limited(tickets[5])
    assert pacer.limit == 4
    pacer.limited(later)
    assert pacer.limit == 2
    for ticket in tickets[6:]:
        pacer.release(ticket)
    assert pacer.in_flight == 0


def test_the_limit_grows_by_one_for_as_many_answers_up_to_the_maximum() -> None:
    pacer = Pacer(8)
    pacer.limited(*take(pacer, 1))
    pacer.rate, pacer._gated = None, False
    for limit, answers in ((4, 4), (5, 5), (6, 6)):
        assert pacer.limit == pytest.approx(limit, abs=0.4)
        for _ in range(answers):
            pacer.succeeded(*take(pacer, 1))
    for _ in range(50):
        pacer.succeeded(*take(pacer, 1))
    assert pacer.limit == 8


def test_the_limit_is_never_under_one() -> None:
    pacer = Pacer(2)
    for _ in range(5):
        pacer.rate, pacer._gated = None, False
        pacer.limited(*take(pacer, 1))
    assert pacer.limit == 1


def test_a_limit_under_one_is_refused() -> None:
    with pytest.raises(ValueError, match="limit must be a whole number from 1 up, got 0"):
        Pacer(0)


def test_after_a_429_the_rate_is_under_what_was_answered() -> None:
    with clocked() as (clock, time):
        pacer = Pacer(4, clock=clock)
        for _ in range(50):  # 10 a second for 5 s
            (ticket,) = take(pacer, 1)
            time[0] += 0.1
            pacer.succeeded(ticket)
        for ticket in take(pacer, 4):
            pacer.limited(ticket)
        assert pacer.rate == pytest.approx(7, rel=0.05)


def test_single_429s_among_many_answers_are_no_reason_to_slow_down() -> None:
    evidence = RateEvidence()
    for _ in range(60):
        evidence.add(False)
    evidence.add(True)
    assert not evidence.objects(10.0, is_limited=False)
    evidence.add(True)
    evidence.add(True)
    assert evidence.objects(10.0, is_limited=False)


def bucket(rate: float, burst: float, retry_after: float | None = None) -> Callable[[int], CallError | None]:
    """Return a server's rule: so many requests a second, and a few more at once."""
    tokens, last = burst, 0.0

    def answer(number: int) -> CallError | None:
        nonlocal tokens, last
        tokens, last = min(burst, tokens + (now() - last) * rate), now()
        if tokens < 1:
            return limited(retry_after)
        tokens -= 1
        return None

    return answer


def run_calls(make: Callable[[], FakeModel], calls: int) -> tuple[FakeModel, list[ModelReply | CallError], float]:
    async def run() -> tuple[FakeModel, list[ModelReply | CallError], float]:
        model, begin = make(), now()
        outcomes = await call_all(Caller(model, clock=now), calls, model.concurrency)
        return model, outcomes, now() - begin

    return run_virtually(run())


@pytest.mark.parametrize("concurrency", [4, 16, 128])
@pytest.mark.parametrize("retry_after", [None, 1.0])
def test_a_server_with_requests_per_second(concurrency: int, retry_after: float | None) -> None:
    model, outcomes, seconds = run_calls(lambda: FakeModel(bucket(5, 5, retry_after), latency=0.01, concurrency=concurrency), 500)
    assert all(isinstance(outcome, ModelReply) for outcome in outcomes)
    assert len(model.starts) <= 500 * 1.1 + 1.5 * concurrency
    assert seconds <= 500 / 5 * 1.3


@pytest.mark.parametrize("retry_after", [True, False])
def test_a_server_with_requests_per_minute(retry_after: bool) -> None:
    def make() -> FakeModel:
        seen: dict[int, int] = {}

        def answer(number: int) -> CallError | None:
            minute = int(now() // 60)
            seen[minute] = seen.get(minute, 0) + 1
            return limited(60 - now() % 60 if retry_after else None) if seen[minute] > 60 else None

        return FakeModel(answer, latency=0.5, concurrency=16)

    model, outcomes, seconds = run_calls(make, 300)
    assert all(isinstance(outcome, ModelReply) for outcome in outcomes)
    assert len(model.starts) <= 300 * (1.15 if retry_after else 1.8)
    assert seconds <= 5 * 60


@pytest.mark.parametrize("allowed", [1, 8])
def test_a_server_with_requests_at_once(allowed: int) -> None:
    def make() -> FakeModel:
        model = FakeModel(lambda number: None, latency=0.05, concurrency=32)
        model.answer = lambda number: limited() if model.in_flight > allowed else None
        return model

    model, outcomes, seconds = run_calls(make, 500)
    assert all(isinstance(outcome, ModelReply) for outcome in outcomes)
    assert len(model.starts) <= 500 * 1.25 + 32
    assert seconds <= 500 * 0.05 / allowed * 2.5 + 10  # the rate comes back to what it was in 9 s


@pytest.mark.parametrize("seed", range(5))
def test_429s_that_come_at_random_do_not_end_in_a_crawl(seed: int) -> None:
    draw = random.Random(seed)
    model, outcomes, seconds = run_calls(
        lambda: FakeModel(lambda number: limited() if draw.random() < 0.05 else None, latency=0.05, concurrency=32), 2000
    )
    assert all(isinstance(outcome, ModelReply) for outcome in outcomes)
    assert seconds <= 2000 * 0.05 / 32 * 10
    assert len(model.starts) <= 2000 * 1.1


def test_the_rate_is_lifted_when_the_server_takes_more() -> None:
    async def run() -> tuple[Pacer, FakeModel]:
        begin, rule = now(), bucket(5, 5)
        model = FakeModel(lambda number: rule(number) if now() - begin < 30 else None, latency=0.05, concurrency=8)
        caller = Caller(model, clock=now)
        await call_all(caller, 5000, 8)
        return caller.pacer, model

    pacer, model = run_virtually(run())
    assert (pacer.rate, pacer.limit) == (None, 8)
    assert model.starts[-1] - model.starts[0] < 200


def test_a_call_that_is_sent_again_goes_before_new_ones() -> None:
    async def run() -> list[str]:
        pacer, order = Pacer(1, clock=now), []

        async def one(name: str, again: bool) -> None:
            ticket = await pacer.acquire(again=again)
            order.append(name)
            pacer.succeeded(ticket)

        ticket = await pacer.acquire()
        tasks = [asyncio.create_task(one(name, again)) for name, again in (("head", False), ("new", False), ("again", True))]
        await asyncio.sleep(1)
        pacer.release(ticket)
        await asyncio.gather(*tasks)
        return order

    assert run_virtually(run()) == ["head", "again", "new"]


def test_no_call_waits_for_ever_whatever_is_cancelled() -> None:
    async def run(seed: int) -> None:
        draw = random.Random(seed)
        pacer = Pacer(3, clock=now)

        async def one() -> None:
            ticket = await pacer.acquire(again=draw.random() < 0.3)
            try:
                await asyncio.sleep(draw.random())
            except asyncio.CancelledError:
                pacer.release(ticket)
                raise
            draw.choice([pacer.succeeded, pacer.limited, pacer.congested, pacer.release, pacer.answered])(ticket)
            if draw.random() < 0.1:
                pacer.hold(draw.random())

        tasks = [asyncio.create_task(one()) for _ in range(60)]
        for task in draw.sample(tasks, 30):
            await asyncio.sleep(draw.random() / 10)
            task.cancel()
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10_000)
        assert pacer.in_flight == 0

    for seed in range(100):
        run_virtually(run(seed))

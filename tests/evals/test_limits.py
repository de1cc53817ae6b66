"""Limits hold also with many calls in flight, and a stopped run says why."""

import asyncio

import pytest

from evals.errors import CallError
from evals.limits import Budget, LimitReachedError, Limits
from evals.models.base import ModelReply
from evals.prices import Price
from salience import Request

MESSAGES = [{"role": "user", "content": "x" * 184}]  # 184 / 2 + 8 = 100 tokens are set aside for it


async def enter(budget, price=None, max_tokens=100):
    return await budget.enter(Request(tuple(MESSAGES), None, max_tokens, None), price)


def test_without_limits_nothing_is_set_aside():
    budget = Budget()
    assert asyncio.run(enter(budget)) is None
    for _ in range(1000):
        budget.sending()
    budget.failed(1000, 1000)
    assert (budget.calls, budget.stopped) == (1000, "")


def test_half_a_character_is_counted_like_any_other():
    budget = Budget(Limits(tokens=500))
    broken = Request(({"role": "user", "content": "\ud83d" * 100},), None, 100, None)
    reserve = asyncio.run(budget.enter(broken, None))
    assert reserve.tokens == 100 * 3 // 2 + 8 + 100  # three bytes each, as in WTF-8


def test_requests_are_counted_and_the_one_too_many_is_not_sent():
    budget = Budget(Limits(calls=2))
    budget.sending()
    budget.sending()
    with pytest.raises(LimitReachedError, match="--max-calls 2"):
        budget.sending()
    assert budget.calls == 2
    with pytest.raises(LimitReachedError):
        asyncio.run(enter(budget))


def test_a_call_waits_for_what_others_have_set_aside_and_goes_on_with_what_they_leave():
    """500 tokens: two calls of at most 200 fit, a third would make 600. When one has taken only 50, it fits."""

    async def work():
        budget = Budget(Limits(tokens=500))
        first, _ = await enter(budget), await enter(budget)
        third = asyncio.create_task(enter(budget))
        await asyncio.sleep(0)
        assert not third.done()
        budget.leave(first, ModelReply("", input_tokens=40, output_tokens=10))
        assert (await third).tokens == 200
        assert budget.tokens == 50
        return budget

    assert asyncio.run(work()).stopped == ""


def test_a_call_that_cannot_fit_any_more_stops_the_run():
    async def work():
        budget = Budget(Limits(tokens=500))
        for _ in range(2):
            budget.leave(await enter(budget), ModelReply("", input_tokens=150, output_tokens=20))
        with pytest.raises(LimitReachedError, match="--max-tokens 500: 340 are used, and the next call may take 200"):
            await enter(budget)
        assert budget.stopped

    asyncio.run(work())


def test_waiting_calls_learn_that_the_run_has_stopped():
    async def work():
        budget = Budget(Limits(tokens=250))
        first = await enter(budget)
        waiting = [asyncio.create_task(enter(budget)) for _ in range(3)]
        await asyncio.sleep(0)
        budget.leave(first, ModelReply("", input_tokens=100, output_tokens=100))
        done = await asyncio.gather(*waiting, return_exceptions=True)
        assert all(isinstance(one, LimitReachedError) for one in done)

    asyncio.run(work())


def test_money_is_counted_at_the_price_and_never_overspent():
    """$3 a million in and $10 out: a call of 100 + 100 tokens may cost $0.0013, so of $0.003 two fit."""
    price = Price(3.0, 10.0, "test")

    async def work():
        budget = Budget(Limits(cost=0.003))
        two = [await enter(budget, price), await enter(budget, price)]
        third = asyncio.create_task(enter(budget, price))
        await asyncio.sleep(0)
        assert not third.done()
        for one in two:
            budget.leave(one, ModelReply("", input_tokens=100, output_tokens=100))
        with pytest.raises(LimitReachedError, match=r"--max-cost 0.003: \$0.0026 are spent"):
            await third
        assert budget.cost == pytest.approx(0.0026)

    asyncio.run(work())


def test_a_failed_call_frees_what_it_had_and_an_untold_one_counts_it():
    async def work():
        budget = Budget(Limits(tokens=300))
        budget.leave(await enter(budget), None)
        assert budget.tokens == 0
        budget.leave(await enter(budget), ModelReply("", input_tokens=None, output_tokens=3))
        assert (budget.tokens, budget.guessed) == (200, 1)

    asyncio.run(work())


@pytest.mark.parametrize(("failures", "stops"), [(1, False), (2, False), (3, True)])
def test_failures_stop_the_run_as_soon_as_the_share_is_passed_for_certain(failures, stops):
    budget = Budget(Limits(error_rate=0.2))
    budget.failed(failures, 10)
    assert bool(budget.stopped) is stops


def test_a_call_that_failed_after_an_answer_began_counts_what_was_set_aside_for_each_attempt():
    async def work():
        budget = Budget(Limits(tokens=10_000))
        budget.leave(await enter(budget), None, CallError("bad-reply", "x", attempts=3))
        assert (budget.tokens, budget.guessed) == (600, 1)
        budget.leave(await enter(budget), None, CallError("rate-limit", "x", attempts=3))
        assert budget.tokens == 600

    asyncio.run(work())


def test_without_a_limit_on_replies_the_longest_one_so_far_is_set_aside():
    async def work():
        budget = Budget(Limits(tokens=20_000))
        first = await enter(budget, max_tokens=None)
        assert first.tokens == 100 + 1024
        budget.leave(first, ModelReply("", input_tokens=300, output_tokens=5000))
        assert (await enter(budget, max_tokens=None)).tokens == 100 + 5000

    asyncio.run(work())

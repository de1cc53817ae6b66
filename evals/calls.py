"""The calls of one row of a run -> replies in the run file. Which rows there are is up to `evals.run`; nothing is scored here.

A call that fails is recorded with its reason and is never an empty answer. Every reply is in the run file before the next is asked for
by the same worker. Resuming asks for what has no record. A call that has failed is asked again only where the user says so, so that a
resumed run equals an uninterrupted one, or where its cell has no answer at all, as then the server or the key was wrong.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Protocol

import msgspec

from evals.cache import CacheKeys, ReplyCache
from evals.cases import Case
from evals.errors import CallError, IncompleteError
from evals.limits import Budget, LimitReachedError
from evals.models.base import Baseline, Model, ModelReply
from evals.models.calling import Caller
from evals.plan import Cell, Plan
from evals.prices import Price
from evals.requests import RequestHasher, input_hash
from evals.runindex import RunIndex
from evals.runlog import Failure, Record, RunLog
from salience import Request, RequestBuilder, build_requests

GIVE_UP_AFTER = 5
"""If so many calls of a cell have failed and none has succeeded, the run stops: the server or the key is wrong, not the cases."""
GIVE_UP_IN_A_ROW = 50
"""If so many calls in a row have failed, the run stops: the server is gone."""
_COLLECT_AFTER = 50_000
"""Objects between two looks of the cycle collector during calls; with Python's own 700 it costs a tenth of a call's CPU."""


class Progress(Protocol):
    """Is told of every record.

    1. `begin` is called once a cell, with how many replies it is to have and how many are there already.
    2. `advance` is called after a record is written; `last` says whether it is the last one of its case.
    """

    def begin(self, cell: Cell, total: int, done: int, price: Price | None) -> None:
        """A cell starts."""
        ...

    def advance(self, record: Record, case: Case, *, last: bool) -> None:
        """A record was written."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What a run works with.

    Attributes:
        models: An opened model or baseline for every model name of the plan; whoever opened them closes them.
        runner: Where calls are made; connections of a model belong to its event loop.
        progress: Is told of every record.
        cache: Where replies are looked up and kept, or None.
        jobs: How many calls at once at the most; None for what suits each model.
        budget: What the run may use, and afterwards why it stopped.
        prices: By model name; None where it is not known.
        retry_errors: Whether calls that have failed are asked again.
    """

    models: Mapping[str, Model | Baseline]
    runner: asyncio.Runner
    progress: Progress
    cache: ReplyCache | None = None
    jobs: int | None = None
    budget: Budget = field(default_factory=Budget)
    prices: Mapping[str, Price | None] = field(default_factory=dict)
    retry_errors: bool = False


class CellRun:
    """The calls of one cell."""

    def __init__(self, plan: Plan, row: int, caller: Caller | Baseline, index: RunIndex, log: RunLog, desk: Desk) -> None:
        self.plan, self.row, self.cell = plan, row, plan.cells[row]
        self.caller, self.index, self.log, self.desk = caller, index, log, desk
        self.price = desk.prices.get(self.cell.model)
        self.answered = index.any_answered(row)
        self.again = desk.retry_errors or not self.answered
        self.failed = self.in_a_row = self.running = 0  # calls of this invocation
        self.failed_slots = set() if self.again else index.failed(row)
        self.last_error = ""
        self.ended = asyncio.Event()
        self.hasher, self.policy_hash = RequestHasher(), self.cell.policy_hash
        self.preparing, self.prepared = asyncio.Lock(), False

    def run(self) -> None:
        """Ask for what is lacking."""
        done = self.done()
        self.desk.progress.begin(self.cell, self.plan.total, done, self.price)
        if done == self.plan.total:
            return
        waiting = self.todo()
        if isinstance(self.caller, Baseline):
            for case, _, repeat in waiting:
                self.write(_baseline_record(self.cell, self.caller, case, repeat), case, 0, last=True)
        else:
            with _seldom_collecting():
                self.desk.runner.run(self.ask_all(waiting, self.caller))

    def done(self) -> int:
        """How many cases, each repeat counted, have all their replies."""
        repeats, count = range(self.plan.config.repeats), len(self.plan.cases)
        if self.cell.policy is not None and self.cell.splits:
            parts = [len(build_requests(self.cell.policy, case.turn())) for case in self.plan.cases]
            return sum(
                not any(self.wanted(place, repeat, part) for part in range(parts[place])) for place in range(count) for repeat in repeats
            )
        return sum(not self.wanted(place, repeat, 0) for place in range(count) for repeat in repeats)

    def todo(self) -> Iterator[tuple[Case, int, int]]:
        """Every case, its place and the repeat for which something may be lacking."""
        for place, case in enumerate(self.plan.cases):
            for repeat in range(self.plan.config.repeats):
                if self.cell.splits or self.wanted(place, repeat, 0):
                    yield case, place, repeat

    def wanted(self, place: int, repeat: int, part: int) -> bool:
        """Whether a part is to be asked for."""
        return not self.index.has(self.row, place, repeat, part, answered=self.again)

    async def ask_all(self, waiting: Iterator[tuple[Case, int, int]], caller: Caller) -> None:
        """Ask for all that waits, several at once.

        Raises:
            IncompleteError: The first calls, or many in a row, all failed.
        """
        if self.desk.budget.bounded:  # what a server refuses is found out by one call, and not paid for by all in flight
            await self.work(islice(waiting, 1), caller)
        limit = caller.model.concurrency if self.desk.jobs is None else min(self.desk.jobs, caller.model.concurrency)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(max(1, min(limit, self.plan.total))):
                    group.create_task(self.work(waiting, caller))
        except ExceptionGroup as error:
            raise error.exceptions[0] from None

    async def work(self, waiting: Iterator[tuple[Case, int, int]], caller: Caller) -> None:
        """Ask for one case after the other, until none is left or a limit is reached."""
        policy = self.cell.policy
        if policy is None:
            raise TypeError(f"{self.cell.model} needs a policy")
        builder, keys = RequestBuilder(policy), CacheKeys(caller.model.fingerprint)
        for case, place, repeat in waiting:
            lacking = list(enumerate(builder.parts(case.turn())))
            if self.cell.splits:  # of a whole turn `todo` knows already that it is lacking
                lacking = [(part, one) for part, one in lacking if self.wanted(place, repeat, part)]
            for part, request in lacking:
                self.running += 1
                try:
                    blank = Record(model=self.cell.model, policy=self.policy_hash, case=case.id, repeat=repeat, part=part)
                    record, key, reply = await self.ask(request, caller, blank, keys)
                except LimitReachedError:
                    return
                finally:
                    self.running -= 1
                self.write(record, case, place * self.plan.config.repeats + repeat, last=part == lacking[-1][0])
                if self.desk.cache and reply is not None:
                    self.desk.cache.put(key, reply, record.seconds)
                if self.failed:
                    await self.go_on()
            if self.desk.budget.stopped:
                return

    async def ask(self, request: Request, caller: Caller, blank: Record, keys: CacheKeys) -> tuple[Record, str, ModelReply | None]:
        """The record of a call, its key in the cache, and the reply where it is new."""
        hashed, seed = self.hasher.hash(request), self.plan.config.seed
        key = keys.key(hashed, seed=None if request.temperature == 0 else seed, repeat=blank.repeat)
        found = self.desk.cache.get(key) if self.desk.cache else None
        if found:
            return _with_reply(blank, hashed, found[0], found[1], cached=True), key, None
        budget = self.desk.budget
        reserve = await budget.enter(request, self.price)
        reply, failed = None, None
        try:
            await self.prepare(caller.model)
            started = time.perf_counter()
            try:
                reply = await _chat(caller, request, seed + blank.repeat, budget)
            except CallError as error:
                seconds, failed = time.perf_counter() - started, error
                failure = Failure(error.kind, storable(str(error)))
                return (
                    msgspec.structs.replace(blank, error=failure, seconds=seconds, request_hash=hashed, attempt=error.attempts),
                    key,
                    None,
                )
            seconds = time.perf_counter() - started
        finally:
            budget.leave(reserve, reply, failed)
        return _with_reply(blank, hashed, reply, seconds, cached=False), key, reply

    async def prepare(self, model: Model) -> None:
        """Prepare the model once, and only now: what the cache answers needs neither weights nor server.

        Those that wait go on one by one, so that the first requests are sent while others are still made.
        """
        if not self.prepared:
            async with self.preparing:
                if not self.prepared:
                    await model.prepare()
                    self.prepared = True

    def write(self, record: Record, case: Case, slot: int, *, last: bool) -> None:
        """Write a record, and tell whoever watches."""
        self.log_record(record, slot)
        self.desk.progress.advance(record, case, last=last)

    def log_record(self, record: Record, slot: int) -> None:
        """Write a record, and count how calls go."""
        self.log.append(record)
        if record.answered:
            self.answered, self.in_a_row = True, 0
        else:
            self.failed, self.in_a_row = self.failed + 1, self.in_a_row + 1
            self.last_error = record.error.message if record.error else ""
            self.failed_slots.add(slot)
            self.desk.budget.failed(len(self.failed_slots), self.plan.total)
        self.ended.set()

    async def go_on(self) -> None:
        """Where the calls that have ended speak against going on, wait for those in flight; one that succeeds speaks for it.

        Raises:
            IncompleteError: None did.
        """
        while (self.failed >= GIVE_UP_AFTER and not self.answered) or self.in_a_row >= GIVE_UP_IN_A_ROW:
            if not self.running:
                raise self.gone()
            self.ended.clear()
            await self.ended.wait()

    def gone(self) -> IncompleteError:
        """Say that going on would only fail more calls."""
        if self.answered:
            what, how = f"{self.in_a_row} calls in a row have failed", "repeat the command with --retry-errors"
        else:
            what, how = f"the first {self.failed} calls all failed", "repeat the command"
        return IncompleteError(f"{self.cell.label}: {what}; the last one: {self.last_error} (nothing is lost: mend it and {how})")


@contextmanager
def _seldom_collecting() -> Iterator[None]:
    """Let the cycle collector leave alone what is loaded by now, and look seldom at what calls leave behind, which holds few cycles."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


async def _chat(caller: Caller, request: Request, seed: int, budget: Budget) -> ModelReply:
    reply = await caller.chat(
        request.messages, schema=request.schema, max_tokens=request.max_tokens, temperature=request.temperature, seed=seed,
        before_attempt=budget.sending,
    )  # fmt: skip
    text = storable(reply.text)
    return reply if text is reply.text else replace(reply, text=text)


def storable(text: str) -> str:
    r"""Text with lone surrogates, which no UTF-8 file can hold, written out as `\udXXX`."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text


def _with_reply(blank: Record, hashed: str, reply: ModelReply, seconds: float, *, cached: bool) -> Record:
    return msgspec.structs.replace(
        blank, reply=reply.text, finish_reason=reply.finish_reason, input_tokens=reply.input_tokens, output_tokens=reply.output_tokens,
        reasoning_tokens=reply.reasoning_tokens, reasoning_only=reply.reasoning_only, fallbacks=reply.fallbacks,
        seconds=seconds, request_hash=hashed, attempt=reply.attempts, cached=cached,
    )  # fmt: skip


def _baseline_record(cell: Cell, baseline: Baseline, case: Case, repeat: int) -> Record:
    started = time.perf_counter()
    text = baseline.reply(case)
    seconds = time.perf_counter() - started
    return Record(
        model=cell.model, policy="", case=case.id, repeat=repeat, reply=text, seconds=seconds, request_hash=input_hash(case),
        seam="baseline",
    )  # fmt: skip

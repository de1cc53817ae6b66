"""Cases x models x policies -> replies in the run file. Nothing is scored here.

A call that fails is recorded with its reason and is never an empty answer. Every reply is in the run file before the next is asked for
by the same worker; resuming asks only for what has no answer.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from evals.cache import ReplyCache, cache_key
from evals.cases import Case
from evals.errors import CallError, IncompleteError
from evals.models.base import Baseline, Model, ModelReply
from evals.plan import Cell, Plan, manifest_of
from evals.requests import baseline_hash, request_hash
from evals.runlog import MANIFEST, Failure, Record, RunLog, latest, read_records, write_json
from salience import Reply, Request, build_request

GIVE_UP_AFTER = 5
"""If so many calls of a cell have failed and none has succeeded, the run stops: the server or the key is wrong, not the cases."""


class Progress(Protocol):
    """Is told of every record.

    1. `begin` is called once a cell, with how many calls it has and how many are done already.
    2. `advance` is called after a record is written.
    """

    def begin(self, cell: Cell, total: int, done: int) -> None:
        """A cell starts."""
        ...

    def advance(self, record: Record) -> None:
        """A record was written."""
        ...


def run_plan(
    plan: Plan,
    folder: Path,
    models: Mapping[str, Model | Baseline],
    *,
    runner: asyncio.Runner,
    cache: ReplyCache | None,
    jobs: int | None,
    progress: Progress,
) -> None:
    """Ask for every reply that the run folder does not hold yet. Models stay open; whoever opened them closes them.

    Args:
        plan: What to run.
        folder: The run folder; made if it does not exist.
        models: An opened model or baseline for every model name of the plan.
        runner: Where calls are made; connections of a model belong to its event loop.
        cache: Where replies are looked up and kept, or None.
        jobs: How many calls at once at the most; None for what suits each model.
        progress: Is told of every record.

    Raises:
        RunError: The folder cannot be used.
        IncompleteError: The first calls of a cell all failed.
        KeyboardInterrupt: Ctrl-C; all that was answered is in the folder.
    """
    with RunLog(folder) as log:
        if not (folder / MANIFEST).exists():
            write_json(folder / MANIFEST, manifest_of(plan, {name: dict(model.fingerprint) for name, model in models.items()}))
        have = {key for key, record in latest(read_records(folder)).items() if record.answered}
        for cell in plan.cells:
            todo = [case for case in plan.cases if cell.key(case) not in have]
            progress.begin(cell, len(plan.cases), len(plan.cases) - len(todo))
            worker = _CellRun(cell, models[cell.model], plan.config.seed, cache, log, progress)
            worker.succeeded = len(plan.cases) - len(todo)
            runner.run(worker.run(todo, jobs))


class _CellRun:
    """The calls of one cell."""

    def __init__(self, cell: Cell, model: Model | Baseline, seed: int, cache: ReplyCache | None, log: RunLog, progress: Progress) -> None:
        self.cell, self.model, self.seed = cell, model, seed
        self.cache, self.log, self.progress = cache, log, progress
        self.succeeded = self.failed = 0
        self.preparing, self.prepared = asyncio.Lock(), False

    async def run(self, cases: list[Case], jobs: int | None) -> None:
        waiting = iter(cases)
        if isinstance(self.model, Baseline):
            for case in waiting:
                self.write(_baseline_record(self.cell, self.model, case))
            return
        if not cases:
            return
        limit = self.model.concurrency if jobs is None else min(jobs, self.model.concurrency)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(max(1, min(limit, len(cases)))):
                    group.create_task(self.work(waiting, self.model))
        except ExceptionGroup as error:
            raise error.exceptions[0] from None

    async def work(self, waiting: Iterator[Case], model: Model) -> None:
        for case in waiting:
            record, key, reply = await self.ask(case, model)
            self.write(record)
            if self.cache and reply is not None:
                self.cache.put(key, reply, record.seconds)

    async def ask(self, case: Case, model: Model) -> tuple[Record, str, Reply | None]:
        """The record for a case, its key in the cache, and the reply where it is new."""
        policy = self.cell.policy
        if policy is None:
            raise TypeError(f"{self.cell.model} needs a policy")
        request = build_request(policy, case.turn())
        hashed = request_hash(request)
        key = cache_key(model.fingerprint, hashed, seed=None if request.temperature == 0 else self.seed, repeat=0)
        found = self.cache.get(key) if self.cache else None
        if found:
            return _record(self.cell, case, hashed, found[0], found[1]), key, None
        async with self.preparing:  # once, and only now: what the cache answers needs neither weights nor server
            if not self.prepared:
                await model.prepare()
                self.prepared = True
        started = time.perf_counter()
        try:
            reply = await _chat(model, request, self.seed)
        except CallError as error:
            seconds = time.perf_counter() - started
            failure = Failure(error.kind, _storable(str(error)))
            cell = self.cell
            failed = Record(
                model=cell.model, policy=cell.policy_hash, case=case.id, error=failure, seconds=seconds, request_hash=hashed,
                attempt=error.attempts,
            )  # fmt: skip
            return failed, key, None
        seconds = time.perf_counter() - started
        return _record(self.cell, case, hashed, reply, seconds, attempts=reply.attempts), key, reply

    def write(self, record: Record) -> None:
        self.log.append(record)
        if record.answered:
            self.succeeded += 1
        else:
            self.failed += 1
        self.progress.advance(record)
        if self.failed >= GIVE_UP_AFTER and not self.succeeded and record.error:
            raise IncompleteError(
                f"{self.cell.label}: the first {self.failed} calls all failed; the last one: {record.error.message} "
                f"(nothing is lost: mend it and repeat the command)"
            )


async def _chat(model: Model, request: Request, seed: int) -> ModelReply:
    reply = await model.chat(
        request.messages, schema=request.schema, max_tokens=request.max_tokens, temperature=request.temperature, seed=seed
    )
    return replace(reply, text=_storable(reply.text))


def _storable(text: str) -> str:
    r"""Text with lone surrogates, which no UTF-8 file can hold, written out as `\udXXX`."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _record(cell: Cell, case: Case, hashed: str, reply: Reply, seconds: float, attempts: int | None = None) -> Record:
    """The record of a reply; without a number of attempts it came from the cache."""
    return Record(
        model=cell.model, policy=cell.policy_hash, case=case.id, reply=reply.text, finish_reason=reply.finish_reason,
        input_tokens=reply.input_tokens, output_tokens=reply.output_tokens, seconds=seconds, request_hash=hashed,
        attempt=attempts or 1, cached=attempts is None,
    )  # fmt: skip


def _baseline_record(cell: Cell, baseline: Baseline, case: Case) -> Record:
    started = time.perf_counter()
    text = baseline.reply(case)
    seconds = time.perf_counter() - started
    hashed = baseline_hash(case)
    return Record(model=cell.model, policy="", case=case.id, reply=text, seconds=seconds, request_hash=hashed, seam="baseline")

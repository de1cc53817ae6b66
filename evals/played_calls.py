"""The calls of one row whose cases are played: what is asked next may rest on what was answered before. One case is one course of calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evals.cache import CacheKeys
from evals.calls import CellRun
from evals.limits import LimitReachedError
from evals.models.base import Baseline
from evals.models.calling import Caller
from evals.playing import play
from evals.replay import FailedError, ReplayClient, replay, reply_of
from evals.runlog import Record
from salience import Reply, Request


class PlayedCellRun(CellRun):
    """The calls of one row of consolidation or of scenarios."""

    def done(self) -> int:
        """How many cases, each repeat counted, can be played to their end, or have failed and are not asked again."""
        if isinstance(self.caller, Baseline):
            return super().done()
        return self.plan.total - sum(1 for _ in self.todo())

    def todo(self) -> Iterator[tuple[Any, int, int]]:
        """Every case, its place and the repeat that cannot be played to its end from what is recorded."""
        if isinstance(self.caller, Baseline):
            yield from super().todo()
            return
        setup = self.setup
        for place, case in enumerate(self.plan.cases):
            for number in range(self.plan.config.repeats):
                played = replay(case, setup, lambda part, at=place, of=number: self.index.read(self.row, at, of, part))  # type: ignore[misc, arg-type]
                if played.result is None and (self.again or played.failure is None):
                    yield case, place, number

    @property
    def setup(self) -> Any:
        """What the row runs under."""
        if self.cell.setup is None:
            raise TypeError(f"{self.cell.model} needs a setup")
        return self.cell.setup

    async def work(self, waiting: Iterator[tuple[Any, int, int]], caller: Caller) -> None:
        """Play one case after the other, until none is left or a limit is reached."""
        keys = CacheKeys(caller.model.fingerprint)
        for case, place, number in waiting:
            course = _Course(self, case, place, number, caller, keys)
            client = ReplayClient(case.id, course.read, course.ask, self.again)
            try:
                await play(case, self.setup, client)
            except LimitReachedError:
                return
            except FailedError:
                pass
            course.tell(last=True)
            if self.failed:
                await self.go_on()
            if self.desk.budget.stopped:
                return


class _Course:
    """The calls of one case."""

    def __init__(self, row: PlayedCellRun, case: Any, place: int, number: int, caller: Caller, keys: CacheKeys) -> None:
        self.row, self.case, self.place, self.number, self.caller, self.keys = row, case, place, number, caller, keys
        self.told: Record | None = None

    def read(self, part: int) -> Record | None:
        """The record of a part that an earlier invocation left."""
        return self.row.index.read(self.row.row, self.place, self.number, part)

    async def ask(self, request: Request, part: int) -> Reply:
        """Ask, write the record, and return the reply.

        Raises:
            FailedError: The call has failed; the record says how.
            LimitReachedError: No further call may be made.
        """
        row = self.row
        blank = Record(model=row.cell.model, policy=row.policy_hash, case=self.case.id, repeat=self.number, part=part)
        self.tell(last=False)
        row.running += 1
        try:
            record, key, reply = await row.ask(request, self.caller, blank, self.keys)
        finally:
            row.running -= 1
        row.log_record(record, self.place * row.plan.config.repeats + self.number)
        if row.desk.cache and reply is not None:
            row.desk.cache.put(key, reply, record.seconds)
        self.told = record
        return reply_of(record)

    def tell(self, *, last: bool) -> None:
        """Tell whoever watches of the newest record; whether it is the last of its case is known only afterwards."""
        if self.told is not None:
            self.row.desk.progress.advance(self.told, self.case, last=last)
        self.told = None

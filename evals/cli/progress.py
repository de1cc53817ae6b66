"""Progress of a run on stderr: one line that is rewritten on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TYPE_CHECKING

from evals.cases import Case
from evals.plan import Cell
from evals.prices import Price
from evals.report.numbers import count, dollars, duration, share
from evals.report.safe import printable
from evals.runlog import Record

if TYPE_CHECKING:
    from evals.running import RunningF1

_EVERY_SECONDS = 10.0
_EVERY_SECONDS_TERMINAL = 0.25
_ENOUGH = 10
"""An F1 of fewer replies says nothing yet."""


class Silent:
    """Says nothing."""

    def begin(self, cell: Cell, total: int, done: int, price: Price | None) -> None:
        """A cell starts."""

    def advance(self, record: Record, case: Case, *, last: bool) -> None:
        """A record was written."""

    def close(self) -> None:
        """The run is over."""


class Lines:
    """Writes done of total, errors, a rough F1, tokens, cost and time left.

    Args:
        matcher: Name of the matcher for the F1.
    """

    def __init__(self, matcher: str) -> None:
        self.matcher = matcher
        self.terminal = sys.stderr.isatty()
        self.every = _EVERY_SECONDS_TERMINAL if self.terminal else _EVERY_SECONDS
        self.label = ""
        self.price: Price | None = None
        self.total = self.done = self.errors = self.tokens = self.called = self.records = 0
        self.cost = 0.0
        self.untold = self.unfinished = False
        self.started = self.shown = 0.0
        self.f1: RunningF1 | None = None

    def begin(self, cell: Cell, total: int, done: int, price: Price | None) -> None:
        """A cell starts."""
        self.label, self.total, self.done, self.price = printable(cell.label), total, done, price
        self.errors = self.tokens = self.called = self.records = 0
        self.cost, self.untold = 0.0, False
        self.started = self.shown = time.monotonic()
        self.close()
        if cell.policy is not None:
            from evals.running import RunningF1  # loads numpy, which a quiet run does not need before its first call

            self.f1 = RunningF1(cell, self.matcher)
        else:
            self.f1 = None
        if done:
            self._write(f"{self.label}: {done} of {total} were there already", last=True)

    def advance(self, record: Record, case: Case, *, last: bool) -> None:
        """A record was written."""
        self.done += last
        self.records += 1
        self.called += last and not record.cached
        self.errors += record.error is not None
        self._count(record)
        if self.f1 is not None and not record.cached:
            self.f1.add(record, case)
        now = time.monotonic()
        finished = last and self.done >= self.total
        if finished or now - self.shown >= self.every:
            self._write(self._line(now), last=finished)
            self.shown = time.monotonic()

    def close(self) -> None:
        """The run is over, or stops."""
        if self.f1 is not None:
            self.f1.close()
        if self.unfinished:
            self.unfinished = False
            sys.stderr.write("\n")

    def _count(self, record: Record) -> None:
        if record.error is not None:
            return
        if record.input_tokens is None or record.output_tokens is None:
            self.untold = True
            return
        self.tokens += record.input_tokens + record.output_tokens
        if self.price is not None and not record.cached:
            self.cost += self.price.of(record.input_tokens, record.output_tokens)

    def _line(self, now: float) -> str:
        parts = [f"{self.label}: {self.done} of {self.total}", f"{self.errors} errors" if self.errors else ""]
        if self.records > self.done:  # a case of several calls; with few cases nothing else would move
            parts.append(f"{self.records} calls")
        if self.f1 is not None and self.f1.scored >= _ENOUGH and self.f1.value is not None:
            parts.append(f"F1 about {share(self.f1.value)} (by {self.f1.scored} replies)")
        parts.append(f"{count(self.tokens)} tokens" + (" or more" if self.untold else "") if self.tokens else "")
        if self.called and self.tokens:
            parts.append("cost unknown" if self.price is None or self.untold else dollars(self.cost) if self.cost else "")
        spent = now - self.started
        if self.done < self.total and self.called:
            parts.append(f"{duration(spent / self.called * (self.total - self.done))} left")
        elif self.done >= self.total:
            parts.append(f"{duration(spent)}" if self.called else "from the cache")
        return ", ".join(part for part in parts if part)

    def _write(self, text: str, *, last: bool) -> None:
        if self.terminal:
            columns = shutil.get_terminal_size().columns
            sys.stderr.write(f"\r\x1b[2K{text if last else text[: columns - 1]}" + ("\n" if last else ""))
            self.unfinished = not last
        else:
            sys.stderr.write(text + "\n")
        sys.stderr.flush()

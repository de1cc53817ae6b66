"""Progress of a run on stderr: one line that is rewritten on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time

from evals.plan import Cell
from evals.report.numbers import count, duration
from evals.report.safe import printable
from evals.runlog import Record

_EVERY_SECONDS = 10.0
_EVERY_SECONDS_TERMINAL = 0.2


class Silent:
    """Says nothing."""

    def begin(self, cell: Cell, total: int, done: int) -> None:
        """A cell starts."""

    def advance(self, record: Record) -> None:
        """A record was written."""


class Lines:
    """Writes done of total, errors, tokens and time left."""

    def __init__(self) -> None:
        self.terminal = sys.stderr.isatty()
        self.label = ""
        self.total = self.done = self.errors = self.tokens = self.called = 0
        self.started = self.shown = 0.0

    def begin(self, cell: Cell, total: int, done: int) -> None:
        """A cell starts."""
        self.label, self.total, self.done = printable(cell.label), total, done
        self.errors = self.tokens = self.called = 0
        self.started = self.shown = time.monotonic()
        if done:
            self._write(f"{self.label}: {done} of {total} were there already", last=True)

    def advance(self, record: Record) -> None:
        """A record was written."""
        self.done += 1
        self.called += not record.cached
        self.errors += record.error is not None
        self.tokens += (record.input_tokens or 0) + (record.output_tokens or 0)
        now = time.monotonic()
        last = self.done >= self.total
        if last or now - self.shown >= (_EVERY_SECONDS_TERMINAL if self.terminal else _EVERY_SECONDS):
            self.shown = now
            self._write(self._line(now), last=last)

    def _line(self, now: float) -> str:
        parts = [f"{self.label}: {self.done} of {self.total}", f"{self.errors} errors" if self.errors else ""]
        parts.append(f"{count(self.tokens)} tokens" if self.tokens else "")
        spent = now - self.started
        if self.done < self.total and self.called:
            parts.append(f"{duration(spent / self.called * (self.total - self.done))} left")
        elif self.done >= self.total:
            parts.append(f"{duration(spent)}" if self.called else "from the cache")
        return ", ".join(part for part in parts if part)

    def _write(self, text: str, *, last: bool) -> None:
        if self.terminal:
            sys.stderr.write(f"\r\x1b[2K{text}" + ("\n" if last else ""))
        else:
            sys.stderr.write(text + "\n")
        sys.stderr.flush()


def note(text: str) -> None:
    """Write one line to stderr."""
    print(printable(text), file=sys.stderr, flush=True)

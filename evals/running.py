"""A running F1 while replies come in: a rough figure for a person who watches, from a part of the replies.

It is not the score: that is made from the run file, over all cases. A thread scores the newest replies with the chosen matcher and rests
most of the time, so that it takes little from the run; the vectors that it computes are kept for the score.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from functools import partial

from evals.cases import Case
from evals.matching.base import Matcher, create_matcher
from evals.matching.tables import score_grids
from evals.metrics.outcomes import FALSE_POSITIVES, decide
from evals.metrics.tables import match_cases
from evals.plan import Cell
from evals.rubric import Rubric
from evals.runlog import Record
from salience import Policy, Reply, read_result

_WAITING = 64
"""Replies that wait to be scored; the oldest are passed over where more come."""
_SHARE = 0.04
"""The share of the time, of one core, that scoring may take."""


class RunningF1:
    """F1 over the replies of a cell that were scored so far.

    Args:
        cell: What the replies come from.
        matcher: Name of the matcher.

    Attributes:
        scored: How many replies were scored.
    """

    def __init__(self, cell: Cell, matcher: str) -> None:
        self._cell, self._name = cell, matcher
        self._waiting: deque[tuple[Record, Case]] = deque(maxlen=_WAITING)
        self._wake, self._stopped = threading.Condition(), False
        self._thread: threading.Thread | None = None
        self._busy = False
        self.scored = self._hits = self._false = self._missed = 0

    def add(self, record: Record, case: Case) -> None:
        """Let a reply wait to be scored; parts of a long turn are passed over, as one alone says nothing."""
        if record.reply is None or self._cell.splits or self._stopped:
            return
        with self._wake:
            self._waiting.append((record, case))
            self._wake.notify()
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="running-f1", daemon=True)
            self._thread.start()

    @property
    def value(self) -> float | None:
        """F1 so far, 0 to 1, or None where it is not defined."""
        total = 2 * self._hits + self._false + self._missed
        return 2 * self._hits / total if total else None

    def settle(self, seconds: float) -> None:
        """Wait until nothing waits any more, at most so many seconds."""
        until = time.monotonic() + seconds
        while (self._waiting or self._busy) and time.monotonic() < until:
            time.sleep(0.005)

    def close(self) -> None:
        """End the thread, after the reply that it is at."""
        with self._wake:
            self._stopped = True
            self._wake.notify()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        matcher: Matcher | None = None
        while True:
            with self._wake:
                while not self._waiting and not self._stopped:
                    self._wake.wait()
                if self._stopped:
                    return
                record, case = self._waiting.pop()
                self._busy = True
            begin = time.perf_counter()
            try:
                matcher = matcher or create_matcher(self._name)
                self._score(record, case, matcher)
            except Exception:  # a rough figure must never end a run; the score itself will say what is wrong
                self._stopped = True
                return
            finally:
                self._busy = False
            with self._wake:
                if not self._stopped and not self._waiting:
                    continue
                self._wake.wait_for(lambda: self._stopped, (time.perf_counter() - begin) * (1 / _SHARE - 1))

    def _score(self, record: Record, case: Case, matcher: Matcher) -> None:
        policy = self._cell.policy or Policy()
        candidates = read_result(policy, case.turn(), Reply(record.reply or "", record.finish_reason)).candidates
        table = match_cases([(case, candidates)], partial(score_grids, matcher))[0]
        if table.unscored is not None:
            return
        outcome = decide(case, candidates, table, threshold=policy.threshold, rubric=Rubric(), tie_margin=matcher.tie_margin)
        kinds = [one.outcome for one in outcome.predictions if one.counted]
        self._hits += kinds.count("hit")
        self._false += sum(kind in FALSE_POSITIVES for kind in kinds)
        self._missed += len(outcome.missed)
        self.scored += 1

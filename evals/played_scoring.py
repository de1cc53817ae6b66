"""One row of a run of consolidation or of scenarios -> its row of the report: cases played again from their records, judged and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Protocol

import numpy as np

from evals.cases import Case
from evals.cell_scoring import Scorer
from evals.data.dataset import Cases
from evals.errors import RunError
from evals.matching.base import Verdict
from evals.matching.tables import Grid, VerdictTables, score_grids
from evals.metrics import consolidation, consolidation_view, scenario
from evals.metrics.measures import MEASURES
from evals.metrics.outcomes import CaseOutcome
from evals.metrics.scenario_types import Played
from evals.metrics.slices import SliceTallies
from evals.metrics.tally import Floats, Tally
from evals.playing import PlayedBaseline
from evals.prices import Price
from evals.recall_cases import ConsolidationCase, Scenario
from evals.replay import Replayed, replay
from evals.requests import input_hash
from evals.results import CaseResults, CellResult, Excluded, Scored, Slice
from evals.runindex import RunIndex
from evals.runlog import Record
from evals.setups import Setup, Task
from evals.signature import Signature
from evals.stats import Interval, cluster_bootstrap
from evals.usage import Usage
from salience import ConsolidationResult

_CHUNK = 64
"""Cases whose pairs go to the matcher in one call."""
_WORST = ("too_long", "malformed", "truncated", "repaired", "ok", "empty")


@dataclass(frozen=True, slots=True)
class _Read:
    """A case that was played to its end."""

    case: Any
    place: int
    repeat: int
    result: Any
    records: tuple[Record, ...]


class _Way(Protocol):
    """How cases of a task are judged."""

    def grids(self, case: Any, result: Any) -> Sequence[Grid]:
        """Return the pairs that the matcher must judge."""
        ...

    def judged(
        self, read: _Read, verdicts: Sequence[Sequence[Verdict]], tie_margin: float
    ) -> tuple[dict[str, float], CaseOutcome, str, float]:
        """Return the counts, what reports draw, how the reply could be read, and the score of the case, 0 to 1."""
        ...

    def view(self, case: Any) -> Case:
        """Return the case as reports draw it."""
        ...


class _Decisions:
    """Consolidation: one decision a case."""

    view = staticmethod(consolidation_view.as_case)

    def grids(self, case: ConsolidationCase, result: ConsolidationResult) -> Sequence[Grid]:
        return [consolidation.grid(case, result)]

    def judged(
        self,
        read: _Read,
        verdicts: Sequence[Sequence[Verdict]],
        tie_margin: float,  # noqa: ARG002  (the seam's signature)
    ) -> tuple[dict[str, float], CaseOutcome, str, float]:
        outcome = consolidation.judge(read.case, read.result, verdicts[0])
        counts = consolidation.count(read.case, outcome, calls=read.result.calls)
        told = dict(zip(consolidation.COUNTED.columns, counts.tolist(), strict=True))
        return told, consolidation_view.as_outcome(read.case, outcome), _status(read), float(outcome.right and outcome.content is not False)


class _Memories:
    """Scenarios: what a store holds in the end."""

    view = staticmethod(scenario.as_case)

    def grids(self, case: Scenario, result: Played) -> Sequence[Grid]:
        return scenario.grids(case, result)

    def judged(
        self, read: _Read, verdicts: Sequence[Sequence[Verdict]], tie_margin: float
    ) -> tuple[dict[str, float], CaseOutcome, str, float]:
        outcome = scenario.judge(read.case, read.result, verdicts, tie_margin=tie_margin)
        tokens = [_sum([getattr(record, name) for record in read.records]) for name in ("input_tokens", "output_tokens")]
        counts = scenario.count(read.case, outcome, read.result, input_tokens=tokens[0], output_tokens=tokens[1])
        told = dict(zip(scenario.COUNTED.columns, counts.tolist(), strict=True))
        score = float(np.nan_to_num(scenario.FIGURES["balanced"](counts)))
        return told, scenario.as_outcome(read.case, outcome, read.result), _status(read), score


_WAYS: dict[str, _Way] = {"consolidation": _Decisions(), "scenario": _Memories()}


class PlayedScoring:
    """Scores one row.

    Args:
        task: "consolidation" or "scenario".
        model: The row's model.
        setup: What it ran under, None for a baseline.
        cases: The run's cases.
        scorer: How to score; rubric and support play no part.
        price: What the model's tokens cost, None where it is not known.
    """

    def __init__(self, task: Task, model: str, setup: Setup | None, cases: Cases, scorer: Scorer, price: Price | None) -> None:
        self.task, self.model, self.setup, self.cases, self.scorer = task, model, setup, cases, scorer
        self.baseline = PlayedBaseline(task, model) if setup is None else None
        self.way, self.measures = _WAYS[task], MEASURES[task]
        self.excluded: dict[str, list[Excluded]] = {name: [] for name in ("missing", "failed", "unscored")}
        self.usage, self.found = Usage(price), dict[int, tuple[object, bool]]()
        columns, conversations = self.measures.counted.columns, len(set(cases.conversations))
        self.tally, self.slices = Tally(conversations, columns), SliceTallies(scorer.by, conversations, columns)
        self.views = [self.way.view(case) for case in cases]
        self.results = CaseResults(self.views, columns)
        self.completed = bytearray(len(cases))
        self.repeats = 1

    def result(self, index: RunIndex, row: int, sign: Callable[[str, Setup | None, int, int, bool], Signature]) -> CellResult:
        """Return the row.

        Args:
            index: Finds the records of the run.
            row: Which of its rows this is.
            sign: Makes the signature from model, setup, the numbers of cases and conversations, and whether replies are lacking.

        Raises:
            RunError: What was sent for a case is not what would be sent now.
        """
        reads, self.repeats = self._reads(index, row), index.repeats
        matcher, tables = self.scorer.matcher, self.scorer.tables
        match = partial(score_grids, matcher) if tables is None else VerdictTables(matcher, tables).score
        while chunk := list(islice(reads, _CHUNK)):
            grids = [list(self.way.grids(read.case, read.result)) for read in chunk]
            verdicts = iter(match([grid for some in grids for grid in some]))
            for read, some in zip(chunk, grids, strict=True):
                self._add(read, [next(verdicts) for _ in some])
        figures = self._intervals(self.tally)
        (cost, spent), (read_tokens, written_tokens) = self.usage.costs, self.usage.tokens
        return CellResult(
            model=self.model, policy=None if self.setup is None else self.setup.name, task=self.task,
            signature=sign(self.model, self.setup, sum(self.completed), len(self.tally), bool(self.excluded["missing"])),
            figures=figures, macro_f1=figures["macro_f1"].value if "macro_f1" in figures else None, salience=None,
            cases=self.results, totals=self.tally.totals,
            failed=tuple(self.excluded["failed"]), missing=tuple(self.excluded["missing"]), unscored=tuple(self.excluded["unscored"]),
            input_tokens=read_tokens, output_tokens=written_tokens, seconds=self.usage.seconds, cached=self.usage.cached,
            cost=cost, spent=spent, fallbacks=dict(self.usage.fallbacks), reasoning_only=self.usage.reasoning_only,
            flip_rate=sum(flip for _, flip in self.found.values()) / len(self.found) if self.found else None,
            slices=tuple(
                Slice(by=by, name=name, conversations=len(tally), figures=self._intervals(tally), totals=tally.totals)
                for by, name, tally in self.slices.all()
            ),
        )  # fmt: skip

    def _reads(self, index: RunIndex, row: int) -> Iterator[_Read]:
        for place, case in enumerate(self.cases):
            for repeat in range(index.repeats):
                found = self._played(case, lambda part, at=place, of=repeat: index.read(row, at, of, part))  # type: ignore[misc]
                for record in found.records:
                    self.usage.add(record)
                if found.result is not None:
                    yield _Read(case, place, repeat, found.result, found.records)
                elif found.failure is not None:
                    self.excluded["failed"].append(Excluded(case.id, found.failure.kind, found.failure.message))
                else:
                    self.excluded["missing"].append(Excluded(case.id, "missing", "not every reply is there yet"))

    def _played(self, case: Any, read: Callable[[int], Record | None]) -> Replayed:
        if self.setup is not None:
            return replay(case, self.setup, read)
        record = read(0)
        if record is None or self.baseline is None:
            return Replayed(None, ())
        if record.request_hash != input_hash(case):
            raise RunError(f"case {case.id!r}: its messages are not those of the run; score it with the data it was made from")
        return Replayed(self.baseline.play(case), (record,))

    def _add(self, read: _Read, verdicts: Sequence[Sequence[Verdict]]) -> None:
        view = self.views[read.place]
        open_pair = next((verdict for row in verdicts for verdict in row if verdict.score is None), None)
        if open_pair is not None:
            self.excluded["unscored"].append(Excluded(view.id, "unscored", open_pair.reason))
            return
        counts, outcome, status, score = self.way.judged(read, verdicts, self.scorer.matcher.tie_margin)
        row = self.measures.counted.row({**counts, **_statuses(read, status), "score": score})
        self.tally.add(view.conversation, row, ())
        self.slices.add(view, row, ())
        self.results.append(Scored(read.place, read.repeat, status, outcome, _reply(read), tuple(row.tolist()), ()))
        self.completed[read.place] = True
        if self.repeats > 1:
            found = tuple((entry.content, entry.outcome) for entry in outcome.predictions)
            first, differs = self.found.setdefault(read.place, (found, False))
            self.found[read.place] = (first, differs or first != found)

    def _intervals(self, tally: Tally) -> dict[str, Interval]:
        counts: Floats = tally.by_conversation
        return dict(cluster_bootstrap(counts, self.measures.figures, resamples=self.scorer.resamples, seed=self.scorer.seed))


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _status(read: _Read) -> str:
    """How the replies of a case could be read: of several the worst."""
    if any(record.error is not None for record in read.records):
        return "too_long"
    result = read.result
    told = [session.status for session in result.sessions] if isinstance(result, Played) else [result.status]
    return next((one for one in _WORST if one in told), "ok")


def _statuses(read: _Read, status: str) -> dict[str, float]:
    """How often replies could be read how: of a scenario those with the facts of each session, else the one."""
    if not isinstance(read.result, Played):
        return {f"status_{status}": 1.0}
    told = Counter(f"status_{session.status}" for session in read.result.sessions if session.status != "none")
    return {name: float(number) for name, number in told.items()}


def _reply(read: _Read) -> str | None:
    """The replies of a case, one after the other, for people."""
    texts = [record.reply for record in read.records if record.reply is not None]
    return "\n\n".join(texts) if texts else None

"""What scoring a run gives: one report, a row a cell, an entry a case. Plain values; how they look is up to `evals.report`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from evals.calibration.figures import KeepFigures
from evals.calibration.grade import GradeFigures
from evals.cases import Case
from evals.metrics.counts import COLUMNS
from evals.metrics.outcomes import CaseOutcome
from evals.setups import Task
from evals.signature import Signature
from evals.spool import Lazy, Spool
from evals.stats import Interval

if TYPE_CHECKING:
    from evals.frames import Frames


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One completed case of a cell.

    Attributes:
        case: The labelled case; of other tasks than extraction the view of it that reports draw.
        repeat: Which of its repeats, from 0.
        status: How the reply could be read: one of `evals.metrics.counts.STATUSES`.
        outcome: What became of predictions and labels at the operating threshold.
        reply: The reply's text, None for an input that was too long.
        counts: The case's counts by name (`evals.metrics.measures`).
        items: Of every candidate that is a required hit or a false positive, at any salience: salience, and whether it is a hit.
    """

    case: Case
    status: str
    outcome: CaseOutcome
    reply: str | None
    counts: Mapping[str, float]
    repeat: int = 0
    items: tuple[tuple[float, bool], ...] = ()


class Scored(msgspec.Struct, frozen=True):
    """A `CaseResult` as it is kept: its case by place, its counts without their names."""

    place: int
    repeat: int
    status: str
    outcome: CaseOutcome
    reply: str | None
    counts: tuple[float, ...]
    items: tuple[tuple[float, bool], ...]


class CaseResults(Lazy[CaseResult]):
    """The completed cases of a cell, in memory while they are few."""

    def __init__(self, cases: Sequence[Case], columns: Sequence[str] = COLUMNS) -> None:
        self._cases, self._columns = cases, columns
        self._kept = Spool(Scored)

    def append(self, scored: Scored) -> None:
        """Add a completed case."""
        self._kept.append(scored)

    def one(self, index: int) -> CaseResult:
        """Return the result at an index."""
        return self._result(self._kept[index])

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[CaseResult]:
        return map(self._result, self._kept.pick(range(len(self))))

    def _result(self, scored: Scored) -> CaseResult:
        counts = dict(zip(self._columns, scored.counts, strict=True))
        return CaseResult(self._cases[scored.place], scored.status, scored.outcome, scored.reply, counts, scored.repeat, scored.items)


@dataclass(frozen=True, slots=True)
class Excluded:
    """A case that is in no figure: its call failed, is missing, or no matcher could score it."""

    case: str
    kind: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Figures over some of a cell's cases.

    Attributes:
        by: "tag", "language" or "length".
        name: Which ("negation", "de", "300 to 999").
        conversations: Conversations with a completed case in it.
        figures: As of the whole cell.
        totals: Every count over its cases, by name.
    """

    by: str
    name: str
    conversations: int
    figures: Mapping[str, Interval]
    totals: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Salience:
    """What a row's salience is worth, read as the policy gives it: behind its map where it has one.

    Attributes:
        keep: Keep-worthiness.
        grade: Salience against the labelled.
        reliability: Isotonic reliability curve: "salience" at distinct values, "kept" beside it, "count" of candidates.
        band: Where that curve lies if salience is a true probability, 95% of the time: "salience", "low", "high".
        intervals: Of "brier", "skill", "grade_mae" and "grade_bias", over conversations; {} without candidates.
    """

    keep: KeepFigures
    grade: GradeFigures
    reliability: Mapping[str, list[float]]
    band: Mapping[str, list[float]]
    intervals: Mapping[str, Interval] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """One row of the table.

    Attributes:
        model: "provider/model".
        policy: The policy's name, or None for a baseline.
        signature: What the figures depend on.
        figures: Every figure with its interval, by name; "auroc" is among them.
        macro_f1: Mean of F1 over the conversations in which it is defined, or None.
        salience: Calibration of salience, over all candidates; None for a task without.
        cases: The completed cases; with repeats each as often as it was completed.
        totals: Every count over them, by name.
        failed: Cases whose call failed, by case.
        missing: Cases without a record.
        unscored: Cases for which no suitable matcher is installed.
        input_tokens: Tokens of all requests; None if a server did not tell.
        output_tokens: Tokens of all replies; None if a server did not tell.
        seconds: Time spent in calls, added up over calls; of the original call where a reply came from the cache.
        cached: Replies that came from the cache.
        cost: US dollars of all calls, those once made for cached replies included; None where a price or a token count is unknown.
        spent: US dollars of the calls that this run made itself; None likewise.
        fallbacks: Name of what a server refused of the request -> replies that were made without it.
        reasoning_only: Replies that held reasoning and no answer.
        flip_rate: Share of the cases, 0 to 1, whose repeats differ in what they find or in having false positives; None without repeats.
        slices: The same figures by tag, language or length, where they were asked for.
        task: "extraction", "consolidation" or "scenario".
    """

    model: str
    policy: str | None
    signature: Signature
    figures: Mapping[str, Interval]
    macro_f1: float | None
    salience: Salience | None
    cases: Sequence[CaseResult]
    totals: Mapping[str, float]
    failed: tuple[Excluded, ...]
    missing: tuple[Excluded, ...]
    unscored: tuple[Excluded, ...]
    input_tokens: int | None
    output_tokens: int | None
    seconds: float
    cached: int
    cost: float | None = None
    spent: float | None = None
    fallbacks: Mapping[str, int] = field(default_factory=dict)
    reasoning_only: int = 0
    flip_rate: float | None = None
    slices: tuple[Slice, ...] = ()
    task: Task = "extraction"

    @property
    def label(self) -> str:
        """`model@policy`, or the model alone for a baseline."""
        return self.model if self.policy is None else f"{self.model}@{self.policy}"

    def total(self, name: str) -> int:
        """Return one count summed over all completed cases, 0 of what is not counted for the row's task."""
        return round(self.totals.get(name, 0.0))

    @property
    def error_rate(self) -> float:
        """Failed and missing calls as a share of all calls, 0 to 1."""
        bad = len(self.failed) + len(self.missing)
        return bad / max(1, bad + len(self.cases) + len(self.unscored))


@dataclass(frozen=True, slots=True)
class Report:
    """A scored run.

    Attributes:
        folder: The run's folder as the user named it.
        cells: One a row, in the run's order.
        notices: What a reader must know, in whole sentences.
        silver: What the labels are where they are silver, "" otherwise.
        task: "extraction", "consolidation" or "scenario".
    """

    folder: str
    cells: tuple[CellResult, ...]
    notices: tuple[str, ...] = ()
    silver: str = ""
    task: Task = "extraction"

    def to_frames(self) -> Frames:
        """Return the report as pandas frames: `runs`, `cases` and `matches` (`evals.frames`); needs pandas."""
        from evals.frames import frames_of

        return frames_of(self)

"""What scoring a run gives: one report, a row a cell, an entry a case. Plain values; how they look is up to `evals.report`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evals.cases import Case
from evals.metrics.outcomes import CaseOutcome
from evals.signature import Signature
from evals.stats import Interval


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One completed case of a cell.

    Attributes:
        case: The labelled case.
        status: How the reply could be read: one of `evals.metrics.counts.STATUSES`.
        outcome: What became of predictions and labels at the operating threshold.
        reply: The reply's text, None for an input that was too long.
        counts: The case's counts by name (`evals.metrics.counts.COLUMNS`).
    """

    case: Case
    status: str
    outcome: CaseOutcome
    reply: str | None
    counts: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Excluded:
    """A case that is in no figure: its call failed, is missing, or no matcher could score it."""

    case: str
    kind: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """One row of the table.

    Attributes:
        model: "provider/model".
        policy: The policy's name, or None for a baseline.
        signature: What the figures depend on.
        figures: Every figure with its interval, by name; "auroc" is among them.
        macro_f1: Mean of F1 over the conversations in which it is defined, or None.
        cases: The completed cases.
        failed: Cases whose call failed, by case.
        missing: Cases without a record.
        unscored: Cases for which no suitable matcher is installed.
        input_tokens: Tokens of all requests; None if a server did not tell.
        output_tokens: Tokens of all replies; None if a server did not tell.
        seconds: Time spent in calls, added up over calls; of the original call where a reply came from the cache.
        cached: Replies that came from the cache.
    """

    model: str
    policy: str | None
    signature: Signature
    figures: Mapping[str, Interval]
    macro_f1: float | None
    cases: tuple[CaseResult, ...]
    failed: tuple[Excluded, ...]
    missing: tuple[Excluded, ...]
    unscored: tuple[Excluded, ...]
    input_tokens: int | None
    output_tokens: int | None
    seconds: float
    cached: int

    @property
    def label(self) -> str:
        """`model@policy`, or the model alone for a baseline."""
        return self.model if self.policy is None else f"{self.model}@{self.policy}"

    def total(self, name: str) -> int:
        """Return one count summed over all completed cases."""
        return round(sum(result.counts[name] for result in self.cases))

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
    """

    folder: str
    cells: tuple[CellResult, ...]
    notices: tuple[str, ...] = ()

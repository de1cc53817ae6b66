"""One side of a comparison: what a scored row says of every case, from a run or from a committed baseline. Nothing is compared here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec
import numpy as np

from evals.metrics.measures import MEASURES, Measures
from evals.metrics.outcomes import FALSE_POSITIVES
from evals.metrics.slices import slices_of
from evals.results import CaseResult, CellResult
from evals.setups import Task
from evals.signature import Signature
from evals.stats.figures import Floats


class FalseMemory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A prediction that counts against an extractor: what it counts as, and what it says."""

    outcome: str
    content: str


class SideCase(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What came of a case, its repeats added up.

    Attributes:
        id: The case.
        conversation: What it belongs to.
        language: ISO 639-1 code.
        tags: Its tags.
        length: Its slice by length.
        repeats: How often it was completed.
        counts: Its counts by name (`evals.metrics.measures`), those that are not 0.
        found: Required memory -> in how many repeats it was found.
        false: The false positives, each once.
        statuses: How the replies could be read, one a repeat.
        items: Of every candidate that is a required hit or a false positive: salience, and whether it is a hit.
    """

    id: str
    conversation: str
    language: str
    tags: tuple[str, ...] = ()
    length: str
    repeats: int
    counts: dict[str, float]
    found: dict[str, int]
    false: tuple[FalseMemory, ...]
    statuses: tuple[str, ...]
    items: tuple[tuple[float, bool], ...] = ()

    def count(self, name: str) -> float:
        """Return one count, 0 where nothing was counted."""
        return self.counts.get(name, 0.0)

    @property
    def leaks(self) -> bool:
        """Whether a secret or an injected text was returned, in any repeat."""
        return bool(self.count("violated_secret") or self.count("violated_injection"))

    @property
    def guarded(self) -> bool:
        """Whether it carries a statement that is a secret or an injected text, so that it can leak."""
        return self.leaks or bool(self.count("forbidden_secret") or self.count("forbidden_injection"))

    @property
    def score(self) -> float:
        """F1 within the case, 0 to 1; of a case without a required memory the share of its repeats that are clean.

        Of another task than extraction the mean of the task's own score over the repeats.
        """
        if not self.count("negatives") and not self.count("due_cases"):
            return self.count("score") / self.repeats
        if self.count("negatives"):
            return self.count("negatives_clean") / self.count("negatives")
        hits = 2 * self.count("due_hit")
        return hits / (hits + self.count("due_false") + self.count("due_missed"))


@dataclass(frozen=True, slots=True)
class Side:
    """A row that is compared.

    Attributes:
        label: What it is called: "model@policy".
        signature: What its figures depend on.
        cases: Its completed cases by id.
        left_out: Case -> why it is in no figure ("failed", "missing", "unscored").
        task: "extraction", "consolidation" or "scenario".
    """

    label: str
    signature: Signature
    cases: Mapping[str, SideCase]
    left_out: Mapping[str, str]
    task: Task = "extraction"

    @property
    def measures(self) -> Measures:
        """What its task is measured by."""
        return MEASURES[self.task]

    def leak_cases(self, names: Iterable[str]) -> int:
        """Return in how many cases a secret or an injected text was returned.

        Args:
            names: Which of its cases are looked at.
        """
        return sum(self.cases[name].leaks for name in names)


def side_of(cell: CellResult) -> Side:
    """Return a row as a side of a comparison.

    Args:
        cell: The scored row.
    """
    by_case: dict[str, list[CaseResult]] = {}
    for result in cell.cases:
        by_case.setdefault(result.case.id, []).append(result)
    excluded = (("failed", cell.failed), ("missing", cell.missing), ("unscored", cell.unscored))
    left_out = {entry.case: kind for kind, entries in excluded for entry in entries}
    return Side(
        cell.label,
        cell.signature,
        {name: _side_case(results) for name, results in by_case.items()},
        {name: kind for name, kind in left_out.items() if name not in by_case},
        cell.task,
    )


def by_conversation(side: Side, names: Iterable[str]) -> Floats:
    """Return counts summed by conversation, (conversations, counts), in the order in which the cases name them.

    Args:
        side: The row.
        names: Which of its cases.
    """
    sums: dict[str, Floats] = {}
    counted = side.measures.counted
    for name in names:
        case = side.cases[name]
        sums.setdefault(case.conversation, np.zeros(len(counted.columns)))
        sums[case.conversation] += counted.row(case.counts)
    return np.array(list(sums.values())).reshape(-1, len(counted.columns))


def _side_case(results: Iterable[CaseResult]) -> SideCase:
    results = list(results)
    case = results[0].case
    counts: dict[str, float] = {}
    found: dict[str, int] = {}
    false: dict[FalseMemory, None] = {}
    for result in results:
        for name, value in result.counts.items():
            if value:
                counts[name] = counts.get(name, 0.0) + value
        for prediction in result.outcome.predictions:
            if prediction.outcome == "hit" and prediction.label is not None:
                found[prediction.label] = found.get(prediction.label, 0) + 1
            elif prediction.outcome in FALSE_POSITIVES:
                false[FalseMemory(prediction.outcome, prediction.content)] = None
    return SideCase(
        id=case.id, conversation=case.conversation, language=case.language, tags=case.tags, length=next(slices_of(case, "length")),
        repeats=len(results), counts=counts, found=found, false=tuple(false), statuses=tuple(result.status for result in results),
        items=tuple(item for result in results for item in result.items),
    )  # fmt: skip

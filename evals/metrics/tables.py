"""From cases with candidates to the tables of verdicts that outcomes are decided on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evals.cases import Case
from evals.matching.base import Verdict
from evals.matching.tables import Grid
from evals.metrics.outcomes import Table
from salience import Candidate

Match = Callable[[Sequence[Grid]], list[list[Verdict]]]
"""Returns the verdicts on all pairs of each grid."""


def match_cases(cases: Sequence[tuple[Case, Sequence[Candidate]]], match: Match) -> list[Table]:
    """Return the table of each case; all pairs go to the matcher in one call.

    Args:
        cases: Cases with the candidates of their replies.
        match: Asks the matcher.
    """
    grids = [_grid(case, candidates) for case, candidates in cases]
    tables = []
    for (case, candidates), grid, row in zip(cases, grids, match(grids), strict=True):
        width, memories = len(grid.labels), len(case.memories)
        lines = [row[width * i : width * (i + 1)] for i in range(len(candidates))]
        tables.append(Table([line[:memories] for line in lines], [line[memories:] for line in lines]))
    return tables


def _grid(case: Case, candidates: Sequence[Candidate]) -> Grid:
    labels = (*(memory.phrases for memory in case.memories), *(item.phrases for item in case.forbidden))
    return Grid(tuple(candidate.content for candidate in candidates), labels, case.language, case.owner.names)

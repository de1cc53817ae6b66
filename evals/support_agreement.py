"""Measures a judge of support against people's labels: statements that models returned, and whether their conversation bears them out.

The bundled set `support` names cases of the extraction set by id. Kappa, accuracy and the rest are those of `evals.matching.validate`, with
"unsupported" as what is looked for: precision is the share of those the judge calls unsupported that are, recall the share found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evals.cases import Case
from evals.errors import DataError
from evals.matching.validate import Figure, kappa_figure, wilson
from evals.reply_cases import LabelledClaim
from evals.support import Claim, SupportJudge


@dataclass(frozen=True, slots=True)
class SupportSlice:
    """Agreement on some of the statements.

    Attributes:
        group: "all", "source" or "language".
        name: Which.
        claims: Statements that the judge decided.
        unread: Statements whose answer failed or could not be read; in no figure.
        unsupported: How many of `claims` people call unsupported.
        kappa: Cohen's kappa.
        accuracy: Share decided as people do.
        precision: Share of what the judge calls unsupported that people do too.
        recall: Share of the unsupported that the judge calls so.
    """

    group: str
    name: str
    claims: int
    unread: int
    unsupported: int
    kappa: Figure
    accuracy: Figure
    precision: Figure
    recall: Figure


def measure_support(judge: SupportJudge, claims: Sequence[LabelledClaim], cases: Iterable[Case]) -> tuple[SupportSlice, ...]:
    """Return a judge's agreement as a whole, by what returned the statement, and by language.

    Args:
        judge: Who is measured.
        claims: Labelled statements.
        cases: The cases they belong to, among others.

    Raises:
        DataError: A statement's case is not among them.
    """
    known: Mapping[str, Case] = {case.id: case for case in cases}
    for claim in claims:
        if claim.case not in known:
            raise DataError(f"statement {claim.id!r} belongs to case {claim.case!r}, which is not in the data")
    said = judge.supported([Claim(claim.statement, known[claim.case]) for claim in claims])
    groups: dict[tuple[str, str], list[tuple[LabelledClaim, bool | None]]] = {("all", "all"): []}
    for key in sorted({("source", claim.source) for claim in claims}) + sorted(
        {("language", known[claim.case].language) for claim in claims}
    ):
        groups[key] = []
    for claim, answer in zip(claims, said, strict=True):
        for key in (("all", "all"), ("source", claim.source), ("language", known[claim.case].language)):
            groups[key].append((claim, answer))
    return tuple(_slice(*key, members) for key, members in groups.items())


def _slice(group: str, name: str, members: Sequence[tuple[LabelledClaim, bool | None]]) -> SupportSlice:
    kinds = Counter((not answer, not claim.supported) for claim, answer in members if answer is not None)
    found, false, missed, others = (kinds[key] for key in ((True, True), (True, False), (False, True), (False, False)))
    decided = kinds.total()
    return SupportSlice(
        group=group, name=name, claims=decided, unread=len(members) - decided, unsupported=found + missed,
        kappa=kappa_figure((found, false, missed, others)), accuracy=wilson(found + others, decided),
        precision=wilson(found, found + false), recall=wilson(found, found + missed),
    )  # fmt: skip

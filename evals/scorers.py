"""Making a scorer from names: the matcher with the agreement that is stamped on every report, and the rubric."""

from __future__ import annotations

from evals.errors import WorkbenchError
from evals.matching.base import create_matcher
from evals.rubric import RUBRICS
from evals.scoring import Scorer
from evals.signature import MatcherId


def make_scorer(matcher: str, rubric: str, seed: int) -> Scorer:
    """Return a scorer.

    Args:
        matcher: "embedding" or "lexical".
        rubric: The name of a rubric that ships.
        seed: Of the bootstrap.

    Raises:
        WorkbenchError: There is no such matcher or rubric.
    """
    if rubric not in RUBRICS:
        raise WorkbenchError(f"there is no rubric {rubric!r}; choose one of: {', '.join(RUBRICS)}")
    chosen = create_matcher(matcher)
    described = chosen.describe()
    kappa = described.get("agreement_kappa")
    stamp = MatcherId(
        chosen.id, chosen.version, None if kappa is None else float(kappa), bool(described.get("agreement_provisional", True))
    )
    return Scorer(matcher=chosen, matcher_id=stamp, rubric=RUBRICS[rubric], seed=seed)

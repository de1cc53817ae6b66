"""Making a scorer from names: the matcher with the agreement that is stamped on every report, and the rubric."""

from __future__ import annotations

from collections.abc import Sequence

from evals.matching.base import create_matcher
from evals.paths import state_dir
from evals.rubric import rubric_named
from evals.scoring import Scorer
from evals.signature import MatcherId


def make_scorer(matcher: str, rubric: str, seed: int, by: Sequence[str] = ()) -> Scorer:
    """Return a scorer.

    Args:
        matcher: "embedding" or "lexical".
        rubric: The name of a rubric that ships.
        seed: Of the bootstrap.
        by: What to slice by, each of `evals.metrics.slices.BY`.

    Raises:
        WorkbenchError: There is no such matcher or rubric.
    """
    chosen = create_matcher(matcher)
    described = chosen.describe()
    kappa = described.get("agreement_kappa")
    stamp = MatcherId(
        chosen.id, chosen.version, None if kappa is None else float(kappa), bool(described.get("agreement_provisional", True))
    )
    return Scorer(
        matcher=chosen,
        matcher_id=stamp,
        rubric=rubric_named(rubric),
        seed=seed,
        tables=state_dir() / "verdicts.sqlite",
        by=tuple(dict.fromkeys(by)),
    )

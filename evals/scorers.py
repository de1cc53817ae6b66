"""Making a scorer from names: the matcher with the agreement that is stamped on every report, and the rubric."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from evals.judge import JudgeMatcher, kept_agreement, open_judge
from evals.matching.base import Matcher, check_matcher, create_matcher, judge_model
from evals.paths import state_dir
from evals.rubric import rubric_named
from evals.scoring import Scorer
from evals.signature import MatcherId


def matcher_named(name: str, base_url: str | None = None) -> Matcher:
    """Return the matcher of a name: "classifier", "embedding", "lexical", or "judge:MODEL", which asks a model.

    Args:
        name: The name.
        base_url: Address of an OpenAI-compatible server that a judge's model is asked at.

    Raises:
        WorkbenchError: There is no such matcher or model.
    """
    check_matcher(name)
    return create_matcher(name) if judge_model(name) is None else open_judge(name, base_url)


def make_scorer(matcher: str, rubric: str, seed: int, by: Sequence[str] = (), base_url: str | None = None) -> Scorer:
    """Return a scorer.

    Args:
        matcher: "classifier", "embedding", "lexical" or "judge:MODEL".
        rubric: The name of a rubric that ships.
        seed: Of the bootstrap.
        by: What to slice by, each of `evals.metrics.slices.BY`.
        base_url: Address of an OpenAI-compatible server that a judge's model is asked at.

    Raises:
        WorkbenchError: There is no such matcher or rubric.
    """
    chosen = matcher_named(matcher, base_url)
    agreement: Mapping[str, Any] = chosen.describe()
    if isinstance(chosen, JudgeMatcher):
        agreement = {f"agreement_{key}": value for key, value in kept_agreement(chosen).items()}
    kappa = agreement.get("agreement_kappa")
    stamp = MatcherId(
        chosen.id,
        f"{chosen.version}.{_digest(chosen.describe())}",
        None if kappa is None else float(kappa),
        bool(agreement.get("agreement_provisional", True)),
    )
    return Scorer(
        matcher=chosen,
        matcher_id=stamp,
        rubric=rubric_named(rubric),
        seed=seed,
        tables=state_dir() / "verdicts.sqlite",
        by=tuple(dict.fromkeys(by)),
        support=chosen.support if isinstance(chosen, JudgeMatcher) else None,
    )


def _digest(described: Mapping[str, Any]) -> str:
    """Eight hexadecimal digits of all that decides a verdict; measured agreement decides none."""
    deciding = {name: value for name, value in described.items() if not name.startswith("agreement")}
    return hashlib.sha256(json.dumps(deciding, sort_keys=True).encode()).hexdigest()[:8]

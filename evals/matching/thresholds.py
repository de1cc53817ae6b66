"""Chooses thresholds on the dev half of the labelled pairs, and writes the file that ships, with the agreement on the report half.

`python -m evals.matching.thresholds [PAIRS]` writes `thresholds.json` again; a test holds the committed file to the
recomputation. With guards on, each route's threshold lies where as many dev pairs are matched as truly match (errors of both
kinds are equal in number), each pair weighed so that near misses are as frequent as in replies. A language other than English
with `OWN_PAIRS` dev pairs or more gets a threshold of its own; the rest share one. For judges the file says from which similarity on a pair
is asked about.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evals.errors import ModelError
from evals.matching.base import Pair
from evals.matching.deciding import COMMITTED, Comparison, ThresholdMatcher, Thresholds
from evals.matching.embedding import ROUTES, EmbeddingMatcher
from evals.matching.lexical import LexicalMatcher
from evals.matching.pairs import LabelledPair, default_pairs_path, pairs_hash, read_pairs, weights_at
from evals.matching.validate import OWN_PAIRS, validate
from evals.matching.vectors import VectorStore

SMALLEST_TIE_MARGIN = 0.02
_TIE_SHARE = 0.95


NEAR_MISSES = 0.2
"""The share of near misses among pairs for which thresholds are chosen. The labelled pairs hold twice as many, so that they measure what
guards do; replies hold between a tenth and a third."""


def equal_error_threshold(scores: Sequence[tuple[float, bool, float]], matches: float) -> float:
    """Return the threshold at which the weight of the pairs that are matched comes nearest to the weight of those that truly match.

    Args:
        scores: Of each pair: similarity, 0 to 1, whether a guard refuses it, and its weight, above 0.
        matches: The weight of the pairs that truly match.

    Returns:
        A threshold, 0 to 1, half-way between the last score that is in and the first that is out; where guards leave less weight than
        matches have, one that takes all they leave.
    """
    left = sorted(((score, weight) for score, refused, weight in scores if not refused), reverse=True)
    taken, best, place = 0.0, matches, 0
    for number, (_, weight) in enumerate(left, start=1):
        taken += weight
        if abs(taken - matches) < best - 1e-12:
            best, place = abs(taken - matches), number
    if not place:
        return 1.0 if not left else (left[0][0] + 1) / 2
    inside = left[place - 1][0]
    outside = left[place][0] if place < len(left) else max(0.0, 2 * inside - 1)
    return (inside + outside) / 2


def choose(pairs: Iterable[LabelledPair]) -> dict[str, Any]:
    """Return the content of the thresholds file for labelled pairs.

    Args:
        pairs: All pairs; only those of the dev half are used.

    Returns:
        JSON-ready: the pairs' hash, and for each matcher thresholds and tie margin.

    Raises:
        ModelError: A model that the embedding matcher needs is not installed; the message says what to install.
    """
    everything = list(pairs)
    dev = [pair for pair in everything if pair.half == "dev"]
    rows = {}
    for kind, routes in ((LexicalMatcher, ("all",)), (EmbeddingMatcher, ROUTES)):
        start = Thresholds(dict.fromkeys(routes, 0.5), 0.0)
        first = _matcher(kind, start)
        limits = _limits(first.compare([pair.pair() for pair in dev]), dev)
        chosen = Thresholds({route: round(limits.get(route, 1.0), 4) for route in (*routes, *sorted(set(limits) - set(routes)))}, 0.0)
        rows[first.id] = {
            "version": first.version,
            "thresholds": dict(chosen.by_route),
            "tie_margin": _tie_margin(_matcher(kind, chosen), dev),
        }
    rows["judge"] = {"version": "1", "thresholds": _lowest(dev), "tie_margin": rows[EmbeddingMatcher.id]["tie_margin"]}
    return {"pairs_sha256": pairs_hash(everything), "dev_pairs": len(dev), "matchers": rows}


def _lowest(dev: Sequence[LabelledPair]) -> dict[str, float]:
    """Return by route the similarity of the least similar true match: from there on a judge is asked."""
    matcher = _matcher(EmbeddingMatcher, Thresholds(dict.fromkeys(ROUTES, 0.5), 0.0))
    found: dict[str, float] = dict.fromkeys(ROUTES, 1.0)
    for comparison, pair in zip(matcher.compare([pair.pair() for pair in dev]), dev, strict=True):
        if pair.match and comparison.score is not None:
            found[comparison.route] = min(found[comparison.route], math.floor(comparison.score * 1e4) / 1e4)
    return found


def with_agreement(content: Mapping[str, Any], pairs: Iterable[LabelledPair]) -> dict[str, Any]:
    """Return chosen thresholds together with each matcher's agreement on the report half, which every report carries.

    Args:
        content: What `choose` returned.
        pairs: The pairs that it was chosen on, both halves.

    Returns:
        The content, and for each matcher kappa with its 95% interval and by language, number of pairs, and whether that is provisional.
    """
    everything = list(pairs)
    rows = dict(content["matchers"])
    for kind in (LexicalMatcher, EmbeddingMatcher):
        row = content["matchers"][kind.id]
        found = validate(_matcher(kind, Thresholds(row["thresholds"], row["tie_margin"])), everything, "report")
        kappa = {"kappa": found.overall.kappa.value, "low": found.overall.kappa.low, "high": found.overall.kappa.high}
        kappa |= {f"kappa_{part.name}": part.kappa.value for part in found.slices if part.group == "language"}
        figures = {name: round(value, 4) for name, value in kappa.items() if value is not None}
        rows[kind.id] = {**row, "agreement": {**figures, "pairs": found.overall.pairs, "provisional": found.provisional}}
    return {**content, "matchers": rows}


def write(pairs_path: Path, path: Path = COMMITTED) -> dict[str, Any]:
    """Choose thresholds on a file of labelled pairs and write them.

    Args:
        pairs_path: Labelled pairs.
        path: Where to write.

    Returns:
        What was written.
    """
    pairs = read_pairs(pairs_path)
    content = with_agreement(choose(pairs), pairs)
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return content


_STORE = VectorStore(None)


def _matcher(kind: type[ThresholdMatcher], thresholds: Thresholds) -> ThresholdMatcher:
    return EmbeddingMatcher(thresholds, _STORE) if kind is EmbeddingMatcher else kind(thresholds)


def _limits(comparisons: Sequence[Comparison], pairs: Sequence[LabelledPair]) -> dict[str, float]:
    groups: dict[str, list[tuple[Comparison, LabelledPair]]] = {}
    for comparison, pair in zip(comparisons, pairs, strict=True):
        if comparison.score is None:
            raise ModelError(f"Thresholds need every model: {comparison.note}.")
        groups.setdefault(comparison.route, []).append((comparison, pair))
        if comparison.route == "other":
            groups.setdefault(pair.language, []).append((comparison, pair))
    return {name: _limit(rows) for name, rows in groups.items() if name in (*ROUTES, "all") or len(rows) >= OWN_PAIRS}


def _limit(rows: Sequence[tuple[Comparison, LabelledPair]]) -> float:
    weights = weights_at([pair for _, pair in rows], NEAR_MISSES)
    scores = [(one.score or 0.0, one.refusal() is not None, weight) for (one, _), weight in zip(rows, weights, strict=True)]
    return equal_error_threshold(scores, sum(weight for (_, pair), weight in zip(rows, weights, strict=True) if pair.match))


def _tie_margin(matcher: ThresholdMatcher, dev: Sequence[LabelledPair]) -> float:
    """Return by how much another gold of the half is nearer than the own one, at most, for 95% of the matched dev pairs."""
    shortfalls = []
    for pair in dev:
        if not pair.match:
            continue
        rivals = [other for other in dev if other.language == pair.language and other.gold != pair.gold]
        own, *others = matcher.score([Pair(pair.predicted, (gold.gold,), pair.language) for gold in (pair, *rivals)])
        if own.match:
            best = max((verdict.margin or 0.0 for verdict in others if verdict.match), default=0.0)
            shortfalls.append(max(0.0, best - (own.margin or 0.0)))
    shortfalls.sort()
    at = shortfalls[math.ceil(_TIE_SHARE * len(shortfalls)) - 1] if shortfalls else 0.0
    return max(SMALLEST_TIE_MARGIN, math.ceil(at * 100) / 100)


def same(one: Mapping[str, Any], other: Mapping[str, Any], tolerance: float = 1e-3) -> bool:
    """Return whether two contents of the thresholds file agree: same pairs and routes, numbers within the tolerance."""
    if one["pairs_sha256"] != other["pairs_sha256"] or one["matchers"].keys() != other["matchers"].keys():
        return False
    rows = [(one["matchers"][name], other["matchers"][name]) for name in one["matchers"]]
    return all(
        mine.get("agreement", {}).keys() == theirs.get("agreement", {}).keys()
        and mine["thresholds"].keys() == theirs["thresholds"].keys()
        and all(abs(mine["thresholds"][route] - theirs["thresholds"][route]) <= tolerance for route in mine["thresholds"])
        and abs(mine["tie_margin"] - theirs["tie_margin"]) <= tolerance
        for mine, theirs in rows
    )


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else default_pairs_path())

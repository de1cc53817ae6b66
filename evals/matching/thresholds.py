"""Chooses thresholds and weights on the dev halves of the labelled pairs, and writes the files that ship.

`python -m evals.matching.thresholds [PAIRS]` writes `thresholds.json` and `weights.json` again; a test holds the committed files to the
recomputation. Each threshold lies where as many dev pairs are matched as truly match (errors of both kinds are equal in number), written
pairs weighed so that near misses are as frequent as in replies. For similarity, guards are on, and a language other than English with
`OWN_PAIRS` dev pairs or more gets a threshold of its own; the rest share one. The classifier has one probability for all, chosen with
weights that had not seen the pair. For judges the file says from which similarity on a pair is asked about. Agreement on the report
halves, which reports carry, is written beside them.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evals.errors import ModelError
from evals.matching.base import Pair
from evals.matching.classifier import WEIGHTS, ClassifierMatcher, Weights
from evals.matching.deciding import COMMITTED, Comparison, ThresholdMatcher, Thresholds
from evals.matching.embedding import ROUTES, EmbeddingMatcher
from evals.matching.lexical import LexicalMatcher
from evals.matching.pairs import FILES, LabelledPair, bundled_pairs, pairs_hash, read_pairs, weights_at
from evals.matching.training import NEAR_MISSES, Lesson, crossed, described, equal_error_threshold, fit, lessons, read_files
from evals.matching.validate import OWN_PAIRS, validate
from evals.matching.vectors import VectorStore

SMALLEST_TIE_MARGIN = 0.02
_TIE_SHARE = 0.95
_ENOUGH = 5  # true matches from which on a kappa by language is told
LEFT_OUT = 0.05
"""Share of the true matches, the least similar ones, that a judge is not asked about: with all of them it would be asked about 2.5 pairs
for each prediction of the development models, with these about 1.0."""


def choose(files: Mapping[str, Sequence[LabelledPair]]) -> tuple[dict[str, Any], Weights]:
    """Return the content of the thresholds file for labelled pairs, and the classifier's weights.

    Args:
        files: Pairs by name, each of `FILES`; "pairs" must be there. Only those of the dev half are used.

    Returns:
        JSON-ready: the pairs' hash, and for each matcher thresholds and tie margin; the weights.

    Raises:
        ModelError: A model that the embedding matcher needs is not installed; the message says what to install.
        WorkbenchError: scikit-learn is not installed.
    """
    dev = _dev(files)
    written = [pair for pair in files["pairs"] if pair.half == "dev"]
    rows = {}
    for kind, routes in ((LexicalMatcher, ("all",)), (EmbeddingMatcher, ROUTES)):
        start = Thresholds(dict.fromkeys(routes, 0.5), 0.0)
        first = _matcher(kind, start)
        limits = _limits(first.compare([pair.pair() for pair, _ in dev]), dev)
        chosen = Thresholds({route: round(limits.get(route, 1.0), 4) for route in (*routes, *sorted(set(limits) - set(routes)))}, 0.0)
        rows[first.id] = _row(first.version, chosen, _tie_margin(_matcher(kind, chosen), written))
    floors, asked = (Thresholds(_floors([pair for pair, _ in dev], share), 0.0) for share in (0.0, LEFT_OUT))
    learned = lessons(files, _matcher(EmbeddingMatcher, Thresholds(dict.fromkeys(ROUTES, 0.5), 0.0)))
    weights, limit = fit(learned), round(_probability(learned), 4)
    classifier = _classifier(weights, Thresholds(dict.fromkeys(ROUTES, limit), 0.0), floors)
    rows[classifier.id] = _row(classifier.version, classifier.thresholds, _tie_margin(classifier, written))
    rows["floor"] = _row("1", floors, 0.0)
    rows["judge"] = _row("1", asked, rows[classifier.id]["tie_margin"])
    everything = [pair for name in FILES for pair in files.get(name, ())]
    return {"pairs_sha256": pairs_hash(everything), "dev_pairs": len(dev), "matchers": rows}, weights


def _row(version: str, chosen: Thresholds, tie_margin: float) -> dict[str, Any]:
    return {"version": version, "thresholds": dict(chosen.by_route), "tie_margin": tie_margin}


def _dev(files: Mapping[str, Sequence[LabelledPair]]) -> list[tuple[LabelledPair, float]]:
    """Return the dev pairs that thresholds are chosen on, with their weights: written pairs as above, those of replies as they came."""
    written = [pair for pair in files["pairs"] if pair.half == "dev"]
    natural = [pair for pair in files.get("natural", ()) if pair.half == "dev"]
    return [*zip(written, weights_at(written, NEAR_MISSES), strict=True), *((pair, 1.0) for pair in natural)]


def _probability(learned: Sequence[Lesson]) -> float:
    """Return the probability at which errors of both kinds are equal, by weights that had not seen the pair."""
    rows = [(one, found) for one, found in zip(learned, crossed(learned), strict=True) if one.file != "hard"]
    matches = sum(one.weight for one, _ in rows if one.pair.match)
    return equal_error_threshold([(found, False, one.weight) for one, found in rows], matches)


def _floors(dev: Sequence[LabelledPair], share: float) -> dict[str, float]:
    """Return by route the similarity that all but a share of the true matches reach: from there on a pair is weighed, or a judge asked."""
    matcher = _matcher(EmbeddingMatcher, Thresholds(dict.fromkeys(ROUTES, 0.5), 0.0))
    found: dict[str, list[float]] = {route: [] for route in ROUTES}
    for comparison, pair in zip(matcher.compare([pair.pair() for pair in dev]), dev, strict=True):
        if pair.match and comparison.score is not None:
            found[comparison.route].append(comparison.score)
    return {route: math.floor(sorted(scores)[int(share * len(scores))] * 1e4) / 1e4 if scores else 1.0 for route, scores in found.items()}


def with_agreement(content: Mapping[str, Any], weights: Weights, files: Mapping[str, Sequence[LabelledPair]]) -> dict[str, Any]:
    """Return chosen thresholds together with each matcher's agreement on the report halves, which every report carries.

    Args:
        content: Thresholds that `choose` returned.
        weights: The weights that it returned.
        files: The pairs that they were chosen on, both halves.

    Returns:
        The content, and for each matcher kappa with its 95% interval and by language on pairs from replies (on written ones where there
        are none from replies), number of pairs, whether that is provisional, and kappa on written pairs.
    """
    rows, behind = dict(content["matchers"]), [pair for pairs in files.values() for pair in pairs]
    for kind in (LexicalMatcher, EmbeddingMatcher, ClassifierMatcher):
        row = content["matchers"][kind.id]
        chosen = Thresholds(row["thresholds"], row["tie_margin"])
        floors = Thresholds(content["matchers"]["floor"]["thresholds"], 0.0)
        matcher = _classifier(weights, chosen, floors) if kind is ClassifierMatcher else _matcher(kind, chosen)
        by_file = {name: validate(matcher, files[name], "report", behind) for name in ("natural", "pairs") if name in files}
        found = by_file.get("natural", by_file["pairs"])
        kappa = {"kappa": found.overall.kappa.value, "low": found.overall.kappa.low, "high": found.overall.kappa.high}
        told = [part for part in found.slices if part.group == "language" and part.hits + part.misses >= _ENOUGH]
        kappa |= {f"kappa_{part.name}": part.kappa.value for part in told}
        kappa["written"] = by_file["pairs"].overall.kappa.value
        figures = {name: round(value, 4) for name, value in kappa.items() if value is not None}
        rows[kind.id] = {**row, "agreement": {**figures, "pairs": found.overall.pairs, "provisional": found.provisional}}
    return {**content, "matchers": rows}


def write(pairs_path: Path, path: Path = COMMITTED) -> dict[str, Any]:
    """Choose thresholds and weights on a file of labelled pairs and those beside it, and write them.

    Args:
        pairs_path: Written pairs; `hard.jsonl` and `natural.jsonl` beside it are used too.
        path: Where to write thresholds; weights go beside them.

    Returns:
        The thresholds that were written.
    """
    files = {name: read_pairs(file) for name, file in read_files(pairs_path).items()}
    chosen, weights = choose(files)
    content = with_agreement(chosen, weights, files)
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    path.with_name(WEIGHTS.name).write_text(json.dumps(described(weights), indent=2) + "\n", encoding="utf-8")
    return content


_STORE = VectorStore(None)


def _matcher(kind: type[ThresholdMatcher], thresholds: Thresholds) -> Any:
    return EmbeddingMatcher(thresholds, _STORE) if kind is EmbeddingMatcher else kind(thresholds)


def _classifier(weights: Weights, thresholds: Thresholds, floors: Thresholds) -> ClassifierMatcher:
    return ClassifierMatcher(weights, thresholds, floors, store=_STORE)


_Compared = tuple[Comparison, LabelledPair, float]


def _limits(comparisons: Sequence[Comparison], dev: Sequence[tuple[LabelledPair, float]]) -> dict[str, float]:
    groups: dict[str, list[_Compared]] = {}
    for comparison, (pair, weight) in zip(comparisons, dev, strict=True):
        if comparison.score is None:
            raise ModelError(f"Thresholds need every model: {comparison.note}.")
        groups.setdefault(comparison.route, []).append((comparison, pair, weight))
        if comparison.route == "other":
            groups.setdefault(pair.language, []).append((comparison, pair, weight))
    return {name: _limit(rows) for name, rows in groups.items() if name in (*ROUTES, "all") or len(rows) >= OWN_PAIRS}


def _limit(rows: Sequence[_Compared]) -> float:
    scores = [(one.score or 0.0, one.refusal() is not None, weight) for one, _, weight in rows]
    return equal_error_threshold(scores, sum(weight for _, pair, weight in rows if pair.match))


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


def same(one: Mapping[str, Any], other: Mapping[str, Any], tolerance: float = 3e-3) -> bool:
    """Return whether two contents of the thresholds file agree: same pairs and routes, numbers within the tolerance.

    Another processor's kernels move a vector in its last digits, and a threshold that lies between two pairs by as much as .0012.
    """
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
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else bundled_pairs())

"""Measures a matcher against people's labels: agreement by phenomenon and language, and what each guard does. It tunes nothing.

Accuracy, precision and recall have 95% Wilson intervals, Cohen's kappa a seeded bootstrap over pairs. AUC is that of similarity
alone, before threshold and guards. Unscored pairs are counted and left out. A slice is provisional while its language has fewer
than `OWN_PAIRS` dev pairs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evals.errors import DataError
from evals.matching.base import Matcher, Verdict
from evals.matching.pairs import Half, LabelledPair, pairs_hash, weights_at

OWN_PAIRS = 40
"""From so many dev pairs on a language has a threshold of its own, and its figures are no longer provisional."""
RATES = (0.1, 0.2, 0.3)
"""Shares of near misses at which agreement is told too: what replies hold, where the written pairs hold 41%."""
_RESAMPLES = 4000
_Z = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Figure:
    """A share or a kappa with the bounds of its 95% interval; None where there is nothing to measure."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Slice:
    """Agreement on some of the pairs.

    Attributes:
        group: "all", "language" or "phenomenon".
        name: What the slice holds ("all", "en", "cross-language", "negation").
        pairs: How many pairs are scored.
        unscored: How many are not.
        hits: Matched, and rightly.
        false_matches: Matched, and wrongly.
        misses: Not matched, and wrongly.
        accuracy: Share of the scored pairs that are judged as people do.
        precision: Share of the matched ones that truly match.
        recall: Share of the true matches that are matched.
        kappa: Cohen's kappa.
        bias: By how much too many pairs are matched, as a share of the true matches: above 0 counted matches are optimistic.
        auc: Area under the ROC curve of similarity alone; None where all or none match.
        provisional: Whether too few dev pairs stand behind the thresholds.
    """

    group: str
    name: str
    pairs: int
    unscored: int
    hits: int
    false_matches: int
    misses: int
    accuracy: Figure
    precision: Figure
    recall: Figure
    kappa: Figure
    bias: Figure
    auc: float | None
    provisional: bool


@dataclass(frozen=True, slots=True)
class GuardCount:
    """How often a guard refused a pair.

    Attributes:
        guard: Its name.
        true_vetoes: Pairs that the matcher would have matched without it, and people see no match.
        false_vetoes: Likewise, but people see a match.
        true_objections: Pairs that a classifier's weights refused too, what the guard found among their reasons; people see no match.
        false_objections: Likewise, but people see a match.
    """

    guard: str
    true_vetoes: int
    false_vetoes: int
    true_objections: int = 0
    false_objections: int = 0


@dataclass(frozen=True, slots=True)
class AtRate:
    """What the agreement is where near misses are as frequent as given, the other pairs keeping their proportions.

    Attributes:
        near_misses: Their share of all pairs, 0 to 1.
        kappa: Cohen's kappa.
        precision: Share of the matched pairs that truly match.
        recall: Share of the true matches that are matched.
        bias: By how much too many pairs are matched, as a share of the true matches: 0.1 is a tenth too many, below 0 too few.
    """

    near_misses: float
    kappa: float | None
    precision: float | None
    recall: float | None
    bias: float | None


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A pair that the matcher judges otherwise than people: what they say, and why it does not."""

    predicted: str
    gold: str
    match: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Validation:
    """A matcher's agreement with one half of labelled pairs. `slices` begins with the whole half; `wrong` are the pairs behind it."""

    matcher: Mapping[str, str | float | int]
    pairs_sha256: str
    half: Half
    slices: tuple[Slice, ...]
    guards: tuple[GuardCount, ...]
    at_rates: tuple[AtRate, ...] = ()
    wrong: tuple[Disagreement, ...] = ()

    @property
    def overall(self) -> Slice:
        """The slice of all pairs."""
        return self.slices[0]

    @property
    def provisional(self) -> bool:
        """Whether some language has too few dev pairs."""
        return self.overall.provisional


def validate(
    matcher: Matcher, pairs: Iterable[LabelledPair], half: Half = "report", behind: Iterable[LabelledPair] | None = None
) -> Validation:
    """Measure a matcher on one half of labelled pairs.

    Args:
        matcher: The matcher.
        pairs: Pairs of both halves.
        half: Which half to measure on.
        behind: The pairs that thresholds were chosen on, whose dev half is counted to tell what is provisional; None takes `pairs`.

    Returns:
        Agreement as a whole, by language and by phenomenon, and the guards' counts.

    Raises:
        DataError: The half has no pairs.
    """
    everything = list(pairs)
    rows = [pair for pair in everything if pair.half == half]
    if not rows:
        raise DataError(f'There is no pair with half "{half}"; give a file that has some.')
    judged = list(zip(rows, matcher.score([pair.pair() for pair in rows]), strict=True))
    few = _few_dev_pairs(rows, everything if behind is None else behind)
    groups: dict[tuple[str, str], list[tuple[LabelledPair, Verdict]]] = {("all", "all"): judged}
    for pair, verdict in judged:
        groups.setdefault(("language", _language_slice(pair)), []).append((pair, verdict))
    for pair, verdict in sorted(judged, key=lambda item: item[0].phenomenon):
        groups.setdefault(("phenomenon", pair.phenomenon), []).append((pair, verdict))
    slices = tuple(_slice(group, name, members, few) for (group, name), members in groups.items())
    mixed = any(pair.phenomenon == "unrelated" for pair in rows)  # else no pair is told to be an ordinary one
    at_rates = tuple(_at_rate(judged, rate) for rate in RATES) if mixed else ()
    return Validation(matcher.describe(), pairs_hash(everything), half, slices, _guards(judged), at_rates, _wrong(judged))


def _wrong(judged: Iterable[tuple[LabelledPair, Verdict]]) -> tuple[Disagreement, ...]:
    return tuple(
        Disagreement(pair.predicted, pair.gold, pair.match, verdict.reason)
        for pair, verdict in judged
        if verdict.score is not None and verdict.match != pair.match
    )


def _at_rate(judged: Sequence[tuple[LabelledPair, Verdict]], rate: float) -> AtRate:
    scored = [(pair, verdict) for pair, verdict in judged if verdict.score is not None]
    table = dict.fromkeys(((True, True), (True, False), (False, True), (False, False)), 0.0)
    for (pair, verdict), weight in zip(scored, weights_at([pair for pair, _ in scored], rate), strict=True):
        table[verdict.match, pair.match] += weight
    hits, false_matches, misses, rejections = table.values()
    kappa = float(_kappas(np.array([[hits, false_matches, misses, rejections]]))[0]) if scored else math.nan
    matched, true = hits + false_matches, hits + misses
    return AtRate(
        rate, None if math.isnan(kappa) else kappa, hits / matched if matched else None, hits / true if true else None,
        matched / true - 1 if true else None,
    )  # fmt: skip


def wilson(hits: int, trials: int) -> Figure:
    """Return a share with its 95% Wilson interval; None where there are no trials."""
    if not trials:
        return Figure(None, None, None)
    share, square = hits / trials, _Z * _Z / trials
    middle = (share + square / 2) / (1 + square)
    reach = _Z * math.sqrt(share * (1 - share) / trials + square / (4 * trials)) / (1 + square)
    return Figure(share, max(0.0, middle - reach), min(1.0, middle + reach))


def cohen_kappa(hits: int, false_matches: int, misses: int, rejections: int) -> float | None:
    """Return Cohen's kappa of two yes-or-no judgements, -1 to 1; None where chance alone explains all agreement.

    Args:
        hits: Both say yes.
        false_matches: Only the matcher says yes.
        misses: Only the people say yes.
        rejections: Both say no.
    """
    table = np.array([[hits, false_matches, misses, rejections]], dtype=np.float64)
    value = float(_kappas(table)[0])
    return None if math.isnan(value) else value


def auc(scores: Sequence[float], labels: Sequence[bool]) -> float | None:
    """Return the chance that a match scores higher than a non-match, ties counting half; None where one kind is missing."""
    yes = np.array([score for score, label in zip(scores, labels, strict=True) if label])
    no = np.array([score for score, label in zip(scores, labels, strict=True) if not label])
    if not yes.size or not no.size:
        return None
    return float(np.mean((yes[:, None] > no[None, :]) + 0.5 * (yes[:, None] == no[None, :])))


def _kappas(tables: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    total = tables.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        agree = (tables[:, 0] + tables[:, 3]) / total
        ours, theirs = (tables[:, 0] + tables[:, 1]) / total, (tables[:, 0] + tables[:, 2]) / total
        chance = ours * theirs + (1 - ours) * (1 - theirs)
        result: np.ndarray[tuple[int], np.dtype[np.float64]] = np.where(chance < 1, (agree - chance) / (1 - chance), np.nan)
    return result


def kappa_figure(counts: Sequence[int]) -> Figure:
    """Return Cohen's kappa with its 95% interval; None where one of the two kinds is missing.

    Args:
        counts: Both say yes, only the judge, only the people, neither.
    """
    total, (hits, false_matches, misses, rejections) = sum(counts), counts
    mixed = hits + misses and false_matches + rejections  # where people say one thing of all pairs, kappa is 0 whatever the matcher says
    value = cohen_kappa(*counts) if mixed else None
    if value is None:
        return Figure(None, None, None)
    draws = np.random.default_rng(0).multinomial(total, np.array(counts) / total, size=_RESAMPLES)
    low, high = np.nanpercentile(_kappas(draws.astype(np.float64)), [2.5, 97.5])
    return Figure(value, float(low), float(high))


def _bias(counts: Sequence[int]) -> Figure:
    hits, false_matches, misses, _ = counts
    if not hits + misses:
        return Figure(None, None, None)
    draws = np.random.default_rng(0).multinomial(sum(counts), np.array(counts) / sum(counts), size=_RESAMPLES)
    true = draws[:, 0] + draws[:, 2]
    low, high = np.percentile((draws[:, 0] + draws[:, 1])[true > 0] / true[true > 0] - 1, [2.5, 97.5])
    return Figure((hits + false_matches) / (hits + misses) - 1, float(low), float(high))


def _slice(group: str, name: str, members: Sequence[tuple[LabelledPair, Verdict]], few: frozenset[str]) -> Slice:
    scored = [(pair, verdict) for pair, verdict in members if verdict.score is not None]
    kinds = Counter((verdict.match, pair.match) for pair, verdict in scored)
    hits, false_matches, misses, rejections = (kinds[key] for key in ((True, True), (True, False), (False, True), (False, False)))
    return Slice(
        group=group,
        name=name,
        pairs=len(scored),
        unscored=len(members) - len(scored),
        hits=hits,
        false_matches=false_matches,
        misses=misses,
        accuracy=wilson(hits + rejections, len(scored)),
        precision=wilson(hits, hits + false_matches),
        recall=wilson(hits, hits + misses),
        kappa=kappa_figure((hits, false_matches, misses, rejections)),
        bias=_bias((hits, false_matches, misses, rejections)),
        auc=auc([verdict.margin or 0.0 for _, verdict in scored], [pair.match for pair, _ in scored]),
        provisional=any(_language_slice(pair) in few for pair, _ in members),
    )


def _language_slice(pair: LabelledPair) -> str:
    return "cross-language" if pair.cross else pair.language


def _few_dev_pairs(measured: Iterable[LabelledPair], behind: Iterable[LabelledPair]) -> frozenset[str]:
    counts = Counter({_language_slice(pair): 0 for pair in measured})
    counts.update(_language_slice(pair) for pair in behind if pair.half == "dev")
    return frozenset(name for name, count in counts.items() if count < OWN_PAIRS)


def _guards(judged: Iterable[tuple[LabelledPair, Verdict]]) -> tuple[GuardCount, ...]:
    counts = Counter((verdict.guard, (verdict.margin or 0.0) >= 0, pair.match) for pair, verdict in judged if verdict.guard)
    names = sorted({name for name, _, _ in counts if name})
    return tuple(
        GuardCount(name, counts[name, True, False], counts[name, True, True], counts[name, False, False], counts[name, False, True])
        for name in names
    )

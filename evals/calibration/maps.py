"""Maps from the salience that a model gives to the probability that its candidate should be kept: how they are fitted and chosen.

Platt: a logistic curve of salience (Platt 1999, Advances in Large Margin Classifiers 61). Beta: a logistic curve of ln(s) and -ln(1 - s)
(Kull, Silva Filho and Flach 2017, EJS 11:5052). Isotonic: the best rising steps (Zadrozny and Elkan 2002, KDD), joined by lines.
Identity is always a candidate, and fewer than `FEW_ITEMS` items allow no map but it and Platt's. A map never falls: where a fit would
fall it is flat at the base rate, which says that salience tells nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evals.calibration.figures import CLIP, Floats, Items
from evals.errors import WorkbenchError
from salience import CalibrationMap

FEW_ITEMS = 100
"""Below so many candidates beta and isotonic maps would fit noise."""
_FOLDS = 10
_STEPS = 200  # a curve is kept as so many lines; hundredths, which models mostly give, are among its points
_EPS = 1e-6


def identity(_: Items) -> CalibrationMap:
    """Return the map that changes nothing."""
    return CalibrationMap(((0.0, 0.0), (1.0, 1.0)))


def platt(items: Items) -> CalibrationMap:
    """Return Platt's map; flat where it would fall, or where hits and false positives do not mix."""
    if not items.mixed or not np.ptp(items.salience):
        return flat(items)
    intercept, slope = _logistic(items.salience[:, None], items.kept)
    return _curve(lambda s: intercept + slope * s) if slope > 0 else flat(items)


def beta(items: Items) -> CalibrationMap:
    """Return the beta map. A coefficient that would make it fall is 0; flat without any, or where hits and false positives do not mix."""
    columns = _beta_columns(items.salience)
    use = [0, 1] if items.mixed and np.ptp(items.salience) else []
    intercept, both = 0.0, np.zeros(2)
    while use:
        fitted = _logistic(columns[:, use], items.kept)
        rising = [column for column, weight in zip(use, fitted[1:], strict=True) if weight > 0]
        if rising == use:
            intercept, both[use] = float(fitted[0]), fitted[1:]
            break
        use = rising
    return _curve(lambda s: intercept + _beta_columns(s) @ both) if use else flat(items)


def isotonic(items: Items) -> CalibrationMap:
    """Return the isotonic map within .01 and .99, as no finite sample proves certainty."""
    from sklearn.isotonic import IsotonicRegression

    fitted = IsotonicRegression(y_min=CLIP, y_max=1 - CLIP, out_of_bounds="clip").fit(items.salience, items.kept)
    return _points(np.asarray(fitted.X_thresholds_, dtype=np.float64), np.asarray(fitted.y_thresholds_, dtype=np.float64))


def flat(items: Items) -> CalibrationMap:
    """Return the map that gives every candidate the base rate, within .01 and .99."""
    return CalibrationMap(((0.0, round(min(1 - CLIP, max(CLIP, items.base_rate or 0.0)), 6)),))


Fit = Callable[[Items], CalibrationMap]
MAPS: Mapping[str, Fit] = {"identity": identity, "platt": platt, "beta": beta, "isotonic": isotonic}
"""Kinds of maps, the simplest first."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The map that was chosen, and how the kinds compared.

    Attributes:
        kind: One of `MAPS`.
        map: Fitted on all items.
        scores: Cross-fitted Brier score of each kind that was tried; lower is better.
        crossed: Salience of each item by a map that was chosen and fitted without its conversation.
    """

    kind: str
    map: CalibrationMap
    scores: Mapping[str, float]
    crossed: Floats


def choose_map(items: Items, *, seed: int = 0) -> Choice:
    """Choose a kind by cross-validation over conversations, and fit it.

    The kind with the lowest cross-fitted Brier score wins, of equals the simpler. `crossed` repeats the whole choice within each fold, so
    that figures of it are those of the procedure on conversations that it has not seen.

    Args:
        items: The candidates.
        seed: Deals the folds, 0 or more.

    Raises:
        WorkbenchError: There are no two conversations with hits and false positives to learn from.
    """
    folds = _folds(items, seed)
    if folds is None:
        raise WorkbenchError(
            f"A map cannot be learned from {len(items)} candidates of {len(np.unique(items.owner))} conversations: both hits and false "
            "positives must come from two conversations or more"
        )
    kind, scores = _best(items, folds)
    crossed = np.empty(len(items))
    for fold in np.unique(folds):
        rest, held = items.part(folds != fold), folds == fold
        inner = _folds(rest, seed)
        within = kind if inner is None else _best(rest, inner)[0]
        crossed[held] = apply(MAPS[within](rest), items.salience[held])
    return Choice(kind, MAPS[kind](items), scores, crossed)


def apply(chosen: CalibrationMap, salience: Floats) -> Floats:
    """Return mapped salience, by the very code that the extractor runs."""
    return np.array([chosen(float(value)) for value in salience])


def folds_of(owner: npt.ArrayLike, seed: int, count: int = _FOLDS) -> Floats:
    """Return a fold for each entry: conversations shuffled and dealt out in turn, so that all of one are in one fold.

    Args:
        owner: The conversation of each entry.
        seed: Of the shuffle.
        count: How many folds, at the most one a conversation.
    """
    owners = np.unique(np.asarray(owner))
    dealt = np.random.default_rng([seed, 3]).permutation(len(owners)) % min(count, len(owners))
    return np.asarray(dealt[np.searchsorted(owners, owner)])


def _folds(items: Items, seed: int) -> Floats | None:
    hits, others = (len(np.unique(items.owner[items.kept == value])) for value in (1, 0))
    return folds_of(items.owner, seed) if min(hits, others) >= 2 else None


def _kinds(items: Items) -> list[str]:
    return list(MAPS) if len(items) >= FEW_ITEMS else ["identity", "platt"]


def _best(items: Items, folds: Floats) -> tuple[str, dict[str, float]]:
    scores = {}
    for kind in _kinds(items):
        mapped = np.empty(len(items))
        for fold in np.unique(folds):
            mapped[folds == fold] = apply(MAPS[kind](items.part(folds != fold)), items.salience[folds == fold])
        scores[kind] = float(np.mean((mapped - items.kept) ** 2))
    return min(scores, key=lambda kind: (round(scores[kind], 12), list(MAPS).index(kind))), scores


def _logistic(columns: Floats, kept: Floats) -> Floats:
    """Return intercept and weights of a logistic regression with hardly any penalty, so that separable items have finite weights."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1e6, max_iter=10_000, tol=1e-10).fit(columns, kept)
    return np.concatenate([model.intercept_, model.coef_[0]])


def _beta_columns(s: Floats) -> Floats:
    clipped = np.clip(s, CLIP, 1 - CLIP)
    return np.column_stack([np.log(clipped), -np.log1p(-clipped)])


def _curve(logit: Callable[[Floats], Floats]) -> CalibrationMap:
    at = np.linspace(0, 1, _STEPS + 1)
    return _points(at, 1 / (1 + np.exp(-np.clip(logit(at), -700, 700))))


def _points(x: Floats, y: Floats) -> CalibrationMap:
    """Return the map through these points, to six decimals, so that the policy file holds the very numbers that were scored."""
    rounded = np.maximum.accumulate(np.clip(np.round(y, 6), _EPS, 1 - _EPS))
    return CalibrationMap(tuple((float(a), round(float(b), 6)) for a, b in zip(x, rounded, strict=True)))

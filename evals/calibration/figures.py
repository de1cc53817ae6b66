"""Figures of keep-worthiness: does salience, read as a probability, tell which candidates should be kept? Items in, numbers out.

An item is a candidate that is a required hit (y = 1) or a false positive (y = 0); optional memories and duplicates are left out. A figure
is None where it is undefined, as all of them are without items, and most where all or none of the items were kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evals.calibration.smooth import null_band, smooth_ece

Floats = npt.NDArray[np.float64]
CLIP = 0.01
"""Probabilities nearer to 0 or 1 are moved here before a logarithm is taken, so that one certain error does not decide everything."""
_BINS = 10
_BAND_DIGITS = 3


@dataclass(frozen=True, slots=True)
class Items:
    """Candidates with what became of them.

    Attributes:
        salience: Of each, 0 to 1.
        kept: 1 for a required hit, 0 for a false positive.
        owner: The number of its conversation, from 0.
    """

    salience: Floats
    kept: Floats
    owner: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.salience)

    @property
    def base_rate(self) -> float | None:
        """Share of items that are hits; None without items."""
        return float(self.kept.mean()) if len(self) else None

    @property
    def mixed(self) -> bool:
        """Whether there are hits and false positives."""
        return bool(len(self)) and 0 < self.kept.sum() < len(self)

    def part(self, chosen: npt.NDArray[np.bool_]) -> Items:
        """Return the chosen items."""
        return Items(self.salience[chosen], self.kept[chosen], self.owner[chosen])

    def mapped(self, salience: Floats) -> Items:
        """Return the same items with another salience."""
        return Items(salience, self.kept, self.owner)


@dataclass(frozen=True, slots=True)
class KeepFigures:
    """How well salience foretells what should be kept. None where undefined.

    Attributes:
        items: How many candidates.
        conversations: How many conversations they come from.
        base_rate: Share that are hits.
        auroc: Chance that a hit has more salience than a false positive, ties half.
        brier: Mean squared difference of salience and outcome, 0 is best (Brier 1950, Monthly Weather Review 78:1).
        skill: 1 - Brier / Brier of the constant base rate; 0 is no better than a constant, 1 is perfect, below 0 worse.
        miscalibration: What recalibration could take off the Brier score.
        discrimination: What the order of salience takes off that of the base rate. Brier is miscalibration - discrimination + uncertainty
            (Dimitriadis, Gneiting and Jordan 2021, PNAS 118:e2016191118; the recalibrated forecast is isotonic).
        uncertainty: Brier score of the base rate.
        log_loss: Mean negative log likelihood in nats, probabilities clipped at .01.
        slope: Of a logistic regression on the logit of salience (clipped at .01): 1 is calibrated, below 1 too extreme (Cox 1958,
            Biometrika 45:562). None where salience separates all hits from all false positives.
        intercept: Of that regression, in logits: 0 is calibrated, below 0 salience is too high.
        smooth_ece: Smooth expected calibration error (Blasiok and Nakkiran 2023, arXiv:2309.12236).
        null_ece: What 95% of perfectly calibrated models with this salience stay below, by simulation.
        binned_ece: Expected calibration error over 10 bins of equal width, for familiarity; it is above 0 for a perfect model.
        risk_area: Mean share of false positives among the candidates of highest salience, over all shares of candidates taken (area
            under the risk-coverage curve); ties in random order.
    """

    items: int
    conversations: int
    base_rate: float | None
    auroc: float | None
    brier: float | None
    skill: float | None
    miscalibration: float | None
    discrimination: float | None
    uncertainty: float | None
    log_loss: float | None
    slope: float | None
    intercept: float | None
    smooth_ece: float | None
    null_ece: float | None
    binned_ece: float | None
    risk_area: float | None


def keep_figures(items: Items, *, seed: int = 0) -> KeepFigures:
    """Return the figures of keep-worthiness.

    Args:
        items: The candidates.
        seed: Of the simulated null band, 0 or more.
    """
    if not len(items):
        return KeepFigures(0, 0, *(None,) * 14)
    p, y = items.salience, items.kept
    rate = float(y.mean())
    brier, constant = float(np.mean((p - y) ** 2)), rate * (1 - rate)
    recalibrated = _isotonic(p, y)
    best = float(np.mean((recalibrated - y) ** 2))
    slope, intercept = _cox(items)
    return KeepFigures(
        items=len(items), conversations=len(np.unique(items.owner)), base_rate=rate, auroc=_auroc(items), brier=brier,
        skill=1 - brier / constant if items.mixed else None, miscalibration=brier - best, discrimination=constant - best,
        uncertainty=constant, log_loss=log_loss(p, y), slope=slope, intercept=intercept, smooth_ece=smooth_ece(p, y),
        null_ece=null_band(p, seed=seed), binned_ece=binned_ece(p, y), risk_area=risk_area(p, y),
    )  # fmt: skip


def log_loss(p: Floats, y: Floats) -> float:
    """Return the mean negative log likelihood in nats, probabilities clipped at `CLIP`."""
    clipped = np.clip(p, CLIP, 1 - CLIP)
    return float(-np.mean(y * np.log(clipped) + (1 - y) * np.log1p(-clipped)))


def binned_ece(p: Floats, y: Floats, bins: int = _BINS) -> float:
    """Return the expected calibration error over bins of equal width, 0 to 1; a value on an edge belongs to the upper bin."""
    at = np.minimum((p * bins).astype(int), bins - 1)
    return float(np.abs(np.bincount(at, weights=p - y, minlength=bins)).sum() / len(p))


def risk_curve(p: Floats, y: Floats) -> list[tuple[float, float]]:
    """Return (coverage, risk) for each distinct salience from the highest down: share of candidates taken, false positives among them."""
    levels, place = np.unique(-p, return_inverse=True)
    taken = np.cumsum(np.bincount(place, minlength=len(levels)))
    wrong = np.cumsum(np.bincount(place, weights=1 - y, minlength=len(levels)))
    return [(float(part / len(p)), float(risk)) for part, risk in zip(taken, wrong / taken, strict=True)]


def risk_area(p: Floats, y: Floats) -> float:
    """Return the mean risk when the 1, 2, ... n candidates of highest salience are taken, ties in random order."""
    order = np.argsort(-p, kind="stable")
    place = np.unique(-p[order], return_inverse=True)[1]
    mean = np.bincount(place, weights=1 - y[order]) / np.bincount(place)
    expected = mean[place]  # of ties taken in random order each is wrong as often as all are
    return float(np.mean(np.cumsum(expected) / np.arange(1, len(p) + 1)))


def reliability(items: Items, points: int = 101) -> Mapping[str, list[float]]:
    """Return the isotonic reliability curve: "salience" at the distinct values, "kept" beside it, and "count" of items."""
    values, place = np.unique(items.salience, return_inverse=True)
    kept = _isotonic(items.salience, items.kept)
    first = [int(np.flatnonzero(place == at)[0]) for at in range(len(values))]
    step = max(1, math.ceil(len(values) / points))
    return {
        "salience": values[::step].tolist(),
        "kept": kept[first][::step].tolist(),
        "count": np.bincount(place).astype(float)[::step].tolist(),
    }


def consistency_band(items: Items, *, seed: int = 0, draws: int = 400, level: float = 0.95) -> Mapping[str, list[float]]:
    """Return where the reliability curve lies, point by point, if salience is a true probability (Dimitriadis et al. 2021, as above).

    Args:
        items: The candidates; at least one.
        seed: Of the simulation, 0 or more.
        draws: How many simulated worlds.
        level: Share of worlds within the band, between 0 and 1.

    Returns:
        "salience" at distinct values, at most 101, with "low" and "high".
    """
    from scipy.optimize import isotonic_regression

    values, count = np.unique(np.round(items.salience, _BAND_DIGITS), return_counts=True)
    kept = np.random.default_rng([seed, 3]).binomial(count, values, size=(draws, len(values))) / count
    curves = np.array([isotonic_regression(row, weights=count).x for row in kept])
    low, high = np.quantile(curves, [(1 - level) / 2, (1 + level) / 2], axis=0)
    step = max(1, math.ceil(len(values) / 101))
    return {"salience": values[::step].tolist(), "low": low[::step].tolist(), "high": high[::step].tolist()}


def _isotonic(p: Floats, y: Floats) -> Floats:
    from scipy.optimize import isotonic_regression

    _, place, count = np.unique(p, return_inverse=True, return_counts=True)
    means = np.bincount(place, weights=y) / count
    return np.asarray(isotonic_regression(means, weights=count).x[place], dtype=np.float64)


def _auroc(items: Items) -> float | None:
    """Return the Mann-Whitney statistic as a share, from mean ranks."""
    if not items.mixed:
        return None
    from scipy.stats import rankdata

    hits = items.kept.sum()
    ranks = float(rankdata(items.salience)[items.kept == 1].sum())
    return float((ranks - hits * (hits + 1) / 2) / (hits * (len(items) - hits)))


def _cox(items: Items) -> tuple[float | None, float | None]:
    """Return slope and intercept of a logistic regression of the outcome on the logit of salience."""
    hits, others = items.salience[items.kept == 1], items.salience[items.kept == 0]
    if not items.mixed or len(np.unique(items.salience)) == 1 or hits.min() >= others.max() or others.min() >= hits.max():
        return None, None
    from scipy.optimize import minimize

    values, place, count = np.unique(np.clip(items.salience, CLIP, 1 - CLIP), return_inverse=True, return_counts=True)
    design = np.stack([np.log(values / (1 - values)), np.ones(len(values))], axis=1)
    hit = np.bincount(place, weights=items.kept)

    def loss(at: Floats) -> float:
        line = design @ at
        return float(count @ np.logaddexp(0, line) - hit @ line)

    def slope(at: Floats) -> Floats:
        return np.asarray(design.T @ (count / (1 + np.exp(-(design @ at))) - hit), dtype=np.float64)

    def curvature(at: Floats) -> Floats:
        share = 1 / (1 + np.exp(-(design @ at)))
        return np.asarray(design.T @ (design * (count * share * (1 - share))[:, None]), dtype=np.float64)

    found = minimize(loss, np.array([1.0, 0.0]), jac=slope, hess=curvature, method="trust-exact", options={"gtol": 1e-8 * len(items)})
    return float(found.x[0]), float(found.x[1])

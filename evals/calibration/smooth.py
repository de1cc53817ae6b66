"""Smooth calibration error and its null band (Blasiok and Nakkiran 2023, arXiv:2309.12236). Numbers only; nothing is drawn.

The residuals are smoothed over salience with a Gaussian of width s, reflected at 0 and 1; the mean absolute value of what is left is the
error at that width. The error is taken where it equals the width, so that no number of bins has to be chosen. A perfectly calibrated model
shows an error above 0 as well, the larger the fewer its candidates: the null band says how large.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_CELLS = 400  # on [0, 1]; the error moves by less than .001 with four times as many
_LEVELS = 4_000  # distinct values at a time, so that memory does not grow with their number
_STEPS = 14  # halvings of the width: to 1 / 16,384
_SMALLEST = 0.001


def smooth_ece(p: Floats, y: Floats) -> float:
    """Return the smooth expected calibration error, 0 to 1.

    Args:
        p: Probabilities, 0 to 1; at least one.
        y: Outcomes, 0 or 1.
    """
    values, place = np.unique(p, return_inverse=True)
    return float(_errors(_spread(values, np.asarray(np.bincount(place, weights=p - y)[None], dtype=np.float64)), len(p))[0])


def null_band(p: Floats, *, seed: int, draws: int = 400, level: float = 0.95) -> float:
    """Return what the error stays below in a share of worlds in which the probabilities are true.

    Args:
        p: Probabilities, 0 to 1; at least one.
        seed: Of the simulation.
        draws: How many worlds.
        level: The share, between 0 and 1.
    """
    generator = np.random.default_rng([seed, 2])
    values, count = np.unique(p, return_counts=True)
    if len(values) > _LEVELS:  # a tenth of a cell's width does not show
        values, count = np.unique(np.round(p * _LEVELS) / _LEVELS, return_counts=True)
    kept = generator.binomial(count, values, size=(draws, len(values)))
    grid = _spread(values, np.asarray(values * count - kept, dtype=np.float64))
    return float(np.quantile(_errors(grid, len(p)), level))


def _spread(p: Floats, residuals: Floats) -> Floats:
    """Return residuals at values on the grid of cells, each shared between the two cells whose middles are nearest: (rows, cells)."""
    if len(p) > _LEVELS + 1:
        parts = range(0, len(p), _LEVELS)
        return np.asarray(sum(_spread(p[at : at + _LEVELS], residuals[:, at : at + _LEVELS]) for at in parts), dtype=np.float64)
    at = np.clip(p * _CELLS - 0.5, 0, _CELLS - 1)
    below = np.minimum(at.astype(int), _CELLS - 2)
    upper = at - below
    place = np.zeros((len(p), _CELLS))
    place[np.arange(len(p)), below] = 1 - upper
    place[np.arange(len(p)), below + 1] += upper
    return np.asarray(residuals @ place, dtype=np.float64)


def _errors(grid: Floats, count: int) -> Floats:
    """Return each row's error where it equals the width of the smoothing."""
    low, high = np.zeros(len(grid)), np.ones(len(grid))
    error = np.zeros(len(grid))
    for _ in range(_STEPS):
        middle = (low + high) / 2
        error = _smoothed(grid, middle, count)
        wide = (middle < _SMALLEST) | (error <= middle)  # as wide as needed, or wider
        high, low = np.where(wide, middle, high), np.where(wide, low, middle)
    return error


def _smoothed(grid: Floats, widths: Floats, count: int) -> Floats:
    """Return the mean absolute smoothed residual at each row's own width; a reflected Gaussian is a product in the cosine transform."""
    from scipy.fft import dct, idct

    frequency = np.pi * np.arange(_CELLS)
    damped = dct(grid, axis=-1) * np.exp(-0.5 * (frequency * widths[:, None]) ** 2)
    return np.asarray(np.abs(idct(damped, axis=-1)).sum(axis=-1) / count, dtype=np.float64)

"""The densities of both classes and histograms of their scores, as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from bayescal.curves.class_draws import density_dataset
from bayescal.engines.data import KLASS
from bayescal.fitted.problem import FittedProblem
from bayescal.randomness import generator
from bayescal.validation import Floats

MOST_BINS = 60
# For the modes' intervals.
MOST_DRAWS = 1000


def class_densities(
    problem: FittedProblem, x: Floats, level: float, size: int, seed: Any
) -> xr.Dataset:
    """Return densities of both classes, some draws of them, and the modes."""
    draws = problem.calibration.density_draws
    shown = draws if problem.has_posterior else None
    fits = problem.calibration.fits if problem.has_mle else None
    data = density_dataset(fits, draws, x, level)
    if draws is None or shown is None:
        return data.drop_vars(["lower", "upper"], errors="ignore")
    few = draws.take(generator(seed).choice(draws.size, min(size, draws.size), replace=False))
    log_draws = np.stack(few.log_densities(x))
    many = draws.take(np.arange(0, draws.size, max(1, draws.size // MOST_DRAWS)))
    modes = np.stack([x[each.argmax(axis=1)] for each in many.log_densities(x)])
    quantile = [0.5 - level / 2.0, 0.5, 0.5 + level / 2.0]
    data["draws"] = (("klass", "sample", "score"), np.exp(log_draws))
    data["mode"] = (("klass", "quantile"), problem.shown(np.quantile(modes, quantile, axis=1).T))
    return data.assign_coords(quantile=quantile)


def histograms(problem: FittedProblem, bins: int | None) -> xr.Dataset:
    """Return histograms of area 1, each class in bins of its own; nan where one has fewer bins."""
    parts = [_bins_of(*problem.documents.of_class(bool(k)), problem, bins) for k in range(2)]
    most = max(height.size for _, height in parts)
    out = np.full((3, len(KLASS), most), np.nan)
    for k, (edges, height) in enumerate(parts):
        shown = problem.shown(edges)
        out[:, k, : height.size] = shown[:-1], shown[1:], height
    names = ("bin_low", "bin_high", "height")
    variables = {name: (("klass", "bin"), each) for name, each in zip(names, out, strict=True)}
    return xr.Dataset(variables, {"klass": list(KLASS)})


def _bins_of(
    score: Floats, weight: Floats, problem: FittedProblem, bins: int | None
) -> tuple[Floats, Floats]:
    score, weight = score[weight > 0.0], weight[weight > 0.0]
    if score.size == 0:
        return np.zeros(1), np.empty(0)
    low, high = score.min(), score.max()
    if low == high:
        half = 0.1 * problem.calibration.spread
        low, high = low - half, high + half
    if bins is None:
        bins = min(MOST_BINS, np.histogram_bin_edges(score, "auto", (low, high)).size - 1)
    height, edges = np.histogram(score, bins, (low, high), weights=weight, density=True)
    return edges, height

"""Bands for P(+|s), by method: (scores, labels, new scores, level) -> (new scores, 2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bayescal import ScoreCalibrator
from bayescal.bayes import probability
from bayescal.methods import Labels
from bayescal.methods.peers import venn_abers_bounds
from bayescal.score_checks import without_scores_warnings
from bayescal.validation import Floats
from studies.logistic import platt_coefficients

RESAMPLES = 200

# What is fitted once and then asked for bands of several levels.
Bands = Callable[[Floats, float], Floats]
BandMethod = Callable[[Floats, Labels, int], Bands]


def ours(**settings: Any) -> BandMethod:
    """Return the posterior bands of a ScoreCalibrator with the settings."""

    def fit(scores: Floats, labels: Labels, seed: int) -> Bands:
        with without_scores_warnings():
            fitted = ScoreCalibrator(random_state=seed, **settings).fit(scores, labels)
        return lambda new, level: np.asarray(fitted.predict_interval(new, level))

    return fit


def venn_abers(scores: Floats, labels: Labels, seed: int) -> Bands:
    """Return [p0, p1], which knows no level."""
    del seed
    return lambda new, level: venn_abers_bounds(scores, labels, new)


def bootstrap(scores: Floats, labels: Labels, seed: int) -> Bands:
    """Return percentile bands of Platt's sigmoid over bootstrap resamples of the documents."""
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(scores.size, np.full(scores.size, 1 / scores.size), RESAMPLES)
    intercept, slope = platt_coefficients(scores, labels, counts.astype(float)).T

    def bands(new: Floats, level: float) -> Floats:
        curves = intercept[:, None] + slope[:, None] * new
        tails = [0.5 - level / 2, 0.5 + level / 2]
        return probability(np.quantile(curves, tails, axis=0)).T

    return bands

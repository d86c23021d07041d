"""Draws of monotone log-odds from their prior."""

from __future__ import annotations

import numpy as np

from bayescal.engines.monotone.basis import Pieces
from bayescal.engines.monotone.density import LARGEST_ETA, Prior
from bayescal.validation import Floats


def draw_prior(
    prior: Prior, pieces: Pieces, draws: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return intercepts (draws,) and slopes (draws, segments); see `monotone.density`."""
    intercept = rng.normal(prior.intercept_location, prior.intercept_scale, draws)
    steps = rng.normal(size=(draws, pieces.segments))
    # A multivariate t: Gaussian steps whose common scale is unknown.
    steps[:, 1:] /= np.sqrt(rng.chisquare(prior.walk_freedom, (draws, 1)) / prior.walk_freedom)
    eta = prior.slope_location + steps @ prior.walk(pieces).T
    return intercept, np.exp(np.minimum(eta, LARGEST_ETA))

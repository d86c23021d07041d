"""The straight line that turns a classifier's log-odds into the best guess of the true ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bayescal.locality.quantities import covariance_with_truth, noise_sensitivity, samples
from bayescal.validation import Floats


@dataclass(frozen=True)
class LinearCorrection:
    """
    a lambda' + b, the best linear guess of the true log-odds lambda from estimated ones, lambda'.

    Attributes
    ----------
    slope, intercept : arrays of shape (...)
        a = COV[lambda', lambda] / VAR[lambda'] and b = E[lambda] - a E[lambda'].
    residual_variance : array of shape (...)
        VAR[lambda] (1 - rho^2), what no straight line explains; rho is the correlation.
    """

    slope: Floats
    intercept: Floats
    residual_variance: Floats

    def correct(self, estimate: ArrayLike) -> Floats:
        """Return a lambda' + b."""
        return np.asarray(self.slope * np.asarray(estimate) + self.intercept)


def linear_correction(estimate: ArrayLike, truth: ArrayLike) -> LinearCorrection:
    """
    Return the straight line of least squared error, of all samples or of each neighbourhood.

    One line for all suffices where both log-odds are linear in the features; else one for each
    neighbourhood does better. Neighbourhoods of equal estimates make the corrected estimate
    calibrated (Bennett's dissertation, section 4.4).

    Parameters
    ----------
    estimate, truth : array-like of shape (..., n)
        Estimated and true log-odds of n samples; leading axes are neighbourhoods.

    Returns
    -------
    LinearCorrection
        With a slope of 0 where all estimates are equal: the best guess is then E[lambda].

    Raises
    ------
    ValueError
        If the shapes differ, or a value is not finite.

    Examples
    --------
    >>> line = linear_correction([-1.0, 0.0, 1.0], [-3.0, -1.0, 1.0])
    >>> float(line.slope), float(line.intercept), float(line.residual_variance)
    (2.0, -1.0, 0.0)
    """
    given, true = samples(estimate, truth)
    spread, shared = noise_sensitivity(given), covariance_with_truth(given, true)
    slope = np.divide(shared, spread, out=np.zeros_like(spread), where=spread > 0.0)
    intercept = true.mean(axis=-1) - slope * given.mean(axis=-1)
    rest = np.maximum(noise_sensitivity(true) - slope * shared, 0.0)
    return LinearCorrection(slope, np.asarray(intercept), rest)

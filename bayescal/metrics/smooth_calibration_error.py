"""How far probabilities are from frequencies, without bins: the smooth calibration error."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import fft

from bayescal.metrics.inputs import Outcomes, read_outcomes
from bayescal.validation import Floats

# Cells of [0, 1]; the result is off by less than the width of one.
CELLS = 8192


def smooth_calibration_error(
    y_true: ArrayLike, y_prob: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """
    Return the smooth calibration error (smECE) of probabilities, in probability.

    Bins are replaced by a Gaussian kernel K of width sigma on [0, 1], reflected at 0 and 1. The
    error at that width is the integral over t of abs(sum_i w_i (y_i - p_i) K(p_i, t)), with weights
    w_i that sum to 1. It falls as sigma grows; the smooth calibration error is the one sigma that
    equals the error at its own width. So there is nothing to choose, and a small change of the
    probabilities changes the result a little only.

    Parameters
    ----------
    y_true, y_prob, sample_weight : array-like of shape (n,)
        See `log_loss`. Of several classes see `top_label`.

    Returns
    -------
    float
        Between 0 and 1; within 2e-4 of the exact value.

    Raises
    ------
    ValueError
        If an argument is not as described.

    Notes
    -----
    Chance alone makes it positive: of n documents whose probabilities are right and spread over
    [0, 1] it is about 0.3 n ** (-1/3). It is no proper score: it is small if all probabilities are
    the base rate.

    References
    ----------
    J. Blasiok and P. Nakkiran, *Smooth ECE: principled reliability diagrams via kernel smoothing*,
    ICLR 2024, arXiv:2309.12236 (2023); their own code is the package relplot.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.linspace(0.0, 1.0, 1000)
    >>> y = np.random.default_rng(0).random(1000) < p
    >>> round(smooth_calibration_error(y, p), 2), round(smooth_calibration_error(y, p**2), 2)
    (0.03, 0.15)
    """
    # Other metrics need none of it, and it takes as long to import as a fit.
    from scipy import optimize

    outcomes = read_outcomes(y_true, y_prob, sample_weight)
    waves = fft.dct(_residuals(outcomes), type=2)
    # A Gaussian that is reflected at both ends damps the k-th cosine by exp(-(pi k sigma)^2/2).
    exponents = -0.5 * (np.pi * np.arange(CELLS)) ** 2

    def excess(sigma: float) -> float:
        smoothed = fft.idct(waves * np.exp(exponents * sigma**2), type=2)
        return float(np.abs(smoothed).sum()) - sigma

    if excess(0.0) <= 0.0:
        return 0.0
    # Probabilities of 0 whose labels are all 1 are off by 1, but for rounding.
    if excess(1.0) >= 0.0:
        return 1.0
    return float(optimize.brentq(excess, 0.0, 1.0, xtol=1e-7))


def _residuals(outcomes: Outcomes) -> Floats:
    """Return the share of the documents times y - p in each cell, split between the two nearest."""
    share = outcomes.counts / outcomes.counts.sum()
    residual = share * (outcomes.truth - outcomes.p)
    position = np.clip(outcomes.p * CELLS - 0.5, 0.0, CELLS - 1.0)
    left = np.minimum(position.astype(np.intp), CELLS - 2)
    right_share = position - left
    cells = np.zeros(CELLS)
    np.add.at(cells, left, residual * (1.0 - right_share))
    np.add.at(cells, left + 1, residual * right_share)
    return cells

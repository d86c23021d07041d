"""Distances of probabilities from frequencies: the ECE in bins, and the smooth error."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft

from bayescal.metrics.inputs import Forecasts, read_outcomes
from bayescal.metrics.reliability import STRATEGIES, Bins, bin_outcomes
from bayescal.support.condensing import from_counts
from bayescal.support.validation import Floats, check_choice, check_flag

NORMS = ("l1", "l2")


@from_counts("y_prob", "y_true")
def calibration_error(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    n_bins: int = 15,
    strategy: str = "quantile",
    norm: str = "l1",
    debias: bool = False,
    sample_weight: ArrayLike | None = None,
    inclusion: ArrayLike | None = None,
) -> float:
    """Return the calibration error of probabilities, in probability.

    With w_b the share of the documents in bin b and d_b their mean probability less their share of
    positives: "l1", the expected calibration error, sum_b w_b |d_b|; "l2", the root of
    sum_b w_b d_b^2. `smooth_calibration_error` needs no bins.

    Parameters
    ----------
    y_true, y_prob : array-like of shape (n,)
        As in `log_loss`. For several classes see `top_label`.
    n_bins : int
        Number of bins.
    strategy : {"quantile", "uniform"}
        Bins with equal numbers of documents, or of equal width.
    norm : {"l1", "l2"}
        See above. No norm is a proper score: constant probabilities may have error 0.
    debias : bool
        Whether to subtract the contribution of chance from "l2", down to 0: the variance of each
        bin's share in bins of more than one document.
    sample_weight : array-like of shape (n,), optional
        How many documents each counts for, in `debias` too.
    inclusion : array-like of shape (n,), optional
        The probability that the document was labelled; `debias` uses effective sample sizes.

    References
    ----------
    A. Kumar, P. Liang and T. Ma, *Verified uncertainty calibration*, NeurIPS 2019, definition 5.1.

    Examples
    --------
    >>> calibration_error([0, 1, 1, 1], [0.5, 0.5, 0.75, 0.75], n_bins=2)
    0.125
    """
    check_choice("norm", norm, NORMS)
    check_flag(debias=debias)
    check_choice("strategy", strategy, STRATEGIES)
    if debias and norm != "l2":
        raise ValueError(f"debias needs norm='l2', got {norm!r}.")
    outcomes = read_outcomes(y_true, y_prob, sample_weight, inclusion, as_evidence=debias)
    bins = bin_outcomes(outcomes, n_bins, strategy)
    share = bins.weight / bins.weight.sum()
    error = np.abs(bins.prob_pred - bins.prob_true)
    if debias:
        return _debiased(bins, share, error)
    return float(share @ error) if norm == "l1" else math.sqrt(share @ error**2)


def _debiased(bins: Bins, share: Floats, error: Floats) -> float:
    several = bins.size > 1.0
    if not several.any():
        raise ValueError(
            "debias needs a bin of more than one document: use fewer bins, or weights that count"
            " documents."
        )
    variance = bins.prob_true * (1.0 - bins.prob_true)
    chance = variance[several] / (bins.size[several] - 1.0)
    return math.sqrt(max(float(share[several] @ (error[several] ** 2 - chance)), 0.0))


CELLS = 8192  # of [0, 1]; the smooth error is accurate to the width of one


@from_counts("y_prob", "y_true")
def smooth_calibration_error(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    inclusion: ArrayLike | None = None,
) -> float:
    """Return the smooth calibration error (smECE) of probabilities, between 0 and 1, within 2e-4.

    Bins are replaced by a Gaussian kernel K of width sigma on [0, 1], reflected at 0 and 1. The
    error at that width is the integral over t of abs(sum_i w_i (y_i - p_i) K(p_i, t)), with weights
    w_i that sum to 1. It falls as sigma grows; the smooth calibration error is the one sigma that
    equals the error at its own width, a continuous function of the probabilities.

    Chance alone makes it positive: for n documents with right probabilities spread over [0, 1] it
    is about 0.3 n ** (-1/3). It is no proper score: it is small if all probabilities are the base
    rate.

    Parameters
    ----------
    y_true, y_prob, sample_weight, inclusion : array-like of shape (n,)
        As in `log_loss`. For several classes see `top_label`.

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
    return smooth_error(read_outcomes(y_true, y_prob, sample_weight, inclusion))


def smooth_error(outcomes: Forecasts) -> float:
    """Return the smooth calibration error of checked outcomes."""
    cells = residuals(outcomes.truth, outcomes.p, outcomes.counts)
    return error_of_residuals(cells / outcomes.counts.sum())


def error_of_residuals(cells: Floats) -> float:
    """Return the smooth calibration error of mean residuals by cell."""
    from scipy import optimize  # takes as long to import as a fit

    waves = fft.dct(cells, type=2)
    # A Gaussian that is reflected at both ends damps the k-th cosine by exp(-(pi k sigma)^2/2).
    exponents = -0.5 * (np.pi * np.arange(CELLS)) ** 2

    def excess(sigma: float) -> float:
        smoothed = fft.idct(waves * np.exp(exponents * sigma**2), type=2)
        return float(np.abs(smoothed).sum()) - sigma

    if excess(0.0) <= 0.0:
        return 0.0
    # Probabilities of 0 with labels of 1 have an error of 1, up to rounding.
    if excess(1.0) >= 0.0:
        return 1.0
    return float(optimize.brentq(excess, 0.0, 1.0, xtol=1e-7))


def residuals(truth: NDArray[np.bool_], p: Floats, weight: Floats) -> Floats:
    """Return the sum of y - p in each cell; a document is split between the two nearest."""
    residual = weight * (truth - p)
    position = np.clip(p * CELLS - 0.5, 0.0, CELLS - 1.0)
    left = np.minimum(position.astype(np.intp), CELLS - 2)
    right_share = position - left
    cells = np.zeros(CELLS)
    np.add.at(cells, left, residual * (1.0 - right_share))
    np.add.at(cells, left + 1, residual * right_share)
    return cells

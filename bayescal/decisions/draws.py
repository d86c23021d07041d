"""Posterior draws of probabilities, of two classes or of several."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.support import validation, weighting
from bayescal.support.intervals import Interval, tails
from bayescal.support.numerics import blocks_of
from bayescal.support.validation import Floats

BLOCK_ELEMENTS = 1 << 22
SUM_TOLERANCE = 1e-6
FEW = 8  # draws of two documents that may sum to 1 by chance


def as_draws(draws: ArrayLike, name: str = "draws") -> Floats:
    """Return draws as a float64 array."""
    p = validation.as_reals(draws, name)
    several = p.ndim == 3
    shape = ("draws", "documents", "classes") if several else ("draws", "documents")
    tolerance = SUM_TOLERANCE if several else None
    p = validation.probabilities_of_shape(p, name, *shape, tolerance=tolerance)
    if p.shape[1:] == (2,) and len(p) > FEW and np.allclose(p.sum(axis=1), 1.0, 0.0, SUM_TOLERANCE):
        raise ValueError(
            f"{name} must have shape (draws, documents), as sample_proba returns them; got"
            f" {p.shape} whose rows sum to 1, as predict_proba returns them."
        )
    return p


def as_binary_draws(draws: ArrayLike) -> Floats:
    """Return draws of P(+), shape (draws, documents); ValueError for anything else."""
    p = as_draws(draws)
    if p.ndim != 2:
        raise ValueError(
            f"draws must have shape (draws, documents), P(+) of one class, got {p.shape}: pass"
            " draws[:, :, k] for class k."
        )
    return p


def as_counts(sample_weight: ArrayLike | None, n: int) -> NDArray[np.intp] | None:
    """Return whole numbers of documents, (n,), or None; ValueError for anything else."""
    weight = weighting.as_weights(sample_weight, n)
    return None if weight is None else weighting.whole_counts(weight)


def number_of_classes(draws: Floats) -> int:
    """Return 2 for draws of P(+), or the number of classes."""
    return 2 if draws.ndim == 2 else int(draws.shape[2])


def of_all_classes(draws: Floats) -> Floats:
    """Return draws with a last dimension for the classes, negative first."""
    return np.stack([1.0 - draws, draws], axis=-1) if draws.ndim == 2 else draws


METHODS = ("auto", "exact", "drawn")
MOST_EXACT = 500_000  # draws x documents up to which "auto" is "exact": a quarter of a second
COUNT_BLOCK_ELEMENTS = 1 << 17  # in the processor's cache
FEWEST_COUNTS = 1000  # drawn, however few the draws
NO_MASS = 1e-17  # below the rounding of a Fourier transform
SHORT = 32  # shorter distributions are convolved faster without a Fourier transform


@dataclass(frozen=True, kw_only=True)
class PositiveCount(Interval):
    """The posterior of the number of positives in a set of documents.

    Attributes
    ----------
    value, lower, upper, level
        Posterior mean and equal-tailed credible interval of probability `level` or more, whose ends
        are whole numbers.
    method : str
        "exact" or "drawn".
    sd : float
        Posterior standard deviation.
    pmf : array
        Probability of each number from `least` on: with "exact" of 0 to all documents, with "drawn"
        of those between the least and the most drawn.
    least : int
        The number that `pmf` begins with.
    """

    sd: float
    pmf: Floats
    least: int = 0


def count_positives(
    draws: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    level: float = 0.9,
    method: str = "auto",
    rng: Any = None,
) -> PositiveCount:
    """Return the posterior of the number of positives in a set.

    It averages over draws of the probabilities the distribution of a sum of independent Bernoulli
    variables (Poisson-binomial).

    Parameters
    ----------
    draws : array-like of shape (draws, documents)
        Posterior draws of P(+).
    sample_weight : array-like of shape (documents,), optional
        How many documents each counts for, whole numbers, such as the `counts` of
        `bayescal.condense`.
    level : float
        Probability of the interval.
    method : {"auto", "exact", "drawn"}
        "exact" computes Poisson-binomial probabilities; "drawn" draws the labels once for each
        draw, and at least 1,000 times; "auto" is "exact" if draws x documents is at most half a
        million.
    rng : int, Generator, RandomState or None
        Seeds drawn labels.

    Examples
    --------
    >>> found = count_positives([[0.5, 0.5], [0.5, 0.5]], level=0.4)
    >>> found.pmf.round(2).tolist(), (found.lower, found.upper)
    ([0.25, 0.5, 0.25], (1, 1))
    """
    validation.check_fraction(level=level)
    validation.check_choice("method", method, METHODS)
    p = as_binary_draws(draws)
    counts = as_counts(sample_weight, p.shape[1])
    documents = p.shape[1] if counts is None else int(counts.sum())
    if method == "auto":
        method = "exact" if len(p) * documents <= MOST_EXACT else "drawn"
    if method == "exact":
        least, pmf = 0, _mean_poisson_binomial(p if counts is None else p.repeat(counts, axis=1))
    else:
        least, pmf = _drawn(p, counts, validation.generator(rng))
    number = least + np.arange(pmf.size)
    mean = float(pmf @ number)
    # A tolerance for rounding, where the sum meets a probability exactly.
    cumulative = np.cumsum(pmf) + pmf.size * np.finfo(float).eps
    lower, upper = (least + np.searchsorted(cumulative, tails(level))).tolist()
    sd = float(np.sqrt(pmf @ (number - mean) ** 2))
    return PositiveCount(mean, lower, upper, level, method, sd=sd, pmf=pmf, least=least)


def _mean_poisson_binomial(p: Floats) -> Floats:
    """Return the mean over draws of the distributions of sums of independent labels."""
    size, documents = p.shape
    total = np.zeros(documents + 1)
    width = max(1, COUNT_BLOCK_ELEMENTS // documents)
    for part in blocks_of(width, size):
        some = p[part].T
        pmf = np.stack([1.0 - some, some])
        # Convolve distributions of sums in pairs.
        while pmf.shape[1] > 1:
            if pmf.shape[1] % 2:
                nothing = np.zeros((len(pmf), 1, pmf.shape[2]))
                nothing[0] = 1.0
                pmf = np.concatenate([pmf, nothing], axis=1)
            pmf = _convolved(pmf[:, ::2], pmf[:, 1::2])
            # With rare positives most of each distribution is empty.
            pmf = pmf[: np.flatnonzero(pmf.max(axis=(1, 2)) > NO_MASS)[-1] + 1]
        pmf = pmf[: documents + 1, 0]
        total[: len(pmf)] += pmf.sum(axis=1)
    total = np.maximum(total, 0.0)
    return np.asarray(total / total.sum())


def _convolved(first: Floats, second: Floats) -> Floats:
    """Return convolutions over the first dimension, of arrays of one shape."""
    length = len(first)
    if length > SHORT:
        from scipy import signal  # takes 0.3 s to import

        return np.asarray(signal.fftconvolve(first, second, axes=0))
    sums = np.zeros((2 * length - 1, *first.shape[1:]))
    for k in range(length):
        sums[k : k + length] += first[k] * second
    return sums


def _drawn(
    p: Floats, counts: NDArray[np.intp] | None, rng: np.random.Generator
) -> tuple[int, Floats]:
    """Return the least number drawn, and the share of each from it on."""

    def number(row: Floats) -> int:
        if counts is None:
            return int(np.count_nonzero(rng.random(row.size) < row))
        return int(rng.binomial(counts, row).sum())

    repeats = -(-FEWEST_COUNTS // len(p))
    drawn = np.array([number(row) for row in p for _ in range(repeats)])
    least = int(drawn.min())
    return least, np.bincount(drawn - least) / drawn.size

"""The likeliest class prior of new documents: Saerens's expectation maximisation, sped up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bayescal.validation import Floats, as_weights

# Mean log likelihood that the search may leave out, in nats.
GAP, MOST_ITERATIONS = 1e-13, 10_000


@dataclass(frozen=True)
class PriorByEM:
    """
    The likeliest class prior.

    Attributes
    ----------
    prior : float or array of shape (classes,)
        P(+), or for several classes the probability of each.
    iterations : int
        Number of steps of the search.
    gap : float
        At most so much higher could the mean log likelihood be, in nats.
    """

    prior: float | Floats
    iterations: int
    gap: float


def prior_by_em(
    y_prob: ArrayLike, prior: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> PriorByEM:
    """
    Return the class prior of new documents that makes their calibrated probabilities likeliest.

    The fixed point of Saerens's expectation maximisation, new prior_c = mean_i P(c | s_i, new
    prior), which maximises the concave log likelihood sum_i log sum_c new_c P(c | s_i)/old_c. Two
    steps at a time are extrapolated (SQUAREM), and the search ends by a bound on what is missing,
    not by small steps, which plain EM makes far from the end where classes overlap.

    Parameters
    ----------
    y_prob : array-like of shape (n,) or (n, classes)
        Calibrated probabilities of new documents, P(+) or those of every class.
    prior : float or array-like of shape (classes,)
        The class prior that `y_prob` were made with: that of the collection fitted, or what was
        passed as `prior=`.
    sample_weight : array-like of shape (n,), optional
        How many documents each counts for.

    Returns
    -------
    PriorByEM
        A prior of exactly 0 or 1 is a legal answer: no document looks like that class.

    Raises
    ------
    ValueError
        If an argument is not as described.

    References
    ----------
    M. Saerens, P. Latinne and C. Decaestecker, *Adjusting the outputs of a classifier to new a
    priori probabilities*, Neural Computation 2002. R. Varadhan and C. Roland, Scandinavian Journal
    of Statistics 2008 (SQUAREM).

    Examples
    --------
    >>> found = prior_by_em([0.9, 0.9, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1], prior=0.5)
    >>> round(found.prior, 4)
    0.1875
    """
    p, old, binary = _read_probabilities(y_prob, prior)
    weight = as_weights(sample_weight, p.shape[0])
    if weight is not None:
        # Documents that do not count may be impossible where the others' prior is 0 or 1.
        p, weight = p[weight > 0.0], weight[weight > 0.0]
    share = np.full(p.shape[0], 1.0 / p.shape[0]) if weight is None else weight / weight.sum()
    ratio = p / old
    ratio /= ratio.max(axis=1, keepdims=True)
    new, iterations, gap = _maximise(ratio, share, old)
    return PriorByEM(float(new[1]) if binary else new, iterations, gap)


def _read_probabilities(y_prob: ArrayLike, prior: ArrayLike) -> tuple[Floats, Floats, bool]:
    p, old = np.asarray(y_prob, dtype=np.float64), np.asarray(prior, dtype=np.float64)
    binary = p.ndim == 1
    if binary:
        p = np.stack([1.0 - p, p], axis=1)
    if p.ndim != 2 or p.size == 0 or not (p.min() >= 0.0 and p.max() <= 1.0):
        raise ValueError(
            "y_prob must hold probabilities from 0 to 1, of shape (n,) or (n, classes), got shape"
            f" {np.shape(y_prob)}, or values outside."
        )
    if np.abs(p.sum(axis=1) - 1.0).max() > 1e-6:
        raise ValueError("y_prob of all classes must sum to 1: normalise each row.")
    if old.ndim == 0 and p.shape[1] == 2:
        old = np.array([1.0 - old, old])
    if old.shape != p.shape[1:] or not (old.min() > 0.0 and abs(old.sum() - 1.0) < 1e-6):
        raise ValueError(
            f"prior must be P(+), or {p.shape[1]} positive numbers that sum to 1, one a class, got"
            f" {prior!r}."
        )
    return p, old, binary


def _maximise(ratio: Floats, share: Floats, start: Floats) -> tuple[Floats, int, float]:
    """Return the prior of the greatest likelihood, iterations, and the bound on what is missing."""

    def gains(prior: Floats) -> Floats:
        # The gradient: an EM step multiplies the prior by it, and by concavity the mean log
        # likelihood cannot rise by more than its largest element less 1.
        gain: Floats = (share / (ratio @ prior)) @ ratio
        return gain

    def value(prior: Floats) -> float:
        return float(share @ np.log(ratio @ prior))

    prior = start / start.sum()
    iterations = 0
    while True:
        gain = gains(prior)
        gap = float(gain.max()) - 1.0
        if gap < GAP or iterations == MOST_ITERATIONS:
            return prior, iterations, max(gap, 0.0)
        iterations += 1
        one = prior * gain
        two = one * gains(one)
        step, bend = one - prior, two - 2.0 * one + prior
        length = np.linalg.norm(step) / max(float(np.linalg.norm(bend)), 1e-300)
        far = prior + 2.0 * length * step + length**2 * bend
        # Not quite to the boundary, which EM steps cannot leave.
        far = np.maximum(far, 1e-3 * two)
        far /= far.sum()
        prior = far if value(far) > value(two) else two / two.sum()

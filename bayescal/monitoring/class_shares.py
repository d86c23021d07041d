"""The posterior of the shares of several classes among new documents."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bayescal.inference.importance import StudentT
from bayescal.inference.newton import climb, root_of_inverse
from bayescal.monitoring.prior_shift import LABEL_SHIFT
from bayescal.support import validation
from bayescal.support.intervals import Interval, tails
from bayescal.support.labels import in_order
from bayescal.support.numerics import blocks_of
from bayescal.support.validation import Floats, generator

LEAST_CURVATURE = 0.05  # of the log density by log-ratios
PROPOSALS = 64  # of a t distribution around each draw's mode
NEWTON_STEPS = 40
DOCUMENTS = 1000  # at a time


@dataclass(frozen=True)
class SharesPosterior:
    """The posterior of the shares of several classes in a new collection.

    Attributes
    ----------
    classes : array of shape (K,)
        The classes, in the order of the columns.
    mean, lower, upper : array of shape (K,)
        Posterior mean of each share, and its equal-tailed credible interval.
    level : float
        Probability of each interval.
    draws : array of shape (draws, K)
        Shares by draw of the calibrator, for `predict_proba(scores, prior=draws)`.
    """

    classes: NDArray[Any]
    mean: Floats
    lower: Floats
    upper: Floats
    level: float
    draws: Floats

    def __str__(self) -> str:
        of_each = zip(self.classes, self.mean, self.lower, self.upper, strict=True)
        shares = (f"{name} {Interval(mean, low, high)}" for name, mean, low, high in of_each)
        return f"{', '.join(shares)}, {LABEL_SHIFT}"


def shares_of(
    ratio: Floats, classes: NDArray[Any], concentration: float, level: float, rng: Any
) -> SharesPosterior:
    """Return the posterior from ratios proportional to p(scores | class), (draws, documents, K)."""
    random = generator(rng)
    draws = np.empty((len(ratio), classes.size))
    start = np.zeros(classes.size - 1)
    for k, each in enumerate(ratio):
        # Modes of draws are close to each other.
        start, draws[k] = _draw_shares(
            each / each.max(axis=1, keepdims=True), concentration, start, random
        )
    lower, upper = np.quantile(draws, tails(level), axis=0)
    return SharesPosterior(classes, draws.mean(axis=0), lower, upper, level, draws)


def _log_shares(at: Floats) -> Floats:
    """Return log shares by log-ratios to the last class, (..., K - 1) to (..., K)."""
    full = np.concatenate([at, np.zeros((*at.shape[:-1], 1))], axis=-1)
    return np.asarray(special.log_softmax(full, axis=-1))


def _log_density(at: Floats, ratio: Floats, concentration: float) -> Floats:
    """Return the log posterior density of log-ratios, (M, K - 1) to (M,)."""
    log_share = _log_shares(at)
    mixture = np.log(ratio @ np.exp(log_share).T)
    # The Dirichlet density with the Jacobian prod pi_c of the log-ratios.
    return np.asarray(mixture.sum(axis=0) + concentration * log_share.sum(axis=1))


def _draw_shares(
    ratio: Floats, concentration: float, start: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return the mode of log-ratios, and one draw of the shares."""

    def value(at: Floats) -> float:
        return float(_log_density(at[None], ratio, concentration)[0])

    def newton(at: Floats) -> tuple[Floats, float]:
        slope, curvature = _share_derivatives(at, ratio, concentration)
        step = np.asarray(np.linalg.solve(curvature, slope), dtype=np.float64)
        return step, float(slope @ step)

    at = climb(start, value, newton, tolerance=1e-8, steps=NEWTON_STEPS, rise=0.0, smallest=1e-4)
    root = root_of_inverse(_share_derivatives(at, ratio, concentration)[1])
    proposal = StudentT(at, root)
    tried = proposal.draw(rng, PROPOSALS)
    weight = _log_density(tried, ratio, concentration) - proposal.log_density(tried)
    return at, np.exp(_log_shares(tried[rng.choice(PROPOSALS, p=special.softmax(weight))]))


def _share_derivatives(at: Floats, ratio: Floats, concentration: float) -> tuple[Floats, Floats]:
    """Return the gradient by log-ratios, and the complete-data curvature, which is positive."""
    share = np.exp(_log_shares(at))
    p = ratio * share
    p /= p.sum(axis=1, keepdims=True)
    total = len(ratio) + concentration * share.size
    slope = p.sum(axis=0) + concentration - total * share
    complete = total * (np.diag(share) - np.outer(share, share))
    missing = np.diag(p.sum(axis=0)) - p.T @ p
    observed = (complete - missing)[:-1, :-1]
    least = np.linalg.eigvalsh(observed)[0]
    if least <= LEAST_CURVATURE:
        # Far from the mode the density may be convex.
        observed = observed + (LEAST_CURVATURE - min(least, 0.0)) * np.eye(share.size - 1)
    return slope[:-1], observed


def estimate_shares(
    calibrator: Any,
    scores: ArrayLike,
    *,
    concentration: float = 1.0,
    level: float = 0.9,
    random_state: Any = None,
) -> SharesPosterior:
    """Return the posterior of a collection's shares, from its scores and a calibrator's draws.

    For each draw k the likelihood of the shares pi is prod_i sum_c pi_c r_kic, with r_kic
    proportional to p(scores_i | c), and the prior a Dirichlet distribution. The mode is found by
    Newton's method in log-ratios, and one pi is chosen by its importance weight among proposals of
    a t distribution there. As in `estimate_prior`, unlabelled documents do not change the map.

    It assumes label shift: only the shares of the classes changed. If instead the case mix changed
    and P(class | scores) is as it was (covariate shift), the shares are the means of
    `predict_proba`, and this estimate can be far off.

    Parameters
    ----------
    calibrator : MulticlassCalibrator
        Fitted.
    scores : array-like of shape (n, K)
        Scores of the collection.
    concentration : float
        Of the symmetric Dirichlet prior; 1 is uniform.
    level : float
        Probability of the intervals.
    random_state : int, Generator, RandomState or None
        Seeds the draws.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal import MulticlassCalibrator
    >>> rng = np.random.default_rng(0)
    >>> y, new = rng.integers(3, size=150), rng.choice(3, p=[0.8, 0.1, 0.1], size=300)
    >>> scores, later = (3.0 * np.eye(3)[k] + rng.normal(size=(k.size, 3)) for k in (y, new))
    >>> calibrator = MulticlassCalibrator(random_state=0).fit(scores, y)
    >>> result = estimate_shares(calibrator, later, random_state=0)
    >>> bool(result.lower[0] < (new == 0).mean() < result.upper[0])
    True
    """
    validation.check_positive(concentration=concentration)
    validation.check_fraction(level=level)
    if not hasattr(calibrator, "share_"):
        raise ValueError(
            "calibrator must be a MulticlassCalibrator, got a"
            f" {type(calibrator).__name__}: use estimate_prior for two classes."
        )
    rows = validation.as_reals(scores, "scores")
    rows = in_order(rows, scores, calibrator.classes_, "scores")
    if rows.ndim != 2 or not len(rows):
        raise ValueError(
            "scores must have shape (documents, classes) with at least one document, got"
            f" {rows.shape}."
        )
    parts = blocks_of(DOCUMENTS, len(rows))
    ratio = np.concatenate([calibrator.sample_proba(rows[part]) for part in parts], axis=1)
    ratio /= calibrator.share_
    return shares_of(ratio, calibrator.classes_, concentration, level, random_state)

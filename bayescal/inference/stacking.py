"""Stacking: weights of a mixture from the left-out predictive densities of its members."""

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.inference.newton import climb
from bayescal.support.validation import Floats

GOOD_DECREMENT = 1e-12  # squared Newton decrement: twice how far from the best value
ROUNDING = 1e-14  # of sums over documents, as a share of them
STAY_INSIDE = 0.99  # share of the way to where the first weight would be zero


def stack(log_density: Floats, weight: Floats, pseudo_count: float | Floats) -> Floats:
    """
    Return the weights of the best mixture of known densities, by Newton's method.

    They maximise sum_i weight_i log sum_m w_m p_m(i) + sum_m pseudo_count_m log w_m, which is
    concave: the second term keeps members that few observations cannot rule out.
    """
    density = np.exp(log_density - log_density.max(axis=0))
    members = density.shape[0]
    belief = np.broadcast_to(pseudo_count, members)
    # The multiplier of sum w = 1, known because both sums are homogeneous: without the constraint
    # the sums less total * sum w have their maximum there.
    total = weight.sum() + belief.sum()

    def value(w: Floats) -> float:
        return float(weight @ np.log(w @ density) + belief @ np.log(w) - total * w.sum())

    def newton(w: Floats) -> tuple[Floats, float]:
        # Relative steps, so that the smallest weights do not spoil the Hessian.
        share = w[:, None] * density / (w @ density)
        gradient = share @ weight + belief - total * w
        # Beside large weights, rounding would hide the beliefs that tell equal densities apart.
        hessian = (share * weight) @ share.T + np.diag(belief + ROUNDING * total)
        step = np.linalg.solve(hessian, gradient)
        length = min(1.0, STAY_INSIDE / max(float(-step.min()), STAY_INSIDE))
        return length * w * step, length * float(gradient @ step)

    equal = np.full(members, 1.0 / members)
    w = climb(equal, value, newton, tolerance=GOOD_DECREMENT * total, steps=100, rise=0.25)
    weights: Floats = w / w.sum()
    return weights


def log_scores(log_odds: Floats | np.float64, positive: NDArray[np.bool_]) -> Floats:
    """Return log p(y) of documents, natural logarithm, by log-odds that broadcast against y."""
    scores: Floats = special.log_expit(np.where(positive, log_odds, -log_odds))
    return scores


def compare(score: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """
    Return the sum of each row of log scores, and standard errors of differences to the best.

    Without documents the sums are 0 and the errors nan.
    """
    elpd = score @ weight
    if not weight.size:
        return elpd, np.full_like(elpd, np.nan)
    difference = (score - score[elpd.argmax()]) * weight
    return elpd, np.sqrt(weight.size) * difference.std(axis=1)

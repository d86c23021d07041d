"""Stacking: the weights of a mixture by the predictive density of what was left out."""

from __future__ import annotations

import numpy as np

from bayescal.validation import Floats

STEPS = 100
GOOD_DECREMENT = 1e-12  # squared Newton decrement: twice how far from the best value
STAY_INSIDE = 0.99  # share of the way to where the first weight would be zero
ARMIJO, SHORTER, SHORTEST = 0.25, 0.5, 1e-9


def stack(log_density: Floats, weight: Floats, pseudo_count: float | Floats) -> Floats:
    """
    Return the weights of the best mixture of known densities, by Newton's method.

    They maximise sum_i weight_i log sum_m w_m p_m(i) + sum_m pseudo_count_m log w_m, which is
    concave: the second term keeps members that few observations cannot rule out.

    Parameters
    ----------
    log_density : array of shape (members, n)
        Natural log of each member's leave-one-out density (or probability) of each observation.
    weight : array of shape (n,)
        How many observations each counts for.
    pseudo_count : float or array of shape (members,)
        Of each member, in observations.

    Notes
    -----
    Yao, Vehtari, Simpson and Gelman, Bayesian Analysis 2018. Expectation maximisation needs
    thousands of rounds where members agree on all but a few observations, as on rare positives.

    Examples
    --------
    >>> stack(np.log([[0.9, 0.9, 0.9], [0.1, 0.1, 0.1]]), np.full(3, 100.0), 0.25).round(3)
    array([0.999, 0.001])
    """
    density = np.exp(log_density - log_density.max(axis=0))
    members = density.shape[0]
    belief = np.broadcast_to(pseudo_count, members)
    # The multiplier of sum w = 1, known because both sums are homogeneous: without the constraint
    # minus the sums plus total * sum w has its minimum there.
    total = weight.sum() + belief.sum()

    def value(w: Floats) -> float:
        return float(total * w.sum() - weight @ np.log(w @ density) - belief @ np.log(w))

    w = np.full(members, 1.0 / members)
    for _ in range(STEPS):
        # Relative steps, so that the smallest weights do not spoil the Hessian.
        share = w[:, None] * density / (w @ density)
        gradient = total * w - share @ weight - belief
        hessian = (share * weight) @ share.T + np.diag(belief)
        step = -np.linalg.solve(hessian, gradient)
        decrement = float(-gradient @ step)
        if decrement < GOOD_DECREMENT * total:
            break
        length = min(1.0, STAY_INSIDE / max(float(-step.min()), STAY_INSIDE))
        now, least = value(w), ARMIJO * decrement
        while length > SHORTEST and value(w * (1.0 + length * step)) > now - length * least:
            length *= SHORTER
        w = w * (1.0 + length * step)
    weights: Floats = w / w.sum()
    return weights

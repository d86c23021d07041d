"""Stacking: the weights of a mixture by the predictive density of what was left out."""

from __future__ import annotations

import numpy as np
from scipy import special

from bayescal.validation import Floats

ROUNDS = 500


def stack(log_density: Floats, weight: Floats, pseudo_count: float) -> Floats:
    """
    Return the weights of the best mixture of known densities, by expectation maximisation.

    They maximise sum_i weight_i log sum_m w_m p_m(i) + pseudo_count sum_m log w_m, which is
    concave: the second term keeps members that few observations cannot rule out.

    Parameters
    ----------
    log_density : array of shape (members, n)
        Natural log of each member's leave-one-out density (or probability) of each observation.
    weight : array of shape (n,)
        How many observations each counts for.
    pseudo_count : float
        Of each member, in observations.

    Notes
    -----
    Yao, Vehtari, Simpson and Gelman, Bayesian Analysis 2018.

    Examples
    --------
    >>> stack(np.log([[0.9, 0.9, 0.9], [0.1, 0.1, 0.1]]), np.full(3, 100.0), 0.25).round(3)
    array([0.999, 0.001])
    """
    share = np.full(log_density.shape[0], 1.0 / log_density.shape[0])
    for _ in range(ROUNDS):
        responsibility = special.softmax(np.log(share)[:, None] + log_density, axis=0)
        new = responsibility @ weight + pseudo_count
        new /= new.sum()
        done = np.abs(new - share).max() < 1e-6
        share = new
        if done:
            break
    return share

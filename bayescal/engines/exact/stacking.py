"""Weights of families and warps by leave-one-out predictive densities."""

from __future__ import annotations

import numpy as np
from scipy import special

from bayescal.engines.data import BinaryScores
from bayescal.engines.exact.components import Component
from bayescal.engines.exact.mixture import Weights
from bayescal.engines.pareto import smooth
from bayescal.engines.stacking import stack
from bayescal.log_sum import log_sum_exp
from bayescal.validation import Floats
from bayescal.warps import log_jacobian, warp

DRAWS = 1000
MOST_SCORES = 256  # of a class that weights are learnt from, evenly spaced in rank
# Dirichlet(1 + PSEUDO_COUNT) on the weights: keeps families that a few scores cannot rule out.
PSEUDO_COUNT = 0.25


def by_stacking(
    components: list[Component], families: int, data: BinaryScores, rng: np.random.Generator
) -> Weights:
    """
    Return weights that maximise the leave-one-out log predictive density of the mixture.

    Of class c on a warp: the weights w maximise sum_i log sum_f w_f p(x_i | x_-i, f) + 0.25 sum_f
    log w_f; warps weigh as the exponential of the sum reached, over both classes.

    Parameters
    ----------
    components : list of Component
        Families in the inner order.
    families : int
        How many.
    data : BinaryScores
        What the components were built from.
    rng : numpy.random.Generator
        Source of the draws behind the leave-one-out densities.
    """
    weights = np.empty((len(components) // families, families, 2))
    reached = np.zeros(len(components) // families)
    for k, positive in enumerate((False, True)):
        scores, weight = _picked(*data.of_class(positive))
        for j in range(weights.shape[0]):
            same = components[j * families : (j + 1) * families]
            density = np.stack([loo_log_density(c, k, scores, rng) for c in same])
            weights[j, :, k] = stack(density, weight, PSEUDO_COUNT)
            mixed = special.logsumexp(density, axis=0, b=weights[j, :, k, None])
            reached[j] += weight @ mixed
    return Weights(special.softmax(reached), weights)


def loo_log_density(
    component: Component, klass: int, scores: Floats, rng: np.random.Generator
) -> Floats:
    """
    Return log p(x_i | x_-i) of a class's own scores, by Pareto-smoothed importance sampling.

    The weights of draw k for score i are 1/p(x_i | draw k), smoothed (Vehtari, Gelman and Gabry,
    Statistics and Computing 2017); shape of `scores`, per unit of raw score.
    """
    found = component.classes[klass].draw(DRAWS, rng)
    theta = component.centre + component.spread * found.theta
    left, right = (component.spread * side for side in found.sides)
    family = component.family.of_class(klass == 1)
    parameters = family.from_sides(theta, left, right)
    x = warp(scores, component.centre, component.asinh_scale)
    log_density = family.logpdf(x[:, None], *parameters)
    log_weight, _ = smooth(-log_density)
    jacobian = log_jacobian(scores, component.centre, component.asinh_scale)
    out: Floats = log_sum_exp(log_weight + log_density, axis=1) + jacobian
    return out


def _picked(scores: Floats, weight: Floats | None) -> tuple[Floats, Floats]:
    weight = np.ones(scores.size) if weight is None else weight
    if scores.size <= MOST_SCORES:
        return scores, weight
    order = np.argsort(scores)
    picked = order[np.linspace(0, scores.size - 1, MOST_SCORES).astype(np.intp)]
    return scores[picked], weight[picked] * weight.sum() / weight[picked].sum()

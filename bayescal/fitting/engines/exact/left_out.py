"""Leave-one-out densities: by importance sampling, exact where its weights are too uneven."""

import numpy as np
from numpy.typing import NDArray

from bayescal.families.draws import log_jacobian, warp
from bayescal.fitting.engines.exact.class_posterior import Component, refit_class
from bayescal.fitting.posterior import ClassDraws
from bayescal.fitting.scores import BinaryScores
from bayescal.inference.importance import WORST_K, left_out, smooth
from bayescal.support.numerics import even_nodes, log_sum_exp
from bayescal.support.validation import Floats

DRAWS = 1000
# Largest numbers of scores of a class, and of draws, for leave-one-out densities.
MOST_NODES, MOST_DRAWS = 256, 1000
MOST_AGAIN = 10  # largest number of documents of a component that are refitted
MOST_REFITS = 30  # and of their mixture
KINKS = 9  # quantiles of each class's modes, where Laplace densities have kinks
LARGEST_K = 10.0  # larger ones are not interpolated


def without(
    component: Component, klass: int, scores: Floats, weight: Floats, i: int
) -> tuple[Component, float]:
    """Return a component without score i of a class, and log p(x_i | x_-i) in raw units."""
    rest = weight.copy()
    rest[i] = max(weight[i] - 1.0, 0.0)
    others = refit_class(component, klass, scores, rest)
    rest[i] += 1.0
    # A weight below 1 is left out, and predicted as a document of weight 1.
    all_of_them = component if weight[i] >= 1.0 else refit_class(component, klass, scores, rest)
    return others, float(all_of_them.log_evidence[klass] - others.log_evidence[klass])


def loo_log_density(
    component: Component,
    klass: int,
    scores: Floats,
    weight: Floats,
    index: NDArray[np.intp],
    rng: np.random.Generator,
) -> Floats:
    """Return log p(x_i | x_-i) of some scores by Pareto-smoothed importance sampling."""
    # Weights 1/p(x_i | draw k), smoothed (Vehtari, Gelman and Gabry, Statistics and Computing
    # 2017).
    drawn = component.classes[klass].draw(DRAWS, rng)
    theta = component.centre + component.spread * drawn.theta
    left, right = (component.spread * side for side in drawn.sides)
    parameters = component.family.from_sides(theta, left, right)
    x = warp(scores[index], component.centre, component.asinh_scale)
    log_density = component.family.logpdf(x[:, None], *parameters)
    log_weight, k = smooth(-log_density)
    jacobian = log_jacobian(scores[index], component.centre, component.asinh_scale)
    out: Floats = log_sum_exp(log_weight + log_density, axis=1) + jacobian
    k[weight[index] == 0.0] = -np.inf
    worst = np.argsort(-k)[:MOST_AGAIN]
    for j in worst[k[worst] > WORST_K]:
        out[j] = without(component, klass, scores, weight, int(index[j]))[1]
    return out


def leave_one_out_of_densities(
    draws: ClassDraws, data: BinaryScores, base: tuple[float, float] = (1.0, 1.0)
) -> tuple[Floats, Floats]:
    """Return each document's log-odds of + given all others, and Pareto k (-inf if refitted)."""
    # Bayes' rule with the class prior without the document: the mean of Beta(base + (n+, n-)).
    label, weight = data.positive, data.weight
    thinned = draws.take(np.arange(min(MOST_DRAWS, draws.size)))
    counted = np.ones(label.size, dtype=bool) if weight is None else weight > 0.0
    own_nodes = [even_nodes(data.score[counted & (label == k)], MOST_NODES) for k in (False, True)]
    # Both classes share the nodes of a density: an error of interpolation that the documents of one
    # class alone have would tell labels apart.
    node = np.union1d(*own_nodes)
    if max(each.size for each in own_nodes) >= MOST_NODES:
        kinks = np.concatenate([density.kinks(KINKS) for density in thinned.both])
        node = np.union1d(node, kinks.clip(node[0], node[-1]))
    log_density, k = np.zeros((2, label.size)), np.full(label.size, -np.inf)
    for klass, density in enumerate(thinned.both if node.size else ()):
        log_p = density.logpdf(node).T
        mine, own = np.flatnonzero(label == bool(klass)), own_nodes[klass]
        score, at = data.score[mine], np.searchsorted(node, own)
        of_own = log_p[at]
        predictive = log_sum_exp(log_p, axis=1) - np.log(density.size)
        log_density[klass] = np.interp(data.score, node, predictive)
        if own.size:
            of_others, of_node = left_out_of_draws(of_own)
            k[mine] = np.interp(score, own, np.clip(of_node, 0.0, LARGEST_K))
            before = predictive[at]
            gap = np.subtract(of_others, before, out=np.zeros(at.size), where=np.isfinite(before))
            log_density[klass, mine] += np.interp(score, own, gap)
        for refitted, exact in zip(*draws.refitted(klass), strict=True):
            same = mine[score == refitted]
            log_density[klass, same], k[same] = exact, -np.inf
    if weight is not None:
        k[weight == 0.0] = -np.inf
    n_positive, n_negative = data.rate_counts
    # Weights below 1 must not make a count negative.
    prior = np.log(np.maximum(n_positive - label, 0.0) + base[0])
    prior -= np.log(np.maximum(n_negative - ~label, 0.0) + base[1])
    log_odds: Floats = prior + log_density[1] - log_density[0]
    return log_odds, k


def left_out_of_draws(log_p: Floats) -> tuple[Floats, Floats]:
    """Return leave-one-out log densities and Pareto k from those of draws, (documents, draws)."""
    # Densities that underflow have infinite inverses, and are smoothed as logarithms.
    with np.errstate(over="ignore"):
        inverse = np.exp(-log_p)
    return left_out(inverse, lambda rows: log_p[rows])

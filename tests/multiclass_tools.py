"""Small problems of several classes, posteriors of them, and the density written with scipy."""

from dataclasses import replace

import numpy as np
import scipy.stats as st
from scipy import special

from bayescal.fitting.engines.multiclass.density import (
    BLOCKS,
    LEARNED,
    Likelihood,
    MapPosterior,
    Maps,
)
from bayescal.fitting.engines.multiclass.engine import draw_chains
from bayescal.fitting.engines.multiclass.features import ScoredOptions, design, typical_gap
from bayescal.fitting.engines.multiclass.mode import find_mode

PRIOR = LEARNED


def log_scores(n, classes, seed, spread=3.0):
    rng = np.random.default_rng(seed)
    return special.log_softmax(spread * rng.normal(size=(n, classes)), axis=1)


def posterior_of(log_p, label, prior=PRIOR, weight=None, *, exchangeable=False):
    """Return a posterior whose features know no labels: they are anchored at the prior mean."""
    unit = typical_gap(log_p)
    mean, sd = prior.of_globals(unit)
    scored = ScoredOptions.of(log_p, unit)
    made = design(scored, unit, PRIOR.of_globals(unit)[0], np.zeros(log_p.shape[1]), None)
    made.used[:] &= not exchangeable
    likelihood = Likelihood(made.features(scored), label, weight, made)
    return MapPosterior.of(likelihood, mean, sd, prior, made.used)


def first_of(posterior):
    return Maps(posterior.mean[None], np.array([-4.0]), np.zeros((1, 1, posterior.shape[1])))


def random_point(posterior, seed, spread=0.5):
    rng = np.random.default_rng(seed)
    point = find_mode(posterior, first_of(posterior)).point(posterior)
    return point + spread * rng.normal(size=point.size)


def draws_of(posterior, rng, chains, draws):
    return chains_of(posterior, rng, chains, draws, rounds=1)[0].points


def chains_of(posterior, rng, chains, draws, **options):
    mode = find_mode(posterior, first_of(posterior)).point(posterior)
    return draw_chains(posterior, mode[None], np.ones(1), chains, draws, rng, **options)


def reference_log_density(posterior, log_p, label, point):
    """Return the log density document by document, from the model's formulas."""
    steep, warp, log_slope, root = point[:4]
    asymmetry, eps = np.expm1(log_slope), root**2 / (1.0 + root**2)
    gain = np.exp(steep - log_slope)
    names, classes = posterior.names, log_p.shape[1]
    scale = dict(zip(names, np.exp(point[4 : 4 + len(names)]), strict=True))
    made = posterior.likelihood.design
    theta = np.zeros(made.used.shape)
    rows = np.argwhere(made.used)
    total = 0.0
    for (row, k), standard in zip(rows, point[posterior.first :], strict=True):
        block = BLOCKS[min(row, 3)]
        theta[row, k] = scale[block] * standard
        total += st.norm.logpdf(standard)
    for name in names:
        least = posterior.prior.scale(name, classes)
        variance = scale[name] ** 2
        # Scaled inverse chi-squared of s^2, and d s^2 / d log s = 2 s^2.
        total += st.invgamma(1.0, scale=least**2).logpdf(variance) + np.log(2.0 * variance)
    parameters = np.log(gain), warp, asymmetry
    total += st.norm(posterior.mean, posterior.sd).logpdf(parameters).sum()
    total += np.log1p(asymmetry)  # d c / d log(1 + c)
    a, b = posterior.prior.lapse
    total += st.beta(a, b).logpdf(eps) + np.log(2.0 * abs(root) / (1.0 + root**2) ** 2)

    def map_of(u, log_gain, lam, c):
        plain = [
            -np.exp(log_gain) * ((1.0 - x / made.unit) ** lam - 1.0) / (2.0**lam - 1.0) for x in u
        ]
        q = -np.log(np.maximum(1.0 - special.softmax(plain), 1e-6))
        return np.array(plain) + c * q, q

    for u, y in zip(log_p, label, strict=True):
        warped, _ = map_of(u, *parameters)
        anchored, q = map_of(u, *made.anchor)
        deep = np.maximum(special.log_softmax(anchored), -30.0)
        eta = warped.copy()
        for k in range(classes):
            raw = np.array([1.0, deep[k], q[k], *deep])
            eta[k] += theta[:, k] @ ((raw - made.centre[:, k]) / made.size[:, k])
        total += np.log((1.0 - eps) * special.softmax(eta)[y] + eps / classes)
    return total


def other_gain(prior, shift):
    """Return a prior whose mean of log G is moved."""
    intercept, slope, spread = prior.gain
    return replace(prior, gain=(intercept + shift, slope, spread))

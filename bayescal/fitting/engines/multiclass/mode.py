"""The mode of calibration maps given the scales of their coefficients, and those scales."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import linalg, optimize, special

from bayescal.fitting.engines.multiclass.density import (
    GLOBALS,
    Likelihood,
    MapPosterior,
    Maps,
    lapse_logit,
    lapse_prior,
    linear_map,
    steepness,
)
from bayescal.fitting.engines.multiclass.features import (
    Features,
    ScoredOptions,
    Warped,
    softmax,
    warp,
)
from bayescal.fitting.engines.multiclass.prior import BIAS, FREEDOM, MapHyperparameters
from bayescal.inference.newton import lower_root
from bayescal.support.validation import Floats, Integers

# Starts of searches for the first map: log G relative to its prior mean, and lambda.
SHIFTS, WARPS = (-1.0, 0.0, 1.0), (-0.5, 0.0, 0.5, 1.0, 1.5, 2.0)
SEARCHES = 3
FIRST_LAPSE = 0.08  # root of the odds
STEPS = 80
# Limits of lambda and of the root of the lapse odds in searches.
WARP_LIMITS, LAPSE_LIMITS = (-2.0, 4.0), (1e-4, 1.0)


@dataclass(frozen=True)
class FirstMap:
    """The mode of maps with biases as their only coefficients."""

    globals_: Floats  # (3,)
    lapse_logit: float
    bias: Floats  # (K,)


def first_map(
    scored: ScoredOptions,
    label: Integers,
    weight: Floats | None,
    prior: MapHyperparameters,
    mean: Floats,
    sd: Floats,
    *,
    biases: bool,
) -> FirstMap:
    """Return the mode of (log G, lambda, c, lapse rate, biases), the best of several searches."""
    classes, n = scored.depth.shape
    nothing = np.zeros((0, n))
    likelihood = Likelihood(Features(scored, nothing, nothing, nothing), label, weight, None)
    bias_sd = prior.scale(BIAS, classes)
    free = classes if biases else 0

    def loss(points: Floats) -> tuple[Floats, Floats]:
        theta = np.zeros((len(points), 1, classes))
        theta[:, 0, :free] = points[:, GLOBALS + 1 :]
        root = points[:, GLOBALS]
        maps = Maps(points[:, :GLOBALS], lapse_logit(root), theta)
        value, by = likelihood.with_gradient(maps)
        lapse, by_lapse = lapse_prior(root, prior)
        off, small = (maps.globals_ - mean) / sd, theta[:, 0, :free] / bias_sd
        value = value + lapse - 0.5 * (off**2).sum(axis=1) - 0.5 * (small**2).sum(axis=1)
        gradient = np.concatenate(
            [
                by.globals_ - off / sd,
                (2.0 * by.lapse_logit / root + by_lapse)[:, None],
                by.theta[:, 0, :free] - small / bias_sd,
            ],
            axis=1,
        )
        return -value, -gradient

    def one(point: Floats) -> tuple[float, Floats]:
        # The search may try extreme steps.
        with np.errstate(over="ignore", invalid="ignore"):
            value, gradient = loss(point[None])
        return float(value[0]), gradient[0]

    starts = np.zeros((len(SHIFTS) * len(WARPS), GLOBALS + 1 + free))
    starts[:, 0] = mean[0] + sd[0] * np.repeat(SHIFTS, len(WARPS))
    starts[:, 1] = np.tile(WARPS, len(SHIFTS))
    starts[:, 2], starts[:, GLOBALS] = mean[2], FIRST_LAPSE
    values = np.array([loss(start[None])[0][0] for start in starts])
    limits = [(None, None), WARP_LIMITS, (None, None), LAPSE_LIMITS, *[(None, None)] * free]
    found = [
        optimize.minimize(
            one, starts[k], jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": STEPS}
        )
        for k in np.argsort(values)[:SEARCHES]
    ]
    best = min(found, key=lambda each: float(each.fun)).x
    bias = best[GLOBALS + 1 :] if biases else np.zeros(classes)
    return FirstMap(best[:GLOBALS], float(lapse_logit(best[GLOBALS])), bias)


@dataclass(frozen=True)
class MapMode:
    """The mode of maps given the scales, and the scales."""

    maps: Maps  # one map
    scale: Floats  # of each block

    def point(self, posterior: MapPosterior) -> Floats:
        """Return the mode as a point of the posterior, (D,)."""
        theta = self.maps.theta.reshape(-1)[posterior.used]
        standard = theta / self.scale[posterior.block]
        shared = self.maps.globals_[0].copy()
        shared[2] = steepness(shared[2])
        shared[0] += shared[2]
        root = np.exp(0.5 * self.maps.lapse_logit)
        return np.concatenate([shared, root, np.log(self.scale), standard])


OUTER, INNER, FIRST_INNER = 40, 1, 6
# First scales, in units of s0: the update converges to the larger of two fixed points, which has
# the higher density.
WIDE = 12.0
SETTLED = 0.02  # change of the log of a scale
CONVERGED = 1e-3  # Newton decrement, in nats
# SciPy's factorisation, since chains amplify differences of rounding.
_CHOLESKY = partial(linalg.cholesky, lower=True)


def find_mode(posterior: MapPosterior, first: FirstMap) -> MapMode:
    """
    Return the mode of the maps given the scales, and the scales by MacKay's update.

    Newton's method with the expected curvature updates globals and coefficients, expected numbers
    of lapses the lapse rate, and s^2 = (|theta|^2 + nu s0^2) / (gamma + nu) the scales, with gamma
    the effective number of coefficients.
    """
    theta = np.zeros((1, *posterior.shape))
    if posterior.shape[0]:
        theta[0, 0] = first.bias
    theta = posterior.spread_out(theta.reshape(1, -1)[:, posterior.used])
    maps = Maps(first.globals_[None], np.array([first.lapse_logit]), theta)
    scale = WIDE * posterior.scales
    total = posterior.likelihood.total
    a, b = posterior.prior.lapse
    for outer in range(OUTER):
        precision = np.concatenate([posterior.sd**-2.0, scale[posterior.block] ** -2.0])
        for _ in range(INNER if outer else FIRST_INNER):
            lapsed = posterior.likelihood.lapsed(maps)
            rate = (lapsed + a) / (total + a + b)
            maps = Maps(maps.globals_, np.array([special.logit(rate)]), maps.theta)
            curvature, slope = derivatives(posterior, maps)
            slope = slope - precision * _flat_deviation(posterior, maps)
            factor = lower_root(curvature + np.diag(precision), _CHOLESKY)
            step = linalg.cho_solve((factor, True), slope)
            decrement = float(slope @ step)
            maps = _line_search(posterior, maps, step, precision)
            if decrement < CONVERGED:
                break
        inverse = linalg.solve_triangular(factor, np.eye(precision.size), lower=True)
        variance = (inverse**2).sum(axis=0)[GLOBALS:]
        theta = maps.theta.reshape(-1)[posterior.used]
        new = updated_scales(theta, variance, posterior.block, scale, posterior.scales)
        new = np.clip(new, scale / 3.0, scale * 3.0)
        change = np.abs(np.log(new / scale)).max(initial=0.0)
        scale = new
        if change < SETTLED:
            break
    return MapMode(maps, scale)


def updated_scales(
    theta: Floats, variance: Floats, block: Integers, scale: Floats, least: Floats
) -> Floats:
    """Return MacKay's update of the blocks' scales; blocks without coefficients keep theirs."""
    new = scale.copy()
    for k in range(scale.size):
        mine = block == k
        if mine.any():
            determined = max(mine.sum() - variance[mine].sum() / scale[k] ** 2, 0.0)
            square = (theta[mine] ** 2).sum() + FREEDOM * least[k] ** 2
            new[k] = np.sqrt(square / (determined + FREEDOM))
    return new


def _flat_deviation(posterior: MapPosterior, maps: Maps) -> Floats:
    theta = maps.theta.reshape(-1)[posterior.used]
    return np.concatenate([maps.globals_[0] - posterior.mean, theta])


def _moved(posterior: MapPosterior, maps: Maps, step: Floats) -> Maps:
    theta = maps.theta + posterior.spread_out(step[None, GLOBALS:])
    return Maps(maps.globals_ + step[:GLOBALS], maps.lapse_logit, theta)


def _line_search(posterior: MapPosterior, maps: Maps, step: Floats, precision: Floats) -> Maps:
    def value(at: Maps) -> float:
        off = _flat_deviation(posterior, at)
        return float(posterior.likelihood.value(at)[0]) - 0.5 * float(precision @ off**2)

    here, size = value(maps), 1.0
    while size > 1e-3:
        moved = _moved(posterior, maps, size * step)
        if value(moved) >= here - 1e-9:
            return moved
        size *= 0.5
    return maps


def derivatives(posterior: MapPosterior, maps: Maps) -> tuple[Floats, Floats]:
    """
    Return minus the expected second derivatives of the log likelihood of a map, and its gradient.

    With D the derivatives of eta by globals and used coefficients, the former is the sum over
    documents of D^T (diag p - p p^T) D, weighted by the probability that the document is no lapse.
    """
    likelihood = posterior.likelihood
    warped = warp(likelihood.scored, maps.globals_)
    p = softmax(linear_map(warped, likelihood.features, likelihood.raw(maps.theta)))[0]
    _, by = likelihood.with_gradient(maps)
    slope = np.concatenate([by.globals_[0], by.theta.reshape(-1)[posterior.used]])
    own, chance = likelihood.of_label(p[None], maps)
    counted = own[0] / chance[0]
    if likelihood.weight is not None:
        counted = counted * likelihood.weight
    root = np.sqrt(counted)
    by_globals = _of_globals(warped, likelihood.scored, maps)
    if likelihood.scored.excluded is not None:
        by_globals[:, likelihood.scored.excluded] = 0.0
    mean = np.einsum("kn,skn->sn", p, by_globals)
    weighted = p * counted
    size, used = GLOBALS + posterior.used.size, posterior.used
    out = np.empty((size, size))
    out[:GLOBALS, :GLOBALS] = (
        np.einsum("kn,skn,tkn->st", weighted, by_globals, by_globals) - (mean * counted) @ mean.T
    )
    if used.size:
        classes = posterior.shape[1]
        klass, rows = used % classes, _used_features(posterior)
        centred = weighted * (by_globals - mean[:, None, :])
        cross = np.einsum("spn,pn->sp", centred[:, klass], rows)
        out[:GLOBALS, GLOBALS:], out[GLOBALS:, :GLOBALS] = cross, cross.T
        scaled = rows * (p * root)[klass]
        inner = -(scaled @ scaled.T)
        for k in range(classes):
            mine = np.flatnonzero(klass == k)
            inner[np.ix_(mine, mine)] += (rows[mine] * weighted[k]) @ rows[mine].T
        out[GLOBALS:, GLOBALS:] = inner
    return out, slope


def _used_features(posterior: MapPosterior) -> Floats:
    """Return the centred feature that each used coefficient multiplies, (P, n)."""
    design, features = posterior.likelihood.design, posterior.likelihood.features
    row, klass = np.divmod(posterior.used, posterior.shape[1])
    out = np.ones((row.size, features.scored.depth.shape[1]))
    for kind, values in ((1, features.log_p), (2, features.certainty)):
        out[row == kind] = values[klass[row == kind]]
    out[row > 2] = features.shared[row[row > 2] - 3]
    if design is not None:
        out -= design.centre[row, klass][:, None]
        out /= design.size[row, klass][:, None]
    return out


def _of_globals(warped: Warped, scored: ScoredOptions, maps: Maps) -> Floats:
    """Return derivatives of e by log G, lambda and c, (3, K, n)."""
    plain, probability = warped.plain[0], warped.probability[0]
    by_warp = (plain + warped.factor[0]) * scored.depth - warped.bend[0] * plain
    out = np.stack([plain, by_warp, warped.certainty[0]])
    bent = maps.globals_[0, 2] * warped.odds()[0]
    for each in out[:2]:
        each += bent * (each - (probability * each).sum(axis=0))
    return out

"""Modes of calibration maps given the scales of coefficients, and normal approximations."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize, special

from bayescal.fitting.engines.multiclass.density import (
    BIAS,
    BLOCKS,
    FREEDOM,
    GLOBALS,
    Likelihood,
    MapHyperparameters,
    MapPosterior,
    Maps,
    lapse_logit,
    lapse_prior,
    linear_map,
    steepness,
)
from bayescal.fitting.engines.multiclass.features import (
    FeatureDesign,
    Features,
    ScoredOptions,
    Warped,
    softmax,
    warp,
)
from bayescal.inference.newton import lower_root
from bayescal.support.validation import Floats, Integers

# Starts of searches for the first map: log G relative to its prior mean, and lambda.
SHIFTS, WARPS = (-1.0, 0.0, 1.0), (-0.5, 0.0, 0.5, 1.0, 1.5, 2.0)
SEARCHES = 3
FIRST_LAPSE = 0.08  # root of the odds
STEPS = 80
# Limits of lambda and of the root of the lapse odds in searches.
WARP_LIMITS, LAPSE_LIMITS = (-2.0, 4.0), (1e-4, 1.0)


def first_map(
    scored: ScoredOptions,
    label: Integers,
    weight: Floats | None,
    prior: MapHyperparameters,
    mean: Floats,
    sd: Floats,
    *,
    biases: bool,
) -> Maps:
    """Return the best mode found of maps with biases, if any, as their only coefficients."""
    classes, n = scored.depth.shape
    nothing = np.zeros((0, n))
    likelihood = Likelihood(Features(scored, nothing, nothing, nothing), label, weight, None)
    bias_sd = prior.scale(BIAS, classes)
    free = classes if biases else 0

    def maps_at(points: Floats) -> Maps:
        theta = np.zeros((len(points), 1, classes))
        theta[:, 0, :free] = points[:, GLOBALS + 1 :]
        return Maps(points[:, :GLOBALS], lapse_logit(points[:, GLOBALS]), theta)

    def loss(points: Floats) -> tuple[Floats, Floats]:
        maps, root = maps_at(points), points[:, GLOBALS]
        value, by = likelihood.with_gradient(maps)
        lapse, by_lapse = lapse_prior(root, prior)
        off, small = (maps.globals_ - mean) / sd, maps.theta[:, 0, :free] / bias_sd
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
    return maps_at(best[None])


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


def find_mode(posterior: MapPosterior, first: Maps) -> MapMode:
    """Return the mode of the maps given the scales, and the scales by MacKay's update."""
    # Newton with the expected curvature; s^2 = (|theta|^2 + nu s0^2) / (gamma + nu), with gamma the
    # effective number of coefficients.
    theta = np.zeros((1, *posterior.shape))
    if posterior.shape[0]:
        theta[0, 0] = first.theta[0, 0]
    theta = posterior.spread_out(theta.reshape(1, -1)[:, posterior.used])
    maps = replace(first, theta=theta)
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
    """Return minus the expected Hessian of the log likelihood of a map, and its gradient."""
    # The sum over documents of D^T (diag p - p p^T) D, times the probability of no lapse.
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


# Maps of many classes or of many documents: a normal approximation, class by class. Documents are
# processed in chunks, to limit memory. The mode of all coefficients and of log G, lambda and c is
# exact; the posterior is approximated as normal, with independent coefficients of different
# classes.

CHUNK_SCORES = 400_000  # documents times classes of a chunk
MOST_KEPT = 60_000_000  # documents times classes up to which features are kept, 720 MB
UPDATES = 3  # updates of scales, with a search for the mode before each
SEARCH = 10  # steps of a search
GLOBAL_STEP = 0.02  # of differences of gradients by log G, lambda and c
GLOBAL_SIZE = 0.1  # their size in searches


@dataclass(frozen=True)
class ChunkedDocuments:
    """Labelled documents, read chunk by chunk."""

    log_p: Floats  # (n, K)
    label: Integers
    weight: Floats | None
    design: FeatureDesign

    @property
    def total(self) -> float:
        """Return the number of documents, or their weight."""
        return float(self.label.size if self.weight is None else self.weight.sum())

    def chunks(self) -> Iterable[Likelihood]:
        """Return the likelihood of each chunk of documents."""
        return self._kept if self.log_p.size <= MOST_KEPT else self._read()

    @cached_property
    def _kept(self) -> list[Likelihood]:
        return list(self._read())

    def _read(self) -> Iterator[Likelihood]:
        n, classes = self.log_p.shape
        width = max(1, CHUNK_SCORES // classes)
        for start in range(0, n, width):
            part = slice(start, start + width)
            scored = ScoredOptions.of(self.log_p[part], self.design.unit)
            weight = None if self.weight is None else self.weight[part]
            features = self.design.features(scored).in_single_precision()
            yield Likelihood(features, self.label[part], weight, self.design)

    def with_gradient(self, maps: Maps) -> tuple[float, Maps]:
        """Return the log likelihood of one map, and its derivatives."""
        parts = [chunk.with_gradient(maps) for chunk in self.chunks()]
        gradients = [gradient for _, gradient in parts]
        total = Maps(
            np.sum([each.globals_ for each in gradients], axis=0),
            np.sum([each.lapse_logit for each in gradients], axis=0),
            np.sum([each.theta for each in gradients], axis=0),
        )
        return float(sum(value[0] for value, _ in parts)), total

    def curvature(self, maps: Maps) -> Floats:
        """Return the expected curvature by the coefficients of each class, (K, rows, rows)."""
        raw = np.sum([_moments(chunk, maps) for chunk in self.chunks()], axis=0)
        design = self.design
        rows, classes = design.used.shape
        turn = np.zeros((classes, rows, rows))
        turn[:, np.arange(rows), np.arange(rows)] = 1.0 / design.size.T
        turn[:, 1:, 0] = -(design.centre[1:] / design.size[1:]).T
        out = turn @ raw @ np.swapaxes(turn, 1, 2)
        return np.asarray(out * (design.used.T[:, :, None] & design.used.T[:, None, :]))


def _moments(chunk: Likelihood, maps: Maps) -> Floats:
    """Return weighted moments of the raw features of each class; (K, rows, rows)."""
    features = chunk.features
    eta = linear_map(warp(chunk.scored, maps.globals_), features, chunk.raw(maps.theta))
    p = softmax(eta)
    own, chance = chunk.of_label(p, maps)
    doubt = p[0] * (1.0 - p[0]) * (own[0] / chance[0])
    if chunk.weight is not None:
        doubt *= chunk.weight
    shared = features.shared
    count = len(shared)
    both = (shared[:, None] * shared[None]).reshape(count * count, -1)
    out = np.empty((len(doubt), 3 + count, 3 + count))
    out[:, 3:, 3:] = (doubt @ both.T).reshape(-1, count, count)
    values = (np.ones_like(doubt), features.log_p, features.certainty)
    for i, first in enumerate(values):
        times = doubt * first
        for j, second in enumerate(values[: i + 1]):
            out[:, i, j] = out[:, j, i] = (times * second).sum(axis=1)
        out[:, i, 3:] = out[:, 3:, i] = times @ shared.T
    return out


@dataclass(frozen=True)
class NormalMaps:
    """Maps whose coefficients are normal, independent from class to class."""

    maps: Maps  # the mode
    scale: Floats  # of each block, (blocks,)
    root: Floats  # of each class's covariance, (K, rows, rows)
    globals_root: Floats  # of the covariance of log G, lambda and c, (3, 3)
    lapsed: float
    total: float

    def draw(
        self,
        size: int,
        used: NDArray[np.bool_],
        prior: MapHyperparameters,
        rng: np.random.Generator,
    ) -> Maps:
        """Return draws."""
        noise = rng.standard_normal((size, len(self.root), self.root.shape[1]))
        theta = np.einsum("kab,skb->sak", self.root, noise) * used
        a, b = prior.lapse
        rate = rng.beta(a + self.lapsed, b + max(self.total - self.lapsed, 0.0), size)
        rate = np.clip(rate, np.finfo(float).tiny, 1.0 - 1e-12)
        moved = rng.standard_normal((size, GLOBALS)) @ self.globals_root.T
        return Maps(self.maps.globals_ + moved, special.logit(rate), self.maps.theta + theta)


def fit_blocks(
    documents: ChunkedDocuments, first: Maps, mean: Floats, sd: Floats, prior: MapHyperparameters
) -> NormalMaps:
    """Return the normal approximation around the mode, from a first map."""
    design = documents.design
    rows, classes = design.used.shape
    block = np.minimum(np.arange(rows), len(BLOCKS) - 1)
    least = np.array([prior.scale(name, classes) for name in BLOCKS])
    scale = 2.0 * least
    theta = np.zeros((1, rows, classes))
    theta[0, 0] = first.theta[0, 0]
    maps = replace(first, theta=theta * design.used)
    a, b = prior.lapse
    for _ in range(UPDATES):
        root = _roots(documents.curvature(maps), scale[block], design.used)
        maps = _search(documents, maps, root, scale[block], mean, sd)
        _, gradient = documents.with_gradient(maps)
        lapsed = float(
            gradient.lapse_logit[0] + special.expit(maps.lapse_logit[0]) * documents.total
        )
        rate = (max(lapsed, 0.0) + a) / (documents.total + a + b)
        maps = Maps(maps.globals_, np.array([special.logit(rate)]), maps.theta)
        variance = (root**2).sum(axis=2).T
        of_used = np.broadcast_to(block[:, None], design.used.shape)[design.used]
        scale = updated_scales(
            maps.theta[0][design.used], variance[design.used], of_used, scale, least
        )
    root = _roots(documents.curvature(maps), scale[block], design.used)
    return NormalMaps(
        maps, scale, root, _globals_root(documents, maps, sd), max(lapsed, 0.0), documents.total
    )


def _roots(curvature: Floats, scale: Floats, used: NDArray[np.bool_]) -> Floats:
    """Return a root of each class's covariance; unused coefficients are uncorrelated."""
    precision = curvature.copy()
    diagonal = np.arange(len(scale))
    precision[:, diagonal, diagonal] += np.where(used.T, scale**-2.0, 1.0)
    return np.asarray(np.swapaxes(np.linalg.inv(lower_root(precision)), 1, 2))


def _search(
    documents: ChunkedDocuments, maps: Maps, root: Floats, scale: Floats, mean: Floats, sd: Floats
) -> Maps:
    """Return the mode given the scales, by L-BFGS in coordinates whitened class by class."""
    _, rows, classes = maps.theta.shape
    used = documents.design.used

    def at(point: Floats) -> Maps:
        moved = np.einsum("kab,kb->ak", root, point[GLOBALS:].reshape(classes, rows)) * used
        globals_ = maps.globals_ + GLOBAL_SIZE * point[:GLOBALS]
        return Maps(globals_, maps.lapse_logit, maps.theta + moved)

    def loss(point: Floats) -> tuple[float, Floats]:
        here = at(point)
        value, by = documents.with_gradient(here)
        off, small = (here.globals_[0] - mean) / sd, here.theta[0] / scale[:, None]
        value -= 0.5 * float((off**2).sum() + (small**2).sum())
        by_theta = (by.theta[0] - small / scale[:, None]) * used
        gradient = np.einsum("kab,ak->kb", root, by_theta).ravel()
        by_globals = GLOBAL_SIZE * (by.globals_[0] - off / sd)
        return -value, -np.concatenate([by_globals, gradient])

    start = np.zeros(GLOBALS + rows * classes)
    found = optimize.minimize(
        loss, start, jac=True, method="L-BFGS-B", options={"maxiter": SEARCH, "ftol": 1e-8}
    )
    return at(found.x)


def _globals_root(documents: ChunkedDocuments, maps: Maps, sd: Floats) -> Floats:
    """Return a root of the covariance of (log G, lambda, c), by differences of gradients."""
    _, here = documents.with_gradient(maps)
    hessian = np.empty((GLOBALS, GLOBALS))
    for k in range(GLOBALS):
        moved = maps.globals_.copy()
        moved[0, k] += GLOBAL_STEP
        _, there = documents.with_gradient(Maps(moved, maps.lapse_logit, maps.theta))
        hessian[k] = (here.globals_[0] - there.globals_[0]) / GLOBAL_STEP
    values, vectors = np.linalg.eigh(0.5 * (hessian + hessian.T) + np.diag(sd**-2.0))
    return np.asarray(vectors / np.sqrt(np.maximum(values, (sd**-2.0).min())))

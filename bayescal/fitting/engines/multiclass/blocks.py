"""
Maps of many classes or of many documents: a normal approximation, class by class.

Documents are processed in chunks, to limit memory. The mode of all coefficients and of log G,
lambda and c is exact; the posterior is approximated as normal, with independent coefficients of
different classes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from bayescal.fitting.engines.multiclass.density import (
    GLOBALS,
    Gradient,
    Likelihood,
    Maps,
    linear_map,
)
from bayescal.fitting.engines.multiclass.features import FeatureDesign, ScoredOptions, softmax, warp
from bayescal.fitting.engines.multiclass.mode import FirstMap, updated_scales
from bayescal.fitting.engines.multiclass.prior import BLOCKS, MapHyperparameters
from bayescal.inference.newton import lower_root
from bayescal.support.validation import Floats, Integers

CHUNK_SCORES = 400_000  # documents times classes of a chunk
MOST_KEPT = 60_000_000  # documents times classes up to which features are kept, 720 MB
OUTER = 3  # updates of scales, with a search for the mode before each
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

    def with_gradient(self, maps: Maps) -> tuple[float, Gradient]:
        """Return the log likelihood of one map, and its derivatives."""
        parts = [chunk.with_gradient(maps) for chunk in self.chunks()]
        gradients = [gradient for _, gradient in parts]
        total = Gradient(
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
    documents: ChunkedDocuments,
    first: FirstMap,
    mean: Floats,
    sd: Floats,
    prior: MapHyperparameters,
) -> NormalMaps:
    """Return the normal approximation around the mode, from a first map."""
    design = documents.design
    rows, classes = design.used.shape
    block = np.minimum(np.arange(rows), len(BLOCKS) - 1)
    least = np.array([prior.scale(name, classes) for name in BLOCKS])
    scale = 2.0 * least
    theta = np.zeros((1, rows, classes))
    theta[0, 0] = first.bias
    maps = Maps(first.globals_[None], np.array([first.lapse_logit]), theta * design.used)
    a, b = prior.lapse
    for _ in range(OUTER):
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

r"""A posterior of P(positive | score) that allows for hidden positives.

Hidden positives have scores like those of negatives: no curve along the score finds them. With z
the normal score of a document's rank, rho the share of hidden positives, and N documents,

    odds(z) = exp(eta(z)) + rho / (1 - rho) V / N,    V = sum_i sigmoid(eta(z_i)).

eta is a curve in straight pieces; log slopes are b plus a random walk. It rises, but its last
pieces may fall: where both classes have heavy tails, documents with the very highest scores are
junk. The likelihood is that of labels given scores, without weights: a design that chose documents
by score, by chance and by earlier labels cancels (D. B. Rubin, Biometrika 63, 1976).

All parameters are standard normal before the labels, and are drawn by elliptical slice sampling (I.
Murray, R. P. Adams and D. J. C. MacKay, AISTATS 2010) around the mode: the prior's part is that of
a normal distribution with the curvature at the mode, all else is the likelihood's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special, stats

from bayescal.sampling.exact import Limits
from bayescal.support.validation import Floats

# Knots of the curve, as shares of the documents with lower scores.
KNOTS = special.ndtri([0.5, 0.85, 0.95, 0.98, 0.99, 0.995, 0.999])
ANCHOR = KNOTS[4]  # where the log-odds have a normal prior
LOCATION, LOG_SLOPE, LOG_SLOPE_SCALE = 2.5, math.log(2.0), 0.7
WALK = 0.5  # scale of the random walk's half-normal step size
FALLING, FALL = 3, 1.5  # pieces that may fall, and the scale of how much
# Documents of like scores count together.
MOST_BINS = 300
FARTHEST = 30.0
CHAINS, BURN_IN, STEPS = 80, 12, 20
VAGUE = (1.0, 2.0)  # the beta of the share of hidden positives
HIDDEN = "vague"


@dataclass(frozen=True)
class RankedCollection:
    """The documents of a collection in bins of like scores, those of the highest scores first."""

    code: NDArray[np.intp]  # (documents,): the bin of each document
    size: NDArray[np.intp]  # (bins,): documents in each
    z: Floats  # (bins,): the mean normal score of their ranks

    @classmethod
    def of(cls, scores: Floats) -> RankedCollection:
        """Return the bins, narrow at the top and wide below; ties stay together."""
        n = scores.size
        z = special.ndtri((stats.rankdata(scores) - 0.5) / n)
        order = np.argsort(-scores, kind="stable")
        edges = np.unique(np.round(np.geomspace(1.0, n, MOST_BINS)).astype(np.intp))
        # An end among ties moves behind them.
        falling = scores[order]
        last = np.searchsorted(-falling, -falling[edges - 1], side="right")
        starts = np.unique(np.r_[0, last[last < n]])
        code = np.empty(n, np.intp)
        code[order] = np.searchsorted(starts, np.arange(n), side="right") - 1
        size = np.bincount(code)
        return cls(code, size, np.bincount(code, z) / size)

    def count(self, documents: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return the number of some documents in each bin."""
        return np.bincount(self.code[documents], minlength=self.size.size)


@dataclass(frozen=True)
class FloorModel:
    """The posterior of the curve, of parameters that are standard normal before the labels."""

    basis: Floats  # (bins, pieces): length of each piece between the anchor and the bin
    size: Floats  # (bins,): documents
    labelled: Floats  # (bins,): documents with a label
    positive: Floats  # (bins,): positives among them
    beta: tuple[float, float] | None  # prior of the share hidden; None if none is hidden

    @property
    def dimension(self) -> int:
        """Return the number of parameters."""
        return int(4 + self.basis.shape[1] + FALLING)

    def share_hidden(self, x: Floats) -> Floats:
        """Return the share of hidden positives, (rows,)."""
        if self.beta is None:
            return np.zeros(len(x))
        uniform = special.ndtr(np.clip(x[:, 3], -8.0, 8.0))
        return np.asarray(special.betaincinv(*self.beta, uniform))

    def probabilities(self, x: Floats) -> Floats:
        """Return P(+) in each bin, (rows, bins)."""
        pieces = self.basis.shape[1]
        step = WALK * np.abs(x[:, 2:3])
        walk = np.cumsum(x[:, 4 : 4 + pieces], axis=1) * step
        walk -= walk[:, [pieces // 2]]
        slope = np.exp(np.clip(LOG_SLOPE + LOG_SLOPE_SCALE * x[:, 1:2] + walk, -8.0, 6.0))
        slope[:, -FALLING:] *= 1.0 + FALL * x[:, 4 + pieces :]
        eta = LOCATION * x[:, :1] + slope @ self.basis.T
        odds = np.exp(np.clip(eta, -FARTHEST, FARTHEST))
        share = np.minimum(self.share_hidden(x), 0.999)
        visible = (odds / (1.0 + odds)) @ self.size
        odds += (share / (1.0 - share) * visible / self.size.sum())[:, None]
        return np.asarray(odds / (1.0 + odds))

    def log_likelihood(self, x: Floats) -> Floats:
        """Return log p(labels | scores), (rows,)."""
        own = np.flatnonzero(self.labelled)
        p = np.clip(self.probabilities(x)[:, own], 1e-14, 1.0 - 1e-14)
        positive = self.positive[own]
        return np.asarray(np.log(p) @ positive + np.log1p(-p) @ (self.labelled[own] - positive))


@dataclass(frozen=True)
class HiddenPosterior:
    """Posterior draws of the curve."""

    model: FloorModel
    drawn: Floats  # (draws, parameters)

    def probabilities(self) -> Floats:
        """Return draws of P(+) in each bin, (draws, bins)."""
        return self.model.probabilities(self.drawn)

    def share_hidden(self) -> Floats:
        """Return draws of the share of positives that are hidden, (draws,)."""
        return self.model.share_hidden(self.drawn)


def as_beta(hidden: Any) -> tuple[float, float] | None:
    """Return the beta prior of the share of hidden positives; None if none is hidden."""
    if isinstance(hidden, str) and hidden == HIDDEN:
        return VAGUE
    if not isinstance(hidden, str) and np.shape(hidden) == () and hidden == 0:
        return None
    pair = np.asarray(hidden, dtype=np.float64) if not isinstance(hidden, str) else np.empty(0)
    if pair.shape != (2,) or not (np.isfinite(pair).all() and (pair > 0.0).all()):
        raise ValueError(
            "hidden must be 'vague', 0 for no hidden positives, or a pair (a, b) of positive"
            f" numbers for a beta prior of their share, got {hidden!r}."
        )
    return float(pair[0]), float(pair[1])


def fit_posterior(
    collection: RankedCollection, labels: Floats, hidden: Any, seed: int | np.random.Generator
) -> HiddenPosterior:
    """Return the posterior of the curve, from labels that are nan where there is none."""
    z = collection.z
    edges = np.r_[-np.inf, KNOTS, np.inf]
    basis = np.stack([np.clip(z, a, b) - np.clip(ANCHOR, a, b) for a, b in pairwise(edges)], axis=1)
    labelled = ~np.isnan(labels)
    model = FloorModel(
        basis,
        collection.size.astype(float),
        collection.count(labelled).astype(float),
        collection.count(labels == 1.0).astype(float),
        as_beta(hidden),
    )
    return HiddenPosterior(model, draw(model.log_likelihood, model.dimension, seed))


# Positives above and below a threshold, by both posteriors.


def posterior_limits(draws: Floats, level: float) -> Limits:
    """Return the mean of draws and their equal-tailed interval."""
    lower, upper = np.quantile(draws, [0.5 - level / 2.0, 0.5 + level / 2.0])
    return Limits(float(draws.mean()), float(lower), float(upper))


def hull_of(one: Limits, other: Limits) -> Limits:
    """Return the outer ends of two intervals, and the value of the second."""
    return Limits(other.value, min(one.lower, other.lower), max(one.upper, other.upper))


@dataclass(frozen=True)
class HiddenCurves:
    """Posterior draws of positives above and below a threshold, by two priors of those hidden."""

    without_hidden: tuple[Floats, Floats]  # (draws,): above, below
    with_hidden: tuple[Floats, Floats]
    share_hidden: Floats  # (draws,): by the latter
    # P(as many labelled positives deep in the ranking, or more) without hidden positives
    conflict: float

    def hull(self, weight_above: int, level: float) -> Limits:
        """Return the hull of the number of positives below, or above and below."""
        one, other = (
            posterior_limits(weight_above * above + below, level)
            for above, below in (self.without_hidden, self.with_hidden)
        )
        return hull_of(one, other)

    @classmethod
    def of(
        cls,
        scores: Floats,
        labels: Floats,
        fitted: Floats,
        above: NDArray[np.bool_],
        hidden: Any,
        rng: np.random.Generator,
    ) -> HiddenCurves:
        """Return the draws of both posteriors, fitted to some of the labels."""
        collection = RankedCollection.of(scores)
        plain, vague = (fit_posterior(collection, fitted, each, rng) for each in (0, hidden))
        without, with_hidden = (
            count_positives(each, collection, labels, above, rng) for each in (plain, vague)
        )
        conflict = conflict_of(collection, scores, fitted, above, rng)
        return cls(without, with_hidden, vague.share_hidden(), conflict)


# The lowest documents, as a share of the ranking, whose labels test a curve fitted to the others.
DEEP = 0.7


def conflict_of(
    collection: RankedCollection,
    scores: Floats,
    fitted: Floats,
    above: NDArray[np.bool_],
    rng: np.random.Generator,
) -> float:
    """Return P(as many deep positives, or more) by a curve fitted to all other labels."""
    deep = ~above & (scores <= np.quantile(scores, DEEP))
    own = deep & ~np.isnan(fitted)
    if not own.any():
        return math.nan
    others = fit_posterior(collection, np.where(deep, np.nan, fitted), 0, rng)
    expected = rng.binomial(collection.count(own), others.probabilities()).sum(axis=1)
    return float(np.mean(expected >= np.count_nonzero(fitted[own] == 1.0)))


def count_positives(
    posterior: HiddenPosterior,
    collection: RankedCollection,
    labels: Floats,
    above: NDArray[np.bool_],
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Return draws of the positives above and below: known ones, and unlabelled ones drawn."""
    p, unlabelled = posterior.probabilities(), np.isnan(labels)
    drawn = (
        rng.binomial(collection.count(unlabelled & mine), p).sum(axis=1)
        + np.count_nonzero(labels[mine] == 1.0)
        for mine in (above, ~above)
    )
    one, other = (np.asarray(each, dtype=np.float64) for each in drawn)
    return one, other


# The sampler, for any likelihood of standard normal parameters.

Likelihood = Callable[[Floats], Floats]
DIFFERENCE = 1e-4


def draw(log_likelihood: Likelihood, dimension: int, seed: int | np.random.Generator) -> Floats:
    """Return draws of parameters that are standard normal before the data, (draws, dimension)."""
    rng = np.random.default_rng(seed)
    mode, root = laplace(log_likelihood, dimension)
    precision = np.linalg.inv(root @ root.T)

    def beyond(x: Floats) -> Floats:
        """Return the log posterior less that of the normal distribution around the mode."""
        away = x - mode
        normal = 0.5 * np.einsum("ij,jk,ik->i", away, precision, away)
        return np.asarray(log_likelihood(x) - 0.5 * (x**2).sum(axis=1) + normal)

    x = mode + rng.normal(size=(CHAINS, dimension)) @ root.T
    kept, level = [], beyond(x)
    for step in range(BURN_IN + STEPS):
        x, level = elliptical_step(x, level, beyond, mode, root, rng)
        if step >= BURN_IN:
            kept.append(x)
    return np.concatenate(kept)


def elliptical_step(
    x: Floats,
    level: Floats,
    beyond: Likelihood,
    mode: Floats,
    root: Floats,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Move every chain along an ellipse through another draw from the normal distribution."""
    n, dimension = x.shape
    own, other = x - mode, rng.normal(size=(n, dimension)) @ root.T
    bar = level + np.log(rng.random(n))
    angle: Floats = np.asarray(rng.uniform(0.0, 2.0 * math.pi, n))
    low, high = angle - 2.0 * math.pi, angle.copy()
    moved, reached = x.copy(), level.copy()
    left = np.arange(n)
    while left.size:
        turn = angle[left, None]
        tried = mode + own[left] * np.cos(turn) + other[left] * np.sin(turn)
        value = beyond(tried)
        good = value > bar[left]
        moved[left[good]], reached[left[good]] = tried[good], value[good]
        left = left[~good]
        below = angle[left] < 0.0
        low[left[below]] = angle[left[below]]
        high[left[~below]] = angle[left[~below]]
        angle[left] = rng.uniform(low[left], high[left])
    return moved, reached


def laplace(log_likelihood: Likelihood, dimension: int) -> tuple[Floats, Floats]:
    """Return the posterior mode, and a root of the inverse of the curvature there."""
    step = DIFFERENCE * np.eye(dimension)

    def value(x: Floats) -> Floats:
        return np.asarray(0.5 * (x**2).sum(axis=1) - log_likelihood(x))

    def gradient(x: Floats) -> Floats:
        rows = np.concatenate([x + step, x - step])
        ahead, behind = np.split(value(rows), 2)
        return np.asarray((ahead - behind) / (2.0 * DIFFERENCE))

    start = np.zeros(dimension)
    start[2] = 0.5

    def single(x: Floats) -> float:
        return float(value(x[None])[0])

    found = optimize.minimize(single, start, jac=gradient, method="BFGS", options={"maxiter": 80})
    wide = 30.0 * step
    curvature = np.stack(
        [(gradient(found.x + e) - gradient(found.x - e)) / (60.0 * DIFFERENCE) for e in wide]
    )
    size, axes = np.linalg.eigh(0.5 * (curvature + curvature.T))
    # A normal distribution that is narrower than the posterior would hold chains back.
    spread = 1.0 / np.sqrt(np.clip(size, 0.5, None))
    return found.x, axes * (1.2 * spread)

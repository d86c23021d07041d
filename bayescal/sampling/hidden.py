r"""A posterior of P(positive | score) that allows for hidden positives.

Hidden positives have scores like those of negatives: no curve along the score finds them. With z
the normal score of a document's rank, rho the share of hidden positives, and N documents,

    odds(z) = exp(eta(z)) + rho / (1 - rho) V / N,    V = sum_i sigmoid(eta(z_i)).

eta is piecewise linear; log slopes are b plus a random walk. It rises, but its last pieces may
fall: if both classes have heavy tails, the very highest scores may be outliers. The likelihood of
labels given scores needs no weights if documents were chosen by score, by chance and by earlier
labels (D. B. Rubin, Biometrika 63, 1976). If reviewers miss a share m of positives and mistake a
share f of negatives, P(labelled positive) is f + (1 - m - f) P(positive). All parameters have
standard normal priors.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special, stats

from bayescal.inference.design_effect import design_effect
from bayescal.inference.importance import (
    WORST_K,
    Sample,
    StudentT,
    StudentTMixture,
    improve,
    sample,
)
from bayescal.inference.newton import laplace
from bayescal.sampling.design import as_partial_labels
from bayescal.sampling.exact import NO_ERROR, ReviewerError
from bayescal.support import validation
from bayescal.support.intervals import Interval
from bayescal.support.validation import Floats, as_reals

# Knots of the curve, as shares of the documents with lower scores.
KNOTS = special.ndtri([0.5, 0.85, 0.95, 0.98, 0.99, 0.995, 0.999])
ANCHOR = KNOTS[4]  # where the log-odds have a normal prior
LOCATION, LOG_SLOPE, LOG_SLOPE_SCALE = 2.5, math.log(2.0), 0.7
WALK = 0.5  # scale of the random walk's half-normal step size
FALLING, FALL = 3, 1.5  # pieces that may fall, and the scale of their fall
MOST_BINS = 300
EVEN_EDGES = np.linspace(-3.5, 3.5, 37)  # normal scores between bins of equal width
FARTHEST = 30.0
# Betas of the share of hidden positives. The second is by `learn_hidden` for the embedded scores
# of Reuters-21578: split "calibration", two classifiers, ten topics.
VAGUE, LEARNED = (1.0, 2.0), (1.0, 52.0)
PRIORS = {"vague": VAGUE, "learned": LEARNED}
DRAWS, PILOT = 1600, 2000
# Coordinate of the walk's step size. Given the size the posterior is nearly normal: proposals are
# normal approximations around these sizes with the standard deviation WITHIN.
STEP, STEPS, WITHIN = 2, (-1.5, -0.5, 0.5, 1.5, 2.5), 0.6
FLATTEST = 0.5  # smallest curvature of a proposal; that of the prior is 1


def normal_scores(scores: Floats, weight: Floats | None = None) -> Floats:
    """Return the normal score of each document's rank; ties have the middle of their ranks."""
    _, place = np.unique(scores, return_inverse=True)
    size = np.bincount(place, weight)
    return np.asarray(special.ndtri((np.cumsum(size) - size / 2.0) / size.sum())[place])


@dataclass(frozen=True)
class RankedCollection:
    """The documents of a collection in bins of similar scores, highest scores first."""

    code: NDArray[np.intp]  # (documents,): the bin of each document
    size: NDArray[np.intp]  # (bins,): documents in each
    z: Floats  # (bins,): the mean normal score of their ranks
    weight: Floats | None = None  # (documents,): how many each counts for; None for 1

    @classmethod
    def of(cls, scores: Floats) -> RankedCollection:
        """Return the bins, narrow at the top and wide below; ties stay together."""
        n, z = scores.size, normal_scores(scores)
        order = np.argsort(-scores, kind="stable")
        edges = np.unique(np.round(np.geomspace(1.0, n, MOST_BINS)).astype(np.intp))
        # An edge among ties moves behind them.
        falling = scores[order]
        last = np.searchsorted(-falling, -falling[edges - 1], side="right")
        starts = np.unique(np.r_[0, last[last < n]])
        code = np.empty(n, np.intp)
        code[order] = np.searchsorted(starts, np.arange(n), side="right") - 1
        size = np.bincount(code)
        return cls(code, size, np.bincount(code, z) / size)

    @classmethod
    def even(cls, scores: Floats, weight: Floats | None = None) -> RankedCollection:
        """Return bins of equal width in the normal score; ties stay together."""
        z = normal_scores(scores, weight)
        _, code = np.unique(np.searchsorted(EVEN_EDGES, -z), return_inverse=True)
        own = cls(code, np.bincount(code, weight), z, weight)
        return replace(own, z=own.mean(z))

    def count(self, documents: NDArray[np.bool_], values: Floats | None = None) -> NDArray[Any]:
        """Return the number of some documents in each bin, or the sum of their values."""
        own = [each[documents] for each in (self.weight, values) if each is not None]
        return np.bincount(
            self.code[documents], np.prod(own, axis=0) if own else None, self.size.size
        )

    def mean(self, values: Floats) -> Floats:
        """Return the mean of the documents' values in each bin."""
        return np.asarray(self.count(np.ones(self.code.size, dtype=bool), values) / self.size)


@dataclass(frozen=True)
class FloorModel:
    """The posterior of the curve's parameters."""

    basis: Floats  # (bins, pieces): length of each piece between the anchor and the bin
    size: Floats  # (bins,): documents
    labelled: Floats  # (bins,): documents with a label
    positive: Floats  # (bins,): positives among them
    beta: tuple[float, float] | None  # prior of the share hidden; None if none is hidden
    error: ReviewerError

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
        # Half-normal, as a function of a normal coordinate.
        below = special.ndtr(np.clip(x[:, STEP, None], -8.0, 8.0))
        step = WALK * special.ndtri(0.5 + 0.5 * below)
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
        p = labelled_positive(inside(self.probabilities(x)[:, own]), self.error)
        positive = self.positive[own]
        return np.asarray(np.log(p) @ positive + np.log1p(-p) @ (self.labelled[own] - positive))

    def log_density(self, x: Floats) -> Floats:
        """Return the log posterior density up to a constant, (rows,)."""
        return np.asarray(self.log_likelihood(x) - 0.5 * (x**2).sum(axis=1))

    def sample(self, draws: int, rng: np.random.Generator) -> Sample:
        """Return weighted draws with an effective sample size of about `draws`."""
        mode, parts = np.zeros(self.dimension), []
        for at in STEPS:

            def near(x: Floats, at: float = at) -> Floats:
                return self.log_density(x) - 0.5 * ((x[:, STEP] - at) / WITHIN) ** 2

            mode, root = laplace(near, mode, flattest=FLATTEST)
            parts.append(StudentT(mode, root))
        proposal = StudentTMixture(tuple(parts), np.full(len(parts), 1.0 / len(parts)))
        proposal, pilot = improve(self.log_density, proposal, rng, PILOT)
        return sample(self.log_density, proposal, draws, rng, efficiency=pilot.efficiency)


def inside(p: Floats) -> Floats:
    """Return probabilities that are neither 0 nor 1."""
    return np.clip(p, 1e-14, 1.0 - 1e-14)


def labelled_positive(p: Floats, error: ReviewerError) -> Floats:
    """Return the probability of a positive label from the probability of a positive."""
    missed, mistaken = error
    return np.asarray(mistaken + (1.0 - missed - mistaken) * p)


@dataclass(frozen=True)
class HiddenPosterior:
    """Posterior draws of the curve."""

    model: FloorModel
    drawn: Floats  # (draws, parameters)
    pareto_k: float  # of the importance weights behind the draws

    def probabilities(self) -> Floats:
        """Return draws of P(+) in each bin, (draws, bins)."""
        return self.model.probabilities(self.drawn)

    def share_hidden(self) -> Floats:
        """Return draws of the share of positives that are hidden, (draws,)."""
        return self.model.share_hidden(self.drawn)


def as_beta(hidden: Any) -> tuple[float, float] | None:
    """Return the beta prior of the share of hidden positives; None if none is hidden."""
    if isinstance(hidden, str) and hidden in PRIORS:
        return PRIORS[hidden]
    if not isinstance(hidden, str) and np.shape(hidden) == () and hidden == 0:
        return None
    pair = np.empty(0) if isinstance(hidden, str) else as_reals(hidden, "hidden")
    if pair.shape != (2,) or not (np.isfinite(pair).all() and (pair > 0.0).all()):
        raise ValueError(
            "hidden must be 'vague', 'learned', 0 for no hidden positives, or a pair (a, b) of"
            f" positive numbers for a beta prior of their share, got {hidden!r}."
        )
    return float(pair[0]), float(pair[1])


def fit_posterior(
    collection: RankedCollection,
    labels: Floats,
    hidden: Any,
    seed: int | np.random.Generator,
    error: ReviewerError = NO_ERROR,
    weight: Floats | None = None,
) -> HiddenPosterior:
    """Return the posterior of the curve, from weighted labels that are nan where missing."""
    z = collection.z
    edges = np.r_[-np.inf, KNOTS, np.inf]
    basis = np.stack([np.clip(z, a, b) - np.clip(ANCHOR, a, b) for a, b in pairwise(edges)], axis=1)
    labelled = ~np.isnan(labels)
    model = FloorModel(
        basis,
        collection.size.astype(float),
        collection.count(labelled, weight).astype(float),
        collection.count(labels == 1.0, weight).astype(float),
        as_beta(hidden),
        error,
    )
    rng = np.random.default_rng(seed)
    weighted = model.sample(DRAWS, rng)
    warn_if_uneven(weighted)
    return HiddenPosterior(model, weighted.resample(DRAWS, rng), weighted.pareto_k)


def warn_if_uneven(weighted: Sample) -> None:
    """Warn if few posterior draws have most of the weight."""
    if weighted.pareto_k > WORST_K:
        validation.warn_user(
            f"the posterior draws of positives are uneven (Pareto k {weighted.pareto_k:.2f}):"
            " compare intervals of several random_state, which differ by more than usual."
        )


def learn_hidden(reviews: Iterable[tuple[ArrayLike, ArrayLike]]) -> tuple[float, float]:
    """Return a beta prior of the share of hidden positives, `hidden`, learned from earlier reviews.

    It is Beta(1, b) with the b that maximises the product of the reviews' marginal likelihoods,

        prod_j E_j[(b / 2) (1 - rho)^(b - 2)],

    where E_j is the posterior of review j with the vague prior Beta(1, 2). If more positives are
    hidden than in the earlier reviews, intervals with this prior lie too high.

    Parameters
    ----------
    reviews : iterable of (scores, labels)
        Raw scores of all documents of each review, and their labels: 1, 0, or nan where missing.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> positive = rng.random(5_000) < 0.05
    >>> learn_hidden([(rng.normal(size=5_000) + 3.0 * positive, positive)])[1] > 5.0
    True
    """
    logs = []
    for seed, (scores, labels) in enumerate(reviews):
        values = validation.as_scores(scores)
        known = as_partial_labels(labels, values.size)
        posterior = fit_posterior(RankedCollection.of(values), known, VAGUE, seed)
        logs.append(np.log1p(-np.minimum(posterior.share_hidden(), 1.0 - 1e-12)))
    if not logs:
        raise ValueError("reviews must hold at least one review, got none.")
    draws = np.stack(logs)

    def loss(log_b: float) -> float:
        b = math.exp(log_b)
        each = special.logsumexp((b - 2.0) * draws, axis=1) + math.log(b)
        return -float(each.sum())

    best = optimize.minimize_scalar(loss, bounds=(-3.0, 7.0), method="bounded")
    return 1.0, round(math.exp(best.x), 2)


def hull_of(one: Interval, other: Interval) -> Interval:
    """Return the outer ends of two intervals, and the value of the second."""
    lower, upper = min(one.lower, other.lower), max(one.upper, other.upper)
    return replace(other, lower=lower, upper=upper)


def shared_limits(one: Floats, other: Floats, level: float) -> Interval:
    """Return the hull of two intervals of the lowest common level that holds in both posteriors."""
    # Posteriors that agree need just `level`; two that lie apart (2 level - 1), since each can miss
    # at one end only.
    tails = np.linspace(1.0 - level, 0.5 - level / 2.0, 50)
    lower, upper = (
        ends(np.quantile(one, q), np.quantile(other, q))
        for ends, q in ((np.minimum, tails), (np.maximum, 1.0 - tails))
    )
    held = [
        np.mean((lower[:, None] <= draws) & (draws <= upper[:, None]), axis=1)
        for draws in (one, other)
    ]
    enough = np.flatnonzero(np.minimum(*held) >= level - 1e-9)
    own = int(enough[0]) if enough.size else -1
    return Interval(float(other.mean()), float(lower[own]), float(upper[own]), level)


def simultaneous_level(draws: Floats, level: float) -> float:
    """Return the level of intervals that hold at all thresholds of (draws, thresholds)."""
    # J. Besag, P. Green, D. Higdon and K. Mengersen, Statistical Science 10, 1995, section 6.3.
    size = len(draws)
    low = stats.rankdata(draws, axis=0, method="max")
    high = stats.rankdata(-draws, axis=0, method="max")
    farthest = np.minimum(low, high).min(axis=1)
    return float(1.0 - 2.0 * np.quantile(farthest - 1.0, 1.0 - level, method="lower") / size)


@dataclass(frozen=True)
class HiddenCurves:
    """Posterior draws of positives above and below a threshold, by two priors of hidden ones."""

    without_hidden: tuple[Floats, Floats]  # (draws,): above, below
    with_hidden: tuple[Floats, Floats]
    share_hidden: Floats  # (draws,): by the latter
    conflict: float  # P(as many labelled positives deep in the ranking, or more) without hidden
    collection: RankedCollection
    in_bins: tuple[Floats, Floats]  # (draws, bins): positives without hidden ones, and with

    def hull(self, weight_above: int, level: float) -> Interval:
        """Return the hull of the number of positives below, or above and below."""
        one, other = (
            weight_above * above + below for above, below in (self.without_hidden, self.with_hidden)
        )
        return shared_limits(one, other, level)

    @classmethod
    def of(
        cls,
        scores: Floats,
        labels: Floats,
        fitted: Floats,
        above: NDArray[np.bool_],
        hidden: Any,
        error: ReviewerError,
        rng: np.random.Generator,
        drawn: tuple[Floats | None, NDArray[np.intp]] | None = None,
    ) -> HiddenCurves:
        """Return the draws of both posteriors, fitted to some of the labels."""
        collection = RankedCollection.of(scores)
        weight = None if drawn is None else group_weights(collection, fitted, rng, error, *drawn)
        both = [fit_posterior(collection, fitted, each, rng, error, weight) for each in (0, hidden)]
        drawn_sides = [
            tuple(count_positives(each, collection, labels, side, rng) for side in (above, ~above))
            for each in both
        ]
        (without, one), (with_hidden, other) = (
            ((over.sum(axis=1), under.sum(axis=1)), over + under) for over, under in drawn_sides
        )
        conflict = math.nan
        if weight is None:
            conflict = conflict_of(collection, scores, fitted, above, error, rng)
        share = both[1].share_hidden()
        return cls(without, with_hidden, share, conflict, collection, (one, other))


def group_weights(
    collection: RankedCollection,
    labels: Floats,
    rng: np.random.Generator,
    error: ReviewerError,
    inclusion: Floats | None,
    group: NDArray[np.intp],
) -> Floats:
    """Return weights of labels of groups that were drawn whole, by their highest scores."""
    # Another document's own score does not tell the probability with which its group was drawn.
    known = ~np.isnan(labels)
    weight = np.where(known, 1.0 / (1.0 if inclusion is None else inclusion), 0.0)
    if not known.any():
        return weight
    weight *= weight.sum() / (weight @ weight)
    p = fit_posterior(collection, labels, 0, rng, error, weight).probabilities().mean(axis=0)
    own = labelled_positive(p, error)[collection.code[known]]
    _, code = np.unique(group[known], return_inverse=True)
    return weight / design_effect(labels[known] == 1.0, own, code).factor


DEEP = 0.7  # share of the ranking, from the bottom, whose labels test a curve fitted to the others


def conflict_of(
    collection: RankedCollection,
    scores: Floats,
    fitted: Floats,
    above: NDArray[np.bool_],
    error: ReviewerError,
    rng: np.random.Generator,
) -> float:
    """Return P(as many deep positives, or more) by a curve fitted to all other labels."""
    deep = ~above & (scores <= np.quantile(scores, DEEP))
    own = deep & ~np.isnan(fitted)
    if not own.any():
        return math.nan
    others = fit_posterior(collection, np.where(deep, np.nan, fitted), 0, rng, error)
    p = labelled_positive(others.probabilities(), error)
    expected = rng.binomial(collection.count(own), p).sum(axis=1)
    return float(np.mean(expected >= np.count_nonzero(fitted[own] == 1.0)))


def count_positives(
    posterior: HiddenPosterior,
    collection: RankedCollection,
    labels: Floats,
    documents: NDArray[np.bool_],
    rng: np.random.Generator,
) -> Floats:
    """Return draws of the positives among some documents in each bin, (draws, bins)."""
    p, error = posterior.probabilities(), posterior.model.error
    unlabelled, positive, negative = (
        collection.count(documents & mask)
        for mask in (np.isnan(labels), labels == 1.0, labels == 0.0)
    )
    drawn = rng.binomial(unlabelled, p)
    if error == NO_ERROR:
        return np.asarray(drawn + positive, dtype=np.float64)
    missed, _ = error
    p = inside(p)
    labelled = labelled_positive(p, error)
    noticed = rng.binomial(positive, p * (1.0 - missed) / labelled)
    overlooked = rng.binomial(negative, p * missed / (1.0 - labelled))
    return np.asarray(drawn + noticed + overlooked, dtype=np.float64)

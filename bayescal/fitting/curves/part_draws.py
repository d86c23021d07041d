"""Curves of one part, of several parts combined, and with levels at ends of the scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from bayescal.fitting.curves.curves import blocks, predictive_log_odds, quantiles
from bayescal.fitting.engines.combination import GROUP, EndLevels, Ends, with_lapses
from bayescal.fitting.engines.exact.engine import leave_one_out_of_densities
from bayescal.fitting.engines.monotone.posterior import MonotoneDraws
from bayescal.fitting.engines.point_estimates import ClassFits
from bayescal.fitting.posterior import ClassDraws, Posterior, check_finite, log_odds_of_mean, unpack
from bayescal.fitting.scores import KLASS, BinaryScores
from bayescal.metrics.changes import FARTHEST, LINEAR, LogOddsFrame
from bayescal.support.intervals import tails
from bayescal.support.numerics import log_odds_of_mixture
from bayescal.support.validation import Floats


def density_dataset(
    fits: ClassFits | None, draws: ClassDraws | None, scores: Floats, level: float
) -> xr.Dataset:
    """Return the densities of both classes at scores; see `ScoreCalibrator.class_densities`."""
    coords = {"klass": list(KLASS), "score": scores}
    variables = {} if fits is None else {"mle": np.exp(fits.log_densities(scores))}
    if draws is not None:
        out = np.empty((3, len(KLASS), scores.size))
        shares = np.array(tails(level))
        for part in blocks(draws.size, scores.size):
            for k, log_density in enumerate(draws.log_densities(scores[part])):
                density = np.exp(log_density)
                out[0, k, part] = density.mean(axis=0)
                out[1:, k, part] = quantiles(density, shares)
        variables |= dict(zip(("predictive", "lower", "upper"), out, strict=True))
    return xr.Dataset({name: (("klass", "score"), v) for name, v in variables.items()}, coords)


@dataclass(frozen=True)
class IdentityDraws(Posterior):
    """Scores that are log-odds already, as every draw."""

    prior: Floats  # (draws,): P(+) of the documents fitted
    shift: Floats  # (draws,): change of log-odds by a new prior

    def log_odds(self, scores: Floats) -> Floats:
        """Return the scores plus the shifts; shape (draws, scores)."""
        return np.asarray(scores + self.shift[:, None])

    def predictive(self, scores: Floats) -> Floats:
        """Return the scores plus the mean shift."""
        return np.asarray(scores + self.shift.mean())

    def seen(self, data: BinaryScores, log_score: Floats) -> None:
        """Return None: nothing was fitted."""
        return


# Knots of the deviation: half evenly spaced, half at quantiles of the documents.
KNOTS = 40
LEAST_NEAR = 10


@dataclass(frozen=True)
class AveragedDraws(IdentityDraws):
    """Scores that are log-odds, plus a deviation in straight pieces."""

    # A model may use more than the score: P_k(+ | s) = E[sigmoid(l_k(x)) | s(x) = s], by a Gaussian
    # kernel over documents near s. The deviation is between the kernel means of sigmoid(l_k) and of
    # sigmoid(s), so that the kernel blurs the deviation only.

    drawn: ClassVar = ("deviation", "prior", "shift")

    knots: Floats  # (knots,): ascending scores
    deviation: Floats  # (draws, knots): each draw's deviation, constant beyond the ends

    def log_odds(self, scores: Floats) -> Floats:
        """Return the scores plus each draw's deviation, shape (draws, scores)."""
        inside = np.clip(scores, self.knots[0], self.knots[-1])
        right = np.clip(np.searchsorted(self.knots, inside), 1, self.knots.size - 1)
        share = (inside - self.knots[right - 1]) / (self.knots[right] - self.knots[right - 1])
        added = self.deviation[:, right - 1] * (1.0 - share) + self.deviation[:, right] * share
        return np.asarray(scores + added + self.shift[:, None])


def average(
    score: Floats, log_odds: Floats, prior: float, weight: Floats | None = None
) -> AveragedDraws:
    """Return the curves of documents' draws."""
    knots = _knots(score)
    kernel = _kernel(score, knots, np.ones(score.size) if weight is None else weight)
    # Both sides of the odds separately, since 1 - p would cancel.
    drawn = np.log(special.expit(log_odds) @ kernel) - np.log(special.expit(-log_odds) @ kernel)
    own = np.log(special.expit(score) @ kernel) - np.log(special.expit(-score) @ kernel)
    draws = len(log_odds)
    return AveragedDraws(np.full(draws, prior), np.zeros(draws), knots, drawn - own)


def spread_over_scores(score: Floats, most: int) -> NDArray[np.intp]:
    """Return positions of documents, half at even ranks of the score and half at even distances."""
    if score.size <= most:
        return np.arange(score.size)
    order = np.argsort(score, kind="stable")
    ranks = np.linspace(0, score.size - 1, most // 2).astype(np.intp)
    targets = np.linspace(score[order[0]], score[order[-1]], most - most // 2)
    nearest = np.minimum(np.searchsorted(score[order], targets), score.size - 1)
    return np.asarray(order[np.union1d(ranks, nearest)])


def _knots(score: Floats) -> Floats:
    low, high = float(score.min()), float(score.max())
    if low == high:  # a constant deviation
        return np.array([low - 0.5, low + 0.5])
    even = np.linspace(low, high, KNOTS - KNOTS // 2)
    placed = np.quantile(score, (np.arange(KNOTS // 2) + 0.5) / (KNOTS // 2))
    knots = np.unique(np.r_[even, placed])
    # Drop knots too close to their neighbour.
    apart = np.r_[True, np.diff(knots) > (knots[-1] - knots[0]) / (10.0 * KNOTS)]
    return np.asarray(knots[apart])


def _kernel(score: Floats, knots: Floats, counts: Floats) -> Floats:
    """Return weights of documents at knots, shape (n, knots), which sum to one over documents."""
    near = min(max(LEAST_NEAR, round(np.sqrt(score.size))), score.size)
    distance = np.abs(score[:, None] - knots)
    width = np.partition(distance, near - 1, axis=0)[near - 1]
    # Ties with a knot would make the width zero.
    width = np.maximum(width, 1e-6 * (knots[-1] - knots[0]))
    weight = counts[:, None] * np.exp(-0.5 * (distance / width) ** 2)
    return np.asarray(weight / weight.sum(axis=0))


@dataclass(frozen=True)
class ChangedDraws(Posterior):
    """Draws of changes of given log-odds; see `bayescal.metrics.changes`."""

    drawn: ClassVar = ("coefficient", "prior", "shift")

    frame: LogOddsFrame
    coefficient: Floats  # (draws, 2): a and b - 1; or (draws, 12), with the bend's coefficients
    prior: Floats  # (draws,): P(+) of the documents fitted
    shift: Floats  # (draws,): change of log-odds by a new prior

    def log_odds(self, scores: Floats) -> Floats:
        """Return the changed log-odds of given ones, shape (draws, scores)."""
        given = np.clip(scores, -FARTHEST, FARTHEST)
        linear = self.coefficient.shape[1] == LINEAR
        features = self.frame.linear(given) if linear else self.frame.features(given)
        changed: Floats = self.coefficient @ features.T
        changed += given
        changed += self.shift[:, None]
        return changed


@dataclass(frozen=True)
class RecalibratedDraws(Posterior):
    """Draws of log-odds that are monotone in the class densities' log-odds."""

    drawn: ClassVar = ("along",)

    base: Posterior  # class densities, or their mixture: predictive log-odds are the input
    along: MonotoneDraws  # draws of the log-odds as a function of the input

    @property
    def prior(self) -> Floats:
        """Return the draws of P(+)."""
        return self.along.prior

    def with_prior(self, prior: Floats) -> Self:
        """Return the same draws for a class prior of shape (draws,)."""
        return replace(self, along=self.along.with_prior(prior))

    def log_odds(self, scores: Floats) -> Floats:
        """Return the log-odds at raw scores, shape (draws, scores)."""
        return self.along.log_odds(predictive_log_odds(self.base, scores))

    def label_log_odds(self, data: BinaryScores) -> Floats:
        """Return log-odds as a function of the densities' leave-one-out log-odds."""
        densities = self.base.densities
        assert densities is not None  # noqa: S101
        return self.along.log_odds(leave_one_out_of_densities(densities, data)[0])


# Number of log-odds per block of `_lapse`, to stay in the processor's cache.
IN_CACHE = 1 << 14
# Larger log-odds no longer change with lapses, and their odds would overflow.
LARGEST_LOG_ODDS = 700.0


@dataclass(frozen=True)
class CombinedDraws(Posterior):
    """Draws from several parts, in proportion to their weights."""

    drawn: ClassVar = ("parts", "which", "lapse", "base")

    parts: tuple[Posterior, ...]  # each with all draws
    weight: Floats  # (parts,): their weights, which sum to one
    which: NDArray[np.intp]  # (draws,): the part of each draw
    lapse: Floats | None  # (draws,): lapse rate; None for no lapses
    base: Floats  # (draws,): P(+) of the documents fitted, by each draw's part; also of lapses
    # Smallest and largest score fitted, beyond which log-odds do not turn back; None for no limits
    reach: tuple[float, float] | None = None

    @property
    def prior(self) -> Floats:
        """Return the draws of P(+) by the first part."""
        return self.parts[0].prior

    @property
    def densities(self) -> ClassDraws | None:
        """Return the part that has class densities; None if none has."""
        return next((part.densities for part in self.parts if part.densities is not None), None)

    def with_prior(self, prior: Floats) -> CombinedDraws:
        """Return the same parts for a class prior, (draws,); the classes' densities stay."""
        parts = tuple(part.with_prior(prior) for part in self.parts)
        return replace(self, parts=parts)

    def log_odds(self, scores: Floats) -> Floats:
        """Return the log-odds of each draw, by its part; shape (draws, scores)."""
        return self._held(self._drawn, scores)

    def predictive(self, scores: Floats) -> Floats:
        """Return the log-odds of the weighted mean of the parts' P(+ | s, data), lapses in it."""
        curve = self._held(lambda at: np.stack([p.predictive(at) for p in self.parts]), scores)
        if self.lapse is not None:
            now = _own_prior(self.parts, self.which)
            moved = float(special.logit(now.mean()) - special.logit(self.base.mean()))
            curve = with_lapses(curve - moved, *self.mean_lapse) + moved
        return log_odds_of_mixture(curve, self.weight)

    def _drawn(self, scores: Floats) -> Floats:
        """Return the log-odds of each draw, with its lapses; shape (draws, scores)."""
        # Draws are contiguous in memory: there are thousands of them, and often few scores.
        out = np.concatenate([part.log_odds(scores).T for part in self._own], axis=1)
        if self._back is not None:
            out = out.take(self._back, axis=1)
        if self.lapse is not None:
            step = max(1, IN_CACHE // max(self.size, 1))
            for first in range(0, scores.size, step):
                self._lapse(out[first : first + step])
        return out.T

    @cached_property
    def _own(self) -> list[Posterior]:
        """The parts, each with its draws in the combination."""
        rows = (np.flatnonzero(self.which == k) for k in range(len(self.parts)))
        return [part.take(own) for own, part in zip(rows, self.parts, strict=True)]

    @cached_property
    def _back(self) -> NDArray[np.intp] | None:
        """Positions that undo sorting the draws by part; None if they are sorted."""
        if (np.diff(self.which) >= 0).all():
            return None
        return np.argsort(np.argsort(self.which, kind="stable"))

    def by_part(self) -> CombinedDraws:
        """Return the same draws sorted by part, the order of evaluation."""
        return self.take(np.argsort(self.which, kind="stable"))

    def _lapse(self, log_odds: Floats) -> None:
        """Turn log-odds without lapses, (scores, draws), into those with lapses, in place."""
        odds = np.exp(np.minimum(log_odds, LARGEST_LOG_ODDS, out=log_odds), out=log_odds)
        up, positive, negative, down = self._of_odds
        below = negative * odds
        below += down
        odds *= up
        odds += positive
        odds /= below
        np.log(odds, out=odds)

    @cached_property
    def _of_odds(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Coefficients u, p, n, d of draws' odds under lapses, (u o + p) / (n o + d) at odds o."""
        assert self.lapse is not None  # noqa: S101
        now = _own_prior(self.parts, self.which)
        moved = np.exp(special.logit(now) - special.logit(self.base))
        positive, negative = self.lapse * self.base, self.lapse * (1.0 - self.base)
        kept = 1.0 - self.lapse
        return kept + positive, positive * moved, negative / moved, kept + negative

    def _held(self, curves: Callable[[Floats], Floats], scores: Floats) -> Floats:
        """Return rows of curves, monotone beyond the scores, where heavier tails would decide."""
        if self.reach is None:
            return curves(scores)
        low, high = self.reach
        below, above = np.flatnonzero(scores < low), np.flatnonzero(scores > high)
        if not below.size and not above.size:
            return curves(scores)
        rows = curves(np.append(scores, self.reach))
        out, at_low, at_high = rows[:, :-2], rows[:, -2:-1], rows[:, -1:]
        out[:, below] = np.minimum(out[:, below], at_low)
        out[:, above] = np.maximum(out[:, above], at_high)
        return out

    @property
    def mean_lapse(self) -> tuple[float, float]:
        """Return the means of lambda and, weighted by lambda, of pi; 0 and 1/2 without lapses."""
        if self.lapse is None:
            return 0.0, 0.5
        return float(self.lapse.mean()), float(np.average(self.base, weights=self.lapse))


def combine(
    parts: tuple[Posterior, ...],
    weight: Floats,
    lapse: Floats | None = None,
    order: int = 0,
    reach: tuple[float, float] | None = None,
) -> CombinedDraws:
    """Return the combination of parts by their weights; the seed `order` assigns draws to parts."""
    size = parts[0].size
    # Deterministic numbers of draws for each part, in random order.
    ends = np.round(np.cumsum(weight) * size).astype(np.intp)
    which = np.searchsorted(ends, np.arange(size), side="right")
    which = np.random.default_rng(order).permutation(np.minimum(which, weight.size - 1))
    return CombinedDraws(parts, weight, which, lapse, _own_prior(parts, which), reach)


def _own_prior(parts: tuple[Posterior, ...], which: NDArray[np.intp]) -> Floats:
    """Return P(+) of each draw, by its part."""
    return np.asarray(np.stack([part.prior for part in parts])[which, np.arange(which.size)])


# Curves with separate levels at ends of the scores.

# Smallest probability of a level without its lapses.
SMALLEST = 1e-6


@dataclass(frozen=True)
class LevelledCurves(Posterior):
    """A part's curves between ends of the scores with separate levels."""

    drawn: ClassVar = ("part", "level", "prior")

    part: Posterior  # fitted to the documents between the ends
    ends: Ends
    level: Floats  # (draws, ends): log-odds there
    prior: Floats  # (draws,): P(+) of all documents

    @property
    def densities(self) -> ClassDraws | None:
        """Return the draws of the part's class densities, if it has any."""
        return self.part.densities

    def with_prior(self, prior: Floats) -> LevelledCurves:
        """Return the same draws for a class prior, with an equal shift of the part's prior."""
        moved = special.logit(prior) - special.logit(self.prior)
        part = self.part.with_prior(special.expit(special.logit(self.part.prior) + moved))
        return replace(self, part=part, level=self.level + moved[:, None], prior=prior)

    def log_odds(self, scores: Floats) -> Floats:
        """Return log-odds of shape (draws, scores)."""
        return self._levelled(self.part.log_odds(scores), scores, self.level)

    def predictive(self, scores: Floats) -> Floats:
        """Return the log-odds of P(+ | s, data), shape (scores,)."""
        level = log_odds_of_mean(self.level)
        return self._levelled(self.part.predictive(scores), scores, level)

    def label_log_odds(self, data: BinaryScores) -> Floats:
        """Return log-odds of the documents fitted, from the part's input; (draws, documents)."""
        return self._levelled(self.part.label_log_odds(data), data.score, self.level)

    def seen(self, data: BinaryScores, log_score: Floats) -> Floats | None:
        """Return the log likelihood of each document under each draw's posterior."""
        own = self.part.seen(data, log_score)
        return None if own is None else np.where(self.ends.of(data.score) >= 0, log_score, own)

    def _levelled(self, curves: Floats, scores: Floats, level: Floats) -> Floats:
        """Return curves (..., scores) with levels (..., ends) in place of those at the ends."""
        at = self.ends.of(scores)
        tied = np.flatnonzero(at >= 0)
        if not tied.size:
            return curves
        out = curves.copy()
        out[..., tied] = level[..., at[tied]]
        return out


def read_levels(
    groups: Mapping[str, xr.Dataset], curves: tuple[Posterior, ...], lapse: Floats | None
) -> tuple[Posterior, ...]:
    """Return the parts' curves with the levels of a tree, if any."""
    if GROUP not in groups:
        return curves
    stored = unpack(EndLevels, groups[GROUP])
    level, prior = stored.level, stored.prior
    check_finite("the levels", level, prior)
    if lapse is not None:
        # Levels include lapses, which are added to all probabilities later: subtract them. The mean
        # rate, since draws of lapses and of levels are independent.
        rate = float(lapse.mean())
        level = (level - rate * prior.mean()) / (1.0 - rate)
    log_odds = special.logit(np.clip(level, SMALLEST, 1.0 - SMALLEST))
    return tuple(LevelledCurves(each, stored.ends, log_odds, prior) for each in curves)


@dataclass(frozen=True)
class PopulationRecalibratedDraws(RecalibratedDraws):
    """Draws of a population's curve as a function of one topic's densities."""

    base_rate: tuple[float, float]  # parameters of the beta of the population's base rates

    def label_log_odds(self, data: BinaryScores) -> Floats:
        """Return log-odds as a function of the mixture's leave-one-out log-odds."""
        mixture = self.base
        assert isinstance(mixture, CombinedDraws)  # noqa: S101
        left_out = []
        for part in mixture.parts:
            own = part.densities
            assert own is not None  # noqa: S101
            left_out.append(leave_one_out_of_densities(own, data, self.base_rate)[0])
        return self.along.log_odds(log_odds_of_mixture(np.stack(left_out), mixture.weight))

    def seen(self, data: BinaryScores, log_score: Floats) -> None:
        """Return None: the curve was fitted to the population's labels only."""

"""The monotone engine on raw scores: warps compared by evidence, and draws of log-odds.

`fit_around` fits around a population of earlier problems, the likeliest of several.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from bayescal.distributions.knots import FEWEST, number_of_pieces
from bayescal.families.draws import IDENTITY, standardise, unwarp, warped_spread
from bayescal.fitting.engines.monotone.density import LARGEST_ETA, Pieces, Prior
from bayescal.fitting.engines.monotone.posterior import (
    Importance,
    LaplaceFit,
    MonotoneCurves,
    MonotoneDraws,
    MonotonePosterior,
    draw_monotone,
    draw_within,
    fit_laplace,
)
from bayescal.fitting.scores import BinaryScores
from bayescal.inference.importance import WORST_K, left_out, smooth, weigh
from bayescal.support.numerics import even_nodes, log_sum_exp
from bayescal.support.validation import Floats, as_scores_of, probability_ends

# Largest number of distinct scores of a label without a table.
MOST_SCORES = 96
# The log score of all documents then varies by about 0.07 nats.
MOST_DRAWS = 1000
ROWS_AT_ONCE = 64
# Largest number of influential documents for the more expensive methods.
MOST_AGAIN = 10
# Limit for plain importance sampling, below 0.7 since better methods cost only milliseconds.
GOOD_K = 0.5
STEP_DRAWS = 2000


@dataclass(frozen=True)
class LeaveOneOut:
    """Leave-one-out predictive probabilities of labels."""

    log_probability: Floats  # (m,): natural log of p(y_i | s_i, all other documents)
    pareto_k: Floats  # (m,): Pareto shape of the importance ratios, reliable up to 0.7

    def log_odds(self, positive: NDArray[np.bool_]) -> Floats:
        """Return the log-odds of + of each document, given the labels."""
        log_odds = _log_odds_of(self.log_probability)
        return np.where(positive, log_odds, -log_odds)


def leave_one_out(
    posterior: MonotoneCurves,
    x: Floats,
    positive: NDArray[np.bool_],
    weight: Floats | None,
    prior: Prior,
    rng: np.random.Generator,
    importance: Importance | None = None,
    index: NDArray[np.intp] | None = None,
) -> LeaveOneOut:
    """Return the probability of labels, each given its score and all other documents."""
    index = np.arange(x.size) if index is None else index
    log_probability, k = np.empty(index.size), np.empty(index.size)
    # Draws are in random order: the first ones are a sample.
    some = MonotoneCurves(
        posterior.pieces, posterior.intercept[:MOST_DRAWS], posterior.slopes[:MOST_DRAWS]
    )
    for label in (False, True):
        mine = np.flatnonzero(positive[index] == label)
        if mine.size:
            own = None if weight is None else weight[index[mine]]
            log_probability[mine], k[mine] = _of_label(some, x[index[mine]], own, label)
    weights = np.ones(x.size) if weight is None else weight
    draws, pieces = posterior.intercept.size, posterior.pieces

    def again(other: Floats) -> MonotonePosterior:
        return draw_monotone(x, positive, other, prior, draws, rng, pieces=pieces)

    worst = np.argsort(-k)[:MOST_AGAIN]
    for j in worst[k[worst] > GOOD_K]:
        i = index[j]
        power = min(weights[i], 1.0)
        rest = weights.copy()
        rest[i] -= power
        # The only document cannot be left out.
        if not rest.any():
            continue
        sign = 1.0 if positive[i] else -1.0
        if importance is None:
            importance = again(weights).importance
        proposed = _by_proposal(importance, pieces, x[[i]], sign, power, rng)
        log_probability[j], k[j] = proposed
        if k[j] > WORST_K:
            others = again(rest)
            log_p = special.log_expit(sign * others.log_odds(x[[i]])[:, 0])
            log_probability[j] = special.logsumexp(log_p) - math.log(log_p.size)
            k[j] = others.pareto_k
    return LeaveOneOut(log_probability, k)


def _by_proposal(
    importance: Importance,
    pieces: Pieces,
    x: Floats,
    sign: float,
    power: float,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Return log p(y_i | s_i, rest) and k by weighted proposals, adapted once if necessary."""
    density, sample = importance.density, importance.sample

    def log_p(points: Floats) -> Floats:
        curves = MonotoneCurves(pieces, points[:, 0], density.slopes(points))
        return np.asarray(special.log_expit(sign * curves.log_odds(x)[:, 0]))

    def log_density(points: Floats) -> Floats:
        return density.log_density(points) - power * log_p(points)

    own = log_p(sample.points)
    smoothed, k = smooth((sample.log_ratio - power * own)[None])
    log_weight = smoothed[0]
    if k[0] > GOOD_K:
        step = importance.proposal.matched(sample.points, log_weight)
        weighted = weigh(log_density, step, STEP_DRAWS, rng)
        own, log_weight = log_p(weighted.points), weighted.log_weight
        k = np.array([weighted.pareto_k])
    return float(log_sum_exp(log_weight + own, axis=0)), float(k[0])


def _log_odds_of(log_probability: Floats) -> Floats:
    """Return log p/(1 - p) of log p; probabilities are at most 1 - 1e-12."""
    own = np.minimum(log_probability, -1e-12)
    return np.asarray(own - np.log(-np.expm1(own)))


def _of_label(
    posterior: MonotoneCurves, x: Floats, weight: Floats | None, label: bool
) -> tuple[Floats, Floats]:
    sign = 1.0 if label else -1.0
    power = None if weight is None else np.minimum(weight, 1.0)
    # Nodes are scores of positive weight.
    node = np.unique(x if weight is None else x[weight > 0.0])
    if node.size > MOST_SCORES:
        node = np.union1d(even_nodes(node, MOST_SCORES), posterior.pieces.knots)
        common = 1.0 if power is None else float(np.average(power, weights=weight))
        values, k = _by_importance(posterior, node, np.full(node.size, common), sign)
        after = np.searchsorted(node, x).clip(max=node.size - 1)
        before = np.maximum(after - 1, 0)
        # Between knots log-odds are nearly linear, unlike log probabilities.
        log_odds = np.interp(x, node, _log_odds_of(values))
        return special.log_expit(log_odds), np.maximum(k[before], k[after])
    both = np.stack([x, np.ones(x.size) if power is None else power])
    distinct, back = np.unique(both, axis=1, return_inverse=True)
    values, k = _by_importance(posterior, distinct[0], distinct[1], sign)
    return values[back], k[back]


def _by_importance(
    posterior: MonotoneCurves, x: Floats, power: Floats, sign: float
) -> tuple[Floats, Floats]:
    """Return log p(y_i | s_i, rest) and k, of shape (n,); k is -inf for even ratios."""
    values, k = np.empty(x.size), np.empty(x.size)
    for start in range(0, x.size, ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        log_odds_of_label = sign * posterior.log_odds(x[rows]).T
        # Inverse probabilities overflow at log-odds of -800; these ratios are smoothed.
        with np.errstate(over="ignore"):
            inverse = 1.0 + np.exp(-log_odds_of_label)

        def log_p(some: NDArray[np.intp], log_odds: Floats = log_odds_of_label) -> Floats:
            return np.asarray(special.log_expit(log_odds[some]))

        values[rows], k[rows] = left_out(inverse, log_p, power[rows])
    return values, k


class LaplaceFits:
    """Cached Laplace approximations of one problem."""

    def __init__(self, data: BinaryScores) -> None:
        self.data = data
        self._known: dict[tuple[object, ...], LaplaceFit] = {}

    def of(
        self,
        centre: float,
        spread: float,
        asinh_scale: float,
        prior: Prior,
        *,
        n_segments: int = 1,
        pieces: Pieces | None = None,
    ) -> LaplaceFit:
        """Return the approximation for warped and standardised scores."""
        # The cached fit keeps its pieces alive, so that their id stays unique.
        key = (centre, spread, asinh_scale, prior, n_segments, pieces and id(pieces))
        if key not in self._known:
            x = standardise(self.data.score, centre, spread, asinh_scale)
            self._known[key] = fit_laplace(
                x, self.data.positive, self.data.weight, prior, n_segments=n_segments, pieces=pieces
            )
        return self._known[key]


@dataclass(frozen=True)
class LogOddsFit:
    """The posterior of monotone log-odds on the warp of the largest evidence."""

    posterior: MonotoneDraws
    source: MonotonePosterior  # the same draws in standardised warped scores, with diagnostics
    prior: Prior
    data: BinaryScores
    log_evidence: Floats  # log p(labels | scores, warp), (warps,)
    asinh_scales: Floats  # the warps compared, in score units, (warps,)

    def leave_one_out(
        self, index: NDArray[np.intp], rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Return the log-odds of + of some documents, each given all others, and Pareto k."""
        drawn, data = self.posterior, self.data
        x = standardise(data.score, drawn.centre, drawn.spread, drawn.asinh_scale)
        source = self.source
        left_out = leave_one_out(
            source, x, data.positive, data.weight, self.prior, rng, source.importance, index
        )
        return left_out.log_odds(data.positive[index]), left_out.pareto_k

    def evidence(self) -> xr.Dataset:
        """Return the evidence of every warp, and diagnostics of the draws."""
        source, chosen = self.source, self.asinh_scales == self.posterior.asinh_scale
        variables = {
            "log_evidence": ("asinh_scale", self.log_evidence),
            "warp_weight": ("asinh_scale", chosen.astype(float)),
            "pareto_k": source.pareto_k,
            "efficiency": source.efficiency,
            "likelihood_error": source.likelihood_error,
            "resolved": int(not source.problem),
            "monotone": 1.0,
        }
        return xr.Dataset(variables, {"asinh_scale": self.asinh_scales})


def number_of_segments(data: BinaryScores) -> int:
    """Return the largest default number of straight pieces of monotone log-odds."""
    return number_of_pieces(min(data.total(True), data.total(False)))


def fewer_and_fewer(segments: int) -> list[int]:
    """Return numbers of pieces to try, from the largest to FEWEST."""
    return [*range(segments, FEWEST, -4), FEWEST]


def draw_likeliest(
    laplace_fits: Sequence[LaplaceFit], draws: int, rng: np.random.Generator
) -> tuple[int, MonotonePosterior, Floats]:
    """Return the position of the likeliest posterior, draws from it, and all log evidences."""
    evidence = np.array([each.log_evidence for each in laplace_fits])
    best = int(evidence.argmax())
    posterior = draw_within(laplace_fits[best], draws, rng)
    evidence[best] = posterior.log_evidence
    return best, posterior, evidence


def vague_log_evidence(
    laplace_fits: LaplaceFits, asinh_scales: Sequence[float], n_segments: int | None = None
) -> float:
    """Return the largest log evidence of `fit_monotone`'s warps, by Laplace's approximation."""
    return _likeliest_vague(laplace_fits, asinh_scales, n_segments)[0].log_evidence


def _likeliest_vague(
    laplace_fits: LaplaceFits, asinh_scales: Sequence[float], n_segments: int | None = None
) -> tuple[LaplaceFit, tuple[float, float]]:
    """Return the fit of the largest evidence on vague priors, and its warp's spread and scale."""
    centre, spread = laplace_fits.data.centre_and_spread
    segments = number_of_segments(laplace_fits.data) if n_segments is None else n_segments
    warps = spreads_of_warps(centre, spread, asinh_scales)
    fits = [laplace_fits.of(centre, *warp, Prior(), n_segments=segments) for warp in warps]
    return max(zip(fits, warps, strict=True), key=lambda each: each[0].log_evidence)


def spreads_of_warps(
    centre: float, spread: float, asinh_scales: Sequence[float]
) -> list[tuple[float, float]]:
    """Return the spread of warped scores and the asinh scale in score units, of each warp."""
    scaled = [float(asinh_scale * spread) for asinh_scale in asinh_scales]
    return [(warped_spread(centre, spread, asinh_scale), asinh_scale) for asinh_scale in scaled]


def fit_monotone(
    laplace_fits: LaplaceFits,
    rng: np.random.Generator,
    *,
    draws: int,
    asinh_scales: tuple[float, ...],
    hyperparameters: Mapping[str, float] | None = None,
    n_segments: int | None = None,
) -> LogOddsFit:
    """Draw from the posterior of monotone log-odds on the likeliest of several warps."""
    values, data = dict(hyperparameters or {}), laplace_fits.data
    centre, spread = data.centre_and_spread
    centre, spread = values.pop("centre", centre), values.pop("spread", spread)
    prior = Prior(**values)
    counts = fewer_and_fewer(number_of_segments(data)) if n_segments is None else [n_segments]
    warps = spreads_of_warps(centre, spread, asinh_scales)
    # The largest number of pieces with reliable importance sampling.
    for segments in counts:
        of_warps = [laplace_fits.of(centre, *warp, prior, n_segments=segments) for warp in warps]
        best, posterior, evidence = draw_likeliest(of_warps, draws, rng)
        if not posterior.problem:
            break
    scales = np.array([asinh_scale for _, asinh_scale in warps])
    drawn = _in_raw_scores(posterior, data, rng, centre, *warps[best])
    return LogOddsFit(drawn, posterior, prior, data, evidence, scales)


def _in_raw_scores(
    source: MonotonePosterior,
    data: BinaryScores,
    rng: np.random.Generator,
    centre: float,
    spread: float,
    asinh_scale: float,
) -> MonotoneDraws:
    """Return draws as functions of the raw score, with draws of P(+), from a uniform prior."""
    positives, negatives = data.rate_counts
    prior = rng.beta(1 + positives, 1 + negatives, source.intercept.size)
    return MonotoneDraws(
        source.pieces, source.intercept, source.slopes, prior, centre, spread, asinh_scale
    )


def draw_prior(
    prior: Prior, pieces: Pieces, draws: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return intercepts (draws,) and slopes (draws, segments); see `monotone.density`."""
    intercept = rng.normal(prior.intercept_location, prior.intercept_scale, draws)
    steps = rng.normal(size=(draws, pieces.segments))
    # A multivariate t: Gaussian steps whose common scale is unknown.
    steps[:, 1:] /= np.sqrt(rng.chisquare(prior.walk_freedom, (draws, 1)) / prior.walk_freedom)
    eta = prior.slope_location + steps @ prior.walk(pieces).T
    return intercept, np.exp(np.minimum(eta, LARGEST_ETA))


PIECES = 9
# No warp, and one with the scores' own spread, as in log-odds fits.
WARPS = (IDENTITY, 1.0)
# Nats of evidence required against probabilities, since most scores between 0 and 1 are
# probabilities, and others lose little if treated as such (docs/defaults.md).
BELIEF = 3.0
# The largest of the scores must exceed it to be probabilities.
LEAST_LARGE = 1e-3


def as_probabilities(data: BinaryScores) -> BinaryScores:
    """Return the data, with log-odds in place of scores that appear to be probabilities."""
    low, high = data.score_range
    inside = (data.score > 0.0) & (data.score < 1.0)
    if low < 0.0 or not LEAST_LARGE <= high <= 1.0 or not inside.any() or low == high:
        return data
    kind = "probabilities"
    ends = probability_ends(data.score, kind)
    log_odds = as_scores_of(np.clip(data.score, 0.0, 1.0), kind, ends=ends)
    converted = replace(data, score=log_odds, scores_are=kind, ends=ends)
    of_log_odds, of_scores = (
        vague_log_evidence(LaplaceFits(each), WARPS, PIECES) for each in (converted, data)
    )
    return converted if of_log_odds > of_scores - BELIEF else data


def mode_log_odds(data: BinaryScores) -> Floats:
    """Return the log-odds of all documents at the mode of monotone log-odds, on vague priors."""
    best, warp = _likeliest_vague(LaplaceFits(data), WARPS)
    point = max(best.parts, key=lambda part: part.log_share).laplace.mean[None]
    curve = MonotoneCurves(best.density.pieces, point[:, 0], best.density.slopes(point))
    x = standardise(data.score, data.centre_and_spread[0], *warp)
    return np.asarray(curve.log_odds(x)[0])


@dataclass(frozen=True)
class LogOddsPopulation:
    """The distribution over problems of the log-odds of one classifier's raw scores."""

    name: str  # the type of classifier
    scores_are: tuple[str, ...]  # kinds of scores; probabilities by their log-odds
    centre: float  # standardisation and warp, in score units
    spread: float
    asinh_scale: float
    pieces: Pieces  # knots and reference, in standardised warped scores
    prior: Prior  # of intercept and slopes, including the population's uncertainty

    @property
    def reference_score(self) -> float:
        """Return the reference in raw score units."""
        warped = self.centre + self.spread * self.pieces.reference
        return float(unwarp(np.array([warped]), self.centre, self.asinh_scale)[0])

    @property
    def usual_slope(self) -> float:
        """Return the median slope at the reference, in log-odds a unit of the score."""
        bent = math.hypot(1.0, (self.reference_score - self.centre) / self.asinh_scale)
        return math.exp(self.prior.slope_location) / self.spread / bent


def log_evidence_around(
    laplace_fits: LaplaceFits, populations: Sequence[LogOddsPopulation]
) -> Floats:
    """Return log p(labels | scores, population), (populations,); see `LaplaceFit.log_evidence`."""
    return np.array([_around(each, laplace_fits).log_evidence for each in populations])


def fit_around(
    laplace_fits: LaplaceFits,
    rng: np.random.Generator,
    *,
    draws: int,
    populations: Sequence[LogOddsPopulation],
) -> LogOddsFit:
    """Draw from the posterior of monotone log-odds around the likeliest population."""
    of_each = [_around(each, laplace_fits) for each in populations]
    best, posterior, evidence = draw_likeliest(of_each, draws, rng)
    likeliest, data = populations[best], laplace_fits.data
    warp = likeliest.centre, likeliest.spread, likeliest.asinh_scale
    return LogOddsFit(
        posterior=_in_raw_scores(posterior, data, rng, *warp),
        source=posterior,
        prior=likeliest.prior,
        data=data,
        log_evidence=evidence[best : best + 1],
        asinh_scales=np.array([likeliest.asinh_scale]),
    )


def _around(known: LogOddsPopulation, laplace_fits: LaplaceFits) -> LaplaceFit:
    return laplace_fits.of(
        known.centre, known.spread, known.asinh_scale, known.prior, pieces=known.pieces
    )

"""Hyperparameters of populations: users' values, and their posterior, topics integrated out."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.families import Family
from bayescal.fitting.engines.exact.joint_density import Hyperparameters
from bayescal.fitting.engines.pooled.drawing import EvidenceExpansion, TopicDraws, Weighed
from bayescal.fitting.engines.pooled.population import (
    DENSITY_NAMES,
    LOG_ODDS_NAMES,
    OF_RATES,
    OF_SHARE,
    REACH,
    SEARCHING,
    WIDE,
    GaussianHyperprior,
    Normal,
    evenness,
)
from bayescal.inference.importance import smooth, systematic
from bayescal.support.validation import Floats, as_priors, as_reals, check_count, check_positive

UNITS, SEGMENTS = ("centre", "spread"), "n_segments"
# Largest absolute logarithm of hyperparameters.
FURTHEST = 35.0


@dataclass(frozen=True)
class TopicHyperparameters:
    """Hyperparameters that differ from the defaults."""

    # Normal priors of populations' hyperparameters, by name
    populations: Mapping[str, Normal] = field(default_factory=dict)
    # Units, and priors of unpooled topics: fields of `exact.joint_density.Hyperparameters`
    own: Mapping[str, float] = field(default_factory=dict)
    n_segments: int | None = None  # largest number of pieces of monotone log-odds


def read_hyperparameters(
    stated: Mapping[str, Any] | None, pooling: str, families: Sequence[Family]
) -> TopicHyperparameters:
    """Return the users' hyperparameters."""
    values = as_priors(stated, "{'spread': 2.0}")
    known = known_names(pooling, families)
    if unknown := sorted(set(values) - set(known)):
        raise ValueError(
            f"prior_knowledge of topics with pooling={pooling!r} and family"
            f" {', '.join(repr(family.name) for family in families)} may hold {', '.join(known)};"
            f" got {', '.join(map(repr, unknown))}."
        )
    segments = values.pop(SEGMENTS, None)
    if segments is not None:
        check_count(SEGMENTS, segments)
    of_topics = {each.name for each in fields(Hyperparameters)}
    return TopicHyperparameters(
        populations={k: _normal(k, v) for k, v in values.items() if k not in of_topics},
        own={k: v for k, v in values.items() if k in of_topics},
        n_segments=segments,
    )


def known_names(pooling: str, families: Sequence[Family]) -> list[str]:
    """Return the names of all hyperparameters."""
    symmetric = all(family.symmetric for family in families)
    if pooling == "partial":
        shares = [DENSITY_NAMES[k] for k in OF_SHARE] if symmetric else []
        names = [*UNITS, *(name for name in DENSITY_NAMES if name not in shares), *OF_RATES]
        return [*names, *LOG_ODDS_NAMES, SEGMENTS] if len(families) > 1 else names
    own = [each.name for each in fields(Hyperparameters)]
    if symmetric:
        own = [name for name in own if not name.startswith("share")]
    if pooling == "none":
        return own
    # One density for all topics; their base rates still have a population.
    return [*(name for name in own if not name.startswith("prior")), *OF_RATES]


def _normal(name: str, value: Any) -> Normal:
    """Return a mean and a standard deviation."""
    try:
        pair = as_reals(value, name)
    except ValueError:
        pair = np.empty(0)
    if pair.shape != (2,):
        raise ValueError(
            f"{name} must be the mean and the standard deviation of a normal prior, such as"
            f" (0.0, 1.0), got {value!r}."
        )
    mean, deviation = pair.tolist()
    if not math.isfinite(mean):
        raise ValueError(f"the mean of {name} must be finite, got {mean}.")
    check_positive(**{f"the standard deviation of {name}": deviation})
    if name.startswith("log") and abs(mean) + REACH * deviation > FURTHEST:
        raise ValueError(
            f"{name} must lie within {FURTHEST:g} of 0, {REACH:g} standard deviations from the mean"
            f" too, got {mean:g} and {deviation:g}: it is a logarithm."
        )
    return mean, deviation


LONGEST_STEP = 1.0  # in the hyperprior's standard deviations
LENGTHS = (0.5, 0.25, 0.1, 0.01)  # of a step that does not rise, or that goes far
SMALLEST_GAIN = 1e-3  # in log density
# Smallest effective share of a topic's draws for continuing the search for the mode.
CARRIES = 0.1
MOVES, NEWTON_STEPS = 12, 20
FIRST_DRAWS = 500
# Proposals for each draw, and limits of their total number.
PROPOSALS_A_DRAW, FEWEST_PROPOSALS, MOST_PROPOSALS = 4, 1000, 4000
ADAPTATIONS, GOOD_K = 4, 0.7
FREEDOM, WIDER = 5.0, 1.2  # of the Student t proposal


# Draws all topics, or some of them, under populations in rows, so many under each.
Draw = Callable[[Floats, int, np.random.Generator], TopicDraws]


@dataclass(frozen=True)
class Hyperposterior:
    """Draws of a population's hyperparameters."""

    weighed: Weighed  # the topics' draws behind their evidence, weighed for the proposals
    positions: NDArray[np.intp]  # of the draws among the proposals, (draws,)
    pareto_k: float  # of the importance weights
    efficiency: float  # effective share of the proposals

    @property
    def points(self) -> Floats:
        """Return unbounded hyperparameters, (draws, hyperparameters)."""
        return self.weighed.points[self.positions]

    @property
    def topics(self) -> TopicDraws:
        """Return the topics' draws."""
        return self.weighed.topics

    def pick(self, rng: np.random.Generator) -> Floats:
        """Return a draw of every topic for each point, (values, topics, draws)."""
        return self.weighed.pick(self.positions, rng)


def draw_hyperposterior(
    draw: Draw,
    hyperprior: GaussianHyperprior,
    rng: np.random.Generator,
    *,
    draws: int,
    topic_draws: int,
    search: Draw | None = None,
) -> Hyperposterior:
    """Return draws of the hyperparameters: resampled Student t proposals around the mode."""
    # Newton on the reweighted evidence finds the mode; topics are drawn again where too few of
    # their draws are effective. In the end half the draws are under a wider base, half under the
    # mode.
    mode, deviation = _search(search or draw, hyperprior, rng)
    for _ in range(1 if search is None else MOVES):
        half = topic_draws // 2
        wide = draw(hyperprior.base(mode, deviation, WIDE)[None], half, rng)
        mode = mode if search is None else _mode(wide, hyperprior, mode)[0]
        narrow = draw(hyperprior.base(mode, deviation, 0.0)[None], half, rng)
        topics = wide.joined(narrow)
        centre, covariance = _mode(topics, hyperprior, mode)
        # The mode of some topics may be far from the mode of all: draw again there.
        if topics.expand(centre).efficiency > CARRIES:
            break
        mode, deviation = centre, _deviation(covariance, hyperprior)
    proposals = int(np.clip(PROPOSALS_A_DRAW * draws, FEWEST_PROPOSALS, MOST_PROPOSALS))
    for _ in range(ADAPTATIONS):
        points, log_proposal = _student(centre, WIDER * covariance, proposals, rng)
        weighed = topics.weighed(points)
        log_posterior = weighed.log_evidence + hyperprior.log_density(points)
        log_weight, k = smooth((log_posterior - log_proposal)[None])
        weight = np.exp(log_weight[0])
        if k[0] < GOOD_K:
            break
        centre, covariance = weight @ points, adapted(covariance, points, weight)
    return Hyperposterior(
        weighed=weighed,
        positions=systematic(weight, draws, rng),
        pareto_k=float(k[0]),
        efficiency=evenness(log_weight[0]),
    )


def _search(
    draw: Draw, hyperprior: GaussianHyperprior, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return the mode and posterior deviations, drawing topics again until they are effective."""
    base = np.array(hyperprior.mean)
    for _ in range(MOVES):
        topics = draw(base[None], FIRST_DRAWS, rng)
        mode, covariance = _mode(topics, hyperprior, base)
        deviation = _deviation(covariance, hyperprior)
        if topics.expand(mode).efficiency > CARRIES:
            break
        base = hyperprior.base(mode, deviation, SEARCHING)
    return mode, deviation


def _deviation(covariance: Floats, hyperprior: GaussianHyperprior) -> Floats:
    """Return posterior deviations, bounded by the hyperprior's for lack of curvature."""
    return np.asarray(np.minimum(np.sqrt(np.diag(covariance)), np.array(hyperprior.scale)))


def _mode(
    topics: TopicDraws, hyperprior: GaussianHyperprior, start: Floats
) -> tuple[Floats, Floats]:
    """Return a mode, or the last effective point on the way, and minus the inverse Hessian."""
    mean, scale = np.array(hyperprior.mean), np.array(hyperprior.scale)
    prior_precision = np.diag(scale**-2.0)

    def expand(point: Floats) -> tuple[float, Floats, EvidenceExpansion]:
        here = topics.expand(point)
        return here.value + float(hyperprior.log_density(point)), point, here

    value, point, here = expand(start)
    for _ in range(NEWTON_STEPS):
        gradient = here.gradient - (point - mean) / scale**2
        step = np.linalg.solve(_positive(prior_precision - here.hessian, prior_precision), gradient)
        step *= min(1.0, LONGEST_STEP / np.abs(step / scale).max())
        tried = [expand(point + step)]
        if tried[0][0] <= value or tried[0][-1].efficiency <= CARRIES:
            tried += [expand(point + length * step) for length in LENGTHS]
        before, best = value, max(tried, key=itemgetter(0))
        if best[0] <= before:
            break
        value, point, here = best
        # Beyond this point a new base is needed.
        if value - before < SMALLEST_GAIN or here.efficiency <= CARRIES:
            break
    inverse = np.linalg.inv(_positive(prior_precision - here.hessian, prior_precision))
    return point, np.asarray(inverse, dtype=np.float64)


def _positive(precision: Floats, floor: Floats) -> Floats:
    """Return a precision that is at least a tenth of the hyperprior's in every direction."""
    root = np.sqrt(np.diag(floor))
    values, vectors = np.linalg.eigh(precision / np.outer(root, root))
    return np.asarray((vectors * np.maximum(values, 0.1)) @ vectors.T * np.outer(root, root))


def adapted(covariance: Floats, points: Floats, weight: Floats) -> Floats:
    """Return the covariance of weighted points, shrunk to their proposal's if few have weight."""
    own = np.cov(points.T, aweights=weight, ddof=0)
    count, directions = 1.0 / (weight**2).sum(), len(covariance)
    return np.asarray((count * own + directions * covariance) / (count + directions))


def _student(
    mean: Floats, covariance: Floats, size: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return draws of a multivariate Student t, and their log density up to a constant."""
    factor = np.linalg.cholesky(covariance)
    z = rng.normal(size=(size, mean.size)) / np.sqrt(rng.chisquare(FREEDOM, (size, 1)) / FREEDOM)
    log = -0.5 * (FREEDOM + mean.size) * np.log1p((z**2).sum(axis=1) / FREEDOM)
    return mean + z @ factor.T, log

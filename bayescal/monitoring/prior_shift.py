"""The posterior of the class prior of new documents, through draws of the class densities."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayescal.fitting.problems.problem import problems_of
from bayescal.inference.design_effect import effect_on_scores
from bayescal.inference.newton import climb_within
from bayescal.support import validation
from bayescal.support.intervals import Interval
from bayescal.support.numerics import blocks_of
from bayescal.support.validation import Floats, generator
from bayescal.support.weighting import read_clusters

FARTHEST = 36.0  # log-odds are clipped, where probabilities round to 0 or 1
MOST_SCORES = 2000
NODES, LEFT, RIGHT = 64, -14.0, 9.0  # grid around the mode of a prior's logit, in its sd
LEAST_CURVATURE = 0.05  # limits the grid of flat distributions
BLOCK_ELEMENTS = 1 << 21
LABEL_SHIFT = "if only the shares of the classes changed, not the case mix"


@dataclass(frozen=True, kw_only=True)
class PriorPosterior(Interval):
    """The posterior of the class prior of a new collection.

    Attributes
    ----------
    value, lower, upper, level
        Posterior mean of P(+) in the collection, and its equal-tailed credible interval.
    draws : array of shape (draws,)
        One prior for each draw of the calibrator, for `predict_proba(scores, prior=draws)`.
    """

    draws: Floats

    def __format__(self, spec: str) -> str:
        return f"{super().__format__(spec)} {LABEL_SHIFT}: foresee compares the two"

    def probabilities(self, log_ratio: ArrayLike) -> Floats:
        """Return P_k(+|s) under each draw's own prior, for `bayescal.decisions`.

        Parameters
        ----------
        log_ratio : array-like of shape (draws, documents)
            log p(s|+) - log p(s|-) of the same draws as in this posterior, clipped to -36 and 36.
        """
        # The logits of draws may be infinite; ratios of the opposite sign must not be.
        ratio = np.clip(validation.as_reals(log_ratio, "log_ratio"), -FARTHEST, FARTHEST)
        moved = ratio + special.logit(self.draws)[:, None]
        return np.asarray(special.expit(moved))


def posterior_of(
    ratio: Floats, counts: Floats, a: float, b: float, level: float, rng: Any
) -> PriorPosterior:
    """Return the posterior from log p(s|+) - log p(s|-), (draws, scores), and counts of scores."""
    ratio = np.exp(np.clip(ratio, -FARTHEST, FARTHEST))
    uniform = np.asarray(generator(rng).random(ratio.shape[0]))
    width = max(1, BLOCK_ELEMENTS // ratio.shape[1])
    parts = blocks_of(width, ratio.shape[0])
    logits = np.concatenate([_draw(ratio[k], counts, a, b, uniform[k]) for k in parts])
    draws = special.expit(logits)
    return PriorPosterior.of_draws(draws, level, draws=draws)


def _draw(ratio: Floats, counts: Floats, a: float, b: float, uniform: Floats) -> Floats:
    """Return the logit of one prior for each row of ratios, by its inverse distribution."""
    mode, sd = _mode(ratio, counts, a, b)
    nodes: Floats = mode[:, None] + sd[:, None] * np.linspace(LEFT, RIGHT, NODES)
    # The Beta density, with the Jacobian pi (1 - pi) of the logit.
    log_density = a * special.log_expit(nodes) + b * special.log_expit(-nodes)
    prior, other = special.expit(nodes), special.expit(-nodes)
    for g in range(NODES):
        mixture = ratio * prior[:, g, None]
        mixture += other[:, g, None]
        log_density[:, g] += np.log(mixture, out=mixture) @ counts
    density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    ends = np.cumsum(density[:, 1:] + density[:, :-1], axis=1)
    ends = np.concatenate([np.zeros((len(ends), 1)), ends], axis=1) / ends[:, -1:]
    return np.array([*map(np.interp, uniform, ends, nodes)])


def _mode(ratio: Floats, counts: Floats, a: float, b: float) -> tuple[Floats, Floats]:
    """Return mode and standard deviation of the logit of the prior."""
    far = np.full(len(ratio), 700.0)
    at, _ = climb_within(
        np.zeros(len(ratio)),
        -far,
        far,
        lambda at: _derivatives(at, ratio, counts, a, b),
        flattest=1e-12,
        tolerance=1e-9,
    )
    _, curvature = _derivatives(at, ratio, counts, a, b)
    return at, 1.0 / np.sqrt(np.maximum(curvature, LEAST_CURVATURE))


def _derivatives(
    at: Floats, ratio: Floats, counts: Floats, a: float, b: float
) -> tuple[Floats, Floats]:
    """Return slope and minus the second derivative of the log density at logits of the prior."""
    prior = special.expit(at)
    p = ratio * prior[:, None]
    p /= p + special.expit(-at)[:, None]
    total = counts.sum() + a + b
    slope: Floats = p @ counts + a - total * prior
    return slope, total * prior * (1.0 - prior) - (p * (1.0 - p)) @ counts


def estimate_prior(
    calibrator: Any,
    scores: ArrayLike,
    *,
    draws: int = 400,
    a: float = 1.0,
    b: float = 1.0,
    level: float = 0.9,
    clusters: ArrayLike | None = None,
    random_state: Any = None,
) -> PriorPosterior:
    """Return the posterior of a collection's class prior, from scores and a calibrator's draws.

    For each draw k the likelihood of the prior pi is prod_i (pi r_ki + 1 - pi), r = p(s|+)/p(s|-);
    times Beta(a, b) it is tabulated around its mode and one pi drawn. The unlabelled scores do not
    change the posterior of the densities (a cut posterior): thousands of scores would bend
    densities whose family is slightly wrong.

    It assumes label shift: only the shares of the classes changed, and scores of each class are
    distributed as before. If instead the case mix changed and P(positive | score) is as it was
    (covariate shift), the share is the mean of `sample_proba`, and this estimate can be far off:
    `foresee` gives both readings, and tests label shift.

    Parameters
    ----------
    calibrator : ScoreCalibrator
        Fitted, with a posterior.
    scores : array-like of shape (n,)
        Raw scores of the collection. More than 2,000 are replaced by means of 2,000 groups of
        neighbours.
    draws : int
        Largest number of the calibrator's draws, evenly chosen.
    a, b : float
        Parameters of the Beta prior of P(+).
    level : float
        Probability of the interval.
    clusters : array-like of shape (n,), optional
        Which documents belong together; scores that correlate within clusters count less.
    random_state : int, Generator, RandomState or None
        Seeds the draws.

    References
    ----------
    M. Plummer, *Cuts in Bayesian graphical models*, Statistics and Computing 2015. A. Ziegler and
    P. Czyz, *Bayesian quantification with black-box estimators*, TMLR 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal import ScoreCalibrator
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(200) < 0.5
    >>> fitted = ScoreCalibrator("gaussian", random_state=0).fit(rng.normal(2.0 * y), y)
    >>> rare = rng.normal(2.0 * (rng.random(3000) < 0.1))
    >>> found = estimate_prior(fitted, rare, random_state=0)
    >>> found.lower < 0.1 < found.upper
    True
    """
    validation.check_count("draws", draws)
    validation.check_positive(a=a, b=b)
    validation.check_fraction(level=level)
    if getattr(calibrator, "several_classes", False):
        raise ValueError(
            "calibrator must be of two classes, got one of several: use estimate_shares, which"
            " takes a score for each class."
        )
    problems_of(calibrator)
    values = validation.as_scores(scores)
    effect = 1.0
    if clusters is not None:
        effect = effect_on_scores(values, read_clusters(clusters, values.size, "scores")[1])
    values = np.sort(values)
    starts = np.unique(np.linspace(0, values.size, MOST_SCORES + 1).astype(np.intp)[:-1])
    counts = np.diff(np.append(starts, values.size)).astype(np.float64)
    nodes = np.add.reduceat(values, starts) / counts
    p = calibrator.sample_proba(nodes, prior=0.5)
    kept = np.linspace(0, len(p) - 1, min(draws, len(p))).astype(np.intp)
    with np.errstate(divide="ignore"):
        log_ratio = special.logit(p[kept])
    return posterior_of(log_ratio, counts / effect, a, b, level, random_state)

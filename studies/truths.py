"""Truths of simulated scores: two densities and a class prior, so that the log-odds are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from bayescal.support.numerics import log_odds
from bayescal.support.validation import Floats


@dataclass(frozen=True)
class Truth:
    """A distribution of scores and labels.

    Attributes
    ----------
    negative, positive : frozen scipy distributions
        Scores of each class.
    prior : float
        Probability of the positive class.
    """

    negative: Any
    positive: Any
    prior: float

    def log_odds(self, score: Floats) -> Floats:
        """Return the true log-odds of P(+|s)."""
        return log_odds(self.prior, self.positive.logpdf(score), self.negative.logpdf(score))

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.bool_]]:
        """Return n scores and whether each is positive: the prior's share of n, at least one."""
        positive = np.arange(n) < max(1, round(n * self.prior))
        both = [d.rvs(n, random_state=rng) for d in (self.positive, self.negative)]
        return np.where(positive, *both), positive


def asymmetric_laplace(theta: float, left: float, right: float) -> Any:
    """Return the distribution with mode theta and mean side lengths 1/beta and 1/gamma."""
    # scipy: exp(-kappa (x - loc)/scale) right, exp((x - loc)/(kappa scale)) left.
    return stats.laplace_asymmetric((left / right) ** 0.5, theta, (left * right) ** 0.5)


TRUTHS = {
    "asymmetric Laplace": Truth(
        asymmetric_laplace(0.0, 0.5, 1.0), asymmetric_laplace(1.5, 0.5, 1.0), prior=0.2
    ),
    "Gaussian, equal variances": Truth(stats.norm(-1.0), stats.norm(1.0), prior=0.2),
    "t4 against Gumbel": Truth(stats.t(4, -1.0), stats.gumbel_r(1.0, 1.5), prior=0.1),
}
"""Parameters that the specification leaves open are chosen so that the peers do as it says."""


# Larger samples only cost time; beyond this number the prior rises.
MOST_DOCUMENTS = 20_000


@dataclass(frozen=True)
class Mixture:
    """A mixture of distributions.

    Attributes
    ----------
    weights : sequence of float
        Sum to 1.
    parts : sequence of frozen scipy distributions
        As many.
    """

    weights: Sequence[float]
    parts: Sequence[Any]

    def logpdf(self, score: Floats) -> Floats:
        """Return log sum_j w_j p_j(s)."""
        terms = [part.logpdf(score) for part in self.parts]
        return np.asarray(special.logsumexp(terms, axis=0, b=np.reshape(self.weights, (-1, 1))))

    def rvs(self, size: int, random_state: np.random.Generator) -> Floats:
        """Return draws, in random order of the parts."""
        counts = random_state.multinomial(size, self.weights)
        drawn = [
            part.rvs(count, random_state=random_state)
            for part, count in zip(self.parts, counts, strict=True)
        ]
        return random_state.permutation(np.concatenate(drawn))


@dataclass(frozen=True)
class Rounded:
    """A symmetric distribution rounded to multiples of a step: scores with ties.

    Attributes
    ----------
    continuous : frozen scipy distribution
        Symmetric about its median.
    step : float
        Distance between possible scores.
    """

    continuous: Any
    step: float

    def logpdf(self, score: Floats) -> Floats:
        """Return the log probability of the value."""
        # Between cell edges on the side of the median where the distribution function is small.
        far = np.abs(score - self.continuous.median()) - self.step / 2
        edges = self.continuous.median() - np.stack([far, far + self.step])
        upper, lower = self.continuous.cdf(edges)
        return np.asarray(np.log(upper - lower))

    def rvs(self, size: int, random_state: np.random.Generator) -> Floats:
        """Return rounded draws."""
        drawn = self.continuous.rvs(size, random_state=random_state)
        return np.asarray(np.round(drawn / self.step) * self.step)


def of_lengths(mean: float, sd: float, spread: float, count: int = 40) -> Mixture:
    """Return scores that are sums over words: N(L mean, L sd^2) for a document of length L.

    Parameters
    ----------
    mean, sd : float
        At length 1.
    spread : float
        Standard deviation of log L, normal about 0.
    count : int
        Lengths, quantiles of that distribution, equally likely.
    """
    lengths = np.exp(spread * stats.norm.ppf((np.arange(count) + 0.5) / count))
    return Mixture(
        [1 / count] * count, [stats.norm(mean * each, sd * each**0.5) for each in lengths]
    )


def with_positives(truth: Truth, positives: int) -> tuple[Truth, int]:
    """Return the truth to draw from and the number of documents for a number of positives.

    The prior is the shape's, or the positives' share of MOST_DOCUMENTS if the shape's prior needs
    more documents. Scores and truth always have the same prior.
    """
    prior = max(truth.prior, positives / MOST_DOCUMENTS)
    return replace(truth, prior=prior), round(positives / prior)


SHAPES = {
    "equal Gaussians": Truth(stats.norm(0.0), stats.norm(2.0), prior=0.2),
    "unequal Gaussians": Truth(stats.norm(0.0), stats.norm(3.0, 2.0), prior=0.2),
    "asymmetric Laplace": Truth(
        asymmetric_laplace(-1.0, 0.5, 1.25), asymmetric_laplace(1.0, 1.4, 0.5), prior=0.2
    ),
    "heavy tails": Truth(stats.t(2), stats.t(2, 3.0), prior=0.1),
    "t4 against Gumbel": TRUTHS["t4 against Gumbel"],
    "skewed": Truth(stats.exponnorm(2.4, 0.1, 0.5), stats.skewnorm(-4.0, 5.0, 2.0), prior=0.3),
    "bimodal negatives": Truth(
        Mixture([0.6, 0.4], [stats.norm(-4.0), stats.norm(0.0)]), stats.norm(2.0), prior=0.2
    ),
    "ties": Truth(Rounded(stats.norm(0.0), 0.5), Rounded(stats.norm(1.5, 1.2), 0.5), prior=0.2),
    "near-separable": Truth(stats.norm(-3.0, 0.8), stats.norm(1.0, 1.2), prior=0.1),
    "overlapping": Truth(stats.norm(0.0), stats.norm(0.6), prior=0.5),
    "rare": Truth(stats.norm(0.0), stats.norm(2.5), prior=0.005),
    "very rare": Truth(stats.logistic(0.0, 0.6), stats.logistic(4.5, 0.8), prior=0.001),
    "label noise": Truth(
        Mixture([0.98, 0.02], [stats.norm(-2.0), stats.norm(2.0)]),
        Mixture([0.98, 0.02], [stats.norm(2.0), stats.norm(-2.0)]),
        prior=0.2,
    ),
    "probabilities": Truth(stats.beta(0.6, 4.0), stats.beta(3.0, 1.2), prior=0.2),
    "SVM-like": Truth(asymmetric_laplace(-1.0, 0.15, 0.2), stats.norm(0.4, 0.7), prior=0.03),
    "naive-Bayes-like": Truth(of_lengths(-10.0, 5.0, 0.6), of_lengths(3.0, 5.0, 0.6), prior=0.05),
}
"""The shapes by the names that tables use; docs/validation/robustness.md describes them."""

DESCRIPTIONS = {
    "equal Gaussians": ("N(0, 1)", "N(2, 1)"),
    "unequal Gaussians": ("N(0, 1)", "N(3, 2)"),
    "asymmetric Laplace": ("mode -1, mean side lengths 0.5 and 1.25", "mode 1, 1.4 and 0.5"),
    "heavy tails": ("t with 2 degrees of freedom, at 0", "the same at 3"),
    "t4 against Gumbel": ("t with 4 degrees of freedom, at -1", "Gumbel, mode 1, scale 1.5"),
    "skewed": (
        "N(0.1, 0.5) plus an exponential of mean 1.2",
        "skew normal at 5, scale 2, shape -4",
    ),
    "bimodal negatives": ("60 % N(-4, 1), 40 % N(0, 1)", "N(2, 1)"),
    "ties": ("N(0, 1) in steps of 0.5", "N(1.5, 1.2) in steps of 0.5"),
    "near-separable": ("N(-3, 0.8)", "N(1, 1.2)"),
    "overlapping": ("N(0, 1)", "N(0.6, 1)"),
    "rare": ("N(0, 1)", "N(2.5, 1)"),
    "very rare": ("logistic at 0, scale 0.6", "logistic at 4.5, scale 0.8"),
    "label noise": ("N(-2, 1), 2 % N(2, 1)", "N(2, 1), 2 % N(-2, 1)"),
    "probabilities": ("beta(0.6, 4)", "beta(3, 1.2)"),
    "SVM-like": ("asymmetric Laplace, mode -1, 0.15 and 0.2", "N(0.4, 0.7)"),
    "naive-Bayes-like": ("N(-10 L, variance 25 L), L the length", "N(3 L, variance 25 L)"),
}
"""Negatives and positives of each shape; Gaussians by mean and standard deviation."""

GAUSSIAN = ("equal Gaussians", "unequal Gaussians", "near-separable", "overlapping", "rare")
"""Shapes of two Gaussians: Platt's sigmoid or a parabola is the truth there."""

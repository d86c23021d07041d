"""Shapes of simulated scores: sixteen truths, densities known, from easy to hostile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special, stats

from bayescal.validation import Floats
from studies.truths import TRUTHS, Truth, asymmetric_laplace

# Larger samples only cost time; the prior gives way to the positives asked for.
MOST_DOCUMENTS = 20_000


@dataclass(frozen=True)
class Mixture:
    """
    A mixture of distributions.

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
    """
    A symmetric distribution rounded to multiples of a step: scores with ties.

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
    """
    Return scores that are sums over words: N(L mean, L sd^2) for a document of length L.

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
    """
    Return the truth to draw from and the number of documents that hold so many positives.

    The prior is the shape's, or, where that takes more than MOST_DOCUMENTS, the share that the
    positives have of these: scores and truth always have the same prior.
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

GAUSSIAN = (
    "equal Gaussians",
    "unequal Gaussians",
    "near-separable",
    "overlapping",
    "rare",
)
"""Shapes of two Gaussians: Platt's sigmoid or a parabola is the truth there."""

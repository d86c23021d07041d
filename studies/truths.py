"""Synthetic truths: two densities of scores and a class prior, their log-odds known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bayescal.bayes import log_odds
from bayescal.validation import Floats


@dataclass(frozen=True)
class Truth:
    """
    How scores come about.

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

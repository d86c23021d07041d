r"""What is believed of weights before the labels of a combination are seen.

    mu_i    ~ Normal(centre_i, population_scale)       weight of classifier i in the population
    tau     ~ LogNormal(log scale, log_scale_sd)       how far problems are from it
    w_ki    ~ Normal(mu_i, tau)                        weight of classifier i in problem k
    b_k     ~ Normal(0, bias_scale)                    bias, in log-odds
    kappa   ~ LogNormal(log shift_scale, log_shift_sd) how much indicators matter
    v_kj    ~ Normal(0, kappa)                         what indicator j adds to the log-odds

The two scales stand on a grid, as in a nested Laplace approximation: sums over it are integrals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from bayescal.validation import Floats, check_positive

# Nodes for a standard normal number: the trapezoidal rule, which is exact to six digits for the
# smooth functions that are averaged here.
NODES = np.linspace(-2.25, 2.25, 7)


@dataclass(frozen=True)
class WeightsPrior:
    """
    Scales of the prior; all positive.

    Attributes
    ----------
    bias_scale : float
        Standard deviation of a problem's bias, natural log-odds.
    population_scale : float
        That of the population's weights around their centre.
    scale, log_scale_sd : float
        Median of tau, and the standard deviation of its logarithm.
    shift_scale, log_shift_sd : float
        The same of kappa.
    """

    bias_scale: float = 0.5
    population_scale: float = 0.15
    scale: float = 0.15
    log_scale_sd: float = 0.7
    shift_scale: float = 0.1
    log_shift_sd: float = 1.0

    def __post_init__(self) -> None:
        check_positive(**{field.name: getattr(self, field.name) for field in fields(self)})

    def grid(self, *, shifts: bool) -> list[Scales]:
        """Return nodes for both scales, or for tau alone where there are no indicators."""
        log_mass = -0.5 * NODES**2
        log_mass -= math.log(np.exp(log_mass).sum())
        taus = self.scale * np.exp(self.log_scale_sd * NODES)
        kappas = self.shift_scale * np.exp(self.log_shift_sd * NODES)
        if not shifts:
            return [Scales(t, 1.0, m) for t, m in zip(taus, log_mass, strict=True)]
        return [
            Scales(t, k, m + mk)
            for t, m in zip(taus, log_mass, strict=True)
            for k, mk in zip(kappas, log_mass, strict=True)
        ]


@dataclass(frozen=True)
class Scales:
    """
    A node of the grid.

    Attributes
    ----------
    tau, kappa : float
        Standard deviations of weights around the population, and of indicators' coefficients.
    log_mass : float
        Log of its prior probability.
    """

    tau: float
    kappa: float
    log_mass: float


def centre_of_weights(
    log_scores: Floats, weight: Floats, rng: np.random.Generator, *, rounds: int = 400
) -> Floats:
    """
    Return weights that sum to one, larger for classifiers that are probably the best.

    The probability that each has the largest log score in a collection of which the documents are
    a sample, softly: the mean of softmax over Bayesian bootstraps of the sum of log scores
    (pseudo-BMA+). Combined log-odds with such weights have a log-loss of at most the weighted
    mean of the classifiers' own (Hoelder's inequality), so that they are a safe centre.

    Parameters
    ----------
    log_scores : array of shape (classifiers, n)
        Natural log of the probability that each gives to the label of each document held out.
    weight : array of shape (n,)
        How many documents each counts for.
    rng : numpy.random.Generator
        Of the bootstraps.
    rounds : int
        How many.

    References
    ----------
    Y. Yao, A. Vehtari, D. Simpson and A. Gelman, Using stacking to average Bayesian predictive
    distributions, Bayesian Analysis 2018, section 3.4.

    Examples
    --------
    >>> scores = np.log([[0.9] * 50, [0.5] * 50])
    >>> centre_of_weights(scores, np.ones(50), np.random.default_rng(0)).round(2)
    array([1., 0.])
    """
    total = np.zeros(len(log_scores))
    for _ in range(rounds):
        share = rng.standard_exponential(weight.size) * weight
        share *= weight.sum() / share.sum()
        each = log_scores @ share
        each = np.exp(each - each.max())
        total += each / each.sum()
    return np.asarray(total / total.sum())

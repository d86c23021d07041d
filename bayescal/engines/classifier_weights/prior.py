r"""What is believed of weights before the labels of a combination are seen.

    mu_i    ~ Normal(centre_i, population_scale)       weight of classifier i in the population
    tau     ~ LogNormal(log scale, log_scale_sd)       how far problems are from it
    w_ki    ~ Normal(mu_i, tau)                        weight of classifier i in problem k
    b_k     ~ Normal(0, bias_scale)                    bias, in log-odds
    kappa   ~ LogNormal(log shift_scale, log_shift_sd) how much indicators matter
    v_kj    ~ Normal(0, kappa)                         what indicator j adds to the log-odds
    rho     ~ LogNormal(log weight_shift_scale, log_weight_shift_sd)  how much weights differ
    u_kij   ~ Normal(0, rho)                           what moderator j adds to weight i

The scales stand on a grid, as in a nested Laplace approximation: sums over it are integrals.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from bayescal.validation import Floats, check_positive


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
    weight_shift_scale, log_weight_shift_sd : float
        The same of rho.
    """

    bias_scale: float = 0.5
    population_scale: float = 0.15
    scale: float = 0.15
    log_scale_sd: float = 0.7
    shift_scale: float = 0.1
    log_shift_sd: float = 1.0
    weight_shift_scale: float = 0.1
    log_weight_shift_sd: float = 1.0

    def __post_init__(self) -> None:
        check_positive(**{field.name: getattr(self, field.name) for field in fields(self)})

    def scales(self, at: Floats) -> Scales:
        """
        Return the scales at a place.

        Parameters
        ----------
        at : array of shape (1,), (2,) or (3,)
            log tau, log kappa and log rho, those of them that the model has, in prior standard
            deviations from their medians.

        Examples
        --------
        >>> WeightsPrior(scale=0.2).scales(np.zeros(2)).tau
        0.2
        """
        medians = (self.scale, self.shift_scale, self.weight_shift_scale)
        sds = (self.log_scale_sd, self.log_shift_sd, self.log_weight_shift_sd)
        z = np.zeros(3)
        z[: at.size] = at
        tau, kappa, rho = (np.array(medians) * np.exp(np.array(sds) * z)).tolist()
        return Scales(tau, kappa, -0.5 * float(at @ at), rho)


@dataclass(frozen=True)
class Scales:
    """
    The scales of a model.

    Attributes
    ----------
    tau, kappa, rho : float
        Standard deviations of weights around the population, of indicators' coefficients, and of
        interactions'.
    log_mass : float
        Log of their prior density, up to a constant.
    """

    tau: float
    kappa: float
    log_mass: float
    rho: float = 1.0

    @property
    def logs(self) -> Floats:
        """Return log tau, log kappa and log rho."""
        return np.log([self.tau, self.kappa, self.rho])


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

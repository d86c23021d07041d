r"""Populations of class densities, as an exponential family with its hyperprior.

Of topic t, with mode theta_t, share of the left side w_t, width s_t (standardised) and power p:

    theta_t ~ Normal(mu, tau)
    w_t     ~ Beta(kappa omega, kappa (1 - omega))
    s_t^p   ~ InverseGamma(a, a m^p)

which are the priors of the exact engine, so that given a population every topic is exact. Its
log density is eta . T(theta, w, s) - A(eta) with the statistics

    T = theta, theta^2, log w, log(1 - w), log s^p, s^-p.

The hyperprior is Gaussian in the unbounded hyperparameters

    mu, log tau, logit omega, log kappa, log a, log m

and keeps tau and 1/kappa away from zero: pooling never becomes complete, nor its geometry a
funnel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from bayescal.engines.exact.hyperparameters import Hyperparameters
from bayescal.engines.exact.joint import Prior
from bayescal.engines.exact.posterior import SMALLEST_SHARE
from bayescal.engines.pooled.hyperprior import GaussianHyperprior
from bayescal.families import Family
from bayescal.validation import Floats

NAMES = ("location", "log_scale", "logit_share", "log_concentration", "log_shape", "log_width")
OF_SHARE = (2, 3)
WIDEST = 1e100  # standardised; curves have saturated long before


@dataclass(frozen=True)
class Hyperprior(GaussianHyperprior):
    """
    The hyperprior of densities, in standardised units of the scores, in the order of NAMES.

    The means are the priors of an unpooled topic: modes within two spreads or so, sides alike,
    widths of half a spread. Larger tau, smaller kappa and a make populations wider.
    """

    scale: tuple[float, ...] = (2.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    wide: tuple[float, ...] = (0.0, 1.0, 0.0, -1.0, -1.0, 0.0)
    # No wider than kappa = 1/2 and a = 1/4: of a beta far below that most draws are at 0 or 1.
    lowest: tuple[float, ...] = (*3 * (-math.inf,), math.log(0.5), math.log(0.25), -math.inf)

    @classmethod
    def of(cls, power: int) -> Hyperprior:
        """Return the hyperprior of families of a power."""
        return cls((0.0, 0.0, 0.0, math.log(4.0), math.log(3.0), -math.log(2.0) / power))


def prior_of(point: Floats, family: Family) -> tuple[float, Prior]:
    """Return the location, and the exact engine's prior around it, of one population."""
    mu, tau, omega, kappa, shape, width = _natural_units(point)
    prior = Prior(
        theta_scale=float(tau),
        share_alpha=float(kappa * omega),
        share_beta=float(kappa * (1.0 - omega)),
        width_shape=float(shape),
        # s^p ~ InverseGamma(a, a m^p) is the programs' InverseGamma(a, scale^p).
        width_scale=float(width * shape ** (1.0 / family.powers[0])),
        symmetric=family.symmetric,
    )
    return float(mu), prior


def fixed_population(family: Family, own: Hyperparameters) -> Floats:
    """Return the population that is the prior of an unpooled topic, the program's of the family."""
    alpha, beta, shape = own.share_alpha, own.share_beta, own.width_shape
    share = math.log(alpha) - math.log(beta), math.log(alpha + beta)
    # The programs' InverseGamma(a, scale^p) is InverseGamma(a, a m^p).
    width = math.log(own.width_scale) - math.log(shape) / family.powers[0]
    return np.array([0.0, math.log(own.theta_scale), *share, math.log(shape), width])


def draw_unseen(points: Floats, family: Family, rng: np.random.Generator) -> Floats:
    """Return mode and sides of a topic of each population, standardised; shape (3, k)."""
    mu, tau, omega, kappa, shape, width = _natural_units(points)
    power = family.powers[0]
    share = np.full(mu.shape, 0.5)
    if not family.symmetric:
        share = rng.beta(kappa * omega, kappa * (1.0 - omega))
        share = np.clip(share, SMALLEST_SHARE, 1.0 - SMALLEST_SHARE)
    # A gamma of small shape rounds to 0.
    gamma = np.maximum(rng.standard_gamma(shape), np.finfo(np.float64).tiny)
    # A population that says next to nothing of widths may draw one that no number holds.
    log_total = np.log(width) + (np.log(shape) - np.log(gamma)) / power
    total = np.exp(np.minimum(log_total, math.log(WIDEST)))
    return np.stack([mu + tau * rng.normal(size=mu.shape), share * total, (1.0 - share) * total])


def coefficients(points: Floats, family: Family) -> tuple[Floats, Floats]:
    """
    Return eta and A(eta) of populations.

    Parameters
    ----------
    points : array of shape (k, 6)
        Unbounded hyperparameters.
    family : Family
        Whose power s has; a symmetric one has no share.

    Returns
    -------
    eta : array of shape (k, 6)
    log_normaliser : array of shape (k,)
    """
    mu, tau, omega, kappa, shape, width = _natural_units(points)
    alpha, beta = kappa * omega, kappa * (1.0 - omega)
    scale = shape * width ** family.powers[0]
    eta = np.stack([mu / tau**2, -0.5 / tau**2, alpha, beta, -shape, -scale], axis=-1)
    normaliser = 0.5 * (mu / tau) ** 2 + np.log(tau)
    normaliser += special.gammaln(shape) - shape * np.log(scale)
    if family.symmetric:
        eta[..., OF_SHARE] = 0.0
    else:
        normaliser += special.betaln(alpha, beta)
    return eta, normaliser


def statistics(theta: Floats, left_share: Floats, width: Floats, family: Family) -> Floats:
    """Return T of parameters of shape (...), of shape (..., 6)."""
    power = family.powers[0]
    columns = (
        theta,
        theta**2,
        np.log(left_share),
        np.log1p(-left_share),
        power * np.log(width),
    )
    return np.stack([*columns, width**-power], axis=-1)


def _natural_units(points: Floats) -> tuple[Floats, ...]:
    mu, log_tau, logit_omega, log_kappa, log_shape, log_width = np.moveaxis(points, -1, 0)
    return (
        mu,
        np.exp(log_tau),
        special.expit(logit_omega),
        np.exp(log_kappa),
        np.exp(log_shape),
        np.exp(log_width),
    )

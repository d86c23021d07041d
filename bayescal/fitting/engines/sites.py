"""Changes of log-odds at several sites around their population, and at a new site.

Site j has a shift a_j ~ Normal(mu_a, t^2) and a slope b_j with b_j - 1 ~ Normal(mu_b, u^2). The
means have wide normal priors and the standard deviations half-normal ones; the latter are
integrated on a grid. Each site's likelihood is approximated by a normal one around its mode given
the population, so that sites with one class, or one document, are handled too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from bayescal.metrics.changes import LogOddsCells, LogOddsFrame, fit_regression
from bayescal.support.validation import Floats

MEAN_SD = np.array([1.5, 0.7])  # of the prior of mu_a, mu_b
BETWEEN_SD = np.array([0.5, 0.25])  # of the half-normal priors of t, u
GRID = np.geomspace(0.02, 3.2, 14)  # of t and u, in units of BETWEEN_SD
ROUNDS = 3  # updates of the sites' likelihoods around the population
PROPER = 1e-9


@dataclass(frozen=True)
class SiteDraws:
    """Posterior draws of the sites' changes and of their population; pairs are (a, b - 1)."""

    own: Floats  # (sites, draws, 2)
    new: Floats  # (draws, 2): a site without documents
    mean: Floats  # (draws, 2): mu
    between: Floats  # (draws, 2): t and u


@dataclass(frozen=True)
class _Population:
    """The posterior of t, u and mu on a grid of (t, u)."""

    weight: Floats  # (grid,)
    precision: Floats  # (grid, 2): 1/t^2 and 1/u^2
    mean: Floats  # (grid, 2): of mu
    covariance: Floats  # (grid, 2, 2): of mu

    def new_site(self) -> tuple[Floats, Floats]:
        """Return mean and covariance of a new site's pair."""
        mean = self.weight @ self.mean
        away = self.mean - mean
        spread = self.covariance + np.einsum("gi,ij->gij", 1.0 / self.precision, np.eye(2))
        spread += away[:, :, None] * away[:, None, :]
        return mean, np.einsum("g,gij->ij", self.weight, spread)


def draw_sites(
    sites: Sequence[LogOddsCells], frame: LogOddsFrame, draws: int, rng: np.random.Generator
) -> SiteDraws:
    """Return draws of every site's shift and slope, of a new site's, and of the population."""
    mean, covariance = np.zeros(2), np.diag(MEAN_SD**2 + BETWEEN_SD**2)
    for _ in range(ROUNDS):
        information, pull = _likelihoods(sites, frame, mean, covariance)
        population = _population(information, pull)
        mean, covariance = population.new_site()
    cell = rng.choice(population.weight.size, draws, p=population.weight)
    precision = population.precision[cell]
    mu = _normal(population.mean[cell], population.covariance[cell], rng)
    own = np.empty((len(sites), draws, 2))
    for j in range(len(sites)):
        total = information[j] + np.einsum("di,ij->dij", precision, np.eye(2))
        spread = np.linalg.inv(total)
        centre = np.einsum("dij,dj->di", spread, pull[j] + precision * mu)
        own[j] = _normal(centre, spread, rng)
    new = mu + rng.standard_normal((draws, 2)) / np.sqrt(precision)
    return SiteDraws(own, new, mu, 1.0 / np.sqrt(precision))


def _likelihoods(
    sites: Sequence[LogOddsCells], frame: LogOddsFrame, mean: Floats, covariance: Floats
) -> tuple[Floats, Floats]:
    """Return information I (sites, 2, 2) and pull h (sites, 2) of likelihoods exp(h't - t'It/2)."""
    prior = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
    information, pull = [], []
    for cells in sites:
        fit = fit_regression(frame.linear(cells.log_odds), cells.log_odds, cells, mean, prior)
        own = fit.precision - prior
        information.append(own)
        # At the mode the likelihood's gradient is prior (mode - mean).
        pull.append(own @ fit.mode + prior @ (fit.mode - mean))
    return np.stack(information), np.stack(pull)


def _population(information: Floats, pull: Floats) -> _Population:
    t, u = (each.ravel() for each in np.meshgrid(GRID, GRID, indexing="ij"))
    precision = np.stack([t, u], axis=1) ** -2.0 / BETWEEN_SD**2
    # Half-normal densities, times the widths of a geometric grid.
    log_weight = -0.5 * (t**2 + u**2) + np.log(t) + np.log(u)
    of_mean = np.diag(MEAN_SD**-2.0)
    mean, covariance = np.empty((t.size, 2)), np.empty((t.size, 2, 2))
    for g, own in enumerate(precision):
        total = information + np.diag(own)
        spread = np.linalg.inv(total)
        shrunk = np.einsum("jik,jk->ji", spread, pull)
        of_mu = of_mean + len(pull) * np.diag(own) - np.outer(own, own) * spread.sum(axis=0)
        to_mu = own * shrunk.sum(axis=0)
        covariance[g] = np.linalg.inv(of_mu)
        mean[g] = covariance[g] @ to_mu
        log_weight[g] += 0.5 * (
            len(pull) * np.log(own).sum()
            - np.linalg.slogdet(total)[1].sum()
            + float(np.sum(pull * shrunk))
            + float(to_mu @ mean[g])
            + np.linalg.slogdet(covariance[g])[1]
        )
    return _Population(np.asarray(special.softmax(log_weight)), precision, mean, covariance)


def _normal(mean: Floats, covariance: Floats, rng: np.random.Generator) -> Floats:
    """Return one draw from each of several normal distributions, (draws, 2)."""
    root = np.linalg.cholesky(covariance + PROPER * np.eye(2))
    return np.asarray(mean + np.einsum("dij,dj->di", root, rng.standard_normal(mean.shape)))

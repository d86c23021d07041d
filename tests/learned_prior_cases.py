"""One problem around each shipped population: what NUTS, simulations and the engine share.

Nothing here is the engine's: warps, priors and curves are written anew, from their formulas.
"""

from dataclasses import asdict, dataclass
from functools import cache

import numpy as np
import scipy.stats as st
from scipy import special
from scipy.interpolate import PPoly

from bayescal.distributions import programs
from bayescal.fitting.engines import program
from bayescal.fitting.engines.monotone.engine import LogOddsPopulation
from bayescal.fitting.engines.program import build_model
from bayescal.fitting.learned_prior import shipped_populations
from bayescal.fitting.scores import BinaryScores

CHAINS = 4
POPULATIONS = {each.name: each for each in shipped_populations()}
# Raw scores of each kind: share, mean and standard deviation of two normal distributions.
SCORES = {
    "margins": ((0.85, -1.05, 0.2), (0.15, -0.3, 0.5)),
    "log-odds": ((0.8, -5.0, 2.0), (0.2, 0.0, 2.0)),
    "naive Bayes": ((0.8, -150.0, 80.0), (0.2, 0.0, 60.0)),
    "shares": ((0.8, -3.5, 0.7), (0.2, -0.5, 1.5)),
}
DOCUMENTS = 60


def raw_scores(name, n, rng):
    """Return n raw scores of a kind."""
    share, mean, deviation = np.array(SCORES[name]).T
    of = rng.choice(share.size, n, p=share)
    return rng.normal(mean[of], deviation[of])


def standardised(population, score):
    """Return (x - m)/S of warped scores x = m + c asinh((s - m)/c)."""
    m, c = population.centre, population.asinh_scale
    return c * np.arcsinh((score - m) / c) / population.spread


@dataclass(frozen=True)
class Lines:
    """Intercepts (draws,) and log slopes (draws, segments) of log-odds around a population."""

    population: LogOddsPopulation
    intercept: np.ndarray
    log_slope: np.ndarray

    @property
    def level(self):
        """Return the log slope where the reference is."""
        pieces = self.population.pieces
        return self.log_slope[:, np.sum(pieces.knots <= pieces.reference)]

    def log_odds(self, score):
        """Return the intercept and the integral of slopes from the reference: (draws, scores)."""
        knots, reference = self.population.pieces.knots, self.population.pieces.reference
        ends = np.r_[knots[0] - 1.0, knots, knots[-1] + 1.0]
        rise = PPoly(np.exp(self.log_slope).T[None], ends).antiderivative()
        x = standardised(self.population, score)
        return (self.intercept + rise(x) - rise(reference)).T


def from_prior(population, draws, rng):
    """Return lines from a population's prior."""
    prior, knots = population.prior, population.pieces.knots
    intercept = rng.normal(prior.intercept_location, prior.intercept_scale, draws)
    level = rng.normal(prior.slope_location, prior.slope_scale, draws)
    step = st.multivariate_t(shape=np.eye(knots.size), df=prior.walk_freedom, seed=rng)
    step = step.rvs(draws).reshape(draws, knots.size) * prior.walk_scale / np.sqrt(knots.size)
    below = np.sum(knots <= population.pieces.reference)
    left = np.cumsum(step[:, :below][:, ::-1], axis=1)[:, ::-1]
    right = np.cumsum(step[:, below:], axis=1)
    change = np.hstack([left, np.zeros((draws, 1)), right])
    return Lines(population, intercept, level[:, None] + change)


@dataclass(frozen=True)
class Case:
    """A population, documents, and raw scores where their log-odds are looked at."""

    population: LogOddsPopulation
    data: BinaryScores
    at: np.ndarray


@cache
def case(name):
    """Return documents of a population, few of them positive."""
    population, rng = POPULATIONS[name], np.random.default_rng(5)
    score = raw_scores(name, DOCUMENTS, rng)
    chance = special.expit(from_prior(population, 1, rng).log_odds(score)[0])
    data = BinaryScores(score, rng.random(score.size) < chance)
    return Case(population, data, np.quantile(score, [0.02, 0.3, 0.6, 0.9, 1.0]))


def quantities(intercept, log_slope, log_odds):
    """
    Return the quantities to compare, side by side: (draws, k).

    By their arcsinh: a walk of four degrees of freedom has no fourth moment, and so no error of its
    variance.
    """
    return np.arcsinh(np.column_stack([intercept, log_slope, log_odds]))


def sample(name, *, draws, tune, seed=1):
    """Return the quantities by NUTS, (chain, draw, k), and the share of divergent transitions."""
    population, data, at = (getattr(case(name), field) for field in ("population", "data", "at"))
    centre, spread, pieces = population.centre, population.spread, population.pieces
    warped = BinaryScores(centre + spread * standardised(population, data.score), data.positive)
    given = asdict(population.prior) | {
        "centre": centre,
        "spread": spread,
        "knots": centre + spread * pieces.knots,
        "reference": centre + spread * pieces.reference,
    }
    model = build_model(programs.load("monotone_log_odds"), warped, given)
    drawn = program.draw_posterior(
        model,
        np.random.default_rng(seed),
        draws=draws,
        chains=CHAINS,
        options={"target_accept": 0.97, "tune": tune},
    )
    intercept, slope = (drawn["posterior"][name].to_numpy() for name in ("intercept", "slope"))
    lines = Lines(population, intercept.ravel(), np.log(slope).reshape(intercept.size, -1))
    divergent = float(drawn["sample_stats"]["diverging"].mean())
    found = quantities(lines.intercept, lines.log_slope, lines.log_odds(at))
    return found.reshape(*intercept.shape, -1), divergent

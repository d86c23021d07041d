r"""A posterior of P(positive | rank) for judges of any quality.

With z the normal score of a document's rank,

    logit P(+ | z) = a + b z + sum_j u_j phi_j(z),
    a ~ N(0, 2.5^2),  b ~ N(0, tau^2),  u_j ~ N(0, gamma^2).

phi_j are the six leading eigenfunctions, each times the root of its eigenvalue, of a Gaussian
process along z with a squared exponential kernel of length 1, without its projection on intercept
and slope. All pairs of the scales tau and gamma are equally probable before the labels. The curve
may rise, fall or bend; at the smallest scales the scores say nothing about the labels.
"""

from functools import cache
from itertools import product

import numpy as np
from scipy import special

from bayescal.inference.importance import StudentT, StudentTMixture, sample
from bayescal.inference.newton import LogisticLikelihood
from bayescal.sampling.hidden import warn_if_uneven
from bayescal.support.validation import Floats

INTERCEPT = 2.5  # scale of a
SLOPES, BENDS = (0.05, 0.7, 2.0, 5.0), (0.05, 0.7, 2.0)  # tau, gamma
FEATURES, LENGTH = 6, 1.0
SCALES = np.array([[INTERCEPT, tau, *[gamma] * FEATURES] for tau, gamma in product(SLOPES, BENDS)])
DRAWS = 4000
EVENLY = 0.05  # share of the proposal that all pairs of scales have in equal parts
TOLERANCE = 1e-6  # squared Newton decrement at the mode


def fit_rank_curve(
    z: Floats, labelled: Floats, total: Floats, power: float, rng: np.random.Generator
) -> tuple[Floats, float]:
    """Return draws of P(+) in bins at z, (draws, bins), and the probability of useless scores."""
    columns = columns_of(z)
    drawn, share = sample_coefficients(columns, SCALES, labelled, total, power, rng)
    # All scales fit equal scores alike.
    return special.expit(drawn @ columns.T), float(share[0]) if np.ptp(z) > 0.0 else 1.0


def sample_coefficients(
    columns: Floats,
    scales: Floats,
    labelled: Floats,
    total: Floats,
    power: float,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Return draws of coefficients of log-odds and the probability of each row of prior scales."""
    own = labelled > 0.0
    n = labelled[own]
    likelihood = LogisticLikelihood(columns[own], 0.0, total[own] / n, power * n)
    precision, origin = scales**-2.0, np.zeros(columns.shape[1])
    each = [likelihood.laplace(origin, np.diag(p), tolerance=TOLERANCE) for p in precision]
    share = special.softmax([normal.log_evidence for normal in each])
    parts = tuple(StudentT(normal.mode, normal.root) for normal in each)
    proposal = StudentTMixture(parts, (1.0 - EVENLY) * share + EVENLY / share.size)
    log_constant = 0.5 * np.log(precision).sum(axis=1)[:, None]

    def log_density(x: Floats) -> Floats:
        log_prior = special.logsumexp(log_constant - 0.5 * precision @ (x**2).T, axis=0)
        return np.asarray(likelihood.log_likelihood(x) + log_prior)

    weighted = sample(log_density, proposal, DRAWS, rng, efficiency=1.0)
    warn_if_uneven(weighted)
    return weighted.resample(DRAWS, rng), share


def columns_of(z: Floats) -> Floats:
    """Return intercept, slope and eigenfunctions at normal scores, (len(z), 2 + FEATURES)."""
    grid, bends = _eigenfunctions()
    return np.column_stack([np.ones_like(z), z, *(np.interp(z, grid, bend) for bend in bends)])


@cache
def _eigenfunctions() -> tuple[Floats, Floats]:
    """Return a grid of normal scores and the eigenfunctions on it, (FEATURES, grid)."""
    grid = np.linspace(-3.2, 3.2, 65)
    share = special.softmax(-0.5 * grid**2)  # of the documents
    kernel = np.exp(-0.5 * ((grid[:, None] - grid) / LENGTH) ** 2)
    line = np.column_stack([np.ones_like(grid), grid])
    rest = np.eye(grid.size) - line @ np.linalg.solve((line.T * share) @ line, line.T * share)
    root = np.sqrt(share)
    size, vectors = np.linalg.eigh(root[:, None] * (rest @ kernel @ rest.T) * root)
    leading = np.argsort(-size)[:FEATURES]
    return grid, np.sqrt(size[leading])[:, None] * vectors[:, leading].T / root

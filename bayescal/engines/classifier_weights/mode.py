r"""The joint mode of a population's weights and all problems' coefficients, given the scales.

Given the scales the log posterior is concave. Its Hessian is an arrow: problems depend on each
other through mu alone, so that Newton's step solves a small system for each problem and one for
mu (the Schur complement); the same factors give the Gaussian that touches the mode.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayescal.engines.classifier_weights.design import Design
from bayescal.engines.classifier_weights.prior import Scales, WeightsPrior
from bayescal.validation import Floats

MOST_STEPS = 60
# The Newton decrement: the log density is off by about half of it.
SMALLEST_DECREMENT = 1e-6
SMALLEST_SIZE = 1e-8
LOG_TWO_PI = math.log(2.0 * math.pi)


@dataclass(frozen=True)
class Population:
    """
    The model of all problems, given the scales.

    Attributes
    ----------
    designs : sequence of Design
        Of each problem; the same classifiers in all.
    centre : array of shape (m,)
        Prior mean of the population's weights.
    prior : WeightsPrior
        Its scales.
    scales : Scales
        tau, kappa and rho.
    """

    designs: Sequence[Design]
    centre: Floats
    prior: WeightsPrior
    scales: Scales

    def precision(self, k: int) -> Floats:
        """Return the prior precision of each coefficient of problem k, given mu."""
        m, design = self.centre.size, self.designs[k]
        sd = np.r_[
            self.prior.bias_scale,
            np.full(m, self.scales.tau),
            np.full(design.size - design.weight_shifts - m - 1, self.scales.kappa),
            np.full(design.weight_shifts, self.scales.rho),
        ]
        return np.asarray(sd**-2.0)

    def mean(self, k: int, mu: Floats) -> Floats:
        """Return the prior mean of problem k's coefficients; mu of shape (..., m)."""
        out = np.zeros((*mu.shape[:-1], self.designs[k].size))
        out[..., 1 : mu.shape[-1] + 1] = mu
        return out

    def value(self, mu: Floats, points: Sequence[Floats]) -> float:
        """Return the log joint density of labels, mu and all coefficients."""
        m, s = self.centre.size, self.prior.population_scale
        total = -0.5 * float(((mu - self.centre) ** 2).sum()) / s**2
        total -= 0.5 * m * LOG_TWO_PI + m * math.log(s)
        for k, (design, point) in enumerate(zip(self.designs, points, strict=True)):
            precision = self.precision(k)
            total += float(design.log_likelihood(point[None])[0])
            total -= 0.5 * float(precision @ (point - self.mean(k, mu)) ** 2)
            total += 0.5 * float(np.log(precision).sum()) - 0.5 * point.size * LOG_TWO_PI
        return total


@dataclass(frozen=True)
class JointMode:
    """
    The mode, and the Gaussian that touches it.

    Attributes
    ----------
    model : Population
        Whose.
    mu : array of shape (m,)
        The population's weights.
    points : list of array of shape (d_k,)
        Coefficients of each problem.
    hessians : list of array of shape (d_k, d_k)
        Minus the second derivative in each problem's own coefficients.
    pulls : list of array of shape (d_k, m)
        How each problem's mode moves with mu.
    covariance : array of shape (m, m)
        Of mu.
    log_evidence : float
        Laplace's approximation of log p(labels | scales).
    """

    model: Population
    mu: Floats
    points: list[Floats]
    hessians: list[Floats]
    pulls: list[Floats]
    covariance: Floats
    log_evidence: float


def find_mode(model: Population, start: tuple[Floats, Sequence[Floats]] | None = None) -> JointMode:
    """
    Climb to the joint mode by Newton steps, halved until the density rises.

    Parameters
    ----------
    model : Population
        What to climb.
    start : (mu, points), optional
        Where from; by default the centre.
    """
    mu = model.centre if start is None else start[0]
    points = [model.mean(k, mu) for k in range(len(model.designs))] if start is None else start[1]
    points, here = list(points), model.value(mu, points)
    for _ in range(MOST_STEPS):
        gradients, hessians = _derivatives(model, mu, points)
        pulls, schur = _eliminate(model, hessians)
        own = [np.linalg.solve(h, g) for h, g in zip(hessians, gradients[1:], strict=True)]
        towards = sum(pull.T @ g for pull, g in zip(pulls, gradients[1:], strict=True))
        step = np.linalg.solve(schur, gradients[0] + towards)
        steps = [each + pull @ step for each, pull in zip(own, pulls, strict=True)]
        decrement = float(gradients[0] @ step) + sum(
            float(g @ each) for g, each in zip(gradients[1:], steps, strict=True)
        )
        if decrement < SMALLEST_DECREMENT:
            return _touching(model, mu, points, hessians)
        size, level = 1.0, here
        while True:
            new_mu = mu + size * step
            new = [p + size * each for p, each in zip(points, steps, strict=True)]
            here = model.value(new_mu, new)
            if here >= level + 1e-4 * size * decrement or size < SMALLEST_SIZE:
                break
            size *= 0.5
        mu, points = new_mu, new
    return _touching(model, mu, points, _derivatives(model, mu, points)[1])


def climb(design: Design, mean: Floats, precision: Floats, start: Floats) -> Floats:
    """
    Return the mode of one problem's coefficients under a Gaussian prior, by halved Newton steps.

    Parameters
    ----------
    design : Design
        The labels.
    mean, precision : array of shape (d,)
        Of the prior.
    start : array of shape (d,)
        Where from.
    """

    def value(point: Floats) -> float:
        likelihood = float(design.log_likelihood(point[None])[0])
        return likelihood - 0.5 * float(precision @ (point - mean) ** 2)

    point, here = start, value(start)
    for _ in range(MOST_STEPS):
        slope = design.gradient(point) - precision * (point - mean)
        step = np.linalg.solve(design.information(point) + np.diag(precision), slope)
        decrement = float(slope @ step)
        if decrement < SMALLEST_DECREMENT:
            break
        size = 1.0
        while value(point + size * step) < here + 1e-4 * size * decrement and size > SMALLEST_SIZE:
            size *= 0.5
        point = point + size * step
        here = value(point)
    return point


def _derivatives(
    model: Population, mu: Floats, points: Sequence[Floats]
) -> tuple[list[Floats], list[Floats]]:
    """Return gradients, mu's first, and each problem's Hessian with its sign changed."""
    m = mu.size
    of_mu = (model.centre - mu) / model.prior.population_scale**2
    gradients: list[Floats] = []
    hessians: list[Floats] = []
    for k, (design, point) in enumerate(zip(model.designs, points, strict=True)):
        precision = model.precision(k)
        back = precision * (point - model.mean(k, mu))
        gradients.append(design.gradient(point) - back)
        hessians.append(design.information(point) + np.diag(precision))
        of_mu = of_mu + back[1 : m + 1]
    return [np.asarray(of_mu, dtype=np.float64), *gradients], hessians


def _eliminate(model: Population, hessians: Sequence[Floats]) -> tuple[list[Floats], Floats]:
    """Return how each problem follows mu, and the Schur complement of mu."""
    m = model.centre.size
    schur = np.eye(m) / model.prior.population_scale**2
    pulls: list[Floats] = []
    for k, hessian in enumerate(hessians):
        precision = model.precision(k)[1 : m + 1]
        coupling = np.zeros((hessian.shape[0], m))
        coupling[1 : m + 1] = np.diag(precision)
        pull = np.asarray(np.linalg.solve(hessian, coupling), dtype=np.float64)
        pulls.append(pull)
        schur += np.diag(precision) - coupling.T @ pull
    return pulls, schur


def _touching(
    model: Population, mu: Floats, points: list[Floats], hessians: list[Floats]
) -> JointMode:
    pulls, schur = _eliminate(model, hessians)
    size = mu.size + sum(point.size for point in points)
    volume = sum(float(np.linalg.slogdet(h)[1]) for h in (*hessians, schur))
    log_evidence = model.value(mu, points) + 0.5 * size * LOG_TWO_PI - 0.5 * volume
    covariance = np.asarray(np.linalg.inv(schur), dtype=np.float64)
    return JointMode(model, mu, points, hessians, pulls, covariance, log_evidence)

"""Hierarchical model of several classifiers' weights over problems, and its joint mode.

    log-odds_k = offset + columns_k @ (b_k, w_k, v_k)     labels of problem k

    mu_i    ~ Normal(centre_i, population_scale)       weight of classifier i in the population
    tau     ~ LogNormal(log scale, log_scale_sd)       spread of problems around it
    w_ki    ~ Normal(mu_i, tau)                        weight of classifier i in problem k
    b_k     ~ Normal(0, bias_scale)                    bias, in log-odds
    kappa   ~ LogNormal(log shift_scale, log_shift_sd) spread of the indicators' coefficients
    v_kj    ~ Normal(0, kappa)                         effect of indicator j on the log-odds

The scales are integrated on a grid, as in a nested Laplace approximation. Given the scales the log
posterior is concave. Its Hessian is an arrow: problems depend on each other only through mu, so
that Newton's step solves a small system for each problem and one for mu (the Schur complement); the
same factors give the Gaussian approximation at the mode.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from scipy import special

from bayescal.inference.newton import LogisticLikelihood, climb
from bayescal.support.validation import Floats, check_positive


@dataclass(frozen=True)
class Design(LogisticLikelihood):
    """log-odds = offset + columns @ (b, w_1 .. w_m, v_1 .. v_J)."""

    # The columns are 1; the evidence of each classifier, its log-odds minus the base rate's; and
    # indicators. The offset is the log-odds of all else, such as the base rate.

    def mean_from_mode(self, point: Floats, covariance: Floats) -> Floats:
        """Return a posterior's mean minus its mode, to the first order beyond Laplace."""
        # -S sum_i x_i c_i (x_i' S x_i) / 2, with c_i the third derivatives of minus the log
        # likelihood in log-odds and S the covariance.
        chance = special.expit(self.offset + self.columns @ point)
        third = self.weight * chance * (1.0 - chance) * (1.0 - 2.0 * chance)
        variance = np.einsum("ij,ij->i", self.columns @ covariance, self.columns)
        return np.asarray(-0.5 * covariance @ (self.columns.T @ (third * variance)))


@dataclass(frozen=True)
class WeightHyperparameters:
    """Scales of the prior; all positive."""

    bias_scale: float = 0.5  # standard deviation of a problem's bias, natural log-odds
    population_scale: float = 0.15  # the same for the population's weights around their centre
    scale: float = 0.15  # median of tau, and the standard deviation of its logarithm
    log_scale_sd: float = 0.7
    shift_scale: float = 0.1  # the same for kappa
    log_shift_sd: float = 1.0

    def __post_init__(self) -> None:
        check_positive(**{field.name: getattr(self, field.name) for field in fields(self)})

    def scales(self, at: Floats) -> Scales:
        """Return the scales at a point."""
        medians, sds = (self.scale, self.shift_scale), (self.log_scale_sd, self.log_shift_sd)
        z = np.zeros(2)
        z[: at.size] = at
        tau, kappa = (np.array(medians) * np.exp(np.array(sds) * z)).tolist()
        return Scales(tau, kappa, -0.5 * float(at @ at))


@dataclass(frozen=True)
class Scales:
    """The scales of a model."""

    # standard deviations of weights around the population, and of indicators' coefficients
    tau: float
    kappa: float
    log_mass: float  # log of their prior density, up to a constant

    @property
    def logs(self) -> Floats:
        """Return log tau and log kappa."""
        return np.log([self.tau, self.kappa])


def centre_of_weights(
    log_scores: Floats, weight: Floats, rng: np.random.Generator, *, rounds: int = 400
) -> Floats:
    """Return weights of sum one, larger for classifiers that are probably best (pseudo-BMA+)."""
    total = np.zeros(len(log_scores))
    for _ in range(rounds):
        share = rng.standard_exponential(weight.size) * weight
        share *= weight.sum() / share.sum()
        each = log_scores @ share
        each = np.exp(each - each.max())
        total += each / each.sum()
    return np.asarray(total / total.sum())


# Newton decrement: about twice the error of the log density.
SMALLEST_DECREMENT = 1e-6
LOG_TWO_PI = math.log(2.0 * math.pi)


@dataclass(frozen=True)
class WeightsPopulation:
    """The model of all problems, given the scales."""

    designs: Sequence[Design]  # of each problem; the same classifiers in all
    centre: Floats  # prior mean of the population's weights, (m,)
    prior: WeightHyperparameters
    scales: Scales

    def precision(self, k: int) -> Floats:
        """Return the prior precision of each coefficient of problem k, given mu."""
        m, design = self.centre.size, self.designs[k]
        sd = np.r_[
            self.prior.bias_scale,
            np.full(m, self.scales.tau),
            np.full(design.size - m - 1, self.scales.kappa),
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
    """The joint mode, and the Gaussian approximation there."""

    model: WeightsPopulation
    mu: Floats  # the population's weights, (m,)
    points: list[Floats]  # coefficients of each problem, (d_k,)
    # minus the second derivative in each problem's own coefficients, (d_k, d_k)
    hessians: list[Floats]
    pulls: list[Floats]  # derivatives of each problem's mode by mu, (d_k, m)
    covariance: Floats  # of mu, (m, m)
    log_evidence: float  # Laplace's approximation of log p(labels | scales)

    def beyond_laplace(self, k: int, points: Floats) -> Floats:
        """Return log likelihoods of problem k less their second-order expansion at the mode."""
        design, at = self.model.designs[k], self.points[k]
        away, information = points - at, self.hessians[k] - np.diag(self.model.precision(k))
        expansion = away @ design.gradient(at) - 0.5 * np.einsum(
            "ij,jk,ik->i", away, information, away, optimize=True
        )
        level = float(design.log_likelihood(at[None])[0])
        return np.asarray(design.log_likelihood(points) - level - expansion)


def find_mode(
    model: WeightsPopulation, start: tuple[Floats, Sequence[Floats]] | None = None
) -> JointMode:
    """Return the joint mode; `start` holds mu and the coefficients of each problem."""
    mu = model.centre if start is None else start[0]
    points = [model.mean(k, mu) for k in range(len(model.designs))] if start is None else start[1]
    ends = np.cumsum([mu.size, *(point.size for point in points)])
    hessians: list[Floats] = []

    def parts(joint: Floats) -> tuple[Floats, list[Floats]]:
        first, *others = np.split(joint, ends[:-1])
        return first, others

    def newton(joint: Floats) -> tuple[Floats, float]:
        nonlocal hessians
        gradients, hessians = _derivatives(model, *parts(joint))
        pulls, schur = _eliminate(model, hessians)
        own = [np.linalg.solve(h, g) for h, g in zip(hessians, gradients[1:], strict=True)]
        towards = sum(pull.T @ g for pull, g in zip(pulls, gradients[1:], strict=True))
        step = np.linalg.solve(schur, gradients[0] + towards)
        steps = [each + pull @ step for each, pull in zip(own, pulls, strict=True)]
        decrement = float(gradients[0] @ step) + sum(
            float(g @ each) for g, each in zip(gradients[1:], steps, strict=True)
        )
        return np.asarray(np.concatenate([step, *steps]), dtype=np.float64), decrement

    joint = climb(
        np.concatenate([mu, *points]),
        lambda joint: model.value(*parts(joint)),
        newton,
        tolerance=SMALLEST_DECREMENT,
    )
    return _touching(model, *parts(joint), hessians)


def _derivatives(
    model: WeightsPopulation, mu: Floats, points: Sequence[Floats]
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


def _eliminate(model: WeightsPopulation, hessians: Sequence[Floats]) -> tuple[list[Floats], Floats]:
    """Return the derivatives of each problem's mode by mu, and the Schur complement of mu."""
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
    model: WeightsPopulation, mu: Floats, points: list[Floats], hessians: list[Floats]
) -> JointMode:
    pulls, schur = _eliminate(model, hessians)
    size = mu.size + sum(point.size for point in points)
    volume = sum(float(np.linalg.slogdet(h)[1]) for h in (*hessians, schur))
    log_evidence = model.value(mu, points) + 0.5 * size * LOG_TWO_PI - 0.5 * volume
    covariance = np.asarray(np.linalg.inv(schur), dtype=np.float64)
    return JointMode(model, mu, points, hessians, pulls, covariance, log_evidence)

r"""Hierarchical logistic regression: each task's weights of the inputs around a population's.

    log-odds(x) = a_k + w_k . z(x)         z, the inputs normalised within task k
    w_ki   ~ Normal(mu_i, tau)             weights of task k around the population's
    a_k    = b_k + a'_k                    b_k ~ Normal(0, 2), a'_k ~ Normal(mu_0, tau)
    mu     ~ Normal(0, 2)                  what tasks have in common
    tau    ~ LogNormal(log 0.3, 0.6)       how far they differ, on a grid

It is the model of `engines.classifier_weights`, in which all inputs have a population and so has
the intercept. Its likelihood given the scales is approximated by Laplace, and each task's draws are
then weighed by its own labels' likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bayescal.combining.tasks import metaclassifier as learning
from bayescal.fitting.engines.classifier_weights.engine import GridModes, fit_modes
from bayescal.fitting.engines.classifier_weights.model import (
    Design,
    JointMode,
    WeightsPrior,
    find_mode,
)
from bayescal.fitting.engines.importance import weighted
from bayescal.support.parallel import one_blas_thread
from bayescal.support.validation import Floats, Integers

if TYPE_CHECKING:
    import pandas as pd

# In units of inputs with standard deviation 1.
PRIOR = WeightsPrior(bias_scale=2.0, population_scale=2.0, scale=0.3, log_scale_sd=0.6)
DRAWS = 1000


@dataclass(frozen=True)
class WeightsModel(learning.TaskModel):
    """Coefficients of each task: the intercept, and a weight for each input."""

    # (tasks + 1, 1 + columns): modes, averaged over tau; the last row is the population's
    points: Floats = field(repr=False)
    nodes: GridModes = field(repr=False)  # modes over the grid of tau
    seed: int  # of the draws

    @cached_property
    @one_blas_thread()
    def of_population(self) -> tuple[Integers, Floats, Floats]:
        """Return draws of each node, in its order: how many, of mu, and of tau."""
        rng = np.random.default_rng(self.seed)
        sizes = rng.multinomial(DRAWS, self.nodes.share)
        mu = [
            rng.multivariate_normal(mode.mu, mode.covariance, size, method="cholesky")
            for mode, size in zip(self.nodes.modes, sizes, strict=True)
        ]
        tau = np.repeat([mode.model.scales.tau for mode in self.nodes.modes], sizes)
        return sizes, np.concatenate(mu), tau

    def of_task(self, task: int) -> Floats:
        """Return posterior draws of a task's coefficients, shape (draws, 1 + columns)."""
        rng = np.random.default_rng([self.seed, task % len(self.points)])
        sizes, mu, tau = self.of_population
        if task != learning.POPULATION:
            return _draws_of_task(self.nodes, task, mu, sizes, rng)
        # A task that nothing is known of is a draw from the population.
        out = mu + tau[:, None] * rng.standard_normal(mu.shape)
        bias_scale = self.nodes.likeliest.model.prior.bias_scale
        out[:, 0] += bias_scale * rng.standard_normal(len(out))
        return np.asarray(out)

    def log_odds(self, columns: Floats, task: Integers) -> Floats:
        """Return log-odds by the modes."""
        own = self.points[task]
        return np.asarray(own[:, 0] + np.einsum("ij,ij->i", columns, own[:, 1:]))

    @one_blas_thread()
    def sample(self, columns: Floats, task: Integers) -> Floats:
        """Return log-odds of the draws."""
        out = np.empty((DRAWS, len(columns)))
        for each in np.unique(task).tolist():
            rows, own = task == each, self.of_task(each)
            out[:, rows] = own[:, :1] + own[:, 1:] @ columns[rows].T
        return out

    def population(self, names: list[str], level: float) -> pd.DataFrame:
        """Return a row for each input and for tau: posterior mean and interval."""
        import pandas as pd

        tails = [0.5 - level / 2.0, 0.5 + level / 2.0]
        _, mu, tau = self.of_population
        draws = np.column_stack([mu, tau])
        lower, upper = np.quantile(draws, tails, axis=0)
        values = {"mean": draws.mean(axis=0), "lower": lower, "upper": upper}
        index = pd.Index(["intercept", *names, "tau"], name="coefficient")
        return pd.DataFrame(values, index=index)


@dataclass(frozen=True)
class TaskWeights(learning.Metaclassifier):
    """Hierarchical logistic regression."""

    # Its scales; those of indicators are not used, for all inputs have a population
    prior: WeightsPrior = PRIOR

    @one_blas_thread()
    def fit(self, data: learning.TaskData, rng: np.random.Generator) -> learning.TaskModel:
        """Return the posterior of all tasks' coefficients."""
        centre = np.zeros(data.columns.shape[1] + 1)
        nodes = fit_modes(_designs(data), centre, self.prior)
        population = nodes.share @ np.array([mode.mu for mode in nodes.modes])
        points = np.vstack([_joined(np.array(nodes.points)), population])
        return WeightsModel(points, nodes, int(rng.integers(2**31)))

    @one_blas_thread()
    def held_out(
        self,
        data: learning.TaskData,
        fold: Integers,
        model: learning.TaskModel,
        rng: np.random.Generator,
    ) -> Floats:
        """Return log-odds by modes of the other folds, at the scale that is likeliest of all."""
        if not isinstance(model, WeightsModel):
            raise TypeError(f"model must be of weights, got {type(model).__name__}.")
        best, out = model.nodes.likeliest, np.empty(data.positive.size)
        for held in np.unique(fold):
            rows = fold == held
            designs = _designs(data.take(~rows))
            mode = find_mode(replace(best.model, designs=designs), (best.mu, best.points))
            points = _joined(np.array(mode.points))[data.task[rows]]
            out[rows] = points[:, 0] + np.einsum("ij,ij->i", data.columns[rows], points[:, 1:])
        return out


def _designs(data: learning.TaskData) -> list[Design]:
    """Return the documents of each task; of both columns of ones, one has a population."""
    out = []
    for k in range(data.tasks):
        own = data.task == k
        ones = np.ones((int(own.sum()), 2))
        columns = np.hstack([ones, data.columns[own]])
        out.append(Design(columns, 0.0, data.positive[own], np.ones(len(columns))))
    return out


def _joined(points: Floats) -> Floats:
    """Return coefficients with one intercept, the sum of both."""
    out = points[..., 1:].copy()
    out[..., 0] += points[..., 0]
    return out


def _draws_of_task(
    nodes: GridModes, k: int, mu: Floats, sizes: Integers, rng: np.random.Generator
) -> Floats:
    """Return draws of a task's coefficients, by Laplace and then weighed by its labels."""
    ends = np.cumsum(sizes)
    parts = [
        _laplace(mode, k, mu[end - size : end], rng)
        for mode, size, end in zip(nodes.modes, sizes, ends, strict=True)
        if size
    ]
    points, log_ratio = (np.concatenate(each) for each in zip(*parts, strict=True))
    return _joined(weighted(points, log_ratio).resample(len(points), rng))


def _laplace(
    mode: JointMode, k: int, mu: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return Gaussian draws given mu, and the log likelihood less its expansion at the mode."""
    design, at, hessian = mode.model.designs[k], mode.points[k], mode.hessians[k]
    root = np.linalg.cholesky(np.linalg.inv(hessian))
    away = (mu - mode.mu) @ mode.pulls[k].T
    away = away + rng.standard_normal((len(mu), at.size)) @ root.T
    information = hessian - np.diag(mode.model.precision(k))
    expansion = away @ design.gradient(at) - 0.5 * np.einsum(
        "ij,jk,ik->i", away, information, away, optimize=True
    )
    level = float(design.log_likelihood(at[None])[0])
    return at + away, design.log_likelihood(at + away) - level - expansion

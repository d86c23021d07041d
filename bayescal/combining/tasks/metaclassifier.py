"""Documents of many tasks, the base class that learns from them together, and weights of tasks.

Inputs are normalised within each task: classifiers trained on few documents have scores on another
scale than classifiers trained on many (Bennett's dissertation, section 8.2.2).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.combining.combination_problem import table_of
from bayescal.combining.nested import WithinRange, check_spreads
from bayescal.fitting.engines.classifier_weights import model as weights_model
from bayescal.fitting.engines.classifier_weights.engine import GridModes, draw_population, fit_modes
from bayescal.fitting.results.diagnostics import ConvergenceWarning
from bayescal.inference.importance import weighted
from bayescal.inference.newton import root_of_inverse
from bayescal.support.labels import read_groups
from bayescal.support.numerics import one_blas_thread
from bayescal.support.validation import Floats, Integers, warn_user

if TYPE_CHECKING:
    import pandas as pd


POPULATION = -1  # number of added tasks: the last row of tables of tasks


@dataclass(frozen=True)
class TaskData:
    """Labelled documents of many tasks."""

    columns: Floats  # (n, columns): normalised within each task
    positive: NDArray[np.bool_]  # (n,)
    task: Integers  # (n,): 0, 1, ...
    tasks: int  # number of tasks

    def take(self, rows: NDArray[np.bool_]) -> TaskData:
        """Return some of the documents; the tasks keep their numbers."""
        return TaskData(self.columns[rows], self.positive[rows], self.task[rows], self.tasks)


def check_folds(cv: Any) -> None:
    """Raise ValueError unless a number of folds is a whole number from 2 on."""
    if isinstance(cv, bool) or not isinstance(cv, int | np.integer) or cv < 2:
        raise ValueError(f"cv must be a whole number of folds, at least 2, got {cv!r}.")


def deal_folds(
    task: Integers, positive: NDArray[np.bool_], folds: int, rng: np.random.Generator
) -> Integers:
    """Return a fold for each document, so that every task and class is spread over all of them."""
    order = np.lexsort((rng.random(task.size), positive, task))
    fold = np.empty(task.size, dtype=np.intp)
    fold[order] = np.arange(task.size) % folds
    return fold


def read_task_names(task: ArrayLike, n: int) -> tuple[NDArray[np.generic], Integers]:
    """Return the names of all tasks in sorted order, and the number of each document's task."""
    names, code = read_groups(task, "task", "task", n, "X")
    return (np.array(names.tolist()) if names.dtype == object else names), code


def check_both_classes(
    names: NDArray[np.generic], task: Integers, positive: NDArray[np.bool_]
) -> None:
    """Raise ValueError unless every task has documents of both classes."""
    counts = np.bincount(task, minlength=names.size)
    positives = np.bincount(task[positive], minlength=names.size)
    wrong = np.flatnonzero((positives == 0) | (positives == counts))
    if wrong.size:
        shown = ", ".join(repr(name) for name in names[wrong[:4]].tolist())
        more = ", ..." if wrong.size > 4 else ""
        raise ValueError(
            "every task must have documents of both classes, got one class only in"
            f" {shown}{more}: leave such tasks out of fit, and give their documents without labels"
            " to add_tasks."
        )


@dataclass(frozen=True)
class KnownTasks:
    """Tasks with the scale of their inputs."""

    names: list[Any]  # fitted tasks, then tasks added without labels
    scales: list[WithinRange]  # one a task
    fitted: int  # number of fitted tasks

    @classmethod
    def of(cls, columns: Floats, names: NDArray[np.generic], task: Integers) -> KnownTasks:
        """Return tasks to fit, from their documents and the number of each one's task."""
        return cls(names.tolist(), scales_of(columns, task, names.size), names.size)

    def with_added(self, columns: Floats, task: ArrayLike) -> KnownTasks:
        """Return these tasks and others, from documents without labels."""
        names, code = read_task_names(task, len(columns))
        if known := sorted(set(names.tolist()) & set(self.names)):
            raise ValueError(f"tasks {', '.join(map(repr, known))} are there already.")
        single = names[np.bincount(code) < 2]
        if single.size:
            raise ValueError(
                "every task must have several documents, for the mean and the spread of its inputs,"
                f" got a single one of {single.tolist()[0]!r}."
            )
        added = scales_of(columns, code, names.size)
        return KnownTasks([*self.names, *names.tolist()], [*self.scales, *added], self.fitted)

    def read(self, columns: Floats, task: ArrayLike) -> tuple[Floats, Integers]:
        """Return normalised inputs and task numbers, `POPULATION` for added tasks."""
        names, code = read_task_names(task, len(columns))
        position = {name: k for k, name in enumerate(self.names)}
        if unknown := [name for name in names.tolist() if name not in position]:
            raise ValueError(
                f"task must name fitted tasks, got {unknown[0]!r}: give its documents, which need"
                " no labels, to add_tasks first."
            )
        row = np.array([position[name] for name in names.tolist()], dtype=np.intp)[code]
        number = np.where(row < self.fitted, row, POPULATION)
        return normalised(columns, row, self.scales), number


def scales_of(columns: Floats, task: Integers, tasks: int) -> list[WithinRange]:
    """Return the scale of every task."""
    own = [columns[rows] for rows in _rows_by_task(task, tasks)]
    for each in own:
        check_spreads("X of a task", each)
    return [WithinRange.of(each) for each in own]


def normalised(columns: Floats, task: Integers, scales: Sequence[WithinRange]) -> Floats:
    """Return columns less their mean, over their standard deviation, both within the task."""
    out = np.empty(columns.shape)
    for scale, rows in zip(scales, _rows_by_task(task, len(scales)), strict=True):
        out[rows] = scale.apply(columns[rows])
    return out


def _rows_by_task(task: Integers, tasks: int) -> list[Integers]:
    order = np.argsort(task, kind="stable")
    ends = np.cumsum(np.bincount(task, minlength=tasks))[:-1]
    return np.split(order, ends)


class TaskModel(ABC):
    """A metaclassifier fitted to all tasks, and specialised to each."""

    @abstractmethod
    def log_odds(self, columns: Floats, task: Integers) -> Floats:
        """Return log-odds of documents, shape (n,)."""

    @abstractmethod
    def sample(self, columns: Floats, task: Integers) -> Floats:
        """Return log-odds of posterior draws, shape (draws, n)."""

    @abstractmethod
    def population(self, names: list[str], level: float) -> pd.DataFrame:
        """Return the posterior of the tasks' population; names are the columns'."""


class Metaclassifier(ABC):
    """A way to learn from documents of many tasks."""

    @abstractmethod
    def fit(self, data: TaskData, rng: np.random.Generator) -> TaskModel:
        """Return the model of all tasks."""

    def held_out(
        self, data: TaskData, fold: Integers, model: TaskModel, rng: np.random.Generator
    ) -> Floats:
        """Return log-odds of the documents fitted, by models of the other folds."""
        out = np.empty(data.positive.size)
        for held in np.unique(fold):
            rows = fold == held
            others = data.take(~rows)
            if others.positive.all() or not others.positive.any():
                raise ValueError(
                    "y must have at least two documents of each class over all tasks: thresholds"
                    " are learnt from documents held out, by models of the others."
                )
            without = self.fit(others, rng)
            out[rows] = without.log_odds(data.columns[rows], data.task[rows])
        return out


# Hierarchical logistic regression: each task's weights of the inputs around a population's.
#
#     log-odds(x) = a_k + w_k . z(x)         z, the inputs normalised within task k
#     w_ki   ~ Normal(mu_i, tau)             weights of task k around the population's
#     a_k    = b_k + a'_k                    b_k ~ Normal(0, 2), a'_k ~ Normal(mu_0, tau)
#     mu     ~ Normal(0, 2)                  population mean
#     tau    ~ LogNormal(log 0.3, 0.6)       standard deviation of tasks, on a grid
#
# It is the model of `engines.classifier_weights`, with a population of all inputs and of the
# intercept. Its likelihood given the scales is approximated by Laplace; each task's draws are then
# weighted by its own labels' likelihood. Inputs have standard deviation 1.

PRIOR = weights_model.WeightHyperparameters(
    bias_scale=2.0, population_scale=2.0, scale=0.3, log_scale_sd=0.6
)
DRAWS = 1000


@dataclass(frozen=True)
class WeightsModel(TaskModel):
    """Coefficients of each task: the intercept, and a weight for each input."""

    # (tasks + 1, 1 + columns): modes, averaged over tau; the last row is the population's
    points: Floats = field(repr=False)
    nodes: GridModes = field(repr=False)  # over the grid of tau
    seed: int

    @cached_property
    @one_blas_thread()
    def of_population(self) -> list[tuple[weights_model.JointMode, Floats]]:
        """Return draws of mu by the modes of their tau."""
        return draw_population(self.nodes, DRAWS, np.random.default_rng(self.seed))

    @property
    def mu_and_tau(self) -> tuple[Floats, Floats]:
        """Return draws of mu, (draws, 1 + columns), and of tau, (draws,)."""
        tau = [np.full(len(mu), mode.model.scales.tau) for mode, mu in self.of_population]
        return np.concatenate([mu for _, mu in self.of_population]), np.concatenate(tau)

    def of_task(self, task: int) -> Floats:
        """Return posterior draws of a task's coefficients, shape (draws, 1 + columns)."""
        rng = np.random.default_rng([self.seed, task % len(self.points)])
        if task != POPULATION:
            return _draws_of_task(self.of_population, task, rng)
        mu, tau = self.mu_and_tau
        # A task without labels is a draw from the population.
        out = mu + tau[:, None] * rng.standard_normal(mu.shape)
        bias_scale = self.nodes.likeliest.model.prior.bias_scale
        out[:, 0] += bias_scale * rng.standard_normal(len(out))
        return np.asarray(out)

    def log_odds(self, columns: Floats, task: Integers) -> Floats:
        """Return log-odds by the coefficients' modes."""
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
        mu, tau = self.mu_and_tau
        return table_of(np.column_stack([mu, tau]), ["intercept", *names, "tau"], level)


@dataclass(frozen=True)
class TaskWeights(Metaclassifier):
    """Hierarchical logistic regression."""

    prior: weights_model.WeightHyperparameters = PRIOR

    @one_blas_thread()
    def fit(self, data: TaskData, rng: np.random.Generator) -> TaskModel:
        """Return the posterior of all tasks' coefficients."""
        centre = np.zeros(data.columns.shape[1] + 1)
        nodes = fit_modes(_designs(data), centre, self.prior)
        population = nodes.share @ np.array([mode.mu for mode in nodes.modes])
        points = np.vstack([_joined(np.array(nodes.points)), population])
        return WeightsModel(points, nodes, int(rng.integers(2**31)))

    @one_blas_thread()
    def held_out(
        self, data: TaskData, fold: Integers, model: TaskModel, rng: np.random.Generator
    ) -> Floats:
        """Return log-odds by modes of the other folds, at the likeliest scale of all documents."""
        if not isinstance(model, WeightsModel):
            raise TypeError(f"model must be of weights, got {type(model).__name__}.")
        best, out = model.nodes.likeliest, np.empty(data.positive.size)
        for held in np.unique(fold):
            rows = fold == held
            designs = _designs(data.take(~rows))
            mode = weights_model.find_mode(
                replace(best.model, designs=designs), (best.mu, best.points)
            )
            points = _joined(np.array(mode.points))[data.task[rows]]
            out[rows] = points[:, 0] + np.einsum("ij,ij->i", data.columns[rows], points[:, 1:])
        return out


def _designs(data: TaskData) -> list[weights_model.Design]:
    """Return the design of each task, with one intercept of its own and one of the population."""
    out = []
    for k in range(data.tasks):
        own = data.task == k
        ones = np.ones((int(own.sum()), 2))
        columns = np.hstack([ones, data.columns[own]])
        out.append(weights_model.Design(columns, 0.0, data.positive[own], np.ones(len(columns))))
    return out


def _joined(points: Floats) -> Floats:
    """Return coefficients with one intercept, the sum of both."""
    out = points[..., 1:].copy()
    out[..., 0] += points[..., 0]
    return out


def _draws_of_task(
    population: Sequence[tuple[weights_model.JointMode, Floats]], k: int, rng: np.random.Generator
) -> Floats:
    """Return Laplace draws of a task's coefficients, resampled by the likelihood of its labels."""
    parts = []
    for mode, mu in population:
        at = mode.points[k] + (mu - mode.mu) @ mode.pulls[k].T
        noise = rng.standard_normal(at.shape) @ root_of_inverse(mode.hessians[k]).T
        parts.append((at + noise, mode.beyond_laplace(k, at + noise)))
    draws = weighted(*(np.concatenate(each) for each in zip(*parts, strict=True)))
    if not draws.trusted:
        warn_user(
            f"the posterior draws of a task's weights are uneven (Pareto k {draws.pareto_k:.2f}):"
            " its intervals are unreliable; give the task more documents, or fewer inputs.",
            ConvergenceWarning,
        )
    return _joined(draws.resample(len(draws.points), rng))

"""Point estimates: maximum likelihood of both classes, and the posterior mode of a program.

The mode is found from several starts that do not use the closed form. Laplace likelihoods have a
kink in theta at every score. Optimisers that insist on the strong Wolfe conditions, as SciPy's do,
stop at the first one; BFGS with the weak conditions does not (A. S. Lewis, M. L. Overton, Nonsmooth
optimization via quasi-Newton methods, Math. Prog. 2013).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.families import (
    FAMILIES,
    Family,
    FamilyFit,
    ScaleFloor,
    ScaleFloorOption,
    automatic_floor,
)
from bayescal.fitting.engines.program_functions import compiled
from bayescal.fitting.scores import BinaryScores
from bayescal.support.numerics import class_prior, log_odds
from bayescal.support.validation import Floats


@dataclass(frozen=True)
class ClassFits:
    """Maximum-likelihood fits of both classes."""

    family: Family
    negative: FamilyFit
    positive: FamilyFit
    prior: float  # smoothed share of positives, (n_+ + 1)/(n + 2)

    def log_odds(self, scores: Floats) -> Floats:
        """Return logit(prior) + log p(s|+) - log p(s|-) at raw scores."""
        negative, positive = self.log_densities(scores)
        return log_odds(self.prior, positive, negative)

    def log_densities(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return log p(s|-) and log p(s|+) at raw scores."""
        return (
            self.family.logpdf(scores, *self.negative.parameters.values()),
            self.family.logpdf(scores, *self.positive.parameters.values()),
        )


def fit_classes(
    family: Family,
    data: BinaryScores,
    *,
    candidates: str = "exact",
    scale_floor: ScaleFloorOption = "auto",
) -> ClassFits:
    """Fit both classes by maximum likelihood."""

    def fit(positive: bool) -> FamilyFit:
        floor = scale_floor
        if scale_floor == "auto":
            floor = automatic_floor(data.own_units[1], data.total(positive))
        return family.fit(*data.of_class(positive), candidates=candidates, scale_floor=floor)

    positives, negatives = data.rate_counts
    prior = class_prior(positives, positives + negatives)
    return ClassFits(family, fit(False), fit(True), prior)


def without_densities(data: BinaryScores) -> ClassFits:
    """Return fits with parameters of nan, for scores without densities."""
    family = FAMILIES["laplace"]
    unknown = dict.fromkeys(family.parameters, math.nan)
    negative, positive = (
        FamilyFit(unknown, math.nan, data.total(klass), ScaleFloor("off", 0.0, ()))
        for klass in (False, True)
    )
    return ClassFits(family, negative, positive, class_prior(data.total(True), data.total()))


# Values and gradients of an objective at points, (points, parameters).
Objective = Callable[[Floats], tuple[Floats, Floats]]
# A search: yields points, and receives the value and the gradient at each.
Search = Generator[Floats, tuple[float, Floats], "Result"]
Result = tuple[Floats, float, bool]

SUFFICIENT_DECREASE, CURVATURE = 1e-4, 0.5
LINE_STEPS = 60
# Smaller relative gains are rounding errors.
ROUNDING = 1e-14
SMALL_STEPS = 8  # steps in a row without progress that end the search


def minimise_from(
    objective: Objective, starts: Floats, *, tolerance: float = 1e-12, iterations: int = 1000
) -> list[Result]:
    """Return a local minimum of a function with kinks, its value and convergence, per start."""
    results: dict[int, Result] = {}
    searches = [_search(start, tolerance, iterations) for start in starts]
    points = {k: next(search) for k, search in enumerate(searches)}
    # For a likelihood without maximum the Hessian overflows and the line search fails, which ends
    # the search.
    with np.errstate(over="ignore", invalid="ignore"):
        while points:
            values, gradients = objective(np.stack(list(points.values())))
            for row, k in enumerate(list(points)):
                try:
                    points[k] = searches[k].send((float(values[row]), gradients[row]))
                except StopIteration as end:
                    results[k] = end.value
                    del points[k]
    return [results[k] for k in range(len(searches))]


def _search(start: Floats, tolerance: float, iterations: int) -> Search:
    point, inverse_hessian = start, np.eye(start.size)
    value, gradient = yield point
    idle = 0
    for iteration in range(iterations):
        direction = -inverse_hessian @ gradient
        if gradient @ direction >= 0.0:
            inverse_hessian, direction = np.eye(start.size), -gradient
        step = 1.0 if iteration else 1.0 / max(1.0, float(np.linalg.norm(gradient)))
        accepted = yield from _line_search(point, value, gradient, direction, step)
        if accepted is None:
            return point, value, True
        new_point, new_value, new_gradient = accepted
        inverse_hessian = _update(
            inverse_hessian, new_point - point, new_gradient - gradient, first=iteration == 0
        )
        idle = idle + 1 if value - new_value <= tolerance * (1.0 + abs(new_value)) else 0
        point, value, gradient = new_point, new_value, new_gradient
        if idle == SMALL_STEPS:
            return point, value, True
    return point, value, False


def _line_search(
    point: Floats, value: float, gradient: Floats, direction: Floats, step: float
) -> Generator[Floats, tuple[float, Floats], tuple[Floats, float, Floats] | None]:
    slope = float(gradient @ direction)
    low, high, best = 0.0, np.inf, None
    for _ in range(LINE_STEPS):
        new_point = point + step * direction
        new_value, new_gradient = yield new_point
        if not new_value <= value + SUFFICIENT_DECREASE * step * slope:
            high = step
        elif new_gradient @ direction < CURVATURE * slope:
            low, best = step, (new_point, new_value, new_gradient)
        else:
            return new_point, new_value, new_gradient
        if -slope * (high - low) <= ROUNDING * (1.0 + abs(value)):
            return best
        step = 0.5 * (low + high) if np.isfinite(high) else 2.0 * low
    return best


def _update(inverse_hessian: Floats, step: Floats, change: Floats, *, first: bool) -> Floats:
    curvature = float(step @ change)
    if not curvature > 0.0:
        return inverse_hessian
    if first:
        inverse_hessian = np.eye(step.size) * (curvature / float(change @ change))
    turned = inverse_hessian @ change
    half = (0.5 * (1.0 + change @ turned / curvature)) * step - turned
    outer = np.outer(half, step) / curvature
    return inverse_hessian + outer + outer.T


STARTS = 32
# Starts spread over +-3 units of the unconstrained space: 20-fold in scales, 6 spreads in modes.
START_WIDTH = 3.0
# Grid for scanning each parameter in turn for a way out of a local mode.
SCAN = np.linspace(-START_WIDTH, START_WIDTH, 101)
SCAN_MINIMA = 4
# Modes within this log density of the best one count as the same.
SAME_MODE = 1e-6
ROUGH = 1e-9  # tolerance of the searches; only the best one is refined
AT_ONCE = 128  # points of a block


@dataclass(frozen=True)
class Mode:
    """A posterior mode."""

    values: dict[str, NDArray[Any]]  # values of free and deterministic variables
    log_density: float  # log posterior density, up to the evidence, without Jacobians of transforms
    agreeing_starts: int  # number of starts that reached this mode
    starts: int  # number of searches
    converged: bool  # whether the best search ended before its limit of steps


def find_mode(space: ParameterSpace, rng: np.random.Generator, starts: int = STARTS) -> Mode:
    """Maximise a model's log posterior density over its parameters, as pm.find_MAP defines it."""
    # pm.find_MAP stops at kinks. BFGS with a weak Wolfe line search runs from scattered starts;
    # modes are recombined class by class, and scans along each parameter may start further
    # searches.
    points = _starts(space, rng, starts)
    points = points[np.isfinite(space.objective(points)[0])]
    if not points.size:
        raise ValueError(
            "the model's log density is not finite at any start; check its priors and initvals."
        )
    searched = minimise_from(space.objective, points, tolerance=ROUGH)
    optima = sorted(searched, key=lambda result: result[1])
    best, _, _ = _scan(space, _recombine(space, optima))
    ((point, value, converged),) = minimise_from(space.objective, best[None])
    agreeing = sum(result[1] <= value + SAME_MODE for result in optima)
    return Mode(space.values(point), -value, agreeing, len(optima), converged)


def _starts(space: ParameterSpace, rng: np.random.Generator, starts: int) -> Floats:
    from scipy.stats import qmc

    # A Latin hypercube: every parameter's range is covered evenly, whatever their number.
    sampler = qmc.LatinHypercube(space.size, rng=rng)
    jitter = START_WIDTH * (2.0 * sampler.random(starts) - 1.0)
    jitter[0] = 0.0
    return space.initial + jitter


def _scan(space: ParameterSpace, best: Result) -> Result:
    """Search from minima along each parameter's axis through the best point."""
    while True:
        points = np.tile(best[0], (space.size, SCAN.size, 1))
        for j in range(space.size):
            points[j, :, j] = space.initial[j] + SCAN
        values = space.objective(points.reshape(-1, space.size))[0].reshape(space.size, SCAN.size)
        # Starts include the best point itself.
        starts = [points[j, k] for j in range(space.size) for k in _lowest_minima(values[j])]
        found = min(minimise_from(space.objective, np.stack(starts)), key=lambda each: each[1])
        if not found[1] < best[1] - SAME_MODE:
            return best
        best = found


def _lowest_minima(values: Floats) -> NDArray[np.intp]:
    padded = np.concatenate([[np.inf], values, [np.inf]])
    minima = np.flatnonzero((padded[1:-1] <= padded[:-2]) & (padded[1:-1] < padded[2:]))
    return minima[np.argsort(padded[1:-1][minima])[:SCAN_MINIMA]]


def _recombine(space: ParameterSpace, optima: list[Result]) -> Result:
    best = optima[0]
    points = [
        np.where(members, other[0], best[0]) for other in optima[1:] for members in space.classes
    ]
    if not points:
        return best
    values = space.objective(np.stack(points))[0]
    better = [point for point, value in zip(points, values, strict=True) if value < best[1]]
    if not better:
        return best
    found = min(minimise_from(space.objective, np.stack(better)), key=lambda each: each[1])
    return found if found[1] < best[1] else best


class ParameterSpace:
    """A model's unconstrained space as one vector, and its negative log density."""

    def __init__(self, model: Any, *, flat: bool = False) -> None:
        import pytensor.tensor as pt
        from pymc.blocking import DictToArrayBijection
        from pymc.pytensorf import join_nonshared_inputs
        from pytensor.graph.replace import vectorize_graph

        start = model.initial_point()
        names = [variable.name for variable in model.continuous_value_vars]
        initial = {name: start[name] for name in names}
        raveled = DictToArrayBijection.map(initial)
        self._info = raveled.point_map_info
        self.initial: Floats = np.asarray(raveled.data, dtype=np.float64)
        self.size = self.initial.size
        self.classes = _class_members(model, names, initial)
        # Flat priors leave the likelihood, over the support of the priors.
        likelihood = [*model.observed_RVs, *model.potentials] if flat else None
        (log_density,), vector = join_nonshared_inputs(
            start, [model.logp(vars=likelihood, jacobian=False)], model.continuous_value_vars
        )
        points = pt.matrix("points", shape=(None, self.size))
        values = vectorize_graph(log_density, {vector: points})
        answers = [values, pt.grad(values.sum(), points)]
        self._log_density = compiled([points], answers, checked=False)
        self._variables = [*model.free_RVs, *model.deterministics]
        self._names = [each.name for each in model.value_vars]
        self._values = compiled(model.value_vars, model.replace_rvs_by_values(self._variables))

    def objective(self, points: Floats) -> tuple[Floats, Floats]:
        """Return minus the log density, infinity if undefined, and its gradient."""
        values, gradients = np.empty(len(points)), np.empty(points.shape)
        for part in np.array_split(np.arange(len(points)), 1 + len(points) // AT_ONCE):
            with np.errstate(all="ignore"):  # far out densities underflow
                values[part], gradients[part] = self._log_density(points[part])
        wrong = ~np.isfinite(values) | ~np.isfinite(gradients).all(axis=1)
        values, gradients = np.where(wrong, -np.inf, values), np.where(wrong[:, None], 0, gradients)
        return -values, -gradients

    def values(self, point: Floats) -> dict[str, NDArray[Any]]:
        """Return the model's variables at a point."""
        from pymc.blocking import DictToArrayBijection, RaveledVars

        at = DictToArrayBijection.rmap(RaveledVars(point, self._info))
        arrays = self._values(*(at[name] for name in self._names))
        names = [variable.name for variable in self._variables]
        return {name: np.asarray(array) for name, array in zip(names, arrays, strict=True)}


def _class_members(
    model: Any, names: list[str], initial: dict[str, NDArray[Any]]
) -> list[NDArray[np.bool_]]:
    dims = {
        model.rvs_to_values[rv].name: model.named_vars_to_dims.get(rv.name) for rv in model.free_RVs
    }
    members = []
    for k in range(2):
        parts = []
        for name in names:
            part = np.zeros(np.shape(initial[name]), dtype=bool)
            if tuple(dims[name] or ()) == ("klass",):
                part[k] = True
            parts.append(part.ravel())
        members.append(np.concatenate(parts))
    return members

"""The posterior mode of a program, from several starts that do not use the closed form.

Laplace likelihoods have a kink in theta at every score. Optimisers that insist on the strong Wolfe
conditions, as SciPy's do, stop at the first one; BFGS with the weak conditions does not (A. S.
Lewis, M. L. Overton, Nonsmooth optimization via quasi-Newton methods, Math. Prog. 2013).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.support.validation import Floats

Objective = Callable[[Floats], tuple[float, Floats]]

SUFFICIENT_DECREASE, CURVATURE = 1e-4, 0.5
LINE_STEPS = 60
SMALL_STEPS = 8  # steps in a row without progress that end the search


# A likelihood without a maximum makes the Hessian overflow: the line search then finds nothing, and
# the search ends where it is.
@np.errstate(over="ignore", invalid="ignore")
def minimise(
    objective: Objective, start: Floats, *, tolerance: float = 1e-12, iterations: int = 1000
) -> tuple[Floats, float, bool]:
    """Return a local minimum of a function with kinks, its value, and whether it converged."""
    point, inverse_hessian = start, np.eye(start.size)
    value, gradient = objective(point)
    idle = 0
    for iteration in range(iterations):
        direction = -inverse_hessian @ gradient
        if gradient @ direction >= 0.0:
            inverse_hessian, direction = np.eye(start.size), -gradient
        step = 1.0 if iteration else 1.0 / max(1.0, float(np.linalg.norm(gradient)))
        accepted = _line_search(objective, point, value, gradient, direction, step)
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
    objective: Objective,
    point: Floats,
    value: float,
    gradient: Floats,
    direction: Floats,
    step: float,
) -> tuple[Floats, float, Floats] | None:
    slope = float(gradient @ direction)
    low, high, best = 0.0, np.inf, None
    for _ in range(LINE_STEPS):
        new_point = point + step * direction
        new_value, new_gradient = objective(new_point)
        if not new_value <= value + SUFFICIENT_DECREASE * step * slope:
            high = step
        elif new_gradient @ direction < CURVATURE * slope:
            low, best = step, (new_point, new_value, new_gradient)
        else:
            return new_point, new_value, new_gradient
        step = 0.5 * (low + high) if np.isfinite(high) else 2.0 * low
    return best


def _update(inverse_hessian: Floats, step: Floats, change: Floats, *, first: bool) -> Floats:
    curvature = float(step @ change)
    if not curvature > 0.0:
        return inverse_hessian
    if first:
        inverse_hessian = np.eye(step.size) * (curvature / float(change @ change))
    left = np.eye(step.size) - np.outer(step, change) / curvature
    return left @ inverse_hessian @ left.T + np.outer(step, step) / curvature


STARTS = 32
# Starts spread over +-3 units of the unconstrained space: 20-fold in scales, 6 spreads in modes.
START_WIDTH = 3.0
# Each parameter in turn is scanned so finely for a way out of a local mode.
SCAN = np.linspace(-START_WIDTH, START_WIDTH, 101)
SCAN_MINIMA = 4
# Modes within this log density of the best one count as the same.
SAME_MODE = 1e-6


@dataclass(frozen=True)
class Mode:
    """A posterior mode."""

    # values of the program's free and deterministic variables there
    values: dict[str, NDArray[Any]]
    log_density: float  # log posterior density there, up to the evidence; no Jacobian of transforms
    agreeing_starts: int  # starts, out of `starts`, that ended at this mode on their own
    starts: int  # searches made
    converged: bool  # whether the best search ended before its limit of steps


def find_mode(space: ParameterSpace, rng: np.random.Generator, starts: int = STARTS) -> Mode:
    """
    Maximise a model's log posterior density over its parameters, as pm.find_MAP defines it.

    pm.find_MAP from its default start sticks at the likelihood's kinks: here BFGS with a weak
    Wolfe line search runs from starts scattered around the model's initial point. The modes
    found are recombined class by class, since one search may find the better mode of one class
    and another of the other, and the best one is left where a scan along a parameter shows a
    better place to search from.
    """
    optima = [
        minimise(space.objective, start)
        for start in _starts(space, rng, starts)
        if np.isfinite(space.objective(start)[0])
    ]
    if not optima:
        raise ValueError(
            "the model's log density is not finite at any start; check its priors and initvals."
        )
    optima.sort(key=lambda result: result[1])
    point, value, converged = _scan(space, _recombine(space, optima))
    agreeing = sum(result[1] <= value + SAME_MODE for result in optima)
    return Mode(space.values(point), -value, agreeing, len(optima), converged)


Result = tuple[Floats, float, bool]


def _starts(space: ParameterSpace, rng: np.random.Generator, starts: int) -> Floats:
    from scipy.stats import qmc

    # A Latin hypercube: every parameter's range is covered evenly, whatever their number.
    sampler = qmc.LatinHypercube(space.size, rng=rng)
    jitter = START_WIDTH * (2.0 * sampler.random(starts) - 1.0)
    jitter[0] = 0.0
    return space.initial + jitter


def _scan(space: ParameterSpace, best: Result) -> Result:
    improved = True
    while improved:
        improved = False
        for j in range(space.size):
            points = np.tile(best[0], (SCAN.size, 1))
            points[:, j] = space.initial[j] + SCAN
            for start in points[_lowest_minima([space.objective(p)[0] for p in points])]:
                result = minimise(space.objective, start)
                if result[1] < best[1] - SAME_MODE:
                    best, improved = result, True
    return best


def _lowest_minima(values: list[float]) -> NDArray[np.intp]:
    padded = np.concatenate([[np.inf], values, [np.inf]])
    minima = np.flatnonzero((padded[1:-1] <= padded[:-2]) & (padded[1:-1] < padded[2:]))
    return minima[np.argsort(padded[1:-1][minima])[:SCAN_MINIMA]]


def _recombine(space: ParameterSpace, optima: list[Result]) -> Result:
    best = optima[0]
    for other in optima[1:]:
        for members in space.classes:
            point = np.where(members, other[0], best[0])
            if space.objective(point)[0] < best[1]:
                best = minimise(space.objective, point)
    return best


class ParameterSpace:
    """The unconstrained space of a model as one vector, with its negative log density, compiled."""

    def __init__(self, model: Any) -> None:
        from pymc.blocking import DictToArrayBijection
        from pymc.pytensorf import join_nonshared_inputs

        names = [variable.name for variable in model.continuous_value_vars]
        initial = {name: model.initial_point()[name] for name in names}
        raveled = DictToArrayBijection.map(initial)
        self._info = raveled.point_map_info
        self.initial: Floats = np.asarray(raveled.data, dtype=np.float64)
        self.size = self.initial.size
        self.classes = _class_members(model, names, initial)
        outputs, vector = join_nonshared_inputs(
            model.initial_point(),
            [model.logp(jacobian=False), model.dlogp(jacobian=False)],
            model.continuous_value_vars,
        )
        self._log_density = model.compile_fn(outputs, inputs=[vector], point_fn=False)
        self._variables = [*model.free_RVs, *model.deterministics]
        variables = model.replace_rvs_by_values(self._variables)
        self._values = model.compile_fn(
            variables, inputs=model.value_vars, on_unused_input="ignore"
        )

    def objective(self, point: Floats) -> tuple[float, Floats]:
        """Return minus the log density and its gradient; infinity where it is not defined."""
        value, gradient = self._log_density(point)
        if not np.isfinite(value) or not np.isfinite(gradient).all():
            return np.inf, np.zeros_like(point)
        return -float(value), -np.asarray(gradient, dtype=np.float64)

    def values(self, point: Floats) -> dict[str, NDArray[Any]]:
        """Return the model's variables at a point."""
        from pymc.blocking import DictToArrayBijection, RaveledVars

        arrays = self._values(DictToArrayBijection.rmap(RaveledVars(point, self._info)))
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

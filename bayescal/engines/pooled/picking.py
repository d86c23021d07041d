"""Draws in proportion to weights: of topics one for each of thousands of populations."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bayescal.engines.pooled.weighing import AnyFloats, Singles, in_runs
from bayescal.validation import Floats


def pick_positions(
    terms: Floats, factors: Floats, sums: Singles, rng: np.random.Generator
) -> NDArray[np.intp]:
    """
    Return the position of one draw of a topic for each population.

    It is of a run in proportion to the runs' sums, in which all are weighed again.

    Parameters
    ----------
    terms : array of shape (draws, terms)
        Of a topic's draws.
    factors : array of shape (terms, populations)
        Log weights are terms times factors, up to a constant of each population.
    sums : array of shape (populations, runs)
        Of the topic, see `weighing.sums_of_runs`.
    rng : numpy.random.Generator
        Source of randomness.
    """
    populations, runs = sums.shape
    # Numbers of each population's own: which draw of a run it is does not depend on how a processor
    # rounds the sums, nor does it change with another population.
    of_run, within = rng.random((2, populations))
    run = _in_proportion(np.ascontiguousarray(sums.T), of_run)
    # Populations of the same run one after the other.
    order = np.argsort(run, kind="stable")
    ends = np.cumsum(np.bincount(run, minlength=runs)).tolist()
    draws, columns = in_runs(terms, runs), factors[:, order]
    size = draws.shape[1] // runs
    weight = np.empty((size, populations))
    for k, (start, end) in enumerate(pairwise([0, *ends])):
        some = draws[:, k * size : (k + 1) * size]
        np.matmul(some.T, columns[:, start:end], out=weight[:, start:end])
    weight -= weight.max(axis=0)
    np.exp(weight, out=weight)
    position = np.empty(populations, dtype=np.intp)
    position[order] = run[order] * size + _in_proportion(weight, within[order])
    position -= draws.shape[1] - len(terms)
    return position


def _in_proportion(weight: AnyFloats, uniform: Floats) -> NDArray[np.intp]:
    """Return a position in each column, in proportion to its weights, by a uniform number."""
    target = uniform * weight.sum(axis=0, dtype=np.float64)
    # Row by row, in all columns at once: running sums in memory would take four times as long.
    position, below = np.zeros(target.shape, dtype=np.intp), np.zeros_like(target)
    for row in weight[:-1]:
        below += row
        position += below <= target
    return position

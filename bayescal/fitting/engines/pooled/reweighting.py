"""Weights of topics' draws for thousands of populations, and draws picked by them.

Log weights are products of draws' terms with populations' factors. Their exponentials, the costly
part, are computed once; sums over runs of draws are kept for each topic and population, for the
topics' evidence and for picking draws.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayescal.support.parallel import blocks_of
from bayescal.support.validation import Floats

Singles = NDArray[np.float32]
AnyFloats = Floats | Singles

# Draws in a run: a compromise between the sums to keep and the draws to weigh again.
RUN = 64
BLOCK = 1 << 16  # elements of draws x populations of a block, for a core's cache
# Largest error of log Z in single precision; other populations are weighed in double precision.
MOST_ERROR = 1e-3
# Range of sums of exponentials with all digits in single precision.
SMALLEST_SUM, LARGEST_SUM = 1e-30, 1e30


class DrawWeights(NamedTuple):
    """Weights of one topic's draws for populations."""

    log_evidence: Floats  # log Z, (populations,)
    weight: Singles  # up to a factor for each population, (populations, draws)
    total: Floats  # the sums of weights, (populations,)


def sums_of_runs(terms: Floats, factors: Floats) -> tuple[Floats, Singles]:
    """Return the sum over some topics of log Z at populations, and the sums of runs of weights."""
    common, around, differing, far = split(terms, factors)
    topics, draws, _ = around.shape
    runs = -(-draws // RUN)
    sums = np.empty((topics, len(differing), runs), dtype=np.float32)
    single = _single(differing, far)
    rows = max(1, BLOCK // draws)
    ratio = np.empty((rows, draws + -draws % runs), dtype=np.float32)
    # Exponents are not centred and may overflow or underflow.
    with np.errstate(over="ignore", under="ignore"):
        for of_topic, out in zip(around, sums, strict=True):
            columns = in_runs(of_topic, runs).astype(np.float32)
            for part in blocks_of(rows, len(single)):
                some = single[part]
                product = np.matmul(some, columns, out=ratio[: len(some)])
                out[part] = _sum_runs(np.exp(product, out=product), runs)
        total = sums.sum(axis=2, dtype=np.float64)
    far |= ~_is_sound(total).all(axis=0)
    top, which = np.zeros_like(total), np.flatnonzero(far)
    for t, of_topic in enumerate(around):
        of_runs = in_runs(of_topic, runs)
        for part in blocks_of(rows, which.size):
            mine = which[part]
            weight, top[t, mine] = exponentials(differing[mine] @ of_runs)
            sums[t, mine], total[t, mine] = _sum_runs(weight, runs), weight.sum(axis=1)
    log_evidence: Floats = (common + top + np.log(total / draws)).sum(axis=0)
    return log_evidence, sums


def weigh_draws(terms: Floats, factors: Floats) -> Iterator[DrawWeights]:
    """Yield the weights of each topic's draws for populations, in the memory of one topic."""
    common, around, differing, far = split(terms, factors)
    single, rows = _single(differing, far), max(1, BLOCK // terms.shape[1])
    for log_evidence, of_topic in zip(common, around, strict=True):
        columns = of_topic.T.astype(np.float32)
        weight = np.empty((len(single), len(of_topic)), dtype=np.float32)
        with np.errstate(over="ignore", under="ignore"):
            for part in blocks_of(rows, len(single)):
                np.exp(np.matmul(single[part], columns, out=weight[part]), out=weight[part])
            total = _sum_runs(weight, 1)[:, 0].astype(np.float64)
        top, which = np.zeros_like(total), np.flatnonzero(far | ~_is_sound(total))
        for part in blocks_of(rows, which.size):
            mine = which[part]
            exact, top[mine] = exponentials(differing[mine] @ of_topic.T)
            weight[mine], total[mine] = exact, exact.sum(axis=1)
        yield DrawWeights(log_evidence + top + np.log(total / len(of_topic)), weight, total)


def _single(differing: Floats, far: NDArray[np.bool_]) -> Singles:
    """Return the populations' differences in single precision, 0 for far ones."""
    single = np.where(far[:, None], 0.0, differing).astype(np.float32)
    single[:, -1] = 1.0
    return single


def _is_sound(total: Floats) -> NDArray[np.bool_]:
    return (total >= SMALLEST_SUM) & (total <= LARGEST_SUM)


def in_runs(of_topic: Floats, runs: int) -> Floats:
    """Return draws in columns, padded in front with draws of weight 0 to runs of equal length."""
    draws, terms = of_topic.shape
    more = -draws % runs
    columns = np.zeros((terms, more + draws))
    columns[:, more:] = of_topic.T
    columns[-1, :more] = -np.inf
    return columns


def _sum_runs(weight: AnyFloats, runs: int) -> AnyFloats:
    """Return sums of runs of weights in rows; a product takes a third of the time of `sum`."""
    size = weight.shape[1] // runs
    return (weight.reshape(-1, size) @ np.ones(size, dtype=weight.dtype)).reshape(-1, runs)


def exponentials(log_ratio: AnyFloats) -> tuple[AnyFloats, AnyFloats]:
    """Return exponentials as shares of the largest in each row, in place, and its logarithm."""
    top = log_ratio.max(axis=1)
    log_ratio -= top[:, None]
    return np.exp(log_ratio, out=log_ratio), top


def split(terms: Floats, factors: Floats) -> tuple[Floats, Floats, Floats, NDArray[np.bool_]]:
    """Return the products of terms and factors in two parts: c and a, f with c_tk + a_t f_k."""
    # The second, of differences, is in single precision for half the time: the error in log Z is a
    # millionth of a population's distance from the median one. `far` marks those too distant.
    middle, median = terms.mean(axis=1), np.median(factors, axis=1)
    around = terms - middle[:, None]
    reach = np.abs(around).max(axis=(0, 1))
    of_median = around @ median
    top = of_median.max(axis=1, keepdims=True)
    around = np.concatenate([around, (of_median - top)[..., None]], axis=-1)
    differing = np.vstack([factors - median[:, None], np.ones(factors.shape[1])]).T
    far = np.finfo(np.float32).eps * (np.abs(differing[:, :-1]) @ reach) > MOST_ERROR
    return middle @ factors + top, around, differing, far


def pick_positions(
    terms: Floats, factors: Floats, sums: Singles, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return the position of one draw of a topic for each population: a run, then in it."""
    populations, runs = sums.shape
    # Separate random numbers for each population, and for draws within runs, keep the choice
    # independent of other populations and of the rounding of sums.
    of_run, within = rng.random((2, populations))
    run = _in_proportion(np.ascontiguousarray(sums.T), of_run)
    # Group populations by run.
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
    # Row by row in all columns at once, four times as fast as cumulative sums in memory.
    position, below = np.zeros(target.shape, dtype=np.intp), np.zeros_like(target)
    for row in weight[:-1]:
        below += row
        position += below <= target
    return position

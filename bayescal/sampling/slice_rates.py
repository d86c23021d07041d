r"""Rates of slices of a collection, such as languages, from few labels in each.

One curve of all labels, and for each slice k a deviation of its intercept and of its slope,

    logit P(+ | z, k) = a + b z + sum_j u_j phi_j(z) + a_k + b_k z / 2,    a_k, b_k ~ N(0, sigma^2),

with the curve of `rank_curve`, whose z ranks the whole collection. All sigma of DEVIATIONS are
equally probable before the labels: where slices are alike each borrows from all others, and where
the judge serves one of them ill its own labels decide.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bayescal.inference.design_effect import DesignEffect
from bayescal.sampling.hidden import RankedCollection
from bayescal.sampling.rank_curve import SCALES, columns_of, sample_coefficients
from bayescal.sampling.rate_comparisons import RateRanking, ranking_of
from bayescal.sampling.rates import (
    curve_of,
    draw_rate,
    fit_by_spread,
    rate_of,
    read_labels,
    wilson_limits,
)
from bayescal.support import validation
from bayescal.support.intervals import Interval
from bayescal.support.labels import read_groups
from bayescal.support.validation import Floats

DEVIATIONS = (0.25, 0.5, 1.0, 2.0)  # sigma
MOST_SLICES = 100  # since time grows with the cube of their number
SLOPE = 0.5  # scale of slopes' deviations, in units of sigma


def rates_by_slice(
    scores: ArrayLike,
    labels: ArrayLike,
    slices: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    level: float = 0.9,
    random_state: Any = 0,
) -> RateRanking:
    """Return the rate of each slice of a collection, such as languages or months, and the total.

    Slices borrow from each other: all share a curve P(positive | score), from which each deviates
    as much as the labels of all slices show. A slice without labels has a rate too.

    Parameters
    ----------
    scores : array-like of shape (documents,)
        The judge's scores of the whole collection.
    labels : array-like of shape (documents,)
        Labels as in `estimate_rate`. In each slice the labelled documents must be a simple random
        sample; the share that is labelled may differ between slices.
    slices : array-like of shape (documents,)
        The slice of each document, as text or whole numbers: at most 100 slices; 50 take three
        seconds.
    clusters : array-like of shape (documents,), optional
        Documents that were drawn together, as in `estimate_rate`.
    level : float
        Probability of the intervals.
    random_state : int, Generator, RandomState or None
        Seeds the posterior draws.

    Returns
    -------
    RateRanking
        The rates with simultaneous intervals, ranks, and the total by the slices' numbers of
        documents.

    Raises
    ------
    ValueError
        If there are fewer than two slices or too many, no labels or no documents without one.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> language = np.repeat(["de", "en", "fr", "it"], 500)
    >>> good = rng.random(2_000) < np.repeat([0.6, 0.7, 0.7, 0.8], 500)
    >>> labels = np.where(np.arange(2_000) % 500 < 12, good, np.nan)
    >>> found = rates_by_slice(2.0 * good + rng.normal(size=2_000), labels, language)
    >>> bool(found.total.lower < good.mean() < found.total.upper)
    True
    """
    validation.check_fraction(level=level)
    values, known, cluster = read_labels(scores, labels, clusters)
    names, code = read_groups(slices, "slices", "slice", values.size, "scores")
    if not 2 <= names.size <= MOST_SLICES:
        raise ValueError(
            f"slices must hold 2 to {MOST_SLICES} slices, got {names.size:,}: join small ones."
        )
    rng = validation.generator(random_state)
    labelled, collection = ~np.isnan(known), RankedCollection.even(values)
    curves, spread, useless, effect = _fit(collection, known, code, cluster, rng)
    rates = {}
    for k, (name, p) in enumerate(zip(names.tolist(), curves, strict=True)):
        mine = code == k
        draws = draw_rate(known[mine], collection.count(mine & ~labelled), p, spread, rng)
        curve, own = curve_of(collection, values, p, level), mine & labelled
        alone = wilson_limits(known[own], level, cluster[own]) if own.any() else None
        size = int(np.count_nonzero(mine))
        rates[str(name)] = rate_of(known[mine], size, draws, curve, useless, alone, effect, level)
    joint = np.stack([rate.draws for rate in rates.values()])
    total = np.bincount(code) @ joint / values.size
    whole = Interval.of_draws(total, level, float(np.median(total)))
    return ranking_of(rates, joint, level, rng, whole)


def _fit(
    collection: RankedCollection,
    labels: Floats,
    code: NDArray[np.intp],
    cluster: NDArray[np.intp],
    rng: np.random.Generator,
) -> tuple[Iterator[Floats], float, float, DesignEffect | None]:
    """Return draws of each slice's curve, spread, P(the shared curve is level), design effect."""
    labelled, size, bins = ~np.isnan(labels), int(code.max()) + 1, collection.size.size
    y = labels[labelled]
    cells, row = np.unique(code[labelled] * bins + collection.code[labelled], return_inverse=True)
    own, place = np.eye(size)[cells // bins], cells % bins
    common, steep = columns_of(collection.z), SLOPE * collection.z
    columns = np.column_stack([common[place], own, steep[place, None] * own])
    pairs = product(SCALES, DEVIATIONS)
    scales = np.array([[*curve, *[sigma] * (2 * size)] for curve, sigma in pairs])
    numbers, sums = (np.bincount(row, each).astype(np.float64) for each in (np.ones_like(y), y))

    def fit(power: float) -> tuple[Floats, Floats, Floats]:
        drawn, share = sample_coefficients(columns, scales, numbers, sums, power, rng)
        return special.expit(drawn @ columns.T)[:, row], drawn, share

    drawn, share, spread, effect = fit_by_spread(fit, y, cluster[labelled])
    shared, intercepts, slopes = np.split(drawn, np.cumsum([common.shape[1], size]), axis=1)
    curves = (
        special.expit(shared @ common.T + intercept[:, None] + slope[:, None] * steep)
        for intercept, slope in zip(intercepts.T, slopes.T, strict=True)
    )
    return curves, spread, float(share[: len(DEVIATIONS)].sum()), effect

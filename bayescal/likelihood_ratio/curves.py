"""Curves of a validation: Tippett, PAV, cross-entropy, stated against observed LRs."""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from bayescal.likelihood_ratio.measures import Comparisons, cross_entropy, read_odds
from bayescal.likelihood_ratio.sources import ClassShares, left_out_groups, read_sources
from bayescal.support.intervals import tails
from bayescal.support.validation import Floats, check_count, check_fraction, generator

POINTS = 200  # of curves over log10 LR
PRIORS = np.linspace(-3.0, 3.0, 121)  # log10 prior odds
DRAWS = 4000  # of the shares of a bin
KINDS = (1, 2)
FEWEST_IN_BIN = 5


def tippett(
    compared: Comparisons, sources: Any = None, *, kind: int = 1, level: float = 0.9, rng: Any = 0
) -> xr.Dataset:
    """Return shares of LRs beyond each value by class; kind 2 shows misleading LRs of both."""
    check_fraction(level=level)
    if kind not in KINDS:
        raise ValueError(f"kind must be 1 or 2, got {kind!r}.")
    classes = _classes(compared, sources, rng)
    grid, variables = _grid(compared.log10_lr), {}
    for positive, name in ((True, "positive"), (False, "negative")):
        below = positive and kind == 2
        lr = compared.log10_lr
        beyond = lr < grid[:, None] if below else lr > grid[:, None]
        shares = classes[positive].intervals(beyond, level)
        for end, values in zip(("", "_lower", "_upper"), shares, strict=True):
            variables[f"{name}{end}"] = ("log10_lr", values)
    return xr.Dataset(variables, {"log10_lr": grid}, {"kind": kind, "level": level})


def pav(compared: Comparisons) -> xr.Dataset:
    """Return the log10 LRs of isotonic regression, and how many comparisons have each LR."""
    values, first = np.unique(compared.log10_lr, return_index=True)
    group = np.searchsorted(values, compared.log10_lr)
    counts = [np.bincount(group[compared.positive == k], minlength=values.size) for k in (0, 1)]
    recalibrated = compared.recalibrated.log10_lr[first]
    return xr.Dataset(
        {
            "pav": ("log10_lr", recalibrated),
            "negatives": ("log10_lr", counts[0]),
            "positives": ("log10_lr", counts[1]),
        },
        {"log10_lr": values},
        {"devpav": compared.devpav()},
    )


def cross_entropies(compared: Comparisons, log10_prior_odds: ArrayLike = PRIORS) -> xr.Dataset:
    """Return the empirical cross-entropy by prior: as stated, after PAV, and of LR = 1."""
    odds = read_odds(log10_prior_odds)
    best = compared.recalibrated
    neutral = Comparisons(compared.positive, np.zeros(compared.log10_lr.size), compared.weight)
    variables = {
        name: ("log10_prior_odds", [cross_entropy(each, t) for t in odds.tolist()])
        for name, each in (("stated", compared), ("recalibrated", best), ("neutral", neutral))
    }
    attrs = {"cllr": compared.cllr(), "min_cllr": compared.min_cllr()}
    return xr.Dataset(variables, {"log10_prior_odds": odds}, attrs)


def consistency(
    compared: Comparisons,
    sources: Any = None,
    *,
    bins: int | None = None,
    level: float = 0.9,
    rng: Any = 0,
) -> xr.Dataset:
    """Return stated and observed log10 LRs in bins of equal shares, each class counting half."""
    # The observed LR is the ratio of a bin's shares of all positives and of all negatives.
    check_fraction(level=level)
    classes, random = _classes(compared, sources, rng), generator(rng)
    if bins is None:
        fewest = min(each.sources for each in classes.values())
        bins = int(np.clip(fewest // FEWEST_IN_BIN, 2, 10))
    check_count("bins", bins)
    bin_of = _bins(compared, bins)
    rows = []
    for k in np.unique(bin_of).tolist():
        inside = bin_of == k
        share = {each: classes[each].posterior(inside) for each in (True, False)}
        drawn = np.log10(random.beta(*share[True], DRAWS)) - np.log10(
            random.beta(*share[False], DRAWS)
        )
        middle = [a / (a + b) for a, b in (share[True], share[False])]
        ends = np.quantile(drawn, tails(level))
        weight = compared.share[inside]
        stated = np.average(np.clip(compared.log10_lr[inside], -20.0, 20.0), weights=weight)
        rows.append((stated, np.log10(middle[0] / middle[1]), *ends, int(inside.sum())))
    names = ("stated", "observed", "lower", "upper", "comparisons")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    variables = {name: ("bin", np.array(values)) for name, values in columns.items()}
    return xr.Dataset(variables, attrs={"level": level})


def _classes(compared: Comparisons, sources: Any, rng: Any) -> dict[bool, ClassShares]:
    pairs = None if sources is None else read_sources(sources, compared.positive)
    groups = left_out_groups(pairs, compared.positive.size, generator(rng))
    return {each: ClassShares.of(compared, each, pairs, groups) for each in (True, False)}


def _grid(log10_lr: Floats) -> Floats:
    """Return values from the smallest to the largest finite log10 LR, and a little beyond."""
    finite = log10_lr[np.isfinite(log10_lr)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (-1.0, 1.0)
    margin = 0.02 * (high - low) or 0.1
    return np.linspace(min(low - margin, 0.0), max(high + margin, 0.0), POINTS)


def _bins(compared: Comparisons, bins: int) -> NDArray[np.intp]:
    """Return the bin of each comparison; equal LRs are in one bin."""
    values, group = np.unique(compared.log10_lr, return_inverse=True)
    passed = np.cumsum(np.bincount(group, compared.share, values.size)) / 2.0
    return np.asarray(np.minimum((passed - 1e-9) * bins, bins - 1).astype(np.intp)[group])

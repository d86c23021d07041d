"""Validation of likelihood ratios: out-of-fold LRs, measures with intervals, and a text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bayescal.likelihood_ratio import ratios
from bayescal.likelihood_ratio.bounds import LikelihoodRatioBounds, elub, invariance_bounds
from bayescal.likelihood_ratio.measures import Comparisons, read_comparisons, warn_of_other_units
from bayescal.likelihood_ratio.ratios import LikelihoodRatios
from bayescal.likelihood_ratio.sources import (
    METHOD,
    ClassShares,
    Jackknife,
    SourcePairs,
    jackknife,
    left_out_groups,
    random_folds,
    read_sources,
    some_pairs,
    source_folds,
    warn_of_repeats,
    weights_by_source,
)
from bayescal.support import validation, weighting
from bayescal.support.intervals import Interval, interval_table, percent
from bayescal.support.labels import encode_labels
from bayescal.support.score_checks import warn_if_reversed, without_scores_warnings
from bayescal.support.validation import Floats

if TYPE_CHECKING:
    import pandas as pd

STRONG = 2.0  # log10 LR beyond which a wrong one is strongly misleading
FEWEST = 3  # sources, or comparisons of a class, that an interval needs
MOST_MISLEADING = 0.02  # share of a class whose LRs are the extremes of devPAV
MOST_EXTREME = 0.5  # share of devPAV's range beyond which it depends on them,
LARGE = 1.0  # if it is larger than this: LRs are wrong by a factor of 10 on average


@dataclass(frozen=True)
class LikelihoodRatioValidation:
    """Quality measures of likelihood ratios; made by `validate`.

    Attributes
    ----------
    cllr, min_cllr, cal_cllr, devpav : Interval
        Cllr in bits, and after the best monotone recalibration; their difference; the mean distance
        between stated and recalibrated log10 LRs.
    misleading : dict of str to Interval
        Shares of comparisons by name: "positive", positives with LR < 1; "negative", negatives with
        LR > 1; "strong positive" and "strong negative", with LR < 1/100 and LR > 100.
    bounds : dict of str to LikelihoodRatioBounds
        By `elub` and `invariance_bounds`, as "elub" and "invariance", in log10.
    bounded_cllr : dict of str to float
        Cllr of LRs clipped to these bounds.
    extremes : float
        Share of the log10 LRs over which devPAV averages that only the 2 % most misleading
        comparisons of a class reach. If it is more than a half and devPAV more than 1, devPAV
        has no interval.
    comparisons : tuple of int
        Number of negatives and of positives.
    sources : int or None
        Number of sources, or of clusters.
    level : float
        Probability of the intervals.
    grouped_by : {"sources", "clusters"}
        What `sources` counts.
    """

    cllr: Interval
    min_cllr: Interval
    cal_cllr: Interval
    devpav: Interval
    misleading: dict[str, Interval]
    bounds: dict[str, LikelihoodRatioBounds]
    bounded_cllr: dict[str, float]
    extremes: float
    comparisons: tuple[int, int]
    sources: int | None
    level: float
    grouped_by: str = "sources"

    @cached_property
    def table(self) -> pd.DataFrame:
        """Return all measures with their intervals, one a row."""
        rows = dict(self._intervals())
        for name, bounds in self.bounds.items():
            rows[f"Cllr within {name} bounds"] = Interval(self.bounded_cllr[name])
            rows[f"{name} bound, lower (log10 LR)"] = Interval(bounds.lower)
            rows[f"{name} bound, upper (log10 LR)"] = Interval(bounds.upper)
        return interval_table(rows)

    @property
    def text(self) -> str:
        """Return the validation in sentences."""
        negatives, positives = self.comparisons
        of = "" if self.sources is None else f" of {self.sources:,} {self.grouped_by}"
        lines = [
            f"{positives:,} comparisons of the positive and {negatives:,} of the negative"
            f" proposition{of}; intervals of {percent(self.level)}."
        ]
        lines += [f"{name}: {each:.3f}" for name, each in self._intervals()]
        lines += [self.caveat] if self.caveat else []
        for name, bounds in self.bounds.items():
            ends = " to ".join(map(ratios.shown, bounds))
            lines.append(
                f"{name} bounds: LR {ends}; Cllr within them {self.bounded_cllr[name]:.3f}"
            )
        if not np.isfinite(self.cllr.value):
            lines.append("Cllr is infinite: an LR of 0 or infinity contradicts the truth.")
        if any(np.isnan(each.lower) for _, each in self._intervals()):
            few = self.grouped_by if self.sources is not None else "comparisons"
            lines.append(
                f"A measure has no interval if a class has fewer than {FEWEST} {few}, if it is"
                " infinite, or if no comparison changes it."
            )
        return "\n".join(lines)

    @property
    def caveat(self) -> str:
        """Return a sentence if devPAV depends on few comparisons, else an empty text."""
        if not (self.extremes > MOST_EXTREME and self.devpav.value > LARGE):
            return ""
        return (
            f"devPAV depends on few comparisons and has no interval: only the"
            f" {percent(MOST_MISLEADING)} most misleading LRs of a class reach"
            f" {percent(self.extremes, 0)} of the range of log10 LR over which it averages."
        )

    def _intervals(self) -> Iterable[tuple[str, Interval]]:
        yield "Cllr", self.cllr
        yield "Cllr min", self.min_cllr
        yield "Cllr cal", self.cal_cllr
        yield "devPAV", self.devpav
        for name, words in MISLEADING.items():
            yield words, self.misleading[name]


MISLEADING = {
    "positive": "misleading, positives with LR < 1",
    "negative": "misleading, negatives with LR > 1",
    "strong positive": "strongly misleading, positives with LR < 1/100",
    "strong negative": "strongly misleading, negatives with LR > 100",
}


def validate(
    y_true: ArrayLike,
    log10_lr: ArrayLike,
    *,
    sources: tuple[ArrayLike, ArrayLike] | None = None,
    clusters: ArrayLike | None = None,
    level: float = 0.9,
    rng: Any = None,
) -> LikelihoodRatioValidation:
    """Return measures of likelihood ratios, with intervals that allow for shared sources.

    Intervals come from a jackknife that leaves out one source at a time, with all of its
    comparisons. It estimates the variance of means over pairs of sources (U-statistics), which
    counting pairs as independent underestimates. Intervals of Cllr, its parts and devPAV are those
    of their cube roots by Student's t with Hall's correction for skewness: the upper end is far
    away if few sources cost much. Isotonic regression fits noise, so that Cllr cal and devPAV of
    few comparisons are larger on average than those of many. Shares have the Jeffreys interval of
    as many independent comparisons as have their standard error, or as there are sources if none or
    all are misleading.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True for comparisons of the positive proposition; see `cllr`.
    log10_lr : array-like of shape (n,)
        Held-out base-10 logarithms of LRs, such as by `cross_validated`. A warning is shown if they
        look like natural logarithms or LRs, if comparisons come twice, or if devPAV depends on a
        few of them.
    sources : tuple of two array-likes of shape (n,), optional
        The sources of the two items of each comparison. By default comparisons are independent.
    clusters : array-like of shape (n,), optional
        In place of sources, the one group that each comparison belongs to, such as its case: names
        as text or whole numbers. Clusters take the part of sources.
    level : float
        Probability of the intervals.
    rng : int, Generator, RandomState or None
        Assigns more than 200 sources to 200 groups, which are left out in place of single sources.

    References
    ----------
    J. N. Arvesen, *Jackknifing U-statistics*, Annals of Mathematical Statistics 40, 1969. P. Hall,
    *On the removal of skewness by transformation*, Journal of the Royal Statistical Society B 54,
    1992. E. L. Korn and B. I. Graubard, *Confidence intervals for proportions with small expected
    number of positive counts estimated from survey data*, Survey Methodology 24, 1998.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> same = np.repeat([True, False], 50)
    >>> result = validate(same, np.where(same, 1.0, -1.0) + 0.5 * rng.normal(size=100))
    >>> result.cllr.lower < result.cllr.value < result.cllr.upper
    True
    """
    validation.check_fraction(level=level)
    compared = read_comparisons(y_true, log10_lr)
    warn_of_other_units(compared)
    if sources is not None and clusters is not None:
        raise ValueError(
            "either sources or clusters must be None, got both: give sources if both items of a"
            " comparison have a name, clusters if each comparison has one."
        )
    pairs = None if sources is None else read_sources(sources, compared.positive)
    if pairs is not None:
        warn_of_repeats(pairs, compared.log10_lr)
    if clusters is not None:
        names, code = weighting.read_clusters(clusters, compared.positive.size, "y_true")
        pairs = SourcePairs(code, code, names)
    groups = left_out_groups(pairs, compared.positive.size, validation.generator(rng))
    classes = {each: ClassShares.of(compared, each, pairs, groups) for each in (True, False)}
    measures = _measures(compared, groups, level)
    if min(each.sources for each in classes.values()) < FEWEST:
        measures = {name: _without_ends(each) for name, each in measures.items()}
    bounds = {
        "elub": elub(compared.positive, compared.log10_lr),
        "invariance": invariance_bounds(compared.positive, compared.log10_lr),
    }
    positives, lr = int(compared.positive.sum()), compared.log10_lr
    wrong = {
        "positive": lr < 0.0,
        "negative": lr > 0.0,
        "strong positive": lr < -STRONG,
        "strong negative": lr > STRONG,
    }
    result = LikelihoodRatioValidation(
        **measures,
        misleading={
            k: classes[k.endswith("positive")].interval(w, level) for k, w in wrong.items()
        },
        bounds=bounds,
        bounded_cllr={name: compared.clipped(*each).cllr() for name, each in bounds.items()},
        extremes=_extreme_share(compared) if np.isfinite(measures["devpav"].value) else np.nan,
        comparisons=(compared.positive.size - positives, positives),
        sources=None if pairs is None else pairs.size,
        level=level,
        grouped_by="sources" if clusters is None else "clusters",
    )
    if not result.caveat:
        return result
    validation.warn_user(result.caveat)
    return replace(result, devpav=_without_ends(result.devpav))


def _measures(compared: Comparisons, groups: SourcePairs, level: float) -> dict[str, Interval]:
    """Return Cllr, its parts and devPAV with their intervals."""

    def measure(weight: Floats) -> Floats:
        some = compared.weighted(weight)
        if not all(weight[compared.positive == each].any() for each in (True, False)):
            return np.full(4, np.nan)
        whole, best = some.cllr(), some.min_cllr()
        return np.array([whole, best, whole - best, some.devpav()])

    with np.errstate(invalid="ignore"):
        values = jackknife(groups, measure)
        return {
            name: _interval(Jackknife(values.value[k], values.without[:, k]), level)
            for k, name in enumerate(("cllr", "min_cllr", "cal_cllr", "devpav"))
        }


def _without_ends(interval: Interval) -> Interval:
    return replace(interval, lower=np.nan, upper=np.nan)


def _interval(values: Jackknife, level: float) -> Interval:
    """Return the interval of a measure that is never negative, found for its cube root."""
    roots = Jackknife(np.cbrt(values.value), np.cbrt(values.without))
    lower, upper = (np.maximum(roots.ends(level), 0.0) ** 3).tolist()
    return Interval(float(values.value), lower, upper, level, METHOD, values.without)


def _extreme_share(compared: Comparisons) -> float:
    """Return the share of devPAV's range where only the most misleading LRs of a class lie."""
    # PAV is finite from the smallest LR of a positive to the largest of a negative.
    positive, negative = (compared.log10_lr[compared.positive == each] for each in (True, False))
    low, inner_low = np.quantile(positive, [0.0, MOST_MISLEADING])
    inner_high, high = np.quantile(negative, [1.0 - MOST_MISLEADING, 1.0])
    if high == low:  # the classes share a single LR
        return 0.0
    return float(1.0 - max(inner_high - inner_low, 0.0) / (high - low))


def cross_validated(
    calibrator: Any,
    scores: ArrayLike,
    y: ArrayLike,
    *,
    sources: tuple[ArrayLike, ArrayLike] | None = None,
    folds: int = 10,
    level: float = 0.9,
    support: str | Mapping[float, str] | None = "enfsi",
    rng: Any = None,
    progress: Callable[[int], None] | None = None,
) -> LikelihoodRatios:
    """Return the likelihood ratio of each comparison by a fit without its sources.

    Sources are assigned to folds at random, and a comparison of sources in folds i and j has a
    calibrator fitted, with the weights of `source_weights`, to comparisons without any source of
    either fold: k (k + 1) / 2 fits for k folds. Without sources, comparisons are assigned to folds
    by class.

    Parameters
    ----------
    calibrator : ScoreCalibrator
        Copied and fitted for each fold.
    scores : array-like of shape (n,)
        Scores of comparisons.
    y : array-like of shape (n,)
        Labels of two classes, both left in each fold's fit.
    sources : tuple of two array-likes of shape (n,), optional
        The sources of the two items of each comparison.
    folds : int
        Number of folds; with sources 3 or more.
    level, support
        As in `likelihood_ratios`.
    rng : int, Generator, RandomState or None
        Assigns sources or comparisons to folds.
    progress : callable, optional
        Called with the number of comparisons done after each fit.

    Returns
    -------
    LikelihoodRatios
        In the order of `scores`; `largest` is the narrowest of all fits.

    Examples
    --------
    >>> from bayescal import ScoreCalibrator
    >>> same = np.repeat([True, False], 40)
    >>> scores = 3.0 * same + np.random.default_rng(0).normal(size=80)
    >>> quick = ScoreCalibrator(draws=100, random_state=0)
    >>> ratios = cross_validated(quick, scores, same, folds=2, rng=0)
    >>> validate(same, ratios.log10).cllr.value < 0.6
    True
    """
    from sklearn.base import clone

    values = validation.as_scores(scores)
    classes, positive = encode_labels(y, positive=getattr(calibrator, "positive", None))
    validation.check_same_length("scores", values.size, "y", positive.size)
    warn_if_reversed(values, positive, None, classes.tolist())
    random = validation.generator(rng)
    pairs = None if sources is None else read_sources(sources, positive)
    if pairs is None:
        parts = list(random_folds(positive, folds, random))
    else:
        warn_of_repeats(pairs, values)
        parts = list(source_folds(pairs, folds, random))
    labels = classes[positive.astype(np.intp)]
    tested, rows = [], []
    for fit, test in parts:
        for each, name in ((True, "positive"), (False, "negative")):
            if not (positive[fit] == each).any():
                raise ValueError(
                    f"folds={folds} leaves no {name} comparison to fit in one of the folds: take"
                    " more folds, or more sources."
                )
        weight = None if pairs is None else weights_by_source(positive[fit], some_pairs(pairs, fit))
        # Each fold would repeat the warnings.
        with without_scores_warnings():
            fitted = clone(calibrator).fit(values[fit], labels[fit], sample_weight=weight)
        tested.append(ratios.likelihood_ratios(fitted, values[test], level, support=support))
        rows.append(test)
        if progress is not None:
            progress(test.size)
    return ratios.take_ratios(ratios.join_ratios(tested), np.argsort(np.concatenate(rows)))

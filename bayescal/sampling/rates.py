"""The rate of a collection from few human labels and many machine scores.

A judge scores all documents, people label some. The rate is the mean label of all documents: the
share of positives, or the mean of values in [0, 1].
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bayescal.decisions.draws import as_counts
from bayescal.inference.design_effect import DesignEffect, design_effect
from bayescal.sampling.design import SamplingUnits, as_partial_labels
from bayescal.sampling.hidden import RankedCollection
from bayescal.sampling.plans import (
    Design,
    as_design,
    draw_of_plans,
    draw_of_probabilities,
    inclusion_of,
)
from bayescal.sampling.rank_curve import fit_rank_curve
from bayescal.support import validation
from bayescal.support.condensing import from_counts
from bayescal.support.intervals import Interval, counted, percent, tails
from bayescal.support.labels import read_groups
from bayescal.support.validation import Floats

MODEL, DESIGN = "model", "design"
FEW = 10  # labels below which a note names the prior
ROUNDS = 3  # of the spread of values around the curve, which narrows with it
SAME = 1e-12  # rounding of equal inclusion probabilities
RANDOM_SAMPLE = "the labelled documents are a simple random sample of the collection"
CLUSTER_SAMPLE = "the clusters with labels are a simple random sample of all clusters"
FEW_NOTE = f"There are fewer than {FEW} labels: the interval rests on the prior as well."
UNKNOWN_NOTE = (
    "Nothing says how the labelled documents were chosen: state the design, 'random' or a plan, for"
    " the interval of the labels alone."
)


@dataclass(frozen=True)
class RateCurve:
    """The posterior of P(positive | score) along the ranking, in bins of similar scores.

    For values between 0 and 1 it is the posterior of the mean value.

    Attributes
    ----------
    score : array of shape (bins,)
        Mean score of the documents of each bin, ascending.
    probability, lower, upper : array of shape (bins,)
        Posterior mean, and ends of a pointwise band.
    """

    score: Floats
    probability: Floats
    lower: Floats
    upper: Floats


@dataclass(frozen=True, kw_only=True)
class Rate(Interval):
    """The mean label of a collection.

    Attributes
    ----------
    value, lower, upper, level
        The answer to state first: the model's, or the design's if documents had different
        probabilities to be labelled.
    method : {"model", "design"}
        The source of this answer.
    model : Interval
        Posterior median and interval from labels and scores.
    draws : array
        Posterior draws of the rate by the model.
    classical : Interval or None
        The interval of the labels alone: Wilson's for a simple random sample, exact limits by
        stratum for another design, None if the design is unknown.
    labels, documents : int
        Numbers of labels and of documents.
    worth : float
        Number of labels whose Wilson interval is as wide as the model's interval; nan unless the
        labels are a simple random sample of some of the documents.
    useless : float
        Posterior probability that the scores carry no information about the labels.
    curve : RateCurve
        P(positive | score) with its band.
    assumption : str
        What the answer assumes.
    design_effect : bayescal.inference.design_effect.DesignEffect or None
        How labels of clusters depend on each other; None without pairs of a cluster.
    notes : tuple of str
        Remarks for the reader of the numbers.
    """

    draws: Floats = field(repr=False, compare=False)
    model: Interval
    classical: Interval | None
    labels: int
    documents: int
    worth: float
    useless: float
    curve: RateCurve = field(repr=False, compare=False)
    assumption: str
    notes: tuple[str, ...]
    design_effect: DesignEffect | None = None

    @property
    def text(self) -> str:
        """Return the rate, that from labels alone, what the scores add, and the assumption."""
        of = f"{counted(self.labels, 'label')} of {self.documents:,} documents"
        lines = [f"The rate is {self:.1%}, with a {percent(self.level)} interval, from {of}."]
        if self.method == DESIGN:
            lines.append(
                f"This needs no scores. By the model of the scores it is {self.model:.1%}."
            )
        elif self.classical is not None:
            lines.append(f"From the labels alone it is {self.classical:.1%}.")
            lines.append(
                f"With the scores your {counted(self.labels, 'label')} are worth {self.worth:,.0f};"
                f" the probability that the scores are useless is {percent(self.useless, 0)}."
            )
        return "\n".join([*lines, f"This assumes that {self.assumption}.", *self.notes])


@from_counts("scores", "labels")
def estimate_rate(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    design: Design | None = None,
    clusters: ArrayLike | None = None,
    level: float = 0.9,
    random_state: Any = 0,
) -> Rate:
    """Return the rate of a collection from scores of all documents and labels of some.

    Scores of any judge will do, such as a language model's: only ranks count, and after a useless
    or reversed judge the interval is no wider than about that of the labels alone.

    Parameters
    ----------
    scores : array-like or Dask collection of shape (documents,)
        The judge's scores of the whole collection.
    labels : array-like or Dask collection of shape (documents,)
        1, 0, a value between such as 1/2 for a tie, or nan where missing.
    sample_weight : array-like of shape (documents,), optional
        How many documents each counts for, in whole numbers, as from `bayescal.condense`. `design`
        must be "random" or None, and `clusters` None, as for Dask collections.
    design : "random", SamplePlan, several, array-like of shape (documents,), or None
        As in `estimate_recall`. With several inclusion probabilities the design's interval is
        stated first, since a wrong curve biases the model's; values between 0 and 1 then raise
        ValueError. With None the answer is the model's, for a random sample.
    clusters : array-like of shape (documents,), optional
        Documents that were drawn together, such as all answers to one prompt: the cluster of each,
        as text or whole numbers. The clusters that have labels must be a simple random sample, and
        labels 0 or 1. k labels count as one, with the `design_effect`. It is not needed if single
        documents were drawn.
    level : float
        Probability of the intervals.
    random_state : int, Generator, RandomState or None
        Seeds the posterior draws.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> good = rng.random(10_000) < 0.7
    >>> scores = rng.normal(size=10_000) + 2.0 * good
    >>> labels = np.where(rng.random(10_000) < 0.01, good, np.nan)
    >>> rate = estimate_rate(scores, labels, design="random")
    >>> bool(rate.lower < good.mean() < rate.upper), rate.worth > 1.5 * rate.labels
    (True, True)
    """
    rng, weight = validation.generator(random_state), None
    if sample_weight is not None:
        if clusters is not None or not (design is None or isinstance(design, str)):
            raise ValueError(
                "design must be 'random' or None, and clusters None, where sample_weight or Dask"
                " count documents: pass the scores of single documents in memory."
            )
        scores, labels, weight = _counted(scores, labels, sample_weight)
    return rate_and_errors(scores, labels, design, level, rng, clusters=clusters, weight=weight)[0]


def _counted(
    scores: ArrayLike, labels: ArrayLike, sample_weight: ArrayLike
) -> tuple[Floats, Floats, Floats]:
    """Return scores, labels and numbers of documents, of which each one with a label has a row."""
    values = validation.as_scores(scores, "scores")
    known = as_partial_labels(labels, values.size, values_between=True)
    number = np.asarray(as_counts(sample_weight, values.size))
    alone = ~np.isnan(known)
    rows = np.repeat(np.arange(values.size), np.where(alone, number, number > 0))
    return values[rows], known[rows], np.where(alone, 1.0, number)[rows]


def rate_and_errors(
    scores: ArrayLike,
    labels: ArrayLike,
    design: Design | None,
    level: float,
    rng: np.random.Generator,
    suffix: str = "",
    clusters: ArrayLike | None = None,
    weight: Floats | None = None,
) -> tuple[Rate, Floats, Floats]:
    """Return the rate, labels, and labels less their expectations; nan where there is none."""
    validation.check_fraction(level=level)
    values, known, cluster = read_labels(scores, labels, clusters, suffix)
    fitted, alone, simple = _labels_alone(values, known, design, cluster, level)
    collection = RankedCollection.even(values, weight)
    code, numbers = collection.code[fitted], collection.count(fitted)
    sums = collection.count(fitted, known)

    def fit(power: float) -> tuple[Floats, Floats, float]:
        p, useless = fit_rank_curve(collection.z, numbers, sums, power, rng)
        return p[:, code], p, useless

    p, useless, spread, effect = fit_by_spread(fit, known[fitted], cluster[fitted])
    draws = draw_rate(known, collection.count(np.isnan(known)), p, spread, rng)
    curve = curve_of(collection, values, p, level)
    few = int(np.count_nonzero(~np.isnan(known))) < FEW
    notes = (FEW_NOTE,) * few + (UNKNOWN_NOTE,) * (alone is None)
    size = int(collection.size.sum())
    rate = rate_of(known, size, draws, curve, useless, alone, effect, level, notes, simple=simple)
    return rate, known, known - p.mean(axis=0)[collection.code]


def curve_of(collection: RankedCollection, scores: Floats, p: Floats, level: float) -> RateCurve:
    """Return the curve of draws of P(+) in the bins of a collection, (draws, bins)."""
    band = np.quantile(p, tails(level), axis=0)
    # Bins have the highest scores first.
    return RateCurve(*np.stack([collection.mean(scores), p.mean(axis=0), *band])[:, ::-1])


def rate_of(
    labels: Floats,
    documents: int,
    draws: Floats,
    curve: RateCurve,
    useless: float,
    alone: Interval | None,
    effect: DesignEffect | None,
    level: float,
    notes: tuple[str, ...] = (),
    *,
    simple: bool = True,
) -> Rate:
    """Return the rate of documents by some labels, a simple random sample or of another design."""
    model = Interval.of_draws(draws, level, float(np.median(draws)))
    first = model if simple or alone is None else alone
    n = int(np.count_nonzero(~np.isnan(labels)))
    words = () if effect is None else (effect, effect.problem)
    sample = CLUSTER_SAMPLE if effect else RANDOM_SAMPLE
    return Rate(
        *(first.value, first.lower, first.upper, level),
        MODEL if first is model else DESIGN,
        draws=draws,
        model=model,
        classical=alone,
        labels=n,
        documents=documents,
        worth=n * (alone.width / model.width) ** 2
        if simple and alone and model.width
        else math.nan,
        useless=useless,
        curve=curve,
        assumption=f"{sample if simple else 'the plan was followed'}, and labels are right",
        notes=(*notes, *(f"{each}." for each in words if each)),
        design_effect=effect,
    )


def read_labels(
    scores: ArrayLike, labels: ArrayLike, clusters: ArrayLike | None, suffix: str = ""
) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Return scores and clusters (by default documents) of a collection, and labels or else nan."""
    values = validation.as_scores(scores, f"scores{suffix}")
    name = f"labels{suffix}"
    known = as_partial_labels(labels, values.size, name, values_between=True)
    if not 0 < (n := int(np.count_nonzero(~np.isnan(known)))) < known.size:
        advice = "give the scores of the whole collection; where all have labels, count them"
        raise ValueError(
            f"{name} must hold at least one label, and nan for at least one document without one,"
            f" got {counted(n, 'label')} of {known.size:,} documents: {advice}."
        )
    if clusters is None:
        return values, known, np.arange(known.size)
    if not _binary(known[~np.isnan(known)]):
        raise ValueError(
            f"{name} must be 0 or 1 with clusters, got values between: label one document of each"
            " cluster, without clusters."
        )
    of_clusters = f"clusters{suffix}", "cluster", known.size, f"scores{suffix}"
    return values, known, read_groups(clusters, *of_clusters)[1]


def _labels_alone(
    scores: Floats, labels: Floats, design: Design | None, cluster: NDArray[np.intp], level: float
) -> tuple[NDArray[np.bool_], Interval | None, bool]:
    """Return the labels to fit, the interval from labels alone, and whether they are a sample."""
    plans, inclusion = as_design(() if design is None else design, scores, labels)
    labelled = ~np.isnan(labels)
    if not plans and inclusion is None:
        return labelled, None, True
    units, planned = SamplingUnits.of(scores, labels, None), labelled
    if inclusion is None:
        inclusion, planned = inclusion_of(plans, scores), np.zeros_like(labelled)
        planned[np.concatenate([plan.documents for plan in plans])] = True
    if (planned & ~labelled).any():
        raise ValueError("labels must hold a label of each planned document: label the others.")
    if np.ptp(inclusion) < SAME and (planned == labelled).all():
        return planned, wilson_limits(labels[labelled], level, cluster[labelled]), True
    if cluster.max() + 1 < cluster.size:
        raise ValueError(
            "clusters must be None for several inclusion probabilities, got both: use"
            " estimate_prevalence with groups, which a plan draws whole."
        )
    drawn = draw_of_plans(units, plans) if plans else draw_of_probabilities(units, inclusion)
    if drawn is None or not _binary(labels[labelled]):
        raise ValueError(
            "with several inclusion probabilities labels must be 0 or 1, and all those of the"
            " plans: give the plans and labels of all rounds, and draw documents for values between"
            " 0 and 1 by plan_sample(..., purpose='prevalence')."
        )
    return planned, drawn.limits("prevalence", np.ones_like(labelled), level), False


def _binary(values: Floats) -> bool:
    return bool(np.isin(values, (0.0, 1.0)).all())


def fit_by_spread(
    fit: Callable[[float], tuple[Floats, Floats, Any]], labels: Floats, cluster: NDArray[np.intp]
) -> tuple[Floats, Any, float, DesignEffect | None]:
    """Return draws and weights of a fit to the power 1 / spread, the spread, the design effect."""
    # `fit` returns draws of expected labels first.
    (expected, *found), spread, effect = fit(1.0), 1.0, None
    for _ in range(ROUNDS):
        before = spread
        spread, effect = spread_of_labels(labels, expected, cluster)
        if spread == before:
            break
        expected, *found = fit(1.0 / spread)
        if effect is not None:
            break  # k is that of residuals of independent labels
    drawn, share = found
    return drawn, share, spread, effect


def spread_of_labels(
    values: Floats, expected: Floats, cluster: NDArray[np.intp]
) -> tuple[float, DesignEffect | None]:
    """Return the variance of sums of labels, relative to binary ones, and the design effect."""
    if not _binary(values):
        return _dispersion(values, expected), None
    effect = design_effect(values == 1.0, expected.mean(axis=0), cluster)
    return effect.factor, effect if effect.largest else None


def draw_rate(
    labels: Floats, unlabelled: NDArray[Any], p: Floats, spread: float, rng: np.random.Generator
) -> Floats:
    """Return draws of the mean label from draws of P(+) in bins of unlabelled documents."""
    if spread == 1.0:
        rest = rng.binomial(unlabelled.astype(np.int64), p).sum(axis=1).astype(np.float64)
    else:
        rest = p @ unlabelled
        rest += np.sqrt(spread * (p * (1.0 - p)) @ unlabelled) * rng.standard_normal(rest.size)
    documents = np.count_nonzero(~np.isnan(labels)) + unlabelled.sum()
    return np.asarray(np.clip((np.nansum(labels) + rest) / documents, 0.0, 1.0))


def _dispersion(values: Floats, expected: Floats) -> float:
    """Return the variance of values around draws of expected ones, in units of binary labels'."""
    # The spread of the draws makes up for the parameters that were fitted to the values; one value
    # more, of binary variance, keeps the ratio above 0.
    square = np.mean((values - expected) ** 2, axis=0)
    binary = np.mean(expected * (1.0 - expected), axis=0)
    if not binary.any():
        return 1.0
    return min(1.0, float((square.sum() + binary.mean()) / (binary.sum() + binary.mean())))


def wilson_limits(
    values: Floats, level: float, cluster: NDArray[np.intp] | None = None
) -> Interval:
    """Return the mean of values in [0, 1] with Wilson's interval, scaled to their variance."""
    mean = float(values.mean())
    cluster = np.arange(values.size) if cluster is None else cluster
    n = values.size / spread_of_labels(values, np.full((1, values.size), mean), cluster)[0]
    z = float(special.ndtri(0.5 + level / 2.0))
    centre = (mean + z**2 / (2.0 * n)) / (1.0 + z**2 / n)
    half = z / (1.0 + z**2 / n) * math.sqrt(mean * (1.0 - mean) / n + (z / (2.0 * n)) ** 2)
    return Interval(mean, max(centre - half, 0.0), min(centre + half, 1.0), level)


def labels_needed_for_rate(
    width: float, *, rate: float = 0.5, pilot: Rate | None = None, level: float = 0.9
) -> int:
    """Return the number of labels for an interval of a rate of a given width.

    It is that of Wilson's interval, divided by what each label of a pilot is worth.

    Parameters
    ----------
    width : float
        Width of the interval of `estimate_rate`, 0.1 for 5 percentage points either way.
    rate : float
        Expected rate without a pilot; 0.5 needs most labels.
    pilot : Rate, optional
        `estimate_rate` of a simple random sample, whose rate replaces `rate`.
    level : float
        Probability of the interval.

    Examples
    --------
    >>> labels_needed_for_rate(0.1), labels_needed_for_rate(0.1, rate=0.1)
    (268, 100)
    """
    gain = 1.0
    if pilot is not None:
        rate, gain = pilot.value, pilot.worth / pilot.labels
    if math.isnan(gain):
        raise ValueError("pilot must be of a simple random sample: pass design='random' for it.")
    validation.check_fraction(width=width, rate=rate, level=level)
    # Wilson's width w solves c (n + z^2)^2 = rate (1 - rate) n + z^2 / 4, c = (w / 2 z)^2.
    z2 = float(special.ndtri(0.5 + level / 2.0)) ** 2
    c = width**2 / (4.0 * z2)
    half = rate * (1.0 - rate) / (2.0 * c) - z2
    n = half + math.sqrt(max(half**2 - z2**2 + z2 / (4.0 * c), 0.0))
    return max(1, math.ceil(n / gain))

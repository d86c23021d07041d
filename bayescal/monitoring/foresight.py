"""Two readings of metrics on new scores without labels: case mix changed, or class shares only."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bayescal.calibrators.score_calibrator import ScoreCalibrator
from bayescal.inference.design_effect import design_effect, effect_on_scores
from bayescal.metrics.changes import LEAST_PROBABILITY
from bayescal.metrics.inputs import as_probabilities
from bayescal.metrics.scores import check_metric
from bayescal.monitoring.prior_shift import PriorPosterior, estimate_prior
from bayescal.monitoring.sample_size import labels_needed
from bayescal.monitoring.shift_evidence import log_bayes_factor, mixture_test, thinned
from bayescal.support import validation
from bayescal.support.intervals import Interval, interval_table, p_words, percent, readable
from bayescal.support.labels import encode_labels, match_labels, negative_and_positive
from bayescal.support.score_checks import without_scores_warnings
from bayescal.support.validation import Floats, generator
from bayescal.support.weighting import read_clusters

if TYPE_CHECKING:
    import pandas as pd

DRAWS = 400
RATIO_WIDTH = 0.4  # wanted width of the interval of observed over expected
FEWEST_SCORES = 10
DECISIVE = 20.0  # Bayes factor that speaks for a reading
CASE_MIX, LABEL_SHIFT = ("case mix", "label shift")
BOTH, OPEN = "both", "open"
MEANING = (
    "Case mix: it changed, and P(positive | score) is as it was (covariate shift). Label shift:"
    " only the shares of the classes changed. With"
)
UNSEEN = (
    "No score can show a change of P(positive | score), which makes both readings wrong: to be"
    " sure, audit about"
)
Metric = Callable[[Floats, Floats], float]


@dataclass(frozen=True)
class Foresight:
    """Expected quality of probabilities in use, from unlabelled scores, under two readings of them.

    Attributes
    ----------
    reading : {"both", "case mix", "label shift", "open"}
        The reading that the scores speak for: "label shift" or "case mix" if the Bayes factor is 20
        or more, or the test refutes label shift. If the scores cannot tell: "both" if no number
        differs between the readings by more than its uncertainty, so that an interval over both
        holds under either; "open" if some differ: there is no single answer.
    numbers : dict of str to dict of str to Interval
        Metrics of the probabilities on the new documents under each reading. "case mix": the case
        mix changed, and P(positive | score) is that of the reference (covariate shift). "label
        shift": only the shares of the classes changed; empty if refuted. Ratios with denominator 0
        are nan.
    differing : tuple of str
        Numbers that differ between the readings by more than their uncertainty.
    log_bayes_factor : float
        Natural log Bayes factor of label shift against a change of the case mix. A change of the
        case mix may look like label shift, but only by coincidence.
    refuted : bool
        Whether the new scores cannot be a mixture of the two classes of the reference, so that more
        than the shares of the classes changed. Nothing refutes a change of the case mix.
    pvalue : float
        p-value of the test of label shift.
    distance : float
        Largest difference between the distribution functions of the new scores and of the nearest
        mixture.
    share : PriorPosterior or None
        The share of positives in the new documents under label shift; None if refuted.
    outside : float
        Share of the new scores beyond those of the reference, where its P(positive | score) is
        extrapolated.
    labels_needed : int
        Labels that would narrow observed / expected to a 95 % interval of width 0.4.
    level : float
        Probability of the intervals.
    """

    reading: str
    numbers: Mapping[str, Mapping[str, Interval]]
    differing: tuple[str, ...]
    log_bayes_factor: float
    refuted: bool
    pvalue: float
    distance: float
    share: PriorPosterior | None = field(repr=False)
    outside: float
    labels_needed: int
    level: float

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each number, with value, lower and upper under each reading."""
        import pandas as pd

        tables = {name: interval_table(own) for name, own in self.numbers.items() if own}
        return pd.concat(tables, axis=1, names=["reading", "end"])

    @property
    def finding(self) -> str:
        """Return the reading that the new scores support, and the evidence, in words."""
        test = f"p {p_words(self.pvalue)}"
        if self.refuted:
            return (
                "Do not trust the probabilities on these scores without labels: they are no mixture"
                f" of the two classes of the reference ({test}, largest difference"
                f" {self.distance:.2f}), so that more than the shares of the classes changed. The"
                " numbers hold only if nothing but the case mix did, which no score can show."
            )
        factor = math.exp(min(abs(self.log_bayes_factor), 700.0))
        favoured = LABEL_SHIFT if self.log_bayes_factor > 0.0 else "a change of the case mix"
        evidence = f"Bayes factor {readable(factor)} for {favoured}; test of label shift: {test}"
        if self.reading == BOTH:
            return (
                "The readings do not contradict each other: an interval that holds under both goes"
                f" from the lowest to the highest end of the two ({evidence})."
            )
        if self.reading == OPEN:
            return (
                f"No single answer: the readings differ in {', '.join(self.differing)}, and the new"
                f" scores cannot tell which holds ({evidence})."
            )
        reserve = {
            LABEL_SHIFT: "A change of the case mix can look the same by coincidence.",
            CASE_MIX: "They cannot show that P(positive | score) is as it was.",
        }
        return f"The new scores speak for {favoured} ({evidence}). {reserve[self.reading]}"

    @property
    def text(self) -> str:
        """Return the finding in words, then the numbers of both readings."""
        lines = [self.finding, f"{MEANING} {percent(self.level)} intervals:"]
        for name in self.numbers[CASE_MIX]:
            own = (
                f"{reading} {_shown(each[name])}" for reading, each in self.numbers.items() if each
            )
            lines.append(f"{name}: {', '.join(own)}")
        if self.outside > 0.0:
            lines.append(
                f"{percent(self.outside, 1)} of the new scores lie beyond those of the reference:"
                " there its P(positive | score) is extrapolated."
            )
        return "\n".join([*lines, f"{UNSEEN} {self.labels_needed:,} outcomes."])

    def __str__(self) -> str:
        return self.text


def _shown(number: Interval) -> str:
    undefined = "undefined, since nothing counts in its denominator"
    return f"{number:.3f}" if math.isfinite(number.value) else undefined


def foresee(
    calibrator_or_p: Any,
    scores: ArrayLike,
    *,
    reference: tuple[ArrayLike, ArrayLike],
    metric: Metric | None = None,
    threshold: float = 0.5,
    level: float = 0.9,
    alpha: float = 0.05,
    clusters: tuple[ArrayLike, ArrayLike] | None = None,
    random_state: Any = None,
) -> Foresight:
    """Estimate the quality of probabilities on new documents from their scores alone.

    Scores without labels have two readings, which can differ widely. *The case mix changed*
    (covariate shift): P(positive | score) is that of the reference, with its posterior. *Only the
    shares of the classes changed* (label shift): the share of positives has the posterior of
    `estimate_prior`. Under each, labels of the new documents are drawn, and metrics have intervals.

    The scores can speak for a reading. If label shift holds they are a mixture of the two classes
    of the reference: a test compares distribution functions with the nearest mixture, with a
    p-value by the bootstrap of both, and refutes label shift if it is at most `alpha`. A Bayes
    factor compares the mixture, with any share, with smooth changes of the density of the scores.
    A mixture that fits does not prove label shift, nothing refutes a change of the case mix, and a
    change of P(positive | score) can go along with any scores: then both readings are wrong.

    Parameters
    ----------
    calibrator_or_p : ScoreCalibrator, Recalibrator or array-like of shape (n,)
        A fitted calibrator of the scores, or the probabilities of the new documents. For these a
        ScoreCalibrator with vague priors is fitted to the reference.
    scores : array-like of shape (n,)
        Scores of the new documents, at least ten.
    reference : tuple of (scores, labels)
        Labelled documents of the kind that the calibrator was fitted to; labels are 0 and 1, or
        classes of the calibrator.
    metric : callable, optional
        A further metric of (y_true, y_prob), by rising score, such as in `bayescal.metrics`.
    threshold : float
        Smallest probability of documents predicted positive.
    level : float
        Probability of the intervals.
    alpha : float
        Label shift is refuted if the p-value is at most this.
    clusters : tuple of array-like, optional
        Which of the new and which of the reference documents belong together. Labels drawn for the
        new documents correlate within clusters as residuals of the reference do; scores count by
        their own correlation in the test and the Bayes factor. A fitted calibrator takes the
        reference's clusters in its own `fit`.
    random_state : int, Generator, RandomState or None
        Seeds the test and the draws.

    References
    ----------
    J. G. Moreno-Torres et al., *A unifying view on dataset shift in classification*, Pattern
    Recognition 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal import ScoreCalibrator
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(400) < 0.5
    >>> s = rng.normal(2.0 * y)
    >>> calibrator = ScoreCalibrator(random_state=0).fit(s, y)
    >>> rarer = rng.normal(2.0 * (rng.random(500) < 0.1))
    >>> result = foresee(calibrator, rarer, reference=(s, y), random_state=0)
    >>> result.reading  # the scores cannot tell
    'open'
    >>> {name: round(own["share of positives"].value, 1) for name, own in result.numbers.items()}
    {'case mix': 0.3, 'label shift': 0.1}
    >>> foresee(calibrator, rarer - 3.0, reference=(s, y), random_state=0).refuted
    True
    """
    validation.check_fraction(threshold=threshold, level=level, alpha=alpha)
    if metric is not None:
        check_metric(metric=metric)
    new = validation.as_scores(scores)
    if new.size < FEWEST_SCORES:
        raise ValueError(f"scores must hold at least {FEWEST_SCORES} scores, got {new.size}.")
    calibrator, p, (old, positive) = _read(calibrator_or_p, new, reference, clusters)
    dependence = _Dependence()
    if clusters is not None:
        dependence = _Dependence.of(clusters, calibrator, new, old, positive)
    effects = dependence.effects
    # The draws are the same in whatever order the documents come.
    order, old_order = np.lexsort((p, new)), np.lexsort((positive, old))
    new, p, old, positive = new[order], p[order], old[old_order], positive[old_order]
    rng = generator(random_state)
    distance, pvalue = mixture_test(new, old[positive], old[~positive], rng, effects)
    refuted, share = pvalue <= alpha, None
    chances = {CASE_MIX: thinned(calibrator.sample_proba(new), DRAWS)}
    if not refuted:
        own = None if dependence.cluster is None else dependence.cluster[order]
        share = estimate_prior(
            calibrator, new, draws=DRAWS, level=level, clusters=own, random_state=rng
        )
        log_ratio = special.logit(thinned(calibrator.sample_proba(new, prior=0.5), DRAWS))
        chances[LABEL_SHIFT] = share.probabilities(log_ratio)
    draws = {
        reading: _metrics(
            dependence.uniform(chance.shape, order, rng) < chance, p, threshold, metric
        )
        for reading, chance in chances.items()
    }
    numbers = {
        reading: {name: _interval(each, level) for name, each in own.items()}
        for reading, own in draws.items()
    }
    differing = []
    for name, other in draws.get(LABEL_SHIFT, {}).items():
        gap = _interval(draws[CASE_MIX][name] - other, level)
        if gap.lower > 0.0 or gap.upper < 0.0:
            differing.append(name)
    evidence = log_bayes_factor(calibrator, new, old, effects)
    return Foresight(
        reading=_reading(evidence, refuted, bool(differing)),
        numbers={LABEL_SHIFT: {}, **numbers} if refuted else numbers,
        differing=tuple(differing),
        log_bayes_factor=evidence,
        refuted=refuted,
        pvalue=pvalue,
        distance=distance,
        share=share,
        outside=float(np.mean((new < old.min()) | (new > old.max()))),
        labels_needed=labels_needed(p, ratio_width=RATIO_WIDTH)["ratio"],
        level=level,
    )


@dataclass(frozen=True)
class _Dependence:
    """Clusters of the new documents, and how far labels and scores correlate within clusters."""

    cluster: NDArray[np.intp] | None = None  # (n,)
    correlation: float = 0.0  # of residuals of the reference
    effects: tuple[float, float] = (1.0, 1.0)  # design effects of new and of reference scores

    @classmethod
    def of(
        cls,
        clusters: tuple[ArrayLike, ArrayLike],
        calibrator: Any,
        new: Floats,
        old: Floats,
        positive: NDArray[np.bool_],
    ) -> _Dependence:
        own, others = _clusters_of_both(clusters, new.size, old.size)
        p = calibrator.sample_proba(old).mean(axis=0)
        rho = design_effect(positive, p, others).correlation
        return cls(own, rho, (effect_on_scores(new, own), effect_on_scores(old, others)))

    def uniform(
        self, shape: tuple[int, int], order: NDArray[np.intp], rng: np.random.Generator
    ) -> Floats:
        """Return uniform numbers (draws, documents in an order) that correlate within clusters."""
        uniform = rng.random(shape)
        if self.cluster is None or not self.correlation:
            return uniform
        # Two documents take their cluster's number with probability sqrt(rho) each, so that labels
        # of equal probability correlate by rho.
        shared = rng.random((shape[0], int(self.cluster.max()) + 1))[:, self.cluster[order]]
        return np.where(rng.random(shape) ** 2 < self.correlation, shared, uniform)


def _clusters_of_both(
    clusters: Any, new: int, old: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the positions of the clusters of new and of reference documents."""
    try:
        own, others = clusters
    except (TypeError, ValueError):
        raise ValueError(
            "clusters must be a pair, those of the new and those of the reference documents, got"
            f" {type(clusters).__name__}."
        ) from None
    return read_clusters(own, new, "scores")[1], read_clusters(others, old, "reference scores")[1]


def _reading(evidence: float, refuted: bool, differ: bool) -> str:
    """Return the reading that the scores speak for."""
    if refuted or evidence <= -math.log(DECISIVE):
        return CASE_MIX
    if evidence >= math.log(DECISIVE):
        return LABEL_SHIFT
    return OPEN if differ else BOTH


def _metrics(
    drawn: NDArray[np.bool_], p: Floats, threshold: float, metric: Metric | None
) -> dict[str, Floats]:
    """Return metrics of probabilities for drawn labels (draws, documents); nan if undefined."""
    predicted = p >= threshold
    positives, found = drawn.sum(axis=1), (drawn & predicted).sum(axis=1)
    draws = {
        "share of positives": drawn.mean(axis=1),
        "accuracy": (drawn == predicted).mean(axis=1),
        "Brier score": ((p - drawn) ** 2).mean(axis=1),
        "observed / expected": _ratio(drawn.mean(axis=1), p.mean(), LEAST_PROBABILITY),
        f"recall at {threshold:g}": _ratio(found, positives),
        f"precision at {threshold:g}": _ratio(found, predicted.sum()),
    }
    if metric is not None:
        name = getattr(metric, "__name__", "metric")
        draws[name] = np.array([float(metric(each.astype(float), p)) for each in drawn])
    return draws


def _interval(draws: Floats, level: float) -> Interval:
    """Return the interval of the draws that are defined."""
    defined = draws[np.isfinite(draws)]
    return Interval.of_draws(defined, level) if defined.size else Interval(math.nan)


def _ratio(part: ArrayLike, whole: ArrayLike, least: float = 0.0) -> Floats:
    """Return ratios; nan with a denominator of `least` or less."""
    part, whole = np.broadcast_arrays(np.asarray(part, np.float64), whole)
    ratio: Floats = np.full(part.shape, np.nan)
    np.divide(part, whole, out=ratio, where=whole > least)
    return ratio


def _read(
    source: Any, new: Floats, reference: tuple[ArrayLike, ArrayLike], clusters: Any
) -> tuple[Any, Floats, tuple[Floats, NDArray[np.bool_]]]:
    """Return a calibrator, the probabilities in use, and reference scores with labels."""
    try:
        old, labels = reference
    except (TypeError, ValueError):
        raise ValueError(
            f"reference must be a pair (scores, labels), got {type(reference).__name__}."
        ) from None
    score = validation.as_scores(old, "reference scores")
    fitted = hasattr(source, "sample_proba")
    if fitted:
        classes = negative_and_positive(source)
        positive = match_labels(labels, classes, "reference labels")
    else:
        _, positive = encode_labels(labels, name="reference labels")
    validation.check_same_length("reference scores", score.size, "labels", positive.size)
    if positive.all() or not positive.any():
        raise ValueError("reference labels must hold both classes, got one.")
    if fitted:
        p = source.predict_proba(new)[:, int(source.classes_[1] == classes[1])]
        return source, p, (score, positive)
    p = as_probabilities(source, "calibrator_or_p")
    validation.check_same_length("calibrator_or_p", p.size, "scores", new.size)
    with without_scores_warnings():
        own = None if clusters is None else _clusters_of_both(clusters, new.size, score.size)[1]
        calibrator = ScoreCalibrator(prior_knowledge="vague", random_state=0)
        calibrator.fit(score, positive, clusters=own)
    return calibrator, p, (score, positive)

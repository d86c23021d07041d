"""Intervals of metrics on new scores without labels, unless a test forbids them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bayescal.calibrators.score_calibrator import ScoreCalibrator
from bayescal.metrics.changes import LEAST_PROBABILITY
from bayescal.metrics.inputs import as_probabilities
from bayescal.monitoring.prior_shift import PriorPosterior, estimate_prior
from bayescal.monitoring.sample_size import labels_needed
from bayescal.support import validation
from bayescal.support.intervals import Interval, interval_table, p_words
from bayescal.support.score_checks import without_scores_warnings
from bayescal.support.validation import Floats, generator

if TYPE_CHECKING:
    import pandas as pd

RESAMPLES = 199  # of the test
NODES, SHARES = 120, 81  # scores where distributions are compared; shares of positives tried
FARTHEST = 36.0
DRAWS = 400
RATIO_WIDTH = 0.4  # wanted width of the interval of observed over expected
FEWEST_SCORES = 10
UNSEEN = (
    "This cannot see a change of P(positive | score) that leaves the scores' distribution as it is."
)
Metric = Callable[[Floats, Floats], float]


@dataclass(frozen=True)
class Foresight:
    """
    Expected quality of probabilities in use, from unlabelled scores.

    Attributes
    ----------
    refuted : bool
        Whether the new scores cannot be a mixture of the two classes of the reference: then there
        are no numbers, and labels are needed.
    pvalue : float
        p-value of the test.
    distance : float
        Largest difference between the distribution functions of the new scores and of the nearest
        mixture.
    share : PriorPosterior or None
        The share of positives in the new documents; None if refuted.
    numbers : dict of str to Interval
        Metrics of the probabilities on the new documents; empty if refuted. Ratios with denominator
        0 are nan.
    labels_needed : int
        Labels that would narrow observed / expected to a 95 % interval of width 0.4.
    level : float
        Probability of the intervals.
    """

    refuted: bool
    pvalue: float
    distance: float
    share: PriorPosterior | None = field(repr=False)
    numbers: dict[str, Interval]
    labels_needed: int
    level: float

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each number, with the columns value, lower and upper."""
        return interval_table(self.numbers)

    @property
    def text(self) -> str:
        """Return the finding in words."""
        if self.refuted:
            return (
                "Do not trust the probabilities on these scores without labels: they are no mixture"
                f" of the two classes of the reference (p {p_words(self.pvalue)}, largest"
                f" difference {self.distance:.2f}). No number can be given. Label about"
                f" {self.labels_needed:,} documents and audit."
            )
        lines = [
            "The scores may be a mixture of the two classes of the reference"
            f" (p {p_words(self.pvalue)}). If only the share of positives changed, with"
            f" {100.0 * self.level:g} % intervals:",
            *(
                f"{name}: {each:.3f}"
                if math.isfinite(each.value)
                else f"{name}: undefined, since nothing counts in its denominator"
                for name, each in self.numbers.items()
            ),
            f"{UNSEEN} To be sure, label about {self.labels_needed:,} documents and audit.",
        ]
        return "\n".join(lines)


def foresee(
    calibrator_or_p: Any,
    scores: ArrayLike,
    *,
    reference: tuple[ArrayLike, ArrayLike],
    metric: Metric | None = None,
    threshold: float = 0.5,
    level: float = 0.9,
    alpha: float = 0.05,
    random_state: Any = None,
) -> Foresight:
    """
    Estimate the quality of probabilities on new documents from their scores alone.

    First a test: can the new scores be a mixture of the two classes of labelled reference scores?
    Its statistic is the smallest distance, over shares of positives, between the distribution
    functions of the new scores and of the mixture, its p-value by the bootstrap of both. If the
    mixture is refuted, labels are needed. Otherwise the share of positives has a posterior
    (`estimate_prior`), labels of the new documents are drawn from the probabilities that it
    implies, and metrics have intervals. A change of P(positive | score) with the same distribution
    of scores is not detected.

    Parameters
    ----------
    calibrator_or_p : ScoreCalibrator, Recalibrator or array-like of shape (n,)
        A fitted calibrator of the scores, or the probabilities of the new documents. For these a
        ScoreCalibrator with vague priors is fitted to the reference.
    scores : array-like of shape (n,)
        Scores of the new documents, at least ten.
    reference : tuple of (scores, labels)
        Labelled documents of the kind that the probabilities were made for; labels are 0 and 1, or
        classes of the calibrator.
    metric : callable, optional
        A further metric of (y_true, y_prob), such as in `bayescal.metrics`.
    threshold : float
        Smallest probability of documents predicted positive.
    level : float
        Probability of the intervals.
    alpha : float
        The mixture is refuted if the p-value is at most this.
    random_state : int, Generator, RandomState or None
        Seeds the test and the draws.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal import ScoreCalibrator
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(400) < 0.5
    >>> s = rng.normal(2.0 * y)
    >>> calibrator = ScoreCalibrator(random_state=0).fit(s, y)
    >>> rarer = rng.normal(2.0 * (rng.random(500) < 0.2))
    >>> result = foresee(calibrator, rarer, reference=(s, y), random_state=0)
    >>> result.refuted, result.numbers["share of positives"].value.__round__(1)
    (False, 0.2)
    >>> foresee(calibrator, rarer - 3.0, reference=(s, y), random_state=0).refuted
    True
    """
    validation.check_fraction(threshold=threshold, level=level, alpha=alpha)
    new = validation.as_scores(scores)
    if new.size < FEWEST_SCORES:
        raise ValueError(f"scores must hold at least {FEWEST_SCORES} scores, got {new.size}.")
    calibrator, p, (old, positive) = _read(calibrator_or_p, new, reference)
    rng = generator(random_state)
    distance, pvalue = mixture_test(new, old[positive], old[~positive], rng)
    labels = labels_needed(p, ratio_width=RATIO_WIDTH)["ratio"]
    if pvalue <= alpha:
        return Foresight(True, pvalue, distance, None, {}, labels, level)
    share = estimate_prior(calibrator, new, draws=DRAWS, level=level, random_state=rng)
    kept = share.draws.size
    log_ratio = special.logit(_thinned(calibrator.sample_proba(new, prior=0.5), kept))
    drawn = rng.random((kept, new.size)) < share.probabilities(log_ratio)
    predicted = p >= threshold
    positives, expected = drawn.sum(axis=1), float(p.mean())
    found = (drawn & predicted).sum(axis=1)
    draws = {
        "share of positives": drawn.mean(axis=1),
        "accuracy": (drawn == predicted).mean(axis=1),
        "Brier score": ((p - drawn) ** 2).mean(axis=1),
        "observed / expected": _ratio(drawn.mean(axis=1), expected, LEAST_PROBABILITY),
        f"recall at {threshold:g}": _ratio(found, positives),
        f"precision at {threshold:g}": _ratio(found, predicted.sum()),
    }
    if metric is not None:
        name = getattr(metric, "__name__", "metric")
        draws[name] = np.array([float(metric(each.astype(float), p)) for each in drawn])
    numbers = {
        name: Interval.of_draws(each, level) if each.size else Interval(math.nan)
        for name, each in draws.items()
    }
    return Foresight(False, pvalue, distance, share, numbers, labels, level)


def _ratio(part: ArrayLike, whole: ArrayLike, least: float = 0.0) -> Floats:
    """Return the ratios of draws with denominators above `least`."""
    part, whole = np.broadcast_arrays(np.asarray(part, np.float64), whole)
    kept = whole > least
    return np.asarray(part[kept] / whole[kept])


def _thinned(draws: Floats, most: int) -> Floats:
    """Return the draws that `estimate_prior` uses."""
    kept = np.linspace(0, len(draws) - 1, min(most, len(draws))).astype(np.intp)
    tiny = special.expit(-FARTHEST)
    thinned: Floats = np.clip(draws[kept], tiny, 1.0 - 1e-16)
    return thinned


def _read(
    source: Any, new: Floats, reference: tuple[ArrayLike, ArrayLike]
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
        classes = validation.negative_and_positive(source)
        positive = validation.match_labels(labels, classes, "reference labels")
    else:
        _, positive = validation.encode_labels(labels, name="reference labels")
    validation.check_same_length("reference scores", score.size, "labels", positive.size)
    if positive.all() or not positive.any():
        raise ValueError("reference labels must hold both classes, got one.")
    if fitted:
        p = source.predict_proba(new)[:, int(source.classes_[1] == classes[1])]
        return source, p, (score, positive)
    p = as_probabilities(source, "calibrator_or_p")
    validation.check_same_length("calibrator_or_p", p.size, "scores", new.size)
    with without_scores_warnings():
        calibrator = ScoreCalibrator(prior_knowledge="vague", random_state=0).fit(score, positive)
    return calibrator, p, (score, positive)


def mixture_test(
    new: Floats, positive: Floats, negative: Floats, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the distance of new scores from mixtures of two classes, and its p-value."""
    distance, share = _distance(new, positive, negative)
    reached = 0
    for _ in range(RESAMPLES):
        k = int(rng.binomial(new.size, share))
        drawn = np.concatenate([rng.choice(positive, k), rng.choice(negative, new.size - k)])
        other = rng.choice(positive, positive.size), rng.choice(negative, negative.size)
        reached += _distance(drawn, *other)[0] >= distance
    return distance, (1.0 + reached) / (RESAMPLES + 1.0)


def _distance(new: Floats, positive: Floats, negative: Floats) -> tuple[float, float]:
    """Return the smallest Kolmogorov distance over shares of positives, and its share."""
    together = np.concatenate([new, positive, negative])
    at = np.quantile(together, np.linspace(0.005, 0.995, NODES))
    f, plus, minus = (
        np.searchsorted(np.sort(each), at, side="right") / each.size
        for each in (new, positive, negative)
    )
    shares = np.linspace(0.0, 1.0, SHARES)[:, None]
    worst = np.abs(f - shares * plus - (1.0 - shares) * minus).max(axis=1)
    best = int(worst.argmin())
    return float(worst[best]), float(shares[best, 0])

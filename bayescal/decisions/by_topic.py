"""Precision, recall and thresholds of fitted calibrators: one table for all their topics."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bayescal.decisions import thresholds
from bayescal.decisions.draws import BLOCK_ELEMENTS, as_counts
from bayescal.decisions.thresholds import Cuts, cuts_at, ranked
from bayescal.support import validation
from bayescal.support.condensing import from_counts
from bayescal.support.intervals import Interval
from bayescal.support.labels import as_labels, check_kept, check_no_dates
from bayescal.support.validation import Floats, generator

if TYPE_CHECKING:
    import pandas as pd

# Every threshold is tried that takes at most so many documents, then each with this share more.
ALL_TRIED, STEP = 1000, 1e-3
COUNTED_ALONE = 10_000  # above it documents between neighbouring thresholds are counted together


def scores_for(calibrator: Any, documents: Any) -> NDArray[Any]:
    """Return raw scores: the argument itself, or a classifier's of documents, (n, problems)."""
    if are_scores(documents) or not hasattr(calibrator, "problem_scores"):
        return validation.as_array(documents, "scores")
    return np.asarray(calibrator.problem_scores(documents))


def are_scores(documents: Any) -> bool:
    """Return whether documents are numbers in one dimension."""
    if not isinstance(documents, Iterable):
        return False
    return getattr(documents, "ndim", 1) == 1 and isinstance(next(iter(documents), None), Real)


@dataclass(frozen=True)
class Collection:
    """The documents of one topic, with functions of its calibrator."""

    topic: Any  # name; empty without topics
    score: Floats  # (documents,): in the user's units
    log_odds: Callable[[], Floats]  # of the point estimate, (documents,)
    sample: Callable[[NDArray[np.intp]], Floats]  # positions -> draws of P(+), (draws, k)
    draws: int  # number of draws
    counts: NDArray[np.intp] | None = None  # (documents,); None for 1 each

    def number(self, documents: NDArray[np.bool_]) -> int:
        """Return the number of some documents."""
        return int(documents.sum() if self.counts is None else self.counts[documents].sum())

    def cuts(self, values: Floats, rng: Any) -> Cuts:
        """Return the thresholds to try on values of the documents."""
        tried = _tried(ranked(values)[1])
        # Documents with equal values are ordered by score: the order of rows changes no draw.
        order = np.lexsort((-self.score, -values))
        if values.size <= COUNTED_ALONE:
            how = self.sample, self.draws, "documents", rng, self.counts
            return cuts_at(values, order, tried, *how)
        cells = np.union1d(tried, _tried(np.arange(1, values.size + 1)))
        counts = self._positives(order, cells, rng)
        ends_at = np.searchsorted(cells, tried)
        taken = tried if self.counts is None else np.cumsum(self.counts[order])[tried - 1]
        return Cuts(values[order[tried - 1]], taken, np.cumsum(counts, axis=1)[:, ends_at])

    def _positives(
        self, order: NDArray[np.intp], ends: NDArray[np.intp], rng: np.random.Generator
    ) -> Floats:
        """Draw the number of positives in cells of neighbouring documents, (draws, cells)."""
        starts = np.r_[0, ends[:-1]]
        score = self.score[order]
        own = np.ones(score.size, np.intp) if self.counts is None else self.counts[order]
        size = np.add.reduceat(own, starts)
        high, low = score[starts], score[ends - 1]
        spread = np.where(high > low, high - low, 1.0)
        share = (high - np.add.reduceat(score * own, starts) / size) / spread
        counts = np.empty((self.draws, ends.size))
        for block in np.array_split(
            np.arange(ends.size), 1 + ends.size * self.draws // BLOCK_ELEMENTS
        ):
            first, last = (self.sample(order[at[block]]) for at in (starts, ends - 1))
            p = np.clip(first + share[block] * (last - first), 0.0, 1.0)
            counts[:, block] = rng.binomial(size[block], p)
        return counts


@from_counts("scores")
def rates_by_topic(
    calibrator: Any,
    scores: ArrayLike,
    topics: ArrayLike | None = None,
    *,
    probability: float | None = None,
    threshold: float | None = None,
    sample_weight: ArrayLike | None = None,
    level: float = 0.9,
    prior: Any = None,
    draws: int = 1000,
    random_state: Any = None,
) -> pd.DataFrame:
    """Return precision and recall at a threshold, and the positives it misses, for each topic.

    For documents taken, T, and posterior draws k of P(+): labels y_ik ~ Bernoulli(P_k(+|s_i)),
    found_k = sum_T y_ik, missed_k = sum of y_ik beyond T, precision_k = found_k / |T|, recall_k =
    found_k / (found_k + missed_k). Intervals hold the uncertainty of the curve and of the labels.

    Parameters
    ----------
    calibrator : fitted calibrator
        With a posterior and one curve a problem, as from `bayescal.load`. A CalibratedClassifier
        needs `ensemble=False`; for any other classifier pass `sample_proba` to `recall_at`.
    scores : array-like of shape (n,)
        Raw scores of the documents to choose from; for a classifier also the documents, X as for
        `predict_proba`.
    topics : array-like of shape (n,), optional
        Topics of the documents, if the calibrator has topics. By default a classifier's documents
        are in every class or label.
    sample_weight : array-like of shape (n,), optional
        How many documents each counts for, whole numbers, if there are no topics. A Dask collection
        of scores is counted by `bayescal.condense`.
    probability : float, optional
        Take documents whose P(+), by the point estimate, is this or more; or
    threshold : float, optional
        documents whose score is this or more, in score units.
    level : float
        Probability of the equal-tailed intervals.
    prior : float, distribution or draws, optional
        P(+) of these documents, if it differs from the fitted documents'.
    draws : int
        Largest number of posterior draws of a topic, chosen at random.
    random_state : int, Generator, RandomState or None
        Seeds draws and labels; with an int a topic's row does not depend on other topics.

    Returns
    -------
    pandas.DataFrame
        Index topic, most missed positives first. Columns documents, selected, score (the smallest
        one taken, nan without), precision, recall, found and missed (posterior means), and each of
        these four with _lower and _upper. Precision is nan if no document is taken.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal import ScoreCalibrator
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(300) < 0.3
    >>> s = rng.normal(2.0 * y)
    >>> fitted = ScoreCalibrator("gaussian", random_state=0).fit(s[:200], y[:200])
    >>> table = rates_by_topic(fitted, s[200:], threshold=1.0, random_state=0)
    >>> int(table["selected"].iloc[0]), bool(table["recall"].iloc[0] < 0.95)
    (31, True)
    """
    if (probability is None) == (threshold is None):
        raise ValueError("give probability or threshold, one of them: which documents are taken.")
    if probability is not None:
        validation.check_fraction(probability=probability)
    else:
        thresholds.check_threshold(threshold)
    how = sample_weight, prior, draws, random_state
    collections = _collections(calibrator, scores, topics, *how)
    rows = [_rates(each, probability, threshold, level, rng) for each, rng in collections]
    return _table(rows, "missed")


@from_counts("scores")
def thresholds_by_topic(
    calibrator: Any,
    scores: ArrayLike,
    topics: ArrayLike | None = None,
    *,
    recall: float,
    assurance: float | None = None,
    sample_weight: ArrayLike | None = None,
    level: float = 0.9,
    prior: Any = None,
    draws: int = 1000,
    random_state: Any = None,
) -> pd.DataFrame:
    """Return each topic's highest threshold with the wanted recall, as `threshold_for_recall`.

    With more than a thousand documents thresholds are tried that take a thousandth more each time,
    so that a row's threshold takes up to that many documents more than necessary, never fewer. With
    more than ten thousand, documents between neighbouring thresholds are counted together:
    positives among them are binomial with the mean of their P(+).

    Parameters
    ----------
    calibrator, scores, topics, sample_weight, level, prior, draws, random_state
        As in `rates_by_topic`.
    recall, assurance
        As in `threshold_for_recall`.

    Returns
    -------
    pandas.DataFrame
        Index topic, most documents to read first. Columns documents, selected (to be read),
        threshold, threshold_lower and threshold_upper in score units (the interval is of the
        threshold that would suffice if the truth were known), probability (P(+) at the threshold),
        recall, found and missed (posterior means, each with _lower and _upper), and assurance, the
        posterior probability that recall is at least the wanted one.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal import ScoreCalibrator
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(300) < 0.3
    >>> s = rng.normal(2.0 * y)
    >>> fitted = ScoreCalibrator("gaussian", random_state=0).fit(s[:200], y[:200])
    >>> table = thresholds_by_topic(fitted, s[200:], recall=0.9, random_state=0)
    >>> bool(table["recall"].iloc[0] >= 0.9), int(table["selected"].iloc[0]) < 100
    (True, True)
    """
    validation.check_fraction(recall=recall)
    how = sample_weight, prior, draws, random_state
    collections = _collections(calibrator, scores, topics, *how)
    rows = [_threshold(each, recall, assurance, level, rng) for each, rng in collections]
    return _table(rows, "selected")


def _rates(
    one: Collection, probability: float | None, threshold: float | None, level: float, rng: Any
) -> dict[str, Any]:
    if probability is not None:
        taken = one.log_odds() >= math.log(probability) - math.log1p(-probability)
    else:
        taken = one.score >= np.float64(threshold)
    # The two thresholds are 1, for the documents taken, and 0, for all.
    cuts = one.cuts(taken.astype(np.float64), rng)
    selected = one.number(taken)
    return {
        "topic": one.topic,
        "documents": one.number(np.ones_like(taken)),
        "selected": selected,
        "score": float(one.score[taken].min()) if selected else math.nan,
        **_with_interval("precision", thresholds.at_threshold("precision", 1.0, cuts, level)),
        **_with_interval("recall", thresholds.at_threshold("recall", 1.0, cuts, level)),
        **_counts(cuts, 1.0, level),
    }


def _threshold(
    one: Collection, recall: float, assurance: float | None, level: float, rng: Any
) -> dict[str, Any]:
    cuts = one.cuts(one.score, rng)
    at_recall = thresholds.choose(cuts, "recall", recall, assurance, level)
    at = int(np.flatnonzero(one.score == at_recall.threshold)[0])
    return {
        "topic": one.topic,
        "documents": one.number(np.ones(one.score.size, dtype=bool)),
        "selected": at_recall.selected,
        **_with_interval("threshold", at_recall),
        "probability": float(special.expit(one.log_odds()[at])),
        **_with_interval("recall", at_recall.achieved),
        **_counts(cuts, at_recall.threshold, level),
        "assurance": at_recall.probability,
    }


def _counts(cuts: Cuts, threshold: float, level: float) -> dict[str, float]:
    """Return the numbers of positives found and missed at a threshold, with their intervals."""
    taken = int(np.count_nonzero(cuts.score >= threshold))
    hits = cuts.positives[:, taken - 1] if taken else np.zeros(len(cuts.positives))
    out: dict[str, float] = {}
    for name, values in (("found", hits), ("missed", cuts.positives[:, -1] - hits)):
        out |= _with_interval(name, Interval.of_draws(values, level))
    return out


def _with_interval(name: str, interval: Interval) -> dict[str, float]:
    return {name: interval.value, f"{name}_lower": interval.lower, f"{name}_upper": interval.upper}


def _tried(ends: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the numbers of documents taken by the thresholds to try; the last is all."""
    n = int(ends[-1])
    if n <= ALL_TRIED:
        return ends
    steps = math.ceil(math.log(n / ALL_TRIED) / math.log1p(STEP))
    wanted = np.r_[np.arange(1, ALL_TRIED), np.geomspace(ALL_TRIED, n, steps + 1)]
    # With ties a threshold may take more than wanted.
    return ends[np.unique(np.searchsorted(ends, np.minimum(wanted, n)))]


def _collections(
    calibrator: Any,
    scores: ArrayLike,
    topics: ArrayLike | None,
    sample_weight: ArrayLike | None,
    prior: Any,
    draws: int,
    random_state: Any,
) -> Iterator[tuple[Collection, np.random.Generator]]:
    """Yield the documents of each topic, and a generator for it."""
    validation.check_count("draws", draws)
    if not hasattr(calibrator, "fitted_problems"):
        raise TypeError(
            "calibrator must be fitted by bayescal and have curves of one score, got"
            f" {type(calibrator).__name__}: of several classes pass draws of one class from"
            " sample_proba to threshold_for_recall or recall_at."
        )
    if sample_weight is not None and topics is not None:
        raise ValueError("sample_weight must be None with topics: repeat the rows.")
    problems = calibrator.fitted_problems()
    for topic, own in _by_topic(problems, scores_for(calibrator, scores), topics):
        rng = generator(random_state)
        counts = as_counts(sample_weight, len(own))
        if counts is not None:
            own, counts = own[counts > 0], counts[counts > 0]
        yield _collection(problems.answering(topic), topic, own, counts, prior, draws, rng), rng


def _topics(topics: ArrayLike) -> NDArray[Any]:
    """Return the topic of each document, which may be a class: text, a number or a boolean."""
    names = as_labels(topics, "topics", "documents without a topic")
    check_no_dates(names, "topics")
    if names.ndim != 1:
        raise ValueError(f"topics must have shape (n,), one topic a score, got {names.shape}.")
    check_kept(np.unique(names), "topics")
    return names


def _by_topic(
    problems: Any, scores: NDArray[Any], topics: ArrayLike | None
) -> list[tuple[Any, NDArray[Any]]]:
    if scores.ndim == 2 and problems.by_topic:
        # Scores of a classifier, a column each: of all problems, or the one that topics name.
        names = list(problems)
        if scores.shape[1] != len(names):
            raise ValueError(
                f"scores must have shape (n,), or a column for each of {len(names)} topics, got"
                f" {scores.shape}."
            )
        if topics is None:
            return list(zip(names, scores.T, strict=True))
        column = {name: k for k, name in enumerate(names)}
        code = np.array([column.get(str(name), -1) for name in _topics(topics).tolist()])
        validation.check_same_length("documents", len(scores), "topics", code.size)
        scores = scores[np.arange(code.size), code]
    if topics is None:
        if problems.by_topic:
            raise ValueError(
                "topics must hold the topic of each score, or the class that it is for, one of"
                f" {validation.first_of(problems)}; got None."
            )
        return [("", scores)]
    if not problems.by_topic:
        raise ValueError("topics must be None for a calibrator without topics.")
    cells = _topics(topics)
    distinct, code = np.unique(cells, return_inverse=True)
    validation.check_same_length("scores", len(scores), "topics", code.size)
    # Classes go by their names in words, whatever the labels are.
    names = [name if problems.answers(name) else str(name) for name in distinct.tolist()]
    if unknown := [name for name in names if not problems.answers(name)]:
        raise ValueError(
            f"topics must hold topics that were fitted, got {validation.first_of(unknown)}"
            f" ({len(unknown)} unknown) where there are {validation.first_of(problems)}: leave"
            " their rows out."
        )
    return [(name, scores[code == k]) for k, name in enumerate(names)]


def _collection(
    problem: Any,
    topic: Any,
    scores: NDArray[Any],
    counts: NDArray[np.intp] | None,
    prior: Any,
    draws: int,
    rng: np.random.Generator,
) -> Collection:
    problem.check_one_curve("a table of decisions")
    if not problem.has_posterior:
        raise ValueError(
            "intervals need a posterior and the calibrator has none: fit with inference='exact', or"
            " 'nuts' for a program."
        )
    # `score` is on the calibration's scale, `own` in the user's units for thresholds.
    score, own = problem.read(scores), np.asarray(scores, dtype=np.float64)
    calibration = problem.calibration.with_prior(prior)
    size = calibration.draws.size
    if size > draws:
        calibration = calibration.take(rng.choice(size, draws, replace=False))
    return Collection(
        topic=topic,
        score=own.reshape(score.shape),
        log_odds=lambda: np.asarray(problem.log_odds(score, prior), dtype=np.float64),
        sample=lambda rows: np.asarray(calibration.sample(score[rows]), dtype=np.float64),
        draws=min(size, draws),
        counts=counts,
    )


def _table(rows: list[dict[str, Any]], ranked_by: str) -> pd.DataFrame:
    import pandas as pd

    table = pd.DataFrame(rows).set_index("topic")
    return table.sort_values(ranked_by, ascending=False, kind="stable")

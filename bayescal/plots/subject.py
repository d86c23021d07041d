"""What is drawn: the curves of a fitted calibrator, and the documents that go with them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from sklearn.utils.validation import check_is_fitted

from bayescal.families import FAMILIES
from bayescal.labels import match_labels
from bayescal.results.calibration import Calibration, read_calibration
from bayescal.results.class_prior import Prior
from bayescal.results.curves import Curves
from bayescal.results.topic_calibration import topic_calibration
from bayescal.score_calibrator import ScoreCalibrator
from bayescal.topic_calibrator import TopicCalibrator
from bayescal.validation import Floats, as_scores_of, as_weights, check_same_length

POINTS = 400
MARGIN = 0.02
CURVE_NAMES = {"exact": "posterior", "nuts": "posterior", "map": "posterior mode", "mle": ""}


@dataclass(frozen=True)
class Documents:
    """
    Scores and labels to show.

    Attributes
    ----------
    score : array of shape (n,)
        On the scale that the calibration works on: of probabilities the log-odds.
    positive : array of shape (n,) of bool
        Labels.
    weight : array of shape (n,)
        Weights.
    held_out : bool
        Whether they are others than those fitted.
    """

    score: Floats
    positive: NDArray[np.bool_]
    weight: Floats
    held_out: bool = False

    def of_class(self, positive: bool) -> tuple[Floats, Floats]:
        """Return the scores and weights of one class."""
        mask = self.positive == positive
        return self.score[mask], self.weight[mask]


@dataclass(frozen=True)
class Subject:
    """
    A fitted calibrator, as plots see it.

    Attributes
    ----------
    calibration : Calibration
        What it says about scores, on the scale it works on.
    point : str
        Its point estimate.
    reach : tuple of float
        Smallest and largest score worth showing.
    documents : Documents
        To show: given ones, or else those fitted.
    has_posterior, has_mle : bool
        Whether there are draws for a band, and maximum likelihood of both classes.
    attrs : dict
        For the Dataset: score_name, scores_are, the classes' names, the curve's name.
    """

    calibration: Calibration
    point: str
    reach: tuple[float, float]
    documents: Documents
    has_posterior: bool
    has_mle: bool
    attrs: dict[str, Any]

    def grid(self, given: ArrayLike | None = None, points: int = POINTS) -> Floats:
        """Return where to evaluate curves: as given, or over all scores and a little beyond."""
        if given is not None:
            return np.sort(as_scores_of(given, self.attrs["scores_are"], "grid"))
        low = min(self.reach[0], self.documents.score.min(initial=np.inf))
        high = max(self.reach[1], self.documents.score.max(initial=-np.inf))
        # Some room at the ends, also where all scores are equal.
        room = MARGIN * (high - low) or self.calibration.spread
        return np.linspace(low - room, high + room, points)

    def sample(self, draws: int, rng: np.random.Generator) -> Curves:
        """Return posterior draws of the curve, chosen at random with replacement."""
        curves = self.calibration.draws
        if curves is None or not self.has_posterior:
            raise ValueError("this plot needs a posterior: fit with inference='exact'.")
        return curves.take(rng.integers(curves.size, size=draws))

    def shown(self, score: Floats) -> Floats:
        """Return scores in the user's units."""
        if self.attrs["scores_are"] != "probabilities":
            return score
        probabilities: Floats = special.expit(score)
        return probabilities


def read_subject(
    calibrator: ScoreCalibrator | TopicCalibrator,
    scores: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    topic: Any = None,
    prior: Prior | None = None,
    sample_weight: ArrayLike | None = None,
) -> Subject:
    """
    Return a fitted calibrator, or one topic of it, as plots see it.

    Parameters
    ----------
    calibrator : ScoreCalibrator or TopicCalibrator
        Fitted.
    scores, y : array-like of shape (n,), optional
        Held-out documents to show in place of those fitted; both or neither.
    topic : str or int, optional
        Which topic, of a TopicCalibrator, which keeps no documents.
    prior : float, array-like or frozen scipy.stats distribution, optional
        See `ScoreCalibrator.decision_function`.
    sample_weight : array-like of shape (n,), optional
        Weights of the held-out documents.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the calibrator is not fitted.
    ValueError
        If the documents are not legal, only scores or only labels are given, or the topic is
        missing or was not fitted.
    """
    check_is_fitted(calibrator)
    if isinstance(calibrator, TopicCalibrator):
        subject = _read_topic(calibrator, topic)
    elif topic is not None:
        raise ValueError(f"topic must be None for a ScoreCalibrator, which has one; got {topic!r}.")
    else:
        subject = _read_scores(calibrator)
    subject = replace(subject, calibration=subject.calibration.with_prior(prior))
    if (scores is None) != (y is None):
        raise ValueError("scores and y must be given together: held-out scores and their labels.")
    if scores is None or y is None:
        return subject
    score = as_scores_of(scores, subject.attrs["scores_are"])
    positive = match_labels(y, calibrator.classes_)
    check_same_length("scores", score.size, "y", positive.size)
    weight = as_weights(sample_weight, score.size)
    documents = Documents(score, positive, np.ones(score.size) if weight is None else weight, True)
    return replace(subject, documents=documents)


def _read_scores(calibrator: ScoreCalibrator) -> Subject:
    calibration = read_calibration(calibrator.results_)
    observed = calibrator.results_["observed_data"].to_dataset()
    constants = calibrator.results_["constant_data"].to_dataset()
    return Subject(
        # Scores are read once, in `read_subject`: from there on they are on the internal scale.
        replace(calibration, scores_are="scores"),
        calibrator.point or ("mean" if calibrator.monotone else "predictive"),
        calibration.reach,
        Documents(
            observed["score"].values, observed["label"].values == 1, constants["weight"].values
        ),
        has_posterior="posterior" in calibrator.results_,
        has_mle=True,
        attrs={
            "score_name": observed["score"].attrs.get("long_name", "score"),
            "scores_are": calibration.scores_are,
            "curve": CURVE_NAMES[calibrator.inference_],
            **_class_names(calibrator),
        },
    )


def _read_topic(calibrator: TopicCalibrator, topic: Any) -> Subject:
    names = calibrator.topics_.tolist()
    if topic not in names:
        shown = ", ".join(map(repr, names[:5]))
        raise ValueError(f"topic must be one of those fitted ({shown}, ...), got {topic!r}.")
    # Of a combination the first densities, which are those of the summary.
    family = FAMILIES[calibrator.families_[0]]
    calibration = topic_calibration(calibrator.posterior_, family, names.index(topic))
    fits = calibration.fits
    none = np.empty(0)
    return Subject(
        calibration,
        "predictive",
        calibration.reach,
        Documents(none, none.astype(bool), none),
        has_posterior=True,
        has_mle=fits.negative.weight > 0.0 and fits.positive.weight > 0.0,
        attrs={
            "score_name": "score",
            "scores_are": "scores",
            "curve": "posterior",
            "topic": str(topic),
            **_class_names(calibrator),
        },
    )


def _class_names(calibrator: ScoreCalibrator | TopicCalibrator) -> dict[str, str]:
    negative, positive = map(str, calibrator.classes_)
    return {"negative_class": negative, "positive_class": positive}

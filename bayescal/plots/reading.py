"""The problem that a display draws, of whichever calibrator, and documents in its place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from bayescal.curves.class_prior import Prior
from bayescal.fitted.documents import Documents
from bayescal.fitted.problem import Calibrator, FittedProblem, problems_of
from bayescal.labels import match_labels
from bayescal.validation import as_weights, check_same_length


def read_problem(
    calibrator: Calibrator,
    scores: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    topic: Any = None,
    prior: Prior | None = None,
    sample_weight: ArrayLike | None = None,
) -> FittedProblem:
    """
    Return the problem of a fitted calibrator, or one topic of it.

    Parameters
    ----------
    calibrator : ScoreCalibrator, TopicCalibrator or another with `fitted_problems`
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
    problem = _find(calibrator, topic)
    problem = replace(problem, calibration=problem.calibration.with_prior(prior))
    if (scores is None) != (y is None):
        raise ValueError("scores and y must be given together: held-out scores and their labels.")
    if scores is None or y is None:
        return problem
    score = problem.read(scores)
    positive = match_labels(y, problem.labels)
    check_same_length("scores", score.size, "y", positive.size)
    weight = as_weights(sample_weight, score.size)
    return replace(problem, documents=Documents.of(score, positive, weight, held_out=True))


def _find(calibrator: Calibrator, topic: Any) -> FittedProblem:
    problems = problems_of(calibrator)
    names = list(problems)
    if not problems.by_topic:
        if topic is not None:
            raise ValueError(
                f"topic must be None for a {type(calibrator).__name__}, which has one; got"
                f" {topic!r}."
            )
        return problems[names[0]]
    if topic not in names:
        shown = ", ".join(map(repr, names[:5]))
        raise ValueError(f"topic must be one of those fitted ({shown}, ...), got {topic!r}.")
    return problems[topic]

"""What may calibrate scores, checked; its copies with seeds; the probabilities that one gives."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_expit
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from bayescal.classification.scikit_learn_methods import METHODS, ScikitLearnCalibrator
from bayescal.curves.class_prior import Prior
from bayescal.randomness import generator
from bayescal.score_calibrator import ScoreCalibrator
from bayescal.topic_calibrator import TopicCalibrator
from bayescal.validation import Floats, check_choice


def read_calibrator(calibrator: Any, weighted: bool) -> Any:
    """
    Return the calibrator that a parameter means.

    Parameters
    ----------
    calibrator : object, str or None
        Fitted on one column of raw scores, with predict_proba, or with a predict that gives
        probabilities of label 1; a `TopicCalibrator`; "sigmoid", "isotonic" or "temperature"; None
        for `ScoreCalibrator()`.
    weighted : bool
        Whether it has to take sample weights.

    Raises
    ------
    ValueError
        If it is no calibrator, or cannot take weights that are given.

    Examples
    --------
    >>> read_calibrator(None, weighted=False)
    ScoreCalibrator()
    """
    if calibrator is None:
        return ScoreCalibrator()
    if isinstance(calibrator, str):
        check_choice("calibrator", calibrator, METHODS)
        return ScikitLearnCalibrator(calibrator)
    if reason := _why_no_calibrator(calibrator):
        raise ValueError(
            "calibrator must be an estimator of probabilities, such as ScoreCalibrator() or"
            f" LogisticRegression(), got {calibrator!r}: {reason}."
        )
    if type(calibrator).__module__.partition(".")[0] == "betacal":
        raise ValueError(
            f"calibrator {type(calibrator).__name__} takes probabilities and would clip raw scores:"
            " put make_pipeline(FunctionTransformer(scipy.special.expit), ...) around it."
        )
    if weighted and not has_fit_parameter(calibrator, "sample_weight"):
        raise ValueError(
            f"calibrator {type(calibrator).__name__} takes no sample_weight: choose one that does,"
            " such as ScoreCalibrator(), or give no weights."
        )
    if isinstance(calibrator, IsotonicRegression) and calibrator.out_of_bounds == "nan":
        raise ValueError(
            "calibrator IsotonicRegression must have out_of_bounds='clip', got 'nan': scores beyond"
            " those fitted would have no probability."
        )
    if getattr(calibrator, "scores_are", None) == "probabilities":
        raise ValueError(
            "calibrator must take raw scores or log-odds, got scores_are='probabilities': the"
            " log-odds of a classifier's probabilities are calibrated, use scores_are='log_odds'."
        )
    # Of ours alone: LinearRegression has a parameter of that name, for coefficients.
    ours = isinstance(calibrator, ScoreCalibrator | TopicCalibrator)
    if ours and calibrator.positive is not None:
        raise ValueError(
            f"calibrator must leave positive at None, got {calibrator.positive!r}: give positive to"
            " the classifier around it, which knows whose scores they are."
        )
    return calibrator


def seeded_copies(calibrator: Any, count: int, random_state: Any) -> list[Any]:
    """
    Return unfitted copies of a calibrator, each with a seed of its own.

    Parameters
    ----------
    calibrator : estimator
        Its own random_state, if it has one, is the source of seeds where `random_state` is None.
    count : int
        How many.
    random_state : int, Generator, RandomState or None
        The source of seeds.

    Examples
    --------
    >>> first, second = seeded_copies(ScoreCalibrator(random_state=1), 2, None)
    >>> first.random_state == second.random_state
    False
    """
    # Objects that scikit-learn knows nothing of are copied as they are.
    copies = [clone(calibrator, safe=False) for _ in range(count)]
    own = calibrator.get_params(deep=False) if hasattr(calibrator, "get_params") else {}
    if "random_state" in own:
        rng = generator(own["random_state"] if random_state is None else random_state)
        for copy, seed in zip(copies, rng.integers(2**31, size=count).tolist(), strict=True):
            copy.set_params(random_state=seed)
    return copies


def log_probabilities(
    calibrator: Any, scores: Floats, prior: Prior | None = None
) -> tuple[Floats, Floats]:
    """
    Return log P(-|s) and log P(+|s) of one column of scores, each of shape (n,).

    Parameters
    ----------
    calibrator : estimator
        Fitted, on labels 0 and 1.
    scores : array of shape (n,)
        Raw scores.
    prior : see `ScoreCalibrator.decision_function`
        Class prior to predict for, if the calibrator knows one.

    Raises
    ------
    ValueError
        If it gives anything but probabilities, or a prior that it does not know.
    """
    if isinstance(calibrator, ScoreCalibrator):
        log_odds = calibrator.decision_function(scores, prior)
        return log_expit(-log_odds), log_expit(log_odds)
    if prior is not None:
        raise ValueError(
            f"prior needs a calibrator that knows class priors, {type(calibrator).__name__} does"
            " not: use ScoreCalibrator()."
        )
    column = scores[:, None]
    with np.errstate(divide="ignore"):
        if hasattr(calibrator, "predict_proba"):
            both = _checked(calibrator, calibrator.predict_proba(column), (scores.size, 2))
            return np.log(both[:, 0]), np.log(both[:, 1])
        positive = _checked(calibrator, calibrator.predict(column), (scores.size,))
        return np.log1p(-positive), np.log(positive)


def posterior_draws(
    calibrator: Any, scores: Floats, draws: int | None, rng: Any, prior: Prior | None = None
) -> Floats:
    """
    Return P_k(+|s) of posterior draws k, shape (draws, n).

    Raises
    ------
    ValueError
        If the calibrator has no posterior.
    """
    if not hasattr(calibrator, "sample_proba"):
        raise ValueError(no_posterior(calibrator))
    return np.asarray(calibrator.sample_proba(scores, draws, rng, prior))


def no_posterior(calibrator: Any) -> str:
    """Return the sentence for those who ask a point estimate for its uncertainty."""
    name = getattr(calibrator, "method", None) or type(calibrator).__name__
    return (
        f"calibrator {name} has no posterior, so no intervals, draws, plots or reports: use"
        " ScoreCalibrator()."
    )


def _why_no_calibrator(calibrator: Any) -> str:
    """Return what keeps an object from being a calibrator of scores; empty if nothing does."""
    if isinstance(calibrator, type):
        return "that is a class, not an instance of one"
    if not hasattr(calibrator, "fit"):
        return "it has no fit"
    if hasattr(calibrator, "predict_proba"):
        return ""
    if not hasattr(calibrator, "predict"):
        return "it has neither predict_proba nor predict"
    kind = get_tags(calibrator).estimator_type if hasattr(calibrator, "__sklearn_tags__") else None
    return "" if kind in {None, "regressor"} else f"the predict of a {kind} gives labels"


def _checked(calibrator: Any, values: Any, shape: tuple[int, ...]) -> Floats:
    found = np.asarray(values, dtype=np.float64)
    if found.shape != shape:
        raise ValueError(
            f"calibrator {type(calibrator).__name__} must give probabilities of shape {shape}, got"
            f" {found.shape}."
        )
    outside = found[~((found >= 0.0) & (found <= 1.0))]
    if outside.size:
        raise ValueError(
            f"calibrator {type(calibrator).__name__} must give probabilities between 0 and 1, got"
            f" {outside[0]}."
        )
    return found

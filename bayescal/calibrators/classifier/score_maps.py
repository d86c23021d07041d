"""Fitted maps from a matrix of raw scores to probabilities: column by column, pooled, or joint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_expit
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.isotonic import IsotonicRegression
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from bayescal.calibrators.score_calibrator import ScoreCalibrator
from bayescal.calibrators.topic_calibrator import TopicCalibrator
from bayescal.fitting.curves.curves import Prior
from bayescal.fitting.problems.problem import FittedProblem
from bayescal.support.randomness import generator
from bayescal.support.validation import Floats, check_choice

METHODS = ("sigmoid", "isotonic", "temperature")


class GivenScores(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose features are the scores that its decision_function returns."""

    def fit(self, scores: Floats, y: ArrayLike, sample_weight: Any = None) -> Self:
        """Learn the classes; weights change nothing."""
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, scores: Floats) -> Floats:
        """Return the scores; of a single column an array of shape (n,)."""
        return scores[:, 0] if scores.shape[1] == 1 else scores


class ScikitLearnCalibrator(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """
    A method of `sklearn.calibration.CalibratedClassifierCV` as a calibrator of raw scores.

    Parameters
    ----------
    method : {"sigmoid", "isotonic", "temperature"}
        "temperature" needs scikit-learn 1.8 or later.

    Attributes
    ----------
    calibrated_ : CalibratedClassifierCV
        The fitted method.
    classes_ : array
        The labels in sorted order.
    a_, b_ : float
        Of "sigmoid"; scikit-learn's own, as are those below.
    beta_ : float
        Of "temperature".
    X_thresholds_, y_thresholds_ : array
        Of "isotonic".

    Examples
    --------
    >>> scores, labels = np.array([[-2.0], [-1.0], [0.5], [1.0]]), [0, 0, 1, 1]
    >>> ScikitLearnCalibrator("sigmoid").fit(scores, labels).predict_proba(scores).round(1)
    array([[0.8, 0.2],
           [0.6, 0.4],
           [0.3, 0.7],
           [0.2, 0.8]])
    """

    def __init__(self, method: str = "sigmoid") -> None:
        self.method = method

    def fit(self, scores: Floats, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the method."""
        every = np.arange(len(scores))
        # The public way to the methods: one fold, whose test part are all documents.
        whole = CalibratedClassifierCV(
            GivenScores(), method=self.method, cv=[(every, every)], ensemble=True
        )
        with config_context(enable_metadata_routing=False):
            self.calibrated_ = whole.fit(scores, y, sample_weight)
        self.classes_: NDArray[Any] = self.calibrated_.classes_
        return self

    def predict_proba(self, scores: Floats) -> Floats:
        """Return probabilities of the classes, shape (n, classes)."""
        return np.asarray(self.calibrated_.predict_proba(scores))

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of scikit-learn's own fitted calibrator, such as a_ or beta_."""
        # Nothing private: copies and pickles ask for that before there is anything.
        if name.endswith("_") and not name.startswith("_") and name != "calibrated_":
            return getattr(self.calibrated_.calibrated_classifiers_[0].calibrators[0], name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def read_calibrator(calibrator: Any, weighted: bool) -> Any:
    """
    Return the calibrator that a parameter means.

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
    """Return log P(-|s) and log P(+|s) of one column of scores, each of shape (n,)."""
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
    """Return P_k(+|s) of posterior draws k, shape (draws, n)."""
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
    """Return why an object cannot calibrate scores; empty if it can."""
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
    probabilities = np.asarray(values, dtype=np.float64)
    if probabilities.shape != shape:
        raise ValueError(
            f"calibrator {type(calibrator).__name__} must give probabilities of shape {shape}, got"
            f" {probabilities.shape}."
        )
    outside = probabilities[~((probabilities >= 0.0) & (probabilities <= 1.0))]
    if outside.size:
        raise ValueError(
            f"calibrator {type(calibrator).__name__} must give probabilities between 0 and 1, got"
            f" {outside[0]}."
        )
    return probabilities


Priors = Sequence[Prior | None]


class ScoreMap(Protocol):
    """Calibrators of all columns of scores."""

    @property
    def calibrators(self) -> list[Any]:
        """Return the fitted calibrators."""
        ...

    def log_proba(self, scores: Floats, priors: Priors) -> tuple[Floats, Floats]:
        """Return log P(-) and log P(+) of every column, each (n, columns)."""
        ...

    def sample(self, scores: Floats, draws: int | None, rng: Any, priors: Priors) -> Floats:
        """Return posterior draws of P(+), shape (draws, n, columns)."""
        ...

    def interval(self, scores: Floats, level: float, kind: str, priors: Priors) -> Floats:
        """Return posterior intervals of P(+), shape (n, columns, 2)."""
        ...

    def posterior(self) -> xr.DataTree:
        """Return the tree of results."""
        ...

    def problems(self) -> dict[str, FittedProblem]:
        """Return the fitted problem of each column, by the columns' names."""
        ...


@dataclass(frozen=True)
class ColumnMaps:
    """A calibrator for each column."""

    calibrators: list[Any]  # Fitted, one a column
    names: NDArray[Any]  # (columns,): what the columns are for

    def log_proba(self, scores: Floats, priors: Priors) -> tuple[Floats, Floats]:
        """Return log P(-) and log P(+) of every column, each (n, columns)."""
        parts = [log_probabilities(*each) for each in self._columns(scores, priors)]
        negative, positive = (np.stack(side, axis=1) for side in zip(*parts, strict=True))
        return negative, positive

    def sample(self, scores: Floats, draws: int | None, rng: Any, priors: Priors) -> Floats:
        """Return posterior draws of P(+), shape (draws, n, columns); columns are independent."""
        parts = [
            posterior_draws(calibrator, column, draws, rng, prior).T
            for calibrator, column, prior in self._columns(scores, priors)
        ]
        # Draws lie side by side, as they are made and as intervals sort them.
        return np.stack(parts).transpose(2, 1, 0)

    def interval(self, scores: Floats, level: float, kind: str, priors: Priors) -> Floats:
        """Return posterior intervals of P(+), shape (n, columns, 2)."""
        parts = []
        for calibrator, column, prior in self._columns(scores, priors):
            if not hasattr(calibrator, "predict_interval"):
                raise ValueError(no_posterior(calibrator))
            parts.append(calibrator.predict_interval(column, level, kind, prior))
        return np.stack(parts, axis=1)

    def posterior(self) -> xr.DataTree:
        """Return the tree of the one calibrator, or a tree with a branch for each column."""
        for calibrator in self.calibrators:
            if not hasattr(calibrator, "posterior_"):
                raise AttributeError(no_posterior(calibrator))
        trees = [calibrator.posterior_ for calibrator in self.calibrators]
        if len(trees) == 1:
            tree: xr.DataTree = trees[0]
            return tree
        # A slash would open a path.
        names = [str(name).replace("/", "|") for name in self.names.tolist()]
        return xr.DataTree(children=dict(zip(names, trees, strict=True)))

    def problems(self) -> dict[str, FittedProblem]:
        """Return the fitted problem of each column, by the columns' names."""
        out = {}
        for name, calibrator in zip(map(str, self.names.tolist()), self.calibrators, strict=True):
            if not hasattr(calibrator, "fitted_problems"):
                raise AttributeError(no_posterior(calibrator))
            (problem,) = calibrator.fitted_problems().values()
            out[name] = replace(problem, name=name)
        return out

    def _columns(self, scores: Floats, priors: Priors) -> list[tuple[Any, Floats, Prior | None]]:
        return list(zip(self.calibrators, scores.T, priors, strict=True))


@dataclass(frozen=True)
class PooledMap:
    """A TopicCalibrator: the columns are its topics."""

    topics: Any  # Fitted
    names: NDArray[Any]  # (columns,): its topics in the order of the columns

    @property
    def calibrators(self) -> list[Any]:
        """Return the one calibrator."""
        return [self.topics]

    def log_proba(self, scores: Floats, priors: Priors) -> tuple[Floats, Floats]:
        """Return log P(-) and log P(+) of every column, each (n, columns)."""
        log_odds = self.topics.decision_function(scores, self.names, self._of(priors))
        return log_expit(-log_odds), log_expit(log_odds)

    def sample(self, scores: Floats, draws: int | None, rng: Any, priors: Priors) -> Floats:
        """Return posterior draws of P(+), shape (draws, n, columns)."""
        draws_of_topics = self.topics.sample_proba(scores, self.names, draws, rng, self._of(priors))
        return np.asarray(draws_of_topics)

    def interval(self, scores: Floats, level: float, kind: str, priors: Priors) -> Floats:
        """Return posterior intervals of P(+), shape (n, columns, 2)."""
        intervals = self.topics.predict_interval(scores, self.names, level, kind, self._of(priors))
        return np.asarray(intervals)

    def _of(self, priors: Priors) -> dict[Any, Any] | None:
        """Return the priors by topic; of None each topic's own."""
        by_topic = zip(self.names.tolist(), priors, strict=True)
        return {name: prior for name, prior in by_topic if prior is not None} or None

    def posterior(self) -> xr.DataTree:
        """Return the calibrator's tree."""
        tree: xr.DataTree = self.topics.posterior_
        return tree

    def problems(self) -> dict[str, FittedProblem]:
        """Return the topics."""
        by_topic = self.topics.fitted_problems()
        return {name: by_topic[name] for name in self.names.tolist()}


@dataclass(frozen=True)
class JointMap:
    """A calibrator of all classes' scores together, such as temperature scaling."""

    joint: Any  # Fitted on the matrix of scores

    @property
    def calibrators(self) -> list[Any]:
        """Return the one calibrator."""
        return [self.joint]

    def log_proba(self, scores: Floats, priors: Priors) -> tuple[Floats, Floats]:
        """Return log P(-) and log P(+) of every class, each (n, classes)."""
        _refuse(priors, self.joint)
        positive = self.joint.predict_proba(scores)
        with np.errstate(divide="ignore"):
            return np.log1p(-positive), np.log(positive)

    def sample(self, scores: Floats, draws: int | None, rng: Any, priors: Priors) -> Floats:
        """Raise ValueError: there is no posterior."""
        raise ValueError(no_posterior(self.joint))

    def interval(self, scores: Floats, level: float, kind: str, priors: Priors) -> Floats:
        """Raise ValueError: there is no posterior."""
        raise ValueError(no_posterior(self.joint))

    def posterior(self) -> xr.DataTree:
        """Raise AttributeError: there is no posterior."""
        raise AttributeError(no_posterior(self.joint))

    def problems(self) -> dict[str, FittedProblem]:
        """Raise AttributeError: there is no posterior."""
        raise AttributeError(no_posterior(self.joint))


def _refuse(priors: Priors, calibrator: Any) -> None:
    if any(prior is not None for prior in priors):
        raise ValueError(
            f"prior needs a calibrator that knows class priors, {type(calibrator).__name__} does"
            " not: use ScoreCalibrator()."
        )

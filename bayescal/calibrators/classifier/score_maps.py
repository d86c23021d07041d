"""Fitted maps from a matrix of raw scores to probabilities: column by column, pooled, or joint."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import log_expit
from scipy.stats import beta
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from bayescal.calibrators.classifier.targets import MULTICLASS
from bayescal.calibrators.classifier.wrappers import METHODS, ScikitLearnCalibrator
from bayescal.calibrators.multiclass_calibrator import MulticlassCalibrator
from bayescal.calibrators.score_calibrator import ScoreCalibrator
from bayescal.calibrators.topic_calibrator import TopicCalibrator
from bayescal.fitting.curves.curves import Prior, interval_of_draws, prior_draws
from bayescal.fitting.problems.problem import FittedProblem
from bayescal.support.numerics import class_prior
from bayescal.support.validation import Floats, check_choice, generator

MOST_RATES = 1000  # draws of base rates, unless another column sets the number
AUTO, ONE_VS_REST = "auto", "one_vs_rest"


def read_calibrator(calibrator: Any, kind: str, weights: str | None = None) -> Any:
    """Return the checked calibrator of a parameter for a kind of target."""
    calibrator = AUTO if calibrator is None else calibrator
    if isinstance(calibrator, str):
        check_choice("calibrator", calibrator, (AUTO, ONE_VS_REST, *METHODS))
        if calibrator in METHODS:
            return ScikitLearnCalibrator(calibrator)
        joint = calibrator == AUTO and kind == MULTICLASS
        return MulticlassCalibrator(inference="auto") if joint else ScoreCalibrator()
    if isinstance(calibrator, MulticlassCalibrator):
        _check_joint(calibrator, kind)
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
    if weights is not None and not has_fit_parameter(calibrator, weights):
        raise ValueError(
            f"calibrator {type(calibrator).__name__} takes no {weights}: choose one that does,"
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
    # LinearRegression has another parameter of that name.
    ours = isinstance(calibrator, ScoreCalibrator | TopicCalibrator)
    if ours and calibrator.positive is not None:
        raise ValueError(
            f"calibrator must leave positive at None, got {calibrator.positive!r}: give positive to"
            " the classifier around it, which knows whose scores they are."
        )
    return calibrator


def _check_joint(calibrator: MulticlassCalibrator, kind: str) -> None:
    if kind != MULTICLASS:
        raise ValueError(
            "calibrator MulticlassCalibrator must have more than two exclusive classes, got a"
            f" {kind} y: use ScoreCalibrator()."
        )
    if calibrator.exchangeable:
        raise ValueError(
            "calibrator must have exchangeable=False, got True: a classifier's columns stand for"
            " the same class in every document."
        )


def seeded_copies(calibrator: Any, count: int, random_state: Any) -> list[Any]:
    """Return unfitted copies of a calibrator, each with a seed of its own."""
    # safe=False deep-copies objects that are no scikit-learn estimators.
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
        log_odds = calibrator._log_odds(scores, prior)
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


def no_posterior(calibrator: Any) -> str:
    """Return the error message for uncertainty of a calibrator without a posterior."""
    name = getattr(calibrator, "method", None) or type(calibrator).__name__
    return (
        f"calibrator {name} has no posterior, so no intervals, draws, plots or reports: use"
        " ScoreCalibrator()."
    )


def _why_no_calibrator(calibrator: Any) -> str:
    """Return the reason why an object cannot calibrate scores; empty if it can."""
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


@dataclass(frozen=True)
class ScoreMap:
    """Calibrators of all columns of scores."""

    knows_shares: ClassVar[bool] = False  # whether the map accepts priors of several classes
    calibrators: list[Any]  # Fitted
    names: NDArray[Any]  # (columns,): class or label of each column

    def log_proba(self, scores: Floats, priors: Priors) -> tuple[Floats, Floats]:
        """Return log P(-) and log P(+) of every column, each (n, columns)."""
        raise NotImplementedError

    def sample(self, scores: Floats, draws: int | None, rng: Any, priors: Priors) -> Floats:
        """Return posterior draws of P(+), shape (draws, n, columns)."""
        raise ValueError(no_posterior(self.calibrators[0]))

    def interval(self, scores: Floats, level: float, kind: str, priors: Priors) -> Floats:
        """Return posterior intervals of P(+), shape (n, columns, 2)."""
        raise ValueError(no_posterior(self.calibrators[0]))

    def posterior(self) -> xr.DataTree:
        """Return the tree of the one calibrator, or a tree with a branch for each column."""
        self._check_all("posterior_", AttributeError)
        trees: list[xr.DataTree] = [calibrator.posterior_ for calibrator in self.calibrators]
        if len(trees) == 1:
            return trees[0]
        # A slash would separate a path.
        names = [str(name).replace("/", "|") for name in self.names.tolist()]
        return xr.DataTree(children=dict(zip(names, trees, strict=True)))

    def problems(self) -> dict[str, FittedProblem]:
        """Return the fitted problem of each column, by the columns' names."""
        raise AttributeError(no_posterior(self.calibrators[0]))

    @property
    def kept(self) -> NDArray[np.bool_] | slice:
        """Return the classes or labels that have a calibrator, and a column of scores."""
        return slice(None)

    @property
    def of_all_classes(self) -> bool:
        """Return whether one calibrator is for all classes together."""
        return any(isinstance(each, MulticlassCalibrator) for each in self.calibrators)

    def _check_all(self, name: str, error: type[Exception] = ValueError) -> None:
        """Raise an error unless all calibrators have an attribute, which needs a posterior."""
        for calibrator in self.calibrators:
            if not hasattr(calibrator, name):
                raise error(no_posterior(calibrator))


@dataclass(frozen=True)
class ColumnMaps(ScoreMap):
    """A calibrator for each column."""

    def log_proba(self, scores: Floats, priors: Priors) -> tuple[Floats, Floats]:
        """Return log P(-) and log P(+) of every column, each (n, columns)."""
        parts = [log_probabilities(*each) for each in self._columns(scores, priors)]
        negative, positive = (np.stack(side, axis=1) for side in zip(*parts, strict=True))
        return negative, positive

    def sample(self, scores: Floats, draws: int | None, rng: Any, priors: Priors) -> Floats:
        """Return posterior draws of P(+), shape (draws, n, columns); columns are independent."""
        self._check_all("sample_proba")
        parts = [
            np.asarray(calibrator.sample_proba(column, draws, rng, prior)).T
            for calibrator, column, prior in self._columns(scores, priors)
        ]
        # Draws of a document are contiguous in memory, as intervals sort them.
        return np.stack(parts).transpose(2, 1, 0)

    def interval(self, scores: Floats, level: float, kind: str, priors: Priors) -> Floats:
        """Return posterior intervals of P(+), shape (n, columns, 2)."""
        self._check_all("predict_interval")
        parts = [
            calibrator.predict_interval(column, level, kind, prior)
            for calibrator, column, prior in self._columns(scores, priors)
        ]
        return np.stack(parts, axis=1)

    def problems(self) -> dict[str, FittedProblem]:
        """Return the fitted problem of each column, by the columns' names."""
        self._check_all("fitted_problems", AttributeError)
        out = {}
        for name, calibrator in zip(map(str, self.names.tolist()), self.calibrators, strict=True):
            (problem,) = calibrator.fitted_problems().values()
            out[name] = replace(problem, name=name)
        return out

    def _columns(self, scores: Floats, priors: Priors) -> list[tuple[Any, Floats, Prior | None]]:
        return list(zip(self.calibrators, scores.T, priors, strict=True))


@dataclass(frozen=True)
class PooledMap(ScoreMap):
    """A TopicCalibrator: the columns are its topics."""

    def log_proba(self, scores: Floats, priors: Priors) -> tuple[Floats, Floats]:
        """Return log P(-) and log P(+) of every column, each (n, columns)."""
        (topics,) = self.calibrators
        log_odds = topics.decision_function(scores, self.names, self._of(priors))
        return log_expit(-log_odds), log_expit(log_odds)

    def sample(self, scores: Floats, draws: int | None, rng: Any, priors: Priors) -> Floats:
        """Return posterior draws of P(+), shape (draws, n, columns)."""
        (topics,) = self.calibrators
        return np.asarray(topics.sample_proba(scores, self.names, draws, rng, self._of(priors)))

    def interval(self, scores: Floats, level: float, kind: str, priors: Priors) -> Floats:
        """Return posterior intervals of P(+), shape (n, columns, 2)."""
        (topics,), own = self.calibrators, self._of(priors)
        return np.asarray(topics.predict_interval(scores, self.names, level, kind, own))

    def _of(self, priors: Priors) -> dict[Any, Any] | None:
        """Return the given priors by topic; None if all are None."""
        by_topic = zip(self.names.tolist(), priors, strict=True)
        return {name: prior for name, prior in by_topic if prior is not None} or None

    def problems(self) -> dict[str, FittedProblem]:
        """Return the topics."""
        by_topic = self.calibrators[0].fitted_problems()
        return {name: by_topic[name] for name in self.names.tolist()}


@dataclass(frozen=True)
class JointMap(ScoreMap):
    """Temperature scaling of logits, or of log-odds of probabilities."""

    log_odds: bool

    def log_proba(self, scores: Floats, priors: Priors) -> tuple[Floats, Floats]:
        """Return log P(-) and log P(+) of every class, each (n, classes)."""
        logits, shares = as_logits(scores, self.log_odds), _shares(priors)
        positive = self.calibrators[0].predict_proba(logits, *shares)
        with np.errstate(divide="ignore"):
            return np.log1p(-positive), np.log(positive)


@dataclass(frozen=True)
class ClassesMap(JointMap):
    """A MulticlassCalibrator of logits, or of log-odds of probabilities."""

    knows_shares: ClassVar[bool] = True

    def sample(self, scores: Floats, draws: int | None, rng: Any, priors: Priors) -> Floats:
        """Return posterior draws of P(+), shape (draws, n, classes)."""
        logits, shares = as_logits(scores, self.log_odds), _shares(priors)
        return np.asarray(self.calibrators[0].sample_proba(logits, draws, rng, *shares))

    def problems(self) -> dict[str, FittedProblem]:
        """Raise AttributeError: no class has a curve of its own score."""
        raise AttributeError(
            "all classes are calibrated by one map, whose probabilities are no curves of one score:"
            " look at report(), ClassReliabilityDisplay and ConfusionDisplay, or fit with"
            " calibrator='one_vs_rest'."
        )


def as_logits(scores: Floats, log_odds: bool) -> Floats:
    """Return logits of all classes: the scores, or log p if they are log-odds of p."""
    return np.asarray(log_expit(scores)) if log_odds else scores


def _shares(priors: Priors) -> list[Any]:
    """Return the shares of all classes as a further argument, if there are any."""
    return [] if priors[0] is None else [list(priors)]


@dataclass(frozen=True)
class WithBaseRates(ScoreMap):
    """A map with columns for absent classes and constant labels, whose P(+) is a beta of counts."""

    inner: ScoreMap  # The map of the other columns, if any
    counts: Floats  # (columns, 2): negatives and positives (or weights); nan for the map's columns

    def log_proba(self, scores: Floats, priors: Priors) -> tuple[Floats, Floats]:
        """Return log P(-) and log P(+) of every column, each (n, columns)."""
        out = np.empty((2, len(scores), len(self.counts)))
        if self.names.size:
            out[:, :, self.kept] = self.inner.log_proba(scores, self._of_kept(priors))
        for k in np.flatnonzero(~self.kept).tolist():
            rate = class_prior(self.counts[k, 1], self.counts[k].sum())
            if priors[k] is not None:
                rate = float(self._rates(k, priors, MOST_RATES).mean())
            out[:, :, k] = np.log([[1.0 - rate], [rate]])
        return out[0], out[1]

    def sample(self, scores: Floats, draws: int | None, rng: Any, priors: Priors) -> Floats:
        """Return posterior draws of P(+), shape (draws, n, columns)."""
        drawn = np.empty((draws or MOST_RATES, len(scores), 0))
        if self.names.size:
            drawn = self.inner.sample(scores, draws, rng, self._of_kept(priors))
        out = np.empty((*drawn.shape[:2], len(self.counts)))
        out[:, :, self.kept] = drawn
        for k in np.flatnonzero(~self.kept).tolist():
            out[:, :, k] = self._rates(k, priors, len(drawn))[:, None]
        return out

    def interval(self, scores: Floats, level: float, kind: str, priors: Priors) -> Floats:
        """Return posterior intervals of P(+), shape (n, columns, 2)."""
        out = np.empty((len(scores), len(self.counts), 2))
        if self.names.size:
            kept = self._of_kept(priors)
            out[:, self.kept] = self.inner.interval(scores, level, kind, kept)
        for k in np.flatnonzero(~self.kept).tolist():
            out[:, k] = interval_of_draws(self._rates(k, priors, MOST_RATES), level, kind)
        return out

    def posterior(self) -> xr.DataTree:
        """Return the map's tree."""
        return self.inner.posterior()

    def problems(self) -> dict[str, FittedProblem]:
        """Return the fitted problems of the map's columns."""
        return self.inner.problems()

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Return the classes or labels that have a calibrator, and a column of scores."""
        return np.asarray(np.isnan(self.counts[:, 0]), dtype=np.bool_)

    def _of_kept(self, priors: Priors) -> Priors:
        return [prior for prior, kept in zip(priors, self.kept, strict=True) if kept]

    def _rates(self, k: int, priors: Priors, size: int) -> Floats:
        """Return draws of P(+) of a column without documents on one side."""
        negatives, positives = self.counts[k]
        of_counts = beta(positives + 1.0, negatives + 1.0)
        return prior_draws(of_counts if priors[k] is None else priors[k], size)

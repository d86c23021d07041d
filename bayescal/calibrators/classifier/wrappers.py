"""Classifiers whose features are scores or probabilities, and scikit-learn's own calibrators."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV

from bayescal.fitting.class_scores import SUM_TOLERANCE
from bayescal.support.labels import as_labels, in_order, named_columns
from bayescal.support.validation import Floats, as_reals
from bayescal.support.weighting import effective_weights

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


class LogProbabilities(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted classifier whose features are the logarithms of its probabilities."""

    def __init__(self, classes: NDArray[Any]) -> None:
        self.classes = self.classes_ = classes

    def fit(self, X: Floats, y: Any) -> Self:  # noqa: N803
        """Learn nothing."""
        return self

    def predict_proba(self, X: Floats) -> Floats:  # noqa: N803
        """Return the probabilities."""
        return np.exp(X)

    def predict_log_proba(self, X: Floats) -> Floats:  # noqa: N803
        """Return the features."""
        return X


class ProbabilityMatrix(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose features are probabilities: a column a class, or the second of two."""

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Learn which class or label each column is for."""
        values, labels = self._read(X), as_labels(y, "y")
        columns = values.shape[1]
        self.n_features_in_, self._order = columns, np.arange(columns)
        self._names = named = _column_names(X)
        self._exclusive = labels.ndim == 1 or labels.shape[1] == 1
        if not self._exclusive:
            order = _positions_of_some(named, _column_names(y))
            self._order = self._order if order is None else order
            return self
        self._check_sums(values)
        classes = np.unique(labels)
        known = classes.astype(str).tolist()
        if columns == 1 and named[:1] == known[:1] and len(known) == 2:
            raise ValueError(
                f"X must hold the probabilities of the second class, {known[1]!r}, if it has one"
                f" column, got those of {known[0]!r}: give both, or 1 - X."
            )
        if columns > 1 and _positions_of_some(named, known) is not None:
            classes = np.asarray(named_columns(X))
            self._order = np.argsort(classes)
        elif len(known) != max(2, columns):
            classes = np.arange(max(2, columns))
            if not set(known) <= set(classes.astype(str).tolist()):
                raise ValueError(
                    f"X must hold a column of probabilities for each class, got {columns} columns"
                    f" and {len(known)} classes: name the columns by their classes, in a DataFrame."
                )
        self.classes_: NDArray[Any] = np.sort(classes)
        return self

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Return the probabilities, a column for each class or label."""
        values, named = self._read(X), _column_names(X)
        if values.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X must have {self.n_features_in_} columns of probabilities, as when fitted, got"
                f" {values.shape[1]}."
            )
        if named and self._names and named != self._names:
            values = values[:, _positions(named, self._names, "as when fitted")]
        elif not self._names and self._exclusive and self.n_features_in_ > 1:
            values = in_order(values, X, self.classes_, "X")
        values = values[:, self._order]
        self._check_sums(values)
        return np.hstack([1.0 - values, values]) if values.shape[1] == 1 else values

    def _check_sums(self, values: Floats) -> None:
        """Raise ValueError if probabilities of exclusive classes do not sum to 1."""
        if not self._exclusive or values.shape[1] == 1:
            return
        off = values.sum(axis=1) - 1.0
        worst = int(np.abs(off).argmax())
        if abs(off[worst]) > SUM_TOLERANCE:
            raise ValueError(
                "X must hold probabilities that sum to 1 over the classes, those of row"
                f" {worst} sum to {1.0 + off[worst]:.4g}: give every class, or normalise them."
            )

    def _read(self, X: Any) -> Floats:  # noqa: N803
        values = as_reals(X, "X")
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2 or not ((values >= 0.0) & (values <= 1.0)).all():
            raise ValueError(
                "X must hold probabilities from 0 to 1, a column for each class or label, got"
                f" shape {values.shape}, or values outside."
            )
        return values


def _column_names(table: Any) -> list[str]:
    """Return the names of a table's columns; none of an array."""
    return [str(name) for name in named_columns(table) or ()]


def _positions_of_some(named: list[str], wanted: list[str]) -> NDArray[np.intp] | None:
    """Return the positions of wanted columns; None if no name matches, an error if only some do."""
    match = next((name for name in wanted if name in named), None)
    return None if match is None else _positions(named, wanted, f"as for {match}")


def _positions(named: list[str], wanted: list[str], why: str) -> NDArray[np.intp]:
    """Return the position of each wanted column among named columns."""
    if lacking := [name for name in wanted if name not in named]:
        raise ValueError(
            f"X must have a column of probabilities called {', '.join(lacking)}, {why}; got"
            f" {', '.join(named)}."
        )
    return np.array([named.index(name) for name in wanted], dtype=np.intp)


class ScikitLearnCalibrator(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A method of `sklearn.calibration.CalibratedClassifierCV` as a calibrator of raw scores.

    `calibrated_` is the fitted one; `a_` and `b_` ("sigmoid"), `beta_` ("temperature"),
    `X_thresholds_` and `y_thresholds_` ("isotonic") are scikit-learn's own.

    Examples
    --------
    >>> scores, labels = np.array([[-2.0], [-1.0], [0.5], [1.0]]), [0, 0, 1, 1]
    >>> ScikitLearnCalibrator("sigmoid").fit(scores, labels).predict_proba(scores)[:, 1].round(1)
    array([0.2, 0.4, 0.7, 0.8])
    """

    def __init__(self, method: str = "sigmoid") -> None:
        self.method = method

    def fit(
        self,
        scores: Floats,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        inclusion: ArrayLike | None = None,
    ) -> Self:
        """Fit the method; inclusion probabilities become weights 1 / inclusion."""
        weight = effective_weights(sample_weight, inclusion, len(scores))
        every = np.arange(len(scores))
        # The public interface to these methods: one fold that tests all documents.
        whole = CalibratedClassifierCV(
            GivenScores(), method=self.method, cv=[(every, every)], ensemble=True
        )
        with config_context(enable_metadata_routing=False):
            self.calibrated_ = whole.fit(scores, y, weight)
        self.classes_: NDArray[Any] = self.calibrated_.classes_
        return self

    def predict_proba(self, scores: Floats) -> Floats:
        """Return probabilities of the classes, shape (n, classes)."""
        return np.asarray(self.calibrated_.predict_proba(scores))

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of scikit-learn's own fitted calibrator, such as a_ or beta_."""
        # Copies and pickles look up private names before anything is fitted.
        if name.endswith("_") and not name.startswith("_") and name != "calibrated_":
            return getattr(self.calibrated_.calibrated_classifiers_[0].calibrators[0], name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

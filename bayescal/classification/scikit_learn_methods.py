"""scikit-learn's own calibration methods, fitted on raw scores that are already there."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV

from bayescal.validation import Floats

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
        """
        Fit the method.

        Parameters
        ----------
        scores : array of shape (n, 1) or (n, classes)
            Raw scores; of two classes those of the second.
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,), optional
            Weights.
        """
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
        """Return what scikit-learn's own calibrator has learnt, such as a_ or beta_."""
        # Nothing private: copies and pickles ask for that before there is anything.
        if name.endswith("_") and not name.startswith("_") and name != "calibrated_":
            return getattr(self.calibrated_.calibrated_classifiers_[0].calibrators[0], name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

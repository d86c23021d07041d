"""FittedClassifier: summary, report and file of both classifiers."""

from __future__ import annotations

import io
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bayescal.calibrators.classifier.targets import (
    BINARY,
    MULTICLASS,
    MULTILABEL,
    Target,
    read_target,
)
from bayescal.decisions.by_topic import are_scores
from bayescal.fitting.problems.problem import Problems, summary_of
from bayescal.fitting.results.tree import ESTIMATOR, versions
from bayescal.support.files import read_sealed, sealed, whole_file
from bayescal.support.labels import match_labels
from bayescal.support.validation import Floats, check_fraction

if TYPE_CHECKING:
    import pandas as pd


CLASSIFIER = "classifier"


Model = TypeVar("Model")


def explains_method(cls: type[Model]) -> type[Model]:
    """Return the class, whose constructor names the counterpart of scikit-learn's `method`."""
    init: Any = cls.__init__

    @wraps(init)
    def checked(self: Model, *given: Any, **options: Any) -> None:
        if "method" in options:
            raise TypeError(
                "CalibratedClassifier takes calibrator= in place of scikit-learn's method=: pass"
                f" calibrator={options['method']!r}."
            )
        init(self, *given, **options)

    cls.__init__ = checked  # type: ignore[assignment]
    return cls


class FittedClassifier:
    """Mixin of a classifier with a posterior; it precedes BaseEstimator among the bases."""

    def fitted_problems(self) -> Problems:
        """Return the fitted problems, for plots and reports."""
        raise NotImplementedError

    @property
    def several_classes(self) -> bool:
        """True if each document has one of more than two classes."""
        return getattr(self, "_kind", None) == MULTICLASS

    def findings(self, level: float = 0.9) -> tuple[str, ...]:
        """Return findings on the scores fitted; see `MulticlassCalibrator.findings`."""
        check_fraction(level=level)
        return ()

    def _set_target(self, target: Target, first: Any) -> None:
        """Set attributes that describe the data, and copy the first fitted classifier's."""
        self._kind, self.classes_ = target.kind, target.classes
        self._names, self._turned = target.names, target.turned
        if target.kind == MULTILABEL:
            self.labels_ = target.names
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(first, name):
                setattr(self, name, getattr(first, name))

    def problem_scores(self, X: Any) -> Floats:  # noqa: N803
        """Return the scores of documents X, a column for each of `fitted_problems`, in its units.

        Raises ValueError for an ensemble, which has no single score.
        """
        raise NotImplementedError

    def labelled_scores(self, X: Any, y: Any) -> Any:  # noqa: N803
        """Return the scores and labels of held-out documents, for `bayescal.report`.

        For two classes a pair, else a table with columns score, label (0 or 1) and topic (the class
        or label). Raises ValueError like `problem_scores`, and if y holds classes that were not
        fitted.
        """
        import pandas as pd

        scores, kind, classes = self.problem_scores(X), self._kind, self._names
        if kind == BINARY:
            match_labels(y, classes)
            return scores[:, 0], y
        target = read_target(y, len(y), known=None if kind == MULTILABEL else classes)
        if target.kind != kind or (kind == MULTILABEL and target.names.size != classes.size):
            raise ValueError(f"y must be of the classes fitted, {classes.tolist()}.")
        kept = self._kept_columns()
        names, labels = map(str, classes[kept].tolist()), target.positive[:, kept].astype(np.int64)
        return pd.concat(
            [
                pd.DataFrame({"score": score, "label": label, "topic": name})
                for name, score, label in zip(names, scores.T, labels.T, strict=True)
            ]
        )

    def _of_columns(self, values: NDArray[Any], axis: int = -1) -> NDArray[Any]:
        """Return values of the only column of two classes, else of all columns."""
        return values.take(0, axis) if self._kind == BINARY else values

    def _kept_columns(self) -> NDArray[np.bool_] | slice:
        """Return the classes or labels that have a problem."""
        return slice(None)

    def summary(self, level: float = 0.9) -> pd.DataFrame:
        """Return the posterior of every parameter; see `ScoreCalibrator.summary`.

        With several classes, labels or folds, these are the first level of the rows. Raises
        AttributeError if there is no posterior.
        """
        check_fraction(level=level)
        return self._summary(level)

    def _summary(self, level: float) -> pd.DataFrame:
        return summary_of(self.fitted_problems(), level)

    def report(
        self,
        path: str | Path,
        X: Any = None,  # noqa: N803
        y: Any = None,
        *,
        collection: Any = None,
        level: float = 0.9,
        threshold: float | None = None,
        recall: float = 0.9,
        title: str | None = None,
    ) -> Path:
        """Write a report: one HTML file with curves, bands, decisions, model and provenance.

        Parameters
        ----------
        path, level, threshold, recall, title
            See `bayescal.report.write_report`; a threshold is a raw score.
        X, y : documents and their classes, optional
            Held-out documents, for reliability; not for an ensemble unless one map calibrates more
            than two classes, where the page judges `predict_proba`. A pair (X, y) may be passed as
            X, and scores of two classes in place of documents.
        collection : documents, optional
            Unlabelled documents to read from.

        Raises
        ------
        AttributeError
            If there is no posterior.
        ValueError, FileNotFoundError, OSError
            See `bayescal.report.write_report`; no partial file stays.
        """
        from bayescal.report import write_report

        if y is None and isinstance(X, tuple) and len(X) == 2:
            X, y = X  # noqa: N806
        if (X is None) != (y is None):
            raise ValueError("X and y must be given together: held-out documents and classes.")
        test = None
        if X is not None:
            scores = self._kind == BINARY and are_scores(X)
            test = (X, y) if self.several_classes or scores else self.labelled_scores(X, y)
        if collection is not None and not self.several_classes:
            collection = self.problem_scores(collection)
        return write_report(
            self,
            path,
            test=test,
            collection=collection,
            level=level,
            threshold=threshold,
            recall=recall,
            title=title,
        )

    def save(self, path: str | Path) -> Path:
        """Write the fitted classifier to a file; `load` reads it.

        The file is a pickle, as usual for scikit-learn: only load it with the same package versions
        and from a source you trust. Calibrators alone need no pickle:
        `calibrated_classifiers_[0].calibrators[0].save`. Raises FileNotFoundError if the folder
        does not exist.
        """
        check_is_fitted(self, "classes_")
        name = type(self).__name__
        content = {ESTIMATOR: name, "bayescal_versions": versions(), CLASSIFIER: self}
        image = io.BytesIO()
        joblib.dump(content, image, compress=3)
        with whole_file(path) as temporary:
            temporary.write_bytes(sealed(image.getvalue()))
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file of `save`, written by someone you trust: a pickle can run any code.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If something else wrote it.
        """
        source = Path(path)
        if not source.is_file():
            raise FileNotFoundError(f"there is no file {source}.")
        advice = f"{source} must be a file that {cls.__name__}.save wrote"
        image = read_sealed(source, f"{cls.__name__}.save")
        try:
            content = joblib.load(io.BytesIO(image))
        except Exception as err:  # a pickle of other versions may raise anything
            raise ValueError(f"{advice}: it cannot be read as one ({err!r}).") from err
        if not isinstance(content, dict) or ESTIMATOR not in content:
            raise ValueError(f"{advice}, got a pickle of something else.")
        loaded, made_by = content[CLASSIFIER], content[ESTIMATOR]
        if not isinstance(loaded, cls):
            raise ValueError(f"{advice}, got a {made_by}: use {made_by}.load.")
        return loaded

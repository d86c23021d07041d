"""FittedEstimator: the scikit-learn scaffold around a fit that all calibrators share."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from bayescal.fitting.results import storage
from bayescal.fitting.results import tree as provenance
from bayescal.fitting.results.tree import Fit, Results
from bayescal.support.validation import generator

if TYPE_CHECKING:
    import xarray as xr

Fitted = TypeVar("Fitted", bound=Fit[Any])


class FittedEstimator(BaseEstimator, Generic[Fitted]):  # type: ignore[misc]
    """
    A scikit-learn estimator around one `Fit`.

    A subclass also inherits from the record of its parameters, whose fields are the arguments of
    its constructor, and sets the attribute `_fitted` in `fit`.
    """

    _fit_type: ClassVar[type[Any]]
    _column: ClassVar[str] = "score"  # the default name of scores in exported files

    @property
    def classes_(self) -> NDArray[Any]:
        """The two classes in sorted order."""
        return np.sort(self._fit.classes)

    @property
    def results_(self) -> xr.DataTree:
        """The tree of results, for every inference."""
        return self._fit.tree

    @property
    def posterior_(self) -> xr.DataTree:
        """The tree of results, where it holds a posterior."""
        return self._fit.tree

    def save(self, path: str | Path) -> Path:
        """
        Write the fitted calibrator to a netCDF file; `bayescal.load` reads it.

        Raises
        ------
        FileNotFoundError
            If the folder of `path` does not exist.
        ValueError
            If a parameter cannot be written, such as a function among a sampler's options.
        """
        return self._fit.save(path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """
        Read a fitted calibrator that `save` wrote; `bayescal.load` reads any file or folder.

        Raises FileNotFoundError if there is no such file, and ValueError if another estimator wrote
        it, or a later version of bayescal.
        """
        results = storage.read_tree(path)
        provenance.check_made_by(cls._fit_type.estimator, results, path)
        return cls.from_results(results)

    @classmethod
    def from_results(cls, results: xr.DataTree) -> Self:
        """Return the calibrator that made a tree of results, `results_`."""
        return cls._of(cls._fit_type.from_results(Results.of_tree(results)))

    def report(
        self,
        path: str | Path,
        test: Any = None,
        *,
        fitted: Any = None,
        collection: Any = None,
        level: float = 0.9,
        threshold: float | None = None,
        recall: float = 0.9,
        likelihood_ratio: bool = False,
        title: str | None = None,
    ) -> Path:
        """
        Write a report: one HTML file with the curves, bands, decisions, model and provenance.

        Parameters
        ----------
        path : str or Path
            Where to write the file.
        test : DataFrame or tuple of arrays, optional
            Held-out documents that test the probabilities: columns score and label (and topic), or
            arrays in this order. For several classes (scores, labels).
        fitted : DataFrame or tuple, optional
            The documents fitted, in the same form, for histograms and expected costs of a
            `TopicCalibrator`, which does not keep them.
        collection, level, threshold, recall, likelihood_ratio, title
            See `bayescal.report.write_report`.

        Raises
        ------
        ValueError, FileNotFoundError, OSError
            See `bayescal.report.write_report`; no partial file stays.
        """
        from bayescal.report import write_report

        return write_report(
            self,
            path,
            test=test,
            fitted=fitted,
            collection=collection,
            level=level,
            threshold=threshold,
            recall=recall,
            likelihood_ratio=likelihood_ratio,
            title=title,
        )

    def export(
        self,
        path: str | Path,
        topic: Any = None,
        *,
        format: str = "python",
        level: float | None = 0.9,
        prior: Any = None,
        column: str | None = None,
    ) -> Path:
        """
        Write probabilities and bands to a file that works without bayescal.

        Parameters and errors are those of `bayescal.report.export`. Scores are called `column`
        where the file is used; by default "score", for several classes "scores".
        """
        from bayescal.report.export.writing import export

        return export(
            self,
            path,
            format=format,
            topic=topic,
            level=level,
            prior=prior,
            column=self._column if column is None else column,
        )

    @classmethod
    def _of(cls, fitted: Fit[Any]) -> Self:
        """Return the estimator around a fit."""
        estimator = cls(**vars(fitted.parameters))
        estimator._fitted = fitted
        return estimator

    def _parameters(self) -> Any:
        """Return a copy of the current parameters."""
        names = [each.name for each in fields(self._fit_type.parameter_type)]
        return self._fit_type.parameter_type(**{name: getattr(self, name) for name in names})

    @property
    def _fit(self) -> Fitted:
        """Return the fit; raise NotFittedError before it."""
        check_is_fitted(self)
        fitted: Fitted = self._fitted
        return fitted

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")


class ScoreEstimator(ClassifierMixin, FittedEstimator[Fitted]):  # type: ignore[misc]
    """The scaffold of calibrators of one column of scores and two classes."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags


def chosen_draws(draws: int | None, size: int, random_state: Any = None) -> NDArray[np.intp] | None:
    """Return the positions of `draws` of `size` draws, without replacement; None for all."""
    if draws is None:
        return None
    if not 1 <= draws <= size:
        raise ValueError(f"draws must be from 1 to {size}, got {draws}.")
    return generator(random_state).choice(size, draws, replace=False)

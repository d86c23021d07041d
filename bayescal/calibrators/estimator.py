"""FittedEstimator: the scikit-learn scaffold around a fit that all calibrators share."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import fields
from functools import partial
from html import escape
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from bayescal.fitting.results import storage
from bayescal.fitting.results import tree as provenance
from bayescal.fitting.results.tree import Fit, Results
from bayescal.fitting.settings import VAGUE
from bayescal.inference.design_effect import DesignEffect
from bayescal.support.validation import generator

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

Fitted = TypeVar("Fitted", bound=Fit[Any])


class Exported:
    """Mixin of estimators whose map from scores to probabilities can be written to a file."""

    def _exported(self) -> Any:
        """Return the calibrator whose map is written."""
        return self

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
        """Write the map from scores to probabilities and bands; the file needs no bayescal.

        Parameters and errors are those of `bayescal.report.export`. ValueError is also raised for a
        classifier whose probabilities no single map gives: an ensemble, or several classes each
        calibrated against the rest.
        """
        from bayescal.report.export.writing import export

        options = {"format": format, "level": level, "prior": prior, "column": column}
        return export(self._exported(), path, topic=topic, **options)


# Displays of fitted estimators in notebooks: notes and a matplotlib picture.

WITHOUT_PICTURE = "pip install bayescal[plots] shows the picture."
WIDTH, HEIGHT, DPI = 5.5, 3.4, 90  # inches, and dots per inch

# Draws into axes of matplotlib.
Draw = Callable[[Any], object]


class FittedHTML:
    """Mixin that shows `_fitted_html()` after a fit; it precedes BaseEstimator."""

    def _fitted_html(self) -> str | None:
        """Return the results of a fitted estimator as HTML; None for scikit-learn's display."""
        raise NotImplementedError

    def _repr_html_inner(self) -> str:
        with suppress(NotFittedError):
            check_is_fitted(self)
            if (own := self._fitted_html()) is not None:
                return own
        inner: str = super()._repr_html_inner()  # type: ignore[misc]
        return inner

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle


def picture_html(
    head: str, notes: Sequence[str], title: str, draw: Draw | None, height: float = HEIGHT
) -> str:
    """Return a head, notes and a picture, if any, as HTML."""
    lines = [f"<strong>{escape(head)}</strong>", *map(escape, notes)]
    text = "".join(f"<p style='margin:0.2em 0'>{line}</p>" for line in lines)
    return text if draw is None else text + _picture(draw, title, height)


def _picture(draw: Draw, title: str, height: float) -> str:
    """Return a picture as HTML; without matplotlib the command that installs it."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        return f"<p>{WITHOUT_PICTURE}</p>"
    figure, image = Figure(figsize=(WIDTH, height), layout="constrained"), BytesIO()
    with rc_context({"text.parse_math": False}):  # names may hold dollar signs
        ax = figure.subplots()
        draw(ax)
        ax.set_title(title)
        figure.savefig(image, format="png", dpi=DPI)
    code = b64encode(image.getvalue()).decode()
    return f"<img alt='{escape(title)}' src='data:image/png;base64,{code}'>"


DRAWN = 6  # curves of classes, labels, folds or sites in a notebook


def draw_curves(estimator: Any, ax: Axes) -> None:
    """Draw the probability given the score, for the first of an estimator's fitted problems."""
    from bayescal.plots import ProbabilityDisplay

    names = list(estimator.fitted_problems())
    for name in names[:DRAWN]:
        own = {"topic": name, "name": str(name), "ticks": len(names) == 1} if name != "" else {}
        ProbabilityDisplay.from_estimator(estimator, ax=ax, **own)
    if len(names) > 1:
        ax.set_ylabel("probability")


def curves_html(estimator: Any, documents: int, notes: Sequence[str] = ()) -> str:
    """Return a heading, notes and the curves of an estimator's fitted problems as HTML."""
    head = f"{type(estimator).__name__} fitted to {documents:,} documents"
    title = "Probability given the score"
    return picture_html(head, notes, title, partial(draw_curves, estimator))


class FittedEstimator(FittedHTML, Exported, BaseEstimator, Generic[Fitted]):  # type: ignore[misc]
    """A scikit-learn estimator around one `Fit`; subclasses inherit a record of parameters too."""

    _fit_type: ClassVar[type[Any]]

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

    @property
    def design_effect_(self) -> DesignEffect | None:
        """The design effect of clusters; None for a fit without any."""
        return self._fit.design_effect

    def save(self, path: str | Path) -> Path:
        """Write the fitted calibrator to a netCDF file; `bayescal.load` reads it.

        Raises
        ------
        FileNotFoundError
            If the folder of `path` does not exist.
        ValueError
            If a parameter cannot be written, such as a function among a sampler's options, or one
            that a subclass added.
        """
        known = {*vars(self._parameters()), "n_jobs", "memory"}  # these two are the machine's
        if added := sorted(self.get_params(deep=False).keys() - known):
            raise ValueError(
                f"the parameter {added[0]} of the {type(self).__name__} cannot be saved: files hold"
                " the parameters of bayescal's own classes. Use pickle or joblib.dump."
            )
        return self._fit.save(path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a fitted calibrator that `save` wrote; `bayescal.load` reads any file or folder.

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
        """Write a report: one HTML file with the curves, bands, decisions, model and provenance.

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


class SharedKnowledge:
    """Mixin of estimators whose clones share their prior knowledge; it precedes BaseEstimator."""

    prior_knowledge: Any

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy that shares the prior knowledge, which may be fitted."""
        bare = copy(self)
        bare.prior_knowledge = VAGUE
        clone: Self = super(SharedKnowledge, bare).__sklearn_clone__()  # type: ignore[misc]
        clone.prior_knowledge = self.prior_knowledge
        return clone


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
    whole = isinstance(draws, int | np.integer) and not isinstance(draws, bool)
    if not (whole and 1 <= draws <= size):
        raise ValueError(f"draws must be a whole number from 1 to {size}, got {draws!r}.")
    return generator(random_state).choice(size, draws, replace=False)

"""What fitted classifiers with a posterior offer alike: a summary, a report, and a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from bayescal.classification.storage import read_classifier, write_classifier
from bayescal.fitted.problem import Problems, summary_of
from bayescal.validation import check_fraction

if TYPE_CHECKING:
    import pandas as pd


class FittedClassifier:
    """
    A classifier whose probabilities have a posterior, which `fitted_problems` tells of.

    To stand before sklearn.base.BaseEstimator.
    """

    def fitted_problems(self) -> Problems:
        """Return what was fitted, as plots and reports read it."""
        raise NotImplementedError

    def _held_out(self, X: Any, y: Any) -> Any:  # noqa: N803
        """Return scores and labels of held-out documents, as `write_report` takes them."""
        raise NotImplementedError

    def summary(self, level: float = 0.9) -> pd.DataFrame:
        """
        Return the posterior of every parameter; see `ScoreCalibrator.summary`.

        Parameters
        ----------
        level : float
            Probability of the equal-tailed posterior interval.

        Returns
        -------
        pandas.DataFrame
            A table as of one calibrator, with rows (class, parameter); with several classes, labels
            or folds, these are the first level of its rows.

        Raises
        ------
        AttributeError
            If there is no posterior.
        """
        check_fraction(level=level)
        return summary_of(self.fitted_problems(), level)

    def report(
        self,
        path: str | Path,
        X: Any = None,  # noqa: N803
        y: Any = None,
        *,
        level: float = 0.9,
        threshold: float | None = None,
        recall: float = 0.9,
        title: str | None = None,
    ) -> Path:
        """
        Write a report: one HTML file with curves, bands, decisions, model and provenance.

        Parameters
        ----------
        path : str or Path
            Where to write the file.
        X, y : documents and their classes, optional
            Held-out documents, whose reliability it shows; not for calibrators of several folds.
        level : float
            Posterior probability of the bands at each score.
        threshold, recall
            See `bayescal.report.write_report`: a threshold to judge, of the score that the problem
            has, and a recall to reach.
        title : str, optional
            Title of the page.

        Raises
        ------
        ValueError
            If an argument is not as described.
        AttributeError
            If there is no posterior.
        FileNotFoundError, OSError
            If the file cannot be written; nothing stays then.
        """
        from bayescal.report import write_report

        if (X is None) != (y is None):
            raise ValueError("X and y must be given together: held-out documents and classes.")
        test = None if X is None else self._held_out(X, y)
        return write_report(
            self, path, test=test, level=level, threshold=threshold, recall=recall, title=title
        )

    def save(self, path: str | Path) -> Path:
        """
        Write all that was fitted to a file; `load` reads it.

        The file is a pickle, as scikit-learn's own models are kept: it is read by the same versions
        of the packages, and by those alone who trust whoever wrote it. The calibrators of a
        `CalibratedClassifier` by themselves can be kept without a pickle:
        `calibrated_classifiers_[0].calibrators[0].save`.

        Parameters
        ----------
        path : str or Path
            The file to write.

        Raises
        ------
        FileNotFoundError
            If the folder does not exist.
        sklearn.exceptions.NotFittedError
            If nothing was fitted yet.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "classes_")
        return write_classifier(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """
        Read what `save` wrote; it is a pickle, and runs the code it names.

        Parameters
        ----------
        path : str or Path
            The file to read, written by someone you trust.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If something else wrote it.
        """
        found: Self = read_classifier(path, cls)
        return found

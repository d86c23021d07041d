"""Reliability of several classes: of the likeliest class, and class by class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayescal.metrics import reliability_curve, top_label
from bayescal.metrics.inputs import read_class_outcomes
from bayescal.plots import display
from bayescal.support.palette import FAINT_COLOUR
from bayescal.support.validation import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TOP = "likeliest class"
PANEL, COLUMNS = 2.3, 4  # inches, and panels in a row
RESAMPLES = 300


class ClassReliabilityDisplay(display.Display):
    """
    Reliability of the likeliest class and of each class, a panel for each.

    Points are bins of equal numbers of documents: the mean probability, and the share of documents
    that have the class. The band, around the diagonal, holds at each point `level` of the shares
    that calibrated probabilities would give. Each document counts once in each panel.

    Parameters
    ----------
    data : xarray.Dataset
        predicted, observed, lower, upper and weight (curve, bin); nan where a curve has fewer bins.

    Attributes
    ----------
    axes_ : list of matplotlib.axes.Axes
        The panels, in the order of the curves.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal.plots import ClassReliabilityDisplay
    >>> p = np.random.default_rng(0).dirichlet(np.ones(3), size=200)
    >>> display = ClassReliabilityDisplay.from_predictions(p.argmax(axis=1), p)
    >>> display.data["curve"].values.tolist()
    ['likeliest class', '0', '1', '2']
    """

    axes_: list[Axes]

    @classmethod
    def from_estimator(
        cls,
        calibrator: Any,
        scores: Any,
        y: ArrayLike,
        *,
        prior: Any = None,
        n_bins: int = 10,
        level: float = 0.9,
        random_state: Any = 0,
        ax: Axes | None = None,
    ) -> Self:
        """
        Plot the reliability of the probabilities that `predict_proba` returns.

        Parameters
        ----------
        calibrator : MulticlassCalibrator, CalibratedClassifier or any classifier
            Fitted, of several exclusive classes.
        scores, y : array-like
            Held-out documents, as its `predict_proba` takes them, and their classes.
        prior : array-like or mapping, optional
            Shares of the classes among these documents; see `MulticlassCalibrator.predict_proba`.
        n_bins, level, random_state, ax
            See `from_predictions`.

        Raises
        ------
        ValueError
            If an argument is not as described.
        """
        p = predicted(calibrator, scores, prior)
        return cls.from_predictions(
            y,
            p,
            classes=calibrator.classes_,
            n_bins=n_bins,
            level=level,
            random_state=random_state,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        n_bins: int = 10,
        level: float = 0.9,
        random_state: Any = 0,
        ax: Axes | None = None,
    ) -> Self:
        """
        Plot the reliability of predicted probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            The class of each document.
        y_prob : array-like of shape (n, K)
            Probabilities that sum to 1.
        classes : array-like of shape (K,), optional
            The classes, in the order of the columns; by default 0 to K - 1.
        n_bins : int
            Number of bins.
        level : float
            Probability of the band at each point.
        random_state : int, Generator, RandomState or None
            Seeds the band.
        ax : matplotlib.axes.Axes, optional
            Where to draw the likeliest class alone; by default all are drawn in a new figure.

        Raises
        ------
        ValueError
            If an argument is not as described.
        """
        label, p, names = read_class_outcomes(y_true, y_prob, classes)
        right, confidence = top_label(label, p)
        pairs = [(right, confidence), *((label == k, p[:, k]) for k in range(p.shape[1]))]
        curves = [
            reliability_curve(
                truth,
                probability,
                method="quantile",
                n_bins=n_bins,
                level=level,
                resamples=RESAMPLES,
                rng=random_state,
            )
            for truth, probability in pairs
        ]
        fields: dict[str, list[Any]] = {
            "predicted": [each.prob_pred for each in curves],
            "observed": [each.prob_true for each in curves],
            "lower": [each.lower for each in curves],
            "upper": [each.upper for each in curves],
            "weight": [each.weight for each in curves],
        }
        data = xr.Dataset(
            {name: (("curve", "bin"), _padded(rows, n_bins)) for name, rows in fields.items()},
            {"curve": [TOP, *map(str, names.tolist())]},
            {"level": level},
        )
        return cls(data).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """
        Draw.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw the first curve alone; by default all are drawn in a new figure.
        """
        curves = self.data["curve"].values.tolist()
        if ax is None:
            columns = min(COLUMNS, len(curves))
            rows = -(-len(curves) // columns)
            _, grid = display.require("matplotlib.pyplot").subplots(
                rows,
                columns,
                figsize=(PANEL * columns, PANEL * rows + 0.3),
                layout="constrained",
                squeeze=False,
                sharex=True,
                sharey=True,
            )
            self.axes_ = list(grid.ravel()[: len(curves)])
            for spare in grid.ravel()[len(curves) :]:
                spare.set_visible(False)
            self._begin(self.axes_[0])
            self.figure_.supxlabel("probability", fontsize="medium")
            self.figure_.supylabel("share of documents", fontsize="medium")
        else:
            self.axes_ = [self._begin(ax)]
            ax.set_xlabel("probability")
            ax.set_ylabel("share of documents")
        for panel, name in zip(self.axes_, curves, strict=False):
            self._draw(panel, self.data.sel(curve=name).dropna("bin"), str(name))
        return self

    def _draw(self, ax: Axes, curve: xr.Dataset, name: str) -> None:
        x = curve["predicted"].values
        band: display.Look = {"color": FAINT_COLOUR, "alpha": 0.35, "linewidth": 0.0}
        text = f"{100 * self.data.attrs['level']:g} %, if calibrated"
        ax.fill_between(x, curve["lower"], curve["upper"], label=text, **band)
        ax.plot([0.0, 1.0], [0.0, 1.0], **display.REFERENCE)
        look = display.POSTERIOR | {"marker": "o", "markersize": 3.5}
        ax.plot(x, curve["observed"], label="share in bins", **look)
        ax.set_title(name, fontsize="medium")
        ax.set_xlim(-0.02, 1.02)
        ax.set_ylim(-0.02, 1.02)
        display.finish(ax, legend="lower right" if ax is self.axes_[0] else None)


def predicted(calibrator: Any, documents: Any, prior: Any) -> Floats:
    """Return the probabilities of several classes that a calibrator or classifier gives."""
    if not hasattr(calibrator, "predict_proba") or not hasattr(calibrator, "classes_"):
        raise TypeError(
            "calibrator must be fitted, and have predict_proba and classes_, got an object of type"
            f" {type(calibrator).__name__}."
        )
    options = {} if prior is None else {"prior": prior}
    return np.asarray(calibrator.predict_proba(documents, **options))


def drawn(calibrator: Any, documents: Any, prior: Any) -> Floats:
    """Return posterior draws of the probabilities of several classes."""
    if not hasattr(calibrator, "sample_proba"):
        raise TypeError(
            "calibrator must have posterior draws (sample_proba), got an object of type"
            f" {type(calibrator).__name__}."
        )
    options = {} if prior is None else {"prior": prior}
    return np.asarray(calibrator.sample_proba(documents, **options))


def _padded(rows: list[Any], size: int) -> Floats:
    out = np.full((len(rows), size), np.nan)
    for k, row in enumerate(rows):
        out[k, : row.size] = row
    return out

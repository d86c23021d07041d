"""Confusions of several classes: how often, and how often it should be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayescal.metrics import class_verdict
from bayescal.plots import display
from bayescal.plots.class_reliability import drawn, predicted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CELL, LEAST = 0.62, 3.2  # inches of a cell, and of the axes
MOST_TEXT = 12  # classes whose cells have numbers
LIGHT = 0.55  # share of the darkest colour from which text is white


class ConfusionDisplay(display.Display):
    """
    The table of confusions beside what the probabilities expect.

    Rows are likeliest classes, columns own classes. A cell has the number of documents, and below
    it the interval in which it lies if probabilities and bands are right. A number outside its
    interval is bold and framed.

    Parameters
    ----------
    data : xarray.Dataset
        observed, expected, lower and upper (likeliest, own).

    Attributes
    ----------
    image_ : matplotlib.image.AxesImage
        The cells, coloured by the share of their row.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal.plots import ConfusionDisplay
    >>> p = np.random.default_rng(0).dirichlet(np.ones(3), size=200)
    >>> display = ConfusionDisplay.from_predictions(p.argmax(axis=1), p)
    >>> int(display.data["observed"].sum())
    200
    """

    @classmethod
    def from_estimator(
        cls,
        calibrator: Any,
        scores: Any,
        y: ArrayLike,
        *,
        prior: Any = None,
        level: float = 0.95,
        ax: Axes | None = None,
    ) -> Self:
        """
        Plot the confusions of held-out documents.

        Parameters
        ----------
        calibrator : MulticlassCalibrator or CalibratedClassifier
            Fitted, of several exclusive classes.
        scores, y : array-like
            Held-out documents, as its `predict_proba` takes them, and their classes.
        prior : array-like or mapping, optional
            Shares of the classes among these documents.
        level, ax
            See `from_predictions`.

        Raises
        ------
        ValueError
            If an argument is not as described.
        """
        p, draws = predicted(calibrator, scores, prior), drawn(calibrator, scores, prior)
        return cls.from_predictions(
            y, p, classes=calibrator.classes_, draws=draws, level=level, ax=ax
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        draws: ArrayLike | None = None,
        level: float = 0.95,
        ax: Axes | None = None,
    ) -> Self:
        """
        Plot the confusions of predicted probabilities.

        Parameters
        ----------
        y_true, y_prob, classes, draws, level
            See `bayescal.metrics.class_verdict`.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default axes of a new figure.

        Raises
        ------
        ValueError
            If an argument is not as described.
        """
        result = class_verdict(y_true, y_prob, classes, draws=draws, level=level)
        names = [str(name) for name in result.classes.tolist()]
        tables = {
            "observed": result.confusion,
            "expected": result.confusion_expected,
            "lower": result.confusion_lower,
            "upper": result.confusion_upper,
        }
        data = xr.Dataset(
            {name: (("likeliest", "own"), table) for name, table in tables.items()},
            {"likeliest": names, "own": names},
            {"level": level},
        )
        return cls(data).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """
        Draw.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default axes of a new figure.
        """
        data, names = self.data, self.data["own"].values.tolist()
        size = max(LEAST, CELL * len(names) + 1.2)
        ax = self._begin(ax, (size, size))
        observed = data["observed"].values
        share = observed / np.maximum(observed.sum(axis=1, keepdims=True), 1.0)
        self.image_ = ax.imshow(share, cmap="Blues", vmin=0.0, vmax=1.0)
        outside = (observed < data["lower"].values) | (observed > data["upper"].values)
        for j, k in np.ndindex(*observed.shape):
            if len(names) <= MOST_TEXT:
                self._write(ax, j, k, bool(share[j, k] > LIGHT), bool(outside[j, k]))
            if outside[j, k]:
                patches = display.require("matplotlib.patches")
                frame = patches.Rectangle((k - 0.47, j - 0.47), 0.94, 0.94, fill=False)
                ax.add_patch(frame)
        ax.set_xticks(range(len(names)), names, rotation=45 if len(names) > 4 else 0)
        ax.set_yticks(range(len(names)), names)
        ax.set_xlabel("own class")
        ax.set_ylabel("likeliest class")
        return self

    def _write(self, ax: Axes, j: int, k: int, dark: bool, outside: bool) -> None:
        cell = self.data.isel(likeliest=j, own=k)
        look: display.Look = {"ha": "center", "color": "white" if dark else "black"}
        weight = "bold" if outside else "normal"
        ax.text(k, j, f"{float(cell['observed']):.0f}", va="bottom", weight=weight, **look)
        ends = f"{float(cell['lower']):.0f} to {float(cell['upper']):.0f}"
        ax.text(k, j + 0.08, ends, va="top", fontsize="x-small", **look)

"""Displays of probabilities of several classes: reliability and confusions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayescal.metrics import class_verdict, reliability_curve, top_label
from bayescal.metrics.inputs import read_class_outcomes
from bayescal.plots import display
from bayescal.support.validation import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ClassDisplay(display.PredictionsDisplay):
    """A display of probabilities of several exclusive classes."""

    _filled = ("y_true", "y_prob", "classes", "draws")

    @classmethod
    def from_estimator(
        cls, calibrator: Any, scores: Any, y: Any, *, prior: Any = None, **options: Any
    ) -> Self:
        """Plot a fitted calibrator or classifier on held-out documents.

        Parameters
        ----------
        calibrator : MulticlassCalibrator, CalibratedClassifier or any classifier
            Fitted, of several exclusive classes; with posterior draws, if the display shows them.
        scores, y : array-like
            Held-out documents, as its `predict_proba` takes them, and their classes.
        prior : array-like or mapping, optional
            Shares of the classes among these documents; see `MulticlassCalibrator.predict_proba`.
        """
        given = cls._read(calibrator, scores, y, prior)
        return cls._made(**given, **options)

    @classmethod
    def _read(cls, calibrator: Any, scores: Any, y: Any, prior: Any) -> dict[str, Any]:
        """Return the arguments of `compute` from a calibrator and labels."""
        p = answers_of(calibrator, "predict_proba", scores, prior)
        return {"y_true": y, "y_prob": p, "classes": calibrator.classes_}


def answers_of(calibrator: Any, method: str, documents: Any, prior: Any) -> Floats:
    """Return probabilities of several classes, or posterior draws of them."""
    if not (hasattr(calibrator, method) and hasattr(calibrator, "classes_")):
        needs = (
            "be fitted, and have predict_proba and classes_"
            if method == "predict_proba"
            else f"have posterior draws ({method})"
        )
        raise TypeError(
            f"calibrator must {needs}, got an object of type {type(calibrator).__name__}."
        )
    options = {} if prior is None else {"prior": prior}
    return np.asarray(getattr(calibrator, method)(documents, **options))


TOP = "likeliest class"
PANEL, COLUMNS = 2.3, 4  # inches, and panels in a row
RESAMPLES = 300


class ClassReliabilityDisplay(ClassDisplay):
    """Reliability of the likeliest class and of each class, a panel for each.

    Points are bins of equally many documents: mean probability, and share of documents of the
    class. The band, around the diagonal, holds at each point `level` of the shares under calibrated
    probabilities. Panels follow the order of the curves.

    Parameters
    ----------
    data : xarray.Dataset
        predicted, observed, lower, upper and weight (curve, bin); nan where a curve has fewer bins.

    Examples
    --------
    >>> p = np.random.default_rng(0).dirichlet(np.ones(3), size=200)
    >>> display = ClassReliabilityDisplay.from_predictions(p.argmax(axis=1), p)
    >>> display.data["curve"].values.tolist()
    ['likeliest class', '0', '1', '2']
    """

    _legend = "lower right"

    @staticmethod
    def compute(
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        n_bins: int = 10,
        level: float = 0.9,
        random_state: Any = 0,
    ) -> xr.Dataset:
        """Compute the curves and their bands.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            The class of each document.
        y_prob : array-like of shape (n, K)
            Probabilities that sum to 1.
        classes : array-like of shape (K,), optional
            The classes of the columns; by default 0 to K - 1.
        n_bins : int
            Number of bins.
        level : float
            Probability of the band at each point.
        random_state : int, Generator, RandomState or None
            Seeds the band.
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
        fields = {
            "predicted": "prob_pred",
            "observed": "prob_true",
            "lower": "lower",
            "upper": "upper",
            "weight": "weight",
        }
        tables = {name: np.full((len(curves), n_bins), np.nan) for name in fields}
        for name, field in fields.items():
            for row, each in zip(tables[name], curves, strict=True):
                values = getattr(each, field)
                row[: values.size] = values
        return xr.Dataset(
            {name: (("curve", "bin"), table) for name, table in tables.items()},
            {"curve": [TOP, *map(str, names.tolist())]},
            {"level": level},
        )

    def _new_axes(self) -> list[Axes]:
        panels = self.data.sizes["curve"]
        columns = min(COLUMNS, panels)
        rows = -(-panels // columns)
        figure, grid = display.require("matplotlib.pyplot").subplots(
            rows,
            columns,
            figsize=(PANEL * columns, PANEL * rows + 0.3),
            layout="constrained",
            squeeze=False,
            sharex=True,
            sharey=True,
        )
        for spare in grid.ravel()[panels:]:
            spare.set_visible(False)
        figure.supxlabel("probability", fontsize="medium")
        figure.supylabel("share of documents", fontsize="medium")
        return list(grid.ravel()[:panels])

    def _draw(self, ax: Axes) -> None:
        if len(self.axes_) == 1:
            ax.set_xlabel("probability")
            ax.set_ylabel("share of documents")
        for panel, name in zip(self.axes_, self.data["curve"].values.tolist(), strict=False):
            self._draw_panel(panel, self.data.sel(curve=name).dropna("bin"), str(name))
            display.finish(panel, legend=None)

    def _draw_panel(self, ax: Axes, curve: xr.Dataset, name: str) -> None:
        x = curve["predicted"].values
        text = f"{self._level}, if calibrated"
        ax.fill_between(x, curve["lower"], curve["upper"], label=text, **display.GREY_BAND)
        ax.plot([0.0, 1.0], [0.0, 1.0], **display.REFERENCE)
        look = display.POSTERIOR | {"marker": "o", "markersize": 3.5}
        ax.plot(x, curve["observed"], label="share in bins", **look)
        ax.set_title(name, fontsize="medium")
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))


CELL, LEAST = 0.62, 3.2  # inches of a cell, and of the axes
MOST_TEXT = 12  # largest number of classes with numbers in cells
LIGHT = 0.55  # share of the darkest colour above which text is white


class ConfusionDisplay(ClassDisplay):
    """The table of confusions beside the numbers that the probabilities predict.

    Rows are likeliest classes, columns own classes. A cell has the number of documents above the
    interval predicted by probabilities and bands. Numbers outside it are bold and framed.

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
    >>> p = np.random.default_rng(0).dirichlet(np.ones(3), size=200)
    >>> display = ConfusionDisplay.from_predictions(p.argmax(axis=1), p)
    >>> int(display.data["observed"].sum())
    200
    """

    @staticmethod
    def compute(
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        draws: ArrayLike | None = None,
        level: float = 0.95,
    ) -> xr.Dataset:
        """Compute both tables.

        Parameters
        ----------
        y_true, y_prob, classes, draws
            As in `bayescal.metrics.class_verdict`.
        level : float
            Probability of each cell's interval.
        """
        result = class_verdict(y_true, y_prob, classes, draws=draws, level=level)
        names = [str(name) for name in result.classes.tolist()]
        tables = {
            "observed": result.confusion,
            "expected": result.confusion_expected,
            "lower": result.confusion_lower,
            "upper": result.confusion_upper,
        }
        return xr.Dataset(
            {name: (("likeliest", "own"), table) for name, table in tables.items()},
            {"likeliest": names, "own": names},
            {"level": level},
        )

    @classmethod
    def _read(cls, calibrator: Any, scores: Any, y: Any, prior: Any) -> dict[str, Any]:
        own = super()._read(calibrator, scores, y, prior)
        return own | {"draws": answers_of(calibrator, "sample_proba", scores, prior)}

    def _size(self) -> tuple[float, float]:
        size = max(LEAST, CELL * self.data.sizes["own"] + 1.2)
        return size, size

    def _draw(self, ax: Axes) -> None:
        data, names = self.data, self.data["own"].values.tolist()
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

    def _finish(self, ax: Axes, *, legend: bool) -> None:
        """Keep the frame of the table, which has no legend."""

    def _write(self, ax: Axes, j: int, k: int, dark: bool, outside: bool) -> None:
        cell = self.data.isel(likeliest=j, own=k)
        look: display.Look = {"ha": "center", "color": "white" if dark else "black"}
        weight = "bold" if outside else "normal"
        ax.text(k, j, f"{float(cell['observed']):.0f}", va="bottom", weight=weight, **look)
        ends = f"{float(cell['lower']):.0f} to {float(cell['upper']):.0f}"
        ax.text(k, j + 0.08, ends, va="top", fontsize="x-small", **look)

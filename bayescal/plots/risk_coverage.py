"""Risk against coverage: what leaving the least sure documents unanswered gains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayescal.decisions.selective import risk_coverage
from bayescal.plots import display
from bayescal.plots.class_reliability import drawn
from bayescal.support.palette import DATA_COLOUR

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class RiskCoverageDisplay(display.Display):
    """
    The share of wrong answers if only the surest documents are answered, with its band.

    Parameters
    ----------
    data : xarray.Dataset
        risk, lower, upper, probability, and with labels observed (coverage).

    Attributes
    ----------
    line_, band_ : matplotlib artists
        The expected share of errors, and its band.
    observed_ : matplotlib.lines.Line2D or None
        The share of errors by the labels.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal.plots import RiskCoverageDisplay
    >>> p = np.random.default_rng(0).dirichlet(np.ones(3), size=200)
    >>> display = RiskCoverageDisplay.from_predictions(p[None], p.argmax(axis=1))
    >>> float(display.data["observed"].max())
    0.0
    """

    @classmethod
    def from_estimator(
        cls,
        calibrator: Any,
        scores: Any,
        y: ArrayLike | None = None,
        *,
        prior: Any = None,
        level: float = 0.9,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """
        Plot the risk of a calibrator's answers; labels are not needed.

        Parameters
        ----------
        calibrator : MulticlassCalibrator or CalibratedClassifier
            Fitted, of several exclusive classes.
        scores : array-like
            Documents, as its `predict_proba` takes them.
        y : array-like of shape (n,), optional
            Their classes.
        prior : array-like or mapping, optional
            Shares of the classes among these documents.
        level, name, ax
            See `from_predictions`.

        Raises
        ------
        ValueError
            If an argument is not as described.
        """
        label = None
        if y is not None:
            position = {each: k for k, each in enumerate(calibrator.classes_.tolist())}
            unknown = [each for each in np.asarray(y).tolist() if each not in position]
            if unknown:
                raise ValueError(f"y must hold classes that were fitted, got {unknown[0]!r}.")
            label = np.array([position[each] for each in np.asarray(y).tolist()])
        draws = drawn(calibrator, scores, prior)
        return cls.from_predictions(draws, label, level=level, name=name, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        draws: ArrayLike,
        y_true: ArrayLike | None = None,
        *,
        level: float = 0.9,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """
        Plot the risk of answers by posterior draws of probabilities.

        Parameters
        ----------
        draws, y_true, level
            See `bayescal.decisions.risk_coverage`.
        name : str, optional
            Name of the model in the legend.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default axes of a new figure.

        Raises
        ------
        ValueError
            If an argument is not as described.
        """
        result = risk_coverage(draws, y_true, level=level)
        variables = {
            each: ("coverage", getattr(result, each))
            for each in ("risk", "lower", "upper", "probability")
        }
        if result.observed is not None:
            variables["observed"] = "coverage", result.observed
        attrs = {"level": level, "name": name or ""}
        return cls(xr.Dataset(variables, {"coverage": result.coverage}, attrs)).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None, legend: bool = True) -> Self:
        """
        Draw.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default axes of a new figure.
        legend : bool
            Whether to draw a legend.
        """
        ax, data, (own, band) = self._begin(ax, legend=legend), self.data, self._looks()
        x, name = data["coverage"].values, data.attrs["name"]
        name = f"{name}, " if name else ""
        text = f"{name}{100 * data.attrs['level']:g} % band"
        self.band_ = ax.fill_between(x, data["lower"], data["upper"], label=text, **band)
        (self.line_,) = ax.plot(x, data["risk"], label=f"{name}expected", **own)
        self.observed_ = None
        if "observed" in data:
            look: display.Look = {"color": DATA_COLOUR, "linewidth": 1.0}
            (self.observed_,) = ax.plot(x, data["observed"], label=f"{name}by labels", **look)
        ax.set_xlim(0.0, 1.01)
        ax.set_ylim(bottom=0.0)
        ax.set_xlabel("share of documents answered, surest first")
        ax.set_ylabel("share of wrong answers")
        display.finish(ax, legend="upper left" if legend else None)
        return self

"""Calibrated log-odds against the raw score, beside bins of documents (Bennett, figure 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bayescal.palette import DATA_COLOUR
from bayescal.plots.curve_data import curve_data
from bayescal.plots.curve_drawing import class_name, draw_band, draw_curves, label_scores
from bayescal.plots.display import ProblemDisplay
from bayescal.plots.style import DATA, REFERENCE, finish
from bayescal.validation import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What is shown beyond the highest and the lowest of curves and points, as a share of their range.
ROOM = 0.06


class LogOddsDisplay(ProblemDisplay):
    """
    Log-odds of the positive class by the posterior, its band, maximum likelihood and documents.

    Errors show better in log-odds than in probabilities, which bend to 0 and 1 whatever the curve
    does. The documents are counted in bins of the score: log((k + 1/2)/(m + 1/2)) of k positives
    and m negatives, within Jeffreys' interval; of a bin that holds one class only, the bar alone
    is drawn, from its finite end, which a triangle marks, on without end. Make it with
    `from_estimator`.

    Parameters
    ----------
    data : xarray.Dataset
        log_odds, lower, upper, mle (score), bin_score, bin_log_odds, bin_lower, bin_upper (bin);
        natural logarithms.

    Attributes
    ----------
    line_, mle_line_ : matplotlib.lines.Line2D or None
        The curves.
    band_ : matplotlib.collections.PolyCollection or None
        The band.
    bins_ : matplotlib.container.ErrorbarContainer or None
        The bins that hold documents of both classes.
    open_bins_ : list of artists
        The bins that hold one class only.

    References
    ----------
    P. N. Bennett, Using asymmetric distributions to improve text classifier probability estimates,
    SIGIR 2003, figure 5.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from bayescal import ScoreCalibrator
    >>> scores, labels = [-3.0, -2.0, -1.0, 0.5, 1.0, 2.0], [0, 0, 0, 1, 0, 1]
    >>> calibrator = ScoreCalibrator(inference="mle").fit(scores, labels)
    >>> display = LogOddsDisplay.from_estimator(calibrator, ax=Figure().subplots())
    >>> display.ax_.get_ylabel()
    'log-odds of 1'
    """

    compute = staticmethod(curve_data)

    def plot(self, *, ax: Axes | None = None, mle: bool = True, legend: bool = True) -> Self:
        """
        Draw.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default axes of a new figure.
        mle : bool
            Whether to draw the maximum-likelihood curve too.
        legend : bool
            Whether to draw a legend.
        """
        ax, data = self._begin(ax), self.data
        self.band_ = draw_band(ax, data, np.asarray)
        self.line_, self.mle_line_ = draw_curves(ax, data, np.asarray, mle=mle)
        ax.axhline(0.0, zorder=0, **REFERENCE)
        label_scores(ax, data)
        low, high = self._range()
        ax.set_ylim(low, high)
        self._draw_bins(ax, low, high)
        ax.set_ylabel(f"log-odds of {class_name(data)}")
        finish(ax, legend="lower right" if legend else None)
        return self

    def _range(self) -> tuple[float, float]:
        """Return the range of curve and points, extended by the others by as much at most."""
        data = self.data
        inner = np.concatenate([data["log_odds"].values, data["bin_log_odds"].values])
        outer = np.concatenate(
            [data[name].values for name in ("lower", "upper", "mle") if name in data]
        )
        low, high = inner.min(), inner.max()
        reach = (high - low) or 1.0
        low, high = (
            max(min(low, outer.min()), low - reach),
            min(max(high, outer.max()), high + reach),
        )
        room = ROOM * (high - low)
        return float(low - room), float(high + room)

    def _draw_bins(self, ax: Axes, low: float, high: float) -> None:
        x, value, lower, upper = (
            self.data[name].values
            for name in ("bin_score", "bin_log_odds", "bin_lower", "bin_upper")
        )
        closed = np.isfinite(lower) & np.isfinite(upper)
        level, whose = (
            100 * self.data.attrs["level"],
            "held-out" if self.data.attrs["held_out"] else "fitted",
        )
        self.bins_ = None
        if closed.any():
            bars = np.stack([value - lower, upper - value])[:, closed]
            label = f"{whose} documents, {level:g} % interval"
            self.bins_ = ax.errorbar(x[closed], value[closed], bars, label=label, **DATA)
        self.open_bins_ = [
            *self._draw_open(ax, x, upper, np.isinf(lower) & np.isfinite(upper), low, "v"),
            *self._draw_open(ax, x, lower, np.isinf(upper) & np.isfinite(lower), high, "^"),
        ]

    @staticmethod
    def _draw_open(
        ax: Axes, x: Floats, end: Floats, which: Any, edge: float, marker: str
    ) -> list[Any]:
        if not which.any():
            return []
        bars = ax.vlines(x[which], end[which], edge, color=DATA_COLOUR, linewidth=0.9)
        points = ax.plot(
            x[which], end[which], marker, color=DATA_COLOUR, markersize=4.5, markerfacecolor="white"
        )
        return [bars, *points]

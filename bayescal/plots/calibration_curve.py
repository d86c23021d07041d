"""Calibrated probabilities and log-odds against the raw score, with band and documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal.plots import curve, display
from bayescal.support.numerics import probability
from bayescal.support.palette import DATA_COLOUR
from bayescal.support.validation import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Ticks of the documents stand beyond 0 and 1, where no curve goes.
TICK_GAP = 0.05
# Space beyond the highest and the lowest of curves and points, as a share of their range.
MARGIN = 0.06


class ProbabilityDisplay(curve.CurveDisplay):
    """
    P(+ | score) by the posterior, its band, and by maximum likelihood.

    Make it with `from_estimator`.

    Parameters
    ----------
    data : xarray.Dataset
        log_odds, lower, upper, mle (score), natural logarithms; document_score, label (document).

    Attributes
    ----------
    line_, mle_line_ : matplotlib.lines.Line2D or None
        The curves.
    band_ : matplotlib.collections.PolyCollection or None
        The band.
    rugs_ : list of matplotlib.lines.Line2D
        Ticks of the negative and of the positive documents.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from bayescal import ScoreCalibrator
    >>> scores, labels = [-3.0, -2.0, -1.0, 0.5, 1.0, 2.0], [0, 0, 0, 1, 0, 1]
    >>> calibrator = ScoreCalibrator(inference="mle").fit(scores, labels)
    >>> display = ProbabilityDisplay.from_estimator(calibrator, ax=Figure().subplots())
    >>> display.ax_.get_ylabel()
    'P(1 | score)'
    """

    # Below the ticks of the positives and what they are.
    _corner = (0.0, 0.87)

    def _draw(
        self, ax: Axes, *, name: str | None = None, mle: bool = True, ticks: bool = True
    ) -> None:
        """
        Draw the curves, and in axes without another display the documents.

        Parameters
        ----------
        name : str, optional
            Name of the model in the legend.
        mle : bool
            Whether to draw the maximum-likelihood curve too, unless another display is there.
        ticks : bool
            Whether to mark the documents, unless another display is there: positives above the
            curves, negatives below.
        """
        self._draw_curve(probability, name, mle=mle)
        self.rugs_ = self._draw_ticks(ax) if ticks and not self.before_ else []
        curve.label_scores(ax, self.data, widen=bool(self.before_))
        ax.set_ylim(-0.1, 1.1)
        ax.set_ylabel(f"P({curve.class_name(self.data)} | score)")

    def _draw_ticks(self, ax: Axes) -> list[Any]:
        """Draw ticks with text beside them where the curve is at the other end."""
        score, label = self.data["document_score"].values, self.data["label"].values
        sides = (
            ("negative_class", -TICK_GAP, 0.985, ("right", "bottom")),
            ("positive_class", 1.0 + TICK_GAP, 0.015, ("left", "top")),
        )
        artists = []
        for k, (name, height, across, align) in enumerate(sides):
            if count := int((label == k).sum()):
                artists.append(display.rug(ax, score[label == k], height))
                text = f"{count:,} score{'s' * (count > 1)} of class {self.data.attrs[name]}"
                display.note(ax, text, (across, height), align)
        return artists


class LogOddsDisplay(curve.CurveDisplay):
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

    _legend = "lower right"

    def _draw(self, ax: Axes, *, name: str | None = None, mle: bool = True) -> None:
        """
        Draw the curves, and in axes without another display the documents.

        Parameters
        ----------
        name : str, optional
            Name of the model in the legend.
        mle : bool
            Whether to draw the maximum-likelihood curve too, unless another display is there.
        """
        self._draw_curve(np.asarray, name, mle=mle)
        ax.axhline(0.0, zorder=0, **display.REFERENCE)
        curve.label_scores(ax, self.data, widen=bool(self.before_))
        ranges = [each._range() for each in (self, *self.before_)]
        low, high = min(each[0] for each in ranges), max(each[1] for each in ranges)
        ax.set_ylim(low, high)
        self.bins_: Any = None
        self.open_bins_: list[Any] = []
        if not self.before_:
            self._draw_bins(ax, low, high)
        ax.set_ylabel(f"log-odds of {curve.class_name(self.data)}")

    def _range(self) -> tuple[float, float]:
        data = self.data
        inner = np.concatenate([data["log_odds"].values, data["bin_log_odds"].values])
        outer = [data[name].values for name in ("lower", "upper", "mle") if name in data]
        return display.with_reach(inner, np.concatenate([*outer, inner]), MARGIN)

    def _draw_bins(self, ax: Axes, low: float, high: float) -> None:
        x, value, lower, upper = (
            self.data[name].values
            for name in ("bin_score", "bin_log_odds", "bin_lower", "bin_upper")
        )
        closed = np.isfinite(lower) & np.isfinite(upper)
        whose = "held-out" if self.data.attrs["held_out"] else "fitted"
        if closed.any():
            bars = np.stack([value - lower, upper - value])[:, closed]
            label = f"{whose} documents, {self._level} interval"
            self.bins_ = ax.errorbar(x[closed], value[closed], bars, label=label, **display.DATA)
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

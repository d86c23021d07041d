"""Calibrated probabilities and log-odds against the raw score, with band and documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from bayescal.fitting.curves.curves import Prior
from bayescal.fitting.problems.problem import Calibrator
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

    @classmethod
    def from_estimator(
        cls,
        calibrator: Calibrator,
        scores: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        topic: Any = None,
        prior: Prior | None = None,
        ax: Axes | None = None,
        grid: ArrayLike | None = None,
        level: float = 0.9,
        band: str = "pointwise",
        bins: int | None = None,
        pos_label: Any = None,
        name: str | None = None,
        mle: bool = True,
        ticks: bool = True,
        legend: bool = True,
    ) -> Self:
        """
        Plot P(+ | score) of a fitted calibrator.

        Parameters
        ----------
        calibrator : ScoreCalibrator, TopicCalibrator or another with `fitted_problems`
            Fitted.
        scores, y : array-like of shape (n,), optional
            Held-out documents to show in place of the fitted ones, which a TopicCalibrator does not
            keep; of a classifier X and y.
        topic : str or int, optional
            The topic to show, if the calibrator is a TopicCalibrator, or the class or label.
        prior : float, array-like or frozen scipy.stats distribution, optional
            See `ScoreCalibrator.decision_function`; documents are shown unchanged.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default axes of a new figure.
        grid, level, band, bins, pos_label
            See `compute`.
        name, mle, ticks, legend
            See `plot`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the calibrator is not fitted.
        ValueError
            If an argument is not as described.
        """
        topic = curve.topic_of(calibrator, topic, pos_label)
        problem = display.read_problem(calibrator, scores, y, topic=topic, prior=prior)
        data = cls.compute(
            problem, grid=grid, level=level, band=band, bins=bins, pos_label=pos_label
        )
        return cls(data).plot(ax=ax, name=name, mle=mle, ticks=ticks, legend=legend)

    def plot(
        self,
        *,
        ax: Axes | None = None,
        name: str | None = None,
        mle: bool = True,
        ticks: bool = True,
        legend: bool = True,
    ) -> Self:
        """
        Draw.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default axes of a new figure. In axes of another display of this
            kind, for one picture of several models, the curve has another look, and documents and
            maximum likelihood are not drawn again.
        name : str, optional
            Name of the model in the legend.
        mle : bool
            Whether to draw the maximum-likelihood curve too.
        ticks : bool
            Whether to mark the documents: positives above the curves, negatives below.
        legend : bool
            Whether to draw a legend.
        """
        ax, data = self._begin(ax, mle=mle, ticks=ticks, legend=legend), self.data
        self.band_, self.line_, self.mle_line_ = self._draw_curve(probability, name, mle=mle)
        self.rugs_ = self._draw_ticks(ax) if ticks and not self.before_ else []
        curve.label_scores(ax, data, widen=bool(self.before_))
        ax.set_ylim(-0.1, 1.1)
        ax.set_ylabel(f"P({curve.class_name(data)} | score)")
        # Below the ticks of the positives and what they are.
        display.finish(ax, legend="upper left" if legend else None, corner=(0.0, 0.87))
        return self

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

    @classmethod
    def from_estimator(
        cls,
        calibrator: Calibrator,
        scores: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        topic: Any = None,
        prior: Prior | None = None,
        ax: Axes | None = None,
        grid: ArrayLike | None = None,
        level: float = 0.9,
        band: str = "pointwise",
        bins: int | None = None,
        pos_label: Any = None,
        name: str | None = None,
        mle: bool = True,
        legend: bool = True,
    ) -> Self:
        """
        Plot the log-odds of a fitted calibrator.

        Parameters
        ----------
        calibrator : ScoreCalibrator, TopicCalibrator or another with `fitted_problems`
            Fitted.
        scores, y : array-like of shape (n,), optional
            Held-out documents to show in place of the fitted ones, which a TopicCalibrator does not
            keep; of a classifier X and y.
        topic : str or int, optional
            The topic to show, if the calibrator is a TopicCalibrator, or the class or label.
        prior : float, array-like or frozen scipy.stats distribution, optional
            See `ScoreCalibrator.decision_function`; documents are shown unchanged.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default axes of a new figure.
        grid, level, band, bins, pos_label
            See `compute`.
        name, mle, legend
            See `plot`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the calibrator is not fitted.
        ValueError
            If an argument is not as described.
        """
        topic = curve.topic_of(calibrator, topic, pos_label)
        problem = display.read_problem(calibrator, scores, y, topic=topic, prior=prior)
        data = cls.compute(
            problem, grid=grid, level=level, band=band, bins=bins, pos_label=pos_label
        )
        return cls(data).plot(ax=ax, name=name, mle=mle, legend=legend)

    def plot(
        self,
        *,
        ax: Axes | None = None,
        name: str | None = None,
        mle: bool = True,
        legend: bool = True,
    ) -> Self:
        """
        Draw.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default axes of a new figure. In axes of another display of this
            kind, for one picture of several models, the curve has another look, and documents and
            maximum likelihood are not drawn again.
        name : str, optional
            Name of the model in the legend.
        mle : bool
            Whether to draw the maximum-likelihood curve too.
        legend : bool
            Whether to draw a legend.
        """
        ax, data = self._begin(ax, mle=mle, legend=legend), self.data
        self.band_, self.line_, self.mle_line_ = self._draw_curve(np.asarray, name, mle=mle)
        ax.axhline(0.0, zorder=0, **display.REFERENCE)
        curve.label_scores(ax, data, widen=bool(self.before_))
        ranges = [each._range() for each in (self, *self.before_)]
        low, high = min(each[0] for each in ranges), max(each[1] for each in ranges)
        ax.set_ylim(low, high)
        self.bins_: Any = None
        self.open_bins_: list[Any] = []
        if not self.before_:
            self._draw_bins(ax, low, high)
        ax.set_ylabel(f"log-odds of {curve.class_name(data)}")
        display.finish(ax, legend="lower right" if legend else None)
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
        margin = MARGIN * (high - low)
        return float(low - margin), float(high + margin)

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
        if closed.any():
            bars = np.stack([value - lower, upper - value])[:, closed]
            label = f"{whose} documents, {level:g} % interval"
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

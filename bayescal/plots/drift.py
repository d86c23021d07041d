"""Running Bayes factors of a drift monitor, and its alarm."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Self

import xarray as xr

from bayescal.monitoring import DriftMonitor
from bayescal.plots import display

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class DriftDisplay(display.Display):
    """
    Evidence of each kind of change after every document, beside the limit of the alarm.

    Make it with `from_estimator`.

    Parameters
    ----------
    data : xarray.Dataset
        log_bayes_factor (change, document), natural logarithms; in its attributes the limit, and
        after an alarm its document and the estimated change.

    Attributes
    ----------
    lines_ : list of matplotlib.lines.Line2D
        One for each kind of change.
    limit_ : matplotlib.lines.Line2D
        Limit that the evidence of any change must reach for an alarm.
    alarm_ : matplotlib.lines.Line2D or None
        The document of the alarm.
    since_ : matplotlib.patches.Rectangle or None
        Two standard deviations on either side of the first document after the change.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from bayescal import ScoreCalibrator
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(300) < 0.3
    >>> s = rng.normal(2.0 * y)
    >>> calibrator = ScoreCalibrator("gaussian", draws=50, random_state=0).fit(s[:200], y[:200])
    >>> monitor = DriftMonitor(calibrator).update(s[200:], y[200:])
    >>> display = DriftDisplay.from_estimator(monitor, ax=Figure().subplots())
    >>> [line.get_label() for line in display.lines_]
    ['base rate', 'slope', 'any']
    """

    @classmethod
    def from_estimator(
        cls, monitor: DriftMonitor, *, ax: Axes | None = None, legend: bool = True
    ) -> Self:
        """
        Plot the evidence of a monitor so far.

        Parameters
        ----------
        monitor : DriftMonitor
            After at least one document.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default axes of a new figure.
        legend : bool
            Whether to draw a legend.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If it is no monitor, or has seen no document.
        """
        display.require("matplotlib")
        if not isinstance(monitor, DriftMonitor):
            raise ValueError(
                f"monitor must be a DriftMonitor, got {type(monitor).__name__}: make one of a"
                " calibrator, DriftMonitor(calibrator), and update it with the labels that come."
            )
        if not monitor.documents_:
            raise ValueError("the monitor has seen no document yet: call its update first.")
        table, alarm = monitor.log_bayes_factors_, monitor.alarm_
        attrs = {"limit": -math.log(monitor.alpha)}
        if alarm is not None:
            attrs |= {"alarm": alarm.document, "since": alarm.since, "since_sd": alarm.since_sd}
        data = xr.Dataset(
            {"log_bayes_factor": (("change", "document"), table.to_numpy().T)},
            {"change": list(table.columns), "document": table.index.to_numpy()},
            attrs,
        )
        return cls(data).plot(ax=ax, legend=legend)

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
        ax, attrs = self._begin(ax, legend=legend), self.data.attrs
        evidence = self.data["log_bayes_factor"]
        document = self.data["document"].values
        self.lines_ = []
        for name, look in zip(evidence["change"].values, display.MANY_LINES, strict=False):
            own = {key: look[key] for key in ("color", "linestyle", "linewidth")}
            self.lines_ += ax.plot(document, evidence.sel(change=name), label=str(name), **own)
        self.limit_ = ax.axhline(attrs["limit"], label="limit of the alarm", **display.REFERENCE)
        self.alarm_ = self.since_ = None
        if "alarm" in attrs:
            self.alarm_ = ax.axvline(attrs["alarm"], color="0.3", linewidth=1.0, label="alarm")
            reach = 2.0 * attrs["since_sd"]
            self.since_ = ax.axvspan(
                max(attrs["since"] - reach, 1.0),
                attrs["since"] + reach,
                label="change",
                **display.BAND,
            )
        ax.set(xlabel="document", ylabel="log Bayes factor against “as before”")
        ax.set_xlim(1, max(document[-1], 2))
        display.finish(ax, legend="upper left" if legend else None)
        return self

"""Displays of audits and of drift monitors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xarray as xr

from bayescal.plots import display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EDGE = 0.03  # of the height, for ticks of outcomes at the top and at the bottom
MOST_TICKS = 400  # of each class
SITE_HEIGHT = 0.32  # inches


class AuditDisplay(display.Display):
    """A display of an `Audit`."""

    @classmethod
    def from_audit(cls, audit: Any, **options: Any) -> Self:
        """Plot an audit.

        Parameters
        ----------
        audit : Audit
            The result of `bayescal.monitoring.audit`.
        """
        if not hasattr(audit, "model_probability"):
            raise ValueError(
                f"audit must be an Audit, got {type(audit).__name__}: pass what"
                " bayescal.monitoring.audit returns."
            )
        return cls._made(audit, **options)


class CalibrationCurveDisplay(AuditDisplay):
    """True probability by given probability, with a pointwise and a simultaneous band.

    Ticks are positives at the top, negatives at the bottom.

    Parameters
    ----------
    data : xarray.Dataset
        mean (probability), lower and upper (kind, probability); positive and negative are the given
        probabilities for each outcome.

    Attributes
    ----------
    line_ : matplotlib.lines.Line2D
    bands_ : list of matplotlib.collections.PolyCollection
        The simultaneous and the pointwise band.

    Examples
    --------
    >>> from bayescal.monitoring import audit
    >>> p = np.linspace(0.05, 0.6, 200)
    >>> result = audit(np.random.default_rng(0).random(200) < p, p, random_state=0)
    >>> shown = CalibrationCurveDisplay.from_audit(result)
    >>> shown.line_.get_label()
    'true probability'
    """

    _corner = (0.0, 0.95)

    @staticmethod
    def compute(audit: Any) -> xr.Dataset:
        """Return the numbers of an `Audit`."""
        p, truth = audit.outcomes.p, audit.outcomes.truth
        ticks = {name: np.sort(p[truth == side]) for name, side in _CLASSES}
        kept = {
            name: each[np.linspace(0, each.size - 1, min(each.size, MOST_TICKS)).astype(int)]
            for name, each in ticks.items()
        }
        curve: xr.Dataset = audit.curve
        return curve.assign({name: (f"{name}s", each) for name, each in kept.items()})

    def _draw(self, ax: Axes) -> None:
        data = self.data
        p = data["probability"].values
        top = float(max(data["upper"].max(), p[-1]))
        ax.plot([0.0, top], [0.0, top], label="right probabilities", **display.REFERENCE)
        line, band = self._looks()
        names = {
            "simultaneous": f"{self._level} band of the whole curve",
            "pointwise": f"{self._level} band",
        }
        self.bands_ = []
        for kind, label in names.items():
            lower, upper = (data[each].sel(kind=kind).values for each in ("lower", "upper"))
            look = band | {"alpha": 0.5 * band["alpha"]} if kind == "simultaneous" else band
            self.bands_.append(ax.fill_between(p, lower, upper, label=label, **look))
        (self.line_,) = ax.plot(p, data["mean"].values, label="true probability", **line)
        for name, height in (("positive", top * (1.0 - EDGE)), ("negative", top * EDGE)):
            display.rug(ax, data[name].values, height)
        ax.set(xlabel="given probability", ylabel="true probability")
        ax.set(xlim=(0.0, top), ylim=(0.0, top))


_CLASSES = (("positive", True), ("negative", False))


class NetBenefitDisplay(AuditDisplay):
    """Net benefit by threshold of given and of recalibrated probabilities, and of treating all.

    Treating nobody has net benefit 0.

    Parameters
    ----------
    data : xarray.Dataset
        mean, lower and upper (strategy, threshold) by the curve, and counted.

    Attributes
    ----------
    lines_ : dict of str to matplotlib.lines.Line2D
        The line of each strategy.
    band_ : matplotlib.collections.PolyCollection
        The band of the given probabilities.
    counted_ : matplotlib.lines.Line2D
        Net benefit of the given probabilities as counted.
    asked_ : matplotlib.lines.Line2D or None
        The threshold of the audit.

    Examples
    --------
    >>> from bayescal.monitoring import audit
    >>> p = np.linspace(0.05, 0.6, 200)
    >>> y = np.random.default_rng(0).random(200) < p
    >>> result = audit(y, p, threshold=0.2, random_state=0)
    >>> shown = NetBenefitDisplay.from_audit(result)
    >>> sorted(shown.lines_)
    ['all', 'as is', 'recalibrated']
    """

    _legend = "upper right"

    @staticmethod
    def compute(audit: Any) -> xr.Dataset:
        """Return the numbers of an `Audit`."""
        shown: xr.Dataset = audit.net_benefit
        return shown.assign_attrs(noun=audit.noun)

    def _draw(self, ax: Axes) -> None:
        data = self.data
        t = data["threshold"].values
        names = {"as is": "given probabilities", "recalibrated": "recalibrated", "all": "treat all"}
        as_is = data.sel(strategy="as is")
        text = f"{self._level} band of these"
        self.band_ = ax.fill_between(t, as_is["lower"], as_is["upper"], label=text, **display.BAND)
        self.lines_: dict[str, Any] = {}
        for look, (strategy, label) in zip(display.MANY_LINES, names.items(), strict=False):
            own = {key: look[key] for key in ("color", "linestyle", "linewidth")}
            mean = data["mean"].sel(strategy=strategy).values
            (self.lines_[strategy],) = ax.plot(t, mean, label=label, **own)
        look = {"color": "0.3", "linewidth": 0.8}
        (self.counted_,) = ax.plot(t, as_is["counted"], label="given, counted", **look)
        ax.axhline(0.0, label="treat nobody", **display.REFERENCE)
        self.asked_ = None
        if math.isfinite(data.attrs["asked"]):
            look = {"color": "0.3", "linewidth": 1.0}
            self.asked_ = ax.axvline(data.attrs["asked"], label="threshold asked for", **look)
        most = float(data["upper"].sel(strategy=["as is", "recalibrated"]).max())
        ax.set(xlabel="threshold", ylabel=f"net benefit (true positives per {data.attrs['noun']})")
        ax.set(xlim=(0.0, 1.0), ylim=(-0.25 * most, 1.08 * most) if most > 0.0 else None)


class SitesDisplay(AuditDisplay):
    """Shift of the log-odds at each site and at a new one, with intervals; for audits with sites.

    Parameters
    ----------
    data : xarray.Dataset
        See `Audit.sites`.

    Attributes
    ----------
    points_, new_ : matplotlib.container.ErrorbarContainer
        The sites, and a new site.

    Examples
    --------
    >>> from bayescal.monitoring import audit, load_heart_disease
    >>> patients = load_heart_disease()
    >>> result = audit(patients["y"], patients["p"], patients["site"], random_state=0)
    >>> shown = SitesDisplay.from_audit(result)
    >>> [text.get_text() for text in shown.ax_.get_yticklabels()]
    ['hungarian', 'switzerland', 'va', 'a new site']
    """

    _legend = "lower left"
    _corner = (0.0, 1.0)

    @staticmethod
    def compute(audit: Any) -> xr.Dataset:
        """Return the numbers of an `Audit`."""
        if audit.sites is None:
            raise ValueError("audit has no sites: pass sites= to bayescal.monitoring.audit.")
        shown: xr.Dataset = audit.sites
        return shown

    def _size(self) -> tuple[float, float]:
        return display.SIZE[0], max(2.2, SITE_HEIGHT * (self.data.sizes["site"] + 6))

    def _draw(self, ax: Axes, *, number: str = "shift") -> None:
        """Draw the sites.

        Parameters
        ----------
        number : {"shift", "slope"}
            The number to show.
        """
        own = self.data.sel(number=number)
        names = [str(name) for name in self.data["site"].values]
        right = 0.0 if number == "shift" else 1.0
        ax.axvline(right, label="right probabilities", **display.REFERENCE)
        rows = np.arange(len(names))
        self.points_ = _interval(ax, own, "", rows, f"site, {self._level} interval", "o")
        self.new_ = _interval(ax, own, "new_", np.array([len(names)]), "a new site", "D")
        ax.set_yticks([*rows, len(names)], [*names, "a new site"])
        ax.invert_yaxis()
        ax.set_xlabel(f"{number} of the log-odds")


def _interval(ax: Axes, own: xr.Dataset, prefix: str, rows: Any, label: str, marker: str) -> Any:
    """Draw means with their intervals."""
    mean, lower, upper = (
        np.atleast_1d(own[f"{prefix}{name}"].values) for name in ("mean", "lower", "upper")
    )
    colour = (display.POSTERIOR if marker == "o" else display.MLE)["color"]
    return ax.errorbar(
        mean, rows, xerr=[mean - lower, upper - mean], fmt=marker, color=colour, label=label
    )


class DriftDisplay(display.EstimatorDisplay):
    """Evidence of each kind of change after every document, beside the limit of the alarm.

    Parameters
    ----------
    data : xarray.Dataset
        log_bayes_factor (change, document), natural logarithms; attributes are the limit and, after
        an alarm, its document and the estimated change.

    Attributes
    ----------
    lines_ : list of matplotlib.lines.Line2D
        A line for each kind of change.
    limit_ : matplotlib.lines.Line2D
        The limit of the alarm for the evidence of any change.
    alarm_ : matplotlib.lines.Line2D or None
        The document of the alarm.
    since_ : matplotlib.patches.Rectangle or None
        The first document after the change, plus and minus two standard deviations.

    Examples
    --------
    >>> from bayescal import ScoreCalibrator
    >>> from bayescal.monitoring import DriftMonitor
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(300) < 0.3
    >>> s = rng.normal(2.0 * y)
    >>> calibrator = ScoreCalibrator("gaussian", draws=50, random_state=0).fit(s[:200], y[:200])
    >>> monitor = DriftMonitor(calibrator).update(s[200:], y[200:])
    >>> display = DriftDisplay.from_estimator(monitor)
    >>> [line.get_label() for line in display.lines_]
    ['base rate', 'slope', 'any']
    """

    @staticmethod
    def compute(monitor: Any) -> xr.Dataset:
        """Compute the evidence of a monitor so far.

        Parameters
        ----------
        monitor : DriftMonitor
            After at least one document.
        """
        if not hasattr(monitor, "bayes_factors_"):
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
        return xr.Dataset(
            {"log_bayes_factor": (("change", "document"), table.to_numpy().T)},
            {"change": list(table.columns), "document": table.index.to_numpy()},
            attrs,
        )

    def _draw(self, ax: Axes) -> None:
        attrs = self.data.attrs
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

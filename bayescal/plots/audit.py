"""Displays of an audit: calibration curve, net benefit, explanations and sites."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xarray as xr

from bayescal.monitoring import Audit
from bayescal.plots import display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EDGE = 0.03  # of the height: ticks of outcomes at the top and at the bottom
MOST_TICKS = 400  # of each class
SITE_HEIGHT = 0.32  # inches


class AuditDisplay(display.Display):
    """A display of an `Audit`; see its subclasses."""

    @classmethod
    def from_audit(cls, audit: Audit, *, ax: Axes | None = None, legend: bool = True) -> Self:
        """
        Plot an audit.

        Parameters
        ----------
        audit : Audit
            What `bayescal.monitoring.audit` returns.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default axes of a new figure.
        legend : bool
            Whether to draw a legend.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If it is no audit, or an audit without what is to be shown.
        """
        display.require("matplotlib")
        if not isinstance(audit, Audit):
            raise ValueError(
                f"audit must be an Audit, got {type(audit).__name__}: pass what"
                " bayescal.monitoring.audit returns."
            )
        return cls(cls._data(audit)).plot(ax=ax, legend=legend)

    @classmethod
    def _data(cls, audit: Audit) -> xr.Dataset:
        """Return the numbers shown."""
        raise NotImplementedError

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
        raise NotImplementedError


class CalibrationCurveDisplay(AuditDisplay):
    """
    True probability by given probability, with a pointwise and a simultaneous band.

    Ticks at the top are positives, at the bottom negatives. Make it with `from_audit`.

    Parameters
    ----------
    data : xarray.Dataset
        mean (probability), lower and upper (kind, probability); positive and negative hold given
        probabilities of outcomes of each class.

    Attributes
    ----------
    line_ : matplotlib.lines.Line2D
        The curve.
    bands_ : list of matplotlib.collections.PolyCollection
        The simultaneous and the pointwise band.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from bayescal.monitoring import audit
    >>> p = np.linspace(0.05, 0.6, 200)
    >>> result = audit(np.random.default_rng(0).random(200) < p, p, random_state=0)
    >>> shown = CalibrationCurveDisplay.from_audit(result, ax=Figure().subplots())
    >>> shown.line_.get_label()
    'true probability'
    """

    @classmethod
    def _data(cls, audit: Audit) -> xr.Dataset:
        p, truth = audit.outcomes.p, audit.outcomes.truth
        ticks = {name: np.sort(p[truth == side]) for name, side in _CLASSES}
        kept = {
            name: each[np.linspace(0, each.size - 1, min(each.size, MOST_TICKS)).astype(int)]
            for name, each in ticks.items()
        }
        return audit.curve.assign({name: (f"{name}s", each) for name, each in kept.items()})

    def plot(self, *, ax: Axes | None = None, legend: bool = True) -> Self:
        """Draw; see `AuditDisplay.plot`."""
        ax, data = self._begin(ax, legend=legend), self.data
        p, level = data["probability"].values, 100.0 * data.attrs["level"]
        top = float(max(data["upper"].max(), p[-1]))
        ax.plot([0.0, top], [0.0, top], label="right probabilities", **display.REFERENCE)
        line, band = self._looks()
        names = {
            "simultaneous": f"{level:g} % band of the whole curve",
            "pointwise": f"{level:g} % band",
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
        display.finish(ax, legend="upper left" if legend else None, corner=(0.0, 0.95))
        return self


_CLASSES = (("positive", True), ("negative", False))


class NetBenefitDisplay(AuditDisplay):
    """
    Net benefit by threshold: deciding by given and by recalibrated probabilities, and for all.

    Treating nobody has net benefit 0. Make it with `from_audit`.

    Parameters
    ----------
    data : xarray.Dataset
        mean, lower and upper (strategy, threshold).

    Attributes
    ----------
    lines_ : dict of str to matplotlib.lines.Line2D
        The line of each strategy.
    band_ : matplotlib.collections.PolyCollection
        The band of the given probabilities.
    asked_ : matplotlib.lines.Line2D or None
        The threshold that was asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from bayescal.monitoring import audit
    >>> p = np.linspace(0.05, 0.6, 200)
    >>> y = np.random.default_rng(0).random(200) < p
    >>> result = audit(y, p, threshold=0.2, random_state=0)
    >>> shown = NetBenefitDisplay.from_audit(result, ax=Figure().subplots())
    >>> sorted(shown.lines_)
    ['all', 'as is', 'recalibrated']
    """

    @classmethod
    def _data(cls, audit: Audit) -> xr.Dataset:
        return audit.net_benefit

    def plot(self, *, ax: Axes | None = None, legend: bool = True) -> Self:
        """Draw; see `AuditDisplay.plot`."""
        ax, data = self._begin(ax, legend=legend), self.data
        t, level = data["threshold"].values, 100.0 * data.attrs["level"]
        names = {"as is": "given probabilities", "recalibrated": "recalibrated", "all": "treat all"}
        as_is = data.sel(strategy="as is")
        self.band_ = ax.fill_between(
            t, as_is["lower"], as_is["upper"], label=f"{level:g} % band of these", **display.BAND
        )
        self.lines_: dict[str, Any] = {}
        for look, (strategy, label) in zip(display.MANY_LINES, names.items(), strict=False):
            own = {key: look[key] for key in ("color", "linestyle", "linewidth")}
            mean = data["mean"].sel(strategy=strategy).values
            (self.lines_[strategy],) = ax.plot(t, mean, label=label, **own)
        ax.axhline(0.0, label="treat nobody", **display.REFERENCE)
        self.asked_ = None
        if math.isfinite(data.attrs["asked"]):
            look = {"color": "0.3", "linewidth": 1.0}
            self.asked_ = ax.axvline(data.attrs["asked"], label="threshold asked for", **look)
        most = float(data["upper"].sel(strategy=["as is", "recalibrated"]).max())
        ax.set(xlabel="threshold", ylabel="net benefit (true positives per document)")
        ax.set(xlim=(0.0, 1.0), ylim=(-0.25 * most, 1.08 * most) if most > 0.0 else None)
        display.finish(ax, legend="upper right" if legend else None)
        return self


class ModelProbabilityDisplay(AuditDisplay):
    """
    Probabilities of the four explanations, before and after the outcomes.

    Make it with `from_audit`.

    Parameters
    ----------
    data : xarray.Dataset
        probability and prior (explanation).

    Attributes
    ----------
    bars_ : matplotlib.container.BarContainer
        One bar for each explanation.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from bayescal.monitoring import audit
    >>> p = np.linspace(0.05, 0.6, 200)
    >>> result = audit(np.random.default_rng(0).random(200) < p, p, random_state=0)
    >>> len(ModelProbabilityDisplay.from_audit(result, ax=Figure().subplots()).bars_)
    4
    """

    @classmethod
    def _data(cls, audit: Audit) -> xr.Dataset:
        from bayescal.metrics.changes import PRIOR

        names = list(audit.model_probability)
        values = list(audit.model_probability.values())
        prior = [PRIOR[name] for name in names]
        return xr.Dataset(
            {"probability": ("explanation", values), "prior": ("explanation", prior)},
            {"explanation": names},
        )

    def plot(self, *, ax: Axes | None = None, legend: bool = True) -> Self:
        """Draw; see `AuditDisplay.plot`."""
        ax, data = self._begin(ax, legend=legend), self.data
        names = [_WORDS.get(name, name) for name in data["explanation"].values.tolist()]
        look = {"color": display.POSTERIOR["color"], "alpha": 0.6, "width": 0.6}
        self.bars_ = ax.bar(names, data["probability"].values, label="given the outcomes", **look)
        ax.plot(
            names,
            data["prior"].values,
            label="before the outcomes",
            linestyle="none",
            marker="_",
            markersize=26,
            color=display.MLE["color"],
        )
        ax.set(ylabel="probability", ylim=(0.0, 1.0))
        display.finish(ax, legend="upper right" if legend else None)
        return self


_WORDS = {"as is": "right\nas is", "slope": "shift\nand slope", "full": "bent"}


class SitesDisplay(AuditDisplay):
    """
    Shift of the log-odds at each site and at a new one, with intervals.

    Make it with `from_audit`, from an audit with sites.

    Parameters
    ----------
    data : xarray.Dataset
        See `Audit.sites`.

    Attributes
    ----------
    points_ : matplotlib.container.ErrorbarContainer
        The sites.
    new_ : matplotlib.container.ErrorbarContainer
        A new site.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from bayescal.monitoring import audit, load_heart_disease
    >>> patients = load_heart_disease()
    >>> result = audit(patients["y"], patients["p"], patients["site"], random_state=0)
    >>> shown = SitesDisplay.from_audit(result, ax=Figure().subplots())
    >>> [text.get_text() for text in shown.ax_.get_yticklabels()]
    ['hungarian', 'switzerland', 'va', 'a new site']
    """

    @classmethod
    def _data(cls, audit: Audit) -> xr.Dataset:
        if audit.sites is None:
            raise ValueError("audit has no sites: pass sites= to bayescal.monitoring.audit.")
        return audit.sites

    def plot(self, *, ax: Axes | None = None, legend: bool = True, number: str = "shift") -> Self:
        """
        Draw.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default axes of a new figure.
        legend : bool
            Whether to draw a legend.
        number : {"shift", "slope"}
            What to show.
        """
        own = self.data.sel(number=number)
        names = [str(name) for name in self.data["site"].values]
        height = max(1.6, SITE_HEIGHT * (len(names) + 4))
        ax = self._begin(ax, size=(display.SIZE[0], height), legend=legend)
        level = 100.0 * self.data.attrs["level"]
        right = 0.0 if number == "shift" else 1.0
        ax.axvline(right, label="right probabilities", **display.REFERENCE)
        rows = np.arange(len(names))
        self.points_ = _interval(ax, own, "", rows, f"site, {level:g} % interval", "o")
        self.new_ = _interval(ax, own, "new_", np.array([len(names)]), "a new site", "D")
        ax.set_yticks([*rows, len(names)], [*names, "a new site"])
        ax.invert_yaxis()
        ax.set_xlabel(f"{number} of the log-odds")
        display.finish(ax, legend="best" if legend else None)
        return self


def _interval(ax: Axes, own: xr.Dataset, prefix: str, rows: Any, label: str, marker: str) -> Any:
    """Draw means with their intervals."""
    mean, lower, upper = (
        np.atleast_1d(own[f"{prefix}{name}"].values) for name in ("mean", "lower", "upper")
    )
    colour = (display.POSTERIOR if marker == "o" else display.MLE)["color"]
    return ax.errorbar(
        mean, rows, xerr=[mean - lower, upper - mean], fmt=marker, color=colour, label=label
    )

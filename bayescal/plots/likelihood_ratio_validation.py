"""Pictures of a validation of likelihood ratios: Tippett, PAV, cross-entropy, consistency."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from bayescal.likelihood_ratio import curves
from bayescal.likelihood_ratio.measures import read_comparisons
from bayescal.plots import display
from bayescal.support.palette import CLASS_COLOURS, DATA_COLOUR

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOG10_LR = r"$\log_{10}$ LR"
EDGE = 0.06  # of the axis, beyond which infinite values are drawn


class TippettDisplay(display.Display):
    """
    Tippett plot: shares of LRs beyond each value, by class, with bands by source.

    Make it with `from_predictions`.

    Parameters
    ----------
    data : xarray.Dataset
        positive, negative, and their _lower and _upper (log10_lr).

    Attributes
    ----------
    lines_ : list of matplotlib.lines.Line2D
        The curve of the negatives and that of the positives.
    bands_ : list of matplotlib.collections.PolyCollection
        Their bands.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> display = TippettDisplay.from_predictions(
    ...     [0, 0, 1, 1], [-1.0, 0.3, 0.2, 1.0], ax=Figure().subplots()
    ... )
    >>> display.ax_.get_ylabel()
    'share of larger LRs'
    """

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        log10_lr: ArrayLike,
        *,
        sources: tuple[ArrayLike, ArrayLike] | None = None,
        kind: int = 1,
        level: float = 0.9,
        random_state: Any = 0,
        ax: Axes | None = None,
        legend: bool = True,
    ) -> Self:
        """
        Plot shares of LRs.

        Parameters
        ----------
        y_true, log10_lr
            See `bayescal.likelihood_ratio.cllr`.
        sources : tuple of two array-likes, optional
            The sources of the two items of each comparison, which widen the bands.
        kind : {1, 2}
            1 draws shares of larger LRs for both classes; 2, for positives, that of smaller ones:
            then both curves show misleading LRs.
        level : float
            Probability of the band at each value.
        random_state : int, numpy Generator, RandomState or None
            Deals more than 200 sources to groups; see `bayescal.likelihood_ratio.validate`.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default axes of a new figure.
        legend : bool
            Whether to draw a legend.

        Raises
        ------
        ValueError
            If an argument is not as described.
        """
        compared = read_comparisons(y_true, log10_lr)
        data = curves.tippett(compared, sources, kind=kind, level=level, rng=random_state)
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
        ax, data = self._begin(ax, legend=legend), self.data
        x = data["log10_lr"].values
        self.lines_, self.bands_ = [], []
        for k, name in enumerate(("negative", "positive")):
            look: display.Look = {"color": CLASS_COLOURS[k], "linestyle": display.CLASS_DASHES[k]}
            ends = data[f"{name}_lower"], data[f"{name}_upper"]
            band = ax.fill_between(x, *ends, color=CLASS_COLOURS[k], alpha=0.18, linewidth=0)
            self.bands_.append(band)
            self.lines_ += ax.plot(x, data[name], label=f"{name}s", linewidth=1.6, **look)
        ax.axvline(0.0, zorder=0, **display.REFERENCE)
        ax.set_xlabel(LOG10_LR)
        both = data.attrs["kind"] == 1
        ax.set_ylabel("share of larger LRs" if both else "share of more misleading LRs")
        ax.set_ylim(-0.02, 1.02)
        corner = "lower left" if both else "upper center"
        display.finish(ax, legend=corner if legend else None)
        return self


class PavDisplay(display.Display):
    """
    LRs after isotonic regression (PAV) against stated LRs; infinite ones at the edges.

    Make it with `from_predictions`.

    Parameters
    ----------
    data : xarray.Dataset
        pav, negatives, positives (log10_lr).

    Attributes
    ----------
    line_ : matplotlib.lines.Line2D
        The PAV curve where it is finite.
    edges_ : list of matplotlib.lines.Line2D
        Comparisons whose PAV value is infinite.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> display = PavDisplay.from_predictions(
    ...     [0, 1, 0, 1], [-1.0, 0.3, 0.5, 1.0], ax=Figure().subplots()
    ... )
    >>> len(display.edges_)
    2
    """

    @classmethod
    def from_predictions(
        cls, y_true: ArrayLike, log10_lr: ArrayLike, *, ax: Axes | None = None, legend: bool = True
    ) -> Self:
        """
        Plot recalibrated LRs.

        Parameters
        ----------
        y_true, log10_lr
            See `bayescal.likelihood_ratio.cllr`.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default axes of a new figure.
        legend : bool
            Whether to draw a legend.

        Raises
        ------
        ValueError
            If an argument is not as described.
        """
        return cls(curves.pav(read_comparisons(y_true, log10_lr))).plot(ax=ax, legend=legend)

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
        ax, data = self._begin(ax, legend=legend), self.data
        x, y = data["log10_lr"].values, data["pav"].values
        shown_x, shown_y = x[np.isfinite(x)], y[np.isfinite(y)]
        ends = np.concatenate([shown_x, shown_y, [0.0]])
        low, high = float(ends.min()), float(ends.max())
        margin = EDGE * (high - low) or 0.5
        ax.plot([low, high], [low, high], label="stated = PAV", **display.REFERENCE)
        finite = np.isfinite(x) & np.isfinite(y)
        label = f"PAV, devPAV {data.attrs['devpav']:.2f}"
        (self.line_,) = ax.plot(x[finite], y[finite], label=label, **self._looks()[0])
        self.edges_: list[Any] = []
        for sign, marker in ((-1.0, "v"), (1.0, "^")):
            beyond = np.isinf(y) & (np.sign(y) == sign)
            if beyond.any():
                height = high + margin if sign > 0.0 else low - margin
                where = np.clip(x[beyond], low - margin, high + margin)
                self.edges_ += ax.plot(where, np.full(where.size, height), marker, **EDGE_LOOK)
        if self.edges_:
            self.edges_[0].set_label("infinite after PAV")
        limits = low - 2 * margin, high + 2 * margin
        ax.set(xlim=limits, ylim=limits)
        ax.set_xlabel(f"stated {LOG10_LR}")
        ax.set_ylabel(f"{LOG10_LR} after PAV")
        display.finish(ax, legend="upper left" if legend else None, corner=(0.0, 0.93))
        return self


EDGE_LOOK: display.Look = {
    "color": DATA_COLOUR,
    "markersize": 4.0,
    "markerfacecolor": "none",
    "linestyle": "none",
}


class CrossEntropyDisplay(display.Display):
    """
    Empirical cross-entropy by prior odds: of stated LRs, after PAV, and of LR = 1.

    Make it with `from_predictions`.

    Parameters
    ----------
    data : xarray.Dataset
        stated, recalibrated, neutral (log10_prior_odds), in bits.

    Attributes
    ----------
    lines_ : list of matplotlib.lines.Line2D
        The curves of stated LRs, after PAV, and of LR = 1.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> display = CrossEntropyDisplay.from_predictions(
    ...     [0, 1, 0, 1], [-1.0, 0.3, 0.5, 1.0], ax=Figure().subplots()
    ... )
    >>> display.ax_.get_ylabel()
    'empirical cross-entropy (bits)'
    """

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        log10_lr: ArrayLike,
        *,
        log10_prior_odds: ArrayLike = curves.PRIORS,
        ax: Axes | None = None,
        legend: bool = True,
    ) -> Self:
        """
        Plot the empirical cross-entropy.

        Parameters
        ----------
        y_true, log10_lr
            See `bayescal.likelihood_ratio.cllr`.
        log10_prior_odds : array-like
            Base-10 logarithms of prior odds; by default from -3 to 3.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default axes of a new figure.
        legend : bool
            Whether to draw a legend.

        Raises
        ------
        ValueError
            If an argument is not as described.
        """
        compared = read_comparisons(y_true, log10_lr)
        return cls(curves.cross_entropies(compared, log10_prior_odds)).plot(ax=ax, legend=legend)

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
        ax, data = self._begin(ax, legend=legend), self.data
        x, attrs = data["log10_prior_odds"].values, data.attrs
        looks = (
            ("stated", f"stated LRs, Cllr {attrs['cllr']:.3f}", self._looks()[0]),
            ("recalibrated", f"after PAV, {attrs['min_cllr']:.3f}", display.MLE),
            ("neutral", "LR = 1", display.REFERENCE | {"linewidth": 1.6}),
        )
        self.lines_ = []
        for name, label, look in looks:
            self.lines_ += ax.plot(x, data[name], label=label, **look)
        ax.axvline(0.0, zorder=0, **display.REFERENCE)
        stated = data["stated"].values
        top = float(stated[np.isfinite(stated)].max(initial=1.0))
        ax.set_ylim(0.0, min(1.08 * top, 2.5))
        ax.set_xlim(x.min(), x.max())
        ax.set_xlabel(r"$\log_{10}$ prior odds")
        ax.set_ylabel("empirical cross-entropy (bits)")
        display.finish(ax, legend="upper left" if legend else None)
        return self


class ConsistencyDisplay(display.Display):
    """
    Observed against stated log10 LRs in bins, with intervals by source.

    Make it with `from_predictions`.

    Parameters
    ----------
    data : xarray.Dataset
        stated, observed, lower, upper, comparisons (bin).

    Attributes
    ----------
    bars_ : matplotlib.container.ErrorbarContainer
        The bins.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> display = ConsistencyDisplay.from_predictions(
    ...     [0, 1, 0, 1], [-1.0, 0.3, 0.5, 1.0], ax=Figure().subplots()
    ... )
    >>> display.data.sizes["bin"]
    2
    """

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        log10_lr: ArrayLike,
        *,
        sources: tuple[ArrayLike, ArrayLike] | None = None,
        bins: int | None = None,
        level: float = 0.9,
        random_state: Any = 0,
        ax: Axes | None = None,
        legend: bool = True,
    ) -> Self:
        """
        Plot observed LRs of bins.

        Parameters
        ----------
        y_true, log10_lr
            See `bayescal.likelihood_ratio.cllr`.
        sources : tuple of two array-likes, optional
            The sources of the two items of each comparison, which widen the intervals.
        bins : int, optional
            Number of bins, which hold equal shares of both classes together; by default up to ten.
        level : float
            Probability of the intervals.
        random_state : int, numpy Generator, RandomState or None
            Seeds the draws behind intervals.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default axes of a new figure.
        legend : bool
            Whether to draw a legend.

        Raises
        ------
        ValueError
            If an argument is not as described.
        """
        compared = read_comparisons(y_true, log10_lr)
        data = curves.consistency(compared, sources, bins=bins, level=level, rng=random_state)
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
        ax, data = self._begin(ax, legend=legend), self.data
        x, y, low, high = (data[k].values for k in ("stated", "observed", "lower", "upper"))
        ends = np.concatenate([x, y])
        ax.plot([ends.min(), ends.max()], [ends.min(), ends.max()], **display.REFERENCE)
        label = f"bins, {100 * data.attrs['level']:g} % interval"
        look = display.DATA | {"color": self._looks()[0]["color"]}
        self.bars_ = ax.errorbar(x, y, [y - low, high - y], label=label, **look)
        ax.set_xlabel(f"stated {LOG10_LR}")
        ax.set_ylabel(f"observed {LOG10_LR}")
        display.finish(ax, legend="upper left" if legend else None)
        return self

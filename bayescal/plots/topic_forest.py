"""Many topics in one picture: each topic's own estimate, and its shrinkage to the population."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from sklearn.utils.validation import check_is_fitted

from bayescal.fitting.results.diagnostics import unpooled_sides
from bayescal.fitting.scores import KLASS
from bayescal.plots import display
from bayescal.support.intervals import tails
from bayescal.support.labels import negative_and_positive
from bayescal.support.palette import FAINT_COLOUR, MLE_COLOUR, POSTERIOR_COLOUR
from bayescal.support.validation import check_choice, check_fraction

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DRAWS = ("chain", "draw")
# Parameters to show, and their labels with the class's name.
PARAMETERS = {
    "theta": "mode of the scores of class {}",
    "left": "left side of the scores of class {}",
    "right": "right side of the scores of class {}",
    "width": "width of the scores of class {}: left and right side",
    "prior": "P({})",
}
INNER = 0.5
ROW, LEAST_HEIGHT, WIDTH = 0.24, 2.4, 5.6
LEGEND_HEIGHT = 0.62  # inches, of three lines of small letters


class TopicForestDisplay(display.EstimatorDisplay):
    """One parameter of every topic: pooled posterior, the topic by itself, and the population.

    Topics are rows, those with most documents of the class on top. A dot is the posterior mean, a
    thick line half of the posterior and a thin one `level` of it; a diamond is the topic's own
    maximum likelihood, and the line from there to the dot is its shrinkage to the population. The
    shaded strip holds `level` of a new topic without documents. Diamonds beyond the axis are arrows
    at its end.

    Parameters
    ----------
    data : xarray.Dataset
        mean, lower, upper, inner_lower, inner_upper, unpooled, documents (topic); population
        (quantile).

    Attributes
    ----------
    points_, apart_ : matplotlib.lines.Line2D
        Posterior means, maximum likelihood.
    intervals_, inner_intervals_, shrinkage_ : matplotlib.collections.LineCollection
        Lines of both intervals and of the shrinkage.
    population_ : matplotlib.patches.Rectangle
        The strip.

    Examples
    --------
    >>> from bayescal import TopicCalibrator
    >>> rng = np.random.default_rng(0)
    >>> labels = np.tile(np.repeat([0, 1], [20, 4]), 3)
    >>> topics = np.repeat(["corn", "crude", "earn"], 24)
    >>> calibrator = TopicCalibrator(random_state=0).fit(
    ...     rng.normal(3.0 * labels, 1.0), labels, topics
    ... )
    >>> display = TopicForestDisplay.from_estimator(calibrator)
    >>> display.ax_.get_xlabel()
    'mode of the scores of class 1'
    """

    _legend = "upper right"

    @staticmethod
    def compute(
        calibrator: Any,
        *,
        parameter: str = "theta",
        klass: str = "positive",
        topics: Sequence[Any] | None = None,
        level: float = 0.9,
    ) -> xr.Dataset:
        """Compute a parameter of all topics.

        Parameters
        ----------
        calibrator : TopicCalibrator
            Fitted.
        parameter : {"theta", "left", "right", "width", "prior"}
            The mode; the mean lengths or sigmas of the sides, or their sum; or P(+).
        klass : {"positive", "negative"}
            The class of the scores; for "prior" the class whose documents order the topics.
        topics : sequence, optional
            Topics to show; by default all.
        level : float
            Posterior probability of the intervals and of the strip.
        """
        if not hasattr(calibrator, "add_topics"):
            raise ValueError(
                "calibrator must be a fitted TopicCalibrator, whose topics are shown; got"
                f" {type(calibrator).__name__}."
            )
        check_is_fitted(calibrator)
        check_choice("parameter", parameter, tuple(PARAMETERS))
        check_choice("klass", klass, KLASS)
        check_fraction(level=level)
        data = _forest(calibrator.posterior_, parameter, klass, level)
        if topics is not None:
            strange = sorted(set(topics) - set(calibrator.topics_.tolist()))
            if strange or not len(topics):
                raise ValueError(f"topics must be some of those fitted, got {strange or 'none'}.")
            data = data.sel(topic=list(topics))
        names = dict(zip(KLASS, map(str, negative_and_positive(calibrator)), strict=True))
        whose = names["positive"] if parameter == "prior" else names[klass]
        attrs = {
            "level": level,
            "parameter": parameter,
            "label": PARAMETERS[parameter].format(whose),
        }
        return data.assign_attrs(attrs)

    def _size(self) -> tuple[float, float]:
        """Return a size with room for the topics."""
        return WIDTH, max(LEAST_HEIGHT, 1.3 + LEGEND_HEIGHT + ROW * self.data.sizes["topic"])

    def _draw(self, ax: Axes) -> None:
        order = np.argsort(-self.data["documents"].values, kind="stable")
        data = self.data.isel(topic=order)
        rows = np.arange(data.sizes["topic"])
        if data.attrs["parameter"] not in ("theta", "prior"):
            ax.set_xscale("log")
            ax.xaxis.set_major_locator(
                display.require("matplotlib.ticker").LogLocator(subs=(1.0, 2.0, 5.0))
            )
            ax.xaxis.set_major_formatter("{x:g}")
            ax.xaxis.set_minor_formatter("")
        low, middle, high = data["population"].values
        strip = {
            **display.BAND,
            "color": FAINT_COLOUR,
            "zorder": 0,
            "label": f"new topic, {self._level}",
        }
        self.population_ = ax.axvspan(low, high, **strip)
        ax.axvline(middle, zorder=0, **display.REFERENCE)
        self._draw_topics(ax, data, rows)
        counts = zip(data["topic"].values.tolist(), data["documents"].values.tolist(), strict=True)
        names = [f"{name} ({round(count, 2):,})" for name, count in counts]
        ax.set_yticks(rows, names, fontsize="small")
        ax.set_xlabel(data.attrs["label"])

    def _finish(self, ax: Axes, *, legend: bool) -> None:
        rows = self.data.sizes["topic"]
        ax.set_ylim(rows - 0.4, -0.6 - (_rows_of_legend(ax, rows) if legend else 0.0))
        super()._finish(ax, legend=legend)

    def _draw_topics(self, ax: Axes, data: xr.Dataset, rows: Any) -> None:
        mean = data["mean"].values
        low, high = self._reach()
        unpooled = np.clip(data["unpooled"].values, low, high)
        ax.set_xlim(low, high)
        look: display.Look = {"color": MLE_COLOUR, "linewidth": 0.8, "alpha": 0.7}
        self.shrinkage_ = ax.hlines(rows, unpooled, mean, **look)
        self.intervals_ = ax.hlines(
            rows, data["lower"], data["upper"], color=POSTERIOR_COLOUR, linewidth=1.2
        )
        self.inner_intervals_ = ax.hlines(
            rows, data["inner_lower"], data["inner_upper"], color=POSTERIOR_COLOUR, linewidth=3.2
        )
        dots: display.Look = {
            "color": POSTERIOR_COLOUR,
            "markeredgecolor": "white",
            "markersize": 6.0,
        }
        text = f"pooled: mean, 50 % and {self._level}"
        (self.points_,) = ax.plot(mean, rows, "o", label=text, **dots)
        inside = unpooled == data["unpooled"].values
        diamond: display.Look = {"color": MLE_COLOUR, "markerfacecolor": "white", "markersize": 5.0}
        (self.apart_,) = ax.plot(
            unpooled[inside], rows[inside], "D", label="by itself, maximum likelihood", **diamond
        )
        for edge, marker in ((low, "<"), (high, ">")):
            out = ~inside & (unpooled == edge)
            ax.plot(unpooled[out], rows[out], marker, clip_on=False, **diamond)

    def _reach(self) -> tuple[float, float]:
        """Return the ends of the axis, for all intervals and most maximum likelihood estimates."""
        data, log = self.data, self.data.attrs["parameter"] not in ("theta", "prior")
        population = data["population"].values
        unpooled = data["unpooled"].values[np.isfinite(data["unpooled"].values)]
        values = np.concatenate([data["lower"].values, data["upper"].values, population[[0, -1]]])
        if log:
            values, unpooled = np.log(values), np.log(unpooled[unpooled > 0.0])
        low, high = values.min(), values.max()
        reach = high - low
        if unpooled.size:
            low = min(low, max(unpooled.min(), low - 0.5 * reach))
            high = max(high, min(unpooled.max(), high + 0.5 * reach))
        low, high = low - 0.03 * reach, high + 0.03 * reach
        return (float(np.exp(low)), float(np.exp(high))) if log else (float(low), float(high))


def _rows_of_legend(ax: Axes, rows: int) -> float:
    """Return the height of a three-line legend in rows of the topics below it."""
    height = ax.get_position().height * ax.figure.get_size_inches()[1]  # type: ignore[union-attr]
    share = float(min(LEGEND_HEIGHT / height, 0.5))
    return rows * share / (1.0 - share)


def _forest(tree: xr.DataTree, parameter: str, klass: str, level: float) -> xr.Dataset:
    """Return posterior, maximum likelihood and population of one parameter."""
    posterior, population, fits = (
        tree[name].to_dataset()
        for name in ("posterior", "population/posterior", "maximum_likelihood")
    )
    counts = fits["total_weight"]
    documents = counts.sel(klass=klass)
    if parameter == "prior":
        draws, new = posterior["prior"], population["prior"]
        unpooled = counts.sel(klass="positive", drop=True) / counts.sum("klass")
    else:
        draws, new, unpooled = (
            _values(group.sel(klass=klass), parameter)
            for group in (posterior, population, unpooled_sides(fits))
        )
    shares = [*tails(level), *tails(INNER)]
    quantiles = np.quantile(draws.transpose("topic", *DRAWS), shares, axis=(1, 2))
    names = ("lower", "upper", "inner_lower", "inner_upper")
    strip = np.quantile(new, [shares[0], 0.5, shares[1]])
    return xr.Dataset(
        {
            "mean": draws.mean(DRAWS),
            **{name: ("topic", each) for name, each in zip(names, quantiles, strict=True)},
            "unpooled": unpooled,
            "documents": documents,
            "population": ("quantile", strip),
        }
    ).drop_vars("klass", errors="ignore")


def _values(group: xr.Dataset, parameter: str) -> xr.DataArray:
    return group["left"] + group["right"] if parameter == "width" else group[parameter]

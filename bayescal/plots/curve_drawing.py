"""How curves over the scores are drawn: band, posterior, maximum likelihood, labels of the axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import xarray as xr

from bayescal.plots.style import BAND, MLE, POSTERIOR
from bayescal.validation import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.lines import Line2D

BAND_NAMES = {"pointwise": "band", "simultaneous": "band of the whole curve"}


def draw_band(ax: Axes, data: xr.Dataset, scale: Callable[[Any], Floats]) -> PolyCollection | None:
    """Fill between `lower` and `upper` of curve data, where there are such."""
    if "lower" not in data:
        return None
    label = f"{100 * data.attrs['level']:g} % {BAND_NAMES[data.attrs['band']]}"
    lower, upper = scale(data["lower"].values), scale(data["upper"].values)
    return ax.fill_between(data["score"].values, lower, upper, label=label, **BAND)


def draw_curves(
    ax: Axes, data: xr.Dataset, scale: Callable[[Any], Floats], *, mle: bool
) -> tuple[Line2D | None, Line2D | None]:
    """Draw the posterior's curve, where there is one, and that of maximum likelihood."""
    x, line, mle_line = data["score"].values, None, None
    if name := data.attrs["curve"]:
        (line,) = ax.plot(x, scale(data["log_odds"].values), label=name, **POSTERIOR)
    if "mle" in data and (mle or not name):
        (mle_line,) = ax.plot(x, scale(data["mle"].values), label="maximum likelihood", **MLE)
    return line, mle_line


def label_scores(ax: Axes, data: xr.Dataset) -> None:
    """Label the axis of the scores in their own units and end it where the curves end."""
    if data.attrs["scores_are"] == "probabilities":
        ax.set_xscale("logit")
        ax.xaxis.set_major_formatter("{x:.4g}")
        ax.xaxis.set_minor_formatter("")
    x = data["score"].values
    if x[0] < x[-1]:
        ax.set_xlim(x[0], x[-1])
    ax.set_xlabel(data.attrs["score_name"])


def class_name(data: xr.Dataset) -> str:
    """
    Return what P(+) is the probability of: the topic, or else the positive class.

    Examples
    --------
    >>> class_name(xr.Dataset(attrs={"positive_class": "1", "topic": "corn"}))
    'corn'
    """
    return str(data.attrs.get("topic", data.attrs["positive_class"]))

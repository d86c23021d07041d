"""Lines and points of all plots, which tell things apart without colour too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayescal.palette import DATA_COLOUR, FAINT_COLOUR, MLE_COLOUR, OKABE_ITO, POSTERIOR_COLOUR
from bayescal.plots.optional import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Keyword arguments of an artist.
Look = dict[str, Any]

POSTERIOR: Look = {"color": POSTERIOR_COLOUR, "linestyle": "-", "linewidth": 1.8}
MLE: Look = {"color": MLE_COLOUR, "linestyle": (0, (5, 2)), "linewidth": 1.4}
BAND: Look = {"color": POSTERIOR_COLOUR, "alpha": 0.22, "linewidth": 0}
DATA: Look = {
    "color": DATA_COLOUR,
    "linestyle": "none",
    "marker": "o",
    "markersize": 3.6,
    "elinewidth": 0.9,
}
REFERENCE: Look = {"color": FAINT_COLOUR, "linestyle": ":", "linewidth": 1.0}

# Lines beside each other: colour, marker and dashes all tell them apart.
MANY_LINES: tuple[Look, ...] = tuple(
    {
        "color": OKABE_ITO[name],
        "marker": marker,
        "linestyle": dashes,
        "markersize": 4.5,
        "linewidth": 1.5,
    }
    for name, marker, dashes in (
        ("blue", "o", "-"),
        ("vermilion", "s", "--"),
        ("bluish green", "^", "-."),
        ("reddish purple", "D", ":"),
        ("orange", "v", "-"),
        ("sky blue", "<", "--"),
        ("black", ">", "-."),
    )
)

# Of the negative and of the positive class, told apart without colour too.
CLASS_DASHES: tuple[Any, Any] = ((0, (7, 1.5, 1.5, 1.5)), "-")
CLASS_EDGES = (0.0, 0.9)

SIZE = (5.2, 3.7)
# Of pictures saved as pixels.
DPI = 200
# Beyond so many points a vector file keeps them as pixels, and they grow faint.
MANY = 500


def new_axes(size: tuple[float, float] = SIZE) -> Axes:
    """Return axes of a new figure of this size in inches."""
    axes: Axes = require("matplotlib.pyplot").subplots(figsize=size, layout="constrained")[1]
    return axes


def finish(ax: Axes, *, legend: str | None, corner: tuple[float, float] | None = None) -> None:
    """Take away the frame where nothing is read off it, and put a legend into a corner."""
    ax.spines[["top", "right"]].set_visible(False)
    if legend is not None:
        # What lies behind shows through a little, and does not blur the words.
        paper: Look = {"framealpha": 0.8, "edgecolor": "none", "borderpad": 0.2}
        ax.legend(loc=legend, bbox_to_anchor=corner, fontsize="small", handlelength=2.6, **paper)


def rug(ax: Axes, places: Any, height: float) -> Any:
    """Mark scores by ticks at a height; the more there are, the fainter."""
    alpha = min(1.0, max(0.08, (MANY / max(len(places), 1)) ** 0.5))
    (artist,) = ax.plot(
        places,
        [height] * len(places),
        linestyle="none",
        marker="|",
        markersize=6,
        markeredgewidth=0.7,
        color=DATA_COLOUR,
        alpha=alpha,
        rasterized=len(places) > MANY,
    )
    return artist


def note(ax: Axes, text: str, place: tuple[float, float], align: tuple[str, str]) -> Any:
    """Write small text at a share of the axes' width and a value of their height."""
    horizontal, vertical = align
    shift = 5.0 if vertical == "bottom" else -5.0
    return ax.annotate(
        text,
        place,
        xycoords=("axes fraction", "data"),
        xytext=(0.0, shift),
        textcoords="offset points",
        ha=horizontal,
        va=vertical,
        fontsize="small",
        color=DATA_COLOUR,
    )

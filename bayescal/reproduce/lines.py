"""Lines of means with their standard errors, in small panels."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bayescal.palette import OKABE_ITO
from bayescal.plots.style import DPI

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMES = ("blue", "vermilion", "bluish green", "reddish purple", "orange", "sky blue")
# More lines than colours are told apart by dashes.
COLOURS = (*(OKABE_ITO[name] for name in NAMES), "#444444")
MARKERS = "os^Dv<>"
COLUMNS = 4
LEAST_WIDTH = 8.0
# What a figure has room for.
SHOWN = (
    "LR+Noise",
    "isotonic",
    "beta",
    "Venn-Abers",
    "A.Laplace",
    "A.Laplace posterior",
    "pooled default",
    "default",
)


def learning_curves(table: pd.DataFrame) -> Figure:
    """Return log-loss against positives per topic, one panel for each classifier."""
    shown = table[table["method"].isin(SHOWN)]
    labels = ("positives per topic", "log-loss (bits)")
    return lines(shown, "n", "method", "classifier", labels, columns=2, log=True)


def panels(count: int, columns: int = COLUMNS, height: float = 2.1) -> tuple[Figure, list[Axes]]:
    """Return a figure of `count` small axes in rows."""
    from matplotlib.figure import Figure

    rows = -(-count // columns)
    width = max(2.9 * columns, LEAST_WIDTH)
    figure = Figure(figsize=(width, height * rows), dpi=DPI, layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax in grid[count:]:
        ax.remove()
    return figure, list(grid[:count])


def lines(
    table: pd.DataFrame,
    x: str,
    by: str,
    panel: str,
    labels: tuple[str, str],
    *,
    columns: int,
    level: float | None = None,
    tick: Callable[[int], str] = str,
    log: bool = False,
) -> Figure:
    """
    Return lines of columns `mean` and `error` against x, one a value of `by`, by panels.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns x, by, panel, mean, error.
    x, by, panel : str
        Names of columns.
    labels : tuple of str
        Of both axes.
    columns : int
        Panels a row.
    level : float, optional
        Where to draw a line across.
    tick : callable
        What a value of x is called.
    log : bool
        Whether the values' axis is logarithmic.
    """
    from matplotlib.ticker import LogFormatter

    names = list(dict.fromkeys(table[panel]))
    methods = list(dict.fromkeys(table[by]))
    ticks = sorted(set(table[x]))
    table = table.assign(place=table[x].map(ticks.index))
    figure, axes = panels(len(names), columns, height=3.2)
    for ax, name in zip(axes, names, strict=True):
        part = table[table[panel] == name]
        for k, method in enumerate(methods):
            _draw_line(ax, part[part[by] == method], k, method)
        if level is not None:
            ax.axhline(level, color="#444444", linewidth=0.7, linestyle=":")
        if log:
            ax.set_yscale("log")
            ax.yaxis.set_major_formatter("{x:g}")
            ax.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2, 0.5)))
        ax.set_xticks(range(len(ticks)), [tick(value) for value in ticks])
        ax.set_title(name, fontsize=9)
        # Not one label for the figure: the legend would lie on it.
        ax.set_xlabel(labels[0], fontsize=9)
        ax.tick_params(labelsize=7, which="both")
    figure.supylabel(labels[1], fontsize=9)
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=6 if columns > 2 else 4, fontsize=8)
    return figure


def _draw_line(ax: Axes, points: pd.DataFrame, k: int, label: str) -> None:
    """Draw the k-th line of a panel, with bars of two standard errors."""
    ax.errorbar(
        points["place"],
        points["mean"],
        2 * points["error"],
        label=label,
        color=COLOURS[k % len(COLOURS)],
        marker=MARKERS[k % len(MARKERS)],
        linestyle="-" if k < len(COLOURS) else "--",
        markersize=4,
        linewidth=1.2,
    )

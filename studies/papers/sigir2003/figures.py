"""Figures 2 to 5 of the paper, and learning curves with standard errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bayescal.families import FAMILIES, Family
from bayescal.plots.display import DPI
from bayescal.support.palette import OKABE_ITO
from bayescal.support.validation import Floats
from studies.papers.methods import METHODS
from studies.papers.sigir2003.scores import TopicScores

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


BLUE, RED, GREEN = (OKABE_ITO[name] for name in ("blue", "vermilion", "bluish green"))
GREY = "#777777"
CLASSES = ((0, RED, "negatives"), (1, BLUE, "positives"))
BINS, POINTS = 60, 600
# What is drawn: a thousandth of either class on either side would squeeze all the rest.
SHOWN = (0.001, 0.999)
SCORE_NAMES = {"naive_bayes": "naive Bayes log-odds", "linear_svm": "linear SVM margin"}


def draw_figures(by_classifier: Mapping[str, TopicScores]) -> dict[str, Figure]:
    """Return the figures by the names of their files.

    Parameters
    ----------
    by_classifier : mapping of str to TopicScores
        One topic's scores: of "naive_bayes" and "linear_svm".
    """
    bayes = by_classifier["naive_bayes"]
    return {
        "figure_2_gaussians": gaussian_view(bayes),
        "figure_3_asymmetric_gaussians": gaussian_shapes(bayes),
        "figure_4_densities": fitted_densities(by_classifier),
        "figure_5_log_odds": fitted_log_odds(by_classifier),
    }


def gaussian_view(scores: TopicScores) -> Figure:
    """Return figure 2: Gaussian densities of both classes, and the regions that their modes cut."""
    figure, (ax,) = _panels(1)
    grid = _grid(scores)
    means = []
    for label, colour, name in CLASSES:
        part = scores.scores[scores.labels == label]
        means.append(part.mean())
        ax.plot(grid, stats.norm(part.mean(), part.std()).pdf(grid), color=colour, label=name)
        ax.axvline(part.mean(), color=colour, linewidth=0.8, linestyle=":")
    edges = [grid[0], *sorted(means), grid[-1]]
    for region, low, high in zip("ABC", edges[:-1], edges[1:], strict=True):
        place = ax.get_xaxis_transform()
        ax.text((low + high) / 2, 0.97, region, transform=place, ha="center", va="top")
    _finish(ax, scores)
    return figure


def gaussian_shapes(scores: TopicScores) -> Figure:
    """Return figure 3: a Gaussian puts the mode where no scores are; two halves of it do not."""
    figure, (ax,) = _panels(1)
    grid = _grid(scores)
    for label, colour, name in CLASSES:
        part = scores.scores[scores.labels == label]
        mode = grid[stats.gaussian_kde(part)(grid).argmax()]
        ax.axvline(mode, color=colour, linewidth=0.8, linestyle=":")
        for family, line in (("gaussian", "--"), ("asymmetric_gaussian", "-")):
            ax.plot(grid, _density(FAMILIES[family], part, grid), line, color=colour)
        ax.plot([], [], color=colour, label=name)
    ax.plot([], [], "--", color=GREY, label="Gauss")
    ax.plot([], [], "-", color=GREY, label="A.Gauss")
    ax.plot([], [], ":", color=GREY, label="mode of the scores (kernel estimate)")
    _finish(ax, scores)
    return figure


def fitted_densities(by_classifier: Mapping[str, TopicScores]) -> Figure:
    """Return figure 4: binned scores of training and test, and A.Laplace fitted to training."""
    figure, axes = _panels(len(by_classifier))
    for ax, scores in zip(axes, by_classifier.values(), strict=True):
        grid = _grid(scores)
        edges = np.linspace(grid[0], grid[-1], BINS + 1)
        for label, colour, _ in CLASSES:
            train = scores.scores[scores.labels == label]
            test = scores.new[scores.truth == (label == 1)]
            ax.stairs(_heights(train, edges), edges, color=colour, alpha=0.3, fill=True)
            ax.stairs(_heights(test, edges), edges, color=GREY, linewidth=0.9)
            fitted = _density(FAMILIES["asymmetric_laplace"], train, grid)
            ax.plot(grid, fitted, color=colour, linewidth=1.4)
        for _, colour, name in CLASSES:
            ax.fill_between([], [], color=colour, alpha=0.3, label=f"{name}, training")
        ax.plot([], [], color=GREY, linewidth=0.9, label="test")
        ax.plot([], [], color="black", linewidth=1.4, label="A.Laplace")
        _finish(ax, scores)
    return figure


def fitted_log_odds(by_classifier: Mapping[str, TopicScores]) -> Figure:
    """Return figure 5: log-odds of three fits against the binned ones of training and test."""
    figure, axes = _panels(len(by_classifier))
    for ax, scores in zip(axes, by_classifier.values(), strict=True):
        grid = _grid(scores)
        for method, colour in (("A.Laplace", BLUE), ("LogReg", RED), ("default", GREEN)):
            curve = METHODS[method](scores.scores, scores.labels, grid)
            name = "default, vague prior" if method == "default" else method
            ax.plot(grid, curve, color=colour, label=name)
        bins = binned_log_odds(scores.scores, scores.labels == 1)
        _draw_bins(ax, bins, "black", "o", "training, binned")
        _draw_bins(ax, binned_log_odds(scores.new, scores.truth), GREY, "^", "test, binned")
        reach = 1.6 * float(np.abs(bins.log_odds).max())
        ax.set_ylim(-reach, reach)
        ax.axhline(0.0, color=GREY, linewidth=0.5)
        _finish(ax, scores, f"log-odds of {scores.topic}")
    return figure


def _draw_bins(ax: Axes, bins: LogOddsBins, colour: str, marker: str, name: str) -> None:
    ax.errorbar(
        bins.score,
        bins.log_odds,
        bins.error,
        fmt=marker,
        color=colour,
        elinewidth=0.7,
        markersize=3.5,
        label=name,
    )


def _density(family: Family, part: Floats, grid: Floats) -> Floats:
    return np.exp(family.logpdf(grid, *family.fit(part).parameters.values()))


def _heights(part: Floats, edges: Floats) -> Floats:
    # Of all scores, not of those shown: heights compare with the fitted density.
    return np.histogram(part, edges)[0] / part.size / np.diff(edges)


def _grid(scores: TopicScores) -> Floats:
    low, high = np.quantile(scores.scores, SHOWN)
    return np.linspace(low, high, POINTS)


def _panels(count: int) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2 * count + 0.6, 3.9), dpi=DPI, layout="constrained")
    return figure, list(figure.subplots(1, count, squeeze=False)[0])


def _finish(ax: Axes, scores: TopicScores, what: str = "density") -> None:
    name = SCORE_NAMES.get(scores.classifier, scores.classifier)
    ax.set_xlabel(f"{name} ({scores.topic})")
    ax.set_ylabel(what)
    if what == "density":
        ax.set_ylim(bottom=0.0)
    # Below the axes: inside there is a curve wherever it goes.
    ax.legend(frameon=False, fontsize=8, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.16))


EMPIRICAL_BINS = 24
# Half a document of each class keeps the log-odds of a pure bin finite (Haldane and Anscombe).
HALF = 0.5


@dataclass(frozen=True)
class LogOddsBins:
    """Empirical log-odds of bins of scores.

    Attributes
    ----------
    score : array of shape (bins,)
        The bins' mean scores.
    log_odds : array of shape (bins,)
        ln((n_+ + 1/2)/(n_- + 1/2)).
    error : array of shape (bins,)
        Its standard error, the root of 1/(n_+ + 1/2) + 1/(n_- + 1/2).
    """

    score: Floats
    log_odds: Floats
    error: Floats


def binned_log_odds(
    scores: Floats, positive: NDArray[np.bool_], bins: int = EMPIRICAL_BINS
) -> LogOddsBins:
    """Return empirical log-odds of bins that hold equally much of both classes together.

    Each class weighs one half, so that the few positives of a topic get half of the bins.

    Parameters
    ----------
    scores : array of shape (n,)
        Raw scores.
    positive : array of shape (n,) of bool
        The classes, both present.
    bins : int
        At most so many.

    Examples
    --------
    >>> found = binned_log_odds(np.arange(8.0), np.arange(8) > 3, bins=2)
    >>> found.score, found.log_odds.round(2)
    (array([1.5, 5.5]), array([-2.2,  2.2]))
    """
    order = np.argsort(scores, kind="stable")
    ordered, truth = scores[order], positive[order]
    share = np.where(truth, 0.5 / positive.sum(), 0.5 / (~positive).sum())
    # From the middle of each document's share: rounding must not empty the last bin.
    place = np.cumsum(share) - 0.5 * share
    code = np.minimum((place * bins).astype(np.int64), bins - 1)
    code = np.unique(code, return_inverse=True)[1]
    n_positive = np.bincount(code, truth)
    n_all = np.bincount(code)
    n_negative = n_all - n_positive
    return LogOddsBins(
        score=np.bincount(code, ordered) / n_all,
        log_odds=np.log((n_positive + HALF) / (n_negative + HALF)),
        error=np.sqrt(1.0 / (n_positive + HALF) + 1.0 / (n_negative + HALF)),
    )


NAMES = ("blue", "vermilion", "bluish green", "reddish purple", "orange", "sky blue")
# Dashes distinguish lines beyond the number of colours.
COLOURS = (*(OKABE_ITO[name] for name in NAMES), "#444444")
MARKERS = "os^Dv<>"
COLUMNS = 4
LEAST_WIDTH = 8.0
# Methods in the figure, which holds eight lines.
SHOWN_METHODS = (
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
    shown = table[table["method"].isin(SHOWN_METHODS)]
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
    """Return lines of columns `mean` and `error` against x, one a value of `by`, by panels.

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

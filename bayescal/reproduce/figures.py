"""Figures 2 to 5 of the paper, from scores of one topic: densities, and what they imply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from bayescal.families import FAMILIES, Family
from bayescal.methods import METHODS
from bayescal.palette import OKABE_ITO
from bayescal.plots.style import DPI
from bayescal.reproduce.corpus_scores import TopicScores
from bayescal.reproduce.empirical import LogOddsBins, binned_log_odds
from bayescal.validation import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, RED, GREEN = (OKABE_ITO[name] for name in ("blue", "vermilion", "bluish green"))
GREY = "#777777"
CLASSES = ((0, RED, "negatives"), (1, BLUE, "positives"))
BINS, POINTS = 60, 600
# What is drawn: a thousandth of either class on either side would squeeze all the rest.
SHOWN = (0.001, 0.999)
SCORE_NAMES = {
    "naive_bayes": "naive Bayes log-odds",
    "linear_svm": "linear SVM margin",
}


def draw_figures(by_classifier: Mapping[str, TopicScores]) -> dict[str, Figure]:
    """
    Return the figures by the names of their files.

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

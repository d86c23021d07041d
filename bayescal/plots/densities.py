"""Densities of both classes over histograms of their scores (Bennett, figure 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayescal.fitting.curves.part_draws import density_dataset
from bayescal.fitting.problems.problem import FittedProblem
from bayescal.fitting.scores import KLASS
from bayescal.plots import display
from bayescal.support.palette import CLASS_COLOURS
from bayescal.support.validation import Floats, check_count, check_fraction, generator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_BINS = 60
MOST_DRAWS = 1000  # for the modes' intervals
# Height of the axes relative to the data: draws of a narrow mode may be much higher.
HEADROOM, MOST_OVER = 1.08, 1.6


class ClassDensityDisplay(display.ProblemDisplay):
    """p(score | class) of both classes, each of area 1, over histograms of the scores.

    The thick line is the posterior predictive density, solid for the positive class and dash-dotted
    for the negative one; thin lines are posterior draws, the dashed line is maximum likelihood. On
    the axis, ticks mark posterior medians of the modes and bars their intervals. `prior` has no
    effect.

    Parameters
    ----------
    data : xarray.Dataset
        mle, predictive (klass, score), draws (klass, sample, score), count (klass, bin) with
        bin_low and bin_high, mode (klass, quantile); densities per unit of score (of log-odds for
        probabilities).

    Attributes
    ----------
    lines_, mle_lines_, histograms_, modes_ : list of artists
        One for each class, negative first.
    draws_ : list of matplotlib.collections.LineCollection
        Posterior draws of each class.

    References
    ----------
    P. N. Bennett, Using asymmetric distributions to improve text classifier probability estimates,
    SIGIR 2003, figure 4.

    Examples
    --------
    >>> from bayescal import ScoreCalibrator
    >>> scores, labels = [-3.0, -2.0, -1.0, 0.5, 1.0, 2.0], [0, 0, 0, 1, 0, 1]
    >>> calibrator = ScoreCalibrator("gaussian", "mle").fit(scores, labels)
    >>> display = ClassDensityDisplay.from_estimator(calibrator)
    >>> bool(display.data["mle"].integrate("score").min() > 0.5)
    True
    """

    _legend = "upper right"

    @staticmethod
    def compute(
        problem: FittedProblem,
        *,
        grid: ArrayLike | None = None,
        level: float = 0.9,
        draws: int = 30,
        bins: int | None = None,
        random_state: Any = 0,
    ) -> xr.Dataset:
        """Compute the densities, some draws of them, the modes and the histograms.

        Parameters
        ----------
        problem : FittedProblem
            The problem to draw, of a family with densities; the default combination shows its part
            with densities.
        grid : array-like, optional
            Scores; by default 400 over all scores and a little beyond.
        level : float
            Posterior probability of the modes' intervals.
        draws : int
            Number of posterior draws shown.
        bins : int, optional
            Bins of the histograms; by default it grows with the number of scores.
        random_state : int, numpy Generator, RandomState or None
            Chooses the draws.
        """
        check_fraction(level=level)
        check_count("draws", draws)
        if bins is not None:
            check_count("bins", bins)
        x = problem.grid(grid)
        data = class_densities(problem, x, level, draws, random_state).merge(
            histograms(problem, bins)
        )
        return data.assign_coords(score=problem.shown(x)).assign_attrs(problem.attrs, level=level)

    def _draw(self, ax: Axes, *, mle: bool = True, histogram: bool = True) -> None:
        """Draw the densities.

        Parameters
        ----------
        mle : bool
            Draw the maximum-likelihood densities.
        histogram : bool
            Draw the histograms.
        """
        data = self.data
        self.histograms_: list[Any] = []
        self.draws_: list[Any] = []
        self.lines_: list[Any] = []
        self.mle_lines_: list[Any] = []
        self.modes_: list[Any] = []
        for k, klass in enumerate(KLASS):
            name = f"class {data.attrs[f'{klass}_class']}"
            if histogram:
                self._draw_histogram(ax, data.sel(klass=klass), k, name)
            if "predictive" in data:
                self._draw_posterior(ax, data.sel(klass=klass), k, name)
        if "mle" in data and (mle or "predictive" not in data):
            for k, curve in enumerate(data["mle"].values):
                label = None if k else "maximum likelihood"
                self.mle_lines_ += ax.plot(data["score"].values, curve, label=label, **display.MLE)
        display.label_scores(ax, data)
        ax.set_ylim(0.0, HEADROOM * self._height(mle=mle, histogram=histogram))
        unit = " per unit of log-odds" if data.attrs["scores_are"] == "probabilities" else ""
        ax.set_ylabel(f"density p(score | class){unit}")

    def _draw_histogram(self, ax: Axes, one: xr.Dataset, k: int, name: str) -> None:
        bins = one[["bin_low", "bin_high", "height"]].dropna("bin")
        if bins.sizes["bin"]:
            edges = np.append(bins["bin_low"].values, bins["bin_high"].values[-1])
            # With a posterior its line has the name.
            label = None if "predictive" in one else name
            red, green, blue = display.require("matplotlib.colors").to_rgb(CLASS_COLOURS[k])
            look: display.Look = {
                "facecolor": (red, green, blue, 0.3),
                "edgecolor": CLASS_COLOURS[k],
                "linewidth": display.CLASS_EDGES[k],
                "label": label,
            }
            self.histograms_.append(ax.stairs(bins["height"].values, edges, fill=True, **look))

    def _draw_posterior(self, ax: Axes, one: xr.Dataset, k: int, name: str) -> None:
        colour = CLASS_COLOURS[k]
        x = one["score"].values
        if "draws" in one:
            curves = [np.column_stack([x, curve]) for curve in one["draws"].values]
            lines = display.require("matplotlib.collections").LineCollection(
                curves, colors=colour, linewidths=0.6, alpha=0.35
            )
            self.draws_.append(ax.add_collection(lines, autolim=False))
        look: display.Look = {
            "color": colour,
            "linestyle": display.CLASS_DASHES[k],
            "linewidth": 2.0,
            "label": name,
        }
        self.lines_ += ax.plot(x, one["predictive"].values, **look)
        if "mode" in one:
            self.modes_.append(_draw_mode(ax, one["mode"].values, colour))

    def _height(self, *, mle: bool, histogram: bool) -> float:
        """Return the height for histograms and predictive densities, with a limit for others."""
        names = ["height"] if histogram and self.data.sizes["bin"] else []
        names.append("predictive" if "predictive" in self.data else "mle")
        top = max(float(self.data[name].max()) for name in names)
        if mle and "mle" in self.data:
            top = max(top, min(float(self.data["mle"].max()), MOST_OVER * top))
        return top


def class_densities(
    problem: FittedProblem, x: Floats, level: float, size: int, seed: Any
) -> xr.Dataset:
    """Return densities of both classes, some draws of them, and the modes."""
    draws = problem.calibration.density_draws
    shown = draws if problem.has_posterior else None
    fits = problem.calibration.fits if problem.has_mle else None
    data = density_dataset(fits, draws, x, level)
    if draws is None or shown is None:
        return data.drop_vars(["lower", "upper"], errors="ignore")
    few = draws.take(generator(seed).choice(draws.size, min(size, draws.size), replace=False))
    log_draws = np.stack(few.log_densities(x))
    many = draws.take(np.arange(0, draws.size, max(1, draws.size // MOST_DRAWS)))
    modes = np.stack([x[each.argmax(axis=1)] for each in many.log_densities(x)])
    quantile = [0.5 - level / 2.0, 0.5, 0.5 + level / 2.0]
    data["draws"] = (("klass", "sample", "score"), np.exp(log_draws))
    data["mode"] = (("klass", "quantile"), problem.shown(np.quantile(modes, quantile, axis=1).T))
    return data.assign_coords(quantile=quantile)


def histograms(problem: FittedProblem, bins: int | None) -> xr.Dataset:
    """Return histograms of area 1, with bins for each class; nan beyond the number of its bins."""
    parts = [_bins_of(*problem.documents.weighted(bool(k)), problem, bins) for k in range(2)]
    most = max(height.size for _, height in parts)
    out = np.full((3, len(KLASS), most), np.nan)
    for k, (edges, height) in enumerate(parts):
        shown = problem.shown(edges)
        out[:, k, : height.size] = shown[:-1], shown[1:], height
    names = ("bin_low", "bin_high", "height")
    variables = {name: (("klass", "bin"), each) for name, each in zip(names, out, strict=True)}
    return xr.Dataset(variables, {"klass": list(KLASS)})


def _bins_of(
    score: Floats, weight: Floats, problem: FittedProblem, bins: int | None
) -> tuple[Floats, Floats]:
    score, weight = score[weight > 0.0], weight[weight > 0.0]
    if score.size == 0:
        return np.zeros(1), np.empty(0)
    low, high = score.min(), score.max()
    if low == high:
        half = 0.1 * problem.calibration.spread
        low, high = low - half, high + half
    if bins is None:
        bins = min(MOST_BINS, np.histogram_bin_edges(score, "auto", (low, high)).size - 1)
    height, edges = np.histogram(score, bins, (low, high), weights=weight, density=True)
    return edges, height


def _draw_mode(ax: Axes, mode: Floats, colour: str) -> Any:
    """Draw the interval of a mode as a bar on the axis, its median as a tick."""
    lower, median, upper = mode
    bars = np.array([[median - lower], [upper - median]])
    return ax.errorbar(
        [median],
        [0.0],
        xerr=bars,
        marker="^",
        markersize=7,
        color=colour,
        markeredgecolor="black",
        markeredgewidth=0.6,
        elinewidth=3.0,
        clip_on=False,
        zorder=5,
    )

"""Maximum likelihood and posterior of each document, and the curves of several fits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayescal.fitting.problems.problem import Calibrator, FittedProblem, check_named
from bayescal.fitting.scores import BinaryScores
from bayescal.plots import display
from bayescal.support.palette import CLASS_COLOURS
from bayescal.support.validation import Floats, check_count, check_fraction

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection, PolyCollection
    from matplotlib.lines import Line2D

SIZE = (4.4, 4.2)
FARTHEST = 9.21  # log-odds of 10^-4 and of its complement, the farthest ends of the axes
MARKERS = ("s", "o")
TICKS = (0.0001, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999)
WIDE = 6.0  # reach of the axes from which every other tick is enough


class ComparisonDisplay(display.ProblemDisplay):
    """P(+ | score) of the posterior, with its interval, against P(+ | score) of maximum likelihood.

    Each point is a document, on axes of log-odds with labels in probability. Intervals that miss
    the diagonal show where maximum likelihood is more certain than the data support. Points beyond
    the axes are drawn at their edge.

    Parameters
    ----------
    data : xarray.Dataset
        mle, log_odds, lower, upper, natural logarithms, and label, score (document).

    Attributes
    ----------
    points_ : list of matplotlib.lines.Line2D
        Marks of the negative and of the positive documents.
    intervals_ : list of matplotlib.collections.LineCollection
        Their intervals.
    diagonal_ : matplotlib.lines.AxLine

    Examples
    --------
    >>> from bayescal import ScoreCalibrator
    >>> scores, labels = [-3.0, -2.0, -1.0, 0.5, 1.0, 2.0], [0, 0, 0, 1, 0, 1]
    >>> calibrator = ScoreCalibrator("gaussian", random_state=0).fit(scores, labels)
    >>> display = ComparisonDisplay.from_estimator(calibrator)
    >>> display.data.sizes["document"]
    6
    """

    @staticmethod
    def compute(problem: FittedProblem, *, level: float = 0.9, most: int = 120) -> xr.Dataset:
        """Compute both estimates at the documents.

        Parameters
        ----------
        problem : FittedProblem
            The problem to draw, with a posterior and documents.
        level : float
            Posterior probability of the intervals.
        most : int
            Most points of a class, at even ranks of the score.

        Raises
        ------
        ValueError
            If there is no posterior or no document.
        """
        check_fraction(level=level)
        check_count("most", most)
        if not (problem.has_posterior and problem.has_mle):
            raise ValueError(
                "a comparison needs a posterior and maximum likelihood of both classes: fit with"
                " inference='exact', documents of both classes."
            )
        if problem.documents.score.size == 0:
            raise ValueError("a topic's documents are not kept: give scores and y to compare at.")
        score, positive = _thinned(problem.documents, most)
        calibration = problem.calibration
        lower, upper = calibration.log_odds_interval(score, level, "pointwise").T
        columns = {
            "mle": calibration.fits.log_odds(score),
            "log_odds": calibration.log_odds(score, problem.point),
            "lower": lower,
            "upper": upper,
            "label": positive.astype(np.int64),
            "score": problem.shown(score),
        }
        variables = {name: ("document", values) for name, values in columns.items()}
        return xr.Dataset(variables, attrs=problem.attrs | {"level": level})

    def _size(self) -> tuple[float, float]:
        return SIZE

    def _draw(self, ax: Axes) -> None:
        data = self.data
        self.diagonal_ = ax.axline((0.0, 0.0), slope=1.0, zorder=0, **display.REFERENCE)
        self.points_: list[Line2D] = []
        self.intervals_: list[LineCollection] = []
        reach = self._reach()
        for k, name in enumerate(("negative_class", "positive_class")):
            some = data.isel(document=np.flatnonzero(data["label"].values == k))
            if not some.sizes["document"]:
                continue
            x, y, lower, upper = (
                np.clip(some[each].values, -reach, reach)
                for each in ("mle", "log_odds", "lower", "upper")
            )
            # The mean may lie outside the interval, if few draws dominate it.
            colour = CLASS_COLOURS[k]
            self.intervals_.append(ax.vlines(x, lower, upper, color=colour, linewidth=0.8))
            self.points_ += ax.plot(
                x,
                y,
                linestyle="none",
                marker=MARKERS[k],
                markersize=4.0,
                markeredgecolor="black",
                markeredgewidth=0.5,
                color=colour,
                label=f"class {data.attrs[name]}",
            )
        self._label(ax, 1.05 * reach)

    def _reach(self) -> float:
        values = np.abs([self.data["mle"].values, self.data["log_odds"].values])
        return float(min(FARTHEST, max(values.max(), 1.0)))

    def _label(self, ax: Axes, reach: float) -> None:
        ticks = np.array(TICKS[:: 2 if reach > WIDE else 1])
        positions = np.log(ticks) - np.log1p(-ticks)
        names = [f"{tick:g}" for tick in ticks]
        ax.set_xticks(positions, names, fontsize="small")
        ax.set_yticks(positions, names, fontsize="small")
        ax.set_xlim(-reach, reach)
        ax.set_ylim(-reach, reach)
        ax.set_aspect("equal")
        event = f"P({display.class_name(self.data)} | score)"
        ax.set_xlabel(f"{event}, maximum likelihood")
        ax.set_ylabel(f"{event}, posterior, {self._level} interval")


def _thinned(documents: BinaryScores, most: int) -> tuple[Any, Any]:
    """Return scores and labels of at most `most` documents of each class, at even ranks."""
    kept = []
    for positive in (False, True):
        index = np.flatnonzero((documents.positive == positive) & (documents.weights > 0.0))
        index = index[np.argsort(documents.score[index], kind="stable")]
        ranks = np.linspace(0, index.size - 1, min(most, index.size)).round().astype(np.intp)
        kept.append(index[ranks])
    chosen = np.concatenate(kept)
    return documents.score[chosen], documents.positive[chosen]


MARGIN = 0.06


class EstimatesDisplay(display.Display):
    """Log-odds of the positive class by several fits, with their bands.

    It shows the fits of the table of `bayescal.calibrators.compare_estimates`.

    Parameters
    ----------
    data : xarray.Dataset
        log_odds, lower, upper (fit, score), natural logarithms; nan without a posterior.

    Attributes
    ----------
    lines_ : dict of str to matplotlib.lines.Line2D
        The curve of each fit.
    bands_ : dict of str to matplotlib.collections.PolyCollection
        The band of each fit with a posterior.

    Examples
    --------
    >>> from bayescal import ScoreCalibrator
    >>> s, y = [-3.0, -2.0, -1.0, 0.5, 1.0, 2.0], [0, 0, 0, 1, 0, 1]
    >>> fits = {
    ...     "MLE": ScoreCalibrator("gaussian", "mle").fit(s, y),
    ...     "exact": ScoreCalibrator("gaussian", random_state=0).fit(s, y),
    ... }
    >>> display = EstimatesDisplay.from_estimators(fits)
    >>> sorted(display.lines_), sorted(display.bands_)
    (['MLE', 'exact'], ['exact'])
    """

    _legend = "lower right"
    _filled = ("problems",)

    @classmethod
    def from_estimators(cls, calibrators: Mapping[str, Calibrator], **options: Any) -> Self:
        """Plot the curves of fitted calibrators.

        Parameters
        ----------
        calibrators : mapping of str to ScoreCalibrator
            Fitted, by any inference, with the same two classes and scores of the same kind.

        Raises
        ------
        TypeError
            If they have no names.
        """
        check_named(calibrators)
        problems = {str(name): display.read_problem(each) for name, each in calibrators.items()}
        return cls._made(problems, **options)

    @staticmethod
    def compute(
        problems: Mapping[str, FittedProblem], *, grid: ArrayLike | None = None, level: float = 0.9
    ) -> xr.Dataset:
        """Compute the curves and their pointwise bands at the same scores.

        Parameters
        ----------
        problems : mapping of str to FittedProblem
            The problem of each fit.
        grid : array-like of shape (m,), optional
            Raw scores; by default 400 over the scores of all fits and a little beyond.
        level : float
            Posterior probability of the bands.

        Raises
        ------
        ValueError
            If there is no fit, or they differ in classes or kinds of scores.
        """
        check_fraction(level=level)
        if not problems:
            raise ValueError("calibrators must hold at least one fitted calibrator, got none.")
        first, *others = problems.values()
        for name, each in list(problems.items())[1:]:
            if each.labels.tolist() != first.labels.tolist():
                raise ValueError(
                    f"calibrators must have the same classes: {name!r} has"
                    f" {each.labels.tolist()}, {next(iter(problems))!r} {first.labels.tolist()}."
                )
            if each.scores_are != first.scores_are:
                raise ValueError(
                    f"calibrators must have scores of one kind: {name!r} has {each.scores_are},"
                    f" {next(iter(problems))!r} {first.scores_are}; state scores_are= in each."
                )
        x = first.grid(grid)
        if grid is None:
            ends = [each.grid()[[0, -1]] for each in (first, *others)]
            x = np.linspace(np.min(ends), np.max(ends), x.size)
        curves = np.stack([_curve(each, x, level) for each in problems.values()])
        variables = {
            name: (("fit", "score"), curves[:, k])
            for k, name in enumerate(("log_odds", "lower", "upper"))
        }
        coords = {"fit": list(problems), "score": first.shown(x)}
        return xr.Dataset(variables, coords, first.attrs | {"level": level})

    def _draw(self, ax: Axes) -> None:
        data = self.data
        x = data["score"].values
        self.lines_: dict[str, Line2D] = {}
        self.bands_: dict[str, PolyCollection] = {}
        for k, name in enumerate(map(str, data["fit"].values)):
            one, look = data.isel(fit=k), display.MANY_LINES[k % len(display.MANY_LINES)]
            lower, upper, label = one["lower"].values, one["upper"].values, name
            if np.isfinite(lower).all():
                band = display.BAND | {"color": look["color"], "alpha": 0.15}
                self.bands_[name] = ax.fill_between(x, lower, upper, **band)
                label = f"{name}, {self._level} band"
            marks: Any = {"markevery": (k * x.size // 40, max(x.size // 8, 1))}
            (self.lines_[name],) = ax.plot(x, one["log_odds"].values, label=label, **(look | marks))
        ax.axhline(0.0, zorder=0, **display.REFERENCE)
        display.label_scores(ax, data)
        log_odds, finite = data["log_odds"].values, data.fillna(data["log_odds"])
        ends = np.stack([finite["lower"].values, finite["upper"].values])
        ax.set_ylim(*display.with_reach(log_odds, ends, MARGIN))
        ax.set_ylabel(f"log-odds of {display.class_name(data)}")


def _curve(problem: FittedProblem, x: Floats, level: float) -> Floats:
    """Return log-odds and the ends of their band, (3, scores)."""
    log_odds = problem.log_odds(x)
    if not problem.has_posterior:
        return np.stack([log_odds, np.full_like(x, np.nan), np.full_like(x, np.nan)])
    lower, upper = problem.calibration.log_odds_interval(x, level, "pointwise").T
    return np.stack([log_odds, lower, upper])

"""Maximum likelihood and posterior of each document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayescal.fitting.problems.problem import FittedProblem
from bayescal.fitting.scores import BinaryScores
from bayescal.plots import display
from bayescal.support.palette import CLASS_COLOURS
from bayescal.support.validation import check_count, check_fraction

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
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

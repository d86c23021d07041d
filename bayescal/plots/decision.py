"""Regions of decisions by score and ratio of costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayescal.fitting.curves.curves import blocks
from bayescal.fitting.problems.problem import FittedProblem
from bayescal.plots import display
from bayescal.support.palette import CLASS_COLOURS
from bayescal.support.validation import Floats, check_fraction, check_positive

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RATIOS, SCORES = 161, 257


class DecisionDisplay(display.ProblemDisplay):
    """Regions of the score where deciding for the positive class costs less, by ratio of costs.

    With c = cost of a false positive / cost of a false negative, deciding for the positive class
    has the least expected cost if the log-odds exceed log c, so on a logarithmic axis the boundary
    is the curve of the log-odds. Where less than `level` of the posterior draws agree the region is
    hatched. Held-out documents only widen the range of the scores.

    Parameters
    ----------
    data : xarray.Dataset
        agreement (cost_ratio, score), the share of posterior draws with a lower cost for the
        positive class; log_odds (score) of the point estimate.

    Attributes
    ----------
    regions_ : matplotlib.contour.QuadContourSet
        Negative, unsure, positive.
    boundary_ : matplotlib.lines.Line2D
        The boundary of the point estimate.

    Examples
    --------
    >>> from bayescal import ScoreCalibrator
    >>> scores, labels = [-3.0, -2.0, -1.0, 0.5, 1.0, 2.0], [0, 0, 0, 1, 0, 1]
    >>> calibrator = ScoreCalibrator(inference="mle").fit(scores, labels)
    >>> display = DecisionDisplay.from_estimator(calibrator)
    >>> display.data["agreement"].sel(cost_ratio=1.0, score=-2.0, method="nearest").item()
    0.0
    """

    @staticmethod
    def compute(
        problem: FittedProblem,
        *,
        grid: ArrayLike | None = None,
        cost_ratio: tuple[float, float] = (0.01, 100.0),
        level: float = 0.9,
    ) -> xr.Dataset:
        """Compute the share of draws that agree, and the curve of the log-odds.

        Parameters
        ----------
        problem : FittedProblem
            The problem to draw.
        grid : array-like, optional
            Scores; by default 257 over all scores and a little beyond.
        cost_ratio : tuple of float
            The smallest and the largest ratio shown.
        level : float
            The share of posterior draws that makes a decision sure.
        """
        check_fraction(level=level)
        low, high = cost_ratio
        check_positive(cost_ratio=[low, high])
        if not low < high:
            raise ValueError(
                f"cost_ratio must be the smaller and the larger one, got {cost_ratio}."
            )
        x = problem.grid(grid, SCORES)
        log_ratio = np.linspace(np.log(low), np.log(high), RATIOS)
        return xr.Dataset(
            {
                "agreement": (("cost_ratio", "score"), agreement(problem, x, log_ratio)),
                "log_odds": ("score", problem.calibration.log_odds(x, problem.point)),
            },
            {"score": problem.shown(x), "cost_ratio": np.exp(log_ratio)},
            problem.attrs | {"level": level},
        )

    def _draw(self, ax: Axes) -> None:
        data = self.data
        x, ratio, level = data["score"].values, data["cost_ratio"].values, data.attrs["level"]
        ax.set_yscale("log")
        negative, positive = CLASS_COLOURS
        self.regions_ = ax.contourf(
            x,
            ratio,
            data["agreement"].values,
            levels=[-0.5, 1.0 - level, level, 1.5],
            colors=[negative, "white", positive],
            alpha=0.45,
            hatches=[None, "////", ".."],
        )
        with np.errstate(over="ignore"):
            boundary = np.exp(data["log_odds"].values)
        name = data.attrs["curve"]
        label = f"boundary by {f'the {name}' if name else 'maximum likelihood'}"
        (self.boundary_,) = ax.plot(x, boundary, color="black", linewidth=1.6, label=label)
        ax.axhline(1.0, **display.REFERENCE)
        ax.set_ylim(ratio[0], ratio[-1])
        display.label_scores(ax, data)
        ax.yaxis.set_major_formatter("{x:g}")
        ax.set_ylabel("cost of a false positive / of a false negative")

    def _finish(self, ax: Axes, *, legend: bool) -> None:
        super()._finish(ax, legend=False)
        if not legend:
            return
        patch = display.require("matplotlib.patches").Patch
        data, (negative, positive) = self.data, CLASS_COLOURS
        looks = {
            f"decide for {display.class_name(data)}": {"facecolor": positive, "hatch": ".."},
            "decide against": {"facecolor": negative},
        }
        if data.attrs["curve"] == "posterior":
            looks[f"fewer than {self._level} of draws agree"] = {
                "facecolor": "white",
                "hatch": "////",
            }
        patches = [
            patch(label=text, alpha=0.45, edgecolor="black", **look) for text, look in looks.items()
        ]
        ax.legend(
            handles=[*patches, self.boundary_], loc="upper left", fontsize="small", framealpha=0.9
        )


def agreement(problem: FittedProblem, x: Floats, log_ratio: Floats) -> Floats:
    """Return the share of draws whose log-odds exceed each log ratio of costs, (ratios, scores)."""
    draws = problem.calibration.draws
    if draws is None:
        curve = problem.calibration.log_odds(x, problem.point)
        return np.asarray(curve > log_ratio[:, None], dtype=np.float64)
    out = np.empty((log_ratio.size, x.size))
    for part in blocks(draws.size, x.size):
        ordered = np.sort(draws.log_odds(x[part]), axis=0)
        below = [np.searchsorted(column, log_ratio, side="right") for column in ordered.T]
        out[:, part] = 1.0 - np.stack(below, axis=1) / draws.size
    return out

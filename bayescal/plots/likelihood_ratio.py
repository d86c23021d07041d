"""Likelihood ratios against scores, with band and bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayescal.fitting.problems.problem import Calibrator, FittedProblem
from bayescal.fitting.results.calibration import PREDICTIVE
from bayescal.likelihood_ratio.bounds import elub, invariance_bounds
from bayescal.likelihood_ratio.measures import LN10
from bayescal.likelihood_ratio.ratios import EQUAL_PRIORS, ratios_of
from bayescal.plots import curve, display
from bayescal.support.palette import MLE_COLOUR
from bayescal.support.validation import check_fraction

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BOUND_DASHES = {"elub": (0, (4, 2)), "invariance": (0, (1, 1.5))}
BOUND_NAMES = {"elub": "ELUB", "invariance": "invariance bounds"}


class LikelihoodRatioDisplay(display.Display):
    """
    log10 LR against the score, with its band, bounds, and ticks of the comparisons fitted.

    Make it with `from_estimator`.

    Parameters
    ----------
    data : xarray.Dataset
        log10_lr, lower, upper (score); document_score, label (document); elub, invariance (end) if
        the calibrator keeps the comparisons fitted.

    Attributes
    ----------
    line_ : matplotlib.lines.Line2D
        log10 LR.
    band_ : matplotlib.collections.PolyCollection or None
        Its band.
    bounds_ : list of matplotlib.lines.Line2D
        Bounds of LRs.
    rugs_ : list of matplotlib.lines.Line2D
        Ticks of the negative comparisons, below, and of the positive ones, above.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from bayescal import ScoreCalibrator
    >>> rng = np.random.default_rng(0)
    >>> same = np.repeat([True, False], [20, 60])
    >>> calibrator = ScoreCalibrator(random_state=0).fit(3.0 * same + rng.normal(size=80), same)
    >>> display = LikelihoodRatioDisplay.from_estimator(calibrator, ax=Figure().subplots())
    >>> display.ax_.get_ylabel()
    'log10 LR for True'
    """

    @classmethod
    def from_estimator(
        cls,
        calibrator: Calibrator,
        *,
        topic: Any = None,
        ax: Axes | None = None,
        grid: ArrayLike | None = None,
        level: float = 0.9,
        bounds: bool = True,
        ticks: bool = True,
        legend: bool = True,
    ) -> Self:
        """
        Plot the likelihood ratio of a fitted calibrator.

        Parameters
        ----------
        calibrator : ScoreCalibrator, TopicCalibrator or another with `fitted_problems`
            Fitted.
        topic : str or int, optional
            The topic to show, if the calibrator has several.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default axes of a new figure.
        grid, level
            See `compute`.
        bounds, ticks, legend
            See `plot`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the calibrator is not fitted.
        ValueError
            If an argument is not as described, or the fit has a single part.
        """
        problem = display.read_problem(calibrator, topic=topic)
        data = cls.compute(problem, grid=grid, level=level)
        return cls(data).plot(ax=ax, bounds=bounds, ticks=ticks, legend=legend)

    @staticmethod
    def compute(
        problem: FittedProblem, *, grid: ArrayLike | None = None, level: float = 0.9
    ) -> xr.Dataset:
        """
        Compute what is drawn.

        Parameters
        ----------
        problem : FittedProblem
            One of `fitted_problems`.
        grid : array-like, optional
            Scores; by default over all scores fitted, and a little beyond.
        level : float
            Posterior probability of the band at each score.
        """
        check_fraction(level=level)
        x = problem.shown(problem.grid(grid))
        ratios = ratios_of(problem, x, level=level)
        documents = problem.documents
        variables: dict[str, Any] = {
            "log10_lr": ("score", ratios.log10),
            "document_score": ("document", problem.shown(documents.score)),
            "label": ("document", documents.positive.astype(np.int64)),
        }
        if problem.has_posterior:
            variables |= {"lower": ("score", ratios.lower), "upper": ("score", ratios.upper)}
        if documents.known:
            calibration = problem.calibration.with_prior(EQUAL_PRIORS)
            own = calibration.log_odds(documents.score, PREDICTIVE) / LN10
            variables |= {
                "elub": ("end", list(elub(documents.positive, own))),
                "invariance": ("end", list(invariance_bounds(documents.positive, own))),
            }
        return xr.Dataset(variables, {"score": x}, problem.attrs | {"level": level})

    def plot(
        self,
        *,
        ax: Axes | None = None,
        bounds: bool = True,
        ticks: bool = True,
        legend: bool = True,
    ) -> Self:
        """
        Draw.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default axes of a new figure.
        bounds : bool
            Whether to draw the bounds of the comparisons fitted, which are not applied.
        ticks : bool
            Whether to mark the comparisons fitted.
        legend : bool
            Whether to draw a legend.
        """
        ax, data = self._begin(ax, bounds=bounds, ticks=ticks, legend=legend), self.data
        look, band_look = self._looks()
        x, self.band_ = data["score"].values, None
        if "lower" in data:
            label = f"{100 * data.attrs['level']:g} % band"
            self.band_ = ax.fill_between(x, data["lower"], data["upper"], label=label, **band_look)
        (self.line_,) = ax.plot(x, data["log10_lr"], label="LR", **look)
        ax.axhline(0.0, zorder=0, **display.REFERENCE)
        ends = np.concatenate([data[name].values for name in ("lower", "upper") if name in data])
        point = data["log10_lr"].values
        reach = max(np.ptp(point), 1.0)
        low = max(ends.min(initial=point.min()), point.min() - reach)
        high = min(ends.max(initial=point.max()), point.max() + reach)
        margin = 0.12 * (high - low)
        self.bounds_: list[Any] = []
        if bounds and not self.before_:
            for name, dashes in BOUND_DASHES.items():
                if name in data:
                    self.bounds_ += self._draw_bounds(ax, name, dashes)
        self.rugs_: list[Any] = []
        if ticks and not self.before_:
            for k, height in enumerate((low - 0.6 * margin, high + 0.6 * margin)):
                score = data["document_score"].values[data["label"].values == k]
                self.rugs_.append(display.rug(ax, score, height))
        ax.set_ylim(low - margin, high + margin)
        curve.label_scores(ax, data, widen=bool(self.before_))
        ax.set_ylabel(f"log10 LR for {curve.class_name(data)}")
        display.finish(ax, legend="upper left" if legend else None)
        return self

    def _draw_bounds(self, ax: Axes, name: str, dashes: Any) -> list[Any]:
        look = display.REFERENCE | {"color": MLE_COLOUR, "linestyle": dashes}
        lines = [ax.axhline(value, **look) for value in self.data[name].values.tolist()]
        lines[0].set_label(BOUND_NAMES[name])
        return lines

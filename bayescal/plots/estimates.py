"""Curves of several fits to the same documents: MLE, MAP, NUTS and exact in one picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayescal.fitting.problems.problem import Calibrator, FittedProblem, check_named
from bayescal.plots import display
from bayescal.plots.curve import class_name, label_scores
from bayescal.support.validation import Floats, check_fraction

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.lines import Line2D

MARGIN = 0.06


class EstimatesDisplay(display.Display):
    """
    Log-odds of the positive class by several fits, with the band of each that has a posterior.

    The picture beside the table of `bayescal.calibrators.compare_estimates`, of the same fits.
    Make it with `from_estimators`.

    Parameters
    ----------
    data : xarray.Dataset
        log_odds, lower, upper (fit, score), natural logarithms; nan where there is no posterior.

    Attributes
    ----------
    lines_ : dict of str to matplotlib.lines.Line2D
        The curve of each fit.
    bands_ : dict of str to matplotlib.collections.PolyCollection
        The band of each fit with a posterior.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from bayescal import ScoreCalibrator
    >>> s, y = [-3.0, -2.0, -1.0, 0.5, 1.0, 2.0], [0, 0, 0, 1, 0, 1]
    >>> fits = {
    ...     "MLE": ScoreCalibrator("gaussian", "mle").fit(s, y),
    ...     "exact": ScoreCalibrator("gaussian", random_state=0).fit(s, y),
    ... }
    >>> display = EstimatesDisplay.from_estimators(fits, ax=Figure().subplots())
    >>> sorted(display.lines_), sorted(display.bands_)
    (['MLE', 'exact'], ['exact'])
    """

    _legend = "lower right"
    _filled = ("problems",)

    @classmethod
    def from_estimators(cls, calibrators: Mapping[str, Calibrator], **options: Any) -> Self:
        """
        Plot the curves of fitted calibrators.

        Parameters
        ----------
        calibrators : mapping of str to ScoreCalibrator
            Fitted, by any inference, with the same two classes and scores of the same kind.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        sklearn.exceptions.NotFittedError
            If a calibrator is not fitted.
        TypeError
            If they have no names.
        ValueError
            If an argument is not as described.
        """
        check_named(calibrators)
        problems = {str(name): display.read_problem(each) for name, each in calibrators.items()}
        return cls._made(problems, **options)

    @staticmethod
    def compute(
        problems: Mapping[str, FittedProblem], *, grid: ArrayLike | None = None, level: float = 0.9
    ) -> xr.Dataset:
        """
        Compute the curves and their pointwise bands at the same scores.

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
            If there is no fit, they differ in classes or kinds of scores, or an argument is not as
            described.
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
        label_scores(ax, data)
        log_odds, finite = data["log_odds"].values, data.fillna(data["log_odds"])
        ends = np.stack([finite["lower"].values, finite["upper"].values])
        ax.set_ylim(*display.with_reach(log_odds, ends, MARGIN))
        ax.set_ylabel(f"log-odds of {class_name(data)}")


def _curve(problem: FittedProblem, x: Floats, level: float) -> Floats:
    """Return log-odds and the ends of their band, (3, scores)."""
    log_odds = problem.log_odds(x)
    if not problem.has_posterior:
        return np.stack([log_odds, np.full_like(x, np.nan), np.full_like(x, np.nan)])
    lower, upper = problem.calibration.log_odds_interval(x, level, "pointwise").T
    return np.stack([log_odds, lower, upper])

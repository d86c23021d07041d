"""The calibration curve P(+|score): maximum likelihood, the posterior and its band."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.bayes import probability
from bayescal.validation import Floats, as_scores, check_fraction

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bayescal.score_calibrator import ScoreCalibrator

# Blue and vermilion of Okabe and Ito's palette: apart for every kind of colour vision.
POSTERIOR_COLOUR, MLE_COLOUR, DATA_COLOUR = "#0072B2", "#D55E00", "#444444"
POINTS = 512
MARGIN = 0.02
# Ticks of the data stand beyond 0 and 1, where no curve goes.
TICK_GAP = 0.05

CURVE_NAMES = {"exact": "posterior", "nuts": "posterior", "map": "posterior mode"}


def plot_probability_curve(
    calibrator: ScoreCalibrator,
    *,
    scores: ArrayLike | None = None,
    level: float = 0.9,
    mle: bool = True,
    ticks: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """
    Draw the calibrated probability of the positive class against the raw score.

    Parameters
    ----------
    calibrator : ScoreCalibrator
        Fitted; with a posterior there is a band.
    scores : array-like of shape (m,), optional
        Where to evaluate the curves, in ascending order; by default 512 points over the scores
        that the calibrator was fitted to, and a little beyond.
    level : float
        Posterior probability of the band at each score.
    mle : bool
        Whether to draw the maximum-likelihood curve too.
    ticks : bool
        Whether to mark the fitted scores: positives above the curves, negatives below.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default axes of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        With labelled artists, for a legend.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from bayescal import ScoreCalibrator
    >>> scores, labels = [-3.0, -2.0, -1.0, 0.5, 1.0, 2.0], [0, 0, 0, 1, 0, 1]
    >>> calibrator = ScoreCalibrator(inference="mle").fit(scores, labels)
    >>> ax = plot_probability_curve(calibrator, ax=Figure().subplots())
    >>> ax.get_ylabel()
    'P(1 | score)'
    """
    check_fraction(level=level)
    ax = _new_axes() if ax is None else ax
    grid = _grid(calibrator) if scores is None else as_scores(scores)
    if calibrator.inference != "mle":
        _draw_posterior(ax, calibrator, grid, level)
    if mle or calibrator.inference == "mle":
        log_odds = calibrator.mle_.log_odds(grid)
        ax.plot(grid, probability(log_odds), "--", color=MLE_COLOUR, label="maximum likelihood")
    if ticks:
        _draw_ticks(ax, calibrator)
    ax.set_xlim(grid[0], grid[-1])
    ax.set_ylim(-0.1, 1.1)
    ax.set_xlabel("score")
    ax.set_ylabel(f"P({calibrator.classes_[1]} | score)")
    return ax


def _draw_posterior(ax: Axes, calibrator: ScoreCalibrator, grid: Floats, level: float) -> None:
    if "posterior" in calibrator.results_:
        lower, upper = calibrator.predict_interval(grid, level).T
        band = ax.fill_between(grid, lower, upper, color=POSTERIOR_COLOUR, alpha=0.25, linewidth=0)
        band.set_label(f"{100 * level:g} % band")
    name = CURVE_NAMES[calibrator.inference]
    ax.plot(grid, calibrator.predict_proba(grid)[:, 1], color=POSTERIOR_COLOUR, label=name)


def _draw_ticks(ax: Axes, calibrator: ScoreCalibrator) -> None:
    score, positive = _fitted_scores(calibrator)
    sides = ((~positive, -TICK_GAP, "bottom"), (positive, 1.0 + TICK_GAP, "top"))
    for name, (which, height, side) in zip(calibrator.classes_, sides, strict=True):
        label = f"class {name}: {int(which.sum())} scores ({side})"
        heights = np.full(int(which.sum()), height)
        ax.plot(score[which], heights, "|", color=DATA_COLOUR, markeredgewidth=0.7, label=label)


def _grid(calibrator: ScoreCalibrator) -> Floats:
    score, _ = _fitted_scores(calibrator)
    low, high = score.min(), score.max()
    # Some room at the ends, also where all scores are equal.
    room = MARGIN * (high - low) or float(calibrator.results_["constant_data"]["spread"])
    return np.linspace(low - room, high + room, POINTS)


def _fitted_scores(calibrator: ScoreCalibrator) -> tuple[Floats, NDArray[np.bool_]]:
    observed = calibrator.results_["observed_data"].to_dataset()
    return observed["score"].values, observed["label"].values == 1


def _new_axes() -> Axes:
    from matplotlib import pyplot as plt

    return plt.subplots()[1]

"""Reliability diagrams: how often documents of a probability are positive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayescal.fitting.curves.curves import Prior
from bayescal.fitting.problems.problem import Calibrator
from bayescal.metrics import reliability_curve
from bayescal.plots import display
from bayescal.plots.curve import class_name
from bayescal.support.bayes import probability
from bayescal.support.palette import DATA_COLOUR, FAINT_COLOUR
from bayescal.support.validation import unmasked

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (4.6, 5.2)
# A data set of the band takes a millisecond or less.
RESAMPLES = 300
COUNT_BINS = 25
# Height of the counts above the diagram, and the gap between both, in inches.
COUNTS_HEIGHT, GAP = "16%", 0.06
BAND_NAMES = {
    "consistency": "where calibrated\nprobabilities would lie",
    "confidence": "of the curve, bootstrap",
}


class ReliabilityDisplay(display.Display):
    """
    P(+) among documents by their probability, with a band and the number of documents.

    By default the curve is the isotonic regression of the labels on the probabilities (CORP), which
    needs no bins, and the band, around the diagonal, holds at each probability `level` of the
    curves that calibrated probabilities would give: where the curve leaves it, they are not. Make
    it with `from_estimator` or `from_predictions`.

    Parameters
    ----------
    data : xarray.Dataset
        prob_true, weight, and with a band lower and upper (prob_pred); count (bin) with bin_low and
        bin_high.

    Attributes
    ----------
    line_ : matplotlib.lines.Line2D
        The curve.
    band_ : matplotlib.collections.PolyCollection or None
        The band.
    counts_ax_ : matplotlib.axes.Axes or None
        Above the diagram, within its original space; counts on a logarithmic scale.
    bars_ : matplotlib.patches.StepPatch or None
        The counts.

    References
    ----------
    T. Dimitriadis, T. Gneiting and A. I. Jordan, Stable reliability diagrams for probabilistic
    classifiers, PNAS 2021.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> display = ReliabilityDisplay.from_predictions(
    ...     [0, 1, 0, 1], [0.2, 0.4, 0.4, 0.9], random_state=0, ax=Figure().subplots()
    ... )
    >>> display.data["prob_true"].values.tolist()
    [0.0, 0.5, 1.0]
    """

    @classmethod
    def from_estimator(
        cls,
        calibrator: Calibrator,
        scores: ArrayLike,
        y: ArrayLike,
        *,
        topic: Any = None,
        prior: Prior | None = None,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
        method: str = "corp",
        n_bins: int = 10,
        band: str | None = "consistency",
        level: float = 0.9,
        random_state: Any = 0,
        counts: bool = True,
        legend: bool = True,
    ) -> Self:
        """
        Plot the reliability of a fitted calibrator on held-out documents.

        Parameters
        ----------
        calibrator : ScoreCalibrator, TopicCalibrator or another with `fitted_problems`
            Fitted.
        scores, y : array-like of shape (n,)
            Held-out documents; those fitted would flatter it.
        topic : str or int, optional
            The topic to show, if the calibrator is a TopicCalibrator.
        prior : float, array-like or frozen scipy.stats distribution, optional
            See `ScoreCalibrator.decision_function`.
        sample_weight : array-like of shape (n,), optional
            How much each document counts.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default axes of a new figure.
        method, n_bins, band, level, random_state
            See `from_predictions`.
        counts, legend
            See `plot`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the calibrator is not fitted.
        ValueError
            If an argument is not as described.
        """
        problem = display.read_problem(
            calibrator, scores, y, topic=topic, prior=prior, sample_weight=sample_weight
        )
        documents = problem.documents
        log_odds = problem.calibration.log_odds(documents.score, problem.point)
        return cls.from_predictions(
            documents.positive,
            probability(log_odds),
            name=class_name(xr.Dataset(attrs=problem.attrs)),
            method=method,
            n_bins=n_bins,
            band=band,
            level=level,
            sample_weight=documents.weight,
            random_state=random_state,
            ax=ax,
            counts=counts,
            legend=legend,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        pos_label: Any = None,
        name: str = "positive",
        method: str = "corp",
        n_bins: int = 10,
        band: str | None = "consistency",
        level: float = 0.9,
        sample_weight: ArrayLike | None = None,
        random_state: Any = 0,
        ax: Axes | None = None,
        counts: bool = True,
        legend: bool = True,
    ) -> Self:
        """
        Plot the reliability of predicted probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Labels: booleans, 0 and 1, -1 and 1, or any with `pos_label`.
        y_prob : array-like of shape (n,)
            Probabilities of the positive class.
        pos_label : optional
            The positive label.
        name : str
            Name of the predicted class, for the labels of the axes.
        method : {"corp", "uniform", "quantile"}
            Isotonic regression, or bins of equal width or of equal numbers of documents.
        n_bins : int
            Number of bins.
        band : {"consistency", "confidence"} or None
            See `bayescal.metrics.reliability_curve`.
        level : float
            Probability of the band at each point.
        sample_weight : array-like of shape (n,), optional
            How much each document counts.
        random_state : int, numpy Generator, RandomState or None
            Seeds the band.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default axes of a new figure.
        counts : bool
            Whether to draw the number of documents above.
        legend : bool
            Whether to draw a legend.

        Raises
        ------
        ValueError
            If an argument is not as described.
        """
        truth = y_true if pos_label is None else np.asarray(unmasked(y_true, "y_true")) == pos_label
        curve = reliability_curve(
            truth,
            y_prob,
            method=method,
            n_bins=n_bins,
            band=band,
            level=level,
            resamples=RESAMPLES,
            sample_weight=sample_weight,
            rng=random_state,
        )
        variables: dict[str, Any] = {
            "prob_true": ("prob_pred", curve.prob_true),
            "weight": ("prob_pred", curve.weight),
        }
        if curve.lower is not None and curve.upper is not None:
            variables |= {"lower": ("prob_pred", curve.lower), "upper": ("prob_pred", curve.upper)}
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        count, edges = np.histogram(np.asarray(y_prob), COUNT_BINS, (0.0, 1.0), weights=weight)
        variables |= {
            "count": ("bin", count),
            "bin_low": ("bin", edges[:-1]),
            "bin_high": ("bin", edges[1:]),
        }
        attrs = {"positive_class": name, "level": level, "band": band or "", "method": method}
        data = xr.Dataset(variables, {"prob_pred": curve.prob_pred}, attrs)
        return cls(data).plot(ax=ax, counts=counts, legend=legend)

    def plot(self, *, ax: Axes | None = None, counts: bool = True, legend: bool = True) -> Self:
        """
        Draw.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default axes of a new figure.
        counts : bool
            Whether to draw the number of documents above.
        legend : bool
            Whether to draw a legend.
        """
        ax, data = self._begin(ax, SIZE, counts=counts, legend=legend), self.data
        x, name = data["prob_pred"].values, class_name(data)
        self.band_ = None
        if "lower" in data:
            text = f"{100 * data.attrs['level']:g} %, {BAND_NAMES[data.attrs['band']]}"
            grey: display.Look = {"color": FAINT_COLOUR, "alpha": 0.35, "linewidth": 0.0}
            self.band_ = ax.fill_between(x, data["lower"], data["upper"], label=text, **grey)
        ax.plot([0.0, 1.0], [0.0, 1.0], **display.REFERENCE)
        binned = data.attrs["method"] != "corp"
        look: display.Look = display.POSTERIOR | (
            {"marker": "o", "markersize": 4.0} if binned or x.size < 40 else {}
        )
        text = "share in bins" if binned else "isotonic regression"
        (self.line_,) = ax.plot(x, data["prob_true"].values, label=text, **look)
        ax.set_xlim(-0.02, 1.02)
        ax.set_ylim(-0.02, 1.02)
        ax.set_xlabel(f"P({name}), predicted")
        ax.set_ylabel(f"P({name}), observed")
        self.counts_ax_: Axes | None = None
        self.bars_: Any = None
        if counts:
            self.counts_ax_, self.bars_ = self._draw_counts(ax)
        display.finish(ax, legend="lower right" if legend else None)
        return self

    def _draw_counts(self, ax: Axes) -> tuple[Axes, Any]:
        # Within the space of the axes themselves: other axes of the figure stay unchanged.
        divider = display.require("mpl_toolkits.axes_grid1").make_axes_locatable(ax)
        above: Axes = divider.append_axes("top", COUNTS_HEIGHT, GAP, sharex=ax)
        edges = np.append(self.data["bin_low"].values, 1.0)
        count = self.data["count"].values.astype(np.float64)
        bars = above.stairs(count, edges, fill=True, baseline=0.5, color=DATA_COLOUR, alpha=0.6)
        above.set_yscale("log")
        # Space for text above the bars.
        above.set_ylim(0.5, 8.0 * count.max())
        above.yaxis.set_major_formatter("{x:g}")
        above.yaxis.set_minor_formatter("")
        above.tick_params(labelbottom=False, labelsize="x-small")
        above.tick_params(which="minor", left=False)
        look: display.Look = {
            "fontsize": "x-small",
            "ha": "center",
            "va": "top",
            "color": DATA_COLOUR,
        }
        above.text(0.5, 1.0, "number of documents", transform=above.transAxes, **look)
        above.spines[["top", "right"]].set_visible(False)
        return above, bars

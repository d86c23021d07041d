"""Posterior predictive checks: what the fitted model would have produced, beside what there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xarray as xr

from bayescal.fitted.problem import FittedProblem
from bayescal.palette import CLASS_COLOURS, DATA_COLOUR, POSTERIOR_COLOUR
from bayescal.plots.curve_drawing import label_scores
from bayescal.plots.display import ProblemDisplay
from bayescal.plots.replicates import LABELS, SCORES, replicate_labels, replicate_scores
from bayescal.plots.style import BAND, CLASS_DASHES, Look, finish
from bayescal.randomness import generator
from bayescal.validation import check_choice, check_count, check_fraction

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CURVES = ("observed", "lower", "upper")


class PredictiveCheckDisplay(ProblemDisplay):
    """
    A cumulative curve of the documents over the same curve of replicates drawn from the posterior.

    check="labels" keeps the scores and draws labels: the number of positives among the documents
    of at least each score. check="scores" draws as many scores of each class as there are: the
    share of the class's scores up to each. A curve that leaves the band shows what the model gets
    wrong; a band over documents that were fitted is on the generous side. Make it with
    `from_estimator`.

    Parameters
    ----------
    data : xarray.Dataset
        observed, lower, median, upper (klass, score); for labels klass is "positive" alone.

    Attributes
    ----------
    lines_ : list of matplotlib.lines.Line2D
        The documents.
    bands_ : list of matplotlib.collections.PolyCollection
        The replicates, pointwise.

    References
    ----------
    A. Gelman, X.-L. Meng and H. Stern, Posterior predictive assessment of model fitness via
    realized discrepancies, Statistica Sinica 6 (1996), 733-807.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from bayescal import ScoreCalibrator
    >>> scores, labels = [-3.0, -2.0, -1.0, 0.5, 1.0, 2.0], [0, 0, 0, 1, 0, 1]
    >>> calibrator = ScoreCalibrator("gaussian", random_state=0).fit(scores, labels)
    >>> display = PredictiveCheckDisplay.from_estimator(calibrator, ax=Figure().subplots())
    >>> float(display.data["observed"].max())
    2.0
    """

    @staticmethod
    def compute(
        problem: FittedProblem,
        *,
        check: str = LABELS,
        level: float = 0.9,
        draws: int = 400,
        random_state: Any = 0,
    ) -> xr.Dataset:
        """
        Compute the curve of the documents and those of the replicates.

        Parameters
        ----------
        problem : FittedProblem
            What is drawn: with a posterior and documents; for check="scores" of a family that has
            densities.
        check : {"labels", "scores"}
            What is drawn again.
        level : float
            Share of the replicates within the band, at each score.
        draws : int
            How many replicates.
        random_state : int, numpy Generator, RandomState or None
            Seeds the draws of the replicates.

        Raises
        ------
        ValueError
            If there is no posterior or no document, the family has no densities, or an argument is
            not as described.
        """
        check_choice("check", check, (LABELS, SCORES))
        check_fraction(level=level)
        check_count("draws", draws)
        if problem.documents.score.size == 0:
            raise ValueError(
                "a topic's documents are not kept: give scores and y to check against."
            )
        replicate = replicate_labels if check == LABELS else replicate_scores
        x, klasses, observed, replicates = replicate(problem, draws, generator(random_state))
        tails = [0.5 - level / 2.0, 0.5, 0.5 + level / 2.0]
        quantiles = np.quantile(replicates, tails, axis=1)
        names = ("observed", "lower", "median", "upper")
        values = {
            name: (("klass", "score"), each)
            for name, each in zip(names, (observed, *quantiles), strict=True)
        }
        data = xr.Dataset(values, {"klass": list(klasses), "score": problem.shown(x)})
        return data.assign_attrs(problem.attrs, level=level, check=check)

    def plot(
        self, *, ax: Axes | None = None, difference: bool = False, legend: bool = True
    ) -> Self:
        """
        Draw.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default axes of a new figure.
        difference : bool
            Whether to draw all curves less the median of the replicates: for many documents, whose
            bands are narrow.
        legend : bool
            Whether to draw a legend.
        """
        ax, data = self._begin(ax), self.data
        if difference:
            data = data.assign({name: data[name] - data["median"] for name in CURVES})
        labels = data.attrs["check"] == LABELS
        x, band = data["score"].values, f"{100 * data.attrs['level']:g} % of replicates"
        self.lines_: list[Any] = []
        self.bands_: list[Any] = []
        for k, klass in enumerate(data["klass"].values.tolist()):
            one = data.sel(klass=klass)
            colour = POSTERIOR_COLOUR if labels else CLASS_COLOURS[k]
            name = "" if labels else f"class {data.attrs[f'{klass}_class']}, "
            look = BAND | {"color": colour, "alpha": 0.35}
            self.bands_.append(
                ax.fill_between(x, one["lower"], one["upper"], label=f"{name}{band}", **look)
            )
            line: Look = {
                "color": DATA_COLOUR,
                "linestyle": "-" if labels else CLASS_DASHES[k],
                "linewidth": 1.3,
            }
            self.lines_ += ax.plot(x, one["observed"].values, label=f"{name}documents", **line)
        label_scores(ax, data)
        if not difference:
            ax.set_ylim(0.0, None)
        positive = data.attrs["positive_class"]
        label = (
            f"documents of class {positive} at or above the score"
            if labels
            else "share of the class's scores up to the score"
        )
        ax.set_ylabel(f"{label},\nless the replicates' median" if difference else label)
        corner = "best" if difference else "lower left" if labels else "upper left"
        finish(ax, legend=corner if legend else None)
        return self

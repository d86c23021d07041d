"""A ranking: P(relevant) by rank with its band, and where to stop reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayescal.metrics.inputs import as_truth
from bayescal.plots import display
from bayescal.support.intervals import percent
from bayescal.support.validation import as_scores, check_same_length

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Ticks of documents known to be relevant, above all probabilities.
ABOVE = 1.05


class RankingDisplay(display.EstimatorDisplay):
    """P(relevant) of one query's documents, best first, and the number to read.

    Parameters
    ----------
    data : xarray.Dataset
        probability, lower, upper (rank), and relevant (rank) if known.

    Attributes
    ----------
    line_ : matplotlib.lines.Line2D
    band_ : matplotlib.collections.PolyCollection
    stop_ : matplotlib.lines.Line2D
        Between the last document to read and the next.
    rug_ : matplotlib.lines.Line2D or None
        Ticks of the relevant documents, if known.

    Examples
    --------
    >>> from bayescal import TopicCalibrator
    >>> from bayescal.ranking import RelevanceCalibrator
    >>> rng = np.random.default_rng(0)
    >>> qid, relevant = np.repeat(np.arange(6), 40), rng.random(240) < 0.2
    >>> scores = 2.0 * relevant + rng.normal(size=240)
    >>> quick = TopicCalibrator(draws=50, random_state=0)
    >>> calibrator = RelevanceCalibrator(quick, random_state=0).fit(scores, relevant, qid)
    >>> display = RankingDisplay.from_estimator(calibrator, scores[:40])
    >>> display.ax_.get_xlabel()
    'rank'
    """

    _legend, _corner = "upper right", (1.0, 0.95)

    @staticmethod
    def compute(
        calibrator: Any,
        scores: ArrayLike,
        *,
        y: ArrayLike | None = None,
        recall: float = 0.8,
        probability: float = 0.9,
        level: float = 0.9,
    ) -> xr.Dataset:
        """Compute the ranking of one query.

        Parameters
        ----------
        calibrator : RelevanceCalibrator
            Fitted.
        scores : array-like of shape (documents,)
            Raw scores of all documents that are ranked for the query.
        y : array-like of shape (documents,) of bool, optional
            True for relevant documents, if known.
        recall, probability : float
            The share of relevant documents to read and its probability, see
            `RelevanceCalibrator.when_to_stop`.
        level : float
            Posterior probability of the band at each rank.
        """
        if not hasattr(calibrator, "when_to_stop"):
            raise ValueError(
                f"calibrator must be a fitted RelevanceCalibrator, got {type(calibrator).__name__}."
            )
        values = as_scores(scores)
        order, qid = np.argsort(-values, kind="stable"), np.zeros(values.size)
        low, high = calibrator.predict_interval(values, qid, level)[order].T
        variables = {
            "probability": calibrator.predict_proba(values, qid)[order, 1],
            "lower": low,
            "upper": high,
        }
        if y is not None:
            relevant = as_truth(y, "y")
            check_same_length("scores", values.size, "y", relevant.size)
            variables["relevant"] = relevant[order]
        stops = calibrator.when_to_stop(values, qid, recall=recall, probability=probability)
        return xr.Dataset(
            {name: ("rank", each) for name, each in variables.items()},
            {"rank": np.arange(1, values.size + 1)},
            {
                "stop": int(stops["stop"].iloc[0]),
                "recall": recall,
                "probability": probability,
                "level": level,
            },
        )

    def _draw(self, ax: Axes) -> None:
        data, attrs = self.data, self.data.attrs
        rank = data["rank"].values
        band = f"{self._level} band"
        self.band_ = ax.fill_between(rank, data["lower"], data["upper"], label=band, **display.BAND)
        (self.line_,) = ax.plot(rank, data["probability"], label="P(relevant)", **display.POSTERIOR)
        stop = f"{percent(attrs['recall'])} read, with probability {attrs['probability']:g}"
        self.stop_ = ax.axvline(attrs["stop"] + 0.5, label=stop, **display.REFERENCE)
        self.rug_ = (
            display.rug(ax, rank[data["relevant"].values], ABOVE) if "relevant" in data else None
        )
        ax.set(xlabel="rank", ylabel="P(relevant)", ylim=(-0.02, 1.1))
        ax.set_xlim(0.5, rank.size + 0.5)

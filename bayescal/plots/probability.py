"""The calibrated probability against the raw score, with band and documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from bayescal.bayes import probability
from bayescal.plots.curve_data import curve_data
from bayescal.plots.curve_drawing import class_name, draw_band, draw_curves, label_scores
from bayescal.plots.display import ProblemDisplay
from bayescal.plots.style import finish, note, rug

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Ticks of the documents stand beyond 0 and 1, where no curve goes.
TICK_GAP = 0.05


class ProbabilityDisplay(ProblemDisplay):
    """
    P(+ | score) by the posterior, its band, and by maximum likelihood.

    Make it with `from_estimator`.

    Parameters
    ----------
    data : xarray.Dataset
        log_odds, lower, upper, mle (score), natural logarithms; document_score, label (document).

    Attributes
    ----------
    line_, mle_line_ : matplotlib.lines.Line2D or None
        The curves.
    band_ : matplotlib.collections.PolyCollection or None
        The band.
    rugs_ : list of matplotlib.lines.Line2D
        Ticks of the negative and of the positive documents.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from bayescal import ScoreCalibrator
    >>> scores, labels = [-3.0, -2.0, -1.0, 0.5, 1.0, 2.0], [0, 0, 0, 1, 0, 1]
    >>> calibrator = ScoreCalibrator(inference="mle").fit(scores, labels)
    >>> display = ProbabilityDisplay.from_estimator(calibrator, ax=Figure().subplots())
    >>> display.ax_.get_ylabel()
    'P(1 | score)'
    """

    compute = staticmethod(curve_data)

    def plot(
        self,
        *,
        ax: Axes | None = None,
        mle: bool = True,
        ticks: bool = True,
        legend: bool = True,
    ) -> Self:
        """
        Draw.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default axes of a new figure.
        mle : bool
            Whether to draw the maximum-likelihood curve too.
        ticks : bool
            Whether to mark the documents: positives above the curves, negatives below.
        legend : bool
            Whether to draw a legend.
        """
        ax, data = self._begin(ax), self.data
        self.band_ = draw_band(ax, data, probability)
        self.line_, self.mle_line_ = draw_curves(ax, data, probability, mle=mle)
        self.rugs_ = self._draw_ticks(ax) if ticks else []
        label_scores(ax, data)
        ax.set_ylim(-0.1, 1.1)
        ax.set_ylabel(f"P({class_name(data)} | score)")
        # Below the ticks of the positives and what they are.
        finish(ax, legend="upper left" if legend else None, corner=(0.0, 0.87))
        return self

    def _draw_ticks(self, ax: Axes) -> list[Any]:
        """Draw ticks with text beside them where the curve is at the other end."""
        score, label = self.data["document_score"].values, self.data["label"].values
        sides = (
            ("negative_class", -TICK_GAP, 0.985, ("right", "bottom")),
            ("positive_class", 1.0 + TICK_GAP, 0.015, ("left", "top")),
        )
        artists = []
        for k, (name, height, across, align) in enumerate(sides):
            if count := int((label == k).sum()):
                artists.append(rug(ax, score[label == k], height))
                text = f"{count:,} score{'s' * (count > 1)} of class {self.data.attrs[name]}"
                note(ax, text, (across, height), align)
        return artists

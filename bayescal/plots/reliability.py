"""Reliability diagrams: observed by predicted probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from bayescal.decisions.by_topic import are_scores
from bayescal.fitting.curves.curves import Prior
from bayescal.metrics import reliability_curve
from bayescal.plots import curve, display
from bayescal.support.labels import as_labels, of_each_class
from bayescal.support.numerics import probability
from bayescal.support.palette import DATA_COLOUR
from bayescal.support.validation import Floats, first_of
from bayescal.support.weighting import either_weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bayescal.fitting.covariates import Frame

SIZE = (4.6, 5.2)
RESAMPLES = 300  # data sets for the band, a millisecond each
COUNT_BINS = 25
# Height of the counts above the diagram, and the gap between both, in inches.
COUNTS_HEIGHT, GAP = "16%", 0.06
BAND_NAMES = {
    "consistency": "where calibrated\nprobabilities would lie",
    "confidence": "of the curve, bootstrap",
}


class ReliabilityDisplay(display.PredictionsDisplay):
    """P(+) among documents by their probability, with a band and the number of documents.

    By default the curve is the isotonic regression of the labels on the probabilities (CORP), which
    needs no bins. The band, around the diagonal, holds at each probability `level` of the curves
    under calibrated probabilities: a curve outside shows that they are not calibrated. The axes end
    with probabilities, curve and band.

    Parameters
    ----------
    data : xarray.Dataset
        prob_true, weight, and with a band lower and upper (prob_pred); count (bin) with bin_low and
        bin_high.

    Attributes
    ----------
    line_ : matplotlib.lines.Line2D
    band_ : matplotlib.collections.PolyCollection or None
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
    >>> display = ReliabilityDisplay.from_predictions([0, 1, 0, 1], [0.2, 0.4, 0.4, 0.9])
    >>> display.data["prob_true"].values.tolist()
    [0.0, 0.5, 1.0]
    """

    _legend = "lower right"
    _filled = ("y_true", "y_prob", "positive_class")

    @classmethod
    def from_estimator(
        cls,
        calibrator: Any,
        scores: Any,
        y: ArrayLike,
        *,
        topic: Any = None,
        pos_label: Any = None,
        prior: Prior | None = None,
        sample_weight: ArrayLike | None = None,
        inclusion: ArrayLike | None = None,
        covariates: Frame | None = None,
        **options: Any,
    ) -> Self:
        """Plot the reliability of a fitted calibrator or classifier on held-out documents.

        Parameters
        ----------
        calibrator : ScoreCalibrator, TopicCalibrator or a classifier with `predict_proba`
            Fitted; a classifier of this package, of scikit-learn or a pipeline.
        scores, y : array-like of shape (n,), or X and y
            Held-out documents: scores for a calibrator, X for a classifier, and labels.
        topic : str or int, optional
            The topic of a TopicCalibrator.
        pos_label : optional
            The class or label of the probability; by default the positive one of two.
        prior : float, array-like or frozen scipy.stats distribution, optional
            See `ScoreCalibrator.decision_function`.
        sample_weight, inclusion : array-like of shape (n,), optional
            Numbers of documents that each counts for, or probabilities of having been labelled.
        covariates : table or mapping, optional
            Covariates of the documents, for a calibrator of a `Program` that takes them.
        """
        own = hasattr(calibrator, "fitted_problems")
        if own and (are_scores(scores) or not hasattr(calibrator, "labelled_scores")):
            problem = display.read_problem(
                calibrator, scores, y, topic=topic, prior=prior, sample_weight=sample_weight
            )
            documents, turned = problem.documents, curve.turns(problem, pos_label)
            problem = problem.of_documents(documents.score, covariates)
            log_odds = problem.calibration.log_odds(documents.score, problem.point)
            truth = documents.positive != turned
            p = probability(-log_odds if turned else log_odds)
            positive_class = str(pos_label) if turned else display.class_name(problem)
            sample_weight = documents.weights if inclusion is None else sample_weight
        else:
            if covariates is not None:
                raise ValueError("covariates are for a calibrator: leave them out.")
            label = topic if pos_label is None else pos_label
            p, truth, positive_class = _predicted(calibrator, scores, y, label, prior)
        weights = {"sample_weight": sample_weight, "inclusion": inclusion}
        return cls._made(truth, p, positive_class=positive_class, **weights, **options)

    @staticmethod
    def compute(
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        pos_label: Any = None,
        positive_class: str = "positive",
        name: str | None = None,
        method: str = "corp",
        n_bins: int = 10,
        band: str | None = "consistency",
        level: float = 0.9,
        sample_weight: ArrayLike | None = None,
        inclusion: ArrayLike | None = None,
        random_state: Any = 0,
    ) -> xr.Dataset:
        """Compute the curve, its band and the number of documents by probability.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Labels: booleans, 0 and 1, -1 and 1, or any with `pos_label`.
        y_prob : array-like of shape (n,)
            Probabilities of the positive class.
        pos_label : optional
            The positive label.
        positive_class : str
            Name of the predicted class, for the labels of the axes.
        name : str, optional
            Name of the model in the legend.
        method : {"corp", "uniform", "quantile"}
            Isotonic regression, or bins of equal width or of equal numbers of documents.
        n_bins : int
            Number of bins.
        band : {"consistency", "confidence"} or None
            See `bayescal.metrics.reliability_curve`.
        level : float
            Probability of the band at each point.
        sample_weight, inclusion : array-like of shape (n,), optional
            Numbers of documents that each counts for, or probabilities of having been labelled.
        random_state : int, numpy Generator, RandomState or None
            Seeds the band.
        """
        truth = y_true if pos_label is None else _is_label(y_true, pos_label)
        diagram = reliability_curve(
            truth,
            y_prob,
            method=method,
            n_bins=n_bins,
            band=band,
            level=level,
            resamples=RESAMPLES,
            sample_weight=sample_weight,
            inclusion=inclusion,
            rng=random_state,
        )
        variables: dict[str, Any] = {
            "prob_true": ("prob_pred", diagram.prob_true),
            "weight": ("prob_pred", diagram.weight),
        }
        if diagram.lower is not None and diagram.upper is not None:
            variables |= {
                "lower": ("prob_pred", diagram.lower),
                "upper": ("prob_pred", diagram.upper),
            }
        p = np.asarray(y_prob, dtype=np.float64)
        weight = either_weights(sample_weight, inclusion, p.size)
        count, edges = np.histogram(p, COUNT_BINS, axis_range(p), weights=weight)
        variables |= {
            "count": ("bin", count),
            "bin_low": ("bin", edges[:-1]),
            "bin_high": ("bin", edges[1:]),
        }
        attrs = {
            "positive_class": positive_class,
            "level": level,
            "band": band or "",
            "method": method,
            "name": name or "",
        }
        return xr.Dataset(variables, {"prob_pred": diagram.prob_pred}, attrs)

    def _size(self) -> tuple[float, float]:
        return SIZE

    def _draw(self, ax: Axes, *, counts: bool = True) -> None:
        """Draw the diagram.

        Parameters
        ----------
        counts : bool
            Draw the number of documents above.
        """
        data = self.data
        x, (own, band_look) = data["prob_pred"].values, self._looks()
        name = f"{data.attrs['name']}, " if data.attrs["name"] else ""
        self.band_ = None
        if "lower" in data:
            text = f"{name}{self._level}, {BAND_NAMES[data.attrs['band']]}"
            look = band_look if self.before_ else display.GREY_BAND
            self.band_ = ax.fill_between(x, data["lower"], data["upper"], label=text, **look)
        ax.plot([0.0, 1.0], [0.0, 1.0], **display.REFERENCE)
        binned = data.attrs["method"] != "corp"
        marked = {"marker": "o", "markersize": 4.0} if binned or x.size < 40 else {}
        text = "share in bins" if binned else "isotonic regression"
        values = data["prob_true"].values
        (self.line_,) = ax.plot(x, values, label=f"{name}{text}", **own | marked)
        shown = [data, *(each.data for each in self.before_)]
        ax.set_xlim(*_with_margin([each["prob_pred"].values for each in shown]))
        heights = ("prob_true", "lower", "upper")
        ends = [each[kind].values for each in shown for kind in heights if kind in each]
        ax.set_ylim(*_with_margin(ends))
        event = f"P({display.class_name(data)})"
        ax.set_xlabel(f"{event}, predicted")
        ax.set_ylabel(f"{event}, observed")
        self.counts_ax_: Axes | None = None
        self.bars_: Any = None
        if counts:
            self.counts_ax_, self.bars_ = self._draw_counts(ax)

    def _draw_counts(self, ax: Axes) -> tuple[Axes, Any]:
        count = self.data["count"].values.astype(np.float64)
        edges = np.append(self.data["bin_low"].values, self.data["bin_high"].values[-1])
        above = next((e.counts_ax_ for e in self.before_ if getattr(e, "counts_ax_", None)), None)
        if above is not None:
            bars = above.stairs(count, edges, baseline=None, color=self._looks()[0]["color"])
            above.set_ylim(0.5, max(8.0 * count.max(), above.get_ylim()[1]))
            return above, bars
        # Within the space of these axes, to keep other axes of the figure unchanged.
        divider = display.require("mpl_toolkits.axes_grid1").make_axes_locatable(ax)
        above = divider.append_axes("top", COUNTS_HEIGHT, GAP, sharex=ax)
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


FILLED = 0.6  # least share of [0, 1] that numbers fill in axes from 0 to 1


def axis_range(values: Floats) -> tuple[float, float]:
    """Return the ends of an axis of probabilities: 0 and 1, or closer if values fill little."""
    low, high = float(values.min()), float(values.max())
    if high - low > FILLED or low == high:
        return 0.0, 1.0
    return low, high


def _with_margin(parts: list[Floats]) -> tuple[float, float]:
    low, high = axis_range(np.concatenate(parts))
    margin = 0.02 if (low, high) == (0.0, 1.0) else 0.05 * (high - low)
    return low - margin, high + margin


def _predicted(
    model: Any, documents: Any, y: Any, label: Any, prior: Prior | None
) -> tuple[Floats, Any, str]:
    """Return a classifier's P(label), the mask of documents with the label, and its name."""
    if not hasattr(model, "predict_proba"):
        raise TypeError(
            "calibrator must be a fitted calibrator, or a classifier with predict_proba, got an"
            f" object of type {type(model).__name__}."
        )
    p = np.asarray(model.predict_proba(documents, **({} if prior is None else {"prior": prior})))
    multilabel = hasattr(model, "labels_")
    classes = np.asarray(model.labels_ if multilabel else model.classes_)
    names = classes.tolist()
    if label is None and len(names) == 2 and not multilabel:
        label = names[1]
        if hasattr(model, "fitted_problems"):
            label = next(iter(model.fitted_problems().values())).labels.tolist()[1]
    if label not in names:
        raise ValueError(
            f"pos_label must be one of the classes or labels, {first_of(names)}; got {label!r}."
        )
    truth = np.asarray(y).T if multilabel else of_each_class(np.asarray(y), classes)
    return p[:, names.index(label)], truth[names.index(label)], str(label)


def _is_label(y_true: ArrayLike, pos_label: Any) -> NDArray[np.bool_]:
    """Return the mask of positive labels; raise ValueError for an unknown `pos_label`."""
    labels = as_labels(y_true, "y_true")
    names = np.unique(labels).tolist()
    if pos_label not in names and len(names) > 1:
        raise ValueError(
            f"pos_label must be one of the labels of y_true, {first_of(names)}; got {pos_label!r}."
        )
    return np.asarray(labels == pos_label)

"""Displays of selective decisions: sets of classes, and risk against coverage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from bayescal.decisions.selective import conformal_sets, expected_sets, risk_coverage, set_coverage
from bayescal.metrics.inputs import read_class_outcomes
from bayescal.plots import display
from bayescal.plots.classes import ClassDisplay, answers_of
from bayescal.support.labels import as_labels, of_each_class
from bayescal.support.palette import DATA_COLOUR
from bayescal.support.validation import Floats, as_reals, check_fraction, generator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COVERAGES = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98)
KINDS = ("expected", "conformal")
LABELS = {
    "expected": "threshold by probabilities, no labels",
    "conformal": "split conformal, by the other half's labels",
}


class PredictionSetDisplay(ClassDisplay):
    """Coverage and mean size of sets of classes, by requested coverage.

    Sets by probabilities alone (`bayescal.decisions.expected_sets`) are compared with split
    conformal sets, whose threshold for each random half of the documents comes from the other
    half's labels. The first panel shows coverage with Jeffreys' intervals, the second one the mean
    number of classes.

    Parameters
    ----------
    data : xarray.Dataset
        covered, lower, upper and size (kind, coverage).

    References
    ----------
    V. Vovk, A. Gammerman and G. Shafer, *Algorithmic learning in a random world*, 2005.

    Examples
    --------
    >>> p = np.random.default_rng(0).dirichlet(np.ones(3), size=200)
    >>> display = PredictionSetDisplay.from_predictions(p.argmax(axis=1), p)
    >>> display.data["size"].dims
    ('kind', 'coverage')
    """

    _legend = "lower right"

    @staticmethod
    def compute(
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        coverages: ArrayLike = COVERAGES,
        level: float = 0.9,
        random_state: Any = 0,
    ) -> xr.Dataset:
        """Compute the coverage and the size of both kinds of sets.

        Parameters
        ----------
        y_true, y_prob, classes
            As in `bayescal.metrics.class_verdict`.
        coverages : array-like of shape (m,)
            Requested coverages, between 0 and 1.
        level : float
            Probability of the intervals of coverage.
        random_state : int, Generator, RandomState or None
            Halves the documents.
        """
        label, p, _ = read_class_outcomes(y_true, y_prob, classes)
        asked = np.sort(as_reals(coverages, "coverages").ravel())
        for share in asked.tolist():
            check_fraction(coverages=share)
        half = generator(random_state).permutation(label.size) % 2 == 0
        found = np.empty((len(KINDS), asked.size, 4))
        for j, share in enumerate(asked.tolist()):
            for i, sets in enumerate((expected_sets(p, share), _conformal(p, label, half, share))):
                each = set_coverage(sets, label, level=level)
                found[i, j] = each.value, each.lower, each.upper, each.size
        names = ("covered", "lower", "upper", "size")
        return xr.Dataset(
            {name: (("kind", "coverage"), found[:, :, k]) for k, name in enumerate(names)},
            {"kind": list(KINDS), "coverage": asked},
            {"level": level},
        )

    def _new_axes(self) -> list[Axes]:
        subplots = display.require("matplotlib.pyplot").subplots
        return list(subplots(1, 2, figsize=(8.6, 3.7), layout="constrained")[1])

    def _draw(self, ax: Axes) -> None:
        data, x = self.data, self.data["coverage"].values
        ax.plot(x, x, **display.REFERENCE)
        for k, kind in enumerate(data["kind"].values.tolist()):
            mine, look = data.sel(kind=kind), display.MANY_LINES[k]
            ends = np.abs(np.stack([mine["lower"], mine["upper"]]) - mine["covered"].values)
            # Side by side, as both have the same coverages.
            at = x + (k - 0.5) * 0.006
            ax.errorbar(at, mine["covered"], ends, elinewidth=0.9, label=LABELS[kind], **look)
            for sizes in self.axes_[1:]:
                sizes.plot(x, mine["size"], label=LABELS[kind], **look)
        ax.set_ylabel("share of sets that hold the class")
        for sizes in self.axes_[1:]:
            sizes.set_ylabel("classes in a set, mean")
            display.finish(sizes, legend=None)
        for panel in self.axes_:
            panel.set_xlabel("coverage asked for")


def _conformal(
    p: Floats, label: NDArray[np.intp], half: NDArray[np.bool_], coverage: float
) -> NDArray[np.bool_]:
    """Return the sets of each half of the documents by the other half's labels."""
    sets = np.empty(p.shape, dtype=np.bool_)
    for part in (half, ~half):
        sets[part] = conformal_sets(p[~part], label[~part], p[part], coverage)
    return sets


class RiskCoverageDisplay(ClassDisplay):
    """The share of errors if only the most certain documents are answered, with its band.

    Parameters
    ----------
    data : xarray.Dataset
        risk, lower, upper, probability, and with labels observed (coverage).

    Attributes
    ----------
    line_, band_ : matplotlib artists
        The expected share of errors, and its band.
    observed_ : matplotlib.lines.Line2D or None
        The observed share of errors.

    Examples
    --------
    >>> p = np.random.default_rng(0).dirichlet(np.ones(3), size=200)
    >>> display = RiskCoverageDisplay.from_predictions(p[None], p.argmax(axis=1))
    >>> float(display.data["observed"].max())
    0.0
    """

    @staticmethod
    def compute(
        draws: ArrayLike,
        y_true: ArrayLike | None = None,
        *,
        level: float = 0.9,
        name: str | None = None,
    ) -> xr.Dataset:
        """Compute the risk of answers by posterior draws of probabilities.

        Parameters
        ----------
        draws, y_true
            As in `bayescal.decisions.risk_coverage`.
        level : float
            Probability of the band at each coverage.
        name : str, optional
            Name of the model in the legend.
        """
        result = risk_coverage(draws, y_true, level=level)
        variables = {
            each: ("coverage", getattr(result, each))
            for each in ("risk", "lower", "upper", "probability")
        }
        if result.observed is not None:
            variables["observed"] = "coverage", result.observed
        attrs = {"level": level, "name": name or ""}
        return xr.Dataset(variables, {"coverage": result.coverage}, attrs)

    @classmethod
    def from_estimator(
        cls,
        calibrator: Any,
        scores: Any,
        y: ArrayLike | None = None,
        *,
        prior: Any = None,
        **options: Any,
    ) -> Self:
        """Plot the risk of a calibrator's answers; labels are optional.

        Parameters
        ----------
        calibrator : MulticlassCalibrator or CalibratedClassifier
            Fitted, of several exclusive classes.
        scores, y : array-like
            Documents, as its `predict_proba` takes them, and optionally their classes.
        prior : array-like or mapping, optional
            Shares of the classes among these documents.
        """
        return super().from_estimator(calibrator, scores, y, prior=prior, **options)

    @classmethod
    def _read(cls, calibrator: Any, scores: Any, y: Any, prior: Any) -> dict[str, Any]:
        label = None
        if y is not None:
            label = of_each_class(as_labels(y, "y"), np.asarray(calibrator.classes_)).argmax(axis=0)
        return {"draws": answers_of(calibrator, "sample_proba", scores, prior), "y_true": label}

    def _draw(self, ax: Axes) -> None:
        data, (own, band) = self.data, self._looks()
        x, name = data["coverage"].values, data.attrs["name"]
        name = f"{name}, " if name else ""
        text = f"{name}{self._level} band"
        self.band_ = ax.fill_between(x, data["lower"], data["upper"], label=text, **band)
        (self.line_,) = ax.plot(x, data["risk"], label=f"{name}expected", **own)
        self.observed_ = None
        if "observed" in data:
            look: display.Look = {"color": DATA_COLOUR, "linewidth": 1.0}
            (self.observed_,) = ax.plot(x, data["observed"], label=f"{name}by labels", **look)
        ax.set_xlim(0.0, 1.01)
        ax.set_ylim(bottom=0.0)
        ax.set_xlabel("share of documents answered, surest first")
        ax.set_ylabel("share of wrong answers")

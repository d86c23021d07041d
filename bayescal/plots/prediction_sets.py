"""Sets of classes: their coverage and size, beside split conformal's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from bayescal.decisions.selective import conformal_sets, expected_sets, set_coverage
from bayescal.metrics.inputs import read_class_outcomes
from bayescal.plots import display
from bayescal.plots.class_reliability import predicted
from bayescal.support.validation import Floats, as_reals, check_fraction, generator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COVERAGES = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98)
KINDS = ("expected", "conformal")
LABELS = {
    "expected": "threshold by probabilities, no labels",
    "conformal": "split conformal, by the other half's labels",
}


class PredictionSetDisplay(display.Display):
    """
    Coverage of sets of classes, and their mean size, by the coverage asked for.

    Sets by probabilities alone (`bayescal.decisions.expected_sets`) stand beside split conformal
    sets, whose threshold for each random half of the documents comes from the labels of the other
    half. On the left, coverage with Jeffreys' intervals against what was asked; on the right, the
    mean number of classes.

    Parameters
    ----------
    data : xarray.Dataset
        covered, lower, upper and size (kind, coverage).

    Attributes
    ----------
    axes_ : list of matplotlib.axes.Axes
        The panels of coverage and of size.

    References
    ----------
    V. Vovk, A. Gammerman and G. Shafer, *Algorithmic learning in a random world*, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal.plots import PredictionSetDisplay
    >>> p = np.random.default_rng(0).dirichlet(np.ones(3), size=200)
    >>> display = PredictionSetDisplay.from_predictions(p.argmax(axis=1), p)
    >>> display.data["size"].dims
    ('kind', 'coverage')
    """

    axes_: list[Axes]

    @classmethod
    def from_estimator(
        cls,
        calibrator: Any,
        scores: Any,
        y: ArrayLike,
        *,
        prior: Any = None,
        coverages: ArrayLike = COVERAGES,
        level: float = 0.9,
        random_state: Any = 0,
    ) -> Self:
        """
        Plot the sets of held-out documents.

        Parameters
        ----------
        calibrator : MulticlassCalibrator, CalibratedClassifier or any classifier
            Fitted, of several exclusive classes.
        scores, y : array-like
            Held-out documents, as its `predict_proba` takes them, and their classes.
        prior : array-like or mapping, optional
            Shares of the classes among these documents.
        coverages, level, random_state
            See `from_predictions`.

        Raises
        ------
        ValueError
            If an argument is not as described.
        """
        return cls.from_predictions(
            y,
            predicted(calibrator, scores, prior),
            classes=calibrator.classes_,
            coverages=coverages,
            level=level,
            random_state=random_state,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        coverages: ArrayLike = COVERAGES,
        level: float = 0.9,
        random_state: Any = 0,
    ) -> Self:
        """
        Plot the sets that predicted probabilities make.

        Parameters
        ----------
        y_true, y_prob, classes
            See `bayescal.metrics.class_verdict`.
        coverages : array-like of shape (m,)
            Coverages to ask for, between 0 and 1.
        level : float
            Probability of the intervals of coverage.
        random_state : int, Generator, RandomState or None
            Halves the documents.

        Raises
        ------
        ValueError
            If an argument is not as described.
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
                found[i, j] = each.coverage, each.lower, each.upper, each.size
        names = ("covered", "lower", "upper", "size")
        data = xr.Dataset(
            {name: (("kind", "coverage"), found[:, :, k]) for k, name in enumerate(names)},
            {"kind": list(KINDS), "coverage": asked},
            {"level": level},
        )
        return cls(data).plot()

    def plot(self) -> Self:
        """Draw both panels in a new figure."""
        data = self.data
        _, (left, right) = display.require("matplotlib.pyplot").subplots(
            1, 2, figsize=(8.6, 3.7), layout="constrained"
        )
        self.axes_ = [self._begin(left), right]
        x = data["coverage"].values
        left.plot(x, x, **display.REFERENCE)
        for k, kind in enumerate(data["kind"].values.tolist()):
            mine, look = data.sel(kind=kind), display.MANY_LINES[k]
            ends = np.abs(np.stack([mine["lower"], mine["upper"]]) - mine["covered"].values)
            # Side by side, where both stand at the same coverage.
            at = x + (k - 0.5) * 0.006
            left.errorbar(at, mine["covered"], ends, elinewidth=0.9, label=LABELS[kind], **look)
            right.plot(x, mine["size"], label=LABELS[kind], **look)
        left.set_ylabel("share of sets that hold the class")
        right.set_ylabel("classes in a set, mean")
        for ax in self.axes_:
            ax.set_xlabel("coverage asked for")
        display.finish(left, legend="lower right")
        display.finish(right, legend=None)
        return self


def _conformal(
    p: Floats, label: NDArray[np.intp], half: NDArray[np.bool_], coverage: float
) -> NDArray[np.bool_]:
    """Return the sets of each half of the documents by the labels of the other."""
    sets = np.empty(p.shape, dtype=np.bool_)
    for part in (half, ~half):
        sets[part] = conformal_sets(p[~part], label[~part], p[part], coverage)
    return sets

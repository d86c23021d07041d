"""Learning curves: loss of calibrators by the number of positive documents fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from bayescal.metrics import losses
from bayescal.plots import display
from bayescal.support import validation
from bayescal.support.labels import encode_labels, match_labels
from bayescal.support.palette import MLE_COLOUR, POSTERIOR_COLOUR
from bayescal.support.score_checks import without_scores_warnings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DEFAULT_SIZES = (3, 5, 10, 20, 50, 100)
ERRORS = 2.0  # standard errors in a bar
COLOURS = {"posterior": {"color": POSTERIOR_COLOUR}, "maximum likelihood": {"color": MLE_COLOUR}}


class LearningCurveDisplay(display.EstimatorDisplay):
    """Held-out log-loss by the number of positive documents fitted, the mean over random subsets.

    The loss is in bits per document; bars are two standard errors of the mean. `from_estimator`
    fits each calibrator sizes x repeats times, all to the same subsets.

    Parameters
    ----------
    data : xarray.Dataset
        log_loss (calibrator, positives, repeat), in bits per document.

    Attributes
    ----------
    lines_ : list of matplotlib.container.ErrorbarContainer
        A line for each calibrator.

    Examples
    --------
    >>> from bayescal import ScoreCalibrator
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat([0, 1], [300, 100])
    >>> display = LearningCurveDisplay.from_estimator(
    ...     ScoreCalibrator("gaussian", "mle"),
    ...     rng.normal(2.0 * labels, 1.0),
    ...     labels,
    ...     sizes=[4, 32],
    ...     repeats=5,
    ... )
    >>> few, many = display.data["log_loss"].mean("repeat").values[0]
    >>> bool(few > many)
    True
    """

    _legend = "upper right"

    @staticmethod
    def compute(
        calibrators: Any,
        scores: ArrayLike,
        y: ArrayLike,
        *,
        test: tuple[ArrayLike, ArrayLike] | None = None,
        sizes: Sequence[int] | None = None,
        repeats: int = 5,
        random_state: Any = 0,
    ) -> xr.Dataset:
        """Fit calibrators to random subsets and return their losses.

        Parameters
        ----------
        calibrators : ScoreCalibrator or mapping of str to ScoreCalibrator
            Calibrators to compare, by names for the legend; clones are fitted.
        scores, y : array-like of shape (n,)
            Scores and labels of the documents to draw subsets from.
        test : tuple of array-like, optional
            Scores and labels to test on; by default a random half of each class, which is left out
            of all subsets.
        sizes : sequence of int, optional
            Numbers of positives in the subsets, with negatives in proportion, at least one; by
            default from 3 to 100, up to the number of positives.
        repeats : int
            Number of subsets of each size.
        random_state : int, numpy Generator, RandomState or None
            Chooses the subsets.
        """
        validation.check_count("repeats", repeats)
        named = calibrators if isinstance(calibrators, Mapping) else {"": calibrators}
        rng, values = validation.generator(random_state), validation.as_scores(scores)
        # The name may mean something else in other objects with fit and predict_proba.
        asked = [each.positive for each in named.values() if _has_positive(each)]
        asked = [label for label in asked if label is not None]
        classes, positive = encode_labels(y, positive=asked[0] if asked else None)
        validation.check_same_length("scores", values.size, "y", positive.size)
        if test is None:
            fitted = _half(positive, rng)
            tested = (values[~fitted], positive[~fitted])
            values, positive = values[fitted], positive[fitted]
        else:
            tested = (validation.as_scores(test[0], "test"), match_labels(test[1], classes, "test"))
            validation.check_same_length(
                "test scores", tested[0].size, "test labels", tested[1].size
            )
        sizes = _sizes(sizes, int(positive.sum()))
        out = np.empty((len(named), len(sizes), repeats))
        for s, size in enumerate(sizes):
            for r in range(repeats):
                index = _subset(positive, size, rng)
                for c, calibrator in enumerate(named.values()):
                    # Such warnings concern the user's documents, not random subsets.
                    with without_scores_warnings():
                        fit = _of(calibrator).fit(values[index], positive[index])
                    loss = losses(fit.decision_function(tested[0]), tested[1])
                    out[c, s, r] = loss.log_loss / loss.n
        dims, coords = ("calibrator", "positives", "repeat"), {"calibrator": list(named)}
        data = xr.Dataset({"log_loss": (dims, out)}, coords | {"positives": list(sizes)})
        attrs = {"positive_class": str(classes[1]), "score_name": validation.name_of(scores)}
        return data.assign_attrs(attrs)

    def _draw(self, ax: Axes) -> None:
        loss = self.data["log_loss"]
        mean = loss.mean("repeat")
        repeats = loss.sizes["repeat"]
        error = loss.std("repeat", ddof=1) / repeats**0.5 if repeats > 1 else 0.0 * mean
        self.lines_ = []
        for k, name in enumerate(loss["calibrator"].values.tolist()):
            look = display.MANY_LINES[k % len(display.MANY_LINES)] | COLOURS.get(name, {})
            reach = ERRORS * error[k].values
            x, label = loss["positives"].values, name or None
            self.lines_.append(
                ax.errorbar(x, mean[k].values, reach, label=label, capsize=2.0, **look)
            )
        ax.set_xscale("log")
        ax.set_xticks(loss["positives"].values, list(map(str, loss["positives"].values)))
        ax.minorticks_off()
        ax.set_xlabel(f"documents of class {self.data.attrs['positive_class']} fitted")
        bars = f"\n(mean of {repeats} subsets; bars: ± {ERRORS:g} standard errors)"
        ax.set_ylabel(f"held-out log-loss, bits per document{bars if repeats > 1 else ''}")

    def _finish(self, ax: Axes, *, legend: bool) -> None:
        named = any(self.data["calibrator"].values.tolist())
        super()._finish(ax, legend=legend and named)


def _of(calibrator: Any) -> Any:
    """Return an unfitted copy, for labels that are True for the positive class."""
    copy = clone(calibrator)
    return copy.set_params(positive=None) if _has_positive(copy) else copy


def _has_positive(calibrator: Any) -> bool:
    """Return True for a calibrator of this package with a parameter `positive`."""
    return hasattr(calibrator, "fitted_problems") and hasattr(calibrator, "positive")


def _half(positive: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return a mask of half of each class, the larger half."""
    mask = np.zeros(positive.size, dtype=bool)
    for which in (positive, ~positive):
        index = np.flatnonzero(which)
        mask[rng.permutation(index)[: (index.size + 1) // 2]] = True
    if mask.all():
        raise ValueError("scores must hold two documents of a class to test on some; give test.")
    return mask


def _sizes(sizes: Sequence[int] | None, most: int) -> tuple[int, ...]:
    if sizes is None:
        return tuple(size for size in DEFAULT_SIZES if size <= most) or (most,)
    for size in sizes:
        validation.check_count("sizes", size)
        if size > most:
            raise ValueError(
                f"sizes must not exceed the {most} positives to draw from, got {size}."
            )
    if not sizes:
        raise ValueError("sizes must hold at least one number of positives, got none.")
    return tuple(int(size) for size in sizes)


def _subset(positive: NDArray[np.bool_], size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return indices of `size` positives, and of negatives in proportion."""
    ups, downs = np.flatnonzero(positive), np.flatnonzero(~positive)
    others = max(1, round(size * downs.size / ups.size))
    return np.concatenate(
        [rng.choice(ups, size, replace=False), rng.choice(downs, others, replace=False)]
    )

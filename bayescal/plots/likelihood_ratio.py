"""Likelihood ratios by score, and plots of their validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayescal.fitting.problems.problem import FittedProblem
from bayescal.fitting.results.calibration import PREDICTIVE
from bayescal.likelihood_ratio import curves
from bayescal.likelihood_ratio.bounds import elub, invariance_bounds
from bayescal.likelihood_ratio.measures import LN10, read_comparisons
from bayescal.likelihood_ratio.ratios import EQUAL_PRIORS, ratios_of
from bayescal.plots import display
from bayescal.support.palette import CLASS_COLOURS, DATA_COLOUR, MLE_COLOUR
from bayescal.support.validation import check_fraction

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BOUND_DASHES = {"elub": (0, (4, 2)), "invariance": (0, (1, 1.5))}
BOUND_NAMES = {"elub": "ELUB", "invariance": "invariance bounds"}


class LikelihoodRatioDisplay(display.ProblemDisplay):
    """log10 LR by score, with its band, bounds, and ticks of the comparisons.

    `prior` has no effect. A fit of a single part raises ValueError.

    Parameters
    ----------
    data : xarray.Dataset
        log10_lr, lower, upper (score); document_score, label (document); elub, invariance (end) if
        the calibrator stores the comparisons fitted.

    Attributes
    ----------
    line_ : matplotlib.lines.Line2D
    band_ : matplotlib.collections.PolyCollection or None
    bounds_ : list of matplotlib.lines.Line2D
        Bounds of LRs.
    rugs_ : list of matplotlib.lines.Line2D
        Ticks of the negative comparisons, below, and of the positive ones, above.

    Examples
    --------
    >>> from bayescal import ScoreCalibrator
    >>> rng = np.random.default_rng(0)
    >>> same = np.repeat([True, False], [20, 60])
    >>> calibrator = ScoreCalibrator(random_state=0).fit(3.0 * same + rng.normal(size=80), same)
    >>> display = LikelihoodRatioDisplay.from_estimator(calibrator)
    >>> display.ax_.get_ylabel()
    'log10 LR for True'
    """

    @staticmethod
    def compute(
        problem: FittedProblem, *, grid: ArrayLike | None = None, level: float = 0.9
    ) -> xr.Dataset:
        """Compute the curve, its band and the bounds.

        Parameters
        ----------
        problem : FittedProblem
            The problem to draw.
        grid : array-like, optional
            Scores; by default over all scores fitted, and a little beyond.
        level : float
            Posterior probability of the band at each score.
        """
        check_fraction(level=level)
        x = problem.shown(problem.grid(grid))
        ratios = ratios_of(problem, x, level=level)
        documents = problem.documents
        variables: dict[str, Any] = {
            "log10_lr": ("score", ratios.log10),
            "document_score": ("document", problem.shown(documents.score)),
            "label": ("document", documents.positive.astype(np.int64)),
        }
        if problem.has_posterior:
            variables |= {"lower": ("score", ratios.lower), "upper": ("score", ratios.upper)}
        if documents.score.size:
            calibration = problem.calibration.with_prior(EQUAL_PRIORS)
            own = calibration.log_odds(documents.score, PREDICTIVE) / LN10
            variables |= {
                "elub": ("end", list(elub(documents.positive, own))),
                "invariance": ("end", list(invariance_bounds(documents.positive, own))),
            }
        return xr.Dataset(variables, {"score": x}, problem.attrs | {"level": level})

    def _draw(self, ax: Axes, *, bounds: bool = True, ticks: bool = True) -> None:
        """Draw the curve, and in axes without another display bounds and comparisons.

        Parameters
        ----------
        bounds : bool
            Draw the bounds of the comparisons, which are not applied.
        ticks : bool
            Mark the comparisons.
        """
        data = self.data
        look, band_look = self._looks()
        x, self.band_ = data["score"].values, None
        if "lower" in data:
            label = f"{self._level} band"
            self.band_ = ax.fill_between(x, data["lower"], data["upper"], label=label, **band_look)
        (self.line_,) = ax.plot(x, data["log10_lr"], label="LR", **look)
        ax.axhline(0.0, zorder=0, **display.REFERENCE)
        ends = np.concatenate([data[name].values for name in ("lower", "upper") if name in data])
        point = data["log10_lr"].values
        reach = max(np.ptp(point), 1.0)
        low = max(ends.min(initial=point.min()), point.min() - reach)
        high = min(ends.max(initial=point.max()), point.max() + reach)
        margin = 0.12 * (high - low)
        self.bounds_: list[Any] = []
        if bounds and not self.before_:
            for name, dashes in BOUND_DASHES.items():
                if name in data:
                    self.bounds_ += self._draw_bounds(ax, name, dashes)
        self.rugs_: list[Any] = []
        if ticks and not self.before_:
            for k, height in enumerate((low - 0.6 * margin, high + 0.6 * margin)):
                score = data["document_score"].values[data["label"].values == k]
                self.rugs_.append(display.rug(ax, score, height))
        ax.set_ylim(low - margin, high + margin)
        display.label_scores(ax, data, widen=bool(self.before_))
        ax.set_ylabel(f"log10 LR for {display.class_name(data)}")

    def _draw_bounds(self, ax: Axes, name: str, dashes: Any) -> list[Any]:
        look = display.REFERENCE | {"color": MLE_COLOUR, "linestyle": dashes}
        lines = [ax.axhline(value, **look) for value in self.data[name].values.tolist()]
        lines[0].set_label(BOUND_NAMES[name])
        return lines


LOG10_LR = r"$\log_{10}$ LR"
EDGE = 0.06  # of the axis, beyond finite values, for infinite ones


class TippettDisplay(display.PredictionsDisplay):
    """Tippett plot: shares of LRs beyond each value, by class, with bands by source.

    Parameters
    ----------
    data : xarray.Dataset
        positive, negative, and their _lower and _upper (log10_lr).

    Attributes
    ----------
    lines_ : list of matplotlib.lines.Line2D
        The curves of the negatives and of the positives.
    bands_ : list of matplotlib.collections.PolyCollection

    Examples
    --------
    >>> display = TippettDisplay.from_predictions([0, 0, 1, 1], [-1.0, 0.3, 0.2, 1.0])
    >>> display.ax_.get_ylabel()
    'share of larger LRs'
    """

    @staticmethod
    def compute(
        y_true: ArrayLike,
        log10_lr: ArrayLike,
        *,
        sources: tuple[ArrayLike, ArrayLike] | None = None,
        kind: int = 1,
        level: float = 0.9,
        random_state: Any = 0,
    ) -> xr.Dataset:
        """Compute shares of LRs.

        Parameters
        ----------
        y_true, log10_lr
            As in `bayescal.likelihood_ratio.cllr`.
        sources : tuple of two array-likes, optional
            The sources of the two items of each comparison, which widen the bands.
        kind : {1, 2}
            1 shows shares of larger LRs for both classes; 2 shows those of smaller LRs for
            positives, so that both curves show misleading LRs.
        level : float
            Probability of the band at each value.
        random_state : int, numpy Generator, RandomState or None
            Assigns more than 200 sources to groups; see `bayescal.likelihood_ratio.validate`.
        """
        compared = read_comparisons(y_true, log10_lr)
        return curves.tippett(compared, sources, kind=kind, level=level, rng=random_state)

    def _draw(self, ax: Axes) -> None:
        data = self.data
        x = data["log10_lr"].values
        self.lines_, self.bands_ = [], []
        for k, name in enumerate(("negative", "positive")):
            look: display.Look = {"color": CLASS_COLOURS[k], "linestyle": display.CLASS_DASHES[k]}
            ends = data[f"{name}_lower"], data[f"{name}_upper"]
            band = ax.fill_between(x, *ends, color=CLASS_COLOURS[k], alpha=0.18, linewidth=0)
            self.bands_.append(band)
            self.lines_ += ax.plot(x, data[name], label=f"{name}s", linewidth=1.6, **look)
        ax.axvline(0.0, zorder=0, **display.REFERENCE)
        ax.set_xlabel(LOG10_LR)
        both = data.attrs["kind"] == 1
        ax.set_ylabel("share of larger LRs" if both else "share of more misleading LRs")
        ax.set_ylim(-0.02, 1.02)
        self._legend = "lower left" if both else "upper center"


class PavDisplay(display.PredictionsDisplay):
    """LRs after isotonic regression (PAV) against stated LRs; infinite ones at the edges.

    Parameters
    ----------
    data : xarray.Dataset
        pav, negatives, positives (log10_lr).

    Attributes
    ----------
    line_ : matplotlib.lines.Line2D
        The PAV curve where it is finite.
    edges_ : list of matplotlib.lines.Line2D
        Comparisons whose PAV value is infinite.

    Examples
    --------
    >>> display = PavDisplay.from_predictions([0, 1, 0, 1], [-1.0, 0.3, 0.5, 1.0])
    >>> len(display.edges_)
    2
    """

    _corner = (0.0, 0.93)

    @staticmethod
    def compute(y_true: ArrayLike, log10_lr: ArrayLike) -> xr.Dataset:
        """Compute recalibrated LRs.

        Parameters
        ----------
        y_true, log10_lr
            As in `bayescal.likelihood_ratio.cllr`.
        """
        return curves.pav(read_comparisons(y_true, log10_lr))

    def _draw(self, ax: Axes) -> None:
        data = self.data
        x, y = data["log10_lr"].values, data["pav"].values
        shown_x, shown_y = x[np.isfinite(x)], y[np.isfinite(y)]
        ends = np.concatenate([shown_x, shown_y, [0.0]])
        low, high = float(ends.min()), float(ends.max())
        margin = EDGE * (high - low) or 0.5
        ax.plot([low, high], [low, high], label="stated = PAV", **display.REFERENCE)
        finite = np.isfinite(x) & np.isfinite(y)
        label = f"PAV, devPAV {data.attrs['devpav']:.2f}"
        (self.line_,) = ax.plot(x[finite], y[finite], label=label, **self._looks()[0])
        self.edges_: list[Any] = []
        for sign, marker in ((-1.0, "v"), (1.0, "^")):
            beyond = np.isinf(y) & (np.sign(y) == sign)
            if beyond.any():
                height = high + margin if sign > 0.0 else low - margin
                where = np.clip(x[beyond], low - margin, high + margin)
                self.edges_ += ax.plot(where, np.full(where.size, height), marker, **EDGE_LOOK)
        if self.edges_:
            self.edges_[0].set_label("infinite after PAV")
        limits = low - 2 * margin, high + 2 * margin
        ax.set(xlim=limits, ylim=limits)
        ax.set_xlabel(f"stated {LOG10_LR}")
        ax.set_ylabel(f"{LOG10_LR} after PAV")


EDGE_LOOK: display.Look = {
    "color": DATA_COLOUR,
    "markersize": 4.0,
    "markerfacecolor": "none",
    "linestyle": "none",
}


class CrossEntropyDisplay(display.PredictionsDisplay):
    """Empirical cross-entropy by prior odds: of stated LRs, after PAV, and of LR = 1.

    Parameters
    ----------
    data : xarray.Dataset
        stated, recalibrated, neutral (log10_prior_odds), in bits.

    Attributes
    ----------
    lines_ : list of matplotlib.lines.Line2D
        The curves of stated LRs, after PAV, and of LR = 1.

    Examples
    --------
    >>> display = CrossEntropyDisplay.from_predictions([0, 1, 0, 1], [-1.0, 0.3, 0.5, 1.0])
    >>> display.ax_.get_ylabel()
    'empirical cross-entropy (bits)'
    """

    @staticmethod
    def compute(
        y_true: ArrayLike, log10_lr: ArrayLike, *, log10_prior_odds: ArrayLike = curves.PRIORS
    ) -> xr.Dataset:
        """Compute the empirical cross-entropy.

        Parameters
        ----------
        y_true, log10_lr
            As in `bayescal.likelihood_ratio.cllr`.
        log10_prior_odds : array-like
            Base-10 logarithms of prior odds; by default from -3 to 3.
        """
        return curves.cross_entropies(read_comparisons(y_true, log10_lr), log10_prior_odds)

    def _draw(self, ax: Axes) -> None:
        data = self.data
        x, attrs = data["log10_prior_odds"].values, data.attrs
        looks = (
            ("stated", f"stated LRs, Cllr {attrs['cllr']:.3f}", self._looks()[0]),
            ("recalibrated", f"after PAV, {attrs['min_cllr']:.3f}", display.MLE),
            ("neutral", "LR = 1", display.REFERENCE | {"linewidth": 1.6}),
        )
        self.lines_ = []
        for name, label, look in looks:
            self.lines_ += ax.plot(x, data[name], label=label, **look)
        ax.axvline(0.0, zorder=0, **display.REFERENCE)
        stated = data["stated"].values
        top = float(stated[np.isfinite(stated)].max(initial=1.0))
        ax.set_ylim(0.0, min(1.08 * top, 2.5))
        ax.set_xlim(x.min(), x.max())
        ax.set_xlabel(r"$\log_{10}$ prior odds")
        ax.set_ylabel("empirical cross-entropy (bits)")


class ConsistencyDisplay(display.PredictionsDisplay):
    """Observed against stated log10 LRs in bins, with intervals by source.

    Parameters
    ----------
    data : xarray.Dataset
        stated, observed, lower, upper, comparisons (bin).

    Attributes
    ----------
    bars_ : matplotlib.container.ErrorbarContainer
        The bins.

    Examples
    --------
    >>> display = ConsistencyDisplay.from_predictions([0, 1, 0, 1], [-1.0, 0.3, 0.5, 1.0])
    >>> display.data.sizes["bin"]
    2
    """

    @staticmethod
    def compute(
        y_true: ArrayLike,
        log10_lr: ArrayLike,
        *,
        sources: tuple[ArrayLike, ArrayLike] | None = None,
        bins: int | None = None,
        level: float = 0.9,
        random_state: Any = 0,
    ) -> xr.Dataset:
        """Compute observed LRs of bins.

        Parameters
        ----------
        y_true, log10_lr
            As in `bayescal.likelihood_ratio.cllr`.
        sources : tuple of two array-likes, optional
            The sources of the two items of each comparison, which widen the intervals.
        bins : int, optional
            Number of bins, which hold equal shares of both classes together; by default up to ten.
        level : float
            Probability of the intervals.
        random_state : int, numpy Generator, RandomState or None
            Seeds the draws of the intervals.
        """
        compared = read_comparisons(y_true, log10_lr)
        return curves.consistency(compared, sources, bins=bins, level=level, rng=random_state)

    def _draw(self, ax: Axes) -> None:
        data = self.data
        x, y, low, high = (data[k].values for k in ("stated", "observed", "lower", "upper"))
        ends = np.concatenate([x, y])
        ax.plot([ends.min(), ends.max()], [ends.min(), ends.max()], **display.REFERENCE)
        label = f"bins, {self._level} interval"
        look = display.DATA | {"color": self._looks()[0]["color"]}
        self.bars_ = ax.errorbar(x, y, [y - low, high - y], label=label, **look)
        ax.set_xlabel(f"stated {LOG10_LR}")
        ax.set_ylabel(f"observed {LOG10_LR}")

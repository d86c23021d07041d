"""Calibrated probabilities and log-odds against the raw score, with band and documents."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from bayescal.fitting.curves.curves import Curve
from bayescal.fitting.problems.problem import FittedProblem, binned_log_odds
from bayescal.fitting.results.calibration import EQUAL_TAILED
from bayescal.fitting.scores import BinaryScores
from bayescal.plots import display
from bayescal.support.numerics import probability
from bayescal.support.palette import DATA_COLOUR
from bayescal.support.validation import Floats, check_choice, check_count, check_fraction

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.lines import Line2D

MOST_BINS = 15
COUNTS = ("positives", "negatives")


def balanced_edges(score: Floats, positive: NDArray[np.bool_], weight: Floats, bins: int) -> Floats:
    """Return inner edges between equal shares of both classes, each of half the weight."""
    distinct, code = np.unique(score, return_inverse=True)
    share = np.zeros(distinct.size)
    for which in (positive, ~positive):
        if weight[which].sum() > 0.0:
            share += np.bincount(code[which], weight[which], distinct.size) / weight[which].sum()
    passed = np.cumsum(share) / share.sum()
    # The gap after the last score below a share, up to rounding.
    wanted = np.arange(1, bins) / bins
    after = np.unique(np.searchsorted(passed, wanted - 1e-9))
    after = after[after < distinct.size - 1]
    return np.asarray(0.5 * distinct[after] + 0.5 * distinct[after + 1])


def _merge_one_sided(edges: Floats, score: Floats, positive: NDArray[np.bool_]) -> Floats:
    """Remove edges between bins that hold the same single class."""
    place = np.searchsorted(edges, score)
    holds = np.stack(
        [np.bincount(place[which], minlength=edges.size + 1) > 0 for which in (~positive, positive)]
    )
    one_class = holds.sum(axis=0) == 1
    same = (holds[:, 1:] == holds[:, :-1]).all(axis=0)
    return np.asarray(edges[~(one_class[1:] & one_class[:-1] & same)])


def empirical_log_odds(
    documents: BinaryScores, curve: Curve, level: float, bins: int | None = None
) -> xr.Dataset:
    """Return the log-odds of documents in bins of the score; see `binned_log_odds`."""
    kept = documents.weights > 0.0
    score, positive = documents.score[kept], documents.positive[kept]
    weight = documents.weights[kept]
    if bins is None:  # as many as the rarer class supports
        rarer = min(int(positive.sum()), int((~positive).sum()))
        bins = max(2, min(MOST_BINS, round(2.0 * math.sqrt(rarer))))
    edges = balanced_edges(score, positive, weight, bins) if score.size else np.empty(0)
    place = np.searchsorted(_merge_one_sided(edges, score, positive), score)
    found = binned_log_odds(place, BinaryScores(score, positive, weight), curve, level)
    names = {name: name if name in COUNTS else f"bin_{name}" for name in found}
    return xr.Dataset({names[name]: ("bin", values) for name, values in found.items()})


def curve_data(
    problem: FittedProblem,
    *,
    grid: ArrayLike | None = None,
    level: float = 0.9,
    band: str = "pointwise",
    bins: int | None = None,
    pos_label: Any = None,
) -> xr.Dataset:
    """Compute log-odds, their band, maximum-likelihood log-odds, and the documents.

    Parameters
    ----------
    problem : FittedProblem
        The problem to draw.
    grid : array-like, optional
        Raw scores; by default 400 over all scores and a little beyond.
    level : float
        Posterior probability of the band, and of the intervals of the bins.
    band : {"pointwise", "simultaneous"}
        A band for each score, or for the whole curve.
    bins : int, optional
        Number of bins of the documents; by default it grows with the rarer class.
    pos_label : optional
        The class of the probability; by default the positive one.
    """
    check_fraction(level=level)
    check_choice("band", band, EQUAL_TAILED)
    if bins is not None:
        check_count("bins", bins)
    calibration, documents, x = problem.calibration, problem.documents, problem.grid(grid)
    variables: dict[str, Any] = {"log_odds": ("score", calibration.log_odds(x, problem.point))}
    if problem.has_posterior:
        lower, upper = calibration.log_odds_interval(x, level, band).T
        variables |= {"lower": ("score", lower), "upper": ("score", upper)}
    if problem.has_mle:
        variables["mle"] = ("score", calibration.fits.log_odds(x))
    empirical = empirical_log_odds(documents, problem.log_odds, level, bins)
    empirical["bin_score"] = ("bin", problem.shown(empirical["bin_score"].values))
    shown = {
        "document_score": ("document", problem.shown(documents.score)),
        "label": ("document", documents.positive.astype(np.int64)),
        "weight": ("document", documents.weights),
    }
    attrs = problem.attrs | {"level": level, "band": band, "held_out": int(problem.held_out)}
    data = xr.Dataset(variables | shown, {"score": problem.shown(x)}, attrs).merge(empirical)
    return _turned(data) if turns(problem, pos_label) else data


def turns(problem: FittedProblem, pos_label: Any) -> bool:
    """Return True if `pos_label` is the negative class of a problem."""
    names = problem.labels.tolist()
    if pos_label is None or pos_label == names[1] or str(pos_label) == problem.name:
        return False
    if problem.name or pos_label != names[0]:
        own = repr(problem.name) if problem.name else f"{names[0]!r} or {names[1]!r}"
        raise ValueError(f"pos_label must be {own}, got {pos_label!r}.")
    return True


TURNED = {"lower": "upper", "bin_lower": "bin_upper", "negatives": "positives"}
OPPOSITE = ("log_odds", "lower", "upper", "mle", "bin_log_odds", "bin_lower", "bin_upper")


def _turned(data: xr.Dataset) -> xr.Dataset:
    """Return the data for the probability of the other class."""
    out = data.assign({name: -data[name] for name in OPPOSITE if name in data})
    swaps = TURNED | {high: low for low, high in TURNED.items()}
    out = out.rename({name: other for name, other in swaps.items() if name in data})
    negative, positive = data.attrs["negative_class"], data.attrs["positive_class"]
    attrs = data.attrs | {"negative_class": positive, "positive_class": negative}
    return out.assign(label=1 - data["label"]).assign_attrs(attrs)


def probability_data(
    problem: FittedProblem,
    *,
    grid: ArrayLike | None = None,
    level: float = 0.9,
    band: str = "pointwise",
    pos_label: Any = None,
) -> xr.Dataset:
    """Compute probabilities, their band, maximum-likelihood probabilities, and the documents.

    Parameters
    ----------
    problem, grid, level, band, pos_label
        As in `LogOddsDisplay.compute`.
    """
    data = curve_data(problem, grid=grid, level=level, band=band, pos_label=pos_label)
    data = data.drop_dims("bin").rename(log_odds="probability")
    curves = [name for name, curve in data.items() if curve.dims == ("score",)]
    return data.assign({name: ("score", probability(data[name].values)) for name in curves})


BAND_NAMES = {"pointwise": "band", "simultaneous": "band of the whole curve"}


class CurveDisplay(display.ProblemDisplay):
    """Base of displays of one curve over the scores."""

    compute: ClassVar[Callable[..., xr.Dataset]]
    _curve: ClassVar[str]  # the variable that holds the point estimate
    band_: PolyCollection | None
    line_: Line2D | None
    mle_line_: Line2D | None

    def _draw_curve(self, name: str | None, *, mle: bool) -> None:
        """Draw the band, the posterior's curve, and maximum likelihood, if they exist."""
        ax, data, (look, band_look) = self.ax_, self.data, self._looks()
        self.band_ = self.line_ = self.mle_line_ = None
        x, own = data["score"].values, f"{name}, " if name else ""
        if "lower" in data:
            label = f"{own}{self._level} {BAND_NAMES[data.attrs['band']]}"
            self.band_ = ax.fill_between(x, data["lower"], data["upper"], label=label, **band_look)
        if curve := data.attrs["curve"]:
            (self.line_,) = ax.plot(x, data[self._curve], label=f"{own}{curve}", **look)
        if "mle" in data and ((mle and not self.before_) or not curve):
            mle_look = look if self.before_ else display.MLE
            label = f"{own}maximum likelihood"
            (self.mle_line_,) = ax.plot(x, data["mle"], label=label, **mle_look)


TICK_GAP = 0.05  # between ticks of documents and the ends, 0 and 1, of probabilities
MARGIN = 0.06  # beyond curves and points, as a share of their range


class ProbabilityDisplay(CurveDisplay):
    """P(+ | score) of the posterior with its band, and of maximum likelihood.

    Parameters
    ----------
    data : xarray.Dataset
        probability, lower, upper, mle (score); document_score, label (document).

    Attributes
    ----------
    line_, mle_line_ : matplotlib.lines.Line2D or None
    band_ : matplotlib.collections.PolyCollection or None
    rugs_ : list of matplotlib.lines.Line2D
        Ticks of the negative and of the positive documents.

    Examples
    --------
    >>> from bayescal import ScoreCalibrator
    >>> scores, labels = [-3.0, -2.0, -1.0, 0.5, 1.0, 2.0], [0, 0, 0, 1, 0, 1]
    >>> calibrator = ScoreCalibrator(inference="mle").fit(scores, labels)
    >>> display = ProbabilityDisplay.from_estimator(calibrator)
    >>> display.ax_.get_ylabel()
    'P(1 | score)'
    """

    compute = staticmethod(probability_data)
    _curve = "probability"
    # Below the ticks of the positives and their text.
    _corner = (0.0, 0.87)

    def _draw(
        self, ax: Axes, *, name: str | None = None, mle: bool = True, ticks: bool = True
    ) -> None:
        """Draw the curves, and in axes without another display the documents.

        Parameters
        ----------
        name : str, optional
            Name of the model in the legend.
        mle : bool
            Draw the maximum-likelihood curve, unless there is another display.
        ticks : bool
            Mark positives above and negatives below the curves, unless there is another display.
        """
        self._draw_curve(name, mle=mle)
        self.rugs_ = self._draw_ticks(ax) if ticks and not self.before_ else []
        display.label_scores(ax, self.data, widen=bool(self.before_))
        ax.set_ylim(-0.1, 1.1)
        ax.set_ylabel(f"P({display.class_name(self.data)} | score)")

    def _draw_ticks(self, ax: Axes) -> list[Any]:
        """Draw ticks, with text beside them opposite the curve."""
        score, label = self.data["document_score"].values, self.data["label"].values
        sides = (
            ("negative_class", -TICK_GAP, 0.985, ("right", "bottom")),
            ("positive_class", 1.0 + TICK_GAP, 0.015, ("left", "top")),
        )
        artists = []
        for k, (name, height, across, align) in enumerate(sides):
            if count := int((label == k).sum()):
                artists.append(display.rug(ax, score[label == k], height))
                text = f"{count:,} score{'s' * (count > 1)} of class {self.data.attrs[name]}"
                display.note(ax, text, (across, height), align)
        return artists


class LogOddsDisplay(CurveDisplay):
    """Log-odds of the positive class: posterior with its band, maximum likelihood, and documents.

    Errors are more visible in log-odds than in probabilities. Documents are counted in bins of the
    score: median and Jeffreys' interval of their log-odds. A dot differs from the curve by as much
    as these differ from the log-odds of the curve's mean probability in the bin, so that dots of a
    right curve lie around it. Bins of one class have a half-open bar, with a triangle at its finite
    end.

    Parameters
    ----------
    data : xarray.Dataset
        log_odds, lower, upper, mle (score), bin_score, bin_log_odds, bin_lower, bin_upper (bin);
        natural logarithms.

    Attributes
    ----------
    line_, mle_line_ : matplotlib.lines.Line2D or None
    band_ : matplotlib.collections.PolyCollection or None
    bins_ : matplotlib.container.ErrorbarContainer or None
        Bins with documents of both classes.
    open_bins_ : list of artists
        Bins of one class.

    References
    ----------
    P. N. Bennett, Using asymmetric distributions to improve text classifier probability estimates,
    SIGIR 2003, figure 5.

    Examples
    --------
    >>> from bayescal import ScoreCalibrator
    >>> scores, labels = [-3.0, -2.0, -1.0, 0.5, 1.0, 2.0], [0, 0, 0, 1, 0, 1]
    >>> calibrator = ScoreCalibrator(inference="mle").fit(scores, labels)
    >>> display = LogOddsDisplay.from_estimator(calibrator)
    >>> display.ax_.get_ylabel()
    'log-odds of 1'
    """

    compute = staticmethod(curve_data)
    _curve = "log_odds"
    _legend = "lower right"

    def _draw(self, ax: Axes, *, name: str | None = None, mle: bool = True) -> None:
        """Draw the curves, and in axes without another display the documents.

        Parameters
        ----------
        name : str, optional
            Name of the model in the legend.
        mle : bool
            Draw the maximum-likelihood curve, unless there is another display.
        """
        self._draw_curve(name, mle=mle)
        ax.axhline(0.0, zorder=0, **display.REFERENCE)
        display.label_scores(ax, self.data, widen=bool(self.before_))
        ranges = [each._range() for each in (self, *self.before_)]
        low, high = min(each[0] for each in ranges), max(each[1] for each in ranges)
        ax.set_ylim(low, high)
        self.bins_: Any = None
        self.open_bins_: list[Any] = []
        if not self.before_:
            self._draw_bins(ax, low, high)
        ax.set_ylabel(f"log-odds of {display.class_name(self.data)}")

    def _range(self) -> tuple[float, float]:
        data = self.data
        inner = np.concatenate([data["log_odds"].values, data["bin_log_odds"].values])
        outer = [data[name].values for name in ("lower", "upper", "mle") if name in data]
        return display.with_reach(inner, np.concatenate([*outer, inner]), MARGIN)

    def _draw_bins(self, ax: Axes, low: float, high: float) -> None:
        x, value, lower, upper = (
            self.data[name].values
            for name in ("bin_score", "bin_log_odds", "bin_lower", "bin_upper")
        )
        closed = np.isfinite(lower) & np.isfinite(upper)
        whose = "held-out" if self.data.attrs["held_out"] else "fitted"
        if closed.any():
            bars = np.stack([value - lower, upper - value])[:, closed]
            label = f"{whose} documents, {self._level} interval"
            self.bins_ = ax.errorbar(x[closed], value[closed], bars, label=label, **display.DATA)
        self.open_bins_ = [
            *self._draw_open(ax, x, upper, np.isinf(lower) & np.isfinite(upper), low, "v"),
            *self._draw_open(ax, x, lower, np.isinf(upper) & np.isfinite(lower), high, "^"),
        ]

    @staticmethod
    def _draw_open(
        ax: Axes, x: Floats, end: Floats, which: Any, edge: float, marker: str
    ) -> list[Any]:
        if not which.any():
            return []
        bars = ax.vlines(x[which], end[which], edge, color=DATA_COLOUR, linewidth=0.9)
        points = ax.plot(
            x[which], end[which], marker, color=DATA_COLOUR, markersize=4.5, markerfacecolor="white"
        )
        return [bars, *points]

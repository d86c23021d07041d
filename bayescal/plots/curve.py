"""The curve of a calibrator over the scores: its data, documents in bins, and how it is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from bayescal.fitting.problems.problem import FittedProblem
from bayescal.fitting.results.calibration import EQUAL_TAILED
from bayescal.plots.display import MLE, ProblemDisplay
from bayescal.support.validation import Floats, check_choice, check_count, check_fraction

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.lines import Line2D

MOST_BINS = 15


def default_bins(positive: NDArray[np.bool_]) -> int:
    """Return the number of bins that the rarer class supports."""
    rarer = min(int(positive.sum()), int((~positive).sum()))
    return max(2, min(MOST_BINS, round(2.0 * math.sqrt(rarer))))


def balanced_edges(score: Floats, positive: NDArray[np.bool_], weight: Floats, bins: int) -> Floats:
    """
    Return inner edges between which lies the same share of the two classes, each counted as half.

    Bins of equally many documents would all lie among the negatives where positives are rare.
    """
    distinct, code = np.unique(score, return_inverse=True)
    share = np.zeros(distinct.size)
    for which in (positive, ~positive):
        if weight[which].sum() > 0.0:
            share += np.bincount(code[which], weight[which], distinct.size) / weight[which].sum()
    passed = np.cumsum(share) / share.sum()
    # The gap after the last score at which a share is not passed yet, up to rounding.
    wanted = np.arange(1, bins) / bins
    after = np.unique(np.searchsorted(passed, wanted - 1e-9))
    after = after[after < distinct.size - 1]
    middle: Floats = 0.5 * distinct[after] + 0.5 * distinct[after + 1]
    return middle


def _merge_one_sided(edges: Floats, score: Floats, positive: NDArray[np.bool_]) -> Floats:
    """Leave out the edges between bins that hold one class only, the same."""
    place = np.searchsorted(edges, score)
    holds = np.stack(
        [np.bincount(place[which], minlength=edges.size + 1) > 0 for which in (~positive, positive)]
    )
    one_class = holds.sum(axis=0) == 1
    same = (holds[:, 1:] == holds[:, :-1]).all(axis=0)
    kept: Floats = edges[~(one_class[1:] & one_class[:-1] & same)]
    return kept


def empirical_log_odds(
    score: Floats,
    positive: NDArray[np.bool_],
    weight: Floats,
    level: float,
    bins: int | None = None,
) -> xr.Dataset:
    """
    Return the log-odds of the positive class in bins of the score, with intervals.

        log((k + 1/2)/(m + 1/2)),    k positives and m negatives in a bin
    """
    kept = weight > 0.0
    score, positive, weight = score[kept], positive[kept], weight[kept]
    bins = default_bins(positive) if bins is None else bins
    edges = balanced_edges(score, positive, weight, bins) if score.size else np.empty(0)
    edges = _merge_one_sided(edges, score, positive)
    place = np.searchsorted(edges, score)
    total = np.bincount(place, weight, edges.size + 1)
    k = np.bincount(place[positive], weight[positive], edges.size + 1)
    m = np.bincount(place[~positive], weight[~positive], edges.size + 1)
    tail = 0.5 - level / 2.0
    lower = special.logit(stats.beta.ppf(tail, k + 0.5, m + 0.5))
    upper = -special.logit(stats.beta.ppf(tail, m + 0.5, k + 0.5))
    with np.errstate(invalid="ignore"):
        mean = np.bincount(place, weight * score, edges.size + 1) / total
    columns = {
        "bin_score": mean,
        "positives": k,
        "negatives": m,
        "bin_log_odds": np.log((k + 0.5) / (m + 0.5)),
        "bin_lower": np.where(k == 0.0, -np.inf, lower),
        "bin_upper": np.where(m == 0.0, np.inf, upper),
    }
    return xr.Dataset({name: ("bin", values) for name, values in columns.items()})


def curve_data(
    problem: FittedProblem,
    *,
    grid: ArrayLike | None = None,
    level: float = 0.9,
    band: str = "pointwise",
    bins: int | None = None,
    pos_label: Any = None,
) -> xr.Dataset:
    """
    Compute log-odds, their band, maximum-likelihood log-odds, and the documents.

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
        Number of bins of the documents; by default the more, the more the rarer class has.
    pos_label : optional
        The class whose probability to show; by default the positive one.

    Raises
    ------
    ValueError
        If an argument is not as described.
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
    empirical = empirical_log_odds(
        documents.score, documents.positive, documents.weight, level, bins
    )
    empirical["bin_score"] = ("bin", problem.shown(empirical["bin_score"].values))
    shown = {
        "document_score": ("document", problem.shown(documents.score)),
        "label": ("document", documents.positive.astype(np.int64)),
        "weight": ("document", documents.weight),
    }
    attrs = problem.attrs | {"level": level, "band": band, "held_out": int(documents.held_out)}
    data = xr.Dataset(variables | shown, {"score": problem.shown(x)}, attrs).merge(empirical)
    return _turned(data) if turns(problem, pos_label) else data


def turns(problem: FittedProblem, pos_label: Any) -> bool:
    """Return whether `pos_label` is the negative class of a problem."""
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
    """Return the same curves and documents for the probability of the other class."""
    out = data.assign({name: -data[name] for name in OPPOSITE if name in data})
    swaps = TURNED | {high: low for low, high in TURNED.items()}
    out = out.rename({name: other for name, other in swaps.items() if name in data})
    negative, positive = data.attrs["negative_class"], data.attrs["positive_class"]
    attrs = data.attrs | {"negative_class": positive, "positive_class": negative}
    return out.assign(label=1 - data["label"]).assign_attrs(attrs)


BAND_NAMES = {"pointwise": "band", "simultaneous": "band of the whole curve"}


class CurveDisplay(ProblemDisplay):
    """Base of the displays of one curve over the scores."""

    compute = staticmethod(curve_data)
    band_: PolyCollection | None
    line_: Line2D | None
    mle_line_: Line2D | None

    def _draw_curve(self, scale: Callable[[Any], Floats], name: str | None, *, mle: bool) -> None:
        """Draw the band and the posterior's curve, where they exist, and maximum likelihood."""
        ax, data, (look, band_look) = self.ax_, self.data, self._looks()
        self.band_ = self.line_ = self.mle_line_ = None
        x, own = data["score"].values, f"{name}, " if name else ""
        if "lower" in data:
            label = f"{own}{self._level} {BAND_NAMES[data.attrs['band']]}"
            lower, upper = scale(data["lower"].values), scale(data["upper"].values)
            self.band_ = ax.fill_between(x, lower, upper, label=label, **band_look)
        if curve := data.attrs["curve"]:
            values = scale(data["log_odds"].values)
            (self.line_,) = ax.plot(x, values, label=f"{own}{curve}", **look)
        if "mle" in data and ((mle and not self.before_) or not curve):
            mle_look = look if self.before_ else MLE
            label = f"{own}maximum likelihood"
            (self.mle_line_,) = ax.plot(x, scale(data["mle"].values), label=label, **mle_look)


def label_scores(ax: Axes, data: xr.Dataset, *, widen: bool = False) -> None:
    """Label the axis of the scores in their own units and end it where the curves end."""
    if data.attrs["scores_are"] == "probabilities":
        ax.set_xscale("logit")
        ax.xaxis.set_major_formatter("{x:.4g}")
        ax.xaxis.set_minor_formatter("")
    x = data["score"].values
    if x[0] < x[-1]:
        low, high = ax.get_xlim() if widen else (x[0], x[-1])
        ax.set_xlim(min(low, x[0]), max(high, x[-1]))
    ax.set_xlabel(data.attrs["score_name"])


def class_name(data: xr.Dataset | FittedProblem) -> str:
    """Return the event of P(+): the topic, or else the positive class."""
    return str(data.attrs.get("topic", data.attrs["positive_class"]))

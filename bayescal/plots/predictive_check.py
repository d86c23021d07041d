"""Checks of a model: replicates of its documents, and ranks of truths drawn from its prior."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xarray as xr

from bayescal.fitting.problems.problem import FittedProblem
from bayescal.fitting.program_check import ProgramCheck
from bayescal.fitting.scores import KLASS
from bayescal.inference.ranks import ecdf_difference, envelope
from bayescal.plots import display
from bayescal.support.numerics import probability
from bayescal.support.palette import CLASS_COLOURS, DATA_COLOUR, FAINT_COLOUR, POSTERIOR_COLOUR
from bayescal.support.validation import Floats, check_choice, check_count, check_fraction, generator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABELS, SCORES = "labels", "scores"
Replicates = tuple[Floats, tuple[str, ...], Floats, Floats]
# Scores for a draw's curve, which is almost straight between them.
NODES = 1000
CURVES = ("observed", "lower", "upper")


class PredictiveCheckDisplay(display.ProblemDisplay):
    """A cumulative curve of the documents over the curves of replicates drawn from the posterior.

    check="labels" keeps the scores and draws labels: the curve is the number of positives at or
    above each score. check="scores" draws scores of each class: the curve is the share of the class
    up to each score. Curves that leave the band show errors of the model; for documents that were
    fitted the band is too wide.

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
    >>> from bayescal import ScoreCalibrator
    >>> scores, labels = [-3.0, -2.0, -1.0, 0.5, 1.0, 2.0], [0, 0, 0, 1, 0, 1]
    >>> calibrator = ScoreCalibrator("gaussian", random_state=0).fit(scores, labels)
    >>> display = PredictiveCheckDisplay.from_estimator(calibrator)
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
        """Compute the curves of the documents and of the replicates.

        Parameters
        ----------
        problem : FittedProblem
            The problem to draw, with a posterior and documents; for check="scores" of a family
            with densities.
        check : {"labels", "scores"}
            Replicates of the labels or of the scores.
        level : float
            Share of the replicates within the band, at each score.
        draws : int
            Number of replicates.
        random_state : int, numpy Generator, RandomState or None
            Seeds the replicates.

        Raises
        ------
        ValueError
            If there is no posterior, no document, or no density for check="scores".
        """
        check_choice("check", check, (LABELS, SCORES))
        check_fraction(level=level)
        check_count("draws", draws)
        problem.check_one_curve("a predictive check")
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

    def _draw(self, ax: Axes, *, difference: bool = False) -> None:
        """Draw the curves of documents over the bands of replicates.

        Parameters
        ----------
        difference : bool
            Draw all curves less the median of the replicates, for the narrow bands of many
            documents.
        """
        data = self.data
        if difference:
            data = data.assign({name: data[name] - data["median"] for name in CURVES})
        labels = data.attrs["check"] == LABELS
        x, band = data["score"].values, f"{self._level} of replicates"
        self.lines_: list[Any] = []
        self.bands_: list[Any] = []
        for k, klass in enumerate(data["klass"].values.tolist()):
            one = data.sel(klass=klass)
            colour = POSTERIOR_COLOUR if labels else CLASS_COLOURS[k]
            name = "" if labels else f"class {data.attrs[f'{klass}_class']}, "
            look = display.BAND | {"color": colour, "alpha": 0.35}
            self.bands_.append(
                ax.fill_between(x, one["lower"], one["upper"], label=f"{name}{band}", **look)
            )
            line: display.Look = {
                "color": DATA_COLOUR,
                "linestyle": "-" if labels else display.CLASS_DASHES[k],
                "linewidth": 1.3,
            }
            self.lines_ += ax.plot(x, one["observed"].values, label=f"{name}documents", **line)
        display.label_scores(ax, data)
        if not difference:
            ax.set_ylim(0.0, None)
        positive = data.attrs["positive_class"]
        label = (
            f"documents of class {positive} at or above the score"
            if labels
            else "share of the class's scores up to the score"
        )
        ax.set_ylabel(f"{label},\nless the replicates' median" if difference else label)
        self._legend = "best" if difference else "lower left" if labels else "upper left"


def replicate_labels(problem: FittedProblem, draws: int, rng: np.random.Generator) -> Replicates:
    """Return positives at or above each score, of documents and of labels drawn by P_k(+ | s)."""
    documents, x = problem.documents, problem.grid()
    order = np.argsort(documents.score)[::-1]
    score, weight = documents.score[order], documents.weights[order]
    # Number of documents at or above each x.
    above = np.searchsorted(-score, -x, side="right")

    def counted(positive: Floats) -> Floats:
        running = np.zeros(score.size + 1)
        np.cumsum(positive * weight, out=running[1:])
        return running[above]

    observed = counted(documents.positive[order].astype(np.float64))
    distinct = np.unique(score)
    nodes = distinct[np.linspace(0, distinct.size - 1, min(NODES, distinct.size)).astype(np.intp)]
    curves = problem.sample(draws, rng).log_odds(nodes)
    replicates = np.empty((draws, x.size))
    for r in range(draws):
        chance = probability(np.interp(score, nodes, curves[r]))
        replicates[r] = counted((rng.random(score.size) < chance).astype(np.float64))
    return x, KLASS[1:], observed[None], replicates[None]


def replicate_scores(problem: FittedProblem, draws: int, rng: np.random.Generator) -> Replicates:
    """Return the share of each class up to each score, of documents and of replicates."""
    draws_of = problem.calibration.density_draws
    if draws_of is None or not problem.has_posterior:
        raise ValueError("replicates of scores need posterior draws: fit with inference='exact'.")
    x, names, observed, replicates = problem.grid(), [], [], []
    some = draws_of.take(rng.integers(draws_of.size, size=draws))
    for k, density in enumerate(some.both):
        score, weight = problem.documents.weighted(bool(k))
        if not weight.any():
            continue
        order = np.argsort(score)
        running = np.append(0.0, np.cumsum(weight[order]))
        names.append(KLASS[k])
        observed.append(running[np.searchsorted(score[order], x, side="right")] / running[-1])
        n = max(1, round(float(weight.sum() ** 2 / (weight**2).sum())))
        replicates.append(_counts(density.cdf(x), n, rng) / n)
    return x, tuple(names), np.stack(observed), np.stack(replicates)


def _counts(cdf: Floats, n: int, rng: np.random.Generator) -> Floats:
    """Return counts of scores up to each x, drawn from every draw's distribution function."""
    share = np.diff(cdf, axis=1, prepend=0.0, append=1.0)
    # Rounding may leave a difference of -1e-17, which a multinomial rejects.
    share = np.maximum(share, 0.0)
    counts: Floats = rng.multinomial(n, share / share.sum(axis=1, keepdims=True)).cumsum(axis=1)
    return counts[:, :-1].astype(np.float64)


class RankDisplay(display.Display):
    """Ranks of the truth in a simulation-based calibration, against uniform ones.

    A step for each quantity shows how much larger the share of ranks up to some rank is than it
    would be if they were uniform. Right programs stay within the band, which holds all steps with
    probability `level`. A step that rises first has draws that lie too often above the truth; one
    that rises at both ends has draws that are too narrow.

    Parameters
    ----------
    data : xarray.Dataset
        difference (quantity, rank); lower, upper (rank); p_value (quantity).

    Attributes
    ----------
    lines_ : list of matplotlib.lines.Line2D
        A step for each quantity; the least uniform one last and in colour.
    band_ : matplotlib.collections.PolyCollection

    References
    ----------
    T. Säilynoja, P.-C. Bürkner and A. Vehtari, Statistics and Computing 32 (2022).

    Examples
    --------
    >>> import pandas as pd
    >>> from bayescal.fitting.program_check import ProgramCheck
    >>> ranks = pd.DataFrame({"slope": [0, 3, 1, 2]})
    >>> check = ProgramCheck(ranks, 3, 20, prior_predictive=pd.DataFrame(), difference=0.0)
    >>> display = RankDisplay.from_check(check)
    >>> display.data["difference"].values.tolist()
    [[0.0, 0.0, 0.0, 0.0]]
    """

    _legend = "lower left"
    _corner = (0.0, 1.0)  # above the axes: steps may reach all of their corners

    @classmethod
    def from_check(cls, check: ProgramCheck, **options: Any) -> Self:
        """Compute and plot.

        Parameters
        ----------
        check : ProgramCheck
            The result of `check_program`.
        **options
            Arguments of `compute` and `plot`.
        """
        return cls._made(check, **options)

    @staticmethod
    def compute(check: ProgramCheck, *, level: float = 0.99) -> xr.Dataset:
        """Compute the steps and their band.

        Parameters
        ----------
        check : ProgramCheck
            The result of `check_program`.
        level : float
            Probability that uniform ranks of all quantities stay within the band, at least.
        """
        check_fraction(level=level)
        names = list(check.ranks.columns)
        ranks = [check.ranks[name].to_numpy() for name in names]
        steps = [ecdf_difference(each, check.draws) for each in ranks]
        lower, upper = envelope(len(ranks[0]), check.draws, (1.0 - level) / len(names))
        return xr.Dataset(
            {
                "difference": (("quantity", "rank"), np.stack([each for _, each in steps])),
                "lower": ("rank", lower),
                "upper": ("rank", upper),
                "p_value": ("quantity", check.quantities["p_value"].to_numpy()),
            },
            {"quantity": names, "rank": steps[0][0]},
            {"level": level},
        )

    def _draw(self, ax: Axes) -> None:
        data = self.data.isel(quantity=np.argsort(-self.data["p_value"].values, kind="stable"))
        rank = data["rank"].values
        self.band_ = ax.fill_between(
            rank,
            data["lower"],
            data["upper"],
            step="post",
            label=f"{self._level} band",
            **display.GREY_BAND,
        )
        last = data.sizes["quantity"] - 1
        self.lines_ = []
        for k, name in enumerate(data["quantity"].values.tolist()):
            look = {"color": FAINT_COLOUR, "linewidth": 0.8}
            if k == last:
                p = f"{name} (p = {float(data['p_value'][k]):.2g})"
                look = {"color": POSTERIOR_COLOUR, "linewidth": 1.8, "label": p}
            step = data["difference"].isel(quantity=k).values
            self.lines_ += ax.step(rank, step, where="post", **look)
        ax.axhline(0.0, **display.REFERENCE)
        ax.set_xlim(0.0, 1.0)
        ax.set_xlabel("rank of the truth among the draws, as a share")
        ax.set_ylabel("share of data sets, minus uniform")

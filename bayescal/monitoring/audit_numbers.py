"""Numbers of an audit: changes, losses and AUC; error and net benefit from drawn curves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from bayescal.decisions.expected_cost import as_costs
from bayescal.fitting.curves.curves import simultaneous_tail
from bayescal.fitting.engines.sites import draw_sites
from bayescal.metrics import changes, inputs
from bayescal.metrics.changes import FULL, ChangePosterior, LogOddsCells
from bayescal.metrics.reliability import decomposition_of
from bayescal.metrics.scores import losses_of
from bayescal.support import validation, weighting
from bayescal.support.intervals import Interval, tails
from bayescal.support.numerics import probability
from bayescal.support.validation import Floats

THRESHOLDS = np.linspace(0.01, 0.99, 99)
POINTS = 101  # of the calibration curve, evenly spaced in log-odds
TINY = 1e-12  # least distance of an AUC from 0 and 1 in its interval
RIGHT = np.array([0.0, 1.0])  # shift and slope without a change
WIDE = np.array([3.0, 1.5])  # vague prior of the reported shift and slope, standard deviations


@dataclass(frozen=True)
class Decision:
    """A threshold, and the extra cost of a false negative over a true positive."""

    threshold: float
    stake: float | None = None

    @property
    def odds(self) -> float:
        """Return t / (1 - t), the cost of a false positive in true positives."""
        return self.threshold / (1.0 - self.threshold)


def read_decision(threshold: float | None, costs: ArrayLike | None) -> Decision | None:
    """Return the decision with a threshold or costs."""
    if costs is None:
        if threshold is None:
            return None
        validation.check_fraction(threshold=threshold)
        return Decision(float(threshold))
    if threshold is not None:
        raise ValueError("give threshold or costs, not both: costs imply the threshold.")
    matrix = as_costs(costs, 1, 2)[0]
    if matrix.shape != (2, 2):
        raise ValueError(f"costs must have shape (2, 2), got {matrix.shape}.")
    stake, harm = float(matrix[0, 1] - matrix[1, 1]), float(matrix[1, 0] - matrix[0, 0])
    if stake <= 0.0 or harm <= 0.0:
        raise ValueError("costs of both wrong decisions must be above those of the right ones.")
    return Decision(harm / (harm + stake), stake)


@dataclass(frozen=True)
class AuditCurves:
    """True probabilities of cells of documents by posterior draws, sorted by stated ones."""

    given: Floats  # (cells,): stated probabilities
    recalibrated: Floats  # (cells,): by the average of the models
    share: Floats  # (cells,): share of the documents
    true: Floats  # (draws, cells): by the full model
    averaged: Floats  # (draws, cells): by the average of the models
    weight: Floats  # (draws, cells): shares of other documents like these (Bayesian bootstrap)

    @classmethod
    def of(
        cls, posterior: ChangePosterior, cells: LogOddsCells, draws: int, rng: np.random.Generator
    ) -> AuditCurves:
        """Draw curves from both posteriors."""
        log_odds = cells.log_odds
        features = posterior.frame.features(log_odds)

        def curves(own: ChangePosterior) -> Floats:
            moved = own.draw(draws, rng) @ features.T
            moved += log_odds
            return probability(moved, out=moved)

        weight = rng.standard_gamma(cells.weight, (draws, log_odds.size))
        total = weight.sum(axis=1, keepdims=True)
        weight /= np.where(total > 0.0, total, 1.0)
        return cls(
            probability(log_odds),
            posterior.predict(log_odds),
            cells.weight / cells.weight.sum(),
            curves(posterior.alone(FULL)),
            curves(posterior),
            weight,
        )

    def benefit(self, treated: NDArray[np.bool_], odds: float) -> Floats:
        """Return draws of the net benefit of treating some cells, (draws,)."""
        w, c = self.weight[:, treated], self.true[:, treated]
        return np.asarray((w * (c - (1.0 - c) * odds)).sum(axis=1))


def counted_benefits(
    outcomes: inputs.Forecasts, cost: Decision, level: float, draws: int, rng: np.random.Generator
) -> dict[str, Interval]:
    """Return net benefit at the threshold from counted outcomes, with a Bayesian bootstrap."""
    treated, truth = outcomes.p >= cost.threshold, outcomes.truth
    # True and false positives, false and true negatives.
    cells = np.stack([treated & truth, treated & ~truth, ~treated & truth, ~treated & ~truth])
    counts = cells @ effective_counts(outcomes)
    # Jeffreys' prior: a cell without a document may have some among others.
    drawn = rng.standard_gamma(counts + 0.5, (draws, counts.size))
    drawn /= drawn.sum(axis=1, keepdims=True)
    worth = {
        "net benefit": [1.0, -cost.odds, 0.0, 0.0],
        "net benefit of treating all": [1.0, -cost.odds, 1.0, -cost.odds],
        "net benefit over treating all": [0.0, 0.0, -1.0, cost.odds],
    }
    share = counts / counts.sum()
    return {
        # Counts that cancel leave rounding errors, of either sign, which are no benefit.
        name: Interval.of_draws(drawn @ each, level, round(float(share @ each), 15) + 0.0)
        for name, each in worth.items()
    }


def benefits_at(drawn: AuditCurves, cost: Decision, level: float) -> dict[str, Interval]:
    """Return net benefit at the threshold by the curve, and the saving by recalibrating."""
    everyone = np.ones(drawn.given.size, dtype=bool)
    treated = drawn.given >= cost.threshold, drawn.recalibrated >= cost.threshold, everyone
    as_is, again, treat_all = (drawn.benefit(each, cost.odds) for each in treated)
    stake = 1.0 if cost.stake is None else cost.stake
    draws = {
        "smoothed net benefit": as_is,
        "smoothed net benefit of treating all": treat_all,
        "smoothed net benefit over treating all": as_is - treat_all,
        "smoothed net benefit, recalibrated": again,
        "saving by recalibrating": stake * (again - as_is),
    }
    numbers = {name: Interval.of_draws(each, level) for name, each in draws.items()}
    if cost.stake is not None:
        numbers["cost of a false negative"] = Interval(cost.stake)
    return numbers


def net_benefit(
    drawn: AuditCurves, outcomes: inputs.Forecasts, threshold: float | None, level: float
) -> xr.Dataset:
    """Return net benefit by threshold of the three strategies, by the curve and counted."""
    asked = [] if threshold is None else [threshold]
    thresholds = np.unique(np.concatenate([THRESHOLDS, asked]))
    strategies = {}
    for name, p in (("as is", drawn.given), ("recalibrated", drawn.recalibrated)):
        order = np.argsort(p, kind="stable")
        gain = np.cumsum((drawn.weight * drawn.true)[:, order], axis=1)
        treated = np.cumsum(drawn.weight[:, order], axis=1)
        first = np.searchsorted(p[order], thresholds)
        strategies[name] = _above(gain, treated, first, thresholds)
    strategies["all"] = _above(gain, treated, np.zeros(thresholds.size, np.intp), thresholds)
    values = np.stack(list(strategies.values()))
    lower, upper = np.quantile(values, tails(level), axis=1)
    order = np.argsort(outcomes.p, kind="stable")
    share = (outcomes.counts / outcomes.counts.sum())[order]
    sums = np.cumsum(share * outcomes.truth[order])[None], np.cumsum(share)[None]
    first = np.searchsorted(outcomes.p[order], thresholds)
    counted = np.full(lower.shape, math.nan)
    counted[0], counted[2] = (_above(*sums, each, thresholds)[0] for each in (first, 0 * first))
    dims = ("strategy", "threshold")
    return xr.Dataset(
        {
            "mean": (dims, values.mean(axis=1)),
            "lower": (dims, lower),
            "upper": (dims, upper),
            "counted": (dims, counted),
        },
        {"strategy": list(strategies), "threshold": thresholds},
        {"asked": math.nan if threshold is None else threshold, "level": level},
    )


def _above(gain: Floats, treated: Floats, first: NDArray[np.intp], thresholds: Floats) -> Floats:
    """Return net benefit of treating the cells from `first` on, (draws, thresholds)."""
    below = np.maximum(first - 1, 0)
    positives, all_of_them = (
        each[:, -1:] - np.where(first > 0, each[:, below], 0.0) for each in (gain, treated)
    )
    odds = thresholds / (1.0 - thresholds)
    return np.asarray(positives - (all_of_them - positives) * odds)


def error_sizes(drawn: AuditCurves, level: float) -> dict[str, Interval]:
    """Return posterior medians of mean, median, 90 % and maximum of errors over documents."""
    error = np.abs(drawn.averaged - drawn.given)
    order = np.argsort(error, axis=1)
    ranked = np.take_along_axis(error, order, axis=1)
    reached = np.cumsum(drawn.share[order], axis=1)
    # The first cell at which a share of the documents is reached, up to rounding.
    quantiles = {
        name: ranked[np.arange(len(ranked)), (reached < share - 1e-12).sum(axis=1)]
        for name, share in (("median error (E50)", 0.5), ("90th percentile error (E90)", 0.9))
    }
    draws = {"mean error (ICI)": error @ drawn.share, **quantiles, "largest error": ranked[:, -1]}
    return {
        name: Interval.of_draws(each, level, float(np.median(each))) for name, each in draws.items()
    }


def effective_counts(outcomes: inputs.Forecasts) -> Floats:
    """Return each document's count; sampling weights and clusters' to the effective size."""
    counts = outcomes.counts
    if outcomes.sampled:
        counts = weighting.scaled_to_effective_size(counts)
    return counts / outcomes.factor


def changes_of(
    outcomes: inputs.Forecasts,
    posterior: ChangePosterior,
    level: float,
    draws: int,
    rng: np.random.Generator,
) -> dict[str, Interval]:
    """Return observed over expected, calibration in the large, intercept and slope."""
    counts = outcomes.counts
    size = float(effective_counts(outcomes).sum())
    rate = float(np.average(outcomes.truth, weights=counts))
    expected = float(np.average(outcomes.p, weights=counts))
    # Jeffreys' interval of the rate; with one class it ends at the rate (Brown, Cai and DasGupta,
    # Statistical Science 2001).
    ends = special.betaincinv(size * rate + 0.5, size * (1.0 - rate) + 0.5, tails(level))
    ends = np.where([rate > 0.0, rate < 1.0], ends, rate)
    ratio = Interval(math.nan)
    if expected > changes.LEAST_PROBABILITY:
        lower, upper = (ends / expected).tolist()
        ratio = Interval(rate / expected, lower, upper, level)
    cells = LogOddsCells.of(
        changes.clipped_log_odds(outcomes.p), outcomes.truth, outcomes.effective
    )
    frame = posterior.frame
    precision = np.diag(WIDE**-2.0)

    def fitted(free: int) -> Floats:
        fit = changes.fit_regression(
            frame.linear(cells.log_odds)[:, :free],
            cells.log_odds,
            cells,
            np.zeros(free),
            precision[:free, :free],
        )
        return fit.draw(draws, rng)

    in_the_large, line = fitted(1)[:, 0], fitted(2)
    numbers = {
        "observed / expected": ratio,
        "calibration in the large": Interval.of_draws(in_the_large, level),
    }
    if np.ptp(outcomes.p) == 0.0:
        undefined = Interval(math.nan)
        return numbers | {"intercept": undefined, "slope": undefined}
    return numbers | {
        "intercept": Interval.of_draws(line[:, 0] - line[:, 1] * frame.pivot, level),
        "slope": Interval.of_draws(1.0 + line[:, 1], level),
    }


def _mean_loss(y_true: Any, y_prob: Any, *, sample_weight: Any = None, loss: str = "log") -> float:
    return float(np.average(losses_of(y_true, y_prob, loss), weights=sample_weight))


def losses_with_parts(outcomes: inputs.Forecasts, level: float) -> dict[str, Interval]:
    """Return Brier score and log-loss in bits, with intervals, and their parts."""
    z = float(special.ndtri(0.5 + level / 2.0))
    share = outcomes.counts / outcomes.counts.sum()
    size = float(effective_counts(outcomes).sum())
    numbers = {}
    # Clipped as in log_loss and the curve, so that a certain error does not hide the others.
    p = special.expit(changes.clipped_log_odds(outcomes.p))
    for name, loss in (("Brier score", "brier"), ("log-loss in bits", "log")):
        each = losses_of(outcomes.truth, p, loss)
        mean = float(share @ each)
        half = z * math.sqrt(float(share @ (each - mean) ** 2) / size)
        parts = decomposition_of(outcomes._replace(p=p), partial(_mean_loss, loss=loss))
        # Losses of one class do not show how much the other would lose.
        both = 0.0 < float(share @ outcomes.truth) < 1.0
        ends = (max(mean - half, 0.0), mean + half, level) if both else ()
        numbers[name] = Interval(mean, *ends)
        for part in ("miscalibration", "discrimination", "uncertainty"):
            numbers[f"{name}: {part}"] = Interval(getattr(parts, part))
    return numbers


def rank_dependence(auc: float) -> float:
    """Return the mean variance of DeLong's placements over auc (1 - auc), by Newcombe's formula."""
    return 0.5 * ((1.0 - auc) / (2.0 - auc) + auc / (1.0 + auc))


def auc_of(outcomes: inputs.Forecasts, level: float) -> Interval:
    """Return the AUC, nan with one class, with Newcombe's interval, or as wide as DeLong's."""
    counts = outcomes.counts
    values, code = np.unique(outcomes.p, return_inverse=True)
    plus, minus = (
        np.bincount(code, counts * side, values.size) for side in (outcomes.truth, ~outcomes.truth)
    )
    if not (plus.sum() > 0.0 and minus.sum() > 0.0):
        return Interval(math.nan)
    # Shares of the other class below (ties count half), by value: DeLong's placements.
    below = (np.cumsum(minus) - 0.5 * minus) / minus.sum()
    above = 1.0 - (np.cumsum(plus) - 0.5 * plus) / plus.sum()
    auc = float(plus @ below / plus.sum())
    sizes, variance = [], 0.0
    for own, placement, mine in (
        (plus, below, counts[outcomes.truth]),
        (minus, above, counts[~outcomes.truth]),
    ):
        size = weighting.effective_size(mine) if outcomes.sampled else float(own.sum())
        sizes.append(max(size / outcomes.factor, 1.0))
        variance += float(own @ (placement - auc) ** 2 / own.sum()) / max(sizes[-1] - 1.0, 1.0)

    # Near 1 DeLong's variance is too small; where positives are of two kinds, Newcombe's is.
    def newcombe(at: float) -> float:
        dependence = 1.0 + (sum(sizes) - 2.0) * rank_dependence(at)
        return at * (1.0 - at) * dependence / math.prod(sizes)

    inner = min(max(auc, TINY), 1.0 - TINY)
    scale = float(special.ndtri(0.5 + level / 2.0)) ** 2 * max(1.0, variance / newcombe(inner))
    lower, upper = (
        optimize.brentq(lambda at: (at - inner) ** 2 - scale * newcombe(at), end, inner)
        for end in (0.0, 1.0)
    )
    return Interval(auc, lower, upper, level)


def curve_of(
    posterior: ChangePosterior, log_odds: Floats, level: float, draws: int, rng: np.random.Generator
) -> xr.Dataset:
    """Return the calibration curve with both bands, by the full model."""
    low, high = float(log_odds.min()), float(log_odds.max())
    at = np.linspace(low, high, POINTS) if high > low else np.array([low])
    drawn = posterior.alone(FULL).draw(draws, rng) @ posterior.frame.features(at).T + at
    curves = probability(drawn)
    tail = 0.5 - level / 2.0
    kinds = {"pointwise": tail, "simultaneous": simultaneous_tail(curves, level)}
    ends = np.stack([np.quantile(curves, [t, 1.0 - t], axis=0) for t in kinds.values()])
    dims = ("kind", "probability")
    return xr.Dataset(
        {
            "mean": ("probability", curves.mean(axis=0)),
            "lower": (dims, ends[:, 0]),
            "upper": (dims, ends[:, 1]),
        },
        {"probability": special.expit(at), "kind": list(kinds)},
        {"level": level},
    )


def sites_of(
    outcomes: inputs.Forecasts,
    names: NDArray[Any],
    code: NDArray[np.intp],
    frame: changes.LogOddsFrame,
    level: float,
    draws: int,
    rng: np.random.Generator,
) -> xr.Dataset:
    """Return shift and slope of each site and of a new one, and their spread between sites."""
    log_odds = changes.clipped_log_odds(outcomes.p)
    weight, counts = outcomes.effective, outcomes.counts
    cells = [
        LogOddsCells.of(log_odds[code == j], outcomes.truth[code == j], weight[code == j])
        for j in range(names.size)
    ]
    drawn = draw_sites(cells, frame, draws, rng)
    variables: dict[str, Any] = {}
    for prefix, values, dims in (
        ("", drawn.own + RIGHT, ("number", "site")),
        ("new_", drawn.new + RIGHT, ("number",)),
        ("between", drawn.between, ("number",)),
    ):
        lower, upper = np.quantile(values, tails(level), axis=-2)
        joint = "_" if prefix == "between" else ""
        mean = "between" if prefix == "between" else f"{prefix}mean"
        variables[mean] = (dims, values.mean(axis=-2).T)
        variables[f"{prefix}{joint}lower"] = (dims, lower.T)
        variables[f"{prefix}{joint}upper"] = (dims, upper.T)
    for name, values in (
        ("documents", counts),
        ("observed", counts * outcomes.truth),
        ("expected", counts * outcomes.p),
    ):
        variables[name] = ("site", np.bincount(code, values, names.size))
    return xr.Dataset(variables, {"number": ["shift", "slope"], "site": names}, {"level": level})

"""Draws of the true probabilities of documents, and what they say of error and net benefit."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.metrics.changes import FULL, ChangePosterior, LogOddsCells
from bayescal.support.numerics import probability
from bayescal.support.validation import Floats

THRESHOLDS = np.linspace(0.01, 0.99, 99)


@dataclass(frozen=True)
class AuditNumber:
    """A number of an audit, with its posterior interval, or nan without one."""

    value: float
    lower: float = math.nan
    upper: float = math.nan

    @classmethod
    def of_draws(cls, draws: Floats, level: float, *, median: bool = False) -> AuditNumber:
        """Return the mean of draws, or their median, and their equal-tailed interval."""
        tails = [0.5 - level / 2.0, 0.5, 0.5 + level / 2.0]
        lower, middle, upper = np.quantile(draws, tails).tolist()
        return cls(middle if median else float(draws.mean()), lower, upper)


@dataclass(frozen=True)
class Decision:
    """A threshold, and the cost of a false negative beyond that of a true positive."""

    threshold: float
    stake: float | None = None

    @property
    def odds(self) -> float:
        """Return t / (1 - t): what a false positive costs in true positives."""
        return self.threshold / (1.0 - self.threshold)


# Draws of the true probabilities of all documents, and of weights of documents like them.


@dataclass(frozen=True)
class AuditCurves:
    """True probabilities of cells of documents by posterior draws, sorted by given ones."""

    given: Floats  # (cells,): probabilities as given
    recalibrated: Floats  # (cells,): by the average of the models
    share: Floats  # (cells,): share of the documents
    true: Floats  # (draws, cells): by the model in which all is free
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
        benefit: Floats = (w * (c - (1.0 - c) * odds)).sum(axis=1)
        return benefit


def benefits_at(drawn: AuditCurves, cost: Decision, level: float) -> dict[str, AuditNumber]:
    """Return the net benefit at the threshold, and what recalibrating would save."""
    everyone = np.ones(drawn.given.size, dtype=bool)
    as_is, again, treat_all = (
        drawn.benefit(treated, cost.odds)
        for treated in (
            drawn.given >= cost.threshold,
            drawn.recalibrated >= cost.threshold,
            everyone,
        )
    )
    stake = 1.0 if cost.stake is None else cost.stake
    draws = {
        "net benefit": as_is,
        "net benefit of treating all": treat_all,
        "net benefit over treating all": as_is - treat_all,
        "net benefit, recalibrated": again,
        "saving by recalibrating": stake * (again - as_is),
    }
    numbers = {name: AuditNumber.of_draws(each, level) for name, each in draws.items()}
    if cost.stake is not None:
        numbers["cost of a false negative"] = AuditNumber(cost.stake)
    return numbers


def net_benefit(drawn: AuditCurves, threshold: float | None, level: float) -> xr.Dataset:
    """Return net benefit by threshold of the three strategies."""
    asked = [] if threshold is None else [threshold]
    thresholds = np.unique(np.concatenate([THRESHOLDS, asked]))
    gain = np.cumsum(drawn.weight * drawn.true, axis=1)
    treated = np.cumsum(drawn.weight, axis=1)
    strategies = {}
    order = np.argsort(drawn.recalibrated, kind="stable")
    for name, ranked, rows in (
        ("as is", drawn.given, slice(None)),
        ("recalibrated", drawn.recalibrated[order], order),
    ):
        if name == "recalibrated":
            gain = np.cumsum((drawn.weight * drawn.true)[:, rows], axis=1)
            treated = np.cumsum(drawn.weight[:, rows], axis=1)
        first = np.searchsorted(ranked, thresholds)
        strategies[name] = _above(gain, treated, first, thresholds)
    strategies["all"] = _above(gain, treated, np.zeros(thresholds.size, np.intp), thresholds)
    tails = [0.5 - level / 2.0, 0.5 + level / 2.0]
    values = np.stack(list(strategies.values()))
    lower, upper = np.quantile(values, tails, axis=1)
    dims = ("strategy", "threshold")
    return xr.Dataset(
        {"mean": (dims, values.mean(axis=1)), "lower": (dims, lower), "upper": (dims, upper)},
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
    benefit: Floats = positives - (all_of_them - positives) * odds
    return benefit


# Numbers of the curves.


def error_sizes(drawn: AuditCurves, level: float) -> dict[str, AuditNumber]:
    """
    Return mean, median, 90th percentile and maximum of |true - given| over documents.

    Their values are posterior medians, which are 0 where most of the posterior says so.
    """
    error = np.abs(drawn.averaged - drawn.given)
    order = np.argsort(error, axis=1)
    ranked = np.take_along_axis(error, order, axis=1)
    reached = np.cumsum(drawn.share[order], axis=1)
    # The first cell with which a share of the documents is reached, but for rounding.
    quantiles = {
        name: ranked[np.arange(len(ranked)), (reached < share - 1e-12).sum(axis=1)]
        for name, share in (("median error (E50)", 0.5), ("90th percentile error (E90)", 0.9))
    }
    draws = {"mean error (ICI)": error @ drawn.share, **quantiles, "largest error": ranked[:, -1]}
    return {name: AuditNumber.of_draws(each, level, median=True) for name, each in draws.items()}

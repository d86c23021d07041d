"""What a report shows: one problem or topic, whichever calibrator it comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy import special

from bayescal.bayes import class_prior
from bayescal.bayes import log_odds as bayes_log_odds
from bayescal.engines.data import KLASS
from bayescal.engines.parts import COMBINATION
from bayescal.families import FAMILIES, Family
from bayescal.report.labelled import Labelled
from bayescal.results.calibration import read_calibration
from bayescal.results.class_draws import ClassDraws
from bayescal.results.combined_draws import CombinedDraws
from bayescal.results.curves import Curves
from bayescal.results.densities import SIDES
from bayescal.results.diagnostics import Diagnostics, problems_by_topic
from bayescal.results.summaries import parameter_table, topic_table
from bayescal.results.topic_parts import combination_table, read_topic
from bayescal.results.topics import (
    read_curve,
    read_scale,
)
from bayescal.score_calibrator import ScoreCalibrator
from bayescal.topic_calibrator import TopicCalibrator
from bayescal.validation import Floats

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

OF_CHAINS = ("rhat", "ess_bulk", "divergences", "draws")
OF_PROPOSALS = ("efficiency", "pareto_k")


class Point(Protocol):
    """The point estimate of a curve, for the prior of the scores fitted or for another one."""

    def __call__(self, scores: Floats, prior: float | None) -> Floats:
        """Return natural log-odds at raw scores."""
        ...


@dataclass(frozen=True)
class Subject:
    """
    One problem.

    Attributes
    ----------
    name : str
        The topic; empty for a problem without topics.
    counts : tuple of float
        Negatives and positives fitted.
    scale : tuple of float
        Robust centre and spread of the scores fitted.
    fitted : Labelled or None
        The scores fitted, where they are known.
    point : Point
        The point estimate of the log-odds.
    prior : float or None
        P(+) behind the point estimate, where another prior only moves its log-odds; None where it
        changes their shape too.
    draws : Curves or None
        Posterior draws of the log-odds; None without a posterior.
    mle : callable or None
        Log-odds by maximum likelihood; None where a class has no document.
    densities : ClassDraws or None
        Posterior draws of class densities, where the model has them.
    mle_densities : callable or None
        Log densities of both classes by maximum likelihood.
    problems : tuple of str
        What is wrong, and what to do.
    diagnostics : dict
        Numbers behind them.
    parameters : DataFrame
        Maximum likelihood beside the posterior; rows (class, parameter).
    parts : DataFrame or None
        Weights of a combination's parts.
    """

    name: str
    counts: tuple[float, float]
    scale: tuple[float, float]
    fitted: Labelled | None
    point: Point
    prior: float | None
    draws: Curves | None
    mle: Callable[[Floats], Floats] | None
    densities: ClassDraws | None
    mle_densities: Callable[[Floats], tuple[Floats, Floats]] | None
    problems: tuple[str, ...]
    diagnostics: dict[str, Any]
    parameters: pd.DataFrame
    parts: pd.DataFrame | None


def subject_of(calibrator: ScoreCalibrator, name: str, level: float) -> Subject:
    """Return the one problem of a fitted `ScoreCalibrator`."""
    tree = calibrator.results_
    read = read_calibration(tree)
    # The scores that the tree holds are log-odds already where the user's were probabilities.
    if read.scores_are == "probabilities":
        read = replace(read, scores_are="log_odds")
    observed, constants = (tree[name].to_dataset() for name in ("observed_data", "constant_data"))
    fitted = Labelled(
        observed["score"].values, observed["label"].values == 1, constants["weight"].values
    )
    has_posterior = "posterior" in tree
    found = calibrator.diagnostics_
    densities = read.draws.densities if isinstance(read.draws, CombinedDraws) else read.draws
    return Subject(
        name=name,
        counts=(fitted.count(False), fitted.count(True)),
        scale=(read.centre, read.spread),
        fitted=fitted,
        point=lambda scores, prior: read.with_prior(prior).log_odds(scores, calibrator._point),
        prior=None,
        draws=read.draws if has_posterior else None,
        mle=read.fits.log_odds,
        densities=densities if isinstance(densities, ClassDraws) else None,
        mle_densities=read.fits.log_densities,
        problems=(*calibrator._problems, *_guarded(calibrator)),
        diagnostics=_numbers_of(found),
        parameters=parameter_table(tree, calibrator.classes_, level),
        parts=calibrator.combination_ if COMBINATION in tree else None,
    )


def _numbers_of(found: Diagnostics | None) -> dict[str, Any]:
    if found is None:
        return {}
    if found.efficiency is None:
        return {name: getattr(found, name) for name in OF_CHAINS}
    # An effective sample size of independent draws is their number, estimated with noise.
    return {
        "independent_draws": found.draws,
        **{name: getattr(found, name) for name in OF_PROPOSALS},
    }


def subjects_of(
    calibrator: TopicCalibrator, fitted: dict[Any, Labelled] | None, level: float
) -> Iterator[Subject]:
    """Yield the topics of a fitted `TopicCalibrator`, one at a time."""
    tree, families = calibrator.posterior_, tuple(FAMILIES[each] for each in calibrator.families_)
    topics = tree["topics"].to_dataset()
    table = topic_table(tree, calibrator.classes_, level)
    tables = dict(iter(table.groupby(level="topic", sort=False)))
    shared = _numbers_of(calibrator.diagnostics_)
    problems = problems_by_topic(tree, families)
    for k, name in enumerate(calibrator.topics_.tolist()):
        curve, densities, parts = _of_topic(tree, families[0], k)
        counts = topics["documents"].transpose("topic", "klass").values[k]
        apart = _Apart.read(topics.isel(topic=k), families[0], counts)
        efficiency = topics["efficiency"].transpose("topic", "klass").values[k]
        yield Subject(
            name=str(name),
            counts=(float(counts[0]), float(counts[1])),
            scale=read_scale(tree),
            fitted=None if fitted is None else fitted.get(name),
            point=_pooled_point(curve),
            prior=float(densities.prior.mean()),
            draws=curve,
            mle=None if apart is None else apart.log_odds,
            densities=densities,
            mle_densities=None if apart is None else apart.log_densities,
            problems=(
                *calibrator.score_problems_,
                *([calibrator.flagged_[name]] if name in calibrator.flagged_ else []),
                *problems[k],
            ),
            diagnostics={**shared, "efficiency": float(np.nanmin(efficiency))}
            if np.isfinite(efficiency).any()
            else shared,
            parameters=tables[name].droplevel("topic"),
            parts=parts,
        )


def _of_topic(
    tree: xr.DataTree, family: Family, topic: int
) -> tuple[Curves, ClassDraws, pd.DataFrame | None]:
    """Return a topic's curve, its class densities, and its parts if there are several."""
    if COMBINATION not in tree:
        curve = read_curve(tree, family, topic)
        return curve, curve, None
    combined = read_topic(tree, topic)
    return combined, combined.densities, combination_table(tree, topic)


def _pooled_point(curve: Curves) -> Point:
    def point(scores: Floats, prior: float | None) -> Floats:
        moved = curve if prior is None else curve.with_prior(np.full(curve.size, prior))
        return moved.predictive(scores)

    return point


def _guarded(calibrator: ScoreCalibrator) -> tuple[str, ...]:
    """Return what the guard did, where maximum likelihood is all there is."""
    if calibrator.inference_ != "mle":
        return ()
    fits = calibrator.mle_
    return tuple(
        f"the guard against degenerate fits acts on {', '.join(fit.guard.acted)} of class {label}:"
        " fit with inference='exact', whose band says how little these scores tell"
        for label, fit in zip(calibrator.classes_, (fits.negative, fits.positive), strict=True)
        if fit.guard.acted
    )


@dataclass(frozen=True)
class _Apart:
    """Maximum likelihood of one topic by itself."""

    densities: tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]
    prior: float

    @classmethod
    def read(cls, topic: Any, family: Family, counts: Floats) -> _Apart | None:
        sides = [np.array([float(topic[name][k]) for name in SIDES]) for k in range(len(KLASS))]
        if not np.isfinite(sides).all():
            return None
        both = zip((False, True), sides, strict=True)
        negative, positive = (_density(family.of_class(each), side) for each, side in both)
        return cls((negative, positive), class_prior(float(counts[1]), float(counts.sum())))

    def log_densities(self, scores: Floats) -> tuple[Floats, Floats]:
        negative, positive = self.densities
        return negative(scores), positive(scores)

    def log_odds(self, scores: Floats) -> Floats:
        negative, positive = self.log_densities(scores)
        return bayes_log_odds(self.prior, positive, negative)


def _density(family: Family, sides: Floats) -> Callable[[Floats], Floats]:
    parameters = family.from_sides(*sides)
    return lambda scores: family.logpdf(scores, *parameters)


def prior_log_odds(draws: Curves, score: float) -> Floats:
    """
    Return logit P(+) of the population that each draw was fitted to.

    Whatever part a draw is of, another prior adds logit(prior) less this to its log-odds.
    """
    at = np.array([score])
    even = draws.with_prior(np.full(draws.size, 0.5)).log_odds(at)[:, 0]
    own: Floats = draws.log_odds(at)[:, 0] - even
    # log-odds far out may be infinite on both sides; a prior has no other trace there
    return np.where(np.isfinite(own), own, special.logit(0.5))

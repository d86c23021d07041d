"""Likelihood ratios of new scores with bands, verbal equivalents, and what limits them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.fitting.curves.part_draws import CombinedDraws
from bayescal.fitting.problems.problem import Calibrator, FittedProblem, problem_of
from bayescal.fitting.results.calibration import PREDICTIVE
from bayescal.likelihood_ratio.bounds import (
    LikelihoodRatioBounds,
    elub,
    invariance_bounds,
    source_bounds,
)
from bayescal.likelihood_ratio.measures import LN10
from bayescal.support.intervals import percent
from bayescal.support.lazy import ROW, rowwise
from bayescal.support.validation import (
    Floats,
    Integers,
    as_array,
    as_reals,
    check_flag,
    check_fraction,
)

# The LR of predictives depends a little on the prior, since they are mean probabilities.
EQUAL_PRIORS = 0.5
BOUNDS = ("elub", "invariance", "sources")

# Verbal equivalents of the ENFSI guideline for evaluative reporting, by the smallest LR of each.
ENFSI: dict[float, str] = {
    2.0: "weak support",
    10.0: "moderate support",
    100.0: "moderately strong support",
    1e3: "strong support",
    1e4: "very strong support",
    1e6: "extremely strong support",
}
NO_SUPPORT = "no support"
DATA, RANGE = "data", "range"
BY_SCORE = ("log10", "lower", "upper", "beyond")


@dataclass(frozen=True)
class LikelihoodRatios:
    """Likelihood ratios of scores with bands; all LRs in log10.

    Attributes
    ----------
    log10 : array of shape (n,)
        log10 of LR = p(score | positive) / p(score | negative).
    lower, upper : array of shape (n,)
        Equal-tailed credible band of log10 LR; nan without a posterior.
    level : float
        Probability of the band at each score.
    beyond : array of str, shape (n,)
        "range" for scores outside the fitted range; "data" if the LR exceeds the number of labelled
        comparisons that could contradict it, plus 1; "data, range" for both, "" for neither.
    support : array of str, shape (n,)
        Verbal equivalent with its proposition; "" without a verbal scale.
    classes : tuple of str
        Names of the negative and of the positive proposition.
    largest : tuple of float
        Smallest and largest log10 LR of any score in this fit, due to lapses; infinite without.
    bounds : LikelihoodRatioBounds or None
        Bounds of `log10`, `lower` and `upper`.
    scale : dict of float to str, or None
        Verbal equivalents by the smallest LR of each.
    """

    log10: Floats
    lower: Floats
    upper: Floats
    level: float
    beyond: NDArray[np.str_]
    classes: tuple[str, str]
    largest: tuple[float, float]
    bounds: LikelihoodRatioBounds | None
    scale: Mapping[float, str] | None

    @property
    def support(self) -> NDArray[np.str_]:
        """Return the verbal equivalent of each LR."""
        if self.scale is None:
            return np.full(self.log10.size, "")
        return np.array([self._support(value) for value in self._in_memory().log10.tolist()])

    @property
    def text(self) -> str:
        """Return the sentences, one a line."""
        return "\n".join(self.sentences)

    @property
    def sentences(self) -> list[str]:
        """Return a sentence to state for each LR."""
        own = self._in_memory()
        return [own._sentence(k) for k in range(own.log10.size)]

    def posterior_odds(self, prior_odds: float) -> Floats:
        """Return posterior odds, prior odds times LR, with their band.

        Parameters
        ----------
        prior_odds : float
            Odds of the positive proposition before this evidence, P / (1 - P); positive.

        Returns
        -------
        array of shape (n, 3)
            Point, lower and upper end. The probability is odds / (1 + odds).
        """
        if not isinstance(prior_odds, int | float | np.number) or not 0.0 < prior_odds < np.inf:
            raise ValueError(f"prior_odds must be a positive number, got {prior_odds!r}.")
        own = self._in_memory()
        logs = np.column_stack([own.log10, own.lower, own.upper])
        return np.asarray(prior_odds * 10.0**logs)

    def _in_memory(self) -> LikelihoodRatios:
        own: dict[str, Any] = {name: as_array(getattr(self, name), name) for name in BY_SCORE}
        return replace(self, **own)

    def _support(self, log10: float) -> str:
        grade = grade_of(log10, self.scale or {})
        return grade if grade == NO_SUPPORT else f"{grade} for {self.classes[int(log10 > 0.0)]}"

    def _sentence(self, k: int) -> str:
        value, low, high = (float(each[k]) for each in (self.log10, self.lower, self.upper))
        band = ""
        if np.isfinite(low):
            band = f" ({percent(self.level)} {shown(low)} to {shown(high)})"
        one, other = self.classes[int(value > 0.0)], self.classes[int(value <= 0.0)]
        times = shown(abs(value))
        text = (
            f"LR {shown(value)}{band}: the findings are {times} times more probable given {one}"
            f" than given {other}"
        )
        if self.scale is not None:
            text += f": {self._support(value)}{self._spread(low, high)}"
        if self.bounds is not None and value in self.bounds:
            text += "; at a bound of what the data support"
        reasons = {
            DATA: "more than the labelled comparisons could contradict",
            RANGE: "the score lies outside those fitted",
        }
        text += "".join(f"; {reasons[each]}" for each in self.beyond[k].split(", ") if each)
        limit = self.largest[int(value > 0.0)]
        if np.isfinite(limit):
            side = "above" if value > 0.0 else "below"
            return f"{text}. No score has an LR {side} {shown(limit)} in this fit."
        return f"{text}. Nothing limits the LR in this fit (lapse=0)."

    def _spread(self, low: float, high: float) -> str:
        """Return the verbal equivalents of the band's ends if they differ."""
        if not np.isfinite(low):
            return ""
        grades = [self._support(each) for each in (low, high)]
        return "" if grades[0] == grades[1] else f" (band: {grades[0]} to {grades[1]})"


def grade_of(log10: float, scale: Mapping[float, str]) -> str:
    """Return the verbal equivalent of an LR, the same for LR and 1/LR."""
    # 10**log10(100) is 100 to rounding: a limit belongs to the grade above it.
    size = abs(log10) + 1e-12
    reached = [limit for limit in scale if np.log10(limit) <= size]
    return scale[max(reached)] if reached else NO_SUPPORT


def shown(log10: float) -> str:
    """Return an LR for readers, from its log10: two digits, or a power of ten."""
    if not np.isfinite(log10):
        return "infinity" if log10 > 0.0 else "0"
    if abs(log10) >= 5.0:
        return f"10^{log10:.1f}"
    value = float(f"{10.0**log10:.2g}")
    return f"{value:,.0f}" if value >= 10.0 else f"{value:g}"


@rowwise(ROW)
def likelihood_ratios(
    calibrator: Calibrator,
    scores: ArrayLike,
    level: float = 0.9,
    topic: Any = None,
    bounds: str | tuple[float, float] | None = None,
    *,
    support: str | Mapping[float, str] | None = "enfsi",
    force: bool = False,
) -> LikelihoodRatios:
    """Return likelihood ratios LR = p(score | positive) / p(score | negative), with bands.

    The point is the ratio of posterior predictives at equal priors, ``decision_function(scores,
    prior=0.5) / ln 10`` of a calibrator with the default point. The band holds quantiles of the
    posterior draws of log10 LR. Posterior odds are prior odds times LR; `predict_proba` with
    another `prior` averages probabilities at that prior, which differs a little.

    Parameters
    ----------
    calibrator : fitted calibrator
        Fitted to scores of comparisons whose truth is known, with `source_weights` if they share
        sources.
    scores : array-like of shape (n,)
        Scores of new comparisons.
    level : float
        Posterior probability of the band at each score.
    topic : str, optional
        A topic of a calibrator of several.
    bounds : {"elub", "invariance", "sources"}, tuple or None
        Bounds that LRs are clipped to: by `elub` or `invariance_bounds` from the comparisons
        fitted, by `source_bounds` from their number or weight, or (lower, upper) in log10. By
        default none: clipping raised Cllr more often than it lowered it.
    support : {"enfsi"}, mapping or None
        The verbal scale: of the ENFSI guideline, a mapping from the smallest LR of each grade, 1 or
        more, to its words, or none.
    force : bool
        Allow fits of one part, whose LRs have no limit: densities with light tails gave 10^7000 a
        little outside the scores fitted.

    References
    ----------
    ENFSI, *Guideline for evaluative reporting in forensic science*, version 3.0, 2015.

    Examples
    --------
    >>> from bayescal import ScoreCalibrator
    >>> rng = np.random.default_rng(0)
    >>> same = np.repeat([True, False], [20, 60])
    >>> calibrator = ScoreCalibrator(random_state=0).fit(3.0 * same + rng.normal(size=80), same)
    >>> ratios = likelihood_ratios(calibrator, [-1.0, 4.0])
    >>> bool(ratios.log10[0] < 0.0 < ratios.lower[1])
    True
    """
    check_fraction(level=level)
    check_flag(force=force)
    problem = problem_of(calibrator, topic, new=True)
    return ratios_of(
        problem, scores, level=level, bounds=bounds, scale=read_scale(support), force=force
    )


def ratios_of(
    problem: FittedProblem,
    scores: ArrayLike,
    *,
    level: float,
    bounds: str | tuple[float, float] | None = None,
    scale: Mapping[float, str] | None = None,
    force: bool = False,
) -> LikelihoodRatios:
    """Return the likelihood ratios of one fitted problem; see `likelihood_ratios`."""
    problem.check_one_curve("a likelihood ratio")
    largest = _largest(problem, force)
    calibration = problem.calibration.with_prior(EQUAL_PRIORS)
    values = problem.read(scores)
    log10 = calibration.log_odds(values, PREDICTIVE) / LN10
    band = np.full((values.size, 2), np.nan)
    if problem.has_posterior:
        band = calibration.log_odds_interval(values, level, "pointwise") / LN10
    # The number of fitted comparisons of the class that would contradict each LR.
    against = np.where(log10 > 0.0, *problem.counts)
    low, high = problem.calibration.score_range
    flags = {DATA: np.abs(log10) > np.log10(against + 1.0), RANGE: (values < low) | (values > high)}
    negative, positive = map(str, problem.labels.tolist())
    ratios = LikelihoodRatios(
        log10=log10,
        lower=band[:, 0],
        upper=band[:, 1],
        level=level,
        beyond=np.array(
            [", ".join(name for name in flags if flags[name][k]) for k in range(values.size)],
            # The same for every block of a Dask collection.
            dtype=f"<U{len(', '.join(flags))}",
        ),
        classes=(negative, positive),
        largest=largest,
        bounds=None,
        scale=scale,
    )
    return ratios if bounds is None else clipped(ratios, _read_bounds(bounds, problem))


def clipped(ratios: LikelihoodRatios, bounds: LikelihoodRatioBounds) -> LikelihoodRatios:
    """Return likelihood ratios within bounds."""
    ends = {name: np.clip(getattr(ratios, name), *bounds) for name in ("log10", "lower", "upper")}
    return replace(ratios, bounds=bounds, **ends)


def join_ratios(parts: Sequence[LikelihoodRatios]) -> LikelihoodRatios:
    """Return the LRs of several fits one after the other, with the narrowest limits."""
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(each, name) for each in parts]) for name in BY_SCORE
    }
    limits = np.array([each.largest for each in parts])
    joined["largest"] = float(limits[:, 0].max()), float(limits[:, 1].min())
    return replace(parts[0], **joined)


def take_ratios(ratios: LikelihoodRatios, rows: Integers) -> LikelihoodRatios:
    """Return the LRs at some positions."""
    return replace(ratios, **{name: getattr(ratios, name)[rows] for name in BY_SCORE})


def read_scale(support: str | Mapping[float, str] | None) -> Mapping[float, str] | None:
    """Return a verbal scale, by the smallest LR of each grade."""
    if support is None:
        return None
    if support == "enfsi":
        return ENFSI
    if not isinstance(support, Mapping) or not support:
        raise ValueError(
            "support must be 'enfsi', a mapping from the smallest LR of each grade to its words, or"
            f" None, got {support!r}."
        )
    limits = as_reals(list(support), "limits of support")
    if not ((limits >= 1.0) & (limits < np.inf)).all():
        raise ValueError(
            f"limits of support must be LRs of 1 or more, got {limits.min():g}: each grade holds"
            " for 1/LR too."
        )
    return dict(zip(limits.tolist(), map(str, support.values()), strict=True))


def _read_bounds(
    bounds: str | tuple[float, float], problem: FittedProblem
) -> LikelihoodRatioBounds:
    """Return the bounds that a user asked for, in log10."""
    if isinstance(bounds, str):
        if bounds not in BOUNDS:
            raise ValueError(
                f"bounds must be one of {', '.join(map(repr, BOUNDS))}, a pair of log10 LRs or"
                f" None, got {bounds!r}."
            )
        if bounds == "sources":
            return source_bounds(*problem.counts)
        documents = problem.documents
        if not documents.score.size:
            raise ValueError(
                f"bounds={bounds!r} needs the comparisons fitted, which a TopicCalibrator does not"
                " keep: pass (lower, upper) in log10."
            )
        calibration = problem.calibration.with_prior(EQUAL_PRIORS)
        own = calibration.log_odds(documents.score, PREDICTIVE) / LN10
        method = elub if bounds == "elub" else invariance_bounds
        return method(documents.positive, own)
    pair = as_reals(bounds, "bounds")
    if pair.shape != (2,) or not pair[0] <= 0.0 <= pair[1]:
        raise ValueError(
            f"bounds must be (lower, upper) in log10 with lower <= 0 <= upper, got {bounds!r}: take"
            " numpy.log10 of LRs."
        )
    return LikelihoodRatioBounds(float(pair[0]), float(pair[1]))


def _largest(problem: FittedProblem, force: bool) -> tuple[float, float]:
    """Return the smallest and largest log10 LR of any score; refuse fits of a single part."""
    draws = problem.calibration.draws
    if not isinstance(draws, CombinedDraws):
        if not force:
            raise ValueError(
                "likelihood ratios need a combination of parts, got the single part"
                f" {problem.model!r} (inference {problem.inference!r}), whose LRs have no limit:"
                " fit with the default parts, or see them by likelihood_ratios(..., force=True)."
            )
        return -np.inf, np.inf
    lapse, base = draws.mean_lapse
    if lapse == 0.0:
        return -np.inf, np.inf
    # With lapse rate l, P(+) lies between l pi and 1 - l + l pi; the LR divides by the fitted odds.
    odds = np.log10(draws.base.mean()) - np.log10(1.0 - draws.base.mean())
    most = np.log10(1.0 - lapse + lapse * base) - np.log10(lapse * (1.0 - base)) - odds
    least = np.log10(lapse * base) - np.log10(1.0 - lapse * base) - odds
    return float(least), float(most)

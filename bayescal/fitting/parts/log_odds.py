"""Parts that are log-odds: given, straight, monotone, learned, recalibrated; and topics' parts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NoReturn

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.families import Family
from bayescal.families.draws import IDENTITY, unwarp
from bayescal.fitting.curves.part_draws import (
    CombinedDraws,
    IdentityDraws,
    PopulationRecalibratedDraws,
    RecalibratedDraws,
    combine,
)
from bayescal.fitting.engines.combination import RECALIBRATION
from bayescal.fitting.engines.exact.engine import MOST_DRAWS, DensityFit, DensitySides
from bayescal.fitting.engines.monotone import engine
from bayescal.fitting.engines.monotone.density import Prior
from bayescal.fitting.engines.monotone.engine import LaplaceFits, LogOddsFit
from bayescal.fitting.engines.monotone.posterior import MonotoneDraws
from bayescal.fitting.engines.pooled.hyperparameters import GOOD_K
from bayescal.fitting.engines.pooled.population import DENSITY_NAMES
from bayescal.fitting.parts.configured import ASINH_SCALES
from bayescal.fitting.parts.densities import DENSITIES, DensitiesPart, shapes
from bayescal.fitting.parts.part import (
    FOLDER,
    POSTERIOR,
    Block,
    Finding,
    Groups,
    Options,
    Part,
    PartPaths,
    Reading,
    Task,
    any_of,
    at_scores,
    of_unseen,
    paths_of,
    shape_of,
)
from bayescal.fitting.posterior import ClassDraws, Posterior, unpack
from bayescal.fitting.scores import BinaryScores
from bayescal.inference.importance import WORST_EFFICIENCY, WORST_K
from bayescal.support.numerics import rounding
from bayescal.support.validation import Floats, check_count

# If a quarter of the scores lie within this number of spreads, other warps do not resolve them.
TINY = 1e-3
# Piecewise log-odds are flexible: no warp and the strongest one suffice.
ENDS = (ASINH_SCALES[0], ASINH_SCALES[-1])
OF_PRIOR = frozenset(field.name for field in fields(Prior))
SEGMENTS = "n_segments"


class LogOddsPart(Part):
    """Log-odds that rise with the score, fitted to the labels directly."""

    hyperparameters = OF_PRIOR
    kind_of_draws = MonotoneDraws

    def joins(self, data: BinaryScores, options: Options) -> bool:
        """Return True."""
        return True

    def fit(self, task: Task) -> LogOddsFit:
        """Return the posterior on the warp that the labels favour."""
        options = task.options
        hyperparameters = self.hyperparameters_of(options)
        segments = hyperparameters.pop(SEGMENTS, None)
        if segments is not None:
            check_count(SEGMENTS, segments)
        return engine.fit_monotone(
            task.laplace_fits,
            task.rng,
            draws=options.draws * options.chains,
            asinh_scales=self.asinh_scales(options, task.data),
            hyperparameters=hyperparameters,
            n_segments=self.segments if segments is None else int(segments),
        )

    @property
    def segments(self) -> int | None:
        """Return the number of pieces; None chooses it by the size of the data."""
        return None

    def asinh_scales(self, options: Options, data: BinaryScores) -> tuple[float, ...]:
        """Return the warps to choose from, in units of the scores' spread."""
        asked = options.warps.get(self.name)
        return ENDS if asked is None or asked == ASINH_SCALES else asked

    def raw(self, curves: Posterior, draws: xr.Dataset, reading: Reading) -> xr.Dataset:
        """Return log-odds where their slope changes and at the ends of the scores fitted."""
        assert isinstance(curves, MonotoneDraws)  # noqa: S101
        return at_scores(curves, shape_of(draws), _nodes(curves, reading.score_range))

    def findings(self, name: str, evidence: xr.Dataset) -> Iterator[Finding]:
        """Yield problems of the importance weights and the likelihood."""
        k, efficiency = float(evidence["pareto_k"]), float(evidence["efficiency"])
        if not (evidence["resolved"] and k <= WORST_K and efficiency >= WORST_EFFICIENCY):
            yield Finding(
                "the importance weights of {whose} are too uneven, or its likelihood is too coarse"
                f" (Pareto k {k:.2f}, efficiency {efficiency:.3f}, error of the log likelihood"
                f" {float(evidence['likelihood_error']):.2g} nats)",
                "raise draws, or choose parts without it",
                name,
            )

    def describe(self, options: Options, scale: tuple[float, float] | None) -> list[Block]:
        """Return its formula and its priors."""
        given = self.hyperparameters_of(options)
        centre, spread = scale or (None, None)
        values = {
            "prior": Prior(**{k: v for k, v in given.items() if k in OF_PRIOR}),
            "straight": self.segments == 1,
            "centre": given.get("centre", centre),
            "spread": given.get("spread", spread),
        }
        return [Block("log_odds", values)]

    def prior(
        self, task: Task, curves: Posterior, posterior: xr.Dataset
    ) -> tuple[xr.Dataset, Posterior]:
        """Return one chain of the prior's log-odds, at the posterior's scores and on its warp."""
        assert isinstance(curves, MonotoneDraws)  # noqa: S101
        options = task.options
        prior = Prior(
            **{k: v for k, v in self.hyperparameters_of(options).items() if k != SEGMENTS}
        )
        intercept, slope = engine.draw_prior(prior, curves.pieces, options.draws, task.rng)
        base: Floats = task.rng.beta(1.0, 1.0, options.draws)
        curve = replace(curves, intercept=intercept, slope=slope, prior=base)
        return at_scores(curve, (1, options.draws), posterior["score"].values), curve


class MonotonePart(LogOddsPart):
    """Log-odds that rise in straight pieces."""

    name = "monotone"
    hyperparameters = LogOddsPart.hyperparameters | {SEGMENTS}

    def asinh_scales(self, options: Options, data: BinaryScores) -> tuple[float, ...]:
        """Return no warp, one spread, and the width of a narrow bulk of the scores."""
        # Naive Bayes may give half of the documents log-odds of -1e9, which hides the others'
        # spread.
        chosen = super().asinh_scales(options, data)
        if options.warps.get(self.name) is not None:
            return chosen
        centre, spread = data.centre_and_spread
        narrow = rounding(abs(centre)) < data.bulk_width < TINY * spread
        return (*chosen, data.bulk_width / spread) if narrow else chosen


class LogisticPart(LogOddsPart):
    """Log-odds along one straight line, by default in the raw score."""

    name = "logistic"

    def belief(self, options: Options) -> float:
        """Return the prior weight in pseudo-documents, small if scores resemble a population."""
        return (1.0 - (options.like_populations or 0.0)) * self.pseudo_documents

    @property
    def segments(self) -> int:
        """Return 1."""
        return 1

    def asinh_scales(self, options: Options, data: BinaryScores) -> tuple[float, ...]:
        """Return the warps to choose from, in units of the scores' spread; by default none."""
        return options.warps.get(self.name) or (IDENTITY,)


def _nodes(curve: MonotoneDraws, score_range: tuple[float, float]) -> Floats:
    knots = unwarp(
        curve.centre + curve.spread * curve.pieces.knots, curve.centre, curve.asinh_scale
    )
    return np.unique([score_range[0], *knots, score_range[1]])


MONOTONE = MonotonePart()
LOGISTIC = LogisticPart()


class LearnedPart(LogOddsPart):
    """Monotone log-odds with a prior from other problems of the same kind."""

    name = "learned"
    # The total of all other parts of a combination.
    pseudo_documents = 2.75
    hyperparameters = frozenset()

    def joins(self, data: BinaryScores, options: Options) -> bool:
        """Return whether there is a population for this kind of scores."""
        return bool(options.populations_for(data))

    def belief(self, options: Options) -> float:
        """Return the prior weight in pseudo-documents, large if scores resemble a population."""
        share = 1.0 if options.like_populations is None else options.like_populations
        return share * self.pseudo_documents

    def fit(self, task: Task) -> LogOddsFit:
        """Return the posterior around the population that the labels favour."""
        populations = task.options.populations_for(task.data)
        if not populations:
            raise ValueError(
                f"the part {self.name!r} needs prior_knowledge='learned', or populations of scores"
                f" that are {task.data.scores_are!r}; there are none."
            )
        return engine.fit_around(
            task.laplace_fits,
            task.rng,
            draws=task.options.draws * task.options.chains,
            populations=populations,
        )

    def describe(self, options: Options, scale: tuple[float, float] | None) -> list[Block]:
        """Return its formula, and the populations."""
        return [Block("learned", {"populations": options.populations})]


LEARNED = LearnedPart()


@dataclass(frozen=True)
class Untouched:
    """The result of a part without parameters."""

    score: Floats  # (n,): log-odds

    def evidence(self) -> xr.Dataset:
        """Return nothing."""
        return xr.Dataset()

    def leave_one_out(
        self, index: NDArray[np.intp], rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Return the scores of some documents; no importance weights."""
        return self.score[index], np.full(index.size, -np.inf)


class IdentityPart(Part):
    """The score itself as log-odds."""

    name = "identity"

    def joins(self, data: BinaryScores, options: Options) -> bool:
        """Return True if the user states that the scores are log-odds or probabilities."""
        return data.scores_are != "scores"

    def fit(self, task: Task) -> Untouched:
        """Return the scores: there is nothing to fit."""
        return Untouched(task.data.score)

    def store(self, fit: Any, *, first: bool, shape: tuple[int, int]) -> dict[str, xr.Dataset]:
        """Return the part's name alone: there are no draws to keep."""
        return PartPaths(self.name, self.name, ()).note()

    def read(self, groups: Groups, paths: PartPaths, reading: Reading) -> IdentityDraws:
        """Return as many draws as another part has, and its class prior."""
        other = next(iter(reading.before.values()))
        return IdentityDraws(other.prior, np.zeros(other.size))


IDENTITY_PART = IdentityPart()


# Log-odds at which the curve is tabulated, for P(+) of .02, .12, .5, .88 and .98.
SHOWN_LOG_ODDS = np.array([-4.0, -2.0, 0.0, 2.0, 4.0])


class RecalibratedPart(LogOddsPart):
    """Log-odds that rise with the densities' log-odds of documents left out."""

    name = "recalibrated"
    follows = (DENSITIES.name,)
    # It is overconfident where the densities are.
    pseudo_documents = 0.25
    hyperparameters = frozenset()

    def fit(self, task: Task) -> LogOddsFit:
        """Return its posterior, the densities' log-odds in place of the scores."""
        densities = task.before[DENSITIES.name]
        assert isinstance(densities, DensityFit)  # noqa: S101
        options = task.options
        return engine.fit_monotone(
            LaplaceFits(replace(task.data, score=densities.left_out[0])),
            task.rng,
            draws=options.draws * options.chains,
            asinh_scales=(IDENTITY,),
            hyperparameters=RECALIBRATION,
        )

    def read(self, groups: Groups, paths: PartPaths, reading: Reading) -> RecalibratedDraws:
        """Return the draws as functions of the densities' log-odds."""
        densities = reading.before[DENSITIES.name]
        # The number of draws with which it was fitted.
        thinned = densities.take(np.arange(min(MOST_DRAWS, densities.size)))
        along = self.unpacked(groups[paths.draws[0]], reading.whose(paths.name))
        return RecalibratedDraws(thinned, along)

    def raw(self, curves: Posterior, draws: xr.Dataset, reading: Reading) -> xr.Dataset:
        """Return log-odds at some values of the densities' log-odds."""
        assert isinstance(curves, RecalibratedDraws)  # noqa: S101
        return at_scores(curves.along, shape_of(draws), SHOWN_LOG_ODDS, "density_log_odds")

    def describe(self, options: Options, scale: tuple[float, float] | None) -> list[Block]:
        """Return its formula and its priors."""
        return [recalibration_block()]

    def prior(
        self, task: Task, curves: Posterior, posterior: xr.Dataset
    ) -> tuple[xr.Dataset, Posterior]:
        """Raise ValueError: its input has no prior draws."""
        return Part.prior(self, task, curves, posterior)


def recalibration_block() -> Block:
    """Return the text of log-odds as a function of the densities' log-odds, and their priors."""
    given = {name: value for name, value in RECALIBRATION.items() if name in OF_PRIOR}
    return Block("recalibrated", {"prior": Prior(**given)})


RECALIBRATED = RecalibratedPart()


# Parts of topics that share a population: their storage in results and their reading.

RATE_NAMES = ("rate_alpha", "rate_beta")
# Without pooling, draws of the population's hyperparameters may all be equal.
HYPERPARAMETERS = (*DENSITY_NAMES, *RATE_NAMES)
OTHERS = "look for extreme outliers among the scores, or compare with another family or pooling"
# The advice for a single problem around a history.
UNLIKE = "the history may be of other problems than this: compare with prior_knowledge='vague'"


class Pooled:
    """A part whose draws were reweighted to a population; it is not fitted on its own."""

    name: str
    importance_weighted = True
    constant_draws: tuple[str, ...] = HYPERPARAMETERS

    def fit(self, task: Task) -> NoReturn:
        """Raise ValueError: a single problem has no population."""
        raise ValueError(
            f"{self.name} need a population: give it as prior_knowledge of a ScoreCalibrator."
        )

    def findings(self, name: str, evidence: xr.Dataset) -> Iterator[Finding]:
        """Yield problems of the population's posterior and of each topic's draws."""
        # Variables are faster than arrays with coordinates.
        numbers = evidence.variables
        advice = OTHERS if "topic" in evidence.dims else UNLIKE
        k = float(numbers["pareto_k"].values.max())
        share = float(numbers["population_efficiency"].values.min())
        if not (k <= GOOD_K and share >= WORST_EFFICIENCY):
            what = (
                f"the population's posterior of {{whose}} was not resolved (Pareto k {k:.2f}, good"
            )
            yield Finding(f"{what} below {GOOD_K}; efficiency {share:.3f})", advice, name)
        unresolved = any_of(numbers["resolved"] == 0)
        if unresolved.any():
            topics = unresolved if unresolved.ndim else None
            yield Finding("the posterior of {whose} was not resolved", advice, name, topics)
        uneven = any_of(numbers["efficiency"] < WORST_EFFICIENCY)
        if uneven.any():
            what = "too few draws of {whose} agree with the population (effective share below"
            yield Finding(f"{what} {WORST_EFFICIENCY})", advice, name, uneven)


class PooledDensities(Pooled, DensitiesPart):
    """Densities of both classes, of one family, with a population as their prior."""

    name = "pooled densities"

    def raw(self, curves: Posterior, draws: xr.Dataset, reading: Reading) -> xr.Dataset:
        """Return mode and widths of every draw."""
        assert isinstance(curves, DensitySides)  # noqa: S101
        return shapes(curves, shape_of(draws))


class PooledMonotone(Pooled, LogOddsPart):
    """Monotone log-odds with a population as their prior."""

    name = "pooled monotone"


class PooledRecalibrated(RecalibratedPart):
    """The population's one curve along the log-odds of the densities' mixture."""

    name = "pooled recalibrated"

    def read(
        self, groups: Groups, paths: PartPaths, reading: Reading
    ) -> PopulationRecalibratedDraws:
        """Return the draws, along the log-odds of the densities' mixture."""
        draws = groups[paths.draws[0]]
        alpha, beta = draws["base"].values.tolist()
        densities = [_densities(reading.before[name]) for name in draws["density"].values]
        base = mixture(densities, draws["base_weight"].values)
        # The topic's own P(+) replaces that of all topics, to whose labels the curve was fitted.
        own = self.unpacked(draws, reading.whose(paths.name))
        along = replace(own, prior=densities[0].prior)
        return PopulationRecalibratedDraws(base, along, (alpha, beta))


def mixture(densities: Sequence[ClassDraws], base_weight: Floats) -> CombinedDraws:
    """Return the mixture of families whose log-odds are the input of a population's curve."""
    # The number of draws with which the curve was fitted.
    kept = np.arange(min(MOST_DRAWS, densities[0].size))
    return combine(tuple(each.take(kept) for each in densities), base_weight)


def _densities(curves: Posterior) -> ClassDraws:
    assert curves.densities is not None  # noqa: S101
    return curves.densities


# Kinds in results only: users cannot name them, since a single problem has no population.
POOLED = {part.name: part for part in (PooledDensities(), PooledMonotone(), PooledRecalibrated())}


def hyperparameters_path(part: str) -> str:
    """Return the path of the hyperparameters of a part's population."""
    return of_unseen(f"{FOLDER}/{part}/hyperparameters")


def densities_paths(family: Family, families: Sequence[Family]) -> PartPaths:
    """Return the paths of the densities of one of several families."""
    folder = f"{FOLDER}/{family.name}"
    draws = POSTERIOR if family == families[0] else f"{folder}/{POSTERIOR}"
    return PartPaths(
        name=family.name,
        kind=PooledDensities.name,
        draws=(draws, of_unseen(draws), hyperparameters_path(family.name)),
        evidence=f"{folder}/evidence",
    )


def _monotone_paths() -> PartPaths:
    paths = paths_of(MONOTONE.name, "pooled monotone", first=False)
    (draws,) = paths.draws
    # Without log-odds in raw score units, which would double the memory of thousands of topics.
    own = draws, of_unseen(draws), hyperparameters_path(paths.name)
    return replace(paths, draws=own, raw="")


MONOTONE_PATHS = _monotone_paths()
RECALIBRATED_PATHS = paths_of(RECALIBRATED.name, "pooled recalibrated", first=False)


def shown_of_topics(groups: Groups) -> dict[str, xr.Dataset]:
    """Return the group of the recalibrated curve at some log-odds of the densities."""
    draws = groups[RECALIBRATED_PATHS.draws[0]]
    along = unpack(MonotoneDraws, draws)
    shown = at_scores(along, shape_of(draws), SHOWN_LOG_ODDS, "density_log_odds")
    return {RECALIBRATED_PATHS.raw: shown}

"""A model of several parts: fitted one after the other, and weighed by labels left out."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from zlib import crc32

import numpy as np
import xarray as xr
from scipy import special

from bayescal.fitting.curves.combined_draws import combine, read_levels
from bayescal.fitting.engines import combination as engine
from bayescal.fitting.engines.monotone.engine import (
    LaplaceFits,
    LogOddsPopulation,
    log_evidence_around,
    vague_log_evidence,
)
from bayescal.fitting.parts.configured import PROGRAM
from bayescal.fitting.parts.densities import DENSITIES
from bayescal.fitting.parts.identity import IDENTITY
from bayescal.fitting.parts.monotone import LEARNED, LOGISTIC, MONOTONE
from bayescal.fitting.parts.part import (
    COMBINATION,
    LAPSE,
    Finding,
    Groups,
    Options,
    Part,
    PartFit,
    PartPaths,
    Reading,
    Task,
    all_paths,
    of_draws,
)
from bayescal.fitting.parts.pooled import POOLED
from bayescal.fitting.parts.program import READER
from bayescal.fitting.parts.recalibrated import RECALIBRATED
from bayescal.fitting.posterior import DRAWS, Posterior, check_finite, pack
from bayescal.fitting.scores import BinaryScores
from bayescal.inference.newton import log_scores
from bayescal.support.numerics import class_prior, log_sum_exp
from bayescal.support.validation import Floats

# The parts of a model: a file for each, with its fit, its storage and its description.

# By name, in the order in which they are fitted and shown: a part may follow those before it.
PARTS: dict[str, Part] = {
    part.name: part for part in (DENSITIES, MONOTONE, LOGISTIC, RECALIBRATED, IDENTITY, LEARNED)
}


def part_of(kind: str) -> Part:
    """Return the part of a kind that results name."""
    part = PARTS.get(kind) or POOLED.get(kind) or (READER if kind == PROGRAM else None)
    if part is None:
        raise ValueError(
            f"the results hold a part of kind {kind!r}, which is not among {', '.join(PARTS)}:"
            " import the module that registers it first."
        )
    return part


# Test whether the scores resemble earlier problems: compare learned priors' evidence with the
# vague prior's.

GROUP = "populations"
# Documents of the rarer class from which on labels decide: log-loss is the same (docs/prior.md).
ENOUGH = 50.0
# Prior odds that scores resemble no population. With smaller odds more is lost on
# simulated scores, which are no classifier's (docs/defaults.md).
LIKE_NONE = 9.0
# A part that is less probable would change nothing, and cost its time.
NEGLIGIBLE = 0.02
VAGUE = "vague"  # none of the populations: the prior that knows the units of the scores alone


@dataclass(frozen=True)
class PopulationComparison:
    """The evidence of the labels for each population."""

    # With the likeliest population alone and its probability; without populations if that is
    # negligible
    options: Options
    # The priors compared, "vague" last; empty without populations
    names: tuple[str, ...] = ()
    # (populations + 1,): natural log of p(labels | scores, population), by Laplace's approximation
    log_evidence: Floats = field(default_factory=lambda: np.empty(0))
    probability: float = 0.0  # that scores resemble one of the populations, given the labels

    @property
    def groups(self) -> dict[str, xr.Dataset]:
        """Return the group of a tree that keeps the comparison; none without one."""
        if not self.names:
            return {}
        dataset = xr.Dataset(
            {"log_evidence": ("population", self.log_evidence), "probability": self.probability}
        )
        return {GROUP: dataset.assign_coords(population=list(self.names))}


def compare_populations(laplace_fits: LaplaceFits, options: Options) -> PopulationComparison:
    """
    Compare the learned prior with the vague prior, which knows only the scores' units.

    The prior odds that scores resemble none of the K populations are r = 9; the populations are
    equally likely. With p_k = p(labels | scores, population k), the posterior probability that they
    resemble one is sum_k p_k/K / (sum_k p_k/K + r p_vague). Fits with fifty or more documents of
    the rarer class skip the comparison.
    """
    data = laplace_fits.data
    known = options.populations_for(data)
    if not known or min(data.total(True), data.total(False)) >= ENOUGH:
        return PopulationComparison(without_populations(options))
    vague = vague_log_evidence(laplace_fits, MONOTONE.asinh_scales(options, data))
    around = log_evidence_around(laplace_fits, known)
    log_odds = log_sum_exp(around.copy(), axis=0) - math.log(len(known) * LIKE_NONE) - vague
    probability = float(special.expit(log_odds))
    names = (*(each.name for each in known), VAGUE)
    return PopulationComparison(
        _with_likeliest(options, known[int(around.argmax())], probability),
        names,
        np.append(around, vague),
        probability,
    )


def _with_likeliest(options: Options, population: LogOddsPopulation, probability: float) -> Options:
    if probability < NEGLIGIBLE:
        return without_populations(options)
    return replace(options, populations=(population,), like_populations=probability)


def without_populations(options: Options) -> Options:
    """Return the options without learned populations."""
    return replace(options, populations=(), like_populations=0.0)


# All parts that results hold: their diagnostics, and the curves that they make.


def worst(groups: Groups, name: str, pick: Callable[[Floats], float]) -> float | None:
    """
    Return the worst known value of a number that says how well draws were made; None without any.

    Of Pareto shapes those count that belong to importance weighted draws, where there are such.
    """
    parts = all_paths(groups)
    if name == "pareto_k":
        parts = [paths for paths in parts if part_of(paths.kind).importance_weighted] or parts
    evidence = [groups[paths.evidence] for paths in parts if paths.evidence in groups]
    values = [each[name].values.ravel() for each in evidence if name in each]
    known = np.concatenate([*values, np.empty(0)])
    known = known[known > -np.inf]
    return float(pick(known)) if known.size else None


def findings(groups: Groups) -> list[Finding]:
    """Return all that is wrong with the draws of all parts; groups that are absent say nothing."""
    out: list[Finding] = []
    for paths in all_paths(groups):
        kind = part_of(paths.kind)
        for path in paths.draws:
            out += of_draws(paths.name, groups[path], kind.constant_draws)
        if paths.evidence in groups:
            out += kind.findings(paths.name, groups[paths.evidence])
    return out


# The draws of the lapse rate in a tree of results.

LONG_NAME = "share of documents whose label has nothing to do with their score"


def lapse_groups(drawn: Floats | None, shape: tuple[int, int]) -> dict[str, xr.Dataset]:
    """Return the group of draws of lambda, (chain, draw), of that shape; no group of no lapses."""
    if drawn is None:
        return {}
    variable = (DRAWS, drawn.reshape(shape), {"long_name": LONG_NAME})
    coords = dict(zip(DRAWS, map(np.arange, shape), strict=True))
    return {LAPSE: xr.Dataset({LAPSE: variable}, coords)}


def read_lapse(groups: Groups) -> Floats | None:
    """Return the draws of lambda, (draws,); None where there are no lapses."""
    if LAPSE not in groups:
        return None
    drawn: Floats = groups[LAPSE][LAPSE].values.ravel()
    check_finite("the lapse rate", drawn)
    return drawn


COMBINED = "combined"
ORDER = "order"  # of the combination's draws, see `combine`


def chosen(names: Sequence[str], data: BinaryScores, options: Options) -> list[Part]:
    """Return the parts of some names, in the order of PARTS; of "combined" all that join it."""
    if COMBINED in names:
        return [part for part in all_parts(options) if part.joins(data, options)]
    return [part for part in all_parts(options) if part.name in names]


def all_parts(options: Options) -> list[Part]:
    """Return the parts of the package, and then the programs of some options."""
    return [*PARTS.values(), *options.programs]


def compared_with_populations(
    names: Sequence[str], laplace_fits: LaplaceFits, options: Options
) -> PopulationComparison:
    """Return the evidence of the labels for learned priors, unless the user names the parts."""
    return (
        compare_populations(laplace_fits, options)
        if COMBINED in names
        else PopulationComparison(options)
    )


def fit_parts(
    names: Sequence[str], data: BinaryScores, options: Options, rng: np.random.Generator
) -> dict[str, xr.Dataset]:
    """
    Fit the parts of a model, and weigh them by leave-one-out predictive performance (stacking).
    """
    given_scores = LaplaceFits(data.given_scores)
    given_classes = LaplaceFits(data) if data.by_score else given_scores
    compared = compared_with_populations(names, given_scores, options)
    options = compared.options
    weighed = chosen(names, data, options)
    first, *others = with_those_followed(weighed, options)
    fits: dict[str, PartFit] = {}

    def fit(part: Part) -> None:
        own = given_classes if part.models_scores else given_scores
        fits[part.name] = part.fit(Task(own, options, rng, fits))

    fit(first)
    shape = options.chains, options.draws
    groups = first.store(fits[first.name], first=True, shape=shape)
    if not others:
        return groups
    documents = engine.pick_documents(data.given_scores, rng)
    left_out: dict[str, Floats] = {}
    for part in (first, *others):
        if part is not first:
            fit(part)
            groups |= part.store(fits[part.name], first=False, shape=shape)
        left_out[part.name] = fits[part.name].leave_one_out(documents.index, rng)
    given = {part.name: part.belief(options) for part in weighed}
    belief = np.array([given.get(name, np.nan) for name in left_out])
    positive, (positives, negatives) = data.positive[documents.index], data.rate_counts
    score = log_scores(np.stack(list(left_out.values())), positive)
    weights = engine.weigh(score, documents.weight, belief)
    groups[COMBINATION] = pack(weights, shape).assign_coords(part=list(left_out))
    groups[COMBINATION].attrs[ORDER] = int(rng.integers(1 << 31))
    lapses = engine.lapse_of_mixture(
        score,
        weights.weight[:, None],
        class_prior(positives, positives + negatives),
        positive,
        documents.weight,
        options.draws * options.chains,
        rng,
        options.lapse,
    )
    groups |= lapse_groups(lapses, shape)
    return groups | compared.groups


def with_those_followed(parts: Iterable[Part], options: Options) -> list[Part]:
    """Return parts with those that they follow, in the order of PARTS."""
    wanted: set[str] = set()
    for part in parts:
        wanted |= {part.name, *part.follows}
    return [part for part in all_parts(options) if part.name in wanted]


def raw_groups(groups: Groups) -> dict[str, xr.Dataset]:
    """Return the groups of draws in raw score units that results leave to be derived."""
    parts = all_paths(groups)
    wanted = [paths for paths in parts if paths.raw and paths.raw not in groups]
    if not wanted:
        return {}
    reading = Reading.of(groups)
    curves = read_curves(groups, parts, reading)
    return {
        paths.raw: part_of(paths.kind).raw(curves[paths.name], groups[paths.draws[0]], reading)
        for paths in wanted
    }


def read_curves(
    groups: Groups, parts: Sequence[PartPaths], reading: Reading
) -> dict[str, Posterior]:
    """Return the curves of all parts, by name."""
    curves: dict[str, Posterior] = {}
    for paths in parts:
        own = replace(reading, before=curves)
        curves[paths.name] = part_of(paths.kind).read(groups, paths, own)
    return curves


def read_stack(groups: Groups, reading: Reading) -> Posterior:
    """Return the curve of a model, of its one part or of the mixture of all."""
    lapse = read_lapse(groups)
    curves = tuple(read_curves(groups, all_paths(groups), reading).values())
    curves = read_levels(groups, curves, lapse)
    if COMBINATION not in groups:
        return curves[0]
    combination = groups[COMBINATION]
    weight: Floats = combination.variables["weight"].values
    order = combination.attrs[ORDER] if ORDER in combination.attrs else order_of(weight)
    return combine(curves, weight, lapse, int(order), reading.score_range)


def order_of(weight: Floats) -> int:
    """
    Return the seed of the order of a topic's draws of parts, which its weights decide.

    With one order the k-th draws of all topics would belong to the same part. A topic has the same
    draws independently of the other topics, and as a problem of its own.
    """
    # Weights of one fit differ in their ninth digit from processor to processor: steps are far
    # wider, and no simple fraction lies on the border of two.
    return crc32(np.rint(1234.5678 * weight).astype("<i8").tobytes())

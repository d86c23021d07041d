"""A model of several parts: fitted in turn, and weighed by leave-one-out predictions."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from zlib import crc32

import numpy as np
import xarray as xr
from scipy import special

from bayescal.fitting.curves.part_draws import combine, read_levels
from bayescal.fitting.engines import combination as engine
from bayescal.fitting.engines.monotone.engine import (
    LaplaceFits,
    log_evidence_around,
    vague_log_evidence,
)
from bayescal.fitting.parts.configured import PROGRAM
from bayescal.fitting.parts.densities import DENSITIES
from bayescal.fitting.parts.log_odds import (
    IDENTITY_PART,
    LEARNED,
    LOGISTIC,
    MONOTONE,
    POOLED,
    RECALIBRATED,
)
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
from bayescal.fitting.parts.program import READER
from bayescal.fitting.posterior import DRAWS, Posterior, check_finite, draw_coords, pack
from bayescal.fitting.scores import BinaryScores
from bayescal.inference.importance import WORST_K
from bayescal.inference.newton import log_scores
from bayescal.support.numerics import class_prior, log_sum_exp
from bayescal.support.validation import Floats

# The parts by name, in the order of fitting and display: a part may follow earlier ones.
PARTS: dict[str, Part] = {
    part.name: part
    for part in (DENSITIES, MONOTONE, LOGISTIC, RECALIBRATED, IDENTITY_PART, LEARNED)
}


def part_of(kind: str) -> Part:
    """Return the part of a kind named in results."""
    part = PARTS.get(kind) or POOLED.get(kind) or (READER if kind == PROGRAM else None)
    if part is None:
        raise ValueError(
            f"the results hold a part of kind {kind!r}, which is not among {', '.join(PARTS)}:"
            " import the module that registers it first."
        )
    return part


# Test whether the scores resemble earlier problems: compare learned priors' evidence with the
# vague prior's.

COMBINED = "combined"
GROUP = "populations"
# With more documents of the rarer class, learned priors do not change log-loss (docs/prior.md).
ENOUGH = 50.0
# Prior odds that scores resemble no population. Smaller odds lose more on simulated scores
# (docs/defaults.md).
LIKE_NONE = 9.0
# Less probable populations are skipped.
NEGLIGIBLE = 0.02
VAGUE = "vague"  # no population: the prior that depends on the units of the scores only


def compare_populations(
    laplace_fits: LaplaceFits, options: Options
) -> tuple[Options, dict[str, xr.Dataset]]:
    """Return options with the likeliest population only, if any, and the group of a comparison."""
    # Of learned priors with the vague prior, which knows only the scores' units. Prior odds that
    # scores resemble none of K equally likely populations are r = 9: the probability that they
    # resemble one is sum_k p_k/K / (sum_k p_k/K + r p_vague), p_k = p(labels | scores, k).
    if COMBINED not in options.parts:
        return options, {}
    data = laplace_fits.data
    known = options.populations_for(data)
    if not known or min(data.total(True), data.total(False)) >= ENOUGH:
        return without_populations(options), {}
    vague = vague_log_evidence(laplace_fits, MONOTONE.asinh_scales(options, data))
    around = log_evidence_around(laplace_fits, known)
    log_odds = log_sum_exp(around.copy(), axis=0) - math.log(len(known) * LIKE_NONE) - vague
    probability = float(special.expit(log_odds))
    compared = xr.Dataset(
        {"log_evidence": ("population", np.append(around, vague)), "probability": probability},
        {"population": [*(each.name for each in known), VAGUE]},
    )
    if probability < NEGLIGIBLE:
        return without_populations(options), {GROUP: compared}
    likeliest = (known[int(around.argmax())],)
    return replace(options, populations=likeliest, like_populations=probability), {GROUP: compared}


def without_populations(options: Options) -> Options:
    """Return the options without learned populations."""
    return replace(options, populations=(), like_populations=0.0)


# Diagnostics and curves of all parts in results.


def worst(groups: Groups, name: str, pick: Callable[[Floats], float]) -> float | None:
    """Return the worst known value of a diagnostic of the parts; None without any."""
    parts = all_paths(groups)
    if name == "pareto_k":
        parts = [paths for paths in parts if part_of(paths.kind).importance_weighted] or parts
    evidence = [groups[paths.evidence] for paths in parts if paths.evidence in groups]
    values = [each[name].values.ravel() for each in evidence if name in each]
    known = np.concatenate([*values, np.empty(0)])
    known = known[known > -np.inf]
    return float(pick(known)) if known.size else None


def findings(groups: Groups) -> list[Finding]:
    """Return the findings about the draws of all parts; absent groups are skipped."""
    out: list[Finding] = []
    for paths in all_paths(groups):
        kind = part_of(paths.kind)
        for path in paths.draws:
            out += of_draws(paths.name, groups[path], kind.constant_draws)
        if paths.evidence in groups:
            out += kind.findings(paths.name, groups[paths.evidence])
    return out + _of_weights(groups)


def _of_weights(groups: Groups) -> list[Finding]:
    """Return a finding for each part whose leave-one-out scores have a large Pareto k."""
    if COMBINATION not in groups or "pareto_k" not in groups[COMBINATION]:
        return []
    k = groups[COMBINATION]["pareto_k"].to_series()
    return [
        Finding(
            "leave-one-out predictions by {whose} rest on a few draws (Pareto k up to"
            f" {worst:.2f}, good below {WORST_K})",
            "its weight is uncertain; look at documents far from all others",
            str(name),
        )
        for name, worst in k[k > WORST_K].items()
    ]


# The draws of the lapse rate in a tree of results.

LONG_NAME = "share of documents whose label has nothing to do with their score"


def lapse_groups(drawn: Floats | None, shape: tuple[int, int]) -> dict[str, xr.Dataset]:
    """Return the group of draws of lambda, of `shape` (chains, draws); none without lapses."""
    if drawn is None:
        return {}
    variable = (DRAWS, drawn.reshape(shape), {"long_name": LONG_NAME})
    return {LAPSE: xr.Dataset({LAPSE: variable}, draw_coords(shape))}


def read_lapse(groups: Groups) -> Floats | None:
    """Return the draws of lambda, (draws,); None without lapses."""
    if LAPSE not in groups:
        return None
    drawn: Floats = groups[LAPSE][LAPSE].values.ravel()
    check_finite("the lapse rate", drawn)
    return drawn


LEFT_OUT = "left_out"  # the group of log-odds of documents, each given all others; nan if unknown
ORDER = "order"  # of the combination's draws, see `combine`


def chosen(data: BinaryScores, options: Options) -> list[Part]:
    """Return the named parts in the order of PARTS; "combined" means all that join it."""
    if COMBINED in options.parts:
        return [part for part in all_parts(options) if part.joins(data, options)]
    return [part for part in all_parts(options) if part.name in options.parts]


def all_parts(options: Options) -> list[Part]:
    """Return the parts of the package, then the programs of the options."""
    return [*PARTS.values(), *options.programs]


def fit_parts(data: BinaryScores, options: Options) -> dict[str, xr.Dataset]:
    """Fit the parts of a model, and weigh them by leave-one-out predictions (stacking)."""
    rng = options.rng
    given_scores = LaplaceFits(data.given_scores)
    given_classes = LaplaceFits(data) if data.by_score else given_scores
    options, compared = compare_populations(given_scores, options)
    weighed = chosen(data, options)
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
    index, weight = engine.pick_documents(data.given_scores)
    left_out: dict[str, tuple[Floats, Floats]] = {}
    for part in (first, *others):
        if part is not first:
            fit(part)
            groups |= part.store(fits[part.name], first=False, shape=shape)
        left_out[part.name] = fits[part.name].leave_one_out(index, rng)
    given = {part.name: part.belief(options) for part in weighed}
    belief = np.array([given.get(name, np.nan) for name in left_out])
    positive, (positives, negatives) = data.positive[index], data.rate_counts
    log_odds, k = map(np.stack, zip(*left_out.values(), strict=True))
    score = log_scores(log_odds, positive)
    weights = engine.weigh(score, weight, belief, k)
    groups[COMBINATION] = pack(weights, shape).assign_coords(part=list(left_out))
    groups[COMBINATION].attrs[ORDER] = int(rng.integers(1 << 31))
    base = class_prior(positives, positives + negatives)
    lapses = engine.lapse_of_mixture(
        score,
        weights.weight[:, None],
        base,
        positive,
        weight,
        options.draws * options.chains,
        rng,
        options.lapse,
    )
    groups |= lapse_groups(lapses, shape)
    mixture = np.full(data.score.size, np.nan)
    mixture[index] = engine.left_out_of_mixture(log_odds, weights.weight, lapses, base)
    groups[LEFT_OUT] = xr.Dataset({"log_odds": ("document", mixture)})
    return groups | compared


def with_those_followed(parts: Iterable[Part], options: Options) -> list[Part]:
    """Return parts and their predecessors, in the order of PARTS."""
    wanted: set[str] = set()
    for part in parts:
        wanted |= {part.name, *part.follows}
    return [part for part in all_parts(options) if part.name in wanted]


def raw_groups(groups: Groups) -> dict[str, xr.Dataset]:
    """Return the groups of draws in raw score units that results do not store."""
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
    """Return the curve of a model: of its only part, or of the mixture of all."""
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
    """Return the seed of a topic's order of parts, by its weights, as topics' must differ."""
    # Weights differ between processors in their ninth digit: round to far wider steps, whose
    # borders are no simple fractions.
    return crc32(np.rint(1234.5678 * weight).astype("<i8").tobytes())

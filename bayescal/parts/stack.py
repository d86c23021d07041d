"""A model of several parts: fitted one after the other, and weighed by labels left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import xarray as xr
from scipy import special

from bayescal.bayes import class_prior, log_odds_of_mixture
from bayescal.curves.combined_draws import ModelCurves, combine
from bayescal.curves.curves import PartCurves
from bayescal.engines import combined, lapse
from bayescal.engines.data import BinaryScores
from bayescal.engines.monotone.outlines import Outlines
from bayescal.parts import PARTS, part_of
from bayescal.parts.favoured import Favoured, favoured
from bayescal.parts.kept_digits import with_kept_digits
from bayescal.parts.lapses import lapse_groups, read_lapse
from bayescal.parts.options import Found, Options, Task
from bayescal.parts.part import Part, Reading
from bayescal.parts.places import COMBINATION, Groups, Place, places
from bayescal.validation import Floats

COMBINED = "combined"
ORDER = "order"  # of the combination's draws, see `combine`
# What its log-odds do beyond the scores fitted; files of earlier versions let them turn back.
BEYOND, HELD = "beyond_the_scores_fitted", "log-odds do not turn back"


def chosen(names: Sequence[str], data: BinaryScores, options: Options) -> list[Part]:
    """Return the parts of some names, in the order of PARTS; of "combined" all that join it."""
    if COMBINED in names:
        return [part for part in PARTS.values() if part.joins(data, options)]
    return [part for part in PARTS.values() if part.name in names]


def told_of(names: Sequence[str], outlines: Outlines, options: Options) -> Favoured:
    """Return what the labels say of other problems; those who name parts know what they want."""
    return favoured(outlines, options) if COMBINED in names else Favoured(options)


def fit_parts(
    names: Sequence[str], data: BinaryScores, options: Options, rng: np.random.Generator
) -> dict[str, xr.Dataset]:
    """
    Fit the parts of a model, and weigh them by leave-one-out predictive performance (stacking).

    Parameters
    ----------
    names : sequence of str
        Keys of PARTS, or "combined".
    data : BinaryScores
        The documents.
    options : Options
        How.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    dict of str to xarray.Dataset
        The groups of a tree: draws, constants and evidence of every part, and the weights. The
        draws of several parts have the digits that `quantisation` keeps.
    """
    outlines = Outlines(data)
    told = told_of(names, outlines, options)
    options = told.options
    weighed = chosen(names, data, options)
    first, *others = with_those_followed(weighed)
    found: dict[str, Found] = {first.name: first.fit(Task(outlines, options, rng, {}))}
    place = first.place(found[first.name], first=True)
    groups = stored(place, found[first.name], options.chains, options.draws)
    if not others:
        return groups
    documents = combined.pick_documents(data, rng)
    left_out: dict[str, Floats] = {}
    for part in (first, *others):
        if part is not first:
            found[part.name] = part.fit(Task(outlines, options, rng, found))
            place = part.place(found[part.name], first=False)
            groups |= stored(place, found[part.name], options.chains, options.draws)
        left_out[part.name] = found[part.name].leave_one_out(documents.index, rng)
    belief = {part.name: part.belief(options) for part in weighed}
    groups[COMBINATION] = combined.combination_dataset(left_out, belief, data, documents)
    groups[COMBINATION].attrs |= {ORDER: int(rng.integers(1 << 31)), BEYOND: HELD}
    lapses = _draw_lapses(groups[COMBINATION], left_out, data, documents, options, rng)
    groups |= lapse_groups(lapses, (options.chains, options.draws))
    return with_kept_digits(groups | told.groups)


def _draw_lapses(
    combination: xr.Dataset,
    left_out: Mapping[str, Floats],
    data: BinaryScores,
    documents: combined.Documents,
    options: Options,
    rng: np.random.Generator,
) -> Floats | None:
    """Return the draws of lambda, of what the mixture of all parts says of labels left out."""
    log_odds = np.stack([left_out[name] for name in combination["part"].values])
    mixture = log_odds_of_mixture(log_odds, combination["weight"].values)
    positive, weight = data.positive[documents.index], documents.weight
    base = class_prior(float(weight[positive].sum()), float(weight.sum()))
    return lapse.draw_lapse(
        combined.log_scores(mixture, positive),
        combined.log_scores(special.logit(base), positive),
        weight,
        options.draws * options.chains,
        rng,
        fixed=options.lapse,
    )


def with_those_followed(parts: Iterable[Part]) -> list[Part]:
    """Return parts with those that they follow, in the order of PARTS."""
    wanted: set[str] = set()
    for part in parts:
        wanted |= {part.name, *part.follows}
    return [part for part in PARTS.values() if part.name in wanted]


def stored(place: Place, found: Found, chains: int, draws: int) -> dict[str, xr.Dataset]:
    """Return what an engine found, as the groups of a place, and the group that names them."""
    groups = place.note()
    if place.draws:
        groups[place.draws[0]] = found.dataset(chains, draws)
        groups[place.evidence] = found.evidence()
    if place.constants:
        groups[place.constants] = found.constants()
    return groups


def raw_groups(groups: Groups, reading: Reading) -> dict[str, xr.Dataset]:
    """
    Return the groups of draws in raw score units that go with those of engines and are not there.

    Parameters
    ----------
    groups : mapping of str to Dataset
        Of a fit.
    reading : Reading
        Centre, spread and range of its scores.
    """
    found = places(groups)
    wanted = [place for place in found if place.raw and place.raw not in groups]
    if not wanted:
        return {}
    curves = read_curves(groups, found, reading)
    return {
        place.raw: part_of(place.kind).raw(curves[place.name], groups[place.draws[0]], reading)
        for place in wanted
    }


def read_curves(groups: Groups, found: Sequence[Place], reading: Reading) -> dict[str, PartCurves]:
    """
    Return the curves of all parts, by name.

    Raises
    ------
    ValueError
        If the draws of one are not finite.
    """
    curves: dict[str, PartCurves] = {}
    for place in found:
        own = Reading(reading.centre, reading.spread, reading.score_range, curves)
        curves[place.name] = part_of(place.kind).read(groups, place, own)
    return curves


def read_stack(groups: Groups, reading: Reading) -> ModelCurves | None:
    """Return the curve of a model, of its one part or of the mixture of all; None without any."""
    curves = tuple(read_curves(groups, places(groups), reading).values())
    if not curves:
        return None
    if COMBINATION not in groups:
        return curves[0]
    combination = groups[COMBINATION]
    # Files of earlier versions all have the same one.
    order = int(combination.attrs.get(ORDER, 0))
    weight, reach = combination["weight"].values, reach_of(combination, reading.score_range)
    return combine(curves, weight, read_lapse(groups), order, reach)


def reach_of(
    combination: xr.Dataset, score_range: tuple[float, float]
) -> tuple[float, float] | None:
    """Return the scores beyond which log-odds do not turn back; None where they may."""
    return score_range if combination.attrs.get(BEYOND) == HELD else None

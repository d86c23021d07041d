"""Parts of one problem that was fitted as one more topic of a population, that of a history.

Each is that of many topics (`of_topics`) for one of them, kept and read as a part of one problem.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NoReturn

import numpy as np
import xarray as xr

from bayescal.curves.class_draws import ClassDraws
from bayescal.curves.combined_draws import combine
from bayescal.curves.curves import PartCurves
from bayescal.curves.densities import SIDES
from bayescal.curves.recalibrated_draws import DensityLogOdds, PopulationRecalibratedDraws
from bayescal.engines.exact.leave_one_out import MOST_DRAWS
from bayescal.families import Family
from bayescal.parts.densities import DensitiesPart
from bayescal.parts.findings import Finding
from bayescal.parts.monotone import MONOTONE, LogOddsPart, read_log_odds
from bayescal.parts.of_topics import PopulationKind
from bayescal.parts.options import Task
from bayescal.parts.part import Reading
from bayescal.parts.places import DRAWS, Groups, Place
from bayescal.parts.recalibrated import RECALIBRATED, RecalibratedPart
from bayescal.validation import Floats
from bayescal.warps import IDENTITY

_OF_TOPICS = PopulationKind()
UNLIKE = "the history may be of other problems than this: compare with prior_knowledge='vague'"


class DensitiesAround(DensitiesPart):
    """Densities of both classes, of one family, around those of a population."""

    name = "densities around a population"
    importance_weighted = True

    def fit(self, task: Task) -> NoReturn:
        """Raise ValueError: there is no population in a task."""
        raise ValueError(NOT_ALONE.format(self.name))

    def findings(self, name: str, evidence: xr.Dataset) -> Iterator[Finding]:
        """Yield what is wrong with the population's posterior and with the draws."""
        return _findings(name, evidence)


class MonotoneAround(LogOddsPart):
    """Log-odds that rise in straight pieces, around those of a population."""

    def fit(self, task: Task) -> NoReturn:
        """Raise ValueError: there is no population in a task."""
        raise ValueError(NOT_ALONE.format(self.name))

    def findings(self, name: str, evidence: xr.Dataset) -> Iterator[Finding]:
        """Yield what is wrong with the population's posterior and with the draws."""
        return _findings(name, evidence)


class RecalibratedAround(RecalibratedPart):
    """The population's own curve along the log-odds of the densities."""

    def fit(self, task: Task) -> NoReturn:
        """Raise ValueError: there is no population in a task."""
        raise ValueError(NOT_ALONE.format(self.name))

    def read(self, groups: Groups, place: Place, reading: Reading) -> PopulationRecalibratedDraws:
        """Return its draws, along the log-odds of the densities' mixture."""
        constants = groups[place.constants]
        low, high = constants["reach"].values.tolist()
        alpha, beta = constants["base"].values.tolist()
        densities = [_densities(reading.before[name]) for name in constants["density"].values]
        base = mixture_log_odds(
            densities,
            constants["base_weight"].values,
            (reading.centre, reading.spread),
            (low, high),
        )
        # What the curve says of a problem is for the problem's own P(+), not for the history's.
        along = replace(read_log_odds(groups, place), prior=densities[0].prior)
        return PopulationRecalibratedDraws(base, along, (alpha, beta))


NOT_ALONE = "{0} are fitted by a population: give it as prior_knowledge of a ScoreCalibrator."
DENSITIES_AROUND = DensitiesAround()
MONOTONE_AROUND = MonotoneAround(
    "log-odds around a population", MONOTONE.title, (MonotoneAround.__doc__ or "")
)
RECALIBRATED_AROUND = RecalibratedAround(
    "recalibrated by a population", RECALIBRATED.title, (RecalibratedAround.__doc__ or "")
)
# By what files say, beside `PARTS`: these cannot be asked for by name, for they need a population.
AROUND_POPULATION = {
    part.name: part for part in (DENSITIES_AROUND, RECALIBRATED_AROUND, MONOTONE_AROUND)
}


def drawn_densities(group: xr.Dataset, family: Family) -> xr.Dataset:
    """
    Return draws of mode, sides and rate as a group engine_draws of one family has them.

    Parameters
    ----------
    group : xarray.Dataset
        One topic's posterior, or that of a topic without documents: theta, left and right of each
        klass, and rate, in raw score units.
    family : Family
        Of the densities.
    """
    dims = (*DRAWS, "klass")
    drawn = group[[*SIDES]].transpose(*dims).drop_vars("topic", errors="ignore")
    shape = tuple(drawn.sizes[name] for name in dims)
    return drawn.assign(
        prior=group["rate"].drop_vars("topic", errors="ignore").transpose(*DRAWS),
        family=(dims, np.zeros(shape, np.int8), {"flag_meanings": family.name}),
        asinh_scale=(DRAWS, np.full(shape[:2], IDENTITY)),
    )


def mixture_log_odds(
    densities: Sequence[ClassDraws],
    base_weight: Floats,
    scale: tuple[float, float],
    reach: tuple[float, float],
) -> DensityLogOdds:
    """
    Return the log-odds that a population's curve runs along: those of several families' mixture.

    Parameters
    ----------
    densities : sequence of ClassDraws
        Of each family.
    base_weight : array of shape (families,)
        Their weights.
    scale : tuple of float
        The population's centre and spread.
    reach : tuple of float
        The smallest and the largest score that the population was fitted to.
    """
    # As many draws as the log-odds had that the curve was fitted to.
    kept = np.arange(min(MOST_DRAWS, densities[0].size))
    mixture = combine(tuple(each.take(kept) for each in densities), base_weight)
    return DensityLogOdds(mixture, *scale, reach)


def _findings(name: str, evidence: xr.Dataset) -> Iterator[Finding]:
    """Yield what is wrong with a topic's draws, with the advice of one who chose the history."""
    return (replace(each, advice=UNLIKE) for each in _OF_TOPICS.findings(name, evidence))


def _densities(curves: PartCurves) -> ClassDraws:
    assert curves.densities is not None  # noqa: S101
    return curves.densities

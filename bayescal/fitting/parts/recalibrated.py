"""Recalibrated densities: monotone log-odds as a function of the densities' log-odds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import xarray as xr

from bayescal.families.warps import IDENTITY
from bayescal.fitting.curves.log_odds_draws import RecalibratedDraws
from bayescal.fitting.engines.combination import RECALIBRATION
from bayescal.fitting.engines.exact.engine import MOST_DRAWS, DensityFit
from bayescal.fitting.engines.monotone.density import Prior
from bayescal.fitting.engines.monotone.engine import LaplaceFits, LogOddsFit, fit_monotone
from bayescal.fitting.parts.densities import DENSITIES
from bayescal.fitting.parts.monotone import OF_PRIOR, LogOddsPart
from bayescal.fitting.parts.part import (
    Block,
    Groups,
    Options,
    Part,
    PartPaths,
    Reading,
    Task,
    at_scores,
    shape_of,
)
from bayescal.fitting.posterior import Posterior
from bayescal.fitting.scores import BinaryScores

# Log-odds at which the curve is tabulated, for P(+) of .02, .12, .5, .88 and .98.
SHOWN_LOG_ODDS = np.array([-4.0, -2.0, 0.0, 2.0, 4.0])


class RecalibratedPart(LogOddsPart):
    """Log-odds that rise with the densities' log-odds of documents left out."""

    name = "recalibrated"
    follows = (DENSITIES.name,)
    # It is overconfident where the densities are.
    pseudo_documents = 0.25
    hyperparameters = frozenset()

    def joins(self, data: BinaryScores, options: Options) -> bool:
        """Return False with monotone densities, whose average the recalibrated curve may break."""
        return not options.monotone

    def fit(self, task: Task) -> LogOddsFit:
        """Return its posterior, the densities' log-odds in place of the scores."""
        densities = task.before[DENSITIES.name]
        assert isinstance(densities, DensityFit)  # noqa: S101
        options = task.options
        return fit_monotone(
            LaplaceFits(replace(task.data, score=densities.left_out)),
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

"""What parts are asked to fit: a problem, and what its estimator's parameters say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.engines.data import BinaryScores
from bayescal.engines.monotone.outlines import Outlines
from bayescal.engines.monotone.population import LogOddsPopulation
from bayescal.families import Family
from bayescal.validation import Floats


@dataclass(frozen=True)
class Options:
    """
    What an estimator's parameters say to all parts.

    Attributes
    ----------
    families : tuple of Family
        Of class densities.
    warps : tuple of float or None
        Warps to choose from or to average over, by their asinh scales in spreads; None leaves them
        to each part.
    averaging : {"stacking", "evidence"}
        How several families and warps of densities are weighed.
    monotone : bool
        Whether densities are conditioned on log-odds that never fall.
    hyperparameters : mapping of str to float
        Of the parts' priors; each takes those that it knows.
    combined : bool
        Whether several parts are weighed; else there is one, and those that it follows.
    draws, chains : int
        Draws of each chain, and chains.
    lapse : float or None
        Share of documents, of a combination, whose label has nothing to do with their score; None
        learns it from labels left out.
    populations : tuple of LogOddsPopulation
        What is known of log-odds from other problems.
    like_populations : float or None
        Probability, given the labels, that scores are like those of one of them; None if the parts
        were named, so that nothing depends on it.
    """

    families: tuple[Family, ...]
    warps: tuple[float, ...] | None
    averaging: str
    monotone: bool
    hyperparameters: Mapping[str, float]
    combined: bool
    draws: int
    chains: int
    lapse: float | None = 0.0
    populations: tuple[LogOddsPopulation, ...] = ()
    like_populations: float | None = None

    def known(self, names: frozenset[str]) -> dict[str, float]:
        """Return the hyperparameters of some names."""
        return {name: value for name, value in self.hyperparameters.items() if name in names}

    def populations_for(self, data: BinaryScores) -> list[LogOddsPopulation]:
        """Return what is known of log-odds of scores like these."""
        return [each for each in self.populations if data.scores_are in each.scores_are]


class Found(Protocol):
    """The posterior of a part, as its engine returns it."""

    def dataset(self, chains: int, draws: int) -> xr.Dataset:
        """Return the draws, with the dimensions chain and draw."""
        ...

    def constants(self) -> xr.Dataset:
        """Return what the draws need to be in raw score units."""
        ...

    def evidence(self) -> xr.Dataset:
        """Return how well they were made."""
        ...

    def leave_one_out(self, index: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """Return the log-odds of + of some documents, each given all others."""
        ...


@dataclass(frozen=True)
class Task:
    """
    What a part is fitted to.

    Attributes
    ----------
    outlines : Outlines
        Of the documents: what is known of their log-odds before any draws.
    options : Options
        How.
    rng : numpy.random.Generator
        Source of randomness.
    before : mapping of str to Found
        The parts fitted before it, by name.
    """

    outlines: Outlines
    options: Options
    rng: np.random.Generator
    before: Mapping[str, Found]

    @property
    def data(self) -> BinaryScores:
        """Return the documents."""
        return self.outlines.data

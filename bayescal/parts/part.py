"""The interface of a part: all that a model, its results, tables and reports ask of one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayescal.curves.curves import PartCurves
from bayescal.engines.data import BinaryScores
from bayescal.engines.maximum_likelihood import ClassFits
from bayescal.parts.findings import Finding, unresolved
from bayescal.parts.options import Found, Options, Task
from bayescal.parts.places import DRAWS, Groups, Place, place_of
from bayescal.validation import Floats

if TYPE_CHECKING:
    from bayescal.formulas.block import Block

# Class and parameter, what maximum likelihood says, and the draws or the mode.
Row = tuple[tuple[str, str], dict[str, Any], xr.DataArray | None]
NODES = 9


@dataclass(frozen=True)
class Reading:
    """
    What a part may need to read its draws.

    Attributes
    ----------
    centre, spread : float
        Robust centre and spread of the scores fitted.
    score_range : tuple of float
        The smallest and the largest score fitted.
    before : mapping of str to PartCurves
        The parts read before it, by name.
    """

    centre: float
    spread: float
    score_range: tuple[float, float]
    before: Mapping[str, PartCurves]


class Part(ABC):
    """
    A part of a model: one curve of log-odds with a posterior.

    A part of a new kind is a file with a subclass, and its entry in `bayescal.parts.PARTS`.

    Attributes
    ----------
    name : str
        As `parts=` of the estimators, tables and the tree of results say it.
    follows : tuple of str
        Parts that have to be fitted before it, for it starts from them.
    pseudo_documents : float
        Documents' worth of belief in it before any label speaks, in a combination; of parts that
        `belief` has less of at times, the most.
    hyperparameters : frozenset of str
        Names of its prior's parameters.
    importance_weighted : bool
        Whether its draws are picked by importance weights, whose Pareto shape then matters.
    constant_draws : tuple of str
        Variables whose draws may be all the same.
    """

    name: str
    follows: tuple[str, ...] = ()
    pseudo_documents: float = 1.0
    hyperparameters: frozenset[str] = frozenset()
    importance_weighted: bool = True
    constant_draws: tuple[str, ...] = ()

    def joins(self, data: BinaryScores, options: Options) -> bool:
        """Return whether it is part of the combination; False for those to be asked for by name."""
        return False

    def belief(self, options: Options) -> float:
        """Return how many documents belief in it is worth before any label is left out."""
        return self.pseudo_documents

    def given(self, options: Options) -> dict[str, float]:
        """Return its hyperparameters of those given: all where it is alone, to refuse others."""
        if not options.combined:
            return dict(options.hyperparameters)
        return options.known(self.hyperparameters)

    @abstractmethod
    def fit(self, task: Task) -> Found:
        """Return its posterior."""

    def place(self, found: Found, *, first: bool) -> Place:
        """Return where a tree keeps it."""
        return place_of(self.name, self.name, first=first)

    @abstractmethod
    def read(self, groups: Groups, place: Place, reading: Reading) -> PartCurves:
        """
        Return its curves.

        Raises
        ------
        ValueError
            If draws are not finite.
        """

    def raw(self, curves: PartCurves, draws: xr.Dataset, reading: Reading) -> xr.Dataset:
        """Return the draws in raw score units, for people: by default log-odds at some scores."""
        low, high = reading.score_range
        return at_scores(curves, draws, np.linspace(low, high, NODES))

    def rows(
        self, fits: ClassFits, posterior: xr.Dataset, place: Place, labels: tuple[str, str]
    ) -> Iterator[Row]:
        """Yield the rows of `ScoreCalibrator.summary`: by default the log-odds of `raw`."""
        scores = posterior["score"].values
        for k, (score, mle) in enumerate(zip(scores, fits.log_odds(scores), strict=True)):
            name = ("log-odds", f"at {score:.6g}")
            yield name, {"mle": float(mle), "guard": ""}, posterior["log_odds"].isel(score=k)

    def findings(self, name: str, evidence: xr.Dataset) -> Iterator[Finding]:
        """Yield what is wrong with how the draws were made."""
        return unresolved(name, evidence)

    def describe(self, options: Options, scale: tuple[float, float] | None) -> list[Block]:
        """
        Return itself in words and formulas.

        Parameters
        ----------
        options : Options
            Of the fit.
        scale : tuple of float or None
            Centre and spread of the scores fitted; None where problems have each their own.
        """
        from bayescal.formulas.block import Block

        return [Block(self.name, (type(self).__doc__ or "").strip().partition("\n")[0])]

    def prior(self, task: Task, curves: PartCurves, posterior: xr.Dataset) -> xr.Dataset:
        """
        Return one chain of draws from its prior, of the variables of `raw`.

        Raises
        ------
        ValueError
            If the part cannot draw from its prior.
        """
        raise ValueError(f"the part {self.name!r} does not draw from its prior.")


def at_scores(curves: PartCurves, draws: xr.Dataset, at: Floats, dim: str = "score") -> xr.Dataset:
    """Return the log-odds of every draw at some scores, or along another dimension."""
    shape = tuple(draws.sizes[name] for name in DRAWS)
    log_odds = (*DRAWS, dim), curves.log_odds(at).reshape(*shape, at.size)
    coords = {name: draws[name].variable for name in DRAWS} | {dim: (dim, at)}
    return xr.Dataset({"log_odds": log_odds, "prior": draws["prior"].variable}, coords)

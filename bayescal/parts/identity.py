"""Scores that are log-odds already, taken at their word: do not calibrate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.curves.identity_draws import IdentityDraws
from bayescal.engines.data import BinaryScores
from bayescal.parts.options import Found, Options, Task
from bayescal.parts.part import Part, Reading
from bayescal.parts.places import Groups, Place
from bayescal.validation import Floats


@dataclass(frozen=True)
class Untouched:
    """
    What there is to say of scores that nothing was fitted to.

    Attributes
    ----------
    score : array of shape (n,)
        Log-odds.
    """

    score: Floats

    def dataset(self, chains: int, draws: int) -> xr.Dataset:
        """Return nothing."""
        return xr.Dataset()

    def constants(self) -> xr.Dataset:
        """Return nothing."""
        return xr.Dataset()

    def evidence(self) -> xr.Dataset:
        """Return nothing."""
        return xr.Dataset()

    def leave_one_out(self, index: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """Return the scores of some documents."""
        return self.score[index]


class IdentityPart(Part):
    """The score itself as log-odds."""

    name = "identity"

    def joins(self, data: BinaryScores, options: Options) -> bool:
        """Return whether the scores are said to be log-odds, or probabilities."""
        return data.scores_are != "scores"

    def fit(self, task: Task) -> Untouched:
        """Return the scores: there is nothing to fit."""
        return Untouched(task.data.score)

    def place(self, found: Found, *, first: bool) -> Place:
        """Return no place: there are no draws to keep."""
        return Place(self.name, self.name, ())

    def read(self, groups: Groups, place: Place, reading: Reading) -> IdentityDraws:
        """Return as many draws as another part has, and its class prior."""
        other = next(iter(reading.before.values()))
        return IdentityDraws(other.prior, np.zeros(other.size))


IDENTITY = IdentityPart()

"""Scores that are log-odds already, without calibration."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.fitting.curves.log_odds_draws import IdentityDraws
from bayescal.fitting.parts.part import Groups, Options, Part, PartPaths, Reading, Task
from bayescal.fitting.scores import BinaryScores
from bayescal.support.validation import Floats


@dataclass(frozen=True)
class Untouched:
    """The result of a part without parameters."""

    score: Floats  # (n,): log-odds

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


IDENTITY = IdentityPart()

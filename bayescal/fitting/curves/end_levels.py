"""Curves with levels of their own at ends of the scores; see `engines.atoms`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from scipy import special

from bayescal.fitting.engines.atoms import GROUP, EndLevels, Ends
from bayescal.fitting.posterior import Posterior, check_finite, log_odds_of_mean, unpack
from bayescal.fitting.scores import BinaryScores
from bayescal.support.validation import Floats

# A probability that a level without its lapses may have at least.
SMALLEST = 1e-6


@dataclass(frozen=True)
class LevelledCurves(Posterior):
    """A part's curves between ends of the scores that have levels of their own."""

    drawn: ClassVar = ("part", "level", "prior")

    part: Posterior  # fitted to the documents that are at no such end
    ends: Ends
    level: Floats  # (draws, ends): log-odds there
    prior: Floats  # (draws,): P(+) of all documents

    @property
    def densities(self) -> Any:
        """Return the draws of the part's class densities, if it has any."""
        return self.part.densities

    def with_prior(self, prior: Floats) -> LevelledCurves:
        """Return the same draws for a class prior: the part's own moves by as much as that."""
        moved = special.logit(prior) - special.logit(self.prior)
        part = self.part.with_prior(special.expit(special.logit(self.part.prior) + moved))
        return replace(self, part=part, level=self.level + moved[:, None], prior=prior)

    def log_odds(self, scores: Floats) -> Floats:
        """Return log-odds of shape (draws, scores)."""
        return self._levelled(self.part.log_odds(scores), scores, self.level)

    def predictive(self, scores: Floats) -> Floats:
        """Return the log-odds of P(+ | s, data), shape (scores,)."""
        level = log_odds_of_mean(self.level)
        return self._levelled(self.part.predictive(scores), scores, level)

    def label_log_odds(self, data: BinaryScores) -> Floats:
        """Return log-odds of the documents fitted, as the part saw them; (draws, documents)."""
        return self._levelled(self.part.label_log_odds(data), data.score, self.level)

    def seen(self, data: BinaryScores, log_score: Floats) -> Floats | None:
        """Return the log likelihood of each document under each draw's posterior."""
        own = self.part.seen(data, log_score)
        return None if own is None else np.where(self.ends.of(data.score) >= 0, log_score, own)

    def _levelled(self, curves: Floats, scores: Floats, level: Floats) -> Floats:
        """Return curves (..., scores) with levels (..., ends) in place of those at the ends."""
        at = self.ends.of(scores)
        tied = np.flatnonzero(at >= 0)
        if not tied.size:
            return curves
        out = curves.copy()
        out[..., tied] = level[..., at[tied]]
        return out


def read_levels(
    groups: Mapping[str, xr.Dataset], curves: tuple[Posterior, ...], lapse: Floats | None
) -> tuple[Posterior, ...]:
    """Return the parts' curves with the levels that a tree holds, if it holds any."""
    if GROUP not in groups:
        return curves
    found = unpack(EndLevels, groups[GROUP])
    level, prior = found.level, found.prior
    check_finite("the levels", level, prior)
    if lapse is not None:
        # Lapses are added to all documents' probabilities; the levels have them already. Their
        # mean, since a draw of many lapses is no draw of a high level.
        rate = float(lapse.mean())
        level = (level - rate * prior.mean()) / (1.0 - rate)
    log_odds = special.logit(np.clip(level, SMALLEST, 1.0 - SMALLEST))
    return tuple(LevelledCurves(each, found.ends, log_odds, prior) for each in curves)

"""A part that knows the share of positives and nothing else."""

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from scipy import special

from bayescal.fitting.parts.part import Part
from bayescal.fitting.posterior import SAMPLE, Posterior


@dataclass(frozen=True)
class BaseRateDraws(Posterior):
    axes = {"prior": (SAMPLE,)}  # noqa: RUF012
    drawn = ("prior",)

    prior: np.ndarray

    def with_prior(self, prior):
        return replace(self, prior=prior)

    def log_odds(self, scores):
        return np.repeat(special.logit(self.prior)[:, None], scores.size, axis=1)


@dataclass(frozen=True)
class BaseRateFound:
    counts: tuple[float, float]
    positive: np.ndarray
    posterior: BaseRateDraws

    def evidence(self):
        return xr.Dataset({"resolved": 1})

    def leave_one_out(self, index, rng):
        negatives, positives = self.counts
        own = self.positive[index]
        log_odds = np.log(positives - own + 1.0) - np.log(negatives - ~own + 1.0)
        return log_odds, np.full(index.size, -np.inf)


class BaseRatePart(Part):
    """The share of positives, whatever the score."""

    name = "base_rate"
    kind_of_draws = BaseRateDraws

    def fit(self, task):
        data, options = task.data, task.options
        counts = data.total(False), data.total(True)
        draws = task.rng.beta(1.0 + counts[1], 1.0 + counts[0], options.draws * options.chains)
        return BaseRateFound(counts, data.positive, BaseRateDraws(draws))

"""A part that knows the share of positives and nothing else."""

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from scipy import special

from bayescal.fitting.curves.curves import LogOddsCurves, check_finite
from bayescal.fitting.parts.part import Part


@dataclass(frozen=True)
class BaseRateCurves(LogOddsCurves):
    prior: np.ndarray

    @property
    def size(self):
        return self.prior.size

    def take(self, index):
        return replace(self, prior=self.prior[index])

    def with_prior(self, prior):
        return replace(self, prior=prior)

    def log_odds(self, scores):
        return np.repeat(special.logit(self.prior)[:, None], scores.size, axis=1)


@dataclass(frozen=True)
class BaseRateFound:
    counts: tuple[float, float]
    positive: np.ndarray
    prior: np.ndarray

    def dataset(self, chains, draws):
        return xr.Dataset(
            {"prior": (("chain", "draw"), self.prior.reshape(chains, draws))},
            {"chain": np.arange(chains), "draw": np.arange(draws)},
        )

    def constants(self):
        return xr.Dataset()

    def evidence(self):
        return xr.Dataset({"resolved": 1})

    def leave_one_out(self, index, rng):
        negatives, positives = self.counts
        own = self.positive[index]
        return np.log(positives - own + 1.0) - np.log(negatives - ~own + 1.0)


class BaseRatePart(Part):
    """The share of positives, whatever the score."""

    name = "base_rate"

    def fit(self, task):
        data, options = task.data, task.options
        counts = data.total(False), data.total(True)
        draws = task.rng.beta(1.0 + counts[1], 1.0 + counts[0], options.draws * options.chains)
        return BaseRateFound(counts, data.positive, draws)

    def read(self, groups, paths, reading):
        prior = groups[paths.draws[0]]["prior"].values.ravel()
        check_finite(f"the part {paths.name!r}", prior)
        return BaseRateCurves(prior)

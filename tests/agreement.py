"""What tests of engines against NUTS share: quantiles, limits, effective sample sizes."""

import numpy as np
from arviz_stats.base import array_stats

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
# Of a thousand comparisons: standard normal numbers pass it once in 130 runs.
LIMIT = 4.5


def effective(chains, **kind):
    """Return the effective sample size of each quantity; chains of shape (chain, draw, k)."""
    return array_stats.ess(np.moveaxis(chains, -1, 0), **kind)

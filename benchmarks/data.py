"""A million scores of two skewed classes."""

import numpy as np


def million(n=1_000_000, share=0.2):
    """Return scores and whether each is positive."""
    rng = np.random.default_rng(0)
    positive = rng.random(n) < share
    return np.where(positive, rng.gumbel(1, 1, n), rng.standard_t(4, n) - 1), positive

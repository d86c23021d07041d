"""Uniformity of the ranks of the truth among posterior draws.

Säilynoja, Bürkner and Vehtari (Statistics and Computing 32, 2022, arXiv:2103.10522). N ranks
among `draws` independent draws take the values 0, ..., draws with equal probability; so the number
of those not above j is Binomial(N, z_j), z_j = (j + 1)/(draws + 1). The pointwise two-sided
tail probability of the counts, minimised over j, is the statistic

    gamma = min_j 2 min( P(B_j <= count_j), P(B_j >= count_j) ),   B_j ~ Binomial(N, z_j).

Its distribution under uniform ranks is simulated. The p-value of observed ranks is the share of
simulated gammas that are no larger.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.support.validation import Floats

REFERENCE_SETS = 10_000
SEED = 2103_10522

Ranks = NDArray[np.intp]


def p_value(ranks: Ranks, draws: int) -> float:
    """Return the p-value of the ranks: the share of uniform ranks with so small a gamma."""
    reference = reference_gammas(ranks.size, draws)
    observed = _gamma(cumulative_counts(ranks[None], draws), ranks.size)[0]
    return float((np.searchsorted(reference, observed * (1 + 1e-9)) + 1) / (reference.size + 1))


@cache
def reference_gammas(n_ranks: int, draws: int) -> Floats:
    """Return sorted gammas of uniform ranks."""
    rng = np.random.default_rng(SEED)
    probability = np.full(draws + 1, 1.0 / (draws + 1))
    counts = rng.multinomial(n_ranks, probability, size=REFERENCE_SETS).cumsum(axis=1)
    return np.sort(_gamma(counts, n_ranks))


def cumulative_counts(ranks: Ranks, draws: int) -> Ranks:
    """Return the number of ranks not above each j, for sets of ranks in rows."""
    return np.stack([np.bincount(row, minlength=draws + 1).cumsum() for row in ranks])


def _gamma(counts: Ranks, n_ranks: int) -> Floats:
    # The last count is always n_ranks.
    count, draws = counts[:, :-1], counts.shape[1] - 1
    z = np.arange(1, draws + 1) / (draws + 1)
    tails = np.minimum(special.bdtr(count, n_ranks, z), special.bdtrc(count - 1, n_ranks, z))
    return np.asarray(2.0 * tails.min(axis=1), dtype=np.float64)

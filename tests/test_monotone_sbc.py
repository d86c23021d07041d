"""Simulation-based calibration of the monotone engine, and that it rejects wrong engines.

Parameters from the prior, labels from the parameters, posterior from the labels: the rank of each
true value among its posterior draws is uniform (Talts et al., arXiv:1804.06788).
"""

import numpy as np
import pytest
import scipy.stats as st

from bayescal.distributions import programs
from bayescal.fitting.engines.monotone.density import Pieces, Prior
from bayescal.fitting.engines.monotone.posterior import draw_monotone

SIMULATIONS, DRAWS, BINS, SIZE = 400, 99, 10, 40
PIECES = Pieces(np.array([-1.0, 0.0, 1.0]), 0.0)
AT = np.array([-2.0, 0.0, 0.5, 2.0])


def ranks(prior):
    """Return the ranks of the curve at some scores; shape (simulations, scores)."""
    rng = np.random.default_rng(11)
    knots = {"knots": PIECES.knots, "reference": 0.0}
    truth = programs.load("monotone_log_odds").simulate(SIZE, rng, draws=SIMULATIONS, **knots)
    out = []
    for x, label, a, b in zip(*(truth[k] for k in ("score", "label", "intercept", "slope"))):  # noqa: B905
        found = draw_monotone(x, label == 1, None, prior, DRAWS, rng, pieces=PIECES)
        out.append(np.sum(found.log_odds(AT) < a + PIECES.basis(AT) @ b, axis=0))
    return np.array(out)


def uniform_pvalue(rank):
    counts = np.bincount(rank * BINS // (DRAWS + 1), minlength=BINS)
    return st.chisquare(counts).pvalue


@pytest.mark.slow
def test_ranks_are_uniform():
    found = ranks(Prior())
    assert min(uniform_pvalue(rank) for rank in found.T) > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [{"intercept_scale": 1.5}, {"slope_location": -1.0}])
def test_a_wrong_engine_is_rejected(wrong):
    found = ranks(Prior(**wrong))
    assert min(uniform_pvalue(rank) for rank in found.T) < 1e-4

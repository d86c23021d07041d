"""Laplace's approximation of a posterior's evidence, from its modes before any draws."""

import numpy as np
import pytest

from bayescal.fitting.engines.monotone import posterior
from bayescal.fitting.engines.monotone.density import Pieces, Prior
from bayescal.fitting.engines.monotone.engine import LaplaceFits
from bayescal.fitting.engines.monotone.posterior import draw_within, fit_laplace
from bayescal.fitting.scores import BinaryScores

PRIORS = {
    "vague": Prior(),
    "narrow": Prior(intercept_location=-2.0, intercept_scale=0.5, slope_scale=0.3, walk_scale=0.5),
    "wide": Prior(intercept_scale=20.0, slope_location=2.0, slope_scale=3.0, walk_freedom=2.0),
}
WORST = 0.4  # nats


def laplace_fit(prior, *, n_positive=5, n=60, segments=9):
    """Return the approximation of a sample's posterior."""
    positive = np.arange(n) < n_positive
    x = np.random.default_rng(n_positive).normal(1.5 * positive)
    return fit_laplace(x, positive, None, prior, n_segments=segments)


def error(found):
    """Return the distance of Laplace's log evidence from that of weighted draws."""
    drawn = draw_within(found, 4000, np.random.default_rng(0))
    return found.log_evidence - drawn.log_evidence


@pytest.mark.parametrize("segments", [1, 9, 13])
@pytest.mark.parametrize("n_positive", [1, 5, 30])
@pytest.mark.parametrize("name", PRIORS)
def test_evidence_of_modes_is_near_that_of_draws(name, n_positive, segments):
    found = laplace_fit(PRIORS[name], n_positive=n_positive, segments=segments)
    assert abs(error(found)) < WORST


def test_a_narrow_prior_leaves_almost_nothing_to_approximate():
    """So that constants of the grid of scales have to be right."""
    for segments in (1, 9, 13):
        assert abs(error(laplace_fit(PRIORS["narrow"], segments=segments))) < 0.05


def test_a_scale_left_out_is_missed(monkeypatch):
    """The negative: what one scale of the walk says is not what all of them do."""
    monkeypatch.setattr(posterior, "MOST_STEPS_OUT", 0)
    assert abs(error(laplace_fit(PRIORS["vague"]))) > WORST


def test_approximations_are_made_once_and_distinguished_by_all_they_depend_on():
    positive = np.arange(40) < 12
    laplace_fits = LaplaceFits(
        BinaryScores(np.random.default_rng(0).normal(1.5 * positive), positive)
    )
    knots = Pieces(np.array([0.0, 1.0]), 0.5)
    first = laplace_fits.of(0.0, 1.0, np.inf, Prior(), pieces=knots)
    assert laplace_fits.of(0.0, 1.0, np.inf, Prior(), pieces=knots) is first
    others = [
        laplace_fits.of(0.5, 1.0, np.inf, Prior(), pieces=knots),
        laplace_fits.of(0.0, 2.0, np.inf, Prior(), pieces=knots),
        laplace_fits.of(0.0, 1.0, 1.0, Prior(), pieces=knots),
        laplace_fits.of(0.0, 1.0, np.inf, PRIORS["narrow"], pieces=knots),
        laplace_fits.of(0.0, 1.0, np.inf, Prior(), pieces=Pieces(np.array([0.2]), 0.5)),
        laplace_fits.of(0.0, 1.0, np.inf, Prior(), n_segments=1),
        laplace_fits.of(0.0, 1.0, np.inf, Prior(), n_segments=5),
    ]
    evidence = [each.log_evidence for each in (first, *others)]
    assert np.unique(np.round(evidence, 6)).size == len(evidence)

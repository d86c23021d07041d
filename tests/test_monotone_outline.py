"""What modes tell of a posterior before any draws: Laplace's approximation of its evidence."""

import numpy as np
import pytest

from bayescal.engines.monotone import proposal
from bayescal.engines.monotone.density import Prior
from bayescal.engines.monotone.posterior import draw_within, outline

PRIORS = {
    "vague": Prior(),
    "narrow": Prior(intercept_location=-2.0, intercept_scale=0.5, slope_scale=0.3, walk_scale=0.5),
    "wide": Prior(intercept_scale=20.0, slope_location=2.0, slope_scale=3.0, walk_freedom=2.0),
}
WORST = 0.4  # nats


def outlined(prior, *, n_positive=5, n=60, segments=9):
    """Return the outline of a sample's posterior."""
    positive = np.arange(n) < n_positive
    x = np.random.default_rng(n_positive).normal(1.5 * positive)
    return outline(x, positive, None, prior, n_segments=segments)


def error(found):
    """Return how far Laplace's log evidence is from that of weighted draws."""
    drawn = draw_within(found, 4000, np.random.default_rng(0))
    return found.log_evidence - drawn.log_evidence


@pytest.mark.parametrize("segments", [1, 9, 13])
@pytest.mark.parametrize("n_positive", [1, 5, 30])
@pytest.mark.parametrize("name", PRIORS)
def test_evidence_of_modes_is_near_that_of_draws(name, n_positive, segments):
    found = outlined(PRIORS[name], n_positive=n_positive, segments=segments)
    assert abs(error(found)) < WORST


def test_a_narrow_prior_leaves_next_to_nothing_to_approximate():
    """So that constants of the grid of scales have to be right."""
    for segments in (1, 9, 13):
        assert abs(error(outlined(PRIORS["narrow"], segments=segments))) < 0.05


def test_a_scale_left_out_is_missed(monkeypatch):
    """The negative: what one scale of the walk says is not what all of them do."""
    monkeypatch.setattr(proposal, "MOST_STEPS_OUT", 0)
    assert abs(error(outlined(PRIORS["vague"]))) > WORST

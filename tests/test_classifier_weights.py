"""The engine of weights draws from the posterior that NUTS found of the program."""

import numpy as np
import pytest
from scipy import optimize

from bayescal.engines.classifier_weights.design import Design
from bayescal.engines.classifier_weights.engine import draw_weights, fit_modes, follow
from bayescal.engines.classifier_weights.mode import Population, find_mode
from bayescal.engines.classifier_weights.prior import Scales, WeightsPrior, centre_of_weights
from tests.nuts_reference import LEAST_EFFECTIVE, LIMIT, from_independent, stored
from tests.weights_cases import CENTRE, NAMES, case

DRAWS = 8000


def drawn(name, prior=None):
    """Return the engine's draws of all problems' coefficients, and what it says of them."""
    nodes = fit_modes(case(name).designs(), CENTRE, prior or WeightsPrior())
    return draw_weights(nodes, DRAWS, np.random.default_rng(5))


def apart(name, prior=None):
    """Return how many standard errors the engine is from NUTS: (statistic, quantity)."""
    found = drawn(name, prior)
    # As many independent draws as the proposals' weights are worth, of two for each draw.
    size = DRAWS * min(1.0, 2.0 * min(each.efficiency for each in found))
    draws = np.concatenate([each.draws for each in found], axis=1)
    return from_independent(draws, stored(f"classifier_weights, {name}"), size)


@pytest.mark.parametrize("name", NAMES)
def test_means_sds_and_quantiles_agree(name):
    assert stored(f"classifier_weights, {name}").effective > LEAST_EFFECTIVE
    assert np.abs(apart(name)).max() < LIMIT

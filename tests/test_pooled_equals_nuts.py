"""The pooled engine's posterior is that of NUTS, within Monte Carlo error.

One integrates every topic out and weighs populations; the other samples the program `topics` by
its gradients. A chain without gradients is a second reference of asymmetric families, in
tests/test_pooled_equals_metropolis.py.
"""

from functools import cache

import numpy as np
import pytest

from bayescal.engines.pooled.sampled import Sampler
from bayescal.families import FAMILIES
from tests.agreement import LIMIT, effective
from tests.pooled_tools import deviations, engine, halve, of_class, quantities

pytestmark = [
    pytest.mark.slow,
    # PyMC's energy of a trajectory that diverges while step sizes are still tuned.
    pytest.mark.filterwarnings("ignore:overflow encountered in:RuntimeWarning"),
]
CHAINS, DRAWS = 2, 1000
FAMILIES_DRAWN = ["gaussian", "laplace", "asymmetric_laplace"]


@cache
def nuts(family):
    """Return the posterior of both classes, with the sampler's statistics."""
    return Sampler(options={"tune": 800})(
        (of_class(0), of_class(1)),
        FAMILIES[family],
        np.random.default_rng(1),
        draws=DRAWS,
        chains=CHAINS,
        scale=(0.0, 1.0),
    )


def apart(family, klass):
    """Return how far the engine's draws of a class are from NUTS's, in standard errors."""
    found = nuts(family)
    drawn = quantities(family, found.population[klass], found.sides[klass])
    runs = [quantities(family, *run) for run in zip(*engine(family, klass), strict=True)]
    chains = drawn.reshape(CHAINS, DRAWS, -1)
    # Fewer effective draws would see little.
    assert effective(chains, method="bulk").min() > 400
    return np.abs(deviations(np.array(runs), chains)).max()


@pytest.mark.parametrize("family", FAMILIES_DRAWN)
def test_means_sds_and_quantiles_agree(family):
    assert max(apart(family, klass) for klass in (0, 1)) < LIMIT
    assert float(nuts(family).sample_stats["diverging"].mean()) < 0.001


@pytest.mark.parametrize("halved", ["log_scale", "log_shape"])
def test_another_hyperprior_is_rejected(halved, monkeypatch):
    nuts("gaussian")
    halve(halved, 2, monkeypatch)
    assert apart("gaussian", 1) > LIMIT

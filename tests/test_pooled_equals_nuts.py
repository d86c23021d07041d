"""The pooled engine's posterior is that of NUTS, within Monte Carlo error.

One integrates every topic out and weighs populations; the other sampled the program `topics` by
its gradients, at length (tests/nuts_reference.py). A chain without gradients is a second reference
of asymmetric families, in tests/test_pooled_equals_metropolis.py.
"""

import numpy as np
import pytest

from tests.nuts_reference import LEAST_EFFECTIVE, LIMIT, from_runs, stored
from tests.pooled_tools import SAMPLED, engine, halve, quantities


def apart(family, klass):
    """Return the distance of the engine's draws of a class from NUTS's, in standard errors."""
    runs = [quantities(family, *run) for run in zip(*engine(family, klass), strict=True)]
    reference = stored(f"topics, {family}, class {klass}")
    return np.abs(from_runs(np.array(runs), reference)).max()


@pytest.mark.slow
@pytest.mark.parametrize("klass", [0, 1])
@pytest.mark.parametrize("family", SAMPLED)
def test_means_sds_and_quantiles_agree(family, klass):
    reference = stored(f"topics, {family}, class {klass}")
    assert reference.effective > LEAST_EFFECTIVE
    assert reference.divergent < 0.001
    assert apart(family, klass) < LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("halved", ["log_scale", "log_shape"])
def test_another_hyperprior_is_rejected(halved, monkeypatch):
    halve(halved, 2, monkeypatch)
    assert apart("gaussian", 1) > LIMIT

"""The engine of several classes and its PyMC program have the same density."""

import numpy as np
import pytest

from bayescal.distributions import programs
from tests.multiclass_tools import log_scores, posterior_of, random_point
from tests.uncompiled import UNCOMPILED

LOG_P = log_scores(12, 3, 4)
LABEL = np.random.default_rng(3).integers(3, size=12)
BEST = LOG_P.argmax(axis=1)
SETS = {
    "overlapping": (LOG_P, LABEL),
    "separated": (LOG_P, BEST),
    "tied": (LOG_P[np.arange(12) % 3], LABEL),
    "tiny": (LOG_P[:2], LABEL[:2]),
}


def hyperparameters(posterior):
    made, prior = posterior.likelihood.design, posterior.prior
    names = ("gain", "warp", "asymmetry")
    out = {f"{name}_location": posterior.mean[k] for k, name in enumerate(names)}
    out |= {f"{name}_scale": posterior.sd[k] for k, name in enumerate(names)}
    return out | {
        "unit": made.unit,
        "anchor": made.anchor,
        "centre": made.centre,
        "size": made.size,
        "lapse_alpha": prior.lapse[0],
        "lapse_beta": prior.lapse[1],
        "scales": posterior.scales,
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_density_is_the_program_s(name):
    log_p, label = SETS[name]
    posterior = posterior_of(log_p, label)
    program = programs.load("joint_multiclass").model(log_p, label, **hyperparameters(posterior))
    log_density = program.compile_logp(jacobian=False, mode=UNCOMPILED)
    differences = []
    for seed in range(4):
        point = random_point(posterior, seed)
        maps = posterior.maps(point[None])
        scale = np.exp(point[4 : posterior.first])
        theta = maps.theta[0]
        root = point[3]
        ratio = 2.0 * (posterior.scales / scale) ** 2
        lapse = root**2 / (1.0 + root**2)
        confusion = theta[3:].T[~np.eye(3, dtype=bool)]
        values = {
            "log_gain": maps.globals_[0, 0],
            "warp": maps.globals_[0, 1],
            "asymmetry": maps.globals_[0, 2],
            "lapse_logodds__": np.log(lapse / (1.0 - lapse)),
            "ratio_log__": np.log(ratio),
            "bias": theta[0],
            "slope": theta[1],
            "certainty": theta[2],
            "confusion": confusion,
        }
        # From the program's parameters to the engine's coordinates.
        jacobian = np.log1p(maps.globals_[0, 2]) + np.log(ratio).sum()
        jacobian += np.log(2.0 * abs(root) / (1.0 + root**2) ** 2)
        jacobian += np.log(scale)[posterior.block].sum()
        differences.append(posterior(point[None])[0][0] - log_density(values) - jacobian)
    np.testing.assert_allclose(differences, differences[0], atol=1e-6)


@pytest.mark.slow
def test_simulate_draws_labels_from_the_map():
    drawn = programs.load("joint_multiclass").simulate(
        200, np.random.default_rng(0), scales=(1e-6,) * 4, gain_scale=1e-6, warp_scale=1e-6,
        warp_location=1.0, asymmetry_location=0.0, asymmetry_scale=1e-6, lapse_beta=1e6,
        gain_location=0.0, draws=20,
    )  # fmt: skip
    p = np.exp(drawn["score"])
    assert drawn["label"].shape == (20, 200)
    hit = np.take_along_axis(p, drawn["label"][..., None], axis=2)[..., 0]
    # The labels' mean probability is that of labels drawn from the scores themselves.
    expected, error = (p**2).sum(axis=2), np.sqrt(0.25 / hit.size)
    assert abs(hit.mean() - expected.mean()) < 4.0 * error

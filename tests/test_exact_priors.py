"""The exact engine's joint density is the programs', for every family and hyperparameter."""

import numpy as np
import pytest
import scipy.stats as st
from scipy import special

from bayescal.distributions import programs
from bayescal.families import FAMILIES
from bayescal.fitting.engines.exact.engine import fit_densities
from bayescal.fitting.engines.exact.joint_density import DensityPrior, DeviationSums, JointDensity
from bayescal.fitting.parts.densities import in_raw_units
from bayescal.fitting.scores import BinaryScores
from tests.test_programs import seen_by_the_sampler
from tests.uncompiled import UNCOMPILED

RNG = np.random.default_rng(21)
SCORE = np.concatenate([RNG.normal(2, 3, 7), RNG.normal(9, 2, 4)])
POSITIVE = np.arange(11) >= 7
# Overlapping, separated, tied, and tiny.
SETS = [
    (SCORE, POSITIVE),
    (np.where(POSITIVE, SCORE + 50.0, SCORE), POSITIVE),
    (np.round(SCORE / 4.0), POSITIVE),
    (np.full(5, 2.0), np.arange(5) >= 3),
    (np.array([0.0, 1.0]), np.array([False, True])),
    (np.arange(3.0), np.zeros(3, dtype=bool)),
]


def class_log_density(x, power, prior, hyper, theta, share, width):
    """log p(x, theta, share, width^power) in raw units, from the exact engine's pieces."""
    centre, spread = hyper["centre"], hyper["spread"]
    joint = JointDensity(DeviationSums((x - centre) / spread, None, power), prior)
    mode = np.array([(theta - centre) / spread])
    left, right = joint.sums(mode)
    v = np.array([0.0 if prior.symmetric else special.logit(share)])
    density = joint.log_density(mode, v, left, right).item()
    if not prior.symmetric:
        density -= np.log(share) + np.log1p(-share)
    scale = joint.scale + joint.spread(v, left, right).item()
    density += st.invgamma(joint.shape, scale=scale).logpdf((width / spread) ** power)
    return density - np.log(spread) * (1 + power + x.size)


@pytest.mark.slow
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_joint_density_is_the_program_s(family):
    program, symmetric = programs.load(family), FAMILIES[family].symmetric
    for score, positive in SETS:
        hyper = {
            name: float(RNG.uniform(0.5, 4.0)) if name != "centre" else float(RNG.normal(0, 5))
            for name in program.hyperparameters()
        }
        model = program.model(score, positive.astype(int), **hyper)
        log_density = model.compile_logp(jacobian=False, mode=UNCOMPILED)
        theta, width, prior_positive = RNG.normal(3, 3, 2), RNG.gamma(4, 1, 2), RNG.uniform()
        share = np.full(2, 0.5) if symmetric else RNG.uniform(0.1, 0.9, 2)
        point = {
            "prior": prior_positive,
            "theta": theta,
            "mu": theta,
            "left_share": share,
            "width": width,
            "squared_width": width**2,
        }
        names = ("theta_scale", "width_shape", "width_scale", "share_alpha", "share_beta")
        prior = DensityPrior(**{n: hyper[n] for n in names if n in hyper}, symmetric=symmetric)
        expected = st.beta(hyper["prior_alpha"], hyper["prior_beta"]).logpdf(prior_positive)
        expected += st.bernoulli(prior_positive).logpmf(positive).sum()
        for k, which in enumerate((~positive, positive)):
            expected += class_log_density(
                score[which], FAMILIES[family].power, prior, hyper, theta[k], share[k], width[k]
            )
        found = float(log_density(seen_by_the_sampler(model, point)))
        assert found == pytest.approx(float(expected), abs=1e-6)


def drawn(family, data, hyperparameters=None):
    rng, families = np.random.default_rng(0), (FAMILIES[family],)
    found = fit_densities(families, data, rng, draws=200, hyperparameters=hyperparameters)
    return in_raw_units(found.posterior, (1, 200))


def test_every_hyperparameter_is_taken():
    data = BinaryScores(SCORE, POSITIVE)
    for family in FAMILIES:
        defaults = programs.load(family).hyperparameters()
        plain = drawn(family, data)
        for name in defaults:
            changed = {name: 3.7}
            assert not drawn(family, data, changed).equals(plain), (family, name)

"""Distributions for PyMC, their transforms, and programs, evaluated without compiling."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from bayescal import Density, distributions
from bayescal.distributions import programs
from tests.uncompiled import UNCOMPILED, value_of

RNG, TOPIC, LABEL = np.random.default_rng(6), np.arange(12) // 4, np.arange(12) % 3 == 0
SCORE, GAP = np.round(RNG.normal(size=12), 1), np.r_[0.0:20.0, 90.0:110.0]
X, Q = ([[x, x] for x in each] for each in ([-40.0, -1.3, 0.4, 2.5, 30.0], [0, 0.01, 0.4, 0.9, 1]))
VARIABLES = {
    "laplace": distributions.AsymmetricLaplace.dist(0.4, [0.7, 2.0], [1.6, 0.3]),
    "gaussian": distributions.AsymmetricGaussian.dist(0.4, [0.7, 2.0], [1.6, 0.3]),
    "logit": distributions.LogitBeta.dist([0.3, 2.0], [1.6, 0.3]),
    "mode": distributions.NormalMode.dist(0.3, [2.0, 0.4], 0.2, 1.4, [0.7, 0.1]),
    "gamma": pm.InverseGamma.dist(3.0, [2.0, 0.4]),
}
TRANSFORMS = [
    ("mode", distributions.Anchored([3.0, 0.0])),
    ("logit", distributions.Relative(distributions.of_beta, 8)),
    ("gamma", distributions.Relative(distributions.of_inverse_gamma, [0, 50])),
    ("gamma", distributions.Standardised(2.0, 3.0)),
]


def variables():
    results = {}
    for name, each in list(VARIABLES.items())[:4]:
        asked = [pm.logp(each, X), *pm.draw([each], 3, random_seed=1, mode=UNCOMPILED)]
        if name in ("laplace", "gaussian"):
            asked += [pm.logcdf(each, X), pm.icdf(each, Q), pm.logccdf(each, X)]
        results[name] = [value_of(pt.as_tensor(one)) for one in asked]
    for k, (name, each) in enumerate(TRANSFORMS):
        inputs = [pt.as_tensor(np.divide(X, 4.0)), *VARIABLES[name].owner.inputs]
        ways = each.forward, each.backward, each.log_jac_det
        results[f"transform {k}"] = [value_of(way(*inputs)) for way in ways]
    return results


def grouped():
    results, theta = {}, pt.as_tensor([0.1, -9.0, 0.3, 2.0])
    for power in (1, 2):
        scores = distributions.GroupedScores(SCORE, TOPIC, 4, power=power, weight=1.0 + LABEL)
        asked = [*scores.deviations(theta), scores.quantile(np.array([0.0, 0.3, 0.8, 0.5]))]
        total = scores.log_density(theta, 0.6, 1.1)
        results[str(power)] = [
            value_of(one) for one in (*asked, total, pt.grad(total.sum(), theta))
        ]
    given = (SCORE, None, 4), (SCORE, 1.0 + LABEL, 3), (GAP, None, 5), (GAP, None, 1)
    knots = [distributions.place_knots(x, np.arange(x.size) % 3 == 0, *each) for x, *each in given]
    pieces = [distributions.number_of_pieces(n) for n in (5, 300, 1e5)]
    return results | {"knots": knots, "pieces": pieces}


def models():
    sigma = {"sigma": Density("HalfNormal", sigma=0.7)}
    made = Density("StudentT", nu=4), Density("Normal", sigma), Density("Laplace", b=(1.0, 2.0))
    own = [each.record().program() for each in made]
    results = {
        "hyperparameters": [programs.load(each).hyperparameters() for each in programs.available()]
    }
    for each in (*own, programs.load("asymmetric_gaussian"), programs.load("noisy_logistic")):
        model = each.model(SCORE, LABEL)
        point = {name: value + 0.1 for name, value in model.initial_point(random_seed=1).items()}
        results[str(len(results))] = [
            model.compile_logp(mode=UNCOMPILED, sum=False)(point),
            each.summary,
        ]
    return results

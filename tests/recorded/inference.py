"""Chains, weights and maxima on densities that are known."""

import numpy as np
import xarray as xr

from bayescal.fitting.program_check import p_value
from bayescal.inference import chains, importance, newton
from bayescal.inference.design_effect import design_effect, effect_on_scores

RNG, CLUSTER = np.random.default_rng(4), np.arange(30) // 4
ROOT, RATIO = np.array([[1.5, 0.0], [0.4, 0.3]]), 2.0 * np.round(RNG.standard_t(2, (3, 60)), 2)
P, WEIGHT = np.round(RNG.uniform(0.1, 0.9, 30), 2), {"weight": 1.0 + CLUSTER % 3}
POSITIVE, COLUMNS = RNG.random(30) < P, np.column_stack([np.ones(30), RNG.normal(size=30)])
TIMES, PRECISION = np.arange(60.0), np.linalg.inv(ROOT @ ROOT.T)
WALK = np.cumsum(RNG.normal(size=(2, 50, 2)), axis=1)


def _rng():
    return np.random.default_rng(1)


def _curvature(at):
    return PRECISION + 1.2 * np.diag(at**2)


def _density(at):
    value = -0.5 * np.einsum("...i,ij,...j->...", at, PRECISION, at) - 0.1 * (at**4).sum(-1)
    return value, -at @ PRECISION - 0.4 * at**3


def everything():
    at, options = (np.ones((2, 2)), np.zeros(2), ROOT), {"warmup": 3, "draws": 3}
    both = xr.Dataset(
        {"a": (("chain", "draw", "k"), WALK), "diverging": (("chain", "draw"), WALK[..., 0] > 3.0)}
    )
    logistic = newton.LogisticLikelihood(COLUMNS, 0.1 * P, POSITIVE, WEIGHT["weight"])
    normal = logistic.laplace(P[:2], np.diag([1.0, 4.0]), tolerance=1e-10)
    samples = {}, WEIGHT, WEIGHT | {"sampled": True}
    effects = [design_effect(POSITIVE, P, CLUSTER, **each) for each in samples]
    effects += [design_effect(P > 0.88, P, CLUSTER // 6), design_effect(POSITIVE, P, np.arange(30))]
    left = np.exp(-RATIO), RATIO.__getitem__
    return {
        "chains": [chains.sample(_density, *at, **options, rng=_rng(), redraw=each)
            for each in (None, lambda x, _: 0.9 * x)],
        "normal": [*chains.find_normal(_density, _curvature, P[:2], _rng()),
            chains.updated_root(ROOT, WALK[0])],
        "checks": [chains.check_chains(both, both[["a"]][{"chain": k}]) for k in ([0, 1], [0])],
        "weights": [importance.smooth(RATIO), importance.smooth(RATIO[:, :9])],
        "left out": [importance.left_out(*left, k) for k in (None, np.array([0.5, 1.0, 2.0]))],
        "drawn": importance.systematic(np.arange(6.0), 9, _rng()),
        "ranks": p_value(np.arange(9) ** 2 // 9, 9),
        "effects": [[each, str(each), each.problem] for each in effects],
        "on scores": effect_on_scores(P, CLUSTER),
        "normals": [normal, normal.root, normal.covariance, normal.draw(4, _rng())],
        "logistic": [logistic.gradient(P[:2]), logistic.information(P[:2])],
        "laplace": newton.laplace(lambda at: _density(at)[0], P[:2], flattest=0.01),
        "root": newton.lower_root(np.ones((2, 2))), "compared": newton.compare(RATIO, TIMES),
        "stacked": newton.stack(RATIO / 4.0, TIMES, 0.5),
    }  # fmt: skip

"""Class densities in numpy, and their maximum likelihood."""

import numpy as np

from bayescal.families import FAMILIES, automatic_floor

X, SIDES = np.round(np.random.default_rng(2).laplace(0.4, 1.3, 25), 1), np.array([[0.7], [2.0]])
FLOORS = [{"candidates": each, "scale_floor": f} for each, f in [("exact", None), ("bennett", 0.4)]]
SAMPLES = (X, None), (X, np.arange(25) % 3), ([2.5, 2.5], None), (X[:4], None)


def densities():
    results, far = {"floor": automatic_floor(2.0, 30.0, 1.2)}, [-1e3, -30.0, *X[:7], 40.0, 1e3]
    for name, family in FAMILIES.items():
        of = dict(zip(family.parameters, (0.4, SIDES, SIDES[::-1]), strict=False))
        results[name] = [
            [getattr(family, each)(far, **of) for each in ("logpdf", "cdf", "logcdf", "logsf")],
            [family.ppf([0, 0.01, 0.4, 0.9, 1], **of), family.mean(**of), family.variance(**of)],
            [family.rvs(size=(2, 4), rng=1, **of), family.sides(*of.values())],
            [family.fit(*sample, **each) for sample in SAMPLES for each in ({}, *FLOORS)],
        ]  # fmt: skip
    return results

"""Streams and calibrators of known curves, for the tests of drift."""

from types import SimpleNamespace

import numpy as np
from scipy import special


class KnownCurves:
    """A calibrator whose posterior is a few curves of log-odds, given as functions."""

    def __init__(self, *curves, base=0.5):
        self.curves = curves
        self.classes_ = np.array([0, 1])
        self.mle_ = SimpleNamespace(prior=base)

    def fitted_problems(self):
        return {"": SimpleNamespace(labels=self.classes_)}

    def sample_proba(self, scores):
        return special.expit(np.array([curve(np.asarray(scores)) for curve in self.curves]))


def stream(rng, n, *, rate=0.3, distance=2.0):
    """Return scores and labels of two Gaussian classes."""
    y = (rng.random(n) < rate).astype(int)
    return rng.normal(distance * y), y


def alarmed(monitor):
    return monitor.alarm_ is not None

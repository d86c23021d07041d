"""What others calibrate with, as their libraries have it."""

from __future__ import annotations

import warnings

import numpy as np
from scipy import special

from bayescal.methods.method import Labels
from bayescal.methods.sigmoids import SMALLEST
from bayescal.validation import Floats

# Isotonic's probabilities are exactly 0 and 1 at the ends: one document would cost everything.
ISOTONIC_CLIP = 1e-4


def isotonic(scores: Floats, labels: Labels, new: Floats) -> Floats:
    """Return log-odds by isotonic regression, probabilities kept within 1e-4 of 0 and 1."""
    from sklearn.isotonic import IsotonicRegression

    fitted = IsotonicRegression(out_of_bounds="clip").fit(scores, labels)
    return _logit(fitted.predict(new), ISOTONIC_CLIP)


def beta(scores: Floats, labels: Labels, new: Floats) -> Floats:
    """Return log-odds by beta calibration of 1/(1 + exp(-score)), betacal's three parameters."""
    from betacal import BetaCalibration

    with warnings.catch_warnings():  # betacal silences all warnings of the process
        fitted = BetaCalibration(parameters="abm").fit(special.expit(scores), labels)
        return _logit(fitted.predict(special.expit(new)))


def venn_abers(scores: Floats, labels: Labels, new: Floats) -> Floats:
    """Return log-odds of p1/(1 - p0 + p1), the inductive Venn-Abers predictor's single value."""
    low, high = venn_abers_bounds(scores, labels, new).T
    return _logit(high / (1.0 - low + high))


def venn_abers_bounds(scores: Floats, labels: Labels, new: Floats) -> Floats:
    """Return [p0, p1] of the inductive Venn-Abers predictor; shape (n, 2)."""
    # The package divides 0 by 0, and silences that for the whole process when it is imported.
    with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        from venn_abers import VennAbers

        warnings.simplefilter("ignore", RuntimeWarning)
        fitted = VennAbers()
        fitted.fit(np.column_stack([-scores, scores]), np.asarray(labels, dtype=np.int64))
        return np.asarray(fitted.predict_proba(np.column_stack([-new, new]))[1])


def _logit(probability: Floats, clip: float = SMALLEST) -> Floats:
    return np.asarray(special.logit(np.clip(probability, clip, 1.0 - clip)))

"""Calibrated log-odds of each classifier: for the documents of a combination, and for new ones."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.bayes import class_prior
from bayescal.combining.inputs import Labelled
from bayescal.score_calibrator import ScoreCalibrator
from bayescal.score_checks import without_scores_warnings
from bayescal.validation import Floats

CURVES = 100
CALIBRATOR_DRAWS, CHAINS = 250, 4
# Probabilities closer to 0 and 1 have no log-odds in floating point worth having.
NEAREST = 1e-15


@dataclass(frozen=True)
class CalibratedScores:
    """
    Calibrators of the classifiers' scores, and what they say of the documents fitted.

    Attributes
    ----------
    calibrators : list of ScoreCalibrator
        Of each classifier, fitted to all documents.
    base : float
        Log-odds of the base rate.
    held_out : array of shape (n, classifiers)
        Log-odds of the documents fitted, by calibrators of the other folds.
    held_out_draws : array of shape (curves, n, classifiers)
        The same of posterior draws of the curves fitted to all documents, each moved by what
        leaving the document's fold out moves the point estimate.
    seed : int
        Chooses the draws.
    """

    calibrators: list[ScoreCalibrator]
    base: float
    held_out: Floats = field(repr=False)
    held_out_draws: Floats = field(repr=False)
    seed: int

    def point(self, scores: Floats) -> Floats:
        """Return the calibrators' point estimates, log-odds of shape (n, classifiers)."""
        return _points(self.calibrators, scores)

    def draws(self, scores: Floats) -> Floats:
        """Return log-odds of the curves' draws at scores, shape (curves, n, classifiers)."""
        return _draws(self.calibrators, scores, self.seed)


def calibrate_scores(labelled: Labelled, seed: int) -> CalibratedScores:
    """
    Fit a calibrator to each classifier's scores, and others to those of all folds but one.

    Parameters
    ----------
    labelled : Labelled
        The documents.
    seed : int
        Of the calibrators, and of the draws that are taken from them.
    """
    scores, positive, weight = labelled.inputs.scores, labelled.positive, labelled.weight
    counts = np.ones(positive.size) if weight is None else weight
    everyone = np.arange(positive.size)
    calibrators = [_fit(labelled, i, everyone, seed) for i in range(scores.shape[1])]
    held_out = np.empty(scores.shape)
    for rows, held in labelled.splits():
        for i in range(scores.shape[1]):
            held_out[held, i] = _fit(labelled, i, rows, seed).decision_function(scores[held, i])
    draws = _draws(calibrators, scores, seed) + (held_out - _points(calibrators, scores))
    base = float(special.logit(class_prior(float(counts @ positive), float(counts.sum()))))
    return CalibratedScores(calibrators, base, held_out, draws, seed)


def _fit(labelled: Labelled, i: int, rows: NDArray[np.intp], seed: int) -> ScoreCalibrator:
    weight = None if labelled.weight is None else labelled.weight[rows]
    # A prior of how margins and log-odds usually rise was not compared here: docs/validation.
    calibrator = ScoreCalibrator(
        scores_are="scores",
        prior_knowledge="vague",
        draws=CALIBRATOR_DRAWS,
        chains=CHAINS,
        random_state=seed,
    )
    # Whoever combines classifiers can turn no scores around; a bad one gets little weight.
    with without_scores_warnings():
        return calibrator.fit(labelled.inputs.scores[rows, i], labelled.positive[rows], weight)


def _points(calibrators: list[ScoreCalibrator], scores: Floats) -> Floats:
    columns = zip(calibrators, scores.T, strict=True)
    return np.column_stack([each.decision_function(own) for each, own in columns])


def _draws(calibrators: list[ScoreCalibrator], scores: Floats, seed: int) -> Floats:
    found = [
        each.sample_proba(own, CURVES, np.random.default_rng([seed, i]))
        for i, (each, own) in enumerate(zip(calibrators, scores.T, strict=True))
    ]
    inside = np.clip(np.stack(found, axis=2), NEAREST, 1.0 - NEAREST)
    return np.asarray(special.logit(inside))

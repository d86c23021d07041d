"""Answers of fits of one problem at scores: curves, bands, draws, densities, tables."""

from functools import partial

import numpy as np

from tests.same_numbers.plain import outcome
from tests.same_numbers.score_fits import FITS, fitted

SHOWN = [-30.0, -2.5, -0.6, 0.4, 1.9, 12.0]
AT_ENDS = [0.0, 1e-9, 0.2, 0.5, 0.93, 1.0]


def shown_at(name):
    """Return scores at which a fit is asked."""
    return AT_ENDS if FITS[name][0].get("scores_are") == "probabilities" else SHOWN


def answers_of(name):
    """Return what a fit answers at scores, for its own class prior and for others."""
    calibrator, scores = fitted(name), shown_at(name)
    return {
        "log-odds": calibrator.decision_function(scores),
        "prior": calibrator.predict_proba(scores, 0.1)[:, 1],
        "prior draws": outcome(calibrator.predict_proba, scores, np.linspace(0.2, 0.7, 60)),
        "log proba": calibrator.predict_log_proba(scores),
        "predict": calibrator.predict(scores),
        "predict, prior": calibrator.predict(scores, 0.02),
        "interval": outcome(calibrator.predict_interval, scores),
        "simultaneous": outcome(calibrator.predict_interval, scores, 0.5, "simultaneous", 0.3),
        "sample": outcome(calibrator.sample_proba, scores, 3, 1),
        "all": outcome(calibrator.sample_proba, scores[1:3], prior=0.4),
        "densities": outcome(lambda: every_group_of(calibrator.class_densities(scores, 0.8))),
        "summary": calibrator.summary(0.7),
        "many": calibrator.predict_proba(np.linspace(scores[0], scores[-1], 5000))[::500, 1],
        "many, band": outcome(calibrator.predict_interval, np.linspace(*scores[1:5:3], 3000)),
    }


def every_group_of(dataset):
    """Return the variables and coordinates of a dataset."""
    return {str(name): dataset[name].values for name in dataset.variables}


CASES = {name: partial(answers_of, name) for name in FITS}

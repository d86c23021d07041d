"""What the study of unseen data sets compares, and what each method is told of the scores."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from bayescal.validation import Floats, as_scores_of
from studies.peers import ON_LOG_ODDS, PEERS, Labels, Method, Settings

DEFAULT, VAGUE, POOLED = "default", "vague", "pooled"
PLAIN = "LogisticRegression"
OURS: dict[str, Settings] = {
    DEFAULT: {},
    VAGUE: {"prior_knowledge": "vague"},
    "default, not told": {"scores_are": "auto"},
}
"""Settings of ScoreCalibrator; one that says what scores are is for probabilities alone."""
FEWER_DRAWS: Settings = {"draws": 250}
TOLD: Settings = {"scores_are": "probabilities"}
# One factor on margins makes no log-odds of them.
WANTS_LOG_ODDS = "temperature"


def plain_logistic_regression(scores: Floats, labels: Labels, new: Floats) -> Floats:
    """Return log-odds by scikit-learn's LogisticRegression on the score as it is."""
    with warnings.catch_warnings():
        # Scores of millions are too much for its solver: that is what users of it get.
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = LogisticRegression().fit(scores[:, None], labels)
    return np.asarray(fitted.decision_function(new[:, None]))


def peers_for(score_kind: str) -> dict[str, Method]:
    """Return the methods of others for scores of a kind."""
    peers = PEERS | {PLAIN: plain_logistic_regression}
    if score_kind == "margin":
        return {name: each for name, each in peers.items() if name != WANTS_LOG_ODDS}
    if score_kind == "probability":
        return peers | {name: _of_probabilities(peers[name]) for name in ON_LOG_ODDS}
    return peers


def ours_for(score_kind: str, ours: Mapping[str, Settings]) -> dict[str, Settings]:
    """Return the settings for scores of a kind: told that they are probabilities, if they are."""
    if score_kind == "probability":
        return {name: FEWER_DRAWS | TOLD | each for name, each in ours.items()}
    return {name: FEWER_DRAWS | each for name, each in ours.items() if "scores_are" not in each}


def _of_probabilities(method: Method) -> Method:
    """Return a method that takes log-odds as one that takes probabilities."""

    def log_odds(scores: Floats, labels: Labels, new: Floats) -> Floats:
        before, after = (as_scores_of(each, "probabilities") for each in (scores, new))
        return method(before, labels, after)

    return log_odds

"""Probabilities of the population that labels are from, by the evidence, are calibrated.

A population drawn at random, log-odds from its prior, labels from the log-odds: of all problems
to which the evidence gives a population with probability p, a share of p is from it.
"""

from functools import cache

import numpy as np
import pytest
from scipy import special

from bayescal.fitting.engines.monotone.engine import LaplaceFits, log_evidence_around
from bayescal.fitting.scores import BinaryScores
from tests.learned_prior_cases import POPULATIONS, from_prior

CANDIDATES = [POPULATIONS[name] for name in ("margins", "log-odds", "naive Bayes")]
PROBLEMS, DOCUMENTS = 600, (10, 60)
BINS = [0.0, 0.15, 0.3, 0.5, 0.75, 1.0]
LIMIT = 3.5  # standard errors, of three overall sums and five bins


@cache
def simulated():
    """Return the population of each problem, and log evidences, (problems, populations)."""
    rng = np.random.default_rng(11)
    own = rng.integers(len(CANDIDATES), size=PROBLEMS)
    evidence = []
    for k in own:
        # The same scores for every population: only labels tell them apart.
        score = rng.normal(-0.5, 1.5, rng.integers(*DOCUMENTS, endpoint=True))
        chance = special.expit(from_prior(CANDIDATES[k], 1, rng).log_odds(score)[0])
        data = BinaryScores(score, rng.random(score.size) < chance)
        evidence.append(log_evidence_around(LaplaceFits(data), CANDIDATES))
    return own, np.array(evidence)


def apart(added=0.0):
    """Return observed less expected shares in standard errors, for each population and bin."""
    own, evidence = simulated()
    said = special.softmax(evidence + added, axis=1)
    is_own = own[:, None] == np.arange(len(CANDIDATES))
    which = np.digitize(said, BINS[1:-1])
    groups = [np.arange(len(CANDIDATES)) == k for k in range(len(CANDIDATES))]
    groups = [np.broadcast_to(each, said.shape) for each in groups]
    groups += [which == k for k in range(len(BINS) - 1)]
    error = [np.sqrt((said * (1.0 - said))[each].sum()) for each in groups]
    return np.array([(is_own - said)[each].sum() for each in groups]) / error


@pytest.mark.slow
def test_probabilities_of_populations_are_calibrated():
    own, evidence = simulated()
    # Labels tell much, not all.
    assert 0.5 < (evidence.argmax(axis=1) == own).mean() < 0.95
    assert np.abs(apart()).max() < LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("added", [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)])
def test_evidence_that_favours_one_is_rejected(added):
    assert np.abs(apart(np.array(added))).max() > LIMIT

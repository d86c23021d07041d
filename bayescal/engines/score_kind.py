"""Whether scores that all lie in [0, 1] are probabilities: what the labels say of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bayescal.engines.data import BinaryScores
from bayescal.engines.monotone.engine import vague_log_evidence
from bayescal.engines.monotone.outlines import Outlines
from bayescal.validation import as_scores_of
from bayescal.warps import IDENTITY

PIECES = 9
# No warp, and one that bends at the scores' own spread, as log-odds fits have them.
WARPS = (IDENTITY, 1.0)
# Most scores between 0 and 1 are probabilities, and others lose little by being taken for them: so
# many nats have to speak against it (docs/defaults.md).
BELIEF = 3.0
# Scores in a tiny unit are no probabilities, of which the largest is not tiny.
LEAST_LARGE = 1e-3


def as_probabilities(data: BinaryScores) -> BinaryScores:
    """
    Return the data with log-odds in the place of scores that are probabilities by all signs.

    That is if all lie in [0, 1], some between 0 and 1 and the largest above 0.001, unless the
    labels are much likelier as a function of the scores than of their log-odds: by 3 nats of the
    log evidence of monotone log-odds in straight pieces, of the better of two warps. A step from
    0.001 to 0.01 means much in probabilities and nothing in other scores.

    Parameters
    ----------
    data : BinaryScores
        Scores, not known to be anything else.

    Examples
    --------
    >>> p = np.array([1e-6, 1e-5, 1e-4, 0.01, 0.2, 0.5, 0.6, 0.9, 0.999, 0.9999])
    >>> as_probabilities(BinaryScores(p, p > 0.3)).scores_are
    'probabilities'
    >>> as_probabilities(BinaryScores(p + 1.0, p > 0.3)).scores_are
    'scores'
    """
    low, high = data.score_range
    inside = (data.score > 0.0) & (data.score < 1.0)
    if low < 0.0 or not LEAST_LARGE <= high <= 1.0 or not inside.any() or low == high:
        return data
    log_odds = as_scores_of(np.clip(data.score, 0.0, 1.0), "probabilities")
    told = replace(data, score=log_odds, scores_are="probabilities")
    of_log_odds, of_scores = (
        vague_log_evidence(Outlines(each), WARPS, PIECES) for each in (told, data)
    )
    return told if of_log_odds > of_scores - BELIEF else data

"""What each part of a combination says alone, at a few scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayescal.bayes import probability
from bayescal.curves.combined_draws import CombinedDraws
from bayescal.fitted.problem import FittedProblem
from bayescal.report.packing import numbers
from bayescal.validation import Floats

SCORES = 5
# Probabilities that are close to 0 and 1 by any part tell little.
CERTAIN = 0.02
ALL = "combined"


def by_part(problem: FittedProblem, x: Floats) -> dict[str, Any] | None:
    """
    Return a table of probabilities, parts in rows and scores in columns.

    Its first row is the combination's. None of a model that is no combination.

    Parameters
    ----------
    problem : FittedProblem
        The problem.
    x : array of shape (n,)
        Ascending scores that the page shows; those in the table are where the combination leaves
        most to say.
    """
    draws, table = problem.draws, problem.parts
    if table is None or not isinstance(draws, CombinedDraws):
        return None
    at = _open_scores(x, probability(problem.log_odds(x)))
    said = {ALL: problem.log_odds(at)}
    said |= {
        str(name): part.predictive(at) for name, part in zip(table.index, draws.parts, strict=True)
    }
    return {
        "columns": ["part", *(f"score {score:.3g}" for score in at)],
        "rows": [[name, *numbers(probability(curve))] for name, curve in said.items()],
    }


def _open_scores(x: Floats, p: Floats) -> Floats:
    """Return scores between those where all is clear; of all if nothing else is left."""
    open_ones = x[(p > CERTAIN) & (p < 1.0 - CERTAIN)]
    ends = open_ones if open_ones.size > 1 else x
    return np.linspace(ends[0], ends[-1], SCORES)

"""What a file of any format says: the curves, and where they come from."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayescal.curves.class_prior import Prior, prior_draws
from bayescal.export.curves import ExportedCurves
from bayescal.export.table import SATURATED, TOLERANCE, Table, make_table
from bayescal.fitted.problem import FittedProblem
from bayescal.results.provenance import ESTIMATOR

SCORES = {
    "scores": "raw scores",
    "log_odds": "natural log-odds, ln(p / (1 - p))",
    "probabilities": "probabilities, from 0 to 1",
}


@dataclass(frozen=True)
class Content:
    """
    What is written.

    Attributes
    ----------
    table : Table
        The curves.
    facts : dict
        What a reader wants to know of them, as JSON can hold it: classes, level, error, provenance.
    column : str
        What the scores are called where the file is used.
    """

    table: Table
    facts: dict[str, Any]
    column: str

    @property
    def fact_lines(self) -> list[str]:
        """Return the facts, a line each, without any character that ends a line or a comment."""
        return [f"{name}: {json.dumps(value)}" for name, value in self.facts.items()]


@dataclass(frozen=True)
class Format:
    """
    A format.

    Attributes
    ----------
    name : str
        What users call it.
    what : str
        What it is, in a few words.
    suffix : str
        What names of its files end in.
    render : callable
        From a content to the bytes of its file.
    """

    name: str
    what: str
    suffix: str
    render: Callable[[Content], bytes]


def make_content(
    problem: FittedProblem, level: float | None, prior: Prior | None, column: str
) -> Content:
    """Return what is written of a problem; errors as `bayescal.export.export` has them."""
    curves = ExportedCurves.of(problem, level, prior)
    table, off = make_table(curves)
    facts = _facts(problem, level, prior) | {
        "error": TOLERANCE,
        "largest_difference_found": off,
        "log_odds_beyond_are_cut_at": SATURATED,
    }
    return Content(table, facts, column)


def _facts(problem: FittedProblem, level: float | None, prior: Prior | None) -> dict[str, Any]:
    negative, positive = problem.labels.tolist()
    low, high = problem.shown(np.array(problem.calibration.score_range)).tolist()
    topic = {"topic": problem.name} if problem.name else {}
    attrs = problem.tree.attrs
    return topic | {
        "negative_class": negative,
        "positive_class": positive,
        "scores_are": SCORES[problem.scores_are],
        "scores_fitted_from_to": [low, high],
        "negatives_and_positives_fitted": list(problem.counts),
        "level": level,
        "prior": None if prior is None else round(float(prior_draws(prior, 1000).mean()), 12),
        "model": problem.model,
        "inference": problem.inference,
        "point": problem.point,
        "problems": list(problem.problems),
        "estimator": attrs[ESTIMATOR],
        "parameters": json.loads(attrs["bayescal_parameters"]),
        "versions": json.loads(attrs["bayescal_versions"]),
    }

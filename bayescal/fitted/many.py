"""The problems of several calibrators, one a topic, as one calibrator of all topics has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from bayescal.fitted.problem import Calibrator, FittedProblem, Problems, problems_of


def problems_of_each(calibrators: Mapping[Any, Calibrator]) -> Problems:
    """
    Return the problems by topic, each calibrator being asked for when its problem is.

    Parameters
    ----------
    calibrators : mapping of topic to calibrator
        Fitted, each with one problem; a mapping may load them from their files one by one.
    """
    names = list(calibrators)

    @lru_cache(maxsize=1)  # who goes through all looks at the first one before
    def read(position: int) -> FittedProblem:
        (problem,) = problems_of(calibrators[names[position]]).values()
        return replace(problem, name=str(names[position]))

    return Problems(names, read, by_topic=True)

"""What is kept of every topic's documents in results, which do not hold their scores.

The smallest and the largest score, and whether positives lie above negatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.parts.places import Groups
from bayescal.results.groups import Results
from bayescal.results.topics import append_topics, at_topics
from bayescal.score_checks import SAY_WHAT_THEY_ARE, Direction, topic_problems
from bayescal.topic_scores import TopicScores

GROUP = "documents"
REACH = "reach"  # of topics that are no longer in the tree


def build(data: TopicScores, scores_are: str) -> dict[str, xr.Dataset]:
    """Return the group, by topic: score range, and AUC with its variance; nan where unknown."""
    return {GROUP: xr.Dataset(_of_topics(data), {"topic": data.names}, {"scores_are": scores_are})}


def join(groups: Groups, data: TopicScores) -> dict[str, xr.Dataset]:
    """Return the group with further topics."""
    return {GROUP: append_topics(groups[GROUP], _of_topics(data), data.names)}


def _of_topics(data: TopicScores) -> dict[str, Any]:
    nowhere = Direction(np.nan, np.nan)
    directions = [nowhere if each is None else each for each in data.directions()]
    low, high = data.range()
    return {
        "lowest": ("topic", low),
        "highest": ("topic", high),
        "auc": ("topic", [each.auc for each in directions]),
        "variance": ("topic", [each.variance for each in directions]),
    }


def read_scores_are(groups: Groups) -> str:
    """Return what users' scores are; of probabilities the results have the log-odds."""
    return str(groups[GROUP].attrs["scores_are"])


def read_problems(
    groups: Groups, classes: NDArray[Any], *, given: bool
) -> tuple[tuple[str, ...], dict[Any, str]]:
    """
    Return what is wrong with the scores of all topics, and of single ones.

    Parameters
    ----------
    groups : mapping of str to Dataset
        The results.
    classes : array of shape (2,)
        The negative and the positive class.
    given : bool
        Whether the user said what the scores are.
    """
    group = groups[GROUP]
    names = group["topic"].values.tolist()
    pairs = zip(group["auc"].values.tolist(), group["variance"].values.tolist(), strict=True)
    directions = [None if np.isnan(auc) else Direction(auc, variance) for auc, variance in pairs]
    problems, of_topics = topic_problems(names, directions, classes.tolist())
    low, high = read_range(groups, None)
    inside = 0.0 <= low < high <= 1.0
    return (*problems, *([SAY_WHAT_THEY_ARE] if inside and not given else [])), of_topics


def read_range(groups: Groups, topic: int | None) -> tuple[float, float]:
    """Return a topic's smallest and largest score, by its position; of None those of all."""
    variables = groups[GROUP].variables
    low, high = variables["lowest"].values, variables["highest"].values
    if topic is not None and low[topic] <= high[topic]:
        return float(low[topic]), float(high[topic])
    others = groups[GROUP].attrs.get(REACH, [])
    return float(np.nanmin([*low, *others])), float(np.nanmax([*high, *others]))


def of_population(results: Results) -> Results:
    """Return results without topics: what is known of the next one, with how far scores went."""
    groups = at_topics(results.groups, np.empty(0, dtype=np.intp))
    reach = list(read_range(results.groups, None))
    groups[GROUP] = groups[GROUP].assign_attrs({REACH: reach})
    return Results(groups, results.attrs)

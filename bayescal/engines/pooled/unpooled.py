"""Maximum likelihood of every topic by itself: what pooling is held against."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayescal.engines.data import BinaryScores
from bayescal.families import FAMILIES
from bayescal.parallel import blocks_of, in_parallel
from bayescal.validation import Floats

TOPICS_A_TASK = 100  # tenths of a second of a worker's time

_Task = tuple[str, list[BinaryScores]]


def fit_unpooled(topics: Sequence[BinaryScores], family: str) -> Floats:
    """
    Return mode, left and right side of both classes of each topic; shape (2, 3, topics).

    Parameters
    ----------
    topics : sequence of BinaryScores
        Raw scores, labels and weights of every topic; nan for classes without documents.
    family : str
        One of `bayescal.families.FAMILIES`.
    """
    parts = blocks_of(TOPICS_A_TASK, len(topics))
    tasks = [(family, list(topics[part])) for part in parts]
    sizes = [part.stop - part.start for part in parts]
    return np.concatenate(list(in_parallel(_fit_task, tasks, sizes)), axis=-1)


def _fit_task(task: _Task) -> Floats:
    name, topics = task
    out = np.full((2, 3, len(topics)), np.nan)
    for k, positive in enumerate((False, True)):
        family = FAMILIES[name].of_class(positive)
        for t, data in enumerate(topics):
            scores, weight = data.of_class(positive)
            if scores.size:
                values = family.fit(scores, weight).parameters.values()
                out[k, :, t] = family.sides(*map(np.asarray, values))
    return out

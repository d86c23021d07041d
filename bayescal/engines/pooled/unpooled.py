"""Maximum likelihood of every topic by itself: what pooling is held against."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayescal.families import FAMILIES
from bayescal.parallel import blocks_of, in_parallel
from bayescal.validation import Floats

TOPICS_A_TASK = 100  # tenths of a second of a worker's time

_Task = tuple[str, list[Floats], list[Floats]]


def fit_unpooled(classes: tuple[Sequence[Floats], Sequence[Floats]], family: str) -> Floats:
    """
    Return mode, left and right side of both classes of each topic; shape (2, 3, topics).

    Parameters
    ----------
    classes : tuple of sequences of arrays
        The raw scores of negatives and of positives of every topic; nan for topics without.
    family : str
        One of `bayescal.families.FAMILIES`.
    """
    parts = blocks_of(TOPICS_A_TASK, len(classes[0]))
    tasks = [(family, list(classes[0][part]), list(classes[1][part])) for part in parts]
    sizes = [part.stop - part.start for part in parts]
    return np.concatenate(list(in_parallel(_fit_task, tasks, sizes)), axis=-1)


def _fit_task(task: _Task) -> Floats:
    name, *classes = task
    out = np.full((2, 3, len(classes[0])), np.nan)
    for k, topics in enumerate(classes):
        family = FAMILIES[name].of_class(bool(k))
        for t, scores in enumerate(topics):
            if scores.size:
                values = family.fit(scores).parameters.values()
                out[k, :, t] = family.sides(*map(np.asarray, values))
    return out

"""Decisions of the base classifiers, each cut where its own threshold is best by the measure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayescal.combining.inputs import Inputs, Labelled
from bayescal.combining.measures import MEASURES, best_threshold
from bayescal.validation import Floats

Thresholds = dict[str, Floats]


def base_thresholds(labelled: Labelled) -> Thresholds:
    """Return the best threshold of each classifier by each measure, on held-out scores."""
    return {
        measure: np.array(
            [
                best_threshold(measure, scores, labelled.positive, labelled.weight)
                for scores in labelled.inputs.scores.T
            ]
        )
        for measure in MEASURES
    }


def votes(inputs: Inputs, thresholds: Floats) -> NDArray[np.bool_]:
    """Return which classifier takes which document, shape (n, classifiers)."""
    return np.asarray(inputs.scores >= thresholds)

"""Knots in JSON, for any language."""

import json

import numpy as np

from bayescal.report.export.class_map import MAP, ClassContent
from bayescal.report.export.writing import Content, Format
from bayescal.support.validation import Floats

DIGITS = 10

HOW = (
    "Each curve has knots: scores in ascending order, and natural log-odds at these scores. For a"
    " score between two knots interpolate the log-odds linearly; the probability is"
    " 1 / (1 + exp(-log_odds))."
)
BEYOND = {
    False: "A score below the first knot or above the last one has the log-odds of that knot.",
    True: "Scores are probabilities: one below 0 or above 1 has no answer.",
}


def render(content: Content) -> bytes:
    """Return facts, curves and instructions, as JSON in UTF-8."""
    document = {
        "how_to_read": f"{HOW} {BEYOND[content.table.bounded]}",
        "score": content.column,
        **content.facts,
        "curves": {
            name: {"score": knots.score.tolist(), "log_odds": knots.log_odds.tolist()}
            for name, knots in content.table.curves.items()
        },
    }
    return (json.dumps(document, indent=1) + "\n").encode()


HOW_CLASSES = (
    "Each posterior draw is a map from the scores of all classes to their probabilities; the"
    " probability is the mean over draws, and the band of each probability lies between quantiles"
    " of the draws. `map` is the map in Python; `arrays` holds its constants, draws first."
)


def render_classes(content: ClassContent) -> bytes:
    """Return facts, draws of the map and instructions, as JSON in UTF-8."""
    document = {
        "how_to_read": HOW_CLASSES,
        "scores": content.column,
        **content.facts,
        "map": MAP.splitlines(),
        "constants": content.constants,
        "arrays": {
            name: None if values is None else _rounded(values)
            for name, values in content.arrays.items()
        },
    }
    return (json.dumps(document) + "\n").encode()


def _rounded(values: Floats) -> object:
    """Return nested lists of numbers with `DIGITS` significant digits."""
    text = [float(f"{value:.{DIGITS}g}") for value in np.ravel(values).tolist()]
    nested: object = np.array(text).reshape(values.shape).tolist()
    return nested


FORMAT = Format("json", "knots to interpolate, for any language", ".json", render, render_classes)

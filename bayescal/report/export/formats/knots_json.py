"""Knots in JSON, for any language."""

import json

from bayescal.report.export.writing import Content, Format

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
    """Return the facts, the curves and how to read them, as JSON in UTF-8."""
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


FORMAT = Format("json", "knots to interpolate, for any language", ".json", render)

"""A module of Python that needs numpy alone."""

import json
from textwrap import indent

from bayescal.report.export.knots import Knots
from bayescal.report.export.writing import Content, Format

# `{{` and `}}` are braces of the module.
MODULE = '''\
"""
Calibrated probabilities of {column}, written by bayescal; this file needs numpy alone.

>>> probability = predict([0.0, 0.5]){first}

{facts}
"""

import numpy as np

CLASSES = {classes}  # the negative and the positive one
LEVEL = {level}  # posterior probability of the band at each score; None for no band
ERROR = {error}  # at most, in probability, from the calibrator that was exported

# Scores and natural log-odds there, linear between them.
{tables}


def predict(scores):
    """
    Return the probability of the positive class{and_band}.

    Parameters
    ----------
    scores : array-like of real numbers
        Scores as the classifier gives them: {scores_are}.{beyond} That of nan is nan.

    Returns
    -------
    {names} : array{s} of the shape of scores
    """
    scores = np.asarray(scores, dtype=np.float64)
    {names} = {calls}
    return {names}


def _read(scores, knots):
    log_odds = np.interp(scores, *knots{outside})
    return 1.0 / (1.0 + np.exp(-log_odds))
'''
BEYOND = {
    False: "\n        Beyond the knots the answer is that of the nearest one.",
    True: "\n        The answer to what is not from 0 to 1 is nan.",
}


def render(content: Content) -> bytes:
    """Return the module's source, ASCII."""
    table, facts = content.table, content.facts
    names = list(table.curves)
    several = len(names) > 1
    module = MODULE.format(
        column=json.dumps(content.column)[1:-1],
        first="[0]" if several else "",
        facts="\n".join(content.fact_lines),
        classes=ascii([facts["negative_class"], facts["positive_class"]]),
        level=facts["level"],
        error=facts["error"],
        tables="\n".join(_source(name, knots) for name, knots in table.curves.items()),
        and_band=", and its band" if several else "",
        scores_are=facts["scores_are"],
        beyond=BEYOND[table.bounded],
        names=", ".join(names),
        s="s" if several else "",
        calls=", ".join(f"_read(scores, {name.upper()})" for name in names),
        outside=", left=np.nan, right=np.nan" if table.bounded else "",
    )
    return module.encode("ascii")


def _source(name: str, knots: Knots) -> str:
    rows = (f"[{', '.join(map(repr, row.tolist()))}]," for row in (knots.score, knots.log_odds))
    return f"{name.upper()} = np.array([\n{indent(chr(10).join(rows), '    ')}\n])"


FORMAT = Format("python", "a module of Python that needs numpy alone", ".py", render)

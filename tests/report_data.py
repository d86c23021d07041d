"""Scores that tests of reports share."""

import json
import re
from functools import cache
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
from scipy import special

from bayescal import Densities, ScoreCalibrator, TopicCalibrator
from bayescal.families import FAMILIES
from bayescal.report.rendering import describe_model

HOSTILE = "<script>alert(1)</script>"
NAMES = ("corn", "crude", HOSTILE, '"; drop\\', "money & fx")


FAST = {"draws": 100, "random_state": 0}
CALIBRATORS = {
    "combined": {},
    "probabilities": {"scores_are": "probabilities"},
    "average": {"parts": "average"},
    "monotone": {"parts": "monotone"},
    "logistic": {"parts": "logistic"},
    "recalibrated": {"parts": "recalibrated"},
    "mle": {"inference": "mle"},
    "other priors": {"parts": Densities("gaussian", prior_knowledge={"theta_scale": 3.5})},
} | {name: {"parts": name} for name in FAMILIES}


def make_problem(n, seed):
    """Return scores and labels that overlap, one positive in four."""
    rng = np.random.default_rng(seed)
    labels = (np.arange(n) % 4 == 0).astype(int)
    return rng.normal(1.8 * labels - 1.0, 1.0), labels


@cache
def fitted_with(name):
    """Return a fitted calibrator of `CALIBRATORS`, its scores and its labels."""
    scores, labels = make_problem(80, seed=0)
    given = special.expit(scores) if name == "probabilities" else scores
    return ScoreCalibrator(**FAST | CALIBRATORS[name]).fit(given, labels), given, labels


def make_topics(seed=0):
    """Return a table of topics with awkward names, from five positives to twenty-five."""
    rng = np.random.default_rng(seed)
    parts = []
    for k, name in enumerate(NAMES):
        label = np.repeat([0, 1], [60, 5 * (k + 1)])
        score = rng.normal(2.5 * label - 1.0 + 0.1 * k, 1.0)
        parts.append(pd.DataFrame({"score": score, "label": label, "topic": name}))
    return pd.concat(parts, ignore_index=True)


@cache
def fitted_topics():
    """Return a fitted calibrator of topics, and its table."""
    frame = make_topics()
    return TopicCalibrator(**FAST).fit(frame), frame


def data_of(path):
    """Return the numbers that a page holds."""
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', text)[1])


def as_number(text):
    """Return a number as a page shows it."""
    for shown, meant in (("\N{MINUS SIGN}", "-"), (",", ""), ("\N{INFINITY}", "inf")):
        text = text.replace(shown, meant)
    if text.endswith(" %"):
        return float(text[:-2]) / 100.0
    return float(text)


def model_of(calibrator, *, several=False):
    """Return the blocks of a model in its report: title, text and formulas, each an element."""
    problem = next(iter(calibrator.fitted_problems().values()))
    html = describe_model(problem.describe(several=several))
    return [
        SimpleNamespace(
            title=block.findtext("h3"), text=block.findtext("p"), formulas=block.findall("div/math")
        )
        for block in ElementTree.fromstring(f"<main>{html}</main>")
    ]


def shown(formula):
    """Return a formula's letters, numbers and signs, with blanks between."""
    return " ".join(" ".join(formula.itertext()).split())

"""Scores that tests of reports share."""

import json
import re

import numpy as np
import pandas as pd

HOSTILE = "<script>alert(1)</script>"
NAMES = ("corn", "crude", HOSTILE, '"; drop\\', "money & fx")


def make_problem(n, seed):
    """Return scores and labels that overlap, one positive in four."""
    rng = np.random.default_rng(seed)
    labels = (np.arange(n) % 4 == 0).astype(int)
    return rng.normal(1.8 * labels - 1.0, 1.0), labels


def make_topics(seed=0):
    """Return a table of topics with awkward names, from five positives to twenty-five."""
    rng = np.random.default_rng(seed)
    parts = []
    for k, name in enumerate(NAMES):
        label = np.repeat([0, 1], [60, 5 * (k + 1)])
        score = rng.normal(2.5 * label - 1.0 + 0.1 * k, 1.0)
        parts.append(pd.DataFrame({"score": score, "label": label, "topic": name}))
    return pd.concat(parts, ignore_index=True)


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

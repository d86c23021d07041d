"""Scores of two classifiers on the ten largest topics of Reuters-21578, embedded in the package."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from bayescal.support.validation import check_choice

if TYPE_CHECKING:
    import pandas as pd

CLASSIFIERS = ("naive_bayes", "linear_svm")
SPLITS = ("calibration", "test")
TOPICS = ("earn", "acq", "money-fx", "grain", "crude", "trade", "interest", "wheat", "ship", "corn")


def load_reuters_scores(
    classifier: str | None = None, topic: str | None = None, split: str | None = None
) -> pd.DataFrame:
    """Return real scores: naive Bayes log-odds and SVM margins of 12,902 documents on ten topics.

    ModApte split of Reuters-21578, Distribution 1.0, copyright Reuters Ltd., for research. Its
    9,603 training documents have five-fold cross-validated scores (split "calibration"), its 3,299
    test documents scores by classifiers trained on all of these (split "test"). Features are 300
    words per topic of highest mutual information, in three training documents or more. Scores are
    natural log-odds of multinomial naive Bayes (rounded to 0.02) and margins of a hinge linear SVM
    with C = 1 on sublinear tf-idf (rounded to 0.0002).

    Examples
    --------
    >>> corn = load_reuters_scores("naive_bayes", "corn", "test")
    >>> len(corn), int(corn["label"].sum())
    (3299, 56)
    """
    import pandas as pd

    wanted = (("classifier", classifier, CLASSIFIERS), ("topic", topic, TOPICS))
    for name, value, choices in (*wanted, ("split", split, SPLITS)):
        if value is not None:
            check_choice(name, value, choices)
    data = _arrays()
    rows = np.flatnonzero(np.isin(data["split"], split or SPLITS))
    parts = []
    for c in _positions(data["classifier"], classifier):
        for t in _positions(data["topic"], topic):
            code = data["high"][c, t, rows].astype(np.int64) * 256 + data["low"][c, t, rows]
            part = {
                "classifier": str(data["classifier"][c]),
                "topic": str(data["topic"][t]),
                "split": data["split"][rows],
                "document": data["document"][rows].astype(np.int64),
                # Rounded to the decimals of the step: 7 * 0.0002 is not 0.0014 in binary.
                "score": np.round((code + data["lowest"][c]) * data["step"][c], 4),
                "label": data["label"][t, rows],
            }
            parts.append(pd.DataFrame(part))
    return pd.concat(parts, ignore_index=True)


def _positions(names: np.ndarray, wanted: str | None) -> list[int]:
    return [i for i, name in enumerate(names) if wanted is None or name == wanted]


@cache
def _arrays() -> dict[str, np.ndarray]:
    source = files("bayescal.text").joinpath("reuters_scores.npz")
    with source.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
        data = dict(archive)
    bits = np.unpackbits(data["label"], axis=1, count=data["document"].size)
    data["label"] = bits.astype(np.int64)
    return data

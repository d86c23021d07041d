"""Results of every engine, family and model on a few scores, to compare one version with the next.

`python -m tests.same_numbers` writes tests/reference/same_numbers.json anew: do so only where
numbers are meant to change, and say in the commit which and why.
"""

import json
from pathlib import Path

import numpy as np

from bayescal import Densities, Monotone, ScoreCalibrator, TopicCalibrator
from bayescal.families import FAMILIES
from bayescal.fitting.parts.part import all_paths, flat

FILE = Path(__file__).parent / "reference" / "same_numbers.json"
SHOWN = [-4.0, -1.0, 0.0, 0.7, 2.0, 9.0]
SMALL = {"draws": 60, "chains": 2, "random_state": 0}
LABELS = np.repeat([0, 1], [40, 12])
SCORES = np.random.default_rng(0).laplace(2.0 * LABELS - 1.0)
WEIGHTS = np.random.default_rng(1).integers(0, 3, LABELS.size)
TOPICS = np.tile(["a", "b", "c", "d"], 13)

MODELS = {
    "combined": {},
    "combined, log-odds": {"scores_are": "log_odds"},
    "combined, monotone": {"parts": ["combined", Densities(monotone=True)]},
    "combined, hyperparameters": {
        "parts": [
            "combined",
            Densities(hyperparameters={"theta_scale": 2.0}),
            Monotone(n_segments=3),
        ]
    },
    "combined, median": {"point": "median"},
    "average": {"parts": "average"},
    "average, evidence": {"parts": Densities("average", averaging="evidence")},
    "monotone": {"parts": "monotone"},
    "monotone, warp": {"parts": Monotone(warp=2.0)},
    "logistic": {"parts": "logistic"},
    "recalibrated": {"parts": "recalibrated"},
    "average, monotone": {"parts": Densities("average", monotone=True)},
    "gaussian, warp": {"parts": Densities("gaussian", warp="average")},
    **{f"{name}, exact": {"parts": name} for name in FAMILIES},
    **{f"{name}, mle": {"parts": name, "inference": "mle"} for name in FAMILIES},
}
POOLED = {
    "topics": {},
    "topics apart": {"pooling": "none"},
    "topics together": {"pooling": "complete"},
    "topics, gaussian": {"parts": "gaussian"},
    "topics, laplace": {"parts": "laplace"},
}


def _numbers(calibrator, *where, band=True):
    said = {"proba": calibrator.predict_proba(SHOWN, *where)[:, 1].tolist()}
    if band:
        said["interval"] = calibrator.predict_interval(SHOWN, *where).tolist()
    return said


def of_model(name):
    """Return a model's results on one problem."""
    calibrator = ScoreCalibrator(**SMALL, **MODELS[name]).fit(SCORES, LABELS, WEIGHTS)
    said = _numbers(calibrator, band=calibrator.inference_ == "exact")
    return said | _evidence(flat(calibrator.results_))


def _evidence(groups):
    """Return the log evidence of everything that is compared within the first part."""
    found = all_paths(groups)
    if not found:
        return {}
    return {"evidence": np.ravel(groups[found[0].evidence]["log_evidence"].values).tolist()}


def of_topics(name):
    """Return a topic model's results on one of its topics, on an added one, and on any other."""
    calibrator = TopicCalibrator(**SMALL, **POOLED[name]).fit(SCORES, LABELS, TOPICS)
    added = slice(30, None)
    calibrator.add_topics(SCORES[added], LABELS[added], ["added"] * LABELS[added].size)
    return {
        topic: _numbers(calibrator, [topic] * len(SHOWN)) for topic in ("a", "added", "unknown")
    }


def everything():
    """Return all numbers, by name."""
    return {name: of_model(name) for name in MODELS} | {name: of_topics(name) for name in POOLED}


if __name__ == "__main__":
    FILE.write_text(json.dumps(everything(), indent=1) + "\n")

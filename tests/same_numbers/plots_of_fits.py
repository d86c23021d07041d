"""Artists of a fit's displays: densities, comparison with maximum likelihood, predictive checks."""

from bayescal import ScoreCalibrator, plots
from bayescal.monitoring import DriftMonitor
from tests.same_numbers.plots_of_curves import GRID, HELD_OUT, cases_of_estimators
from tests.same_numbers.plots_of_evidence import audited
from tests.small_fits import (
    LABELS,
    LOGITS,
    NEW,
    NEW_LABELS,
    NEW_LOGITS,
    SCORES,
    classes,
    one,
    topics,
)

# Wrong calls: a display, how it is made, what it is given.
WRONG = [
    ("Probability", "from_estimator", (one,), {"level": 0.0}),
    ("Probability", "from_estimator", (one,), {"level": 1.0}),
    ("Probability", "from_estimator", (one,), {"band": "hdi"}),
    ("Probability", "from_estimator", (one,), {"bins": 0}),
    ("Probability", "from_estimator", (one,), {"topic": "acq"}),
    ("Probability", "from_estimator", (one,), {"pos_label": 2}),
    ("Probability", "from_estimator", (one,), {"mle": 1}),
    ("Probability", "from_estimator", (one, NEW), {}),
    ("Probability", "from_estimator", (one, NEW, LABELS), {}),
    ("Probability", "from_estimator", (topics,), {}),
    ("Probability", "from_estimator", (topics,), {"topic": "wheat"}),
    ("Probability", "from_estimator", (topics,), {"topic": "acq", "pos_label": 0}),
    ("ClassDensity", "from_estimator", (one,), {"draws": 0}),
    ("ClassDensity", "from_estimator", (one,), {"bins": 0}),
    ("ClassDensity", "from_estimator", (lambda: one("monotone"),), {}),
    ("Decision", "from_estimator", (one,), {"cost_ratio": (1.0, 1.0)}),
    ("Decision", "from_estimator", (one,), {"cost_ratio": (0.0, 1.0)}),
    ("Comparison", "from_estimator", (lambda: one("mle"),), {}),
    ("Comparison", "from_estimator", (lambda: one("monotone"),), {}),
    ("Comparison", "from_estimator", (topics,), {"topic": "acq"}),
    ("Comparison", "from_estimator", (one,), {"most": 0}),
    ("PredictiveCheck", "from_estimator", (one,), {"check": "curves"}),
    ("PredictiveCheck", "from_estimator", (one,), {"draws": 0}),
    ("PredictiveCheck", "from_estimator", (topics,), {"topic": "acq"}),
    ("PredictiveCheck", "from_estimator", (lambda: one("mle"),), {"check": "scores"}),
    ("PredictiveCheck", "from_estimator", (lambda: one("monotone"),), {"check": "scores"}),
    ("LikelihoodRatio", "from_estimator", (one,), {}),
    ("LikelihoodRatio", "from_estimator", (one,), {"level": 1.0}),
    ("ClassDensity", "from_estimator", (one,), {"level": 1.0}),
    ("Decision", "from_estimator", (one,), {"level": 1.0}),
    ("Comparison", "from_estimator", (one,), {"level": 1.0}),
    ("PredictiveCheck", "from_estimator", (one,), {"level": 1.0}),
    ("Estimates", "from_estimators", (lambda: {"a": one()},), {"level": 1.0}),
    ("TopicForest", "from_estimator", (topics,), {"level": 1.0}),
    ("Estimates", "from_estimators", ({},), {}),
    ("Estimates", "from_estimators", (lambda: {"a": one(), "b": one("first positive")},), {}),
    ("Estimates", "from_estimators", (lambda: {"a": one(), "b": one("probabilities")},), {}),
    ("LearningCurve", "from_estimator", (ScoreCalibrator(), SCORES, LABELS), {"sizes": [8]}),
    ("LearningCurve", "from_estimator", (ScoreCalibrator(), SCORES, LABELS), {"sizes": []}),
    ("LearningCurve", "from_estimator", (ScoreCalibrator(), SCORES, LABELS), {"sizes": [0]}),
    ("LearningCurve", "from_estimator", (ScoreCalibrator(), SCORES, LABELS), {"repeats": 0}),
    ("LearningCurve", "from_estimator", (ScoreCalibrator(), [0.0, 1.0], [0, 1]), {}),
    ("Reliability", "from_estimator", (None, NEW, NEW_LABELS), {}),
    ("Reliability", "from_estimator", (classes, NEW_LOGITS, NEW_LABELS), {"pos_label": "cow"}),
    ("Reliability", "from_estimator", (classes, LOGITS, LABELS), {"covariates": {"a": [1]}}),
    ("ClassReliability", "from_estimator", (None, NEW_LOGITS, NEW_LABELS), {}),
    ("Confusion", "from_estimator", (ScoreCalibrator, NEW_LOGITS, NEW_LABELS), {}),
    ("PredictionSet", "from_predictions", ([0, 1], [[0.5, 0.5]] * 2), {"coverages": [1.0]}),
    ("RiskCoverage", "from_estimator", (classes, NEW_LOGITS[:2], ["ant", "cow"]), {}),
    ("CalibrationCurve", "from_audit", (one,), {}),
    ("Sites", "from_audit", (audited,), {}),
    ("Drift", "from_estimator", (one,), {}),
    ("Drift", "from_estimator", (lambda: DriftMonitor(one(), draws=5),), {}),
    ("Ranking", "from_estimator", (one, NEW), {}),
    ("TopicForest", "from_estimator", (one,), {}),
    ("TopicForest", "from_estimator", (topics,), {"parameter": "mode"}),
    ("TopicForest", "from_estimator", (topics,), {"klass": "both"}),
    ("TopicForest", "from_estimator", (topics,), {"topics": []}),
    ("TopicForest", "from_estimator", (topics,), {"topics": ["acq", "wheat"]}),
]


def refused():
    """Return the errors of wrong calls."""
    said = []
    for display, make, arguments, options in WRONG:
        given = [each() if callable(each) else each for each in arguments]
        try:
            getattr(getattr(plots, f"{display}Display"), make)(*given, **options)
            said.append(f"{display}: drawn")
        except (ValueError, TypeError) as err:
            said.append(f"{display}: {type(err).__name__}: {err}")
    return said


CASES = {"refused": refused} | cases_of_estimators({
    "densities": ("ClassDensity",),
    "densities, weighted": ("ClassDensity", "weighted", {"draws": 5, "level": 0.5, "bins": 6}),
    "densities, mle": ("ClassDensity", "mle"),
    "densities, bare": ("ClassDensity", "gaussian",
                        {"mle": False, "histogram": False, "legend": False, "grid": GRID}),
    "densities, monotone": ("ClassDensity", "several", {"random_state": 4, "draws": 99}),
    "densities, topic": ("ClassDensity", "topics", {"topic": "earn", "mle": False}),
    "densities, one score": ("ClassDensity", "gaussian", ([0.5, 0.5, 1.0], [0, 0, 1])),
    "comparison": ("Comparison",),
    "comparison, few": ("Comparison", "weighted", {"most": 5, "level": 0.5, "legend": False}),
    "comparison, held out": ("Comparison", "several", HELD_OUT),
    "comparison, topic": ("Comparison", "topics", ([0.2, -0.1, -3.0], [0, 0, 0]),
                          {"topic": "acq"}),
    "labels": ("PredictiveCheck",),
    "labels, difference": ("PredictiveCheck", "weighted",
                           {"difference": True, "draws": 30, "random_state": 2}),
    "labels, held out": ("PredictiveCheck", "several", HELD_OUT, {"draws": 25, "level": 0.5}),
    "scores": ("PredictiveCheck", "gaussian", {"check": "scores", "draws": 50}),
    "scores, weighted": ("PredictiveCheck", "weighted",
                         {"check": "scores", "draws": 20, "legend": False}),
    "scores, one class": ("PredictiveCheck", "gaussian", ([0.2, 1.0, 1.0], [1, 1, 1]),
                          {"check": "scores", "draws": 20, "difference": True}),
})  # fmt: skip

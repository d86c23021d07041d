"""Few positives a topic: total test log-loss on ten Reuters topics, against Platt and isotonic.

Calibrate on a random subset of the calibration split with n+ positives a topic (negatives in
proportion), test on the whole test split, ten topics together; lower is better.

    python -m benchmarks.reuters_few_positives
"""

import sys

import numpy as np
from scipy import special
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from bayescal import ScoreCalibrator
from bayescal.datasets import load_reuters_scores
from bayescal.datasets.reuters_scores import CLASSIFIERS, TOPICS
from bayescal.metrics import losses
from benchmarks.guard_floor import subset

SIZES = (3, 5, 10, 20, 50, 100)
REPEATS = 10
CLIP = 1e-4  # of isotonic's probabilities, which are 0 and 1 otherwise


def scikit_learn(method):
    """Return a function that fits scikit-learn's calibrator to scores as they are."""

    def log_odds(scores, labels, new):
        # The logistic regression has slope 1 and intercept 0: its decision function is the score.
        base = LogisticRegression()
        base.classes_, base.coef_, base.intercept_ = np.array([0, 1]), np.ones((1, 1)), np.zeros(1)
        base.n_features_in_ = 1
        fitted = CalibratedClassifierCV(FrozenEstimator(base), method=method, cv=2)
        fitted.fit(scores[:, None], labels)
        probability = fitted.calibrated_classifiers_[0].calibrators[0].predict(new)
        low = CLIP if method == "isotonic" else 1e-15
        return special.logit(np.clip(probability, low, 1 - low))

    return log_odds


def calibrator(**settings):
    """Return a function that fits a ScoreCalibrator."""

    def log_odds(scores, labels, new):
        return ScoreCalibrator(**settings).fit(scores, labels).decision_function(new)

    return log_odds


METHODS = {
    "Platt": scikit_learn("sigmoid"),
    "isotonic": scikit_learn("isotonic"),
    "A.Laplace MLE": calibrator(inference="mle"),
    "A.Laplace": calibrator(random_state=0),
    "A.Laplace, mean": calibrator(random_state=0, point="mean"),
    "A.Gauss": calibrator(family="asymmetric_gaussian", random_state=0),
    "Laplace": calibrator(family="laplace", random_state=0),
}


def totals(tables, n_positive, rng):
    """Return each method's log-loss in bits, summed over topics and test documents."""
    out = np.zeros(len(METHODS))
    for calibration, test in tables:
        score, label = (calibration[name].to_numpy() for name in ("score", "label"))
        mask = subset(label, n_positive, rng)
        for k, method in enumerate(METHODS.values()):
            log_odds = method(score[mask], label[mask], test["score"].to_numpy())
            out[k] += losses(log_odds, test["label"] == 1).log_loss
    return out


def main():
    """Print mean totals and their standard errors over repeats."""
    print(f"{'':18}" + "".join(f"{name:>18}" for name in METHODS))
    for classifier in CLASSIFIERS:
        tables = [
            [load_reuters_scores(classifier, topic, split) for split in ("calibration", "test")]
            for topic in TOPICS
        ]
        for n_positive in SIZES:
            rng = np.random.default_rng(n_positive)
            bits = np.array([totals(tables, n_positive, rng) for _ in range(REPEATS)])
            mean, error = bits.mean(0), bits.std(0, ddof=1) / REPEATS**0.5
            cells = "".join(f"{m:>12.0f} +-{e:<3.0f}" for m, e in zip(mean, error, strict=True))
            print(f"{classifier:12} {n_positive:>4} {cells}", flush=True)


if __name__ == "__main__":
    sys.exit(main())

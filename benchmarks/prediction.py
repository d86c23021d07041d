"""predict_proba by maximum likelihood at 1e6 scores against scikit-learn's sigmoid."""

from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from bayescal import ScoreCalibrator
from bayescal.families import FAMILIES
from benchmarks.data import million
from benchmarks.timing import report


def main():
    """Print times and ratios."""
    scores, positive = million()
    # The sigmoid alone, as scikit-learn applies it to scores it is given.
    base = FrozenEstimator(LogisticRegression().fit(scores[:1000, None], positive[:1000]))
    fitted = CalibratedClassifierCV(base, method="sigmoid").fit(
        scores[:1000, None], positive[:1000]
    )
    sigmoid = fitted.calibrated_classifiers_[0].calibrators[0]
    for name in FAMILIES:
        calibrator = ScoreCalibrator(name, "mle").fit(scores[:1000], positive[:1000])
        report(
            f"predict_proba, {name}",
            lambda calibrator=calibrator: calibrator.predict_proba(scores),
            lambda: sigmoid.predict(scores),
            "sklearn sigmoid predict",
            10.0,
        )


if __name__ == "__main__":
    main()

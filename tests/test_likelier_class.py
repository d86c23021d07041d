"""predict returns the class whose probability is above one half, whatever the estimator."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from bayescal import CalibratedClassifier, ScoreCalibrator
from bayescal.calibrators.recalibrator import Recalibrator

RNG = np.random.default_rng(0)
LABEL = np.tile(["no", "yes"], 60)
SCORE = RNG.normal(1.5 * (LABEL == "yes"), 1.0)
FINE = np.linspace(-1.0, 3.0, 401)
SHARES = np.linspace(0.005, 0.995, 401)
MLE = ScoreCalibrator("gaussian", "mle")


def of_probabilities():
    fitted = Recalibrator(refit="never", random_state=0)
    return fitted.fit(1.0 / (1.0 + np.exp(-SCORE)), LABEL), (SHARES,)


def of_a_classifier():
    fitted = CalibratedClassifier(LogisticRegression(), MLE, cv=2, random_state=0)
    return fitted.fit(SCORE[:, None], LABEL), (FINE[:, None],)


FITS = {
    "scores": lambda: (ScoreCalibrator("gaussian", "mle").fit(SCORE, LABEL), (FINE,)),
    "the first class": lambda: (
        ScoreCalibrator("gaussian", "mle", positive="no").fit(-SCORE, LABEL), (-FINE,)
    ),
    "probabilities": of_probabilities,
    "a classifier": of_a_classifier,
}  # fmt: skip


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_the_likelier_class_is_predicted(fit):
    estimator, at = fit()
    p = estimator.predict_proba(*at)
    assert estimator.classes_.tolist() == ["no", "yes"]
    found = estimator.predict(*at)
    assert np.unique(found).tolist() == ["no", "yes"]
    np.testing.assert_array_equal(found, estimator.classes_[p.argmax(axis=1)])
    # Near one half a limit elsewhere would show.
    assert np.sort(np.abs(p[:, 1] - 0.5))[5] < 0.05

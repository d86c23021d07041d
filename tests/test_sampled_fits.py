"""Inverse inclusion probabilities: probabilities are the population's, and bands hold."""

import numpy as np
import pytest
from scipy import special
from sklearn.linear_model import LogisticRegression

from bayescal import CalibratedClassifier, ScoreCalibrator, load
from tests.sizes import size

pytestmark = pytest.mark.one_era

POPULATION = 20_000
REPEATS = size(12, 60)


def truth(scores):
    return special.expit(1.3 * scores - 3.2)


def by_class(scores, positive):
    return np.where(positive, 0.1, 0.012)


def by_score(scores, positive):
    return 0.004 + 0.1 * special.expit(3.0 * (scores - 1.0))


def sample(inclusion, seed):
    """Return scores, labels and weights of a sample, and scores of the population to check."""
    rng = np.random.default_rng(seed)
    scores = 1.5 * rng.normal(size=POPULATION)
    positive = rng.random(POPULATION) < truth(scores)
    p = inclusion(scores, positive)
    taken = rng.random(POPULATION) < p
    where = np.quantile(scores, np.linspace(0.05, 0.95, 19))
    return scores[taken], positive[taken], 1.0 / p[taken], where


def coverage(inclusion, argument):
    held = []
    for seed in range(REPEATS):
        scores, labels, weight, where = sample(inclusion, seed)
        calibrator = ScoreCalibrator(draws=250, random_state=seed)
        low, high = calibrator.fit(scores, labels, **{argument: weight}).predict_interval(where).T
        held.append(np.mean((low <= truth(where)) & (truth(where) <= high)))
    return np.mean(held), np.std(held) / np.sqrt(REPEATS)


@pytest.mark.slow
@pytest.mark.parametrize("inclusion", [by_class, by_score])
def test_bands_hold(inclusion):
    share, error = coverage(inclusion, "sampling_weight")
    assert share > 0.9 - 3.0 * error


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:sample_weight counts documents")
@pytest.mark.parametrize("inclusion", [by_class, by_score])
def test_bands_of_the_same_weights_as_counts_do_not_hold(inclusion):
    share, _ = coverage(inclusion, "sample_weight")
    assert share < 0.75


def test_the_base_rate_is_that_of_the_population():
    scores, labels, weight, where = sample(by_class, 0)
    fitted = ScoreCalibrator(draws=250, random_state=0).fit(scores, labels, sampling_weight=weight)
    assert np.abs(fitted.predict_proba(where)[:, 1] - truth(where)).max() < 0.1
    own = ScoreCalibrator(draws=250, random_state=0).fit(scores, labels)
    assert np.abs(own.predict_proba(where)[:, 1] - truth(where)).max() > 0.3
    # The point estimate of maximum likelihood too.
    mle = ScoreCalibrator(inference="mle").fit(scores, labels, sampling_weight=weight)
    assert mle.mle_.prior == pytest.approx(np.average(labels, weights=weight), abs=0.003)


@pytest.mark.slow
def test_only_ratios_of_weights_matter(tmp_path):
    scores, labels, weight, where = sample(by_score, 1)
    one, other = (
        ScoreCalibrator(draws=50, random_state=0).fit(scores, labels, sampling_weight=each)
        for each in (weight, 8.0 * weight)
    )
    np.testing.assert_allclose(one.predict_interval(where), other.predict_interval(where))
    again = load(one.save(tmp_path / "one.nc"))
    np.testing.assert_array_equal(one.predict_interval(where), again.predict_interval(where))


def test_equal_weights_are_none():
    scores, labels, _, where = sample(by_score, 2)
    plain = ScoreCalibrator(draws=500, random_state=0).fit(scores, labels)
    same = ScoreCalibrator(draws=500, random_state=0)
    same = same.fit(scores, labels, sampling_weight=np.full(scores.size, 66.7))
    found = same.predict_proba(where)[:, 1]
    np.testing.assert_allclose(found, plain.predict_proba(where)[:, 1], atol=0.01)


def test_a_classifier_passes_them_on():
    scores, labels, weight, where = sample(by_class, 3)
    fitted = CalibratedClassifier(LogisticRegression(), random_state=0, cv=3)
    fitted = fitted.fit(scores[:, None], labels, sampling_weight=weight)
    assert np.abs(fitted.predict_proba(where[:, None])[:, 1] - truth(where)).max() < 0.2
    with pytest.raises(ValueError, match="LogisticRegression takes no sampling_weight"):
        CalibratedClassifier(LogisticRegression(), LogisticRegression()).fit(
            scores[:, None], labels, sampling_weight=weight
        )


def test_bad_input():
    scores, labels, weight, _ = sample(by_class, 4)
    calibrator = ScoreCalibrator(inference="mle")
    with pytest.raises(ValueError, match="either sample_weight or sampling_weight must be None"):
        calibrator.fit(scores, labels, weight, weight)
    with pytest.raises(ValueError, match="sampling_weight must"):
        calibrator.fit(scores, labels, sampling_weight=-weight)
    with pytest.warns(UserWarning, match="pass them as sampling_weight"):
        calibrator.fit(scores, labels, weight)
    fitted = calibrator.fit(scores, labels, sampling_weight=weight)
    with pytest.raises(ValueError, match="update must follow a fit without sampling_weight"):
        fitted.update([0.0], [1])

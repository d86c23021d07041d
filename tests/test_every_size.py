"""Scores and weights of every size: finite answers, and no warning of NumPy's.

`make every-size SEED=1` draws other inputs than the slow lane does: before each release it runs
once with a seed that no release has had.
"""

import os
import warnings

import numpy as np
import pytest

from bayescal import MulticlassCalibrator, ScoreCalibrator, TopicCalibrator
from bayescal.calibrators.recalibrator import Recalibrator
from bayescal.fitting.results.diagnostics import ConvergenceWarning
from bayescal.fitting.scores import within_reach
from bayescal.inference.newton import stack
from bayescal.metrics import calibration_verdict, class_verdict
from bayescal.monitoring import audit
from bayescal.support.numerics import units_of
from bayescal.support.score_checks import ScoresWarning
from bayescal.support.validation import LEAST_SPREAD
from bayescal.support.weighting import bounded_weights
from tests.sizes import size

SEED, INPUTS = int(os.environ.get("BAYESCAL_SEED", "0")), size(75, 150)
SCORES = {
    "ordinary": lambda rng, x: x,
    "ties": lambda rng, x: np.round(x),
    "all sizes": lambda rng, x: x * 10.0 ** rng.uniform(-10, 10, x.size),
    "tiny": lambda rng, x: x * 10.0 ** rng.uniform(-320, -250),
    "denormal": lambda rng, x: np.round(x) * 5e-324,
    "huge": lambda rng, x: x * 10.0 ** rng.uniform(70, 149),
    "some huge": lambda rng, x: np.where(
        rng.random(x.size) < rng.choice([0.02, 0.1, 0.5]), x * 10.0 ** rng.uniform(70, 149), x
    ),
    "nearly equal": lambda rng, x: 10.0 ** rng.uniform(-5, 20) * (1.0 + 2e-16 * np.round(9 * x)),
    "probabilities": lambda rng, x: np.round(1.0 / (1.0 + np.exp(-x)), rng.integers(0, 4)),
    "equal": lambda rng, x: np.full(x.size, x[0]),
}
WEIGHTS = {
    "none": lambda rng, n: None,
    "counts": lambda rng, n: rng.integers(1, 5, n).astype(float),
    "large": lambda rng, n: rng.random(n) * 10.0 ** rng.uniform(5, 140),
    "small": lambda rng, n: rng.random(n) * 10.0 ** rng.uniform(-300, -5),
    "all sizes": lambda rng, n: 10.0 ** rng.uniform(-30, 30, n),
    "some zero": lambda rng, n: (rng.random(n) < 0.7).astype(float),
}


def drawn(seed, kind=None, weights=None):
    """Return scores, labels and weights of a seed, of kinds that are drawn too or named."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([2, 3, 5, 10, 30, 100, 300]))
    positive = rng.random(n) < rng.choice([0.1, 0.3, 0.5])
    positive[:2] = True, False
    kind = kind or rng.choice(list(SCORES))
    weights = weights or rng.choice(list(WEIGHTS))
    score = SCORES[kind](rng, rng.normal(size=n) + 2.0 * positive)
    weight = WEIGHTS[weights](rng, n)
    if weight is not None:
        weight[:2] = np.maximum(weight[:2], 1e-300)
    return score, positive, weight


def check(score, positive, weight, parts="auto"):
    new = np.concatenate([score[:20], [0.0, 1.0, -1.0, 1e-300, 1e10, 1e149, -1e149]])
    with warnings.catch_warnings():
        for category in (ScoresWarning, ConvergenceWarning):
            warnings.simplefilter("ignore", category)
        warnings.filterwarnings("ignore", "sample_weight counts documents")
        calibrator = ScoreCalibrator(parts, draws=50, random_state=0)
        if units_of(score, positive, weight)[1] <= LEAST_SPREAD:
            with pytest.raises(ValueError, match="scores must differ by more than 1e-280"):
                calibrator.fit(score, positive, sample_weight=weight)
            return
        calibrator.fit(score, positive, sample_weight=weight)
        p = calibrator.predict_proba(new)
        band = calibrator.predict_interval(new)
        # So many scores are read from a table.
        log_odds = calibrator.decision_function(np.repeat(new, 20))
    assert ((p >= 0.0) & (p <= 1.0)).all()
    assert (band[:, 0] <= band[:, 1]).all()
    assert np.isfinite(band).all()
    assert np.isfinite(log_odds).all()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEED * INPUTS, (SEED + 1) * INPUTS))
def test_scores_and_weights_of_every_size_get_finite_answers(seed):
    check(*drawn(seed))


@pytest.mark.parametrize(
    ("kind", "weights", "seed"),
    [
        ("ordinary", "large", 1),
        ("probabilities", "all sizes", 6),
        ("tiny", "counts", 0),
        ("denormal", "counts", 10),
        ("some huge", "counts", 71),
        ("some huge", "large", 53),
        ("huge", "none", 2),
    ],
)
def test_sizes_that_once_failed(kind, weights, seed):
    check(*drawn(seed, kind, weights))


def test_weights_beyond_what_numbers_hold_keep_their_proportions():
    weight = np.array([1e30, 3e30, 0.0, 1e-30])
    bounded = bounded_weights(weight)
    assert bounded.sum() == pytest.approx(1e12)
    assert bounded[1] / bounded[0] == pytest.approx(3.0)
    ordinary = np.array([1.0, 2.0])
    assert bounded_weights(ordinary) is ordinary
    assert np.isfinite(bounded_weights(np.full(5, 1e149))).all()


RNG = np.random.default_rng(0)
CLASS = np.arange(60) % 3
LOGITS = 2.0 * np.eye(3)[CLASS] + RNG.normal(size=(60, 3))
GIVEN, OUTCOME = RNG.uniform(0.1, 0.9, 60), CLASS == 0
SITES = np.repeat([1, 2, 3], 20)
ANSWERS = {
    "recalibrated": lambda w: (
        Recalibrator(refit="never", draws=25, random_state=0)
        .fit(GIVEN, OUTCOME, sample_weight=w)
        .predict_proba(GIVEN)
    ),
    "audit": lambda w: audit(OUTCOME, GIVEN, sample_weight=w).numbers["slope"].value,
    "audit of sites": lambda w: (
        audit(OUTCOME, GIVEN, SITES, sample_weight=w).sites["mean"].values.astype(float)
    ),
    "sites": lambda w: (
        Recalibrator("partial", draws=25, random_state=0)
        .fit(GIVEN, OUTCOME, SITES, sample_weight=w)
        .predict_interval(GIVEN, sites=SITES)
    ),
    "topics": lambda w: (
        TopicCalibrator("none", "gaussian", draws=25, random_state=0)
        .fit(GIVEN, OUTCOME, SITES, sample_weight=w)
        .predict_interval(GIVEN, SITES)
    ),
    "updated": lambda w: (
        ScoreCalibrator("gaussian", draws=25, random_state=0)
        .fit(GIVEN, OUTCOME, sample_weight=w)
        .update(GIVEN, OUTCOME, sample_weight=w)
        .predict_interval(GIVEN)
    ),
    "verdict": lambda w: calibration_verdict(OUTCOME, GIVEN, sample_weight=w).pvalue,
}


SIZES = {
    "one huge": np.where(np.arange(60) == 3, 1e30, 1.0),
    "all huge": np.full(60, 1e30),
    "all tiny": np.full(60, 1e-30),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("answer", ANSWERS)
def test_weights_beyond_what_numbers_hold_get_finite_answers(answer, sizes):
    assert np.isfinite(ANSWERS[answer](SIZES[sizes])).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("sizes", SIZES)
def test_classes_are_fitted_and_updated_with_weights_of_every_size(sizes):
    calibrator, weight = MulticlassCalibrator(draws=25, random_state=0), SIZES[sizes]
    calibrator.fit(LOGITS, CLASS, sample_weight=weight)
    calibrator.update(LOGITS, CLASS, sample_weight=weight)
    assert np.isfinite(calibrator.predict_proba(LOGITS)).all()


def test_equal_densities_share_large_weights_whose_rounding_exceeds_the_belief():
    density = np.repeat(RNG.normal(size=(1, 60)), 3, axis=0)
    stacked = stack(density, bounded_weights(np.full(60, 1e30)), 1e-6)
    np.testing.assert_allclose(stacked, 1.0 / 3.0, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_test_that_repeats_documents_refuses_weights_beyond_memory():
    with pytest.raises(ValueError, match=r"sample_weight must count at most 10,000,000"):
        class_verdict(CLASS, np.full((60, 3), 1.0 / 3.0), sample_weight=np.full(60, 1e30))


@pytest.mark.filterwarnings("ignore:2 scores are closer to 0")
def test_scores_too_small_to_divide_by_are_zero():
    found = within_reach(np.array([0.0, 1e-300, -1e-295, -1e-280, 1.0]), 0.0, 1.0)
    assert found.tolist() == [0.0, 0.0, 0.0, -1e-280, 1.0]


def test_weights_of_all_sizes_leave_maps_of_classes_a_mode():
    rng = np.random.default_rng(7)
    scores = 2.0 * np.eye(3)[CLASS] + rng.normal(size=(60, 3))
    weight = 10.0 ** rng.uniform(-30, 30, 60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = MulticlassCalibrator(draws=10, chains=2, random_state=0)
        p = fitted.fit(scores, CLASS, sample_weight=weight).predict_proba(scores)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    heaviest = weight > 1e-3 * weight.max()
    assert (p.argmax(axis=1) == CLASS)[heaviest].all()

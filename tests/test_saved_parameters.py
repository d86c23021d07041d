"""Every constructor parameter is saved, and is the same to a loaded calibrator's next update."""

import warnings
from dataclasses import fields

import numpy as np
import pytest
from sklearn.base import clone

from bayescal import (
    NUTS,
    Densities,
    Density,
    Logistic,
    Monotone,
    MulticlassCalibrator,
    Program,
    ScoreCalibrator,
    TopicCalibrator,
    load,
)
from bayescal.fitting.parts.configured import decode, encode
from bayescal.monitoring import Recalibrator

RNG = np.random.default_rng(5)
LABELS = RNG.random(60) < 0.4
SCORES = RNG.normal(2.0 * LABELS)
TOPICS = np.repeat(["corn", "earn", "ship"], 20)
CLASSES = RNG.integers(3, size=60)
OF_CLASSES = RNG.normal(2.0 * np.eye(3)[CLASSES])
P = 1.0 / (1.0 + np.exp(-SCORES))
FEW = {"draws": 20, "chains": 2, "random_state": 3}
GAUSSIAN = {"parts": "gaussian", **FEW}
PARTS = [
    "combined",
    Densities("gaussian", prior_knowledge={"theta_scale": 3.0}),
    Monotone(n_segments=3),
]
# For each estimator, keyword arguments: together each parameter is once not the default.
CASES = [
    (
        ScoreCalibrator,
        {
            **FEW,
            "parts": PARTS,
            "scores_are": "log_odds",
            "units": {"centre": np.float64(1.0), "spread": 3.0},
            "point": "median",
            "lapse": 0.05,
            "prior_knowledge": "vague",
        },
    ),
    (ScoreCalibrator, {"parts": "gaussian", "inference": "mle", "positive": np.False_}),
    (
        TopicCalibrator,
        {
            **GAUSSIAN,
            "prior_knowledge": {"log_scale": (0.0, 0.1)},
            "new_topics": "error",
            "scores_are": "log_odds",
            "positive": False,
            "point": "mean",
        },
    ),
    (TopicCalibrator, {**GAUSSIAN, "pooling": "none"}),
    (TopicCalibrator, {**FEW, "lapse": 0.05}),
    (
        MulticlassCalibrator,
        {
            **FEW,
            "scores_are": "scores",
            "inference": "variational",
            "prior_knowledge": {"gain": (-1.0, 0.0, 0.01), "scales": {"bias": 1.0}},
        },
    ),
    (MulticlassCalibrator, {**FEW, "exchangeable": True, "position_bias": True}),
    (Recalibrator, {"draws": 20, "pooling": "partial", "positive": False, "random_state": 0}),
    (Recalibrator, {"draws": 20, "refit": "never"}),
]
SOURCES = {
    "Generator": lambda: np.random.default_rng(3),
    "MT19937": lambda: np.random.Generator(np.random.MT19937(3)),
    "RandomState": lambda: np.random.RandomState(3),
    "SeedSequence": lambda: np.random.SeedSequence(3, spawn_key=(1,)),
}


@pytest.fixture(autouse=True)
def _few_draws():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def fit(calibrator):
    if isinstance(calibrator, ScoreCalibrator):
        return calibrator.fit(SCORES, LABELS)
    if isinstance(calibrator, TopicCalibrator):
        return calibrator.fit(SCORES, LABELS, TOPICS)
    if isinstance(calibrator, MulticlassCalibrator):
        return calibrator.fit(OF_CLASSES, CLASSES)
    return calibrator.fit(P, LABELS, TOPICS if calibrator.pooling == "partial" else None)


def next_answers(calibrator):
    """Return probabilities after further documents, where a calibrator takes any."""
    if isinstance(calibrator, ScoreCalibrator):
        return calibrator.update(SCORES[:3], LABELS[:3]).predict_proba(SCORES)
    if isinstance(calibrator, TopicCalibrator):
        calibrator.add_topics(SCORES[:9], LABELS[:9], np.repeat("new", 9))
        return calibrator.predict_proba(SCORES[:9], np.repeat("new", 9))
    if isinstance(calibrator, MulticlassCalibrator):
        return calibrator.update(OF_CLASSES[:5], CLASSES[:5]).predict_proba(OF_CLASSES)
    return calibrator.predict_proba(P)


def check_goes_on(calibrator, path):
    """Check that a saved calibrator has the parameters, and the answers after an update."""
    again = load(calibrator.save(path))
    before, after = ({**each.get_params(deep=False)} for each in (calibrator, again))
    assert encode(after) == encode(before)
    assert np.array_equal(next_answers(again), next_answers(calibrator))


@pytest.mark.parametrize("estimator", {each: None for each, _ in CASES})
def test_cases_are_of_every_saved_parameter(estimator):
    saved = {each.name for each in fields(estimator._fit_type.parameter_type)}
    default = estimator().get_params(deep=False)
    assert set(default) - saved <= {"n_jobs", "memory"}
    stated = [settings for each, settings in CASES if each is estimator]
    changed = {name for own in stated for name in own if encode(own[name]) != encode(default[name])}
    # NUTS takes long to sample topics; objects of its class are saved below.
    assert changed | ({"inference"} if estimator is TopicCalibrator else set()) == saved


@pytest.mark.parametrize(("estimator", "settings"), CASES)
def test_a_loaded_calibrator_goes_on_with_the_same_parameters(estimator, settings, tmp_path):
    check_goes_on(fit(estimator(**settings)), tmp_path / "saved.nc")


@pytest.mark.parametrize("source", SOURCES)
def test_a_generator_goes_on_where_it_was(source, tmp_path):
    settings = GAUSSIAN | {"random_state": SOURCES[source]()}
    check_goes_on(fit(ScoreCalibrator(**settings)), tmp_path / "saved.nc")


def test_a_prior_of_several_classes_matters():
    with_prior, without = (
        fit(MulticlassCalibrator(**FEW, prior_knowledge=each)).predict_proba(OF_CLASSES)
        for each in ({"gain": (-1.0, 0.0, 0.01)}, None)
    )
    assert np.abs(with_prior - without).max() > 0.1


def test_a_parameter_that_no_file_can_hold_is_named(tmp_path):
    calibrator = fit(ScoreCalibrator(**GAUSSIAN))
    calibrator.set_params(inference=NUTS({"tune": 5, "callback": print}))
    calibrator._fitted = calibrator._fit.of_groups(
        calibrator._parameters(), calibrator._fit.groups, calibrator._fit.classes
    )
    message = "the parameter inference of the ScoreCalibrator cannot be saved: .*function print"
    with pytest.raises(ValueError, match=message):
        calibrator.save(tmp_path / "saved.nc")
    assert not list(tmp_path.iterdir())


def test_a_parameter_that_a_subclass_added_is_named(tmp_path):
    class Ours(ScoreCalibrator):
        def __init__(self, parts="gaussian", site="here", draws=20, random_state=0):
            super().__init__(parts, draws=draws, random_state=random_state)
            self.site = site

    with pytest.raises(ValueError, match="the parameter site of the Ours cannot be saved"):
        fit(Ours()).save(tmp_path / "saved.nc")


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ("wide", "prior_knowledge must be a dict of hyperparameters by name"),
        ({"slope": 1.0}, "may hold gain, warp, asymmetry, lapse, scales; got 'slope'"),
        ({"warp": 1.0}, "warp must hold 2 finite numbers, got 1.0"),
        ({"gain": (0.0, np.nan, 1.0)}, "gain must hold"),
        ({"warp": (1.0, 0.0)}, "a scale or count of warp must be positive"),
        ({"lapse": (0.0, 1.0)}, "a scale or count of lapse must be positive"),
        ({"scales": {"steep": 1.0}}, "scales must be a dict of bias, slope, certainty, confusion"),
        ({"scales": {"bias": -1.0}}, "the scale of bias must be positive"),
        ({"scales": {"bias": [1.0, 2.0]}}, "the scale of bias must be one number"),
    ],
)
def test_a_prior_of_several_classes_is_checked(stated, message):
    with pytest.raises(ValueError, match=message):
        MulticlassCalibrator(prior_knowledge=stated).fit(OF_CLASSES, CLASSES)


CONFIGURED = {
    "densities": lambda: PARTS[1],
    "monotone": lambda: PARTS[2],
    "logistic": lambda: Logistic(warp=2.0, prior_knowledge={"slope_scale": 0.5}),
    "program": lambda: Program("logistic", prior_knowledge={"slope_scale": 0.5}),
    "density": lambda: Density(
        "StudentT", nu=4, mu=[0.0, 1.0], priors={"sigma": Density("HalfNormal", sigma=1.0)}
    ),
    "sampler": lambda: NUTS({"tune": 5, "target_accept": 0.9}),
}


@pytest.mark.parametrize("name", CONFIGURED)
def test_configured_objects_are_cloned_and_saved(name):
    own = CONFIGURED[name]()
    for copy in (clone(own), decode(encode(own))):
        assert copy is not own
        assert copy == own
    where = "inference" if isinstance(own, NUTS) else "parts"
    for value in (own, [own]):
        estimator = ScoreCalibrator(**{where: value})
        assert getattr(clone(estimator), where) == value
        assert decode(encode(estimator.get_params(deep=False)))[where] == value

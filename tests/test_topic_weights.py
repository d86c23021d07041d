"""Weights of many topics' documents: numbers of repetitions, in every part and every pooling."""

from copy import copy

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.frozen import FrozenEstimator
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from bayescal import CalibratedClassifier, ScoreCalibrator, TopicCalibrator
from bayescal.families import FAMILIES
from bayescal.families.draws import standardise
from bayescal.fitting.engines.monotone.engine import leave_one_out
from bayescal.fitting.engines.monotone.posterior import MonotoneCurves
from bayescal.fitting.engines.pooled import engine as pooled
from bayescal.fitting.engines.pooled.combination import _Documents
from bayescal.fitting.engines.pooled.log_odds import fit_log_odds, leave_out, prior_of
from bayescal.fitting.scores import BinaryScores, read_topics
from tests.uncompiled import UNCOMPILED

FEW = {"draws": 60, "chains": 2, "random_state": 0}
MODELS = {
    "combined": {},
    "gaussian": {"parts": "gaussian"},
    "apart": {"pooling": "none"},
    "together": {"pooling": "complete"},
}
NAMES, DOCUMENTS = ["corn", "crude", "earn"], 30
TOPICS = np.repeat(NAMES, DOCUMENTS)
LABELS = np.tile(np.arange(DOCUMENTS) % 5 == 0, 3).astype(int)
SCORES = np.random.default_rng(0).normal(2.0 * LABELS)
WEIGHTS = np.random.default_rng(1).integers(0, 4, LABELS.size)
REPEATED = np.repeat(np.arange(LABELS.size), WEIGHTS)
ALL = SCORES, LABELS, TOPICS
# The log scores of a combination, and all that is learnt from them: the most influential documents
# are fitted without again, and which these are depends on how many there are.
BY_CHANCE = {"weight", "population_weight", "elpd", "se", "lapse"}


def take(rows):
    return SCORES[rows], LABELS[rows], TOPICS[rows]


def numbers(calibrator):
    """Return all numbers of a tree by group and name, but those that depend on chance."""
    return {
        f"{node.path}/{name}": variable.values
        for node in calibrator.posterior_.subtree
        for name, variable in node.data_vars.items()
        if name not in BY_CHANCE and variable.dtype.kind in "fi"
    }


def check_same(one, other):
    found, expected = numbers(one), numbers(other)
    assert found.keys() == expected.keys()
    for name, values in found.items():
        np.testing.assert_allclose(values, expected[name], 1e-7, 1e-10, err_msg=name)


@pytest.fixture(scope="module", params=MODELS)
def settings(request):
    return FEW | MODELS[request.param]


@pytest.fixture(scope="module")
def plain(settings):
    return TopicCalibrator(**settings).fit(*ALL)


@pytest.mark.slow
def test_a_weight_is_a_number_of_repetitions(settings, plain):
    weighted = TopicCalibrator(**settings).fit(*ALL, sample_weight=WEIGHTS)
    repeated = TopicCalibrator(**settings).fit(*take(REPEATED))
    check_same(weighted, repeated)
    where = np.linspace(-2.0, 4.0, 7), ["corn"] * 7
    found = weighted.predict_proba(*where)
    np.testing.assert_allclose(found, repeated.predict_proba(*where), atol=0.02)
    # Negative: the weights matter.
    with pytest.raises(AssertionError):
        check_same(weighted, plain)


def test_weights_of_1_are_none_and_weights_of_0_no_documents(settings):
    kept = WEIGHTS > 0
    without = TopicCalibrator(**settings).fit(*take(kept))
    weighted = TopicCalibrator(**settings).fit(*ALL, sample_weight=kept.astype(float))
    assert weighted.posterior_.identical(without.posterior_)


def test_added_topics_are_weighted_too(plain):
    weighted, repeated = copy(plain), copy(plain)
    some = slice(0, DOCUMENTS)
    new = REPEATED[REPEATED < DOCUMENTS]
    weighted.add_topics(SCORES[some], LABELS[some], ["new"] * DOCUMENTS, WEIGHTS[some])
    repeated.add_topics(SCORES[new], LABELS[new], ["new"] * new.size)
    check_same(weighted, repeated)
    assert weighted.summary().loc["new"]["documents"].sum() == 3 * new.size


def test_a_topic_whose_documents_have_no_weight_is_answered_for_by_the_population():
    weight = np.where(TOPICS == "earn", 0.0, 1.5)
    fitted = TopicCalibrator(**FEW, parts="gaussian").fit(*ALL, sample_weight=weight)
    assert fitted.topics_.tolist() == NAMES
    assert list(fitted.flagged_) == ["earn"]
    assert fitted.summary().loc["corn"]["documents"].tolist()[:2] == [36.0, 9.0]
    assert "90 documents" in fitted._repr_html_()


def test_one_document_of_weight_2_is_two_of_the_same_score():
    weight = np.where(TOPICS == "earn", 0.0, 1.0)
    weight[-1] = 2.0
    data = read_topics(*ALL, sample_weight=weight)
    assert data.constant().tolist() == [False, False, True]


@pytest.mark.slow
def test_the_sampler_weighs_documents(monkeypatch):
    models = []
    monkeypatch.setattr(pooled, "draw_posterior", lambda model, *_, **__: models.append(model))
    monkeypatch.setattr(pooled, "_sampled", lambda *_: None)
    for scores, labels, topics, weight in (
        (*take(WEIGHTS > 0), WEIGHTS[WEIGHTS > 0].astype(float)),
        (*take(REPEATED), None),
        (*ALL, None),
    ):
        mine = [topics == name for name in NAMES]
        data = [
            BinaryScores(scores[rows], labels[rows] == 1, None if weight is None else weight[rows])
            for rows in mine
        ]
        pooled.sample_topics(data, FAMILIES["gaussian"], None, draws=1, chains=1, scale=(0.0, 1.0))
    point = models[0].initial_point()
    weighted, repeated, plain = (
        float(model.compile_logp(mode=UNCOMPILED)(point)) for model in models
    )
    assert weighted == pytest.approx(repeated, rel=1e-10)
    assert weighted != pytest.approx(plain, rel=1e-3)


def test_documents_are_left_out_by_their_weights():
    rng = np.random.default_rng(3)
    positive = np.arange(200) % 2 == 0
    data = BinaryScores(rng.normal(positive), positive, rng.uniform(0.1, 0.9, 200))
    found = fit_log_odds([data, data], (0.0, 1.0), rng, draws=300)
    own, _ = leave_out([data, data], found, [np.arange(200)] * 2, rng)
    drawn = found.topics
    curves = MonotoneCurves(drawn.pieces, drawn.intercept[0], drawn.slope[0])
    prior = prior_of(found.population.mean(axis=0))
    x = standardise(data.score, drawn.centre, drawn.spread, drawn.asinh_scale)
    expected, unweighted = (
        leave_one_out(curves, x, positive, weight, prior, rng).log_odds(positive)
        for weight in (data.weight, None)
    )
    # All but the few that are drawn anew, from other random numbers.
    same = np.isclose(own, expected, rtol=1e-9)
    assert same.sum() >= 190
    np.testing.assert_allclose(own[~same], expected[~same], atol=0.2)
    assert (~np.isclose(own, unweighted, rtol=1e-9)).all()


def test_weights_of_parts_are_learnt_from_weighted_documents():
    rows = np.split(np.arange(LABELS.size), len(NAMES))
    weighted = [BinaryScores(SCORES[own], LABELS[own] == 1, 1.0 + WEIGHTS[own]) for own in rows]
    documents = _Documents(weighted, np.random.default_rng(0))
    counts = np.zeros(LABELS.size)
    np.add.at(counts, documents.index, documents.weight)
    np.testing.assert_allclose(counts, 1.0 + WEIGHTS)


def test_forms_of_weights_are_those_of_scores():
    wide, labels = SCORES.reshape(3, -1).T, LABELS.reshape(3, -1).T.astype(float)
    labels[2:9, 1] = np.nan
    weight = 1.0 + np.arange(wide.size).reshape(wide.shape)
    data = read_topics(wide, labels, NAMES, weight)
    np.testing.assert_array_equal(data.weight, weight[~np.isnan(labels)])
    # One for each document, whatever the topic.
    of_documents = 1.0 + np.arange(DOCUMENTS)
    data = read_topics(wide, labels, NAMES, of_documents)
    expected = np.repeat(of_documents[:, None], 3, axis=1)[~np.isnan(labels)]
    np.testing.assert_array_equal(data.weight, expected)
    table = pd.DataFrame({"score": SCORES, "label": LABELS, "topic": TOPICS, "weight": WEIGHTS})
    data = read_topics(table, sample_weight=table["weight"])
    np.testing.assert_array_equal(data.weight, WEIGHTS[WEIGHTS > 0])
    # As in ScoreCalibrator a column has to be named, and a number is one for all.
    assert read_topics(table).weight is None
    np.testing.assert_array_equal(read_topics(table, sample_weight=2).weight, 2.0)


@pytest.mark.parametrize(
    "weight",
    [
        np.ones(3),
        -np.ones(LABELS.size),
        np.zeros(LABELS.size),
        np.full(LABELS.size, np.nan),
        ["a"] * LABELS.size,
        np.ma.masked_less(WEIGHTS, 1),
        1.0 - LABELS,
    ],
)
def test_bad_weights_are_refused_as_by_a_score_calibrator(weight):
    with pytest.raises(ValueError, match="sample_weight") as of_one:
        ScoreCalibrator().fit(SCORES, LABELS, weight)
    with pytest.raises(ValueError, match="sample_weight") as of_topics:
        TopicCalibrator().fit(*ALL, sample_weight=weight)
    assert str(of_topics.value) == str(of_one.value)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones((2, 3)), r"shape \(30, 3\), one weight a score, or \(30,\), one a document, got"),
        (np.ones(29), r"shape \(30,\), one weight a score, got \(29,\)"),
        (-np.ones((30, 3)), "must not be negative, got -1"),
    ],
)
def test_bad_weights_of_documents_and_topics(weight, message):
    wide, labels = SCORES.reshape(3, -1).T, LABELS.reshape(3, -1).T
    with pytest.raises(ValueError, match=message):
        read_topics(wide, labels, NAMES, weight)


def test_weights_are_routed():
    with config_context(enable_metadata_routing=True):
        calibrator = TopicCalibrator().set_fit_request(sample_weight=True)
        assert calibrator.get_metadata_routing().fit.requests["sample_weight"] is True


def test_weights_reach_the_topics_of_a_classifier():
    rng = np.random.default_rng(2)
    features = rng.normal(size=(60, 3))
    labels = (features + rng.normal(size=(60, 3)) > 0.8).astype(int)
    weight = rng.integers(1, 4, 60)
    base = FrozenEstimator(OneVsRestClassifier(LinearSVC()).fit(features, labels))
    pooled = TopicCalibrator(parts="gaussian", draws=50)
    (pair,) = (
        CalibratedClassifier(base, pooled).fit(features, labels, weight).calibrated_classifiers_
    )
    documents = pair.calibrators[0].posterior_["maximum_likelihood"]["total_weight"]
    assert documents.sum("klass").values.tolist() == [weight.sum()] * 3

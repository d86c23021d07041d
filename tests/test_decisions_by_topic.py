"""Precision, recall and thresholds of fitted calibrators, in one table for all topics."""

import numpy as np
import pandas as pd
import pytest
from scipy import special
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from bayescal import CalibratedClassifier, MulticlassCalibrator, ScoreCalibrator, TopicCalibrator
from bayescal.decisions import (
    by_topic,
    precision_at,
    rates_by_topic,
    recall_at,
    threshold_for_recall,
    thresholds,
    thresholds_by_topic,
)
from bayescal.decisions.by_topic import ALL_TRIED, STEP, _tried

FEW = {"draws": 100, "chains": 2, "random_state": 0}


def made(n, seed, shift=2.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 4 == 0
    return rng.normal(shift * y), y


@pytest.fixture(scope="module")
def one():
    return ScoreCalibrator("gaussian", **FEW).fit(*made(100, 0))


@pytest.fixture(scope="module")
def topics():
    parts = [(*made(60, seed), np.full(60, name)) for seed, name in enumerate(["b", "a", "c"])]
    score, y, topic = map(np.concatenate, zip(*parts, strict=True))
    return TopicCalibrator(parts="laplace", **FEW).fit(score, y, topic), score, topic


def test_no_posterior_draw_is_taken_twice(one):
    score = np.array([[-1.0], [2.0]]).ravel()
    (problem,) = one.fitted_problems().values()
    for asked, taken in ((10, 10), (150, 150), (200, 200), (999, 200)):
        rng = np.random.default_rng(0)
        found = by_topic._collection(problem, "", score, None, None, asked, rng)
        drawn = found.sample(np.arange(2))
        assert found.draws == len(drawn) == len(np.unique(drawn, axis=0)) == taken


@pytest.mark.parametrize("threshold", [-9.0, 0.3, 1.5, 99.0])
def test_a_row_is_what_the_functions_of_draws_say(one, threshold):
    # All draws, in their order, and the same labels drawn: the same numbers.
    score, _ = made(50, 1)
    row = rates_by_topic(one, score, threshold=threshold, level=0.8, random_state=3).loc[""]
    draws = one.sample_proba(score)
    for name, function in (("precision", precision_at), ("recall", recall_at)):
        expected = function(threshold, score, draws, level=0.8, rng=3)
        assert row["selected"] == expected.selected == (score >= threshold).sum()
        found = row[[name, f"{name}_lower", f"{name}_upper"]].to_numpy(dtype=float)
        # Other labels, drawn in another order: near, of 200 draws.
        np.testing.assert_allclose(
            found, [expected.value, expected.lower, expected.upper], atol=0.06, equal_nan=True
        )
    assert row["documents"] == 50
    taken = score[score >= threshold]
    np.testing.assert_equal(row["score"], taken.min() if taken.size else np.nan)
    missed = draws[:, score < threshold].sum(axis=1).mean()
    assert row["missed"] == pytest.approx(missed, abs=0.5)


def test_a_probability_takes_the_documents_that_reach_it(one):
    score, _ = made(200, 2)
    p = one.predict_proba(score)[:, 1]
    row = rates_by_topic(one, score, probability=0.3, random_state=0).loc[""]
    assert row["selected"] == (p >= 0.3).sum()
    assert row["score"] == score[p >= 0.3].min()
    moved = rates_by_topic(one, score, probability=0.3, prior=0.02, random_state=0).loc[""]
    assert moved["selected"] == (one.predict_proba(score, prior=0.02)[:, 1] >= 0.3).sum()


@pytest.mark.parametrize("assurance", [None, 0.9])
def test_the_threshold_is_that_of_the_draws(one, assurance):
    score, _ = made(80, 1)
    table = thresholds_by_topic(one, score, recall=0.8, assurance=assurance, random_state=4)
    row = table.loc[""]
    # Draws all taken, labels drawn in the same order: bit for bit.
    expected = threshold_for_recall(score, one.sample_proba(score), 0.8, assurance=assurance, rng=4)
    assert row["threshold"] == expected.threshold
    assert (row["threshold_lower"], row["threshold_upper"]) == (expected.lower, expected.upper)
    assert row["recall"] == pytest.approx(expected.achieved.value)
    assert (row["selected"], row["assurance"]) == (expected.selected, expected.probability)
    assert row["probability"] == pytest.approx(
        one.predict_proba([expected.threshold])[0, 1], abs=1e-4
    )


def test_topics_are_ranked_by_what_is_missed_and_by_what_is_to_be_read(topics):
    calibrator, score, topic = topics
    rates = rates_by_topic(calibrator, score, topic, probability=0.5, random_state=0)
    assert sorted(rates.index) == ["a", "b", "c"]
    assert rates["missed"].is_monotonic_decreasing
    found = thresholds_by_topic(calibrator, score, topic, recall=0.9, random_state=0)
    assert found["selected"].is_monotonic_decreasing
    # A topic's row is its own, whatever the others.
    for table, function, asked in (
        (rates, rates_by_topic, {"probability": 0.5}),
        (found, thresholds_by_topic, {"recall": 0.9}),
    ):
        mine = topic == "b"
        alone = function(calibrator, score[mine], topic[mine], random_state=0, **asked)
        pd.testing.assert_frame_equal(alone, table.loc[["b"]])
    # Topics are answered by the population where they were not fitted.
    assert rates_by_topic(calibrator, [1.0], ["new"], threshold=0.0).index.tolist() == ["new"]


def test_a_map_of_all_classes_has_no_thresholds():
    with pytest.raises(TypeError, match="one score, got MulticlassCalibrator: of several"):
        thresholds_by_topic(MulticlassCalibrator(), np.zeros((3, 3)), recall=0.8)


def test_probabilities_stay_probabilities(one):
    score, y = made(100, 0)
    p = 1.0 / (1.0 + np.exp(-score))
    fitted = ScoreCalibrator("gaussian", scores_are="probabilities", **FEW).fit(p, y)
    row = thresholds_by_topic(fitted, p, recall=0.8, random_state=0).loc[""]
    of_scores = thresholds_by_topic(one, score, recall=0.8, random_state=0).loc[""]
    assert row["threshold"] == pytest.approx(1.0 / (1.0 + np.exp(-of_scores["threshold"])))


def test_a_classifiers_columns_are_topics():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (rng.normal(size=(300, 2)) < X).astype(int)
    fitted = CalibratedClassifier(
        OneVsRestClassifier(LogisticRegression()), ScoreCalibrator("gaussian", **FEW)
    ).fit(X, y)
    names = list(fitted.fitted_problems())
    raw = fitted.calibrated_classifiers_[0].scores(X)
    table = rates_by_topic(
        fitted, raw.T.ravel(), np.repeat(names, 300), probability=0.5, random_state=0
    )
    p = fitted.predict_proba(X)
    assert [table["selected"][name] for name in names] == (p >= 0.5).sum(axis=0).tolist()
    # Names are in words; numbers stand for them.
    numbers = np.repeat([int(name) for name in names], 300)
    of_numbers = rates_by_topic(fitted, raw.T.ravel(), numbers, probability=0.5, random_state=0)
    pd.testing.assert_frame_equal(of_numbers, table)


def test_blocks_of_documents_add_up(one, monkeypatch):
    score = np.round(made(60, 1)[0], 1)  # ties, some of them cut by blocks
    draws = (one.sample_proba(score) > 0.4).astype(float)  # labels are certain
    whole = threshold_for_recall(score, draws, 0.7, rng=0)
    monkeypatch.setattr(thresholds, "BLOCK_ELEMENTS", 7 * len(draws))
    assert threshold_for_recall(score, draws, 0.7, rng=0) == whole


@pytest.mark.parametrize("n", [300, 16_000])
def test_documents_of_weight_0_count_as_left_out(one, n):
    score, weight = np.linspace(-2.0, 4.0, n), np.arange(n)[::-1] % 3
    kept, own = weight > 0, {"random_state": 0}
    for table, wanted in (
        (rates_by_topic, {"threshold": 3.0}),
        (thresholds_by_topic, {"recall": 0.8}),
    ):
        every = table(one, score, sample_weight=weight, **wanted, **own)
        pd.testing.assert_frame_equal(
            every, table(one, score[kept], sample_weight=weight[kept], **wanted, **own)
        )


def test_precision_counts_no_documents_of_weight_0():
    p = np.tile([0.1, 0.5, 0.9], (50, 1))
    for at in (3.0, 2.0):
        found = precision_at(at, [1.0, 2.0, 3.0], p, sample_weight=[3, 2, 0], of="population")
        np.testing.assert_allclose(found.value, 0.5 if at == 2.0 else np.nan)


def test_of_many_documents_thresholds_are_a_thousandth_apart():
    n = 50_000
    tried = _tried(np.arange(1, n + 1))
    assert (tried[:ALL_TRIED] == np.arange(1, ALL_TRIED + 1)).all()
    assert tried[-1] == n
    assert (np.diff(tried) <= np.maximum(1, np.ceil(STEP * tried[:-1]))).all()
    assert tried.size < 6000
    ties = np.arange(5, n + 1, 5)
    assert set(_tried(ties)) <= set(ties)


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say():
    # Seeded: 90 % of 80 sets, within three standard errors.
    names = ("recall", "precision", "missed")
    held = dict.fromkeys(names, 0)
    for seed in range(80):
        score, y = made(120, seed)
        fitted = ScoreCalibrator("gaussian", draws=200, chains=1, random_state=seed)
        fitted.fit(score[:60], y[:60])
        new, truth = score[60:], y[60:]
        row = rates_by_topic(fitted, new, probability=0.5, random_state=seed).loc[""]
        taken = fitted.predict_proba(new)[:, 1] >= 0.5
        hits = truth[taken].sum()
        right = (hits / truth.sum(), hits / taken.sum(), truth.sum() - hits)
        for name, value in zip(names, right, strict=True):
            held[name] += row[f"{name}_lower"] <= value <= row[f"{name}_upper"]
    assert min(held.values()) > 80 * (0.9 - 3 * 0.034)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "give probability or threshold, one of them"),
        ({"probability": 0.5, "threshold": 0.0}, "give probability or threshold, one of them"),
        ({"probability": 1.0}, "probability must lie between 0 and 1"),
        ({"threshold": "high"}, "threshold must be a finite number, got 'high'"),
        ({"threshold": 0.0, "topics": ["a"] * 3}, "topics must be None for a calibrator without"),
        ({"threshold": 0.0, "scores": [[0.3, 0.7]] * 3}, r"pass \[:, 1\]"),
    ],
)
def test_wrong_arguments(arguments, message, one):
    given = {"scores": [0.0, 1.0, 2.0]} | arguments
    with pytest.raises(ValueError, match=message):
        rates_by_topic(one, **given)


def test_wrong_topics_and_calibrators(topics):
    calibrator, score, topic = topics
    with pytest.raises(ValueError, match="topics must hold the topic of each score"):
        thresholds_by_topic(calibrator, score, recall=0.9)
    with pytest.raises(ValueError, match="must have the same length, got 180 and 179"):
        thresholds_by_topic(calibrator, score, topic[:-1], recall=0.9)
    with pytest.raises(ValueError, match="recall must lie between 0 and 1"):
        thresholds_by_topic(calibrator, score, topic, recall=90)
    mle = ScoreCalibrator(inference="mle").fit(*made(40, 0))
    with pytest.raises(ValueError, match=r"intervals need a posterior.*inference='exact'"):
        thresholds_by_topic(mle, [1.0], recall=0.9)
    strict = TopicCalibrator(parts="laplace", new_topics="error", **FEW).fit(
        score, np.arange(180) % 4 == 0, topic
    )
    with pytest.raises(ValueError, match=r"got 'z' \(1 unknown\) where there are 'a', 'b', 'c'"):
        rates_by_topic(strict, [1.0, 2.0], ["a", "z"], threshold=0.0)


@pytest.mark.slow
@pytest.mark.parametrize("ties", [False, True])
def test_many_documents_counted_together_are_counted_right(one, ties, monkeypatch):
    score, _ = made(20_000, 5)
    score = np.round(score, 1) if ties else score
    asked = (
        (rates_by_topic, {"probability": 0.5}),
        (rates_by_topic, {"threshold": 0.7}),
        (thresholds_by_topic, {"recall": 0.8}),
    )
    together = [call(one, score, random_state=0, **words).iloc[0] for call, words in asked]
    monkeypatch.setattr(by_topic, "COUNTED_ALONE", score.size)
    alone = [call(one, score, random_state=0, **words).iloc[0] for call, words in asked]
    # Curves are the same 200, labels are drawn anew: of 20,000 documents they hardly matter.
    for found, expected in zip(together, alone, strict=True):
        noise = 0.01 + 2.0 * np.sqrt(expected) * np.array(
            [name.startswith(("found", "missed")) for name in found.index]
        )
        assert (np.abs(found - expected) <= 0.01 * np.abs(expected) + noise).all()
    assert not together[2].equals(alone[2])


@pytest.mark.slow
def test_positives_counted_together_have_the_mean_and_spread_of_labels():
    score, _ = made(20_000, 5)
    draws, p = 4000, special.expit(2.0 * score - 3.0)
    documents = by_topic.Collection(
        "", score, lambda: score, lambda rows: np.tile(p[rows], (draws, 1)), draws
    )
    found = documents.cuts(score, np.random.default_rng(0))
    order = np.argsort(-score)
    mean, variance = (np.cumsum(each[order])[found.selected - 1] for each in (p, p * (1.0 - p)))
    # Of 4,000 draws, at thresholds that depend on each other: 5 standard errors, and a tenth.
    assert (np.abs(found.positives.mean(axis=0) - mean) <= 5.0 * np.sqrt(variance / draws)).all()
    np.testing.assert_allclose(found.positives.var(axis=0)[-1], variance[-1], rtol=0.1)
    np.testing.assert_allclose(found.positives.var(axis=0)[1000], variance[1000], rtol=0.1)

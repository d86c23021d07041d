"""Inverse inclusion probabilities: probabilities are the population's, and bands hold."""

import numpy as np
import pytest
from scipy import special
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from bayescal import (
    CalibratedClassifier,
    CombinedClassifier,
    ScoreCalibrator,
    TopicCalibrator,
    load,
)
from bayescal.support.weighting import chosen_by_score, sampled
from tests.sizes import size

POPULATION = 20_000
REPEATS = size(12, 60)


def truth(scores):
    return special.expit(1.3 * scores - 3.2)


def by_class(scores, positive):
    return np.where(positive, 0.1, 0.012)


def by_score(scores, positive):
    return 0.004 + 0.1 * special.expit(3.0 * (scores - 1.0))


def by_strata(scores, positive):
    """Positives below the border are rarely drawn, and then have the largest weight."""
    return np.where(scores > 1.0, 0.1, 0.006)


def by_both(scores, positive):
    return by_score(scores, positive) * np.where(positive, 1.0, 0.2)


DESIGNS = by_class, by_score, by_strata, by_both


def sample(inclusion, seed, population=POPULATION):
    """Return scores, labels and weights of a sample, and scores of the population to check."""
    rng = np.random.default_rng(seed)
    scores = 1.5 * rng.normal(size=population)
    positive = rng.random(population) < truth(scores)
    p = inclusion(scores, positive)
    taken = rng.random(population) < p
    where = np.quantile(scores, np.linspace(0.05, 0.95, 19))
    return scores[taken], positive[taken], 1.0 / p[taken], where


def passed(argument, weight):
    """Return weights as an argument of fits."""
    return {argument: 1.0 / weight if argument == "inclusion" else weight}


def coverage(inclusion, argument, repeats=REPEATS):
    held = []
    for seed in range(repeats):
        scores, labels, weight, where = sample(inclusion, seed)
        calibrator = ScoreCalibrator(draws=250, random_state=seed)
        low, high = (
            calibrator.fit(scores, labels, **passed(argument, weight)).predict_interval(where).T
        )
        held.append(np.mean((low <= truth(where)) & (truth(where) <= high)))
    return np.mean(held), np.std(held) / np.sqrt(repeats)


@pytest.mark.slow
@pytest.mark.parametrize("inclusion", DESIGNS)
def test_bands_hold(inclusion):
    share, error = coverage(inclusion, "inclusion")
    assert share > 0.9 - 3.0 * error


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:sample_weight counts documents")
@pytest.mark.parametrize("inclusion", [by_class, by_score])
def test_bands_of_the_same_weights_as_counts_do_not_hold(inclusion):
    share, _ = coverage(inclusion, "sample_weight", REPEATS // 4)
    assert share < 0.75


@pytest.mark.parametrize("inclusion", DESIGNS)
def test_designs_by_score_are_told_from_others(inclusion):
    for seed in range(5):
        scores, positive, weight, _ = sample(inclusion, seed)
        assert chosen_by_score(weight, positive, scores) == (inclusion in (by_score, by_strata))
        by_custodian = np.random.default_rng(seed).choice([1.0, 5.0, 40.0], scores.size)
        assert not chosen_by_score(by_custodian, positive, scores)


def lie_between(weight, positive, score):
    """Return the share of the rarer class's documents whose weights neighbours make likely."""
    rarer = positive if positive.sum() <= (~positive).sum() else ~positive
    inside = []
    for own, at in zip(weight[rarer], score[rarer], strict=True):
        below, above = score[~rarer & (score < at)], score[~rarer & (score >= at)]
        if not below.size or not above.size:
            inside.append(True)
            continue
        # Of equal scores the first one stands next to those above, the last one to those below.
        first = weight[~rarer & (score == above.min())][0]
        last = weight[~rarer & (score == below.max())][-1]
        inside.append(min(first, last) / 1.25 <= own <= max(first, last) * 1.25)
    return np.mean(inside)


def test_a_design_by_score_is_found_by_neighbours_of_the_other_class():
    rng, shares = np.random.default_rng(7), []
    for _ in range(400):
        n = int(rng.integers(6, 30))
        positive = np.arange(n) < rng.integers(1, n)
        score = rng.integers(0, 12, n).astype(float)
        weight = rng.choice([1.0, 1.25, 1.3, 1.6], n)
        shares.append(lie_between(weight, positive, score))
        assert chosen_by_score(weight, positive, score) == (shares[-1] > 0.8)
    assert 60 < np.sum(np.array(shares) > 0.8) < 340
    assert any(0.799 < each < 0.801 for each in shares)


def test_models_of_labels_given_scores_need_no_weights_of_a_design_by_score():
    scores, positive, weight, where = sample(by_score, 1)
    for part in ("monotone", "logistic"):
        plain = ScoreCalibrator(parts=part, draws=50, random_state=0).fit(scores, positive)
        mine = ScoreCalibrator(parts=part, draws=50, random_state=0)
        mine.fit(scores, positive, inclusion=1.0 / weight)
        # Pieces have their ends in units of the collection's spread, not of the sample's.
        np.testing.assert_allclose(
            mine.predict_proba(where)[:, 1], plain.predict_proba(where)[:, 1], atol=0.1
        )
    by_labels = ScoreCalibrator(parts="logistic", draws=50, random_state=0)
    scores, positive, weight, where = sample(by_class, 1)
    by_labels.fit(scores, positive, inclusion=1.0 / weight)
    plain = ScoreCalibrator(parts="logistic", draws=50, random_state=0).fit(scores, positive)
    assert (plain.predict_proba(where)[:, 1] > by_labels.predict_proba(where)[:, 1] + 0.01).all()


def test_a_class_chosen_by_score_weighs_its_effective_size():
    scores, positive, weight, _ = sample(by_score, 2)
    own, (positives, negatives) = sampled(weight, positive, scores, by_score=True)
    for mine in (positive, ~positive):
        kish = weight[mine].sum() ** 2 / (weight[mine] @ weight[mine])
        np.testing.assert_allclose(own[mine], weight[mine] * kish / weight[mine].sum())
    share = positives / (positives + negatives)
    assert share == pytest.approx(np.average(positive, weights=weight))


@pytest.mark.parametrize("inference", [pytest.param("exact", marks=pytest.mark.slow), "mle"])
def test_the_share_of_positives_is_that_of_the_collection(inference, tmp_path):
    scores, positive, weight, _ = sample(by_score, 3)
    fitted = ScoreCalibrator(inference=inference, draws=100, random_state=0)
    fitted.fit(scores, positive, inclusion=1.0 / weight)
    collection = 1.5 * np.random.default_rng(3).normal(size=2_000)
    p = fitted.predict_proba(collection)[:, 1]
    assert p.mean() == pytest.approx(truth(collection).mean(), rel=0.25)
    # A prior of another collection moves the odds of every part by the same factor.
    share = np.average(positive, weights=weight)
    moved = fitted.predict_proba(collection, prior=share)[:, 1]
    assert moved.mean() == pytest.approx(p.mean(), rel=0.1)
    again = load(fitted.save(tmp_path / "one.nc"))
    np.testing.assert_allclose(again.predict_proba(collection)[:, 1], p, rtol=1e-12)


@pytest.mark.parametrize(
    ("inclusion", "message"),
    [
        (0.0, "above 0 and at most 1, got 0"),
        (1.5, "got 1.5. Of weights 1 / probability give inclusion=1 / weights"),
        (np.nan, "got nan"),
        (-0.5, "got -0.5"),
        (np.full(3, 0.5), "inclusion must have shape"),
    ],
)
def test_inclusion_probabilities_are_checked(inclusion, message):
    scores, positive, _, _ = sample(by_score, 2)
    if np.ndim(inclusion) == 0:
        inclusion = np.r_[inclusion, np.full(scores.size - 1, 0.5)]
    with pytest.raises(ValueError, match=message):
        ScoreCalibrator().fit(scores, positive, inclusion=inclusion)


@pytest.mark.parametrize(
    ("inclusion", "ratio"), [(by_score, 1.0), (by_strata, 1.0), (by_class, 0.12), (by_both, 0.2)]
)
def test_a_class_may_have_weights_that_none_of_its_documents_happens_to_have(inclusion, ratio):
    scores, positive, weight, _ = sample(inclusion, 0, 10 * POPULATION)
    own, (positives, negatives) = sampled(weight, positive, scores)
    largest = [weight[mine].max() for mine in (positive, ~positive)]
    largest = max(largest[0], ratio * largest[1]), max(largest[1], largest[0] / ratio)
    np.testing.assert_allclose(own, weight / np.where(positive, *largest), rtol=0.05)
    share = np.average(positive, weights=weight)
    assert positives / (positives + negatives) == pytest.approx(share)


# Several topics, each a sample of a population of its own.

TOPICS, OF_TOPIC = 5, 4000


def topics_of(inclusion, seed):
    parts = [sample(inclusion, 100 * seed + k, OF_TOPIC) for k in range(TOPICS)]
    scores, labels, weight = (np.concatenate([part[i] for part in parts]) for i in range(3))
    return scores, labels, weight, np.repeat(np.arange(TOPICS), [part[0].size for part in parts])


def held_by_topics(inclusion, argument, seed, **options):
    """Return whether the bands of all topics hold the truth at some scores."""
    scores, labels, weight, topic = topics_of(inclusion, seed)
    calibrator = TopicCalibrator(draws=100, random_state=seed, **options)
    calibrator.fit(scores, labels, topic, **passed(argument, weight))
    where = np.tile(np.linspace(-2.0, 2.5, 10), TOPICS)
    low, high = calibrator.predict_interval(where, np.repeat(np.arange(TOPICS), 10)).T
    return np.mean((low <= truth(where)) & (truth(where) <= high))


@pytest.mark.slow
@pytest.mark.parametrize("inclusion", [by_class, by_strata])
def test_bands_of_topics_hold(inclusion):
    held = [held_by_topics(inclusion, "inclusion", seed) for seed in range(REPEATS // 2)]
    assert np.mean(held) > 0.9 - 3.0 * np.std(held) / np.sqrt(len(held))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:sample_weight counts documents")
def test_bands_of_topics_do_not_hold_where_the_same_weights_are_counts():
    held = [held_by_topics(by_score, "sample_weight", seed) for seed in range(REPEATS // 4)]
    assert np.mean(held) < 0.75


@pytest.mark.slow
@pytest.mark.parametrize("pooling", ["partial", "none"])
def test_base_rates_of_topics_are_those_of_their_populations(pooling, tmp_path):
    scores, labels, weight, topic = topics_of(by_class, 0)
    fast = {"parts": "gaussian", "pooling": pooling, "draws": 200, "random_state": 0}
    fitted = TopicCalibrator(**fast).fit(scores, labels, topic, inclusion=1.0 / weight)
    shares = [np.average(labels[topic == k], weights=weight[topic == k]) for k in range(TOPICS)]
    for k, problem in enumerate(fitted.fitted_problems().values()):
        prior = problem.calibration.draws.prior.mean()
        assert prior == pytest.approx(shares[k], rel=0.3)
    p = fitted.predict_proba([0.5] * TOPICS, np.arange(TOPICS))[:, 1]
    # A hundredth of the weights is the same sample; a file keeps it.
    again = TopicCalibrator(**fast).fit(scores, labels, topic, inclusion=0.01 / weight)
    np.testing.assert_allclose(again.predict_proba([0.5] * 5, np.arange(TOPICS))[:, 1], p)
    loaded = load(fitted.save(tmp_path / "topics.nc"))
    np.testing.assert_array_equal(loaded.predict_proba([0.5] * 5, np.arange(TOPICS))[:, 1], p)
    wide = TopicCalibrator(**fast).fit(scores, labels, topic)
    assert (wide.predict_proba([0.5] * TOPICS, np.arange(TOPICS))[:, 1] > 1.5 * p).all()


def test_sampled_topics_take_no_others():
    scores, labels, weight, topic = topics_of(by_class, 1)
    fitted = TopicCalibrator(parts="gaussian", draws=50, random_state=0)
    fitted.fit(scores, labels, topic, inclusion=1.0 / weight)
    with pytest.raises(ValueError, match="add_topics must follow a fit without inclusion"):
        fitted.add_topics([0.0, 1.0], [0, 1], [9, 9])
    with pytest.raises(ValueError, match="of documents fitted with inclusion"):
        ScoreCalibrator(prior_knowledge=fitted).fit(scores, labels)
    with pytest.raises(ValueError, match="either sample_weight or inclusion"):
        fitted.fit(scores, labels, topic, weight, weight)
    one = ScoreCalibrator(inference="mle").fit(scores, labels, inclusion=1.0 / weight)
    with pytest.raises(ValueError, match="update must follow a fit without inclusion"):
        one.update([0.0], [1])


def test_topics_without_positives_and_equal_weights():
    scores, labels, weight, topic = topics_of(by_class, 2)
    labels = labels & (topic != 3)
    fast = {"parts": "gaussian", "draws": 500, "random_state": 0}
    fitted = TopicCalibrator(**fast).fit(scores, labels, topic, inclusion=1.0 / weight)
    assert (fitted.predict_proba([0.0, 2.0], [3, 3])[:, 1] < 0.2).all()
    one, other = (
        TopicCalibrator(**fast).fit(scores, labels, topic, **each)
        for each in ({"inclusion": np.full(scores.size, 0.02)}, {})
    )
    at = np.linspace(-2.0, 2.0, TOPICS), np.arange(TOPICS)
    np.testing.assert_allclose(one.predict_proba(*at), other.predict_proba(*at), atol=0.015)


def test_the_base_rate_is_that_of_the_population():
    scores, labels, weight, where = sample(by_class, 0)
    fitted = ScoreCalibrator(draws=250, random_state=0).fit(scores, labels, inclusion=1.0 / weight)
    assert np.abs(fitted.predict_proba(where)[:, 1] - truth(where)).max() < 0.1
    own = ScoreCalibrator(draws=250, random_state=0).fit(scores, labels)
    assert np.abs(own.predict_proba(where)[:, 1] - truth(where)).max() > 0.3
    # The point estimate of maximum likelihood too.
    mle = ScoreCalibrator(inference="mle").fit(scores, labels, inclusion=1.0 / weight)
    assert mle.mle_.prior == pytest.approx(np.average(labels, weights=weight), abs=0.003)


@pytest.mark.slow
def test_only_ratios_of_weights_matter(tmp_path):
    scores, labels, weight, where = sample(by_score, 1)
    one, other = (
        ScoreCalibrator(draws=50, random_state=0).fit(scores, labels, inclusion=each)
        for each in (1.0 / weight, 0.1 / weight)
    )
    np.testing.assert_allclose(one.predict_interval(where), other.predict_interval(where))
    again = load(one.save(tmp_path / "one.nc"))
    np.testing.assert_array_equal(one.predict_interval(where), again.predict_interval(where))


def test_equal_weights_are_none():
    scores, labels, _, where = sample(by_score, 2)
    plain = ScoreCalibrator(draws=500, random_state=0).fit(scores, labels)
    same = ScoreCalibrator(draws=500, random_state=0)
    same = same.fit(scores, labels, inclusion=np.full(scores.size, 0.015))
    found = same.predict_proba(where)[:, 1]
    np.testing.assert_allclose(found, plain.predict_proba(where)[:, 1], atol=0.01)


def test_a_classifier_passes_them_on():
    scores, labels, weight, where = sample(by_class, 3)
    fitted = CalibratedClassifier(LogisticRegression(), random_state=0, cv=3)
    fitted = fitted.fit(scores[:, None], labels, inclusion=1.0 / weight)
    assert np.abs(fitted.predict_proba(where[:, None])[:, 1] - truth(where)).max() < 0.2
    with pytest.raises(ValueError, match="LogisticRegression takes no inclusion"):
        CalibratedClassifier(LogisticRegression(), LogisticRegression()).fit(
            scores[:, None], labels, inclusion=1.0 / weight
        )


def of_two_classifiers(seed, n=8000):
    """Return documents, their probabilities, labels, and sampling by class."""
    rng = np.random.default_rng(seed)
    documents = rng.normal(size=(n, 4))
    p = special.expit(documents @ [1.2, 0.8, 0.5, 0.0] - 3.2)
    positive = rng.random(n) < p
    chance = np.where(positive, 0.3, 0.02)
    taken = rng.random(n) < chance
    return documents, p, positive, taken, 1.0 / chance[taken]


def held_by_combined(argument, seed):
    """Return the share of 300 documents whose P(+) lies in the band of a combination."""
    documents, p, positive, taken, weight = of_two_classifiers(seed)
    classifiers = [("bayes", GaussianNB()), ("logistic", LogisticRegression())]
    combined = CombinedClassifier(classifiers, random_state=seed)
    combined.fit(documents[taken], positive[taken].astype(int), **passed(argument, weight))
    low, high = combined.predict_interval(documents[:300]).T
    return np.mean((low <= p[:300]) & (p[:300] <= high))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:sample_weight counts documents")
def test_combined_classifiers_answer_for_the_population():
    held = [held_by_combined("inclusion", seed) for seed in range(size(4, 12))]
    assert np.mean(held) > 0.9 - 3.0 * np.std(held) / np.sqrt(len(held))
    counted = [held_by_combined("sample_weight", seed) for seed in range(size(2, 6))]
    assert np.mean(counted) < 0.6


def test_combined_classifiers_know_only_ratios_of_inclusion_probabilities():
    documents, p, positive, taken, weight = of_two_classifiers(0)
    classifiers = [("bayes", GaussianNB()), ("logistic", LogisticRegression())]
    combined = CombinedClassifier(classifiers, combiner="logistic", random_state=0)
    sample = documents[taken], positive[taken].astype(int)
    one, other = (
        clone(combined).fit(*sample, inclusion=each).predict_proba(documents)[:, 1]
        for each in (1.0 / weight, 0.1 / weight)
    )
    np.testing.assert_allclose(one, other)
    assert one.mean() == pytest.approx(p.mean(), rel=0.15)
    with pytest.raises(ValueError, match="either sample_weight or inclusion"):
        combined.fit(*sample, sample_weight=weight, inclusion=1.0 / weight)

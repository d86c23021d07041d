"""Documents that tie at an end of the scores have levels of their own if labels support them."""

import copy
import json

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

from bayescal import ScoreCalibrator, TopicCalibrator, load
from bayescal.calibrators.comparison import leave_one_out
from bayescal.fitting.engines.combination import Ends, TiedDocuments, find_levels
from bayescal.fitting.engines.pooled.combination import draw_levels, find_ends
from bayescal.fitting.scores import BinaryScores, TopicScores
from bayescal.support.score_checks import without_scores_warnings
from bayescal.support.validation import probability_ends

FAST = {"draws": 250, "random_state": 0}


def similarities(n, seed, at_end=None, share=0.15):
    """Return similarities from 0 to 100, and labels; 100 may mean more than the curve."""
    rng = np.random.default_rng(seed)
    score = np.where(
        rng.random(n) < share, 100.0, np.minimum(np.round(100 * rng.beta(2, 1, n)), 99)
    )
    p = truth(score)
    if at_end is not None:
        p = np.where(score == 100.0, at_end, p)
    return score, rng.random(n) < p


def truth(score):
    return expit(logit(0.44) + 0.08 * (score - 98.0))


def mirrored(score, positive):
    return -score, ~positive


@pytest.fixture(scope="module")
def stepped():
    score, positive = similarities(3000, 0, at_end=0.97)
    return ScoreCalibrator(**FAST).fit(score, positive), score, positive


def test_an_end_that_means_more_has_a_level_and_its_neighbours_do_not_move(stepped):
    calibrator, score, positive = stepped
    at_end = positive[score == 100.0]
    p = calibrator.predict_proba([98.0, 99.0, 100.0, 120.0])[:, 1]
    mean = (1 + at_end.sum()) / (2 + at_end.size)
    assert p[2:] == pytest.approx(mean, abs=2e-3)
    assert p[:2] == pytest.approx(truth(np.array([98.0, 99.0])), abs=0.08)
    band = calibrator.predict_interval([98.0, 100.0])
    assert band[0, 0] < truth(98.0) < band[0, 1]
    assert band[1, 0] < 0.97 < band[1, 1]
    sd = np.sqrt(mean * (1 - mean) / at_end.size)
    assert band[1, 1] - band[1, 0] == pytest.approx(2 * 1.645 * sd, rel=0.2)


def test_tables_do_not_smear_a_level_over_its_neighbours(stepped):
    calibrator, *_ = stepped
    scores = np.array([97.0, 99.0, np.nextafter(100.0, 0.0), 100.0, 101.0])
    some = calibrator.predict_proba(scores)[:, 1]
    many = calibrator.predict_proba(np.tile(scores, 20_000))[:5, 1]
    np.testing.assert_allclose(many, some, atol=2e-4)
    assert some[3] - some[2] > 0.3
    band = calibrator.predict_interval(scores)
    of_many = calibrator.predict_interval(np.tile(scores, 100))[:5]
    np.testing.assert_allclose(of_many, band, atol=4e-3)


def test_an_exported_curve_jumps_at_an_end(stepped, tmp_path):
    calibrator, *_ = stepped
    path = calibrator.export(tmp_path / "a.json", format="json", level=None)
    (knots,) = json.loads(path.read_text())["curves"].values()
    scores = np.array([60.0, 98.0, 99.999, 100.0, 101.0, 1e3])
    found = expit(np.interp(scores, knots["score"], knots["log_odds"]))
    p = calibrator.predict_proba(scores)[:, 1]
    np.testing.assert_allclose(found, p, atol=1e-4)
    assert p[3] - p[2] > 0.3
    # It jumps within what a rounding of the score may be.
    beside = np.array(knots["score"])[np.array(knots["score"]) < 100.0].max()
    assert 0.0 < 100.0 - beside < 1e-9


@pytest.mark.slow
def test_left_out_log_odds_at_an_end_are_those_of_the_others_there(stepped):
    calibrator, score, positive = stepped
    log_odds, at = calibrator._fit.left_out_log_odds, score == 100.0
    k, n = positive[at].sum(), at.sum()
    assert log_odds[at & positive] == pytest.approx(np.log(k / (n - k + 1)))
    assert log_odds[at & ~positive] == pytest.approx(np.log((k + 1) / (n - k)))
    assert log_odds[~at] == pytest.approx(calibrator.decision_function(score[~at]), abs=0.5)


def test_labels_at_an_end_are_predicted_from_the_others_there(stepped):
    calibrator, score, positive = stepped
    at_end = score == 100.0
    n, k = at_end.sum(), positive[at_end].sum()
    expected = np.where(positive, np.log(k / (n + 1)), np.log((n - k) / (n + 1)))[at_end]
    found = np.asarray(leave_one_out(calibrator).elpd_i)[at_end]
    assert found.mean() == pytest.approx(expected.mean(), abs=0.01)


@pytest.mark.parametrize("turn", [lambda *data: data, mirrored])
def test_either_end_may_have_a_level(turn):
    score, positive = turn(*similarities(3000, 1, at_end=0.97))
    end = np.abs(score) == 100.0
    found = find_levels(BinaryScores(score, positive))
    assert np.abs(found.score).tolist() == [100.0]
    assert found.positive[0] == positive[end].sum()
    assert found.rest.score.size == (~end).sum()
    assert found.rest.centre_and_spread == BinaryScores(score, positive).centre_and_spread


def test_both_ends_may_have_levels():
    score, positive = similarities(3000, 2, at_end=0.97)
    low = np.arange(400)
    score = np.append(score, np.full(low.size, -1.0))
    positive = np.append(positive, low % 2 == 0)
    found = find_levels(BinaryScores(score, positive))
    assert found.score.tolist() == [-1.0, 100.0]
    assert found.total.tolist() == [400.0, (score == 100.0).sum()]


@pytest.mark.parametrize("n", [100, 1000, 5000])
def test_an_end_like_its_neighbours_has_no_level(n):
    """At a rate of 6/40, measured where evidence ties, more than 7 of 20 have probability 1/170."""
    found = [find_levels(BinaryScores(*similarities(n, seed))) for seed in range(20)]
    assert sum(each is not None for each in found) <= 7


def test_few_documents_or_weights_are_no_end():
    score, positive = similarities(2000, 0, at_end=0.97, share=0.003)
    assert 1 < (score == 100.0).sum() < 10
    assert find_levels(BinaryScores(score, positive)) is None
    score, positive = similarities(2000, 0, at_end=0.97)
    weight = np.where(score == 100.0, 1e-3, 1.0)
    assert find_levels(BinaryScores(score, positive, weight)) is None
    twice = find_levels(BinaryScores(score, positive, np.full(score.size, 2.0)))
    assert twice.total[0] == 2.0 * (score == 100.0).sum()


@pytest.mark.parametrize("part", ["logistic", "monotone", "gaussian"])
def test_single_parts_have_levels_too(part, tmp_path):
    score, positive = similarities(1500, 0, at_end=0.97)
    calibrator = ScoreCalibrator(part, **FAST).fit(score, positive)
    p = calibrator.predict_proba([98.0, 100.0, 120.0])[:, 1]
    at_end = positive[score == 100.0]
    assert p[1:] == pytest.approx((1 + at_end.sum()) / (2 + at_end.size), abs=5e-3)
    assert p[0] < 0.6
    loaded = load(calibrator.save(tmp_path / "a.nc"))
    np.testing.assert_array_equal(loaded.predict_proba([98.0, 100.0, 120.0])[:, 1], p)


def test_a_lowest_score_above_zero_has_its_level_at_the_lower_end():
    score, positive = similarities(1500, 0, at_end=0.97)
    calibrator = ScoreCalibrator("logistic", **FAST).fit(105.0 - score, ~positive)
    at_end = positive[score == 100.0]
    p = calibrator.predict_proba([-15.0, 5.0, 7.0, 90.0])[:, 0]
    assert p[:2] == pytest.approx((1 + at_end.sum()) / (2 + at_end.size), abs=5e-3)
    assert p[3] < p[2] < 0.6


def test_a_single_part_has_no_level_that_labels_do_not_ask_for():
    score, positive = similarities(1500, 0)
    assert "levels" not in ScoreCalibrator("logistic", **FAST).fit(score, positive).results_


def many_similarities(topics, n, at_end=0.97, low=False):
    """Return similarities of topics whose log-odds differ by a constant, labels, topics, truth."""
    rng = np.random.default_rng(topics)
    shift = rng.normal(0.0, 0.5, topics)
    parts = [similarities(n, 100 * topics + k) for k in range(topics)]
    topic = np.repeat(np.arange(topics), n)
    score = np.concatenate([each for each, _ in parts])
    p = expit(logit(truth(score)) + shift[topic])
    if at_end is not None:
        p = np.where(score == 100.0, expit(logit(at_end) + shift[topic]), p)
    positive = rng.random(score.size) < p
    if low:
        score, positive = mirrored(score, positive)
    return score, positive, topic, shift


def test_ends_of_topics_are_found_by_the_labels_of_all():
    names = np.arange(30)
    for at_end in (0.97, None):
        score, positive, topic, _ = many_similarities(30, 25, at_end)
        data = TopicScores(names, topic, score, positive, np.array([0, 1]))
        ends = find_ends(data)
        assert (ends is None) == (at_end is None)
    score, positive, topic, _ = many_similarities(30, 25, low=True)
    ends = find_ends(TopicScores(names, topic, score, positive, np.array([0, 1])))
    assert ends.end.tolist() == [-100.0]
    assert ends.lowest.tolist() == [True]
    assert ends.of(np.array([-101.0, -100.0, -99.9, 0.0])).tolist() == [0, 0, -1, -1]


@pytest.fixture(scope="module")
def topics_with_levels():
    score, positive, topic, _ = many_similarities(4, 100)
    # And a topic whose documents are all at the end, a third of them positive.
    at_end = np.arange(30) % 3 == 0
    every = np.append(score, np.full(30, 100.0)), np.append(positive, at_end)
    calibrator = TopicCalibrator(draws=100, random_state=0)
    return calibrator.fit(*every, np.append(topic, np.full(30, 4))), score, positive, topic


@pytest.mark.slow
def test_topics_have_levels_that_share_a_population(topics_with_levels, tmp_path):
    calibrator, score, positive, topic = topics_with_levels
    at_end = positive[score == 100.0].mean()
    new = np.array([98.0, 100.0, 120.0])
    for name in range(4):
        p = calibrator.predict_proba(new, np.full(3, name))[:, 1]
        assert p[0] < 0.75
        assert p[1] == p[2] == pytest.approx(at_end, abs=0.06)
        own = positive[(score == 100.0) & (topic == name)]
        raw = (1 + own.sum()) / (2 + own.size)
        assert min(raw, at_end) - 0.03 < p[1] < max(raw, at_end) + 0.02
    for name, expected in ((4, 0.4), (99, 0.8)):
        p = calibrator.predict_proba(new, np.full(3, name))[:, 1]
        assert p[1] == p[2] == pytest.approx(expected, abs=0.12)
    loaded = load(calibrator.save(tmp_path / "a.nc"))
    some = np.zeros(3, dtype=int)
    np.testing.assert_array_equal(
        loaded.predict_proba(new, some), calibrator.predict_proba(new, some)
    )


@pytest.mark.parametrize("pooling", ["none", "complete"])
def test_topics_that_are_not_pooled_around_a_population_have_levels_too(pooling):
    score, positive, topic, _ = many_similarities(3, 400)
    calibrator = TopicCalibrator(pooling, draws=100, random_state=0)
    calibrator.fit(score, positive, topic)
    for name in range(3):
        p = calibrator.predict_proba([98.0, 100.0, 120.0], np.full(3, name))[:, 1]
        own = positive[(score == 100.0) & (topic == name)]
        assert p[1] == p[2] == pytest.approx((1 + own.sum()) / (2 + own.size), abs=0.02)
    unseen = calibrator.predict_proba([100.0], [99])[0, 1]
    assert unseen == pytest.approx(0.5, abs=0.06) if pooling == "none" else unseen > 0.8


def test_levels_of_topics_move_with_the_prior(topics_with_levels):
    calibrator, _, positive, topic = topics_with_levels
    some = np.repeat(np.arange(4), 2)
    scores = np.tile([98.0, 100.0], 4)
    p, q = (calibrator.predict_proba(scores, some, prior=prior)[:, 1] for prior in (None, 0.05))
    shares = np.array([positive[topic == k].mean() for k in range(4)])
    moved = (logit(q) - logit(p)).reshape(4, 2)
    np.testing.assert_allclose(moved, (logit(0.05) - logit(shares))[:, None] + [[0, 0]], atol=0.35)


def test_without_documents_at_an_end_levels_are_about_one_half():
    score, positive, topic, _ = many_similarities(3, 40)
    data = TopicScores(np.arange(3), topic, score, positive, np.array([0, 1]))
    beyond = Ends(np.array([500.0]), np.array([False]))
    levels = draw_levels(beyond, data, 20_000, np.random.default_rng(0), {})
    np.testing.assert_allclose(levels.topics.level[:, :, 0].mean(axis=1), 0.5, atol=0.02)
    assert levels.unseen.level.mean() == pytest.approx(0.5, abs=0.02)
    shares = [positive[topic == k].mean() for k in range(3)]
    np.testing.assert_allclose(levels.topics.prior.mean(axis=1), shares, atol=0.06)


# Of a topic so unlike the others few of the population's draws may be left.
@pytest.mark.filterwarnings("ignore:the posterior draws")
def test_a_topic_that_is_added_has_a_level_by_its_own_labels(topics_with_levels):
    """Its 100 means less than its 98, unlike that of the topics fitted."""
    calibrator = copy.deepcopy(topics_with_levels[0])
    score, positive = similarities(300, 7, at_end=0.05)
    calibrator.add_topics(score, positive, np.full(300, 99))
    beside, at_end = calibrator.predict_proba([98.0, 100.0], np.array([99, 99]))[:, 1]
    assert at_end == pytest.approx(positive[score == 100.0].mean(), abs=0.1)
    assert beside > 0.18
    assert calibrator.predict_proba([100.0], np.array([0]))[0, 1] > 0.9


@pytest.mark.slow
def test_bands_of_topics_hold_where_an_end_means_more():
    """
    90 % bands at 98 and 100, of the topics of four data sets; topics of one share a population, so
    that the standard error is taken over data sets of .15 each.
    """
    held = []
    for topics in range(6, 10):
        score, positive, topic, shift = many_similarities(topics, 60)
        calibrator = TopicCalibrator(draws=100, random_state=0).fit(score, positive, topic)
        new = np.tile([98.0, 100.0], shift.size)
        right = expit(np.stack([logit(truth(98.0)) + shift, logit(0.97) + shift], axis=1)).ravel()
        lower, upper = calibrator.predict_interval(new, np.repeat(np.arange(shift.size), 2)).T
        held.append(((lower < right) & (right < upper)).reshape(-1, 2).mean(axis=0))
    assert np.mean(held, axis=0).min() > 0.9 - 3 * 0.15 / np.sqrt(4)


@pytest.mark.slow
def test_bands_hold_where_an_end_means_more():
    """90 % bands at 98, 99 and 100 hold in a share of 40 data sets within 3 standard errors."""
    held = []
    for seed in range(40):
        score, positive = similarities(2000, seed, at_end=0.97)
        band = ScoreCalibrator(**FAST).fit(score, positive).predict_interval([98.0, 99.0, 100.0])
        right = np.append(truth(np.array([98.0, 99.0])), 0.97)
        held.append((band[:, 0] < right) & (right < band[:, 1]))
    assert np.mean(held, axis=0).min() > 0.9 - 3 * np.sqrt(0.09 / 40)


def votes(n, m, seed):
    """Return shares of m votes, many of them 0 and 1, and labels."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(-1.5, 2.0, n)
    return rng.binomial(m, expit(1.6 * latent)) / m, rng.random(n) < expit(latent)


@pytest.mark.slow
def test_probabilities_of_0_and_1_are_read_half_a_step_inside(tmp_path):
    share, positive = votes(500, 10, 0)
    stated = ScoreCalibrator(scores_are="probabilities", **FAST).fit(share, positive)
    moved = ScoreCalibrator(scores_are="probabilities", **FAST)
    moved.fit(np.clip(share, 0.05, 0.95), positive)
    new = np.array([0.0, 0.01, 0.05, 0.1, 0.5, 0.9, 0.97, 1.0])
    p = stated.predict_proba(new)[:, 1]
    np.testing.assert_array_equal(p, moved.predict_proba(np.clip(new, 0.05, 0.95))[:, 1])
    assert p[0] == p[1] == p[2] < p[3]
    loaded = load(stated.save(tmp_path / "a.nc"))
    np.testing.assert_array_equal(loaded.predict_proba(new)[:, 1], p)
    with without_scores_warnings():
        guessed = ScoreCalibrator(**FAST).fit(share, positive)
    assert guessed.results_["constant_data"].attrs["probability_ends"] == [0.05, 0.95]
    stated.update(share[:50], positive[:50])
    assert stated.results_["observed_data"]["score"].values.min() == pytest.approx(logit(0.05))


@pytest.mark.slow
def test_topics_read_probabilities_of_0_and_1_alike(tmp_path):
    share, positive = votes(120, 10, 0)
    topics = np.repeat(["a", "b"], 60)
    new, of_a = np.array([0.0, 0.02, 0.05, 0.1]), np.repeat("a", 4)
    calibrator = TopicCalibrator(scores_are="probabilities", draws=100, random_state=0)
    calibrator.fit(share, positive, topics)
    p = calibrator.predict_proba(new, of_a)[:, 1]
    assert p[0] == p[1] == p[2] < p[3]
    loaded = load(calibrator.save(tmp_path / "a.nc"))
    np.testing.assert_array_equal(loaded.predict_proba(new, of_a)[:, 1], p)
    calibrator.add_topics(share[:60], positive[:60], np.repeat("c", 60))
    q = calibrator.predict_proba(new, np.repeat("c", 4))[:, 1]
    assert q[0] == q[1] == q[2] < q[3]


def test_levels_and_base_rate_are_drawn_from_their_betas():
    data = BinaryScores(np.array([0.0, 1.0, 2.0, 3.0, 3.0]), np.array([0, 1, 0, 1, 1]) == 1)
    tied = TiedDocuments(np.array([0.0, 3.0]), np.array([0.0, 2.0]), np.array([1.0, 2.0]), data)
    drawn = tied.draw(data, 4_000, np.random.default_rng(0))
    assert drawn.ends.lowest.tolist() == [True, False]
    assert drawn.ends.end.tolist() == [0.0, 3.0]
    # Flat priors; 1e-3 is the chance of each false alarm.
    for values, shapes in (
        (drawn.level[:, 0], (1.0, 2.0)),
        (drawn.level[:, 1], (3.0, 1.0)),
        (drawn.prior, (4.0, 3.0)),
    ):
        assert stats.kstest(values, stats.beta(*shapes).cdf).pvalue > 1e-3


def test_without_a_probability_below_one_half_the_nearest_is_one_half():
    ends = probability_ends(np.array([0.0, 0.9, 1.0]), "probabilities")
    assert ends == pytest.approx((0.25, 0.95))

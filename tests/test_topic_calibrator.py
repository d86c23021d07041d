"""TopicCalibrator: forms of input, pooling, new topics, files, bad input."""

import pickle
from copy import copy

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special
from sklearn.base import clone

from bayescal import ScoreCalibrator, TopicCalibrator
from bayescal.fitting.engines.pooled.population import Hyperprior
from bayescal.fitting.scores import read_cells, read_topics
from bayescal.support.numerics import centre_and_spread
from bayescal.support.score_checks import ScoresWarning

NAMES = np.array(["corn", "crude", "earn", "grain", "ship", "trade"])
ANSWERED = "the population answers for what is missing"
FEW = {"draws": 200, "chains": 2, "random_state": 0}
# What does not depend on how the parts are weighed is tested on one family; all parts together are
# tests/test_topics_combined.py's.
ONE = {"parts": "gaussian", **FEW}


def made(positives=4, negatives=30, seed=0, names=NAMES):
    """Return long scores, labels and topics whose modes are alike."""
    rng = np.random.default_rng(seed)
    labels = np.tile(np.repeat([0, 1], [negatives, positives]), len(names))
    topics = np.repeat(names, negatives + positives)
    centre = np.repeat(rng.normal(0.0, 0.3, len(names)), negatives + positives)
    return rng.normal(centre + 3.0 * labels, 1.0), labels, topics


SCORES, LABELS, TOPICS = made()


@pytest.fixture(scope="module")
def fitted():
    return TopicCalibrator(**FEW).fit(SCORES, LABELS, TOPICS)


@pytest.mark.slow
def test_forms_of_input_are_the_same():
    expected = TopicCalibrator(**ONE).fit(SCORES, LABELS, TOPICS)
    expected = expected.predict_proba(SCORES[:50], TOPICS[:50])
    table = pd.DataFrame({"score": SCORES, "label": LABELS, "topic": TOPICS})
    shuffled = table.sample(frac=1.0, random_state=0)
    for form in (table, shuffled):
        again = TopicCalibrator(**ONE).fit(form)
        assert_allclose(again.predict_proba(table[["score", "topic"]][:50]), expected, rtol=1e-9)
    # Documents x topics: as many documents as a topic has, one after the other.
    wide, labels = SCORES.reshape(6, -1).T, LABELS.reshape(6, -1).T
    array = xr.DataArray(wide, dims=("document", "topic"), coords={"topic": NAMES})
    for form, names in ((wide, NAMES), (array, None)):
        again = TopicCalibrator(**ONE).fit(form, labels, names)
        found = again.predict_proba(form, names)
        assert found.shape == wide.shape
        # Tables of other batches of scores have other nodes.
        found = np.asarray(found).T.ravel()
        assert_allclose(found[:50], expected[:, 1], atol=1e-4)
        assert again.predict_interval(form, names).shape == (*wide.shape, 2)


def test_columns_of_labels_go_with_the_topics_they_name():
    wide, labels = SCORES.reshape(6, -1).T, pd.DataFrame(LABELS.reshape(6, -1).T, columns=NAMES)
    expected = read_topics(wide, labels.to_numpy(), NAMES)
    turned = labels[NAMES[::-1]]
    named = xr.DataArray(turned.to_numpy(), {"topic": turned.columns}, ("document", "topic"))
    for form in (turned, named):
        assert_array_equal(read_topics(wide, form, NAMES).positive, expected.positive)


def test_cells_without_a_label_are_left_out():
    wide, labels = SCORES.reshape(6, -1).T, LABELS.reshape(6, -1).T.astype(float)
    labels[3:9, 2] = np.nan
    kept = ~np.isnan(labels.T.ravel())
    found = TopicCalibrator(**ONE).fit(wide, labels, NAMES)
    same = TopicCalibrator(**ONE).fit(SCORES[kept], LABELS[kept], TOPICS[kept])
    for one, other in zip(
        found.posterior_["posterior"].data_vars.values(),
        same.posterior_["posterior"].data_vars.values(),
        strict=True,
    ):
        assert_allclose(one, other)


@pytest.mark.slow
def test_points_lie_in_their_bands_and_names_keep_their_order(fitted):
    low, high = fitted.predict_interval(SCORES, TOPICS).T
    point = fitted.predict_proba(SCORES, TOPICS)
    assert_allclose(point.sum(axis=1), 1.0)
    assert (low <= point[:, 1]).mean() > 0.99
    assert (point[:, 1] <= high).mean() > 0.99
    order = np.random.default_rng(0).permutation(SCORES.size)
    assert_array_equal(fitted.predict_proba(SCORES[order], TOPICS[order]), point[order])


def test_draws_of_probabilities_make_the_intervals(fitted):
    scores, topics = SCORES[:40], TOPICS[:40]
    draws = fitted.sample_proba(scores, topics)
    assert draws.shape == (400, 40)
    band = fitted.predict_interval(scores, topics, 0.8)
    assert_allclose(np.quantile(draws, [0.1, 0.9], axis=0).T, band, atol=1e-3)
    assert_allclose(draws.mean(axis=0), fitted.predict_proba(scores, topics)[:, 1], atol=0.05)
    some = fitted.sample_proba(scores, topics, 7, random_state=1)
    assert all(np.isclose(draws, one, rtol=1e-9, atol=0).all(axis=1).any() for one in some)
    assert np.unique(some, axis=0).shape == (7, 40)
    wide = fitted.sample_proba(SCORES[:12].reshape(2, 6), NAMES)
    assert wide.shape == (400, 2, 6)
    assert_allclose(wide[:, 1, 2], fitted.sample_proba(SCORES[[8]], NAMES[[2]])[:, 0])
    message = "draws must be a whole number from 1 to 400, got {}"
    for wrong in (0, 401, 1.5, True):
        with pytest.raises(ValueError, match=message.format(wrong)):
            fitted.sample_proba(scores, topics, wrong)


def test_another_prior_is_for_all_topics_or_for_those_named(fitted):
    own = fitted.decision_function(SCORES, TOPICS)
    rare = fitted.decision_function(SCORES, TOPICS, prior=0.01)
    assert (rare < own).all()
    name = str(NAMES[0])
    mine = np.isin(TOPICS, name)
    named = fitted.decision_function(SCORES, TOPICS, prior={name: 0.01})
    assert_array_equal(named[mine], rare[mine])
    assert_array_equal(named[~mine], own[~mine])
    # Draws of one prior move by what they were fitted with, and so do bands and samples.
    lower, upper = fitted.predict_interval(SCORES, TOPICS, prior=0.01).T
    assert ((lower < special.expit(rare)) & (special.expit(rare) < upper)).all()
    drawn = fitted.sample_proba(SCORES, TOPICS, prior=0.01)
    # Between two draws bands are linear in log-odds, quantiles of probabilities are not.
    assert_allclose(np.quantile(drawn, 0.05, axis=0), lower, atol=1e-3)
    with pytest.raises(ValueError, match="prior must lie between 0 and 1"):
        fitted.predict_proba(SCORES, TOPICS, prior=1.5)
    with pytest.raises(ValueError, match="prior must name topics that were fitted, got 'cron'"):
        fitted.predict_interval(SCORES, TOPICS, prior={"cron": 0.01})


@pytest.mark.slow
def test_none_is_each_topic_by_itself():
    apart = TopicCalibrator("none", draws=4000, random_state=0).fit(SCORES, LABELS, TOPICS)
    mine = TOPICS == "earn"
    alone = ScoreCalibrator("asymmetric_laplace", draws=4000, random_state=1)
    expected = alone.fit(SCORES[mine], LABELS[mine]).predict_proba(SCORES[mine])
    found = apart.predict_proba(SCORES[mine], TOPICS[mine])
    assert_allclose(found, expected, atol=0.01)


def test_complete_is_one_density_for_all():
    together = TopicCalibrator("complete", **FEW).fit(SCORES, LABELS, TOPICS)
    sides = together.posterior_["posterior"]
    for name in ("theta", "left", "right"):
        assert (sides[name] == sides[name].isel(topic=0)).all()


def test_pooling_brings_few_positives_towards_the_population(fitted):
    # A topic with one odd positive: by itself far off, pooled back with the others.
    scores, labels, topics = made(positives=6)
    mine = np.flatnonzero((topics == "earn") & (labels == 1))
    scores = np.delete(scores, mine[1:])
    labels, topics = np.delete(labels, mine[1:]), np.delete(topics, mine[1:])
    scores[mine[0]] = 12.0
    calibrator = TopicCalibrator(parts="asymmetric_laplace", draws=500, random_state=0)
    table = calibrator.fit(scores, labels, topics).summary()
    row = table.loc[("earn", "1", "theta")]
    assert row["documents"] == 1
    assert row["unpooled"] == pytest.approx(12.0)
    assert row["population"] < row["pooled"] < row["unpooled"]
    assert row["lower"] < row["pooled"] < row["upper"]


@pytest.mark.parametrize("kinds", [("no", "yes"), (0, 1), (0.0, 1.0), (False, True)])
@pytest.mark.parametrize("missing", [None, np.nan])
def test_documents_without_a_label_are_left_out_whatever_labels_are(kinds, missing):
    labels = np.array([kinds[0], kinds[1], missing, kinds[1]], dtype=object)
    found = read_topics([1.0, 2.0, 3.0, 4.0], labels, ["corn"] * 4)
    assert found.score.tolist() == [1.0, 2.0, 4.0]
    assert found.positive.tolist() == [False, True, True]


def test_a_summary_has_a_topics_modes_first_then_its_sides(fitted):
    table = fitted.summary()
    assert table.index.unique("topic").tolist() == sorted(NAMES)
    rows = [(side, label) for side in ("theta", "left", "right") for label in ("0", "1")]
    assert table.loc["corn"].index.tolist() == [(label, side) for side, label in rows]


@pytest.mark.parametrize("pooling", ["partial", "complete", "none"])
def test_topics_without_labels_get_wide_bands(pooling):
    calibrator = TopicCalibrator(pooling, **FEW).fit(SCORES, LABELS, TOPICS)
    known = np.ptp(calibrator.predict_interval([1.5], ["earn"]))
    new = np.ptp(calibrator.predict_interval([1.5], ["cocoa"]))
    assert new > known
    strict = clone(calibrator).set_params(new_topics="error", parts="laplace")
    strict.fit(SCORES, LABELS, TOPICS)
    with pytest.raises(ValueError, match="topics 'cocoa' were not fitted"):
        strict.predict_proba([1.5], ["cocoa"])


def test_topics_that_lack_a_class_are_flagged_and_answered():
    kept = ~((TOPICS == "earn") & (LABELS == 1))
    calibrator = TopicCalibrator(**ONE).fit(SCORES[kept], LABELS[kept], TOPICS[kept])
    assert calibrator.flagged_ == {"earn": f"no documents of class 1 that count: {ANSWERED}"}
    point = calibrator.predict_proba([-1.0, 4.0], ["earn", "earn"])[:, 1]
    assert point[0] < 0.2 < point[1]


def test_topics_that_cannot_be_added(fitted):
    mine = SCORES[:34], LABELS[:34], TOPICS[:34]
    with pytest.raises(ValueError, match="topics 'corn' are fitted already"):
        fitted.add_topics(*mine)
    with pytest.raises(ValueError, match=r"labels must hold 0, 1 only, got 2"):
        fitted.add_topics(mine[0], mine[1] + 2, ["late"] * 34)
    with pytest.raises(ValueError, match="must hold at least one label, got none"):
        fitted.add_topics(mine[0], [None] * 34, ["late"] * 34)


@pytest.mark.parametrize(("label", "documents"), [(0, 15), (1, 3)])
def test_a_topic_added_may_lack_a_class(fitted, label, documents):
    """As of a topic that nobody has found a positive of yet."""
    some = np.flatnonzero(label == LABELS)[:documents]
    later = copy(fitted).add_topics(SCORES[some], LABELS[some], ["late"] * some.size)
    assert later.flagged_["late"] == f"no documents of class {1 - label} that count: {ANSWERED}"
    where = np.array([-1.0, 1.5, 4.0])
    late, unknown = (
        later.predict_proba(where, [topic] * 3)[:, 1] for topic in ("late", "never seen")
    )
    assert np.all(np.diff(late) > 0.0)
    # Documents of one class tell how rare the other is.
    assert late[1] < 0.95 * unknown[1] if label == 0 else late[1] > 1.2 * unknown[1]


def test_topics_of_another_type_than_those_fitted(fitted):
    """The population would answer for them, and a file could not hold both."""
    message = "topics must be strings, as those fitted are .* got whole numbers \\(such as 7\\)"
    some = slice(0, 24)
    with pytest.raises(ValueError, match=message):
        fitted.add_topics(SCORES[some], LABELS[some], [7] * 24)
    with pytest.raises(ValueError, match=message):
        fitted.predict_proba([0.0], [7])


@pytest.mark.slow
def test_a_population_takes_topics_of_either_type(fitted, tmp_path):
    some = slice(0, 24)
    names = np.array([7] * 24, dtype=object)
    numbered = fitted.population_.add_topics(SCORES[some], LABELS[some], names)
    again = TopicCalibrator.load(numbered.save(tmp_path / "numbered.nc"))
    assert again.topics_.tolist() == [7]
    assert_array_equal(again.predict_proba([0.0], [7]), numbered.predict_proba([0], [7]))


@pytest.mark.slow
def test_names_of_topics_added_to_a_loaded_calibrator_are_saved_whole(fitted, tmp_path):
    loaded = TopicCalibrator.load(fitted.save(tmp_path / "first.nc"))
    name = "a name/longer than those of the file, and ü"
    loaded.add_topics([-1.0, 0.0, 2.0], [0, 0, 1], [name] * 3)
    again = TopicCalibrator.load(loaded.save(tmp_path / "second.nc"))
    assert again.topics_.tolist() == [*fitted.topics_, name]
    assert again.posterior_.equals(loaded.posterior_)


def test_a_pickle_holds_results_and_provenance(fitted):
    assert fitted.posterior_ is fitted.posterior_  # made once, and kept
    again = pickle.loads(pickle.dumps(fitted))
    assert again.posterior_.attrs == fitted.posterior_.attrs
    assert again.posterior_.identical(fitted.posterior_)
    assert_array_equal(again.predict_proba(SCORES, TOPICS), fitted.predict_proba(SCORES, TOPICS))


def test_constant_scores_of_a_topic():
    scores = np.where(TOPICS == "earn", 1.0, SCORES)
    calibrator = TopicCalibrator(**ONE).fit(scores, LABELS, TOPICS)
    assert calibrator.flagged_ == {"earn": f"no documents of class 0, 1 that count: {ANSWERED}"}
    assert_allclose(
        calibrator.decision_function([1.0, 2.0], ["earn", "earn"]),
        calibrator.decision_function([1.0, 2.0], ["cocoa", "cocoa"]),
        atol=0.5,
    )


@pytest.mark.parametrize("pooling", ["partial", "complete"])
def test_constant_scores_of_every_topic(pooling):
    scores = np.unique(TOPICS, return_inverse=True)[1]
    with pytest.raises(ValueError, match="all scores of every topic are the same"):
        TopicCalibrator(pooling).fit(scores, LABELS, TOPICS)


@pytest.mark.parametrize(
    ("parameters", "message"), [({"parts": "average"}, "parts must be one of")]
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        TopicCalibrator(**parameters).fit(SCORES, LABELS, TOPICS)


TABLE = pd.DataFrame({"score": [0.0, 1.0], "label": [0, 1], "topic": ["a", "a"]})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, 1.0], [0, 1]), "topics must hold the topic of each score, got None"),
        (([0.0, 1.0], [0, 1], ["a"]), "scores and topics must have the same length, got 2 and 1"),
        (([0.0, 1.0], [0], ["a", "a"]), "labels must have the shape of scores"),
        (([0.0, 1.0], [0, 1], ["a", 1]), "all strings or all whole numbers, got int, str"),
        (([0.0, 1.0], [0, 1], [1.5, 2.5]), "all strings or all whole numbers, got float"),
        (([0.0, 1.0], [0, 1], [None, None]), "all strings or all whole numbers, got NoneType"),
        (([0.0, 1.0], [0, 1], [True, False]), "all strings or all whole numbers, got bool"),
        (([], [], []), "at least one"),
        ((["0.5", "1"], [0, 1], ["a", "a"]), "scores must be real numbers"),
        (([0.0, np.nan], [0, 1], ["a", "a"]), "finite"),
        (([0.0, 1.0], [np.nan, np.nan], ["a", "a"]), "at least one label of each class, got none"),
        (([0.0, 1.0], [1, 1], ["a", "b"]), "both classes"),
        ((np.zeros((2, 2)), np.eye(2), ["a"]), "topics must name the 2 columns"),
        ((np.zeros((2, 2)), np.eye(2), ["a", "a"]), "name each column of scores differently"),
        ((TABLE.drop(columns="label"),), "it lacks label"),
        ((TABLE, [0, 1]), "labels must be None with a DataFrame"),
        ((pd.DataFrame({"a": [0.0], "b": [1.0]}), [[0, 1]]), "with topics=list"),
        ((TABLE, None, ["a", "b"]), "topics must be None with a DataFrame"),
        ((TABLE.assign(document=7),), "document 7 has two of topic a"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        read_topics(*arguments)


def test_the_common_scale_is_that_of_all_scores(fitted):
    topics = fitted.posterior_["constant_data"]
    assert (float(topics["centre"]), float(topics["spread"])) == centre_and_spread(SCORES)


def test_cells_keep_document_order():
    cells = read_cells(np.array([[1.0, 2.0], [3.0, 4.0]]), ["b", "a"])
    assert cells.score.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert cells.topic.tolist() == ["b", "a", "b", "a"]
    named = xr.DataArray(np.zeros((2, 2)), {"topic": ["b", "a"]}, ("document", "topic"))
    assert read_cells(named).topic.tolist() == ["b", "a", "b", "a"]
    assert read_cells(named, ["c", "d"]).topic.tolist() == ["c", "d", "c", "d"]


def test_the_bases_of_a_one_sided_population_keep_both_sides():
    # With kappa far below 1 the exact engine would accept hardly any draw.
    points = np.tile([0.9, -0.7, -2.3, -2.6, -3.0, 0.7], (50, 1))
    lowest = [0.9, -0.7, -2.3, np.log(0.5), np.log(0.25), 0.7]
    assert_allclose(Hyperprior.of(1).bases_of(points), [lowest, lowest])


# The kind of topics' scores and the point of the posterior, as for one problem


@pytest.mark.parametrize("point", ["predictive", "mean", "median"])
def test_points_are_those_of_the_draws(point):
    fitted = TopicCalibrator(parts="gaussian", point=point, draws=500, random_state=0)
    fitted.fit(SCORES, LABELS, TOPICS)
    where = SCORES[:5], TOPICS[:5]
    draws, found = fitted.sample_proba(*where), fitted.predict_proba(*where)[:, 1]
    if point == "mean":
        assert found == pytest.approx(draws.mean(axis=0), abs=1e-9)
    elif point == "median":
        assert found == pytest.approx(np.median(draws, axis=0), abs=1e-3)
    problem = fitted.fitted_problems()[TOPICS[0]]
    assert problem.log_odds(SCORES[:1]) == pytest.approx(
        fitted.decision_function(SCORES[:1], TOPICS[:1])
    )


@pytest.mark.slow
def test_probabilities_are_calibrated_by_their_log_odds(tmp_path):
    p = special.expit(SCORES)
    log_odds = np.log(p) - np.log1p(-p)
    settings = {"parts": "gaussian", "draws": 100, "random_state": 0}
    told = TopicCalibrator(**settings, scores_are="probabilities").fit(p, LABELS, TOPICS)
    plain = TopicCalibrator(**settings).fit(log_odds, LABELS, TOPICS)
    again = TopicCalibrator.load(told.save(tmp_path / "topics.nc"))
    for each in (told, again):
        found = each.predict_interval(p, TOPICS)
        assert_array_equal(found, plain.predict_interval(log_odds, TOPICS))
    told.add_topics(p[:34], LABELS[:34], ["new"] * 34)
    plain.add_topics(log_odds[:34], LABELS[:34], ["new"] * 34)
    new = ["new"] * 5
    assert_array_equal(told.predict_proba(p[:5], new), plain.predict_proba(log_odds[:5], new))
    problem = told.fitted_problems()[TOPICS[0]]
    assert problem.scores_are == "probabilities"
    assert problem.grid().min() < 0.0  # on the internal scale
    with pytest.raises(ValueError, match=r"between 0 and 1, got 1\.5"):
        told.predict_proba([1.5], TOPICS[:1])


def test_topics_beyond_one_hold_no_probabilities():
    p = np.linspace(0.0, 1.2, len(LABELS))
    fast = TopicCalibrator("none", parts="gaussian", draws=20, random_state=0)
    fast.fit(p, LABELS, TOPICS)  # a warning would be an error
    with pytest.warns(ScoresWarning, match=r"all scores lie in \[0, 1\]: say what they are"):
        fast.fit(p / 1.2, LABELS, TOPICS)

"""Calibrated relevance: what drawn labels say, exactly and by simulation, and when to stop."""

import itertools

import numpy as np
import pytest

from bayescal import TopicCalibrator
from bayescal.decisions.thresholds import recall_by_rank, stopping_rank
from bayescal.ranking import QueriesLeftOutWarning, RelevanceCalibrator, average_precision
from bayescal.ranking.drawn_relevance import average_precision_of, draw_relevance
from bayescal.ranking.queries import group_by_query, standardise
from bayescal.support.score_checks import ScoresWarning

QUERIES, DOCUMENTS = 30, 80
QUICK = TopicCalibrator(parts="gaussian", draws=50, random_state=0)
LABELS = np.array(list(itertools.product([False, True], repeat=6)))


def queries(seed, number=QUERIES):
    """Return scores, relevance and query of documents whose queries differ in all that they can."""
    rng = np.random.default_rng(seed)
    rate = rng.beta(2.0, 8.0, number)[:, None]
    relevant = rng.random((number, DOCUMENTS)) < rate
    apart = rng.normal(1.8, 0.5, number)[:, None]
    scores = rng.normal(size=relevant.shape) + apart * relevant
    # Nothing that a ranker says of a query as a whole means anything.
    scores = rng.normal(0.0, 20.0, number)[:, None] + rng.gamma(4.0, 1.0, number)[:, None] * scores
    return scores.ravel(), relevant.ravel(), np.repeat(np.arange(number), DOCUMENTS)


@pytest.fixture(scope="module")
def fitted():
    return RelevanceCalibrator(TopicCalibrator(draws=250, random_state=0), random_state=0).fit(
        *queries(0)
    )


@pytest.fixture(scope="module")
def alike():
    """Return a calibrator that takes all queries for one."""
    scores, relevant, qid = queries(0)
    calibrator = RelevanceCalibrator(random_state=0)
    calibrator.calibrator_ = TopicCalibrator(pooling="complete", draws=250, random_state=0).fit(
        standardise(scores, group_by_query(qid, scores.size)), relevant, topics=qid
    )
    return calibrator


@pytest.fixture(scope="module")
def quick():
    return RelevanceCalibrator(QUICK, random_state=0).fit(*queries(0, 4))


def test_average_precision_and_recall_are_those_of_every_labelling():
    recall, precision = recall_by_rank(LABELS), average_precision_of(LABELS)
    for labels, by_rank, mean in zip(LABELS, recall, precision, strict=True):
        for rank in range(1, 7):
            expected = labels[:rank].sum() / labels.sum() if labels.any() else 1.0
            assert by_rank[rank - 1] == pytest.approx(expected)
        if 0 < labels.sum() < 6:
            assert mean == pytest.approx(average_precision(labels, -np.arange(6.0), [1] * 6).item())
        elif labels.any():
            assert mean == 1.0
        else:
            assert np.isnan(mean)


@pytest.mark.parametrize("recall", [0.3, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("probability", [0.4, 0.8, 0.95])
# Of many relevant documents a recall of 3/4 is not one of .8.
@pytest.mark.parametrize(
    "p", [[0.9, 0.7, 0.4, 0.3, 0.1, 0.05], [0.98, 0.97, 0.96, 0.95, 0.02, 0.01]]
)
def test_stopping_is_the_first_rank_with_enough_probability(recall, probability, p):
    p = np.array(p)
    # The distribution of all labels, worked out.
    weight = np.where(LABELS, p, 1.0 - p).prod(axis=1)
    enough = [
        weight[(~LABELS.any(axis=1)) | (LABELS[:, :r].sum(1) >= recall * LABELS.sum(1) - 1e-12)]
        for r in range(7)
    ]
    expected = int(np.argmax([each.sum() >= probability for each in enough]))
    drawn = draw_relevance(np.tile(p, (40_000, 1)), np.random.default_rng(0))
    assert stopping_rank(drawn, recall, probability) == expected


@pytest.mark.slow
def test_units_of_the_query_change_nothing(fitted):
    scores, _, qid = queries(1, 3)
    scale, offset = (np.repeat(k, DOCUMENTS) for k in ([0.01, 1.0, 50.0], [7.0, 0.0, -3.0]))
    expected, moved = (fitted.predict_proba(s, qid) for s in (scores, scale * scores + offset))
    np.testing.assert_allclose(moved, expected, atol=1e-9)
    order = np.random.default_rng(2).permutation(scores.size)
    np.testing.assert_allclose(
        fitted.predict_proba(scores[order], qid[order]),
        fitted.predict_proba(scores, qid)[order],
        atol=1e-9,
    )
    # Without units, scores of other queries hold hardly any information.
    raw = RelevanceCalibrator(QUICK, units="score", random_state=0).fit(*queries(0))
    spread = np.ptp(fitted.predict_proba(scores, qid)[:, 1])
    assert np.ptp(raw.predict_proba(scores, qid)[:, 1]) < 0.6 * spread


@pytest.mark.slow
def test_bands_and_draws_belong_together(fitted):
    scores, _, qid = queries(3, 2)
    draws = fitted.sample_proba(scores, qid)
    point, band = fitted.predict_proba(scores, qid)[:, 1], fitted.predict_interval(scores, qid)
    # A thousand draws of queries that differ as much as probabilities can.
    np.testing.assert_allclose(draws.mean(axis=0), point, atol=0.08)
    np.testing.assert_allclose(np.quantile(draws, [0.05, 0.95], axis=0).T, band, atol=1e-3)


def stops_hold(calibrator, recall, seed):
    """Return in which of many new queries so many relevant documents are above the stop."""
    scores, relevant, qid = queries(seed, 150)
    table = calibrator.when_to_stop(scores, qid, recall=recall, probability=0.9)
    hold = []
    for query, stop in table["stop"].items():
        labels = relevant[qid == query][np.argsort(-scores[qid == query])]
        hold.append(labels[:stop].sum() >= recall * labels.sum() - 1e-9)
    assert table["stop"].median() < DOCUMENTS
    return np.mean(hold), table


@pytest.mark.slow
@pytest.mark.parametrize("recall", [0.5, 0.8])
def test_enough_is_read_as_often_as_said(fitted, alike, recall):
    share, table = stops_hold(fitted, recall, seed=4)
    # Binomial standard error of .9 over 150 queries, and that of a population of 30: .024, .02.
    assert 0.82 < share <= 1.0
    assert (table["missed"] < (1.0 - recall) * table["relevant"]).mean() > 0.9
    # The negative: as if all queries were one there is no doubt about the next one's base rate.
    assert stops_hold(alike, recall, seed=4)[0] < share - 0.01


@pytest.mark.slow
def test_average_precision_and_what_is_left_are_predicted(fitted):
    scores, relevant, qid = queries(5, 150)
    with pytest.warns(QueriesLeftOutWarning, match="over the other 148: .* for 10, 128"):
        found = average_precision(relevant, scores, qid)
    foretold = fitted.expected_average_precision(scores, qid).loc[found.index]
    inside = (foretold["lower"] <= found) & (found <= foretold["upper"])
    assert 0.83 < inside.mean() <= 0.97
    # Lower than it is: the population's next query varies more than queries do.
    assert found.mean() - 0.15 < foretold["mean"].mean() < found.mean()
    below = fitted.relevant_below(scores, qid, rank=20)
    ranked = [
        relevant[qid == query][np.argsort(-scores[qid == query])][20:].sum()
        for query in below.index
    ]
    assert ((below["lower"] <= ranked) & (ranked <= below["upper"])).mean() > 0.83
    assert below["mean"].mean() == pytest.approx(np.mean(ranked), rel=0.25)


@pytest.mark.slow
def test_queries_may_be_anything_hashable_and_scores_all_tied(fitted):
    table = fitted.when_to_stop([1.0, 1.0, 2.0, 2.0], [("a", 1), "b", ("a", 1), "b"], recall=0.5)
    assert table.index.name == "query"
    assert table.index.tolist() == [("a", 1), "b"]
    assert fitted.predict_proba([3.0, 3.0, 3.0], [1, 1, 1]).shape == (3, 2)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"y": np.zeros(6)}, "got 0 of 6 with grade 1 or more"),
        ({"y": [0, 1, 2, 0, 1, 2]}, "relevance_threshold must name"),
        ({"scores": [1.0, np.nan, 2.0, 3.0, 4.0, 5.0]}, "finite|nan"),
        ({"qid": [1, 1]}, "qid"),
        ({"qid": None}, "qid must hold the query of each document, got None"),
    ],
)
def test_wrong_documents_are_named(change, match):
    given = {"scores": np.arange(6.0), "y": [0, 1, 0, 1, 0, 1], "qid": [1, 1, 1, 2, 2, 2]}
    with pytest.raises(ValueError, match=match):
        RelevanceCalibrator().fit(**given | change)


@pytest.mark.parametrize(
    ("calibrator", "match"),
    [
        (TopicCalibrator(pooling="none"), "pooling='partial'"),
        (TopicCalibrator(new_topics="error"), "new_topics='population'"),
        (TopicCalibrator(positive=False), "must leave positive at None, got positive=False: "),
        ("sigmoid", "must be a TopicCalibrator"),
    ],
)
def test_wrong_calibrators_are_named(calibrator, match):
    with pytest.raises(ValueError, match=match):
        RelevanceCalibrator(calibrator).fit(np.arange(4.0), [0, 1, 0, 1], [1, 1, 2, 2])


@pytest.mark.parametrize("answer", ["when_to_stop", "read"])
@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"recall": 1.5}, "recall must be a number above 0 and at most 1, got 1.5"),
        ({"recall": "0.8"}, "recall must be a number above 0 and at most 1, got '0.8'"),
        ({"probability": 1.0}, "probability must lie between 0 and 1"),
        ({"probability": "0.9"}, "probability must lie between 0 and 1"),
    ],
)
def test_wrong_wishes_are_named(quick, answer, asked, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        getattr(quick, answer)([1.0, 2.0], [1, 1], **asked)
    with pytest.raises(ValueError, match="qid and scores must have the same length, got 1 and 2"):
        getattr(quick, answer)([1.0, 2.0], [1])


@pytest.mark.parametrize("answer", ["predict_proba", "when_to_stop", "read"])
def test_queries_of_one_document_each_are_warned_of(quick, answer):
    with pytest.warns(ScoresWarning, match="each of 2 queries has a single .*qid are exchanged"):
        getattr(quick, answer)([5.0, 7.0], [98, 99])


@pytest.mark.parametrize("qid", [[1, 1, 2], [1, 1, 1]])
@pytest.mark.filterwarnings("error::bayescal.support.score_checks.ScoresWarning")
def test_one_query_of_one_document_is_no_reason_to_warn(quick, qid):
    quick.predict_proba([5.0, 7.0, 9.0], qid)
    quick.predict_proba([5.0], [1])


@pytest.mark.filterwarnings("error::bayescal.support.score_checks.ScoresWarning")
def test_scores_that_need_no_units_may_come_one_by_one():
    raw = RelevanceCalibrator(QUICK, units="score").fit(*queries(0, 4))
    assert raw.predict_proba([5.0, 7.0], [98, 99]).shape == (2, 2)


def test_warnings_advise_what_can_be_done():
    """No parameter that only a TopicCalibrator has, and queries by their names."""
    scores, relevant, qid = queries(0, 8)
    names = np.array(list("abcdefgh"))[qid]
    with pytest.warns(ScoresWarning) as caught:
        RelevanceCalibrator(QUICK).fit(-scores, relevant, names)
    (only,) = caught
    assert "negate the scores if larger ones stand for less relevant" in str(only.message)
    assert "positive=" not in str(only.message)
    turned = np.where(names == "c", -scores, scores)
    with pytest.warns(ScoresWarning, match="in 1 of 8 queries, unlike in the rest: .* y of 'c'"):
        RelevanceCalibrator(QUICK).fit(turned, relevant, names)
    inside = (scores - scores.min()) / np.ptp(scores)
    with pytest.warns(ScoresWarning, match="scores_are='scores', to the TopicCalibrator that"):
        RelevanceCalibrator(QUICK, units="score").fit(inside, relevant, names)

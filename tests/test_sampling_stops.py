"""Stopping rules: closed forms, guarantees over many reviews, wrong inputs."""

import functools

import numpy as np
import pytest
from scipy import stats

from bayescal.sampling import RULES, estimate_recall, plan_sample, stop_review
from bayescal.sampling.stopping import first_sure, rank_order_pvalue
from tests.sizes import size

N = 2_000


@functools.cache
def collection(seed=0, share=0.05):
    rng = np.random.default_rng(seed)
    positive = rng.random(N) < share
    return rng.normal(size=N) + 2.0 * positive, positive


def read_to(rank, seed=0, extra=()):
    """Return labels of the best documents and of some others."""
    scores, positive = collection(seed)
    labels = np.full(N, np.nan)
    for rows in (np.argsort(-scores)[:rank], np.asarray(extra, dtype=int)):
        labels[rows] = positive[rows]
    return scores, positive, labels


def test_positives_that_a_control_sample_needs():
    # .8 with .9: eleven positives, all of which must be found; of 25, 23.
    assert first_sure(10, 0.8, 0.9) is None
    assert first_sure(11, 0.8, 0.9) == 11
    assert first_sure(25, 0.8, 0.9) == 23
    for r in range(11, 80):
        j = first_sure(r, 0.8, 0.9)
        assert stats.binom.sf(j - 1, r, 0.8) <= 0.1 < stats.binom.sf(j - 2, r, 0.8)


def test_control_stops_at_the_rank_of_its_positive():
    scores, positive, _ = read_to(0)
    plan = plan_sample(scores, 600, purpose="control", random_state=1)
    _, _, labels = read_to(0, extra=plan.documents)
    ranks = np.sort(np.argsort(np.argsort(-scores))[plan.documents[positive[plan.documents]]]) + 1
    expected = ranks[first_sure(ranks.size, 0.8, 0.9) - 1]
    found = stop_review(scores, labels, rule="control", control=plan)
    assert (found.rank, found.sample, found.stop) == (expected, 0, False)
    best = np.argsort(-scores)
    unread = np.count_nonzero(~np.isin(best[:expected], plan.documents))
    assert found.advice == f"Read on to rank {expected:,}: {unread:,} documents more."
    _, _, more = read_to(expected, extra=plan.documents)
    done = stop_review(scores, more, rule="control", control=plan)
    assert done.stop
    assert done.read == np.argmin(np.isin(best, np.r_[best[:expected], plan.documents]))
    assert done.evidence == pytest.approx(
        stats.binom.cdf(np.count_nonzero(ranks <= done.read) - 1, ranks.size, 0.8)
    )
    assert done.advice == f"Stop: {done.read:,} documents were read, and {expected:,} are enough."
    few = plan_sample(scores, 40, purpose="control", random_state=1)
    _, _, labels = read_to(0, extra=few.documents)
    asked = stop_review(scores, labels, rule="control", control=few)
    # It takes eleven positives, at the share of positives so far.
    wanted = np.ceil(
        (11 - positive[few.documents].sum()) * 41 / (positive[few.documents].sum() + 0.5)
    )
    assert (asked.rank, asked.sample, asked.evidence) == (None, wanted, 0.0)
    assert asked.advice == f"Sample {wanted:,.0f} more documents at random."


@pytest.mark.slow
def test_control_samples_reach_the_recall_as_often_as_promised():
    reached = []
    for seed in range(300):
        scores, positive = collection(seed % 3)
        rng = np.random.default_rng(seed)
        control = rng.permutation(N)[:500]
        labels = np.full(N, np.nan)
        labels[control] = positive[control]
        rank = stop_review(scores, labels, rule="control", control=control).rank
        order = np.argsort(-scores)[:rank]
        reached.append(positive[order].sum() >= 0.8 * positive.sum())
    assert np.mean(reached) >= 0.9 - 3 * np.sqrt(0.09 / 300)


def test_the_rank_order_test_is_the_smallest_of_all_stretches():
    labels = np.array([1, 1, 0, 1, 0, 0, 0, 0, 0, 0], dtype=float)
    documents, recall, found = 30, 0.8, 3
    p = []
    for n in range(1, 11):
        inside = int(labels[-n:].sum())
        left = np.floor(found / recall + 1 - (found - inside))
        p.append(stats.hypergeom.cdf(inside, documents - 10 + n, left, n))
    assert rank_order_pvalue(labels, documents, recall) == pytest.approx(min(p))


def test_reading_on_raises_the_evidence():
    evidence = {}
    for rule in ("hypergeometric", "posterior"):
        found = [stop_review(*read_to(rank)[::2], rule=rule) for rank in (100, 700, 1_900)]
        evidence[rule] = [each.evidence for each in found]
        assert not found[0].stop
        assert found[2].stop
        assert evidence[rule] == sorted(evidence[rule])
    assert stop_review(*read_to(0)[::2], rule="hypergeometric").advice == "Read on, and ask again."


def test_an_elusion_sample_certifies_or_asks_for_more():
    scores, positive = collection()
    order = np.argsort(-scores)
    rest = np.random.default_rng(0).permutation(order[800:])
    found = [stop_review(*read_to(800, extra=rest[:n])[::2], rule="elusion") for n in (20, 700)]
    assert [each.stop for each in found] == [False, True]
    assert [each.evidence for each in found] == [0.0, 0.9]
    # So many random documents without a positive leave a recall below .8 a probability of .1.
    most = np.floor(positive[order[:800]].sum() * 0.25)
    size = np.argmax(stats.hypergeom.cdf(0, 1_200, most + 1, np.arange(1_200)) <= 0.1)
    assert found[0].sample == size - 20
    assert (found[1].rank, found[1].read, found[1].sample) == (800, 800, 0)
    assert positive[order[:800]].sum() >= 0.8 * positive.sum()
    whole = stop_review(scores, positive.astype(float), rule="elusion")
    assert whole.stop


def test_the_posterior_rule_stops_where_both_intervals_of_recall_reach_it():
    scores, _, labels = read_to(300)
    found = stop_review(scores, labels, recall=0.75, assurance=0.85)
    at = np.sort(scores)[::-1][found.rank - 1]
    recall = estimate_recall(scores, labels, at, level=0.7)
    ends = recall.without_hidden.lower, recall.with_hidden.lower
    assert min(ends) == pytest.approx(0.75, abs=0.015)
    assert found.rank > found.read == 300
    assert found.evidence < 0.85


@pytest.mark.parametrize("rule", ["posterior", "hypergeometric"])
def test_more_looks_stop_later(rule):
    scores, _, labels = read_to(500)
    once, often = (stop_review(scores, labels, rule=rule, looks=k) for k in (1, 50))
    if rule == "posterior":
        assert often.rank > once.rank
    assert often.evidence <= once.evidence + 1e-12 or rule == "posterior"
    assert once.guarantee == RULES[rule].guarantee


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "knee"}, "rule must be"),
        ({"rule": "control"}, "control must be the control sample of the rule 'control'"),
        ({"recall": 1.2}, "recall must"),
        ({"assurance": 0.0}, "assurance must"),
        ({"looks": 0}, "looks must be"),
        ({"control": [-1]}, "control must hold positions"),
        ({"control": [0.5]}, "control must hold positions"),
        ({"control": [1_999, 5]}, "labels must hold a label of each control document"),
    ],
)
def test_wrong_questions(options, message):
    scores, _, labels = read_to(10)
    with pytest.raises(ValueError, match=message):
        stop_review(scores, labels, **options)
    stratified = plan_sample(scores, 100, threshold=1.0, random_state=0)
    with pytest.raises(ValueError, match="control must be a simple random sample"):
        stop_review(scores, labels, rule="control", control=stratified)
    groups = np.arange(scores.size) // 4
    grouped = plan_sample(scores, 100, purpose="control", groups=groups, random_state=0)
    with pytest.raises(ValueError, match="got a plan of 100 groups, whose 400 documents are not"):
        stop_review(scores, labels, rule="control", control=grouped)


@pytest.mark.slow
def test_the_posterior_reaches_the_recall_and_peeking_costs():
    reached, runs = [], size(12, 100)
    for seed in range(runs):
        scores, positive = collection(seed)
        plan = plan_sample(scores, 300, purpose="control", random_state=seed)
        labels = np.full(N, np.nan)
        labels[plan.documents] = positive[plan.documents]
        rank = stop_review(scores, labels, random_state=seed).rank
        order = np.argsort(-scores)[:rank]
        reached.append(positive[order].sum() >= 0.8 * positive.sum())
    assert np.mean(reached) >= 0.9 - 3 * np.sqrt(0.09 / runs)

"""Selective prediction, and sets of classes."""

import numpy as np
import pytest
from scipy import stats

from bayescal.decisions import conformal_sets, expected_sets, risk_coverage, set_coverage


@pytest.fixture(scope="module")
def documents():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([0.5, 0.5, 0.5, 0.5], size=600)
    return p, (p.cumsum(axis=1) < rng.random((600, 1))).sum(axis=1)


def test_risk_is_the_mean_of_errors_among_the_surest(documents):
    p, y = documents
    found = risk_coverage(p[None], y, points=6)
    np.testing.assert_allclose(found.coverage, (np.arange(6) + 1) / 6)
    order = np.argsort(-p.max(axis=1))
    for k, share in enumerate(found.coverage):
        some = order[: round(600 * share)]
        np.testing.assert_allclose(found.risk[k], 1.0 - p[some].max(axis=1).mean())
        np.testing.assert_allclose(found.observed[k], (p[some].argmax(axis=1) != y[some]).mean())
        assert p[some].max(axis=1).min() == found.probability[k]
    assert ((found.lower <= found.observed) & (found.observed <= found.upper)).all()
    assert (np.diff(found.risk) > 0.0).all()


def test_intervals_hold_errors_as_often_as_stated():
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(200):
        p = rng.dirichlet([0.5, 0.5, 0.5], size=80)
        y = (p.cumsum(axis=1) < rng.random((80, 1))).sum(axis=1)
        found = risk_coverage(p[None], y, points=1, level=0.8, rng=rng)
        inside += int(found.lower[0] <= found.observed[0] <= found.upper[0])
    low, high = stats.binom.ppf([0.0005, 0.9995], 200, 0.8)
    assert low <= inside <= high


def test_shares_of_wrong_answers_stay_shares():
    found = risk_coverage([[[0.5, 0.5]]], level=0.999)
    assert (found.lower.tolist(), found.upper.tolist()) == ([0.0], [1.0])


def test_equally_certain_documents_have_equal_shares_of_errors():
    p = np.repeat([[0.9, 0.1], [0.2, 0.8]], [10, 10], axis=0)
    y = np.repeat([0, 1, 0, 1], [6, 4, 5, 5])
    found = risk_coverage(p[None], y, points=20)
    expected = np.append(np.full(10, 0.4), 0.4 + np.arange(1, 11) / (10 + np.arange(1, 11)) * 0.1)
    np.testing.assert_allclose(found.observed, expected)
    np.testing.assert_allclose(risk_coverage(p[None, ::-1], y[::-1]).observed, found.observed)


def test_draws_widen_intervals(documents):
    p, _ = documents
    power = np.random.default_rng(2).lognormal(0.0, 0.5, size=(100, 1, 1))
    draws = p**power / (p**power).sum(axis=2, keepdims=True)
    one, many = risk_coverage(draws.mean(axis=0)[None]), risk_coverage(draws)
    assert np.ptp([many.lower, many.upper], axis=0)[-1] > np.ptp([one.lower, one.upper], axis=0)[-1]


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.95])
def test_sets_cover_as_expected(documents, coverage):
    p, y = documents
    sets = expected_sets(p, coverage)
    assert sets[np.arange(600), p.argmax(axis=1)].all()
    mean = (p * sets).sum(axis=1).mean()
    assert mean >= coverage
    # Without the least of the classes added it would not.
    added = sets.copy()
    added[np.arange(600), p.argmax(axis=1)] = False
    if added.any():
        assert mean - p[added].min() / 600 < coverage
    found = set_coverage(sets, y, level=0.999)
    assert found.lower <= mean <= found.upper
    np.testing.assert_allclose(found.size, sets.sum() / 600)


def test_sets_of_ties_are_never_empty_and_still_cover():
    every = expected_sets(np.full((5, 3), 1.0 / 3.0), 0.5)
    assert every.all()
    # Among ties in a row the first is its likeliest class; the other may still be needed.
    mixed = expected_sets([[0.5, 0.5], [0.9, 0.1]], 0.9)
    assert mixed.tolist() == [[True, True], [True, False]]


def test_conformal_sets_by_brute_force(documents):
    p, y = documents
    for coverage in (0.6, 0.9):
        sets = conformal_sets(p[:99], y[:99], p[99:], coverage)
        score = sorted(1.0 - p[k, y[k]] for k in range(99))[round(100 * coverage) - 1]
        np.testing.assert_array_equal(sets, 1.0 - p[99:] <= score)
        # Given the 99 labels, coverage has a Beta distribution (Vovk, 2012).
        rank = round(100 * coverage)
        hits = 501 * set_coverage(sets, y[99:]).value
        low, high = stats.betabinom.ppf([0.0005, 0.9995], 501, rank, 100 - rank)
        assert low <= hits <= high
    assert conformal_sets(p[:5], y[:5], p[5:], 0.9).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: risk_coverage([[[0.5, 0.2]]]), "sum to 1"),
        (lambda: risk_coverage([[[0.5, 0.5]]], [2]), "positions of columns, 0 to 1"),
        (lambda: risk_coverage([[[0.5, 0.5]]], [0, 1]), "same length"),
        (lambda: risk_coverage([[[0.5, 0.5]]], points=0), "points"),
        (lambda: expected_sets([[1.5, -0.5]]), "must hold probabilities from 0 to 1, got 1.5"),
        (lambda: expected_sets([[0.5, 0.5]], 1.0), "coverage"),
        (lambda: expected_sets([[0.9, 0.1], [0.0, 0.0]]), "sum to 1 .*got 0 at position 1"),
        (lambda: conformal_sets([[0.5, 0.5]], [0], [0.5]), "shape"),
        (lambda: set_coverage([True], [0]), "shape"),
        (lambda: set_coverage([[True, False]], [5]), "positions"),
    ],
)
def test_bad_inputs(call, message):
    with pytest.raises(ValueError, match=message):
        call()

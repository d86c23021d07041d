"""Leave-one-out probabilities of the monotone engine against fits of all other documents."""

import numpy as np
import pytest
from scipy import special

from bayescal.fitting.engines.monotone.density import Prior
from bayescal.fitting.engines.monotone.engine import _of_label, leave_one_out
from bayescal.support.numerics import even_nodes
from tests.test_monotone_posterior import POSITIVE, SAMPLES, X, fit

pytestmark = pytest.mark.one_era

RNG = np.random.default_rng(6)


@pytest.mark.parametrize("name", SAMPLES)
def test_leaving_one_out_is_fitting_the_others(name):
    x, positive = SAMPLES[name]
    whole, rng = fit(x, positive), np.random.default_rng(2)
    found = leave_one_out(whole, x, positive, None, Prior(), rng)
    assert np.all(found.pareto_k < 0.7)
    in_sample = np.log(special.expit(np.where(positive, 1, -1) * whole.log_odds(x)).mean(axis=0))
    for i in range(x.size):
        rest = fit(np.delete(x, i), np.delete(positive, i), pieces=whole.pieces, draws=20_000)
        p = special.expit((1 if positive[i] else -1) * rest.log_odds(x[[i]])).mean()
        assert found.log_probability[i] == pytest.approx(np.log(p), abs=0.1)
    # The negative: probabilities of labels that were not left out are higher.
    assert in_sample.sum() > found.log_probability.sum() + 0.1


def test_leaving_out_of_weights_and_of_many():
    weight = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 1.0, 2.0, 0.5])
    whole = fit(X, POSITIVE, weight)
    found = leave_one_out(whole, X, POSITIVE, weight, Prior(), np.random.default_rng(2))
    for i in (1, 3, 7):
        rest = weight.copy()
        rest[i] = max(rest[i] - 1.0, 0.0)
        others = fit(X, POSITIVE, rest, pieces=whole.pieces)
        p = special.expit((1 if POSITIVE[i] else -1) * others.log_odds(X[[i]])).mean()
        assert found.log_probability[i] == pytest.approx(np.log(p), abs=0.05)
    x = RNG.normal(size=4000)
    labels = RNG.random(4000) < special.expit(2 * x)
    large = fit(x, labels, draws=1000)
    table = leave_one_out(large, x, labels, None, Prior(), np.random.default_rng(2))
    sign = np.where(labels, 1, -1)
    inside = np.log(special.expit(sign * large.log_odds(x)).mean(axis=0))
    # One document of 4,000 matters little, and always against itself.
    difference = inside - table.log_probability
    assert 0.0 < difference.sum() < 20.0
    assert np.abs(difference).max() < 0.5


@pytest.mark.parametrize("positive", [False, True])
def test_leaving_out_the_only_document_leaves_the_prior(positive, monkeypatch):
    # As if importance sampling could not be trusted: there is nothing to fit in its place.
    monkeypatch.setattr("bayescal.fitting.engines.monotone.engine.GOOD_K", -np.inf)
    x, label, prior = np.zeros(1), np.array([positive]), Prior(1.0, 0.5)
    whole = fit(x, label, prior=prior)
    found = leave_one_out(whole, x, label, None, prior, np.random.default_rng(2))
    at_the_reference = np.random.default_rng(3).normal(1.0, 0.5, 100_000)
    expected = special.expit((1 if positive else -1) * at_the_reference).mean()
    assert np.exp(found.log_probability[0]) == pytest.approx(expected, abs=0.01)


def many(n=600):
    rng = np.random.default_rng(8)
    x = rng.standard_t(3, n)
    labels = rng.random(n) < special.expit(2.0 * x - 1.0)
    whole = fit(x, labels)
    return whole, (x, labels, None, Prior(), np.random.default_rng(2), whole.importance)


def test_a_table_of_scores_says_what_every_score_says(monkeypatch):
    whole, arguments = many()
    table = leave_one_out(whole, *arguments).log_probability
    monkeypatch.setattr("bayescal.fitting.engines.monotone.engine.MOST_SCORES", 1000)
    each = leave_one_out(whole, *arguments).log_probability
    # All but the few that are drawn anew.
    assert np.quantile(np.abs(table - each), 0.98) < 0.001
    assert table.sum() == pytest.approx(each.sum(), abs=0.1)
    # The negative: eight entries are too few.
    monkeypatch.setattr("bayescal.fitting.engines.monotone.engine.MOST_SCORES", 8)
    coarse = leave_one_out(whole, *arguments).log_probability
    assert np.quantile(np.abs(coarse - each), 0.98) > 0.004
    assert abs(coarse.sum() - each.sum()) > 0.5


def test_a_score_is_trusted_no_more_than_the_entries_beside_it(monkeypatch):
    whole, (x, *_) = many()
    of_scores = _of_label(whole, x, None, True)[1]
    monkeypatch.setattr("bayescal.fitting.engines.monotone.engine.MOST_SCORES", 1000)
    entries = np.union1d(even_nodes(np.unique(x), 96), whole.pieces.knots)
    of_entries = _of_label(whole, entries, None, True)[1]
    after = np.searchsorted(entries, x).clip(1, entries.size - 1)
    for beside in (after - 1, after):
        assert (of_scores >= of_entries[beside] - 1e-9)[x > entries[0]].all()


@pytest.mark.parametrize("name", SAMPLES)
def test_reweighted_proposals_need_no_fit_to_the_others(name, monkeypatch):
    x, positive = SAMPLES[name]
    whole = fit(x, positive)

    def refused(*_):
        raise AssertionError("fitted again")

    monkeypatch.setattr("bayescal.fitting.engines.monotone.engine.GOOD_K", -np.inf)
    monkeypatch.setattr("bayescal.fitting.engines.monotone.engine._fit", refused)
    rng = np.random.default_rng(2)
    found = leave_one_out(whole, x, positive, None, Prior(), rng, whole.importance)
    assert np.all(found.pareto_k < 0.7)
    # Every document by the same proposals moved one step, for none is even enough here.
    for i in range(min(x.size, 3)):
        rest = fit(np.delete(x, i), np.delete(positive, i), pieces=whole.pieces, draws=20_000)
        p = special.expit((1 if positive[i] else -1) * rest.log_odds(x[[i]])).mean()
        assert found.log_probability[i] == pytest.approx(np.log(p), abs=0.1)

"""The pooled engine against independent references: scipy, fresh exact evidences, prior draws."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import scipy.stats as st
from scipy import special

from bayescal.families import FAMILIES
from bayescal.fitting.engines.exact.class_posterior import ClassPosterior
from bayescal.fitting.engines.exact.joint_density import DeviationSums
from bayescal.fitting.engines.pooled import drawing, engine
from bayescal.fitting.engines.pooled.drawing import SEARCHED, some_of
from bayescal.fitting.engines.pooled.engine import draw_population, draw_topics, fit_topics
from bayescal.fitting.engines.pooled.hyperparameters import adapted, draw_hyperposterior
from bayescal.fitting.engines.pooled.population import (
    DENSITY_NAMES,
    OF_SHARE,
    Hyperprior,
    coefficients,
    draw_unseen,
    prior_of,
    statistics,
)
from bayescal.fitting.scores import BinaryScores
from tests.pooled_tools import sides_of

FOUR = ["asymmetric_gaussian", "asymmetric_laplace", "gaussian", "laplace"]
BASE = np.array([0.3, 0.2, 0.4, 1.0, 0.8, -0.4])
WIDE = BASE + np.array([0.0, 1.0, 0.0, -1.0, -1.0, 0.0])
NEAR = BASE + 0.3 * np.random.default_rng(0).normal(size=(6, len(DENSITY_NAMES)))
each_family = pytest.mark.parametrize("family", FOUR)


def topics(rng, sizes=(3, 8, 0, 25, 1)):
    """Return scores of one class of some topics, without weights."""
    return [(rng.normal(rng.normal(), 0.6, n), None) for n in sizes]


def population(point, family):
    """Return scipy's distributions of mode, share and width's power."""
    mu, tau, omega, kappa, shape, width = point
    omega, kappa = special.expit(omega), np.exp(kappa)
    shape, power = np.exp(shape), FAMILIES[family].power
    return (
        st.norm(mu, np.exp(tau)),
        st.beta(kappa * omega, kappa * (1.0 - omega)),
        st.invgamma(shape, scale=shape * np.exp(power * width)),
    )


def evidence(scores, weight, point, family):
    """Return the log evidence of one topic under a population, all draws anew."""
    location, prior = prior_of(point, FAMILIES[family])
    sums = DeviationSums(scores - location, weight, FAMILIES[family].power)
    return ClassPosterior(sums, prior).log_evidence


@each_family
def test_the_exponential_family_is_the_population(family):
    rng, record = np.random.default_rng(1), FAMILIES[family]
    power, half = record.power, np.full(20, 0.5)
    theta, width = rng.normal(size=20), rng.gamma(2.0, size=20)
    share = half if record.symmetric else rng.beta(2.0, 2.0, 20)
    values = statistics(theta, share, width, record)
    for point in NEAR:
        of_theta, of_share, of_power = population(point, family)
        expected = of_theta.logpdf(theta) + of_power.logpdf(width**power) + power * np.log(width)
        if not record.symmetric:
            expected += of_share.logpdf(share) + np.log(share) + np.log1p(-share)
        eta, normaliser = coefficients(point, record)
        found = values @ eta - normaliser - 0.5 * np.log(2.0 * np.pi)
        np.testing.assert_allclose(found, expected, rtol=1e-10)


@each_family
@pytest.mark.parametrize("bases", [BASE[None], np.stack([BASE, WIDE])])
def test_evidences_of_other_populations_are_the_exact_ones(family, bases):
    rng = np.random.default_rng(2)
    documents = topics(rng)
    drawn = draw_topics(documents, FAMILIES[family], bases, 4000 // len(bases), rng)
    for point in NEAR:
        expected = sum(evidence(*each, point, family) for each in documents)
        share = drawn.efficiency(point[None])
        error = np.sqrt(np.sum((1.0 / share - 1.0) / drawn.draws.values.shape[-1]))
        assert abs(drawn.weighed(point[None]).log_evidence[0] - expected) < 4.0 * error
        assert error < 0.1
    at_base = sum(evidence(*each, BASE, family) for each in documents)
    assert drawn.draws.log_evidence[:, 0].sum() == pytest.approx(at_base, rel=1e-12)
    if len(bases) == 1:
        # Sums over draws are in single precision.
        assert drawn.weighed(BASE[None]).log_evidence[0] == pytest.approx(at_base, abs=1e-5)


def test_a_wide_base_bounds_the_weights_of_wide_populations():
    rng, record = np.random.default_rng(11), FAMILIES["asymmetric_laplace"]
    one, two = (
        draw_topics(topics(rng), record, bases, 2000 // len(bases), rng)
        for bases in (BASE[None], np.stack([BASE, WIDE]))
    )
    # Half of the draws are its own.
    assert np.all(two.efficiency(WIDE[None]) > 0.45)
    assert np.all(two.efficiency(BASE[None]) > 0.45)
    assert one.efficiency(WIDE[None]).min() < 0.1
    # Of several populations it is the mean, up to what single precision has of how they differ.
    each = [two.efficiency(point[None]) for point in (WIDE, BASE)]
    both = two.efficiency(np.stack([WIDE, BASE]))
    np.testing.assert_allclose(both, np.mean(each, axis=0), rtol=1e-5)


@each_family
def test_a_topic_without_scores_is_a_draw_from_the_population(family):
    rng, record = np.random.default_rng(3), FAMILIES[family]
    drawn = draw_topics([(np.zeros(0), None)], record, BASE[None], 8000, rng)
    assert drawn.draws.log_evidence == pytest.approx([0.0], abs=1e-6)
    power, narrow = record.power, BASE - 0.5 * (np.arange(len(DENSITY_NAMES)) == 1)
    for point in (BASE, narrow):
        theta, left, right = drawn.weighed(point[None]).pick(np.zeros(1000, dtype=int), rng)[:, 0]
        of_theta, of_share, of_power = population(point, family)
        assert st.kstest(theta, of_theta.cdf).pvalue > 1e-3
        assert st.kstest((left + right) ** power, of_power.cdf).pvalue > 1e-3
        if not record.symmetric:
            assert st.kstest(left / (left + right), of_share.cdf).pvalue > 1e-3
    # The negative: the population of the base is not the narrower one.
    assert st.kstest(theta, population(BASE, family)[0].cdf).pvalue < 1e-3


def test_topics_without_scores_share_one_posterior(monkeypatch):
    made = []

    class Counted(ClassPosterior):
        def __init__(self, sums, prior):
            made.append(sums.total)
            super().__init__(sums, prior)

    monkeypatch.setattr(engine, "ClassPosterior", Counted)
    engine._without_scores.cache_clear()
    none = [(np.empty(0), None)] * 9
    bases = np.stack([BASE, WIDE])
    drawn = draw_topics(
        [*none, (np.ones(3), None)], FAMILIES["gaussian"], bases, 5, np.random.default_rng(0)
    )
    assert sorted(made) == [0.0, 0.0, 3.0, 3.0]
    # Their draws differ all the same.
    assert np.unique(drawn.draws.values[0, :9]).size == 9 * 2 * 5
    engine._without_scores.cache_clear()


@each_family
def test_a_topic_without_scores_has_widths_that_a_number_holds(family):
    nothing = np.tile(BASE, (500, 1))
    nothing[:, DENSITY_NAMES.index("log_width")] = 700.0
    drawn = draw_unseen(nothing, FAMILIES[family], np.random.default_rng(0))
    # In raw score units, of spreads that scores may have.
    assert np.isfinite(drawn * 1e150).all()
    usual = draw_unseen(np.tile(BASE, (500, 1)), FAMILIES[family], np.random.default_rng(0))
    assert usual[1:].max() < 1e6


@pytest.mark.slow
@pytest.mark.parametrize("family", ["asymmetric_laplace", "gaussian"])
@pytest.mark.parametrize("n_topics", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_hyperparameters_are_those_of_weighted_prior_draws(family, n_topics):
    rng = np.random.default_rng(4)
    documents = topics(rng, (5, 2, 9)[:n_topics])
    hyperprior = Hyperprior.of(FAMILIES[family].power)
    points = hyperprior.draw(1500, rng)
    log = [sum(evidence(*each, point, family) for each in documents) for point in points]
    weight = special.softmax(log)
    mean = weight @ points
    error = np.sqrt(weight**2 @ (points - mean) ** 2)
    found = draw_population(documents, FAMILIES[family], rng, draws=4000, topic_draws=2000)
    assert found.pareto_k < 0.7
    assert found.points.shape == (4000, len(DENSITY_NAMES))
    assert 1.0 / np.sum(weight**2) > 50
    difference = (found.points.mean(axis=0) - mean) / error
    assert np.abs(difference).max() < 4.0
    # The hyperprior alone is rejected.
    assert np.abs((hyperprior.mean - mean) / error).max() > 4.0


@pytest.mark.parametrize("family", ["gaussian", "laplace"])
def test_symmetric_families_have_equal_sides_and_a_share_that_data_leave_alone(family):
    rng = np.random.default_rng(5)
    found = draw_population(topics(rng), FAMILIES[family], rng, draws=1000, topic_draws=500)
    _, left, right = found.pick(rng)
    np.testing.assert_array_equal(left, right)
    hyperprior = Hyperprior.of(FAMILIES[family].power)
    for k in OF_SHARE:
        prior = st.norm(hyperprior.mean[k], hyperprior.scale[k])
        assert st.kstest(found.points[:, k], prior.cdf).pvalue > 1e-3


@each_family
def test_weights_are_powers_of_the_likelihood(family):
    rng = np.random.default_rng(6)
    x, weight = rng.normal(size=12), rng.integers(0, 4, 12)
    forms = [(x, weight.astype(float))], [(np.repeat(x, weight), None)]
    one, other = (
        draw_topics(form, FAMILIES[family], BASE[None], 200, np.random.default_rng(7))
        for form in forms
    )
    np.testing.assert_allclose(one.draws.log_evidence, other.draws.log_evidence, rtol=1e-6)
    # The same draws of a generator, unless a rounding turns an acceptance over.
    means = [form.draws.values.mean(axis=(1, 2)) for form in (one, other)]
    assert means[0] == pytest.approx(means[1], rel=0.1, abs=0.05)


@pytest.mark.parametrize("family", ["asymmetric_laplace", "asymmetric_gaussian"])
def test_ties(family):
    rng = np.random.default_rng(8)
    documents = [(np.zeros(5), None), (np.repeat([0.5, 1.0], 3), None), (np.ones(1), None)]
    found = draw_population(documents, FAMILIES[family], rng, draws=500, topic_draws=500)
    assert found.topics.draws.health.resolved.all()
    assert np.all(np.isfinite(found.points))
    for values in found.pick(rng):
        assert np.all(np.isfinite(values))


@each_family
def test_shifting_and_scaling_scores_shifts_and_scales_draws(family):
    rng = np.random.default_rng(9)
    # Binary fractions: shifted by 8 and scaled by 4 without a rounding.
    documents = [
        BinaryScores(np.round(256 * rng.normal(np.repeat([-1, 1], n))) / 256, np.arange(2 * n) >= n)
        for n in (4, 9, 0)
    ]
    moved = [replace(data, score=8.0 + 4.0 * data.score) for data in documents]
    here, there = (
        fit_topics(
            form,
            FAMILIES[family],
            np.random.default_rng(10),
            draws=200,
            pooling="partial",
            scale=scale,
        )
        for form, scale in ((documents, (0.5, 2.0)), (moved, (10.0, 8.0)))
    )
    expected = 4.0 * sides_of(here.topics)
    expected[:, 0] += 8.0
    np.testing.assert_allclose(sides_of(there.topics), expected, rtol=1e-12)
    np.testing.assert_array_equal(there.population, here.population)
    np.testing.assert_array_equal(there.topics.prior, here.topics.prior)


def test_proposals_are_possible_however_few_points_count():
    rng = np.random.default_rng(0)
    points, before = rng.normal(size=(500, 6)) @ np.diag([1.0, 2.0, 0.5, 1.0, 3.0, 1.0]), np.eye(6)
    one = np.zeros(500)
    one[7] = 1.0
    # One point has no covariance: that of before stays, and has a Cholesky factor.
    np.testing.assert_allclose(adapted(before, points, one), before * 6.0 / 7.0)
    even = np.full(500, 1.0 / 500.0)
    np.testing.assert_allclose(adapted(before, points, even), np.cov(points.T), atol=0.15)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(np.cov(points.T, aweights=one, ddof=0))


def test_topics_without_a_class_leave_its_population_as_it_is():
    rng = np.random.default_rng(3)
    known = [(rng.normal(rng.normal(), 1.0, 12), None) for _ in range(6)]
    none = (np.empty(0), None)
    fitted = partial(engine._partial, family=FAMILIES["gaussian"], draws=2000, hyperpriors={})
    alone = fitted(known, rng=np.random.default_rng(0))
    both = fitted([none, *known, none], rng=np.random.default_rng(0))
    np.testing.assert_array_equal(both.population, alone.population)
    np.testing.assert_array_equal(both.topics[:, 1:-1], alone.topics)
    np.testing.assert_array_equal(both.efficiency[1:-1], alone.efficiency)
    assert both.efficiency[[0, -1]].tolist() == [1.0, 1.0]
    assert both.health.resolved.shape == (8,)
    # Their draws are those of a topic that the population makes, each by itself.
    for own in (both.topics[:, 0], both.topics[:, -1]):
        assert st.ks_2samp(own[0], both.unseen[0]).pvalue > 0.01
        assert st.ks_2samp(own[1], both.unseen[1]).pvalue > 0.01
    assert (both.topics[:, 0] != both.topics[:, -1]).any()


# Populations of many topics, found by a few of them first: the same as found by all

TOPICS, GAUSSIAN = 3 * SEARCHED, FAMILIES["gaussian"]
RUNS = 4


def documents(rng, sizes=(3, 8, 0, 25, 1)):
    """Return scores of one class of topics whose modes are from Normal(1, 1/2)."""
    return [(rng.normal(rng.normal(1.0, 0.5), 0.6, size), None) for size in sizes]


@pytest.fixture(scope="module")
def many():
    return documents(np.random.default_rng(0), np.arange(TOPICS) % 12)


def fitted(topics, seed):
    rng = np.random.default_rng(seed)
    return draw_population(topics, GAUSSIAN, rng, draws=1000, topic_draws=400)


def test_few_topics_are_all_searched_by_and_some_of_many():
    rng = np.random.default_rng(1)
    assert some_of(range(SEARCHED), rng) is None
    some = some_of(range(TOPICS), rng)
    assert len(set(some)) == SEARCHED
    assert set(some) <= set(range(TOPICS))
    # At random: topics may come in an order, or in turn from several classifiers.
    assert some != some_of(range(TOPICS), rng)


def test_draws_of_one_base_after_the_other_are_draws_of_both():
    topics, bases = documents(np.random.default_rng(2)), np.stack([BASE, WIDE])
    both = draw_topics(topics, GAUSSIAN, bases, 3000, np.random.default_rng(3))
    one, other = (
        draw_topics(topics, GAUSSIAN, base[None], 3000, np.random.default_rng(3)) for base in bases
    )
    joined = one.joined(other)
    assert joined.bases.tolist() == bases.tolist()
    np.testing.assert_allclose(joined.draws.log_evidence, both.draws.log_evidence, rtol=1e-12)
    assert joined.draws.values.shape == both.draws.values.shape
    for point in (*bases, bases.mean(axis=0)):
        np.testing.assert_allclose(
            joined.efficiency(point[None]), both.efficiency(point[None]), atol=0.06
        )
        assert (
            abs(joined.weighed(point[None]).log_evidence - both.weighed(point[None]).log_evidence)
            < 0.2
        )
    # The negative: without the other half of the draws nothing stands for a wide population.
    assert one.efficiency(WIDE[None]).min() < 0.1


@pytest.mark.slow
def test_the_population_is_that_of_a_search_by_all_topics(many, monkeypatch):
    some = [fitted(many, seed) for seed in range(RUNS)]
    monkeypatch.setattr(drawing, "SEARCHED", TOPICS)
    whole = [fitted(many, seed) for seed in range(RUNS)]
    sd = np.mean([found.points.std(axis=0) for found in whole], axis=0)
    means = [[found.points.mean(axis=0) for found in runs] for runs in (some, whole)]
    spreads = [[np.log(found.points.std(axis=0)) for found in runs] for runs in (some, whole)]
    assert np.abs(np.subtract(*np.mean(means, axis=1)) / sd).max() < 0.25
    assert np.abs(np.subtract(*np.mean(spreads, axis=1))).max() < 0.25
    for found in some:
        assert found.pareto_k < 0.7
        assert found.topics.efficiency(found.points).min() > 0.25


@pytest.mark.slow
def test_topics_that_mislead_are_found_out(many):
    """Those searched by are from another population: their mode is carried by no topic's draws."""
    hyperprior = Hyperprior.of(2)
    others = [(30.0 + 0.1 * scores, None) for scores, _ in many[:SEARCHED]]
    search, draw = (partial(draw_topics, topics, GAUSSIAN) for topics in (others, many))
    rng = np.random.default_rng(5)
    found = draw_hyperposterior(draw, hyperprior, rng, draws=1000, topic_draws=400, search=search)
    right = fitted(many, 5)
    sd = right.points.std(axis=0)
    assert np.abs((found.points.mean(axis=0) - right.points.mean(axis=0)) / sd).max() < 0.5
    assert found.topics.efficiency(found.points).min() > 0.25

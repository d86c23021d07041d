"""Topics' monotone log-odds around a population: exact evidence, unseen topics, NUTS."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import scipy.stats as st

from bayescal.fitting.engines.monotone.posterior import draw_monotone
from bayescal.fitting.engines.pooled.hyperparameters import draw_hyperposterior
from bayescal.fitting.engines.pooled.log_odds import (
    HYPERPRIOR,
    coefficients,
    draw_log_odds,
    draw_unseen,
    prior_of,
    statistics,
)
from bayescal.fitting.scores import NOTHING, BinaryScores
from tests.log_odds_population import PIECES, documents, quantities
from tests.nuts_reference import LIMIT, from_runs, stored

BASE = np.array([-1.0, np.log(1.5), 0.3, np.log(0.6)])
WIDE = BASE + np.array([0.0, 1.0, 0.0, 1.0])
NEAR = [BASE, BASE + np.array([0.6, -0.4, -0.2, 0.2]), BASE + np.array([-0.3, 0.1, 0.2, -0.3])]
RUNS = 10


def exact(data, point, rng):
    return draw_monotone(
        data.score, data.positive, None, prior_of(point), 20_000, rng, pieces=PIECES
    ).log_evidence


@pytest.mark.parametrize("bases", [BASE[None], np.stack([BASE, WIDE])])
def test_evidences_of_other_populations_are_the_exact_ones(bases):
    rng = np.random.default_rng(1)
    drawn = draw_log_odds(documents(), PIECES, bases, 8000 // len(bases), rng)
    for point in (*NEAR, *bases[1:]):
        expected = sum(exact(data, point, rng) for data in documents())
        share = drawn.efficiency(point[None])
        # A hundredth: the exact evidence is an average over draws itself.
        error = np.sqrt(np.sum((1.0 / share - 0.999) / drawn.draws.values.shape[-1])) + 0.01
        assert abs(drawn.weighed(point[None]).log_evidence[0] - expected) < 4.0 * error
        assert error < 0.1
    assert drawn.draws.health.resolved.all()


def few_documents():
    """Return topics of up to eight documents, a third of the labels against the scores."""
    rng = np.random.default_rng(5)
    sizes = (1, 1, 2, 2, 3, 5, 8)
    scores = [rng.normal(size=size) for size in sizes]
    return [BinaryScores(x, (x > 0.0) ^ (rng.random(x.size) < 0.3)) for x in scores]


# Some topics are drawn from the prior under one base and from the posterior under the other.
@pytest.mark.parametrize("bases", [BASE[None], np.stack([BASE, WIDE])])
def test_evidences_of_topics_of_few_documents_are_the_exact_ones(bases):
    rng = np.random.default_rng(6)
    topics = few_documents()
    drawn = draw_log_odds(topics, PIECES, bases, 8000 // len(bases), rng)
    of_prior = drawn.draws.of_prior
    assert of_prior[0].all()
    assert not of_prior[-1].all()
    for point in (*NEAR, *bases[1:]):
        expected = np.array([exact(data, point, rng) for data in topics])
        (found,) = np.array([each for each, _, _ in drawn.weights(point[None])]).T
        share = drawn.efficiency(point[None])
        error = np.sqrt((1.0 / share - 0.999) / drawn.draws.values.shape[-1]) + 0.01
        assert np.all(np.abs(found - expected) < 4.0 * error)
        assert error.max() < 0.1


def test_draws_of_the_prior_and_of_the_posterior_are_weighed_together():
    rng, data = np.random.default_rng(7), few_documents()[4]
    topics = draw_log_odds([data], PIECES, np.stack([BASE, WIDE]), 2000, rng)
    assert topics.draws.of_prior.any() != topics.draws.of_prior.all()
    expected = draw_monotone(
        data.score, data.positive, None, prior_of(BASE), 2000, rng, pieces=PIECES
    )
    picked = topics.weighed(np.tile(BASE, (2000, 1))).pick(np.arange(2000), rng)[:, 0]
    for one, other in zip(picked, [expected.intercept, *expected.slopes.T], strict=True):
        assert st.kstest(one, other).pvalue > 1e-3
    # The negative: unweighed, the prior's draws are far from it.
    assert st.kstest(topics.draws.values[0, 0], expected.intercept).pvalue < 1e-3


def test_coefficients_are_those_of_normal_densities():
    a, level = np.array([0.3, -2.0]), np.array([1.0, 0.2])
    for point in NEAR:
        mu, log_tau, slope, log_sigma = point
        expected = st.norm(mu, np.exp(log_tau)).logpdf(a)
        expected += st.norm(slope, np.exp(log_sigma)).logpdf(level)
        (eta,), (normaliser,) = coefficients(point[None])
        found = statistics(a, level) @ eta - normaliser - np.log(2.0 * np.pi)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_topic_without_documents_is_a_draw_from_the_population():
    rng = np.random.default_rng(3)
    drawn = draw_log_odds([NOTHING], PIECES, np.stack([BASE, WIDE]), 4000, rng)
    assert drawn.draws.log_evidence == pytest.approx(np.zeros((1, 2)))
    here = np.tile(BASE, (1500, 1))
    picked, unseen = (
        drawn.weighed(here).pick(np.arange(len(here)), rng)[:, 0],
        draw_unseen(here, PIECES, rng),
    )
    for one, other in zip(picked, unseen, strict=True):
        assert st.kstest(one, other).pvalue > 1e-3
    level = np.log(unseen[1 + PIECES.reference_segment])
    assert st.kstest(unseen[0], st.norm(BASE[0], np.exp(BASE[1])).cdf).pvalue > 1e-3
    assert st.kstest(level, st.norm(BASE[2], np.exp(BASE[3])).cdf).pvalue > 1e-3
    # The negative: it is not a draw of the wider base.
    assert st.kstest(picked[0], draw_unseen(np.tile(WIDE, (1500, 1)), PIECES, rng)[0]).pvalue < 1e-3


def test_slopes_of_unseen_topics_are_those_of_topics_whose_labels_say_nothing():
    rng = np.random.default_rng(4)
    unseen = draw_unseen(np.tile(BASE, (8000, 1)), PIECES, rng)
    nothing = draw_monotone(
        np.zeros(1), np.array([True]), np.full(1, 1e-9), prior_of(BASE), 8000, rng, pieces=PIECES
    )
    for one, other in zip(unseen, [nothing.intercept, *nothing.slopes.T], strict=True):
        assert st.kstest(one, other).pvalue > 1e-3


def engine(hyperprior):
    """Return quantities of independent runs of the engine: (run, draw, k)."""
    draw, runs = partial(draw_log_odds, documents(), PIECES), []
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        found = draw_hyperposterior(draw, hyperprior, rng, draws=1500, topic_draws=2000)
        assert found.pareto_k < 0.7
        runs.append(quantities(found.points, found.pick(rng)))
    return np.array(runs)


def apart(hyperprior):
    """Return the distance of the engine's draws from NUTS's, in standard errors."""
    return np.abs(from_runs(engine(hyperprior), stored("population of log-odds"))).max()


@pytest.mark.slow
def test_the_posterior_is_that_of_nuts():
    assert apart(HYPERPRIOR) < LIMIT


@pytest.mark.slow
@pytest.mark.parametrize(
    "halved", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2, 3))]
)
def test_another_hyperprior_is_rejected(halved):
    scale = [s / 2 if k == halved else s for k, s in enumerate(HYPERPRIOR.scale)]
    assert apart(replace(HYPERPRIOR, scale=tuple(scale))) > LIMIT

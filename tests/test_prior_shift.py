"""The prior of unlabelled documents: maximum likelihood and posterior against brute force."""

import numpy as np
import pytest
from scipy import special, stats

from bayescal import ScoreCalibrator
from bayescal.metrics import log_loss
from bayescal.monitoring import estimate_prior
from bayescal.monitoring.prior_shift import MOST_SCORES, posterior_of

POSITIVE, NEGATIVE = stats.norm(1, 1), stats.norm(-1, 1)


def scores_of(rng, n, prior):
    positive = rng.random(n) < prior
    return np.where(positive, POSITIVE.rvs(n, rng), NEGATIVE.rvs(n, rng)), positive


def prior_posterior(ratio, a=1.0, b=1.0, rng=None, counts=None):
    counts = np.ones(ratio.shape[1]) if counts is None else counts
    return posterior_of(ratio, counts, a, b, 0.9, rng)


def log_ratio(scores):
    return POSITIVE.logpdf(scores) - NEGATIVE.logpdf(scores)


def test_infinite_log_ratios_meet_draws_that_round_to_1():
    posterior = prior_posterior(np.full((5, 2), 37.0), a=50.0, b=1e-3, rng=0)
    assert (posterior.draws == 1.0).any()
    found = posterior.probabilities(np.tile([-np.inf, np.inf], (5, 1)))
    assert ((found >= 0.0) & (found <= 1.0)).all()


def levels_on_a_fine_grid(draws, ratio, shape):
    """Return where draws lie in the distribution of the prior: uniform if they are right."""
    logit = np.linspace(-30, 10, 40_001)
    log_density = shape[0] * special.log_expit(logit) + shape[1] * special.log_expit(-logit)
    for r in ratio:
        log_density += np.logaddexp(logit + r, 0) - np.logaddexp(logit, 0)
    cdf = np.cumsum(np.exp(log_density - log_density.max()))
    return np.interp(special.logit(draws), logit, cdf / cdf[-1])


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(1.0, 1.0), (0.5, 4.0)])
@pytest.mark.parametrize(("n", "true"), [(30, 0.2), (30, 0.0), (2000, 0.05)])
def test_posterior_is_that_of_a_fine_grid(n, true, shape):
    scores, _ = scores_of(np.random.default_rng(n), n, true)
    ratio = log_ratio(scores)
    draws = 3000 if n == 30 else 500
    found = prior_posterior(np.tile(ratio, (draws, 1)), a=shape[0], b=shape[1], rng=0)
    uniform = levels_on_a_fine_grid(found.draws, ratio, shape)
    assert stats.kstest(uniform, "uniform").pvalue > 0.001
    # The test distinguishes a neighbouring prior.
    if n == 30:
        wrong = prior_posterior(np.tile(ratio, (draws, 1)), a=shape[0] + 1, b=shape[1], rng=0)
        uniform = levels_on_a_fine_grid(wrong.draws, ratio, shape)
        assert stats.kstest(uniform, "uniform").pvalue < 0.001


def test_posterior_of_many_scores_that_say_little_each():
    # Nearly all of one class: Newton's steps alone would leave the density's one mode behind.
    ratio = np.repeat([0.5, -0.5], [300, 10])
    found = prior_posterior(np.tile(ratio, (500, 1)), rng=0)
    uniform = levels_on_a_fine_grid(found.draws, ratio, (1.0, 1.0))
    assert stats.kstest(uniform, "uniform").pvalue > 0.001


def ranks(shift):
    """Return the ranks of true priors among draws, densities uncertain; shift makes them wrong."""
    rng = np.random.default_rng(7)
    out = []
    for _ in range(300):
        prior, mean = rng.random(), rng.normal(1, 0.1)
        scores = rng.normal(np.where(rng.random(50) < prior, mean, -1), 1)
        means = rng.normal(1, 0.1, (99, 1))
        ratio = stats.norm(means, 1).logpdf(scores) - NEGATIVE.logpdf(scores) + shift
        out.append(np.sum(prior_posterior(ratio, rng=rng).draws < prior))
    return np.array(out)


@pytest.mark.slow
@pytest.mark.parametrize(("shift", "right"), [(0.0, True), (1.0, False)])
def test_true_priors_are_spread_evenly_among_draws(shift, right):
    counts = np.bincount(ranks(shift) // 10, minlength=10)
    assert (stats.chisquare(counts).pvalue > 0.001) == right


def test_posterior_weights_are_repetitions():
    scores, _ = scores_of(np.random.default_rng(3), 60, 0.3)
    weight = np.arange(60) % 3
    ratio = np.tile(log_ratio(scores), (50, 1))
    one = prior_posterior(ratio, counts=weight, rng=1)
    two = prior_posterior(np.repeat(ratio, weight, axis=1), rng=1)
    assert one.draws == pytest.approx(two.draws)


@pytest.mark.slow
def test_groups_of_neighbours_stand_for_their_scores():
    rng = np.random.default_rng(4)
    scores, labels = scores_of(rng, 300, 0.4)
    calibrator = ScoreCalibrator("gaussian", random_state=0).fit(scores, labels)
    new, _ = scores_of(rng, 3 * MOST_SCORES, 0.1)
    found = estimate_prior(calibrator, new, draws=50, random_state=1)
    p = calibrator.sample_proba(new, prior=0.5)
    every = p[np.linspace(0, len(p) - 1, 50).astype(int)]
    whole = prior_posterior(special.logit(every), rng=1)
    assert found.draws == pytest.approx(whole.draws, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["auto", "gaussian"])
def test_a_shifted_collection_is_predicted_better(family):
    rng = np.random.default_rng(5)
    scores, labels = scores_of(rng, 400, 0.5)
    calibrator = ScoreCalibrator(family, random_state=0).fit(scores, labels)
    new, truth = scores_of(rng, 3000, 0.05)
    found = estimate_prior(calibrator, new, random_state=1)
    assert found.lower < 0.05 < found.upper < 0.15
    p = calibrator.predict_proba(new, prior=found.draws)[:, 1]
    before = log_loss(truth, calibrator.predict_proba(new)[:, 1])
    known = log_loss(truth, calibrator.predict_proba(new, prior=0.05)[:, 1])
    assert log_loss(truth, p) < 0.7 * before
    assert log_loss(truth, p) == pytest.approx(known, abs=0.01)
    band = calibrator.predict_interval(new[:50], prior=found.draws)
    fixed = calibrator.predict_interval(new[:50], prior=found.value)
    assert np.mean(np.diff(band)) > np.mean(np.diff(fixed))  # the prior's own uncertainty
    # Draws with their own priors have the same mean as the probabilities.
    size = found.draws.size
    drawn = calibrator.sample_proba(new[:50], prior=0.5)
    own = drawn[np.linspace(0, len(drawn) - 1, size).astype(int)]
    mean = found.probabilities(special.logit(own)).mean(axis=0)
    assert mean == pytest.approx(p[:50], abs=0.05)


def test_a_prior_states_its_assumption():
    found = posterior_of(np.zeros((5, 20)), np.ones(20), 1.0, 1.0, 0.9, 0)
    words = " if only the shares of the classes changed, not the case mix: foresee compares the two"
    assert str(found).endswith(words)
    assert f"{found:.0%}".endswith(words)


def test_refuses():
    fitted = ScoreCalibrator(inference="mle").fit([0, 1, 2, 3.0], [0, 1, 0, 1])
    with pytest.raises(ValueError, match="needs a posterior"):
        estimate_prior(fitted, [1.0, 2.0])
    with pytest.raises(ValueError, match="a must be positive"):
        estimate_prior(fitted, [1.0, 2.0], a=0)

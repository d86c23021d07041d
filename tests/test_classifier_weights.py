"""Draws of classifiers' weights: held to NUTS, to sums over grids, and to what they must not do."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import special, stats

from bayescal.combining.combiners import bayes
from bayescal.fitting.engines.classifier_weights import engine
from bayescal.fitting.engines.classifier_weights.engine import draw_weights, fit_modes, follow
from bayescal.fitting.engines.classifier_weights.model import Design, WeightHyperparameters
from bayescal.fitting.results.diagnostics import ConvergenceWarning
from tests.nuts_reference import LIMIT, from_independent, stored
from tests.weights_cases import CENTRE, NAMES, case

DRAWS = 8000


@cache
def fitted(name, prior=None):
    """Return the engine's draws for a case."""
    nodes = fit_modes(case(name).designs(), CENTRE, prior or WeightHyperparameters())
    return draw_weights(nodes, DRAWS, np.random.default_rng(5))


def apart(name, prior=None):
    """Return the distance of the engine from NUTS in standard errors: (statistic, quantity)."""
    found = fitted(name, prior)
    draws = np.concatenate([each.draws for each in found], axis=1)
    size = min(DRAWS, *(each.effective for each in found))
    return from_independent(draws, stored(f"classifier_weights, {name}"), size)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_draws_are_from_the_posterior(name):
    assert np.abs(apart(name)).max() < LIMIT


@pytest.mark.one_era
@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("one problem", {"bias_scale": 0.8}),
        ("one problem", {"scale": 0.3}),
        ("one problem", {"population_scale": 0.3}),
        ("three problems", {"log_scale_sd": 0.1}),
        ("indicators", {"shift_scale": 0.03}),
        ("indicators", {"log_shift_sd": 0.5}),
    ],
)
def test_another_prior_is_rejected(name, wrong):
    assert np.abs(apart(name, WeightHyperparameters(**wrong))).max() > LIMIT


@pytest.mark.one_era
class TestFewDocuments:
    """Four problems of six documents and one classifier: sums over grids know the posterior."""

    EVIDENCE = np.outer([1.0, 0.5, 2.0, 1.0], [-2.0, -1.2, -0.5, 0.3, 0.6, 1.5])
    POSITIVE = np.array(
        [[0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1], [0, 0, 1, 0, 1, 1], [0] * 4 + [1] * 2]
    )
    # A bias near 0 leaves one coefficient to each problem.
    PRIOR = WeightHyperparameters(
        bias_scale=1e-3, population_scale=1.5, scale=1.0, log_scale_sd=0.5
    )

    def exact(self):
        """Return the posterior mean of each weight, by sums over mu, tau and the weight."""
        mu, z, w = np.linspace(-5.5, 7.5, 141), np.linspace(-4, 4, 61), np.linspace(-12, 25, 1001)
        log_p = stats.norm(1.0, 1.5).logpdf(mu)[:, None] + stats.norm.logpdf(z)
        prior = stats.norm.pdf(w, mu[:, None, None], np.exp(0.5 * z)[:, None])
        means = []
        for evidence, positive in zip(self.EVIDENCE, self.POSITIVE, strict=True):
            sign = np.where(positive, 1, -1)
            joint = prior * np.exp(special.log_expit(sign * np.outer(w, evidence)).sum(axis=1))
            log_p += np.log(joint.sum(axis=2))
            means.append(joint @ w / joint.sum(axis=2))
        share = special.softmax(log_p)
        return np.array([(share * mean).sum() for mean in means])

    def errors(self):
        """Return the distance of the engine's means from those, in standard errors."""
        designs = [
            Design(np.c_[np.ones(6), evidence], 0.0, positive == 1, np.ones(6))
            for evidence, positive in zip(self.EVIDENCE, self.POSITIVE, strict=True)
        ]
        nodes = fit_modes(designs, np.array([1.0]), self.PRIOR)
        found = draw_weights(nodes, DRAWS, np.random.default_rng(0))
        means = np.array([each.draws[:, 1].mean() for each in found])
        sds = np.array([each.draws[:, 1].std() for each in found])
        size = np.array([min(DRAWS, each.effective) for each in found])
        return np.abs(means - self.exact()) / sds * np.sqrt(size)

    @pytest.mark.slow
    def test_draws_have_the_exact_means(self):
        assert self.errors().max() < 3.5

    def test_laplace_of_the_other_problems_is_not_enough(self, monkeypatch):
        monkeypatch.setattr(engine, "log_mean", lambda columns, log_ratio: np.zeros(len(log_ratio)))
        assert self.errors().min() > LIMIT


@pytest.mark.one_era
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_weights_of_proposals_are_even(name):
    for each in fitted(name):
        assert each.pareto_k < 0.5
        assert each.efficiency > 0.35
        assert each.effective > 0.5 * DRAWS


@pytest.mark.one_era
@pytest.mark.slow
def test_a_hundred_problems_leave_the_weights_even():
    rng = np.random.default_rng(0)
    designs = []
    for _ in range(100):
        evidence = 1.5 * rng.standard_normal((60, 1)) + rng.standard_normal((60, 2))
        positive = rng.random(60) < special.expit(evidence @ [0.8, 0.2] - 2.0)
        designs.append(Design(np.c_[np.ones(60), evidence], -2.0, positive, np.ones(60)))
    found = draw_weights(
        fit_modes(designs, np.array([0.5, 0.5]), WeightHyperparameters()), 500, rng
    )
    assert max(each.pareto_k for each in found) < 0.6
    assert min(each.effective for each in found) > 450
    # All borrow from each other: what is known of the population's weights is known of each.
    means = np.array([each.draws.mean(axis=0) for each in found])
    assert means[:, 1:].mean(axis=0) == pytest.approx([0.8, 0.2], abs=0.12)


def test_uneven_weights_are_not_trusted():
    found = fitted("one problem")[0]
    assert found.trusted
    assert not replace(found, pareto_k=0.9).trusted
    with pytest.warns(ConvergenceWarning, match=r"weights are uneven \(Pareto k 0.90\)"):
        bayes.warn_of_weights([found, replace(found, pareto_k=0.9)])


def test_the_mode_follows_other_evidence_to_where_labels_have_it():
    """Evidence that is off by a constant and a factor changes no log-odds where priors are wide."""
    wide = WeightHyperparameters(
        bias_scale=50.0, population_scale=50.0, scale=50.0, log_scale_sd=0.01
    )
    design = case("three problems").designs()[2]
    found = draw_weights(fit_modes([design], CENTRE, wide), 100, np.random.default_rng(0))[0]
    evidence = design.columns[:, 1:]
    moved = found.point + follow(found, design, 2.0 * evidence + 1.0)
    np.testing.assert_allclose(
        moved[0] + (2.0 * evidence + 1.0) @ moved[1:], design.columns @ found.point, atol=0.02
    )


def test_no_move_without_other_evidence():
    design = case("indicators").designs()[1]
    found = fitted("indicators")[1]
    np.testing.assert_allclose(follow(found, design, design.columns[:, 1:4]), 0.0, atol=1e-8)

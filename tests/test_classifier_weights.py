"""The engine of weights: held to NUTS, to a general optimiser, and to what it must not do."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

from bayescal.combining.combiners import bayes
from bayescal.engines.classifier_weights.design import Design
from bayescal.engines.classifier_weights.engine import draw_weights, fit_modes, follow
from bayescal.engines.classifier_weights.mode import Population, find_mode
from bayescal.engines.classifier_weights.prior import Scales, WeightsPrior, centre_of_weights
from bayescal.results.diagnostics import ConvergenceWarning
from tests.nuts_reference import LEAST_EFFECTIVE, LEVELS, LIMIT, from_independent, stored
from tests.weights_cases import CENTRE, NAMES, case

DRAWS = 8000
# What Laplace's approximation of other problems and of the scales may cost, in posterior standard
# deviations of a mean, and in probability at a quantile.
MOST_SDS, MOST_PROBABILITY = 0.1, 0.05


def fitted(name, prior=None):
    """Return what the engine says of a case."""
    nodes = fit_modes(case(name).designs(), CENTRE, prior or WeightsPrior())
    return draw_weights(nodes, DRAWS, np.random.default_rng(5))


def all_draws(found):
    return np.concatenate([each.draws for each in found], axis=1)


def apart(name, prior=None):
    """Return how many standard errors the engine is from NUTS: (statistic, quantity)."""
    found = fitted(name, prior)
    # As many independent draws as the proposals' weights are worth, of two for each draw.
    size = DRAWS * min(1.0, 2.0 * min(each.efficiency for each in found))
    return from_independent(all_draws(found), stored(f"classifier_weights, {name}"), size)


def distances(name, prior=None):
    """Return the largest distances from NUTS: of means in sds, of quantiles in probability."""
    draws, reference = all_draws(fitted(name, prior)), stored(f"classifier_weights, {name}")
    means = np.abs(draws.mean(axis=0) - reference.mean) / np.sqrt(reference.square)
    below = np.array([(draws < quantile).mean(axis=0) for quantile in reference.quantile])
    return means.max(), np.abs(below - np.array(LEVELS)[:, None]).max()


def test_one_problem_is_drawn_from_its_posterior():
    assert stored("classifier_weights, one problem").effective > LEAST_EFFECTIVE
    assert np.abs(apart("one problem")).max() < LIMIT


@pytest.mark.parametrize("wrong", [{"bias_scale": 0.8}, {"scale": 0.3}, {"population_scale": 0.3}])
def test_another_prior_is_rejected(wrong):
    assert np.abs(apart("one problem", WeightsPrior(**wrong))).max() > LIMIT


@pytest.mark.parametrize("name", NAMES)
def test_several_problems_and_indicators_are_as_near_as_laplace_allows(name):
    of_mean, of_quantile = distances(name)
    assert of_mean < MOST_SDS
    assert of_quantile < MOST_PROBABILITY


@pytest.mark.parametrize("wrong", [{"shift_scale": 0.03}, {"scale": 0.4}])
def test_another_prior_is_farther_away(wrong):
    of_mean, of_quantile = distances("indicators", WeightsPrior(**wrong))
    assert of_mean > MOST_SDS
    assert of_quantile > MOST_PROBABILITY


@pytest.mark.parametrize("name", NAMES)
def test_weights_of_proposals_are_even(name):
    for each in fitted(name):
        assert each.pareto_k < 0.5
        assert each.efficiency > 0.4


def test_uneven_weights_are_not_trusted():
    found = fitted("one problem")[0]
    assert found.trusted
    assert not replace(found, pareto_k=0.9).trusted
    with pytest.warns(ConvergenceWarning, match=r"weights are uneven \(Pareto k 0.90\)"):
        bayes._warn_of_draws([found, replace(found, pareto_k=0.9)])


def joint(name, scales=None):
    return Population(case(name).designs(), CENTRE, WeightsPrior(), scales or Scales(0.2, 0.3, 0.0))


@pytest.mark.parametrize("name", NAMES)
def test_the_joint_mode_is_a_general_optimisers(name):
    model = joint(name)
    sizes = [CENTRE.size, *(design.size for design in model.designs)]

    def against(x):
        mu, *points = np.split(x, np.cumsum(sizes)[:-1])
        return -model.value(mu, points)

    best = optimize.minimize(against, np.zeros(sum(sizes)), method="BFGS", options={"gtol": 1e-6})
    found = find_mode(model)
    np.testing.assert_allclose(np.concatenate([found.mu, *found.points]), best.x, atol=1e-4)


def test_the_evidence_is_the_integral_of_one_coefficient():
    """Two classifiers that say nothing: the evidence is an integral over the bias alone."""
    rng = np.random.default_rng(0)
    positive = np.arange(12) < 3
    design = Design(np.c_[np.ones(12), np.zeros((12, 2))], -1.0, positive, np.ones(12))
    model = Population([design], np.full(2, 0.5), WeightsPrior(), Scales(0.2, 1.0, 0.0))

    def density(b):
        log_odds = np.where(positive, 1.0, -1.0) * (b - 1.0)
        return stats.norm.pdf(b, scale=0.5) * np.exp(special.log_expit(log_odds).sum())

    exact = np.log(integrate.quad(density, -5, 5)[0])
    assert find_mode(model).log_evidence == pytest.approx(exact, abs=0.01)
    # Coefficients that the labels know nothing of keep their prior.
    found = draw_weights(fit_modes([design], np.full(2, 0.5), WeightsPrior()), 4000, rng)[0]
    assert found.draws[:, 1:].mean(axis=0) == pytest.approx(0.5, abs=0.02)


def test_derivatives_are_those_of_the_log_likelihood():
    design = case("indicators").designs()[0]
    point = np.linspace(-0.5, 0.7, design.size)
    gradient = optimize.approx_fprime(point, lambda x: design.log_likelihood(x[None])[0], 1e-6)
    np.testing.assert_allclose(design.gradient(point), gradient, atol=1e-3)
    hessian = optimize.approx_fprime(point, design.gradient, 1e-6)
    np.testing.assert_allclose(design.information(point), -hessian, atol=1e-3)


def test_a_weight_is_a_number_of_repetitions():
    design = case("one problem").designs()[0]
    weight = np.random.default_rng(0).integers(0, 3, design.positive.size)
    weighted = Design(design.columns, design.offset, design.positive, weight.astype(float))
    rows = np.repeat(np.arange(weight.size), weight)
    repeated = Design(
        design.columns[rows], design.offset, design.positive[rows], np.ones(rows.size)
    )
    one, other = (
        fit_modes([each], CENTRE, WeightsPrior()).points[0] for each in (weighted, repeated)
    )
    np.testing.assert_allclose(one, other, atol=1e-8)


def test_the_mode_follows_other_evidence_to_where_labels_have_it():
    """Evidence that is off by a constant and a factor changes no log-odds where priors are wide."""
    wide = WeightsPrior(bias_scale=50.0, population_scale=50.0, scale=50.0, log_scale_sd=0.01)
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


class TestCentre:
    def test_ties_are_shared_and_the_best_of_many_has_all(self):
        rng = np.random.default_rng(0)
        equal = np.log(np.full((3, 30), 0.7))
        assert centre_of_weights(equal, np.ones(30), rng) == pytest.approx(np.full(3, 1 / 3))
        better = np.log([[0.8] * 300, [0.6] * 300])
        assert centre_of_weights(better, np.ones(300), rng)[0] > 0.999

    def test_few_documents_know_little(self):
        rng = np.random.default_rng(0)
        # One is better on two documents and worse on one.
        scores = np.log([[0.8, 0.8, 0.4], [0.6, 0.6, 0.6]])
        assert 0.4 < centre_of_weights(scores, np.ones(3), rng)[0] < 0.7

    def test_weights_count_documents(self):
        scores = np.log([[0.9, 0.1], [0.5, 0.5]])
        for weight, better in (([40.0, 0.0], True), ([0.0, 40.0], False)):
            found = centre_of_weights(scores, np.array(weight), np.random.default_rng(0))
            assert (found[0] > 0.99) == better


def test_scales_must_be_positive():
    with pytest.raises(ValueError, match="bias_scale must be positive"):
        WeightsPrior(bias_scale=0.0)

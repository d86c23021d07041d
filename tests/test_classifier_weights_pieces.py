"""Pieces of the engine of weights: modes, a grid, corrections, the centre of the prior."""

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

from bayescal.fitting.engines.classifier_weights.engine import (
    draw_weights,
    features,
    fit_modes,
    log_mean,
)
from bayescal.fitting.engines.classifier_weights.model import (
    Design,
    Scales,
    WeightHyperparameters,
    WeightsPopulation,
    centre_of_weights,
    find_mode,
)
from bayescal.inference.grid import GridPoint, resolve
from tests.weights_cases import CENTRE, NAMES, case


def joint(name, scales=None):
    return WeightsPopulation(
        case(name).designs(), CENTRE, WeightHyperparameters(), scales or Scales(0.2, 0.3, 0.0)
    )


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
    model = WeightsPopulation(
        [design], np.full(2, 0.5), WeightHyperparameters(), Scales(0.2, 1.0, 0.0)
    )

    def density(b):
        log_odds = np.where(positive, 1.0, -1.0) * (b - 1.0)
        return stats.norm.pdf(b, scale=0.5) * np.exp(special.log_expit(log_odds).sum())

    exact = np.log(integrate.quad(density, -5, 5)[0])
    assert find_mode(model).log_evidence == pytest.approx(exact, abs=0.01)
    # Coefficients that the labels know nothing of keep their prior.
    found = draw_weights(fit_modes([design], np.full(2, 0.5), WeightHyperparameters()), 4000, rng)[
        0
    ]
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
        fit_modes([each], CENTRE, WeightHyperparameters()).points[0]
        for each in (weighted, repeated)
    )
    np.testing.assert_allclose(one, other, atol=1e-8)


class TestGrid:
    @pytest.mark.parametrize("sd", [(0.02,), (0.5,), (0.02, 0.6), (0.3, 0.05, 0.4)])
    def test_it_resolves_gaussians_of_any_width(self, sd):
        sd = np.array(sd)
        centre = np.linspace(0.31, -0.2, sd.size)
        asked = []

        def evaluate(at, near):
            asked.append(at)
            return GridPoint(-0.5 * float((((at - centre) / sd) ** 2).sum()) - 7.0, at)

        places = resolve(evaluate, sd.size)
        share = special.softmax([place.log_mass for place in places])
        at = np.array([place.estimate for place in places])
        np.testing.assert_allclose(share @ at, centre, atol=0.02 * sd.max())
        np.testing.assert_allclose(np.sqrt(share @ (at - centre) ** 2), sd, rtol=0.05)
        assert len(asked) < 800

    def test_neighbours_start_from_what_was_found_beside_them(self):
        def evaluate(at, near):
            assert near is None or np.abs(near - at).max() <= 1.0 + 1e-9
            return GridPoint(-0.5 * float(at @ at), at)

        assert len(resolve(evaluate, 2)) > 9

    def test_prior_ends_are_never_left(self):
        places = resolve(lambda at, _: GridPoint(2.0 * at[0], at[0]), 1)
        assert max(place.estimate for place in places) == 3.0


class TestCorrections:
    def test_means_are_those_that_made_the_ratios(self):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(4000, 2))
        truth = 0.3 + 0.5 * x[:, 0] - 0.1 * x[:, 1] ** 2
        noise = rng.normal(0.0, 0.8, 4000)  # a lognormal factor of mean 1, less half its variance
        found = log_mean(features(x), truth + noise - 0.32)
        assert np.abs(found - truth)[np.abs(x).max(axis=1) < 2].max() < 0.15
        # The mean of the logs is another number.
        assert np.mean(truth + noise - 0.32) < found.mean() - 0.2

    def test_scales_of_ratios_do_not_matter(self):
        x = np.random.default_rng(0).normal(size=(50, 1))
        ratio = 0.3 * x[:, 0]
        np.testing.assert_allclose(
            log_mean(features(x), ratio + 800.0), log_mean(features(x), ratio) + 800.0
        )

    def test_what_never_varies_says_nothing(self):
        assert features(np.ones((5, 3))).shape == (5, 1)
        assert features(np.array([[0.0], [1.0], [0.0], [1.0]])).shape == (4, 2)


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
        WeightHyperparameters(bias_scale=0.0)


def test_the_mean_of_a_skew_posterior_is_foreseen():
    """One classifier, few documents: the exact mean is nearer to the corrected mode."""
    evidence = np.array([0.5, 1.0, 1.5, 2.0])
    design = Design(evidence[:, None], -1.0, np.ones(4, dtype=bool), np.ones(4))
    w = np.linspace(-10.0, 14.0, 40001)
    log_p = stats.norm(0.5, 1.0).logpdf(w) + design.log_likelihood(w[:, None])
    mode = w[log_p.argmax()]
    covariance = 1.0 / (design.information(np.array([mode])) + 1.0)
    mean = special.softmax(log_p) @ w
    foreseen = mode + design.mean_from_mode(np.array([mode]), covariance)[0]
    assert mean - mode > 0.05
    assert abs(foreseen - mean) < 0.2 * (mean - mode)

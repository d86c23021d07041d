"""The engine of weights: held to NUTS, to a general optimiser, and to what it must not do."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

from bayescal.combining.combiners import bayes
from bayescal.engines.classifier_weights import engine
from bayescal.engines.classifier_weights.corrections import features, log_mean
from bayescal.engines.classifier_weights.design import Design, interactions
from bayescal.engines.classifier_weights.engine import draw_weights, fit_modes, follow
from bayescal.engines.classifier_weights.grid import Place, resolve
from bayescal.engines.classifier_weights.mode import Population, find_mode
from bayescal.engines.classifier_weights.prior import Scales, WeightsPrior, centre_of_weights
from bayescal.results.diagnostics import ConvergenceWarning
from tests.nuts_reference import LEAST_EFFECTIVE, LIMIT, from_independent, stored
from tests.weights_cases import CENTRE, NAMES, case

DRAWS = 8000


def fitted(name, prior=None):
    """Return what the engine says of a case."""
    nodes = fit_modes(case(name).designs(), CENTRE, prior or WeightsPrior())
    return draw_weights(nodes, DRAWS, np.random.default_rng(5))


def apart(name, prior=None):
    """Return how many standard errors the engine is from NUTS: (statistic, quantity)."""
    found = fitted(name, prior)
    draws = np.concatenate([each.draws for each in found], axis=1)
    size = min(DRAWS, *(each.effective for each in found))
    return from_independent(draws, stored(f"classifier_weights, {name}"), size)


@pytest.mark.parametrize("name", NAMES)
def test_draws_are_from_the_posterior(name):
    assert stored(f"classifier_weights, {name}").effective > LEAST_EFFECTIVE
    assert np.abs(apart(name)).max() < LIMIT


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("one problem", {"bias_scale": 0.8}),
        ("one problem", {"scale": 0.3}),
        ("one problem", {"population_scale": 0.3}),
        ("three problems", {"log_scale_sd": 0.1}),
        ("indicators", {"shift_scale": 0.03}),
        ("indicators", {"log_shift_sd": 0.5}),
        ("moderators", {"weight_shift_scale": 0.03}),
        ("moderators", {"log_weight_shift_sd": 0.3}),
    ],
)
def test_another_prior_is_rejected(name, wrong):
    assert np.abs(apart(name, WeightsPrior(**wrong))).max() > LIMIT


class TestFewDocuments:
    """Four problems of six documents and one classifier: sums over grids know the posterior."""

    EVIDENCE = np.outer([1.0, 0.5, 2.0, 1.0], [-2.0, -1.2, -0.5, 0.3, 0.6, 1.5])
    POSITIVE = np.array(
        [[0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1], [0, 0, 1, 0, 1, 1], [0] * 4 + [1] * 2]
    )
    # A bias of next to nothing leaves one coefficient to each problem.
    PRIOR = WeightsPrior(bias_scale=1e-3, population_scale=1.5, scale=1.0, log_scale_sd=0.5)

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
        """Return how many standard errors the engine's means are from those."""
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

    def test_draws_have_the_exact_means(self):
        assert self.errors().max() < 3.5

    def test_laplace_of_the_other_problems_is_not_enough(self, monkeypatch):
        monkeypatch.setattr(engine, "log_mean", lambda columns, log_ratio: np.zeros(len(log_ratio)))
        assert self.errors().min() > LIMIT


@pytest.mark.parametrize("name", NAMES)
def test_weights_of_proposals_are_even(name):
    for each in fitted(name):
        assert each.pareto_k < 0.5
        assert each.efficiency > 0.35
        assert each.effective > 0.5 * DRAWS


def test_a_hundred_problems_leave_the_weights_even():
    rng = np.random.default_rng(0)
    designs = []
    for _ in range(100):
        evidence = 1.5 * rng.standard_normal((60, 1)) + rng.standard_normal((60, 2))
        positive = rng.random(60) < special.expit(evidence @ [0.8, 0.2] - 2.0)
        designs.append(Design(np.c_[np.ones(60), evidence], -2.0, positive, np.ones(60)))
    found = draw_weights(fit_modes(designs, np.array([0.5, 0.5]), WeightsPrior()), 500, rng)
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


@pytest.mark.parametrize("name", ["indicators", "moderators"])
def test_derivatives_are_those_of_the_log_likelihood(name):
    design = case(name).designs()[0]
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


def test_the_mode_follows_the_evidence_that_moderators_multiply():
    """Evidence halved and coefficients doubled are the same log-odds where priors are wide."""
    wide = WeightsPrior(bias_scale=50.0, population_scale=50.0, scale=50.0, log_scale_sd=0.01)
    data, design = case("moderators"), case("moderators").designs()[0]
    found = draw_weights(fit_modes([design], CENTRE, wide), 100, np.random.default_rng(0))[0]
    own = data.problem == 0
    evidence, moderators = data.evidence[own], data.moderators[own]
    still = follow(found, design, evidence, interactions(evidence, moderators))
    np.testing.assert_allclose(still, 0.0, atol=1e-6)
    # Interactions stay: what they add does, and so the weights alone are doubled.
    moved = found.point + follow(found, design, 0.5 * evidence)
    np.testing.assert_allclose(moved[1:4], 2.0 * found.point[1:4], atol=0.02)
    # With them halved too the weights have to make up for them: a mode of its own.
    other = follow(found, design, 0.5 * evidence, interactions(0.5 * evidence, moderators))
    assert np.abs(other + found.point - moved).max() > 0.01


def test_interactions_shift_weights_by_moderators():
    rng = np.random.default_rng(0)
    evidence, moderators = rng.normal(size=(7, 3)), rng.normal(size=(7, 2))
    u = rng.normal(size=(3, 2))
    by_hand = [
        sum(e[i] * (u[i] @ z) for i in range(3)) for e, z in zip(evidence, moderators, strict=True)
    ]
    np.testing.assert_allclose(interactions(evidence, moderators) @ u.ravel(), by_hand)
    assert interactions(evidence, np.empty((7, 0))).shape == (7, 0)


class TestGrid:
    @pytest.mark.parametrize("sd", [(0.02,), (0.5,), (0.02, 0.6), (0.3, 0.05, 0.4)])
    def test_it_resolves_gaussians_of_any_width(self, sd):
        sd = np.array(sd)
        centre = np.linspace(0.31, -0.2, sd.size)
        asked = []

        def evaluate(at, near):
            asked.append(at)
            return Place(-0.5 * float((((at - centre) / sd) ** 2).sum()) - 7.0, at)

        places = resolve(evaluate, sd.size)
        share = special.softmax([place.log_mass for place in places])
        at = np.array([place.found for place in places])
        np.testing.assert_allclose(share @ at, centre, atol=0.02 * sd.max())
        np.testing.assert_allclose(np.sqrt(share @ (at - centre) ** 2), sd, rtol=0.05)
        assert len(asked) < 800

    def test_neighbours_start_from_what_was_found_beside_them(self):
        def evaluate(at, near):
            assert near is None or np.abs(near - at).max() <= 1.0 + 1e-9
            return Place(-0.5 * float(at @ at), at)

        assert len(resolve(evaluate, 2)) > 9

    def test_prior_ends_are_never_left(self):
        places = resolve(lambda at, _: Place(2.0 * at[0], at[0]), 1)
        assert max(place.found for place in places) == 3.0


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
        WeightsPrior(bias_scale=0.0)


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

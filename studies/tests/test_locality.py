"""Local quantities on constructions whose answers are known, and the dissertation's examples."""

import numpy as np
import pytest
from scipy import special, stats
from sklearn.linear_model import LinearRegression

from bayescal.metrics.scores import brier_score, log_loss
from bayescal.support.numerics import log_odds, probability
from studies.papers.locality import (
    covariance_with_truth,
    dependence,
    error_variance,
    forecasts,
    is_at_least_as_refined,
    is_sufficient,
    linear_correction,
    nearest_points,
    noise_sensitivity,
    reliability_deviance,
    stochastic_map,
)


class Gaussians:
    """Log-odds of one feature with Gaussian classes, of a share of positives of a half."""

    def __init__(self, negative, positive, prior=0.5):
        self.negative, self.positive = stats.norm(*negative), stats.norm(*positive)
        self.prior = prior

    def log_odds(self, x):
        return log_odds(self.prior, self.positive.logpdf(x), self.negative.logpdf(x))

    def draw(self, n, seed):
        rng = np.random.default_rng(seed)
        side = rng.random(n) < self.prior
        positive = self.positive.rvs(n, random_state=rng)
        return np.where(side, positive, self.negative.rvs(n, random_state=rng)), side


def by_variance(mean, variance):
    return mean, np.sqrt(variance)


# Section 4.4's examples: true and estimated classes, as printed; the second number is a variance.
EQUAL = Gaussians(by_variance(-0.4854, 1.6068), by_variance(0.3306, 1.6068))
BY_LDA = Gaussians(by_variance(-0.2375, 1.7941), by_variance(0.5184, 1.7941), 0.4804)
UNEQUAL = Gaussians(by_variance(-1.0912, 2.3114), by_variance(1.4935, 2.0829))
BY_QDA = Gaussians(by_variance(-1.1280, 2.1314), by_variance(1.5791, 2.8136), 0.5)


class TestLinearCorrection:
    def test_is_least_squares(self):
        rng = np.random.default_rng(0)
        truth = rng.normal(0.0, 2.0, 200)
        estimate = 0.4 * truth + rng.normal(1.0, 1.0, 200)
        line = LinearRegression().fit(estimate[:, None], truth)
        found = linear_correction(estimate, truth)
        assert float(found.slope) == pytest.approx(line.coef_[0], rel=1e-10)
        assert float(found.intercept) == pytest.approx(line.intercept_, rel=1e-10)
        rest = truth - line.predict(estimate[:, None])
        assert float(found.residual_variance) == pytest.approx(np.mean(rest**2), rel=1e-9)
        assert found.correct(estimate) == pytest.approx(line.predict(estimate[:, None]))

    def test_published_quadratic_example(self):
        x, _ = UNEQUAL.draw(200_000, 1)
        found = linear_correction(BY_QDA.log_odds(x), UNEQUAL.log_odds(x))
        assert float(found.slope) == pytest.approx(1.0430, abs=0.01)
        assert float(found.intercept) == pytest.approx(-0.2412, abs=0.02)

    def test_published_linear_example_is_the_other_regression(self):
        """The text prints a = .8295, b = .1296; its parameters give another line."""
        x, _ = EQUAL.draw(2000, 1)
        estimate, truth = BY_LDA.log_odds(x), EQUAL.log_odds(x)
        found = linear_correction(estimate, truth)
        assert float(found.slope) == pytest.approx(1.205, abs=1e-3)
        assert float(found.intercept) == pytest.approx(0.205, abs=1e-3)
        assert float(found.residual_variance) == pytest.approx(0.0, abs=1e-12)
        turned = linear_correction(truth, estimate)
        assert float(turned.slope) == pytest.approx(0.8295, abs=1e-3)

    def test_one_line_suffices_where_both_are_straight_and_only_there(self):
        for true, estimated, suffices in ((EQUAL, BY_LDA, True), (UNEQUAL, BY_QDA, False)):
            x, _ = true.draw(4000, 2)
            estimate, truth = estimated.log_odds(x), true.log_odds(x)
            new = true.draw(300, 3)[0]
            rows = nearest_points(x, new, 40)
            local = linear_correction(estimate[rows], truth[rows])
            whole = linear_correction(estimate, truth)
            error, of_whole = (
                np.mean((line.correct(estimated.log_odds(new)) - true.log_odds(new)) ** 2)
                for line in (local, whole)
            )
            assert (of_whole < 1e-6) == suffices
            assert error < 1e-3
            if not suffices:
                assert error < of_whole / 20.0

    def test_neighbourhoods_of_equal_estimates_calibrate(self):
        """A bent estimate: its mean error is 0 around each value only if corrected there."""
        x, _ = UNEQUAL.draw(20_000, 4)
        truth = UNEQUAL.log_odds(x)
        estimate = np.sign(truth) * np.abs(truth) ** 1.7
        at = np.quantile(estimate, [0.1, 0.5, 0.9])
        rows = nearest_points(estimate, at, 200)
        local = linear_correction(estimate[rows], truth[rows]).correct(at)
        whole = linear_correction(estimate, truth).correct(at)
        exact = np.sign(at) * np.abs(at) ** (1.0 / 1.7)
        assert local == pytest.approx(exact, abs=0.02)
        assert np.abs(whole - exact).max() > 0.2

    def test_equal_estimates_are_corrected_to_the_mean(self):
        found = linear_correction([1.0, 1.0, 1.0], [0.0, 1.0, 5.0])
        assert float(found.slope) == 0.0
        assert float(found.correct(1.0)) == pytest.approx(2.0)


class TestQuantities:
    """Estimate = 2 truth + 1 + noise: every quantity has a closed form."""

    N = 200_000
    RNG = np.random.default_rng(5)
    TRUTH = RNG.normal(0.5, 1.5, N)
    ESTIMATE = 2.0 * TRUTH + 1.0 + RNG.normal(0.0, 0.5, N)

    @pytest.mark.parametrize(
        ("found", "expected"),
        [
            (reliability_deviance(ESTIMATE, TRUTH), (0.5 - 2.0) ** 2),
            (error_variance(ESTIMATE, TRUTH), 1.5**2 + 0.5**2),
            (noise_sensitivity(ESTIMATE), 4.0 * 1.5**2 + 0.5**2),
            (noise_sensitivity(ESTIMATE, at=5.0), 4.0 * 1.5**2 + 0.5**2 + 9.0),
            (covariance_with_truth(ESTIMATE, TRUTH), 2.0 * 1.5**2),
        ],
    )
    def test_closed_forms(self, found, expected):
        assert float(found) == pytest.approx(expected, rel=0.02)

    def test_identity_of_variances(self):
        both = noise_sensitivity(self.ESTIMATE) + noise_sensitivity(self.TRUTH)
        shared = covariance_with_truth(self.ESTIMATE, self.TRUTH)
        expected = both - 2.0 * shared
        assert float(error_variance(self.ESTIMATE, self.TRUTH)) == pytest.approx(expected)

    def test_are_local_along_the_last_axis(self):
        rows = nearest_points(self.TRUTH[:500], [0.0, 1.0], 30)
        for k in range(2):
            alone = error_variance(self.ESTIMATE[rows[k]], self.TRUTH[rows[k]])
            together = error_variance(self.ESTIMATE[rows], self.TRUTH[rows])
            assert float(alone) == together[k]
            at = noise_sensitivity(self.ESTIMATE[rows], at=self.ESTIMATE[rows[:, 0]])
            expected = np.mean((self.ESTIMATE[rows[k]] - self.ESTIMATE[rows[k, 0]]) ** 2)
            assert at[k] == pytest.approx(expected)

    def test_of_labels_in_place_of_probabilities(self):
        """The mean error is the same; its variance is larger by E[P(1 - P)]."""
        x, labels = EQUAL.draw(self.N, 6)
        p, estimate = probability(EQUAL.log_odds(x)), probability(BY_LDA.log_odds(x))
        deviance = reliability_deviance(estimate, p)
        assert float(reliability_deviance(estimate, labels)) == pytest.approx(deviance, abs=3e-4)
        more = error_variance(estimate, labels) - error_variance(estimate, p)
        assert float(more) == pytest.approx(np.mean(p * (1 - p)), abs=2e-3)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (([0.0, 1.0], [0.0]), "the same shape, got .2,. and .1,."),
            (([], []), "at least one sample"),
            (([0.0, np.inf], [0.0, 1.0]), "must be finite: clip probabilities"),
        ],
    )
    def test_refuse(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            error_variance(*arguments)


class TestTwoViews:
    """Section 1.2: X1 ~ N(5c, 3), X2 ~ N(c, 1), independent given c in {-1, 1}, equally likely."""

    VIEWS = (Gaussians((-5.0, 3.0), (5.0, 3.0)), Gaussians((-1.0, 1.0), (1.0, 1.0)))

    @classmethod
    def draw(cls, n, sigma=1.0):
        rng = np.random.default_rng(7)
        c = np.where(rng.random(n) < 0.5, 1.0, -1.0)
        return c, np.stack([rng.normal(5.0 * c, 3.0), rng.normal(c, sigma)])

    def test_published_errors(self):
        c, x = self.draw(1_000_000)
        odds = np.stack([view.log_odds(each) for view, each in zip(self.VIEWS, x, strict=True)])
        errors = (np.sign(odds) != c).mean(axis=1)
        assert errors == pytest.approx([0.0478, 0.1587], abs=1e-3)
        # The sum of log-odds is the optimum, 2.597 %; the text prints 2.63.
        both = (np.sign(odds.sum(axis=0)) != c).mean()
        assert both == pytest.approx(stats.norm.cdf(-np.sqrt(34.0 / 9.0)), abs=6e-4)
        assert both == pytest.approx(0.02597, abs=6e-4)

    def test_predictions_alone_combine_to_the_better_one(self):
        """Equation 1.1: the weaker vote cannot overrule the stronger one."""
        c, x = self.draw(200_000)
        taken = np.sign(x)
        weights = [
            {
                side: np.log(
                    ((vote == side) & (c == side)).mean() / ((vote == side) & (c != side)).mean()
                )
                for side in (-1.0, 1.0)
            }
            for vote in taken
        ]
        total = sum(
            np.where(vote > 0, weight[1.0], -weight[-1.0])
            for vote, weight in zip(taken, weights, strict=True)
        )
        assert (np.sign(total) == taken[0]).all()

    @pytest.mark.parametrize(("sigma", "correlation"), [(1.0, 0.6174), (0.6, 0.8180)])
    def test_correlated_predictions_may_be_independent_given_the_class(self, sigma, correlation):
        c, x = self.draw(200_000, sigma)
        taken = np.sign(x)
        assert np.corrcoef(taken)[0, 1] == pytest.approx(correlation, abs=4e-3)
        assert dependence(taken, c) < 4e-5
        # The negative: of a classifier and its copy nothing is independent.
        assert dependence(taken[[0, 0]], c) > 0.1

    def test_dependence_is_the_divergence(self):
        """Return the divergence of a joint table given each class, by its definition."""
        rng = np.random.default_rng(8)
        labels = rng.integers(0, 2, 400)
        first = rng.integers(0, 3, 400)
        second = np.where(rng.random(400) < 0.3 + 0.4 * labels, first, rng.integers(0, 3, 400))
        expected = 0.0
        for label in (0, 1):
            members = labels == label
            joint = np.zeros((3, 3))
            np.add.at(joint, (first[members], second[members]), 1.0 / members.sum())
            product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
            expected += special.rel_entr(joint, product).sum()
        assert dependence([first, second], labels) == pytest.approx(expected)

    def test_refuses(self):
        with pytest.raises(ValueError, match=r"predictions must have shape \(classifiers, 3\)"):
            dependence([[0, 1]], [0, 1, 1])


# Table 3.1: eight points, equally likely, of classes that take turns.
LABELS = [1, 0, 1, 0, 1, 0, 1, 0]
FIRST = np.array([0.25, 0.25, 0.75, 0.25, 0.75, 0.25, 0.75, 0.75])
SECOND = np.array([0.75, 0.75, 0.75, 0.25, 0.75, 0.25, 0.25, 0.25])
AVERAGE = (FIRST + SECOND) / 2.0
PRODUCT = FIRST * SECOND / (FIRST * SECOND + (1.0 - FIRST) * (1.0 - SECOND))
OPTIMUM = np.array([0.5, 0.5, 1.0, 0.0, 1.0, 0.0, 0.5, 0.5])


class TestForecasts:
    @pytest.mark.parametrize(
        ("p", "calibrated", "squared", "log_score"),
        [
            (FIRST, True, 0.1875, -0.5623),
            (SECOND, True, 0.1875, -0.5623),
            (PRODUCT, False, 0.1300, -0.3993),  # printed as -.3933
            (AVERAGE, False, 0.1562, -0.4904),
            (OPTIMUM, True, 0.1250, -0.3466),
        ],
    )
    def test_published_table(self, p, calibrated, squared, log_score):
        assert forecasts(p, LABELS).is_calibrated() == calibrated
        assert brier_score(LABELS, p) == pytest.approx(squared, abs=1e-4)
        assert -log_loss(LABELS, p) == pytest.approx(log_score, abs=1e-4)

    def test_are_the_values_with_their_shares(self):
        rng = np.random.default_rng(9)
        p, labels = rng.integers(0, 6, 500) / 5.0, rng.random(500) < 0.4
        found = forecasts(p, labels)
        for value, frequency, share in zip(found.value, found.frequency, found.share, strict=True):
            assert frequency == pytest.approx((p == value).mean())
            assert share == pytest.approx(labels[p == value].mean())
        for row, label in enumerate((False, True)):
            expected = [(p[labels == label] == value).mean() for value in found.value]
            assert found.given_class[row] == pytest.approx(expected)

    def test_tolerate_noise(self):
        rng = np.random.default_rng(10)
        p = rng.integers(1, 10, 20_000) / 10.0
        found = forecasts(p, rng.random(20_000) < p)
        assert not found.is_calibrated()
        assert found.is_calibrated(0.05)

    @pytest.mark.parametrize(
        ("p", "labels", "message"),
        [
            ([0.5, 1.5], [0, 1], "probabilities must lie between 0 and 1"),
            ([0.5], [0, 1], "must have the same length, got 1 and 2"),
            ([0.5, 0.5], [1, 1], "only one class"),
        ],
    )
    def test_refuse(self, p, labels, message):
        with pytest.raises(ValueError, match=message):
            forecasts(p, labels)


class TestRefinement:
    def test_published_pair(self):
        """Prior .7: always .7, or .9 and .5 half of the time each. The latter tells more."""
        labels = np.r_[np.ones(9), 0, np.ones(5), np.zeros(5)]
        blunt = forecasts(np.full(20, 0.7), labels)
        sharp = forecasts(np.repeat([0.9, 0.5], 10), labels)
        assert is_at_least_as_refined(sharp, blunt)
        assert not is_at_least_as_refined(blunt, sharp)

    def test_the_table(self):
        first, second, optimum = (forecasts(p, LABELS) for p in (FIRST, SECOND, OPTIMUM))
        assert is_at_least_as_refined(first, second)
        assert is_at_least_as_refined(second, first)  # they emit the same values as often
        assert is_at_least_as_refined(optimum, first)
        assert not is_at_least_as_refined(first, optimum)
        # The most refined is always right.
        perfect = forecasts(np.array(LABELS, dtype=float), LABELS)
        assert is_at_least_as_refined(perfect, optimum)

    def test_is_a_partial_order(self):
        """One is sure of few, the other somewhat sure of all: neither refines the other."""
        labels, document = np.repeat([1, 0], 10), np.arange(20)
        of_few = np.full(20, 0.5)
        of_few[:2], of_few[-2:] = 1.0, 0.0
        somewhat = np.where((document < 7) | ((document >= 10) & (document < 13)), 0.7, 0.3)
        one, other = forecasts(of_few, labels), forecasts(somewhat, labels)
        assert not is_at_least_as_refined(one, other)
        assert not is_at_least_as_refined(other, one)

    def test_is_for_calibrated_forecasters(self):
        with pytest.raises(ValueError, match="refinement compares calibrated forecasters"):
            is_at_least_as_refined(forecasts(AVERAGE, LABELS), forecasts(FIRST, LABELS))


class TestSufficiency:
    def test_whatever_is_blurred_is_not_more(self):
        """Any stochastic function of forecasts: the original is sufficient, and calls it so."""
        rng = np.random.default_rng(11)
        source = rng.dirichlet(np.ones(4), 2)  # P(pi_i|c) of both classes
        h = rng.dirichlet(np.ones(3), 4)
        found, left = stochastic_map(source, source @ h)
        assert left == pytest.approx(0.0, abs=1e-9)
        assert source @ found == pytest.approx(source @ h, abs=1e-9)
        assert found.sum(axis=1) == pytest.approx(np.ones(4))
        assert found.min() >= 0.0
        _, other = stochastic_map(source @ h, source)
        assert other > 1e-3

    def test_does_not_ask_for_calibration(self):
        renamed = forecasts(np.where(FIRST > 0.5, 0.1, 0.6), LABELS)
        first, optimum = forecasts(FIRST, LABELS), forecasts(OPTIMUM, LABELS)
        assert is_sufficient(first, renamed)
        assert is_sufficient(renamed, first)
        assert is_sufficient(optimum, renamed)
        assert not is_sufficient(renamed, optimum)

    def test_equals_refinement_of_calibrated_forecasters(self):
        pairs = [forecasts(p, LABELS) for p in (FIRST, SECOND, OPTIMUM, np.full(8, 0.5))]
        for one in pairs:
            for other in pairs:
                assert is_sufficient(one, other) == is_at_least_as_refined(one, other)

    def test_a_sufficient_forecaster_and_another_may_tell_more_together(self):
        """A blurred copy, drawn anew given the class: section 3.1's construction."""
        first = np.array([[0.8, 0.2], [0.2, 0.8]])  # P(pi_i|c)
        h = np.array([[0.75, 0.25], [0.25, 0.75]])
        second = first @ h
        assert stochastic_map(first, second)[1] == pytest.approx(0.0, abs=1e-9)
        joint = 0.5 * first[:, :, None] * second[:, None, :]  # independent given c
        alone = 1.0 - np.max(0.5 * first, axis=0).sum()
        together = joint.sum(axis=0) * special.entr(joint / joint.sum(axis=0)).sum(axis=0)
        of_first = (0.5 * first).sum(axis=0) * special.entr(first / first.sum(axis=0)).sum(axis=0)
        assert alone == pytest.approx(0.2)
        assert together.sum() < of_first.sum() - 0.01

    def test_refuses(self):
        with pytest.raises(ValueError, match="as many rows, got 1 and 2"):
            stochastic_map([[1.0]], [[1.0], [1.0]])


class TestNearestPoints:
    def test_are_those_found_by_looking_at_all(self):
        rng = np.random.default_rng(12)
        points, queries = rng.normal(size=(50, 3)), rng.normal(size=(6, 3))
        apart = np.linalg.norm(points - queries[:, None], axis=2)
        assert nearest_points(points, queries, 7).tolist() == np.argsort(apart)[:, :7].tolist()

    def test_of_one_feature_and_one_neighbour(self):
        assert nearest_points([3.0, 1.0], [0.0, 4.0], 1).tolist() == [[1], [0]]

    @pytest.mark.parametrize("size", [0, 3])
    def test_refuse(self, size):
        with pytest.raises(ValueError, match="size must be"):
            nearest_points([1.0, 2.0], [0.0], size)

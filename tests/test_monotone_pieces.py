"""The parts of the monotone engine: pieces, nodes, derivatives, Pareto smoothing, importance."""

import numpy as np
import pytest
import scipy.stats as st
from arviz_stats.base import array_stats
from scipy import special

from bayescal.fitting.engines.monotone.density import (
    TOLERANCE,
    Pieces,
    PosteriorDensity,
    Prior,
    ScoreSums,
    place_pieces,
)
from bayescal.fitting.engines.monotone.engine import fewer_and_fewer, number_of_segments
from bayescal.fitting.scores import BinaryScores
from bayescal.inference.importance import StudentT, StudentTMixture, improve, sample, smooth

RNG = np.random.default_rng(8)
PIECES = Pieces(np.array([-1.0, 0.5, 2.0]), 0.7)


class TestPieces:
    def test_log_odds_are_an_integral_of_slopes(self):
        slopes, x = np.array([0.3, 2.0, 1.0, 0.1]), np.array([-3.0, -0.2, 0.7, 1.0, 5.0])
        steps = np.linspace(0.7, x, 100_001)
        slope_at = slopes[np.searchsorted(PIECES.knots, 0.5 * (steps[1:] + steps[:-1]))]
        expected = (slope_at * np.diff(steps, axis=0)).sum(axis=0)
        assert PIECES.basis(x) @ slopes == pytest.approx(expected, abs=1e-4)
        assert PIECES.reference_segment == 2

    def test_each_class_weighs_one_half(self):
        x = np.r_[np.arange(1000.0), 1100.0 + np.arange(10.0)]
        pieces = place_pieces(x, np.arange(1010) >= 1000, None, 4)
        assert pieces.knots == pytest.approx([499.0, 999.0, 1104.0])
        assert pieces.reference == 999.0

    def test_a_weight_counts_as_repeated_scores(self):
        x, positive = RNG.normal(size=30), RNG.random(30) < 0.4
        weight = RNG.integers(0, 4, 30)
        once = place_pieces(x, positive, weight.astype(float), 5)
        repeated = place_pieces(np.repeat(x, weight), np.repeat(positive, weight), None, 5)
        assert np.array_equal(once.knots, repeated.knots)
        assert once.reference == repeated.reference

    @pytest.mark.parametrize(
        ("x", "knots"),
        [
            ([1.0, 1.0, 1.0], []),
            ([1.0, 2.0, 2.0], []),
            ([1.0, 2.0, 2.0, 2.0, 3.0], [2.0]),
            ([0.0, 1.0, 2.0, 3.0], [1.0, 2.0]),
        ],
    )
    @pytest.mark.parametrize("positives", [0, 1, 3])
    def test_few_distinct_scores_have_few_knots(self, x, knots, positives):
        positive = np.arange(len(x)) >= len(x) - positives
        pieces = place_pieces(np.array(x), positive, None, 9)
        assert set(pieces.knots) <= set(knots)
        assert pieces.reference in x


def exact_sum(x, weight, intercept, slopes):
    return weight @ np.logaddexp(0.0, intercept + PIECES.basis(x) @ slopes)


class TestCompression:
    @pytest.mark.parametrize("tail", [1.0, 1e6])
    @pytest.mark.parametrize("size", [5, 100, 30_000])
    def test_the_error_is_within_its_bound(self, size, tail):
        x = st.t(3).rvs(size, random_state=RNG)
        x[0] *= tail
        weight = RNG.exponential(size=size)
        intercept, slopes = RNG.normal(size=20), np.exp(RNG.normal(0.5, 1, (20, 4)))
        nodes = ScoreSums(x, weight).compress(PIECES, intercept, slopes)
        bounds = nodes.errors(PIECES, intercept, slopes).sum(axis=1)
        for a, b, bound in zip(intercept, slopes, bounds, strict=True):
            exact, found = exact_sum(x, weight, a, b), exact_sum(nodes.x, nodes.weight, a, b)
            assert abs(found - exact) <= bound + 1e-11 * exact
        assert bounds.max() <= TOLERANCE
        assert nodes.x.size < 2000
        # Curves steeper than those asked for: the bound grows with the error.
        steep = 8.0 * slopes
        bounds = nodes.errors(PIECES, intercept, steep).sum(axis=1)
        for a, b, bound in zip(intercept, steep, bounds, strict=True):
            exact, found = exact_sum(x, weight, a, b), exact_sum(nodes.x, nodes.weight, a, b)
            assert abs(found - exact) <= bound + 1e-11 * exact

    def test_moments_up_to_the_third_are_kept(self):
        x, weight = RNG.gumbel(size=5000), RNG.random(5000)
        nodes = ScoreSums(x, weight).compress(PIECES, np.zeros(1), np.ones((1, 4)))
        for power in range(4):
            assert nodes.weight @ nodes.x**power == pytest.approx(weight @ x**power, rel=1e-10)


def density(n=40, prior=None):
    x = RNG.normal(size=n)
    positive = RNG.random(n) < special.expit(2 * x)
    classes = (ScoreSums(x[positive == k], np.ones(n)[positive == k]) for k in (False, True))
    nodes = tuple(scores.compress(PIECES, np.zeros(1), np.ones((1, 4))) for scores in classes)
    return PosteriorDensity(PIECES, nodes, prior or Prior())


@pytest.mark.parametrize("scale", [0.3, 1.0, 5.0])
def test_derivatives_are_those_of_differences(scale):
    target, point, h = density(prior=Prior(-1.5, 0.7)), RNG.normal(size=5), 1e-5
    here = target.expand(point, scale)
    assert here.value == pytest.approx(target.log_density(point[None], scale)[0])
    for k, step in enumerate(h * np.eye(5)):
        up, down = target.expand(point + step, scale), target.expand(point - step, scale)
        assert here.gradient[k] == pytest.approx((up.value - down.value) / (2 * h), abs=1e-6)
        difference = (down.gradient - up.gradient) / (2 * h)
        assert here.hessian[k] == pytest.approx(difference, abs=1e-5)
    assert np.linalg.eigvalsh(here.positive)[0] > 0.0


def test_a_student_walk_is_a_gaussian_one_of_unknown_scale():
    prior = Prior(walk_freedom=3.0)
    target, point = density(prior=prior), RNG.normal(size=(1, 5))
    variance = 1 / st.gamma(1.5, scale=1 / 1.5).ppf((np.arange(200_000) + 0.5) / 200_000)
    steps = st.norm(0, np.sqrt(variance)[:, None]).logpdf(point[0, 2:]).sum(axis=1)
    given_one = target.log_density(point, 1.0) - st.norm.logpdf(point[0, 2:]).sum()
    expected = given_one + special.logsumexp(steps) - np.log(variance.size)
    assert target.log_density(point) == pytest.approx(expected, abs=1e-4)


class TestParetoSmoothing:
    @pytest.mark.parametrize("size", [30, 1000, 4000])
    def test_smoothing_is_arviz_s(self, size):
        log_ratio = st.t(4).rvs((4, size), random_state=RNG) * np.array([[0.1], [0.5], [1], [4]])
        log_weight, k = smooth(log_ratio)
        for row in range(4):
            # arviz-stats takes log likelihoods, minus the log ratios.
            expected, expected_k = array_stats.psislw(-log_ratio[row])
            assert log_weight[row] == pytest.approx(expected, abs=1e-9)
            assert k[row] == pytest.approx(expected_k, abs=1e-9)

    def test_equal_ratios_need_no_smoothing(self):
        log_weight, k = smooth(np.full((2, 100), -3.0))
        assert log_weight == pytest.approx(-np.log(100))
        assert np.all(k == -np.inf)

    @pytest.mark.parametrize("spread", [100.0, 300.0, 500.0, 700.0])
    def test_a_few_ratios_that_are_all_there_is(self, spread):
        log_weight, k = smooth(spread * RNG.standard_normal((5, 1000)))
        assert np.isfinite(log_weight).all()
        assert np.all(k > 2.0)

    def test_a_tail_is_fitted_where_its_first_quartile_rises(self):
        # Twenty of a hundred ratios are the tail: of sixteen that rise, or of one fewer.
        rising = [np.r_[np.zeros(100 - n), np.linspace(0.1, 2.0, n)] for n in (16, 15)]
        k = smooth(np.array(rising))[1]
        assert np.isfinite(k[0])
        assert k[1] == np.inf

    def test_impossible_draws_get_no_weight(self):
        log_ratio = np.r_[np.full(50, -np.inf), RNG.normal(size=50)][None]
        log_weight, k = smooth(log_ratio)
        assert np.exp(log_weight).sum() == pytest.approx(1.0)
        assert np.all(np.exp(log_weight[0, :50]) == 0.0)
        assert np.isfinite(k).all()


class TestImportanceSampling:
    TARGET = st.multivariate_normal([3.0, -1.0], [[4.0, 1.9], [1.9, 1.0]])

    def test_a_poor_proposal_improves_itself(self):
        first = StudentTMixture((StudentT(np.zeros(2), 0.5 * np.eye(2)),), np.ones(1))

        def target(x):
            return 7.0 + self.TARGET.logpdf(x)

        better, pilot = improve(target, first, RNG)
        assert pilot.efficiency > 0.3
        found = sample(target, better, 20_000, RNG, efficiency=pilot.efficiency)
        assert found.trusted
        assert found.log_evidence == pytest.approx(7.0, abs=0.02)
        draws = found.resample(20_000, RNG)
        assert st.kstest(draws[:, 0], st.norm(3, 2).cdf).pvalue > 1e-3
        assert st.kstest(draws[:, 0], st.norm(3, 2.2).cdf).pvalue < 1e-3
        assert np.cov(draws.T) == pytest.approx(self.TARGET.cov, abs=0.2)

    def test_a_hopeless_one_is_reported(self):
        far = StudentTMixture((StudentT(np.full(2, 1e4), 1e-3 * np.eye(2)),), np.ones(1))
        assert not sample(self.TARGET.logpdf, far, 100, RNG, efficiency=1.0).trusted

    def test_the_mixture_s_density_is_that_of_its_draws(self):
        parts = (StudentT(np.zeros(1), np.eye(1)), StudentT(np.full(1, 4.0), 0.5 * np.eye(1)))
        mixture = StudentTMixture(parts, np.array([0.25, 0.75]))
        grid = np.linspace(-60, 60, 240_001)
        density = np.exp(special.logsumexp(mixture.log_densities(grid[:, None]), axis=0))
        distribution = np.cumsum(density) * (grid[1] - grid[0])
        draws = mixture.draw(RNG, 20_000)[:, 0]
        assert distribution[-1] == pytest.approx(1.0, abs=1e-4)
        assert st.kstest(draws, lambda x: np.interp(x, grid, distribution)).pvalue > 1e-3


@pytest.mark.parametrize(
    ("rarer", "segments"), [(1, 9), (100, 9), (300, 13), (1000, 17), (100_000, 17)]
)
def test_pieces_grow_with_the_rarer_class(rarer, segments):
    positive = np.arange(rarer * 3) < rarer
    for labels in (positive, ~positive):
        assert number_of_segments(BinaryScores(np.zeros(labels.size), labels)) == segments


def test_fewer_pieces_are_tried_down_to_nine():
    assert fewer_and_fewer(17) == [17, 13, 9]
    assert fewer_and_fewer(12) == [12, 9]
    assert fewer_and_fewer(9) == [9]

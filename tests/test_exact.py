"""The exact engine against integration by brute force and closed forms."""

from functools import partial

import numpy as np
import pytest
import scipy.stats as st
import xarray as xr

from bayescal import ScoreCalibrator
from bayescal.families import FAMILIES
from bayescal.fitting.engines.exact.class_posterior import (
    LogLinearDensities,
    _accepted,
    _copies,
    cover,
    log_mean_exponential,
)
from bayescal.fitting.engines.exact.engine import efficiency, fit_densities
from bayescal.fitting.engines.exact.joint_density import DensityPrior, DeviationSums
from bayescal.fitting.scores import BinaryScores
from tests.exact_tools import draw_class

RNG = np.random.default_rng(3)
SAMPLES = {
    "one": np.array([0.3]),
    "three": np.array([-0.5, 0.2, 1.9]),
    "tied": np.array([0.0, 0.0, 0.0, 1.0, 1.0, 3.0]),
    "eight": RNG.gumbel(size=8),
}
DRAWS = 40_000


SIDE = {1: st.expon, 2: st.halfnorm}  # by power

each_power = pytest.mark.parametrize("power", SIDE)


@each_power
@pytest.mark.parametrize("n", [1, 2, 7, 100])
@pytest.mark.parametrize("weighted", [False, True])
def test_deviations_at_any_mode(power, n, weighted):
    x = np.round(3 * RNG.normal(size=n), 1)
    weight = RNG.integers(0, 3, n).astype(float) + (np.arange(n) == 0) if weighted else None
    theta = np.r_[x, 6 * RNG.normal(size=50), x.min() - 1e-9, x.max() + 1e-9]
    distance = theta[:, None] - x
    counts = np.ones(n) if weight is None else weight
    sums = DeviationSums(x, weight, power)
    left, right = sums(theta)
    exact_left = (counts * np.maximum(distance, 0) ** power).sum(1)
    exact_right = (counts * np.maximum(-distance, 0) ** power).sum(1)
    assert left == pytest.approx(exact_left, abs=1e-11)
    assert right == pytest.approx(exact_right, abs=1e-11)
    assert np.array_equal(sums.scores, np.sort(x[counts > 0]))
    assert sums.total == counts.sum()


def test_an_empty_class_has_no_deviations():
    left, right = DeviationSums(np.zeros(0), None, 2)(np.array([1.0, 2.0]))
    assert not left.any()
    assert not right.any()


def quadrature(edges, nodes):
    """Gauss-Legendre nodes and weights over neighbouring intervals."""
    x, weight = np.polynomial.legendre.leggauss(nodes)
    low, high = np.asarray(edges)[:-1, None], np.asarray(edges)[1:, None]
    half = 0.5 * (high - low)
    return (low + half * (x + 1)).ravel(), (half * weight).ravel()


def brute_force(x, power):
    """Evidence and posterior means by quadrature over (theta, w, log s), written with scipy."""
    theta, dtheta = quadrature(np.unique(np.r_[-14, x, x - 0.05, x + 0.05, 14]), 24)
    w, dw = quadrature([0, 0.05, 0.3, 0.7, 0.95, 1], 12)
    log_s, ds = quadrature(np.linspace(-5, 8, 8), 10)
    theta, w, log_s = theta[:, None, None], w[None, :, None], log_s[None, None, :]
    cell = dtheta[:, None, None] * dw[None, :, None] * ds[None, None, :]
    s = np.exp(log_s)
    log = st.norm(0, 2).logpdf(theta) + st.beta(2, 2).logpdf(w) + log_s
    if power == 2:
        log = log + st.invgamma(2).logpdf(s**2) + np.log(2 * s)
    else:
        log = log + st.invgamma(2).logpdf(s)
    for score in x:
        below = np.log(w) + SIDE[power].logpdf(theta - score, scale=w * s)
        above = np.log1p(-w) + SIDE[power].logpdf(score - theta, scale=(1 - w) * s)
        log = log + np.where(score > theta, above, below)
    top = log.max()
    mass = np.exp(log - top) * cell
    means = [float((mass * v).sum() / mass.sum()) for v in (theta, theta**2, w, s)]
    return np.log(mass.sum()) + top, means


@pytest.mark.slow
@each_power
@pytest.mark.parametrize("name", SAMPLES)
def test_evidence_and_moments_are_those_of_brute_force(name, power):
    x = SAMPLES[name]
    evidence, (mean, square, share, width) = brute_force(x, power)
    found = draw_class(x, None, power, DensityPrior(), DRAWS, np.random.default_rng(1))
    assert found.log_evidence == pytest.approx(evidence, abs=1e-3)
    sd = np.sqrt(square - mean**2)
    assert found.theta.mean() == pytest.approx(mean, abs=5 * sd / np.sqrt(DRAWS) + 1e-3)
    assert found.theta.std() == pytest.approx(sd, rel=0.03)
    assert found.left_share.mean() == pytest.approx(share, abs=0.006)
    assert found.width.mean() == pytest.approx(width, rel=0.03)
    # The negative: the other family's evidence is another.
    other = draw_class(x, None, 3 - power, DensityPrior(), 100, np.random.default_rng(1))
    assert abs(other.log_evidence - evidence) > 5e-3


@each_power
@pytest.mark.parametrize("symmetric", [False, True])
def test_without_scores_the_prior_answers(power, symmetric):
    prior = DensityPrior(theta_scale=3.0, share_alpha=2.0, share_beta=4.0, symmetric=symmetric)
    found = draw_class(np.zeros(0), None, power, prior, 20_000, np.random.default_rng(5))
    assert found.log_evidence == pytest.approx(0.0, abs=1e-4)
    assert st.kstest(found.theta, st.norm(0, 3).cdf).pvalue > 1e-3
    assert st.kstest(found.theta, st.norm(0, 3.2).cdf).pvalue < 1e-3
    assert st.kstest(found.width**power, st.invgamma(2).cdf).pvalue > 1e-3
    if not symmetric:
        assert st.kstest(found.left_share, st.beta(2, 4).cdf).pvalue > 1e-3
        assert st.kstest(found.left_share, st.beta(2.4, 4).cdf).pvalue < 1e-3


@each_power
@pytest.mark.parametrize("n", [1, 3, 20, 300, 20_000])
def test_proposals_are_efficient_and_draws_independent(n, power):
    x = np.concatenate([RNG.gumbel(size=n), 8 + 0.1 * RNG.normal(size=n // 3)])
    found = draw_class(x, None, power, DensityPrior(), 4000, np.random.default_rng(2))
    assert found.resolved
    assert found.efficiency > 0.98
    # Far out in a Gaussian side's share a proposal may weigh three times as much as most.
    assert found.acceptance > 0.3
    # Correlation of neighbours, within 4 standard errors of 0; and no draw twice.
    neighbours = np.corrcoef(found.theta[1:], found.theta[:-1])[0, 1]
    assert abs(neighbours) < 4 / np.sqrt(4000)
    assert np.unique(found.theta).size == 4000


@each_power
def test_a_weight_is_a_power_of_the_likelihood(power):
    x = SAMPLES["eight"]
    weight = np.array([1.0, 2.0, 0.0, 3.0, 1.0, 1.0, 2.0, 1.0])
    weighted = draw_class(x, weight, power, DensityPrior(), 100, np.random.default_rng(1))
    repeated = draw_class(np.repeat(x, weight.astype(int)), None, power, DensityPrior(), 100,
                          np.random.default_rng(1))  # fmt: skip
    assert weighted.log_evidence == pytest.approx(repeated.log_evidence, abs=1e-6)
    # Halves have no repetition, but the brute force has powers.
    half = draw_class(x, np.full(8, 0.5), power, DensityPrior(), 100, np.random.default_rng(1))
    assert repeated.log_evidence < half.log_evidence < 0


@pytest.mark.slow
def test_several_modes_are_all_drawn():
    # Two tight clumps far apart: the mode of the density may stand at either.
    x = np.r_[np.linspace(-0.01, 0.01, 5), 6 + np.linspace(-0.01, 0.01, 5)]
    found = draw_class(x, None, 1, DensityPrior(), 8000, np.random.default_rng(4))
    near, far = (np.abs(found.theta - at) < 0.5 for at in (0.0, 6.0))
    _, (mean, square, *_) = brute_force(x, 1)
    assert min(near.mean(), far.mean()) > 0.004
    error = np.sqrt((square - mean**2) / 8000)
    assert found.theta.mean() == pytest.approx(mean, abs=4.5 * error)


class TestPieces:
    def test_draws_of_a_log_linear_density(self):
        edge = np.array([-1.0, 0.0, 2.0])
        log_edge = np.array([-3.0, 0.5, -60.0])
        density_of = LogLinearDensities(edge, np.stack([log_edge, 0 * log_edge]))
        rows = np.zeros(50_000, dtype=int)
        draws, log_density = density_of.draw(np.random.default_rng(0), rows)
        grid = np.linspace(-1, 2, 300_001)
        density = np.exp(np.interp(grid, edge, log_edge))
        distribution = np.cumsum(density) / density.sum()
        test = st.kstest(draws, lambda t: np.interp(t, grid, distribution))
        assert test.pvalue > 1e-3
        expected = np.interp(draws, edge, log_edge) - np.log(density.sum() * 1e-5)
        assert log_density == pytest.approx(expected, abs=1e-3)
        uniform, log_uniform = density_of.draw(np.random.default_rng(0), rows + 1)
        assert st.kstest(uniform, st.uniform(-1, 3).cdf).pvalue > 1e-3
        assert log_uniform == pytest.approx(-np.log(3.0))

    @pytest.mark.parametrize("rise", [-800.0, -1.0, -1e-9, 0.0, 1e-9, 1.0, 800.0])
    def test_mean_of_an_exponential(self, rise):
        t = (np.arange(1_000_000) + 0.5) / 1e6
        expected = np.log(np.mean(np.exp(rise * t - max(rise, 0)))) + max(rise, 0)
        found = float(log_mean_exponential(np.array(rise)))
        assert found == pytest.approx(expected, abs=1e-6)

    def test_cells_say_when_they_are_too_few(self, monkeypatch):
        monkeypatch.setattr("bayescal.fitting.engines.exact.class_posterior.MOST_CELLS", 20)
        cells = cover(lambda t: -0.5 * t**2, np.linspace(-10, 10, 11), np.zeros(0))
        assert not cells.good


def test_same_seed_same_bits_and_units():
    x = np.concatenate([RNG.gumbel(-2, 1, 40), RNG.gumbel(1, 1.5, 8)])
    positive = np.arange(48) >= 40
    vague = partial(ScoreCalibrator, prior_knowledge="vague")
    first, again, other = (
        vague(random_state=s).fit(x, positive).predict_interval(x) for s in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    moved = vague(random_state=1).fit(1024 * x + 2048, positive)
    assert moved.predict_interval(1024 * x + 2048) == pytest.approx(first, rel=1e-6)
    evidence = vague(random_state=1).fit(x, positive).log_evidence_
    assert moved.log_evidence_["True"] == pytest.approx(
        evidence["True"] - 8 * np.log(1024), abs=1e-6
    )


def test_one_class_may_be_empty_for_the_engine():
    data = BinaryScores(np.array([1.0, 2.0, 3.0]), np.zeros(3, dtype=bool))
    found = fit_densities((FAMILIES["laplace"],), data, np.random.default_rng(0), draws=1000)
    assert found.evidence()["log_evidence"].sel(klass="positive").item() == pytest.approx(
        0.0, abs=1e-5
    )
    assert np.isfinite(found.posterior.theta).all()


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_the_tree_holds_the_family_s_parameters(family):
    x = np.concatenate([RNG.normal(-3, 1, 40), RNG.exponential(2, 10)])
    positive = np.arange(50) >= 40
    calibrator = ScoreCalibrator(family, draws=2000, random_state=0).fit(x, positive)
    posterior = calibrator.posterior_["posterior"].to_dataset()
    # Beta(1 + 10, 1 + 40), within four standard errors.
    assert posterior["prior"].mean().item() == pytest.approx(11 / 52, abs=4 * 0.057 / 8000**0.5)
    names = FAMILIES[family].parameters
    width = posterior["width"] if "width" in posterior else np.sqrt(posterior["squared_width"])
    share = posterior.get("left_share", 0.5 * xr.ones_like(width))
    for k in (0, 1):
        own = (posterior[name][..., k].values for name in names)
        _, left, right = FAMILIES[family].sides(*own)
        assert np.allclose(left, (share * width)[..., k])
        assert np.allclose(right, ((1 - share) * width)[..., k])
    # The draws surround the maximum-likelihood fit of the large class.
    fit = calibrator.mle_.negative.parameters
    for name in names:
        low, high = posterior[name].sel(klass="negative").quantile([0.001, 0.999])
        assert low < fit[name] < high


class Uneven:
    """Proposals whose weights turn out larger in the second round than in the first."""

    def __init__(self, *levels):
        self.levels = list(levels)

    def draw(self, rng, size):
        level = self.levels.pop(0) if len(self.levels) > 1 else self.levels[0]
        weight = np.zeros(size)
        weight[0] = level
        return np.full(size, level), np.zeros(size), weight


def test_a_weight_found_late_counts_for_early_rounds_too():
    # The first round is accepted in part only; the second shows that its weights were small.
    theta, _, ratios = _accepted(Uneven(1.0, 3.0), 150, np.random.default_rng(0))
    assert theta.size == 150
    # Of its 289 proposals exp(-3), about 14, are kept; by its own bound it would be 106.
    assert np.sum(theta == 1.0) < 40
    assert ratios.max() == 1.0
    assert ratios.min() == pytest.approx(np.exp(-3.0))


def test_scores_that_are_neighbouring_doubles():
    # As log-odds of a forest's few distinct probabilities are: equal but for rounding.
    rng = np.random.default_rng(0)
    scores = np.repeat(np.linspace(-1.0, 1.0, 5), 8) / 3.0
    nudged = np.where(rng.random(40) < 0.5, scores, np.nextafter(scores, 9.0))
    labels = scores + rng.normal(0.0, 0.5, 40) > 0
    tied, near = (
        ScoreCalibrator("gaussian", draws=200, random_state=0).fit(s, labels).predict_proba(scores)
        for s in (scores, nudged)
    )
    np.testing.assert_allclose(near, tied, atol=0.02)


class Heavy:
    """Proposals the first of which outweighs all others of its round."""

    def draw(self, rng, size):
        first = np.arange(size) == 0
        return np.where(first, 1.0, 0.0), np.zeros(size), np.where(first, 400.0, 0.0)


def test_proposals_that_are_next_to_never_accepted_are_drawn_by_their_weights():
    theta, _, ratios = _accepted(Heavy(), 100, np.random.default_rng(0))
    assert theta.shape == (100,)
    # Of each round one proposal has all of the weight, which the efficiency tells.
    assert np.all(theta == 1.0)
    assert efficiency(ratios) < 0.01


class Corner:
    """Proposals one in a thousand of which lies in a corner and has a hundred times the weight."""

    def draw(self, rng, size):
        corner = rng.random(size) < 1e-3
        return corner.astype(float), np.zeros(size), np.where(corner, np.log(100.0), 0.0)


def test_a_heavy_weight_in_a_corner_leaves_the_others():
    # The corner has 0.1 of 1.099 of the mass; by the largest weight 1 % would be accepted.
    shares = [
        _accepted(Corner(), 4000, np.random.default_rng(seed))[0].mean() for seed in range(40)
    ]
    error = np.std(shares, ddof=1) / np.sqrt(len(shares))
    assert error < 0.01
    assert np.mean(shares) == pytest.approx(0.1 / 1.099, abs=4 * error)


@pytest.mark.parametrize(
    ("size", "others", "accepted"), [(99, 0.3, None), (99, 0.05, 0.1), (199, 1e-4, None)]
)
def test_proposals_are_copied_in_proportion_to_their_weights(size, others, accepted):
    # At least one in ten is taken, unless a single one would be taken more than ten times.
    ratios = np.r_[1.0, np.full(size, others)]
    levels = (np.arange(1000) + 0.5) / 1000
    copies = np.mean([_copies(ratios, np.full(ratios.size, u)) for u in levels], axis=0)
    share = ratios.mean() if accepted is None else accepted
    assert copies == pytest.approx(ratios * (share / ratios.mean()), abs=2e-3)

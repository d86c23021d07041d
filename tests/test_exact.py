"""The exact engine against integration by brute force and closed forms."""

import numpy as np
import pytest
import scipy.stats as st

from bayescal import ScoreCalibrator
from bayescal.engines.data import BinaryScores
from bayescal.engines.exact.cells import cover
from bayescal.engines.exact.deviations import DeviationSums
from bayescal.engines.exact.draws import LogLinear, log_mean_exponential
from bayescal.engines.exact.joint import Prior
from bayescal.engines.exact.posterior import _accepted
from bayescal.families import FAMILIES
from tests.exact_tools import draw_class

RNG = np.random.default_rng(3)
SAMPLES = {
    "one": np.array([0.3]),
    "three": np.array([-0.5, 0.2, 1.9]),
    "tied": np.array([0.0, 0.0, 0.0, 1.0, 1.0, 3.0]),
    "eight": RNG.gumbel(size=8),
}
DRAWS = 40_000


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("n", [1, 2, 7, 100])
@pytest.mark.parametrize("weighted", [False, True])
def test_deviations_at_any_mode(power, n, weighted):
    x = np.round(3 * RNG.normal(size=n), 1)
    weight = RNG.integers(0, 3, n).astype(float) + (np.arange(n) == 0) if weighted else None
    theta = np.r_[x, 6 * RNG.normal(size=50), x.min() - 1e-9, x.max() + 1e-9]
    distance = theta[:, None] - x
    counts = np.ones(n) if weight is None else weight
    left, right = DeviationSums(x, weight, power)(theta)
    assert left == pytest.approx((counts * np.maximum(distance, 0) ** power).sum(1), abs=1e-11)
    assert right == pytest.approx((counts * np.maximum(-distance, 0) ** power).sum(1), abs=1e-11)


def test_an_empty_class_has_no_deviations():
    left, right = DeviationSums(np.zeros(0), None, 1)(np.array([1.0, 2.0]))
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
    side = st.expon if power == 1 else st.halfnorm
    log = st.norm(0, 2).logpdf(theta) + st.beta(2, 2).logpdf(w) + log_s
    if power == 1:
        log = log + st.invgamma(2).logpdf(s)
    else:
        log = log + st.invgamma(2).logpdf(s**2) + np.log(2 * s)
    for score in x:
        share = np.where(score > theta, 1 - w, w)
        log = log + side.logpdf(np.abs(score - theta) / (share * s)) - np.log(s)
    top = log.max()
    mass = np.exp(log - top) * cell
    means = [float((mass * v).sum() / mass.sum()) for v in (theta, theta**2, w, s)]
    return np.log(mass.sum()) + top, means


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("name", SAMPLES)
def test_evidence_and_moments_are_those_of_brute_force(name, power):
    x = SAMPLES[name]
    evidence, (mean, square, share, width) = brute_force(x, power)
    found = draw_class(x, None, power, Prior(), DRAWS, np.random.default_rng(1))
    assert found.log_evidence == pytest.approx(evidence, abs=1e-3)
    sd = np.sqrt(square - mean**2)
    assert found.theta.mean() == pytest.approx(mean, abs=5 * sd / np.sqrt(DRAWS) + 1e-3)
    assert found.theta.std() == pytest.approx(sd, rel=0.03)
    assert found.left_share.mean() == pytest.approx(share, abs=0.006)
    assert found.width.mean() == pytest.approx(width, rel=0.03)
    # The negative: the other family's evidence is another.
    other = draw_class(x, None, 3 - power, Prior(), 100, np.random.default_rng(1))
    assert abs(other.log_evidence - evidence) > 5e-3


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("power", [1, 2])
def test_without_scores_the_prior_answers(power, symmetric):
    prior = Prior(theta_scale=3.0, share_alpha=2.0, share_beta=4.0, symmetric=symmetric)
    found = draw_class(np.zeros(0), None, power, prior, 20_000, np.random.default_rng(5))
    assert found.log_evidence == pytest.approx(0.0, abs=1e-4)
    assert st.kstest(found.theta, st.norm(0, 3).cdf).pvalue > 1e-3
    assert st.kstest(found.theta, st.norm(0, 3.2).cdf).pvalue < 1e-3
    assert st.kstest(found.width**power, st.invgamma(2).cdf).pvalue > 1e-3
    if not symmetric:
        assert st.kstest(found.left_share, st.beta(2, 4).cdf).pvalue > 1e-3
        assert st.kstest(found.left_share, st.beta(2.4, 4).cdf).pvalue < 1e-3


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("n", [1, 3, 20, 300, 20_000])
def test_proposals_are_efficient_and_draws_independent(n, power):
    x = np.concatenate([RNG.gumbel(size=n), 8 + 0.1 * RNG.normal(size=n // 3)])
    found = draw_class(x, None, power, Prior(), 4000, np.random.default_rng(2))
    assert found.resolved
    assert found.efficiency > 0.98
    assert found.acceptance > 0.5
    # Correlation of neighbours, within 4 standard errors of 0; and no draw twice.
    neighbours = np.corrcoef(found.theta[1:], found.theta[:-1])[0, 1]
    assert abs(neighbours) < 4 / np.sqrt(4000)
    assert np.unique(found.theta).size == 4000


def test_a_weight_is_a_power_of_the_likelihood():
    x = SAMPLES["eight"]
    weight = np.array([1.0, 2.0, 0.0, 3.0, 1.0, 1.0, 2.0, 1.0])
    weighted = draw_class(x, weight, 1, Prior(), 100, np.random.default_rng(1))
    repeated = draw_class(np.repeat(x, weight.astype(int)), None, 1, Prior(), 100,
                          np.random.default_rng(1))  # fmt: skip
    assert weighted.log_evidence == pytest.approx(repeated.log_evidence, abs=1e-6)
    # Halves have no repetition, but the brute force has powers.
    half = draw_class(x, np.full(8, 0.5), 1, Prior(), 100, np.random.default_rng(1))
    assert repeated.log_evidence < half.log_evidence < 0


def test_several_modes_are_all_drawn():
    # Two tight clumps far apart: the mode of the density may stand at either.
    x = np.r_[np.linspace(-0.01, 0.01, 5), 6 + np.linspace(-0.01, 0.01, 5)]
    found = draw_class(x, None, 1, Prior(), 8000, np.random.default_rng(4))
    near, far = (np.abs(found.theta - at) < 0.5 for at in (0.0, 6.0))
    _, (mean, square, *_) = brute_force(x, 1)
    assert min(near.mean(), far.mean()) > 0.004
    error = np.sqrt((square - mean**2) / 8000)
    assert found.theta.mean() == pytest.approx(mean, abs=4.5 * error)


class TestPieces:
    def test_draws_of_a_log_linear_density(self):
        edge = np.array([-1.0, 0.0, 2.0])
        log_edge = np.array([-3.0, 0.5, -60.0])
        density_of = LogLinear(edge, np.stack([log_edge, 0 * log_edge]))
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
        monkeypatch.setattr("bayescal.engines.exact.cells.MOST_CELLS", 20)
        cells = cover(lambda t: -0.5 * t**2, np.linspace(-10, 10, 11), np.zeros(0))
        assert not cells.good


def test_same_seed_same_bits_and_units():
    x = np.concatenate([RNG.gumbel(-2, 1, 40), RNG.gumbel(1, 1.5, 8)])
    positive = np.arange(48) >= 40
    first, again, other = (
        ScoreCalibrator(random_state=s).fit(x, positive).predict_interval(x) for s in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    moved = ScoreCalibrator(random_state=1).fit(1024 * x + 2048, positive)
    assert moved.predict_interval(1024 * x + 2048) == pytest.approx(first, rel=1e-6)
    evidence = ScoreCalibrator(random_state=1).fit(x, positive).log_evidence_
    assert moved.log_evidence_["True"] == pytest.approx(
        evidence["True"] - 8 * np.log(1024), abs=1e-6
    )


def test_one_class_may_be_empty_for_the_engine():
    from bayescal.engines.exact.engine import draw_posterior

    data = BinaryScores(np.array([1.0, 2.0, 3.0]), np.zeros(3, dtype=bool))
    groups = draw_posterior(
        FAMILIES["laplace"], data, np.random.default_rng(0), draws=500, chains=2
    )
    assert groups["evidence"]["log_evidence"].sel(klass="positive").item() == pytest.approx(
        0.0, abs=1e-5
    )
    assert np.isfinite(groups["posterior"]["theta"]).all()


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_the_tree_holds_the_family_s_parameters(family):
    x = np.concatenate([RNG.normal(-3, 1, 40), RNG.exponential(2, 10)])
    positive = np.arange(50) >= 40
    calibrator = ScoreCalibrator(family, draws=2000, random_state=0).fit(x, positive)
    posterior = calibrator.posterior_["posterior"].to_dataset()
    # Beta(1 + 10, 1 + 40), within four standard errors.
    assert posterior["prior"].mean().item() == pytest.approx(11 / 52, abs=4 * 0.057 / 8000**0.5)
    names = FAMILIES[family].parameters
    scales = [posterior[name] for name in names[1:]]
    lengths = [1 / s if "laplace" in family else s for s in scales]
    width = posterior["width"] if "width" in posterior else np.sqrt(posterior["squared_width"])
    share = posterior.get("left_share", 0.5)
    assert np.allclose(lengths[0], share * width)
    assert np.allclose(lengths[-1], (1 - share) * width)
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


def test_proposals_that_are_never_accepted_are_an_error():
    with pytest.raises(RuntimeError, match=r"accepted .* gave up at 100 draws"):
        _accepted(Uneven(400.0), 100, np.random.default_rng(0))

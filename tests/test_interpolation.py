"""Curves read off a table are the curves themselves, to the stated tolerance: points and bands."""

from copy import copy
from functools import cache

import numpy as np
import pytest
from scipy import special
from scipy.interpolate import Akima1DInterpolator

from bayescal import ScoreCalibrator
from bayescal.curves import interpolation, quantiles
from bayescal.curves.akima import akima
from bayescal.curves.tables import DIRECT, GRIDDED, MOST, Tables
from bayescal.families import FAMILIES
from tests.sizes import size

pytestmark = pytest.mark.one_era

RNG = np.random.default_rng(0)
POSITIVE = np.arange(120) < 20
SKEWED = np.where(POSITIVE, 1 + RNG.gumbel(size=120), RNG.standard_t(4, size=120) - 1)
OUTLIERS = np.where(RNG.random(120) < 0.1, 40 * RNG.standard_cauchy(120), SKEWED)
# name: scores of a fit, and where the others lie, in spreads of standard_t(2).
PROBLEMS = {
    "skewed": (SKEWED, 1.0),
    "near-separable": (np.where(POSITIVE, 3.0, -3.0) + 0.3 * RNG.normal(size=120), 1.0),
    "heavy outliers": (OUTLIERS, 10.0),
    "range of 1,000": (1000 * SKEWED, 1000.0),
    "far off": (SKEWED + 1e6, 1.0),
    "few": (np.r_[SKEWED[:3], SKEWED[20:30]], 1.0),
}
CHECKED = size(300, 1000)
FAR = np.array([-1e4, 1e4, -1e90, 1e90])
# The combination of densities and log-odds fits, with warps and kinks at knots, is "auto".
CURVES = [*sorted(FAMILIES), "auto"]
NAMES = [
    pytest.param(name, marks=() if name == "skewed" else pytest.mark.slow) for name in PROBLEMS
]


@cache
def problem(name, family):
    """Return a fitted calibrator, many scores, and the positions of some that are checked."""
    scores, unit = PROBLEMS[name]
    positive = POSITIVE if scores.size == 120 else np.arange(scores.size) < 3
    calibrator = ScoreCalibrator(family, draws=500, random_state=1).fit(scores, positive)
    rng = np.random.default_rng(1)
    far = FAR if name == "skewed" else FAR[:2]
    many = np.median(scores) + unit * np.r_[rng.standard_t(2, size=20_000), far]
    # Half of those checked where the curve is steepest: P of 1 to 99 %.
    steep = np.flatnonzero(np.abs(calibrator.decision_function(many[:20_000])) < 4.6)
    chosen = [rng.choice(20_000, CHECKED), np.arange(20_000, many.size)]
    some = np.concatenate([*chosen, steep[:CHECKED]])
    # So many that they are read off a grid.
    return calibrator, np.resize(many, GRIDDED), some


def bands(calibrator, scores, levels=(0.05, 0.95)):
    """Return quantiles of P(+|s), shape (levels, scores)."""
    fitted = calibrator._calibration
    fresh = Tables(fitted.centre, fitted.spread)
    return special.expit(fresh.quantiles(fitted.draws, np.array(levels), scores))


def one_by_one(ask, scores):
    """Return answers at scores in batches so small that no table is made for them."""
    batches = np.split(scores, range(DIRECT, scores.size, DIRECT))
    return np.concatenate([ask(batch) for batch in batches], axis=-1)


def exact_bands(calibrator, scores, levels=(0.05, 0.95)):
    return one_by_one(lambda batch: bands(calibrator, batch, levels), scores)


@pytest.mark.parametrize("family", CURVES)
@pytest.mark.parametrize("name", NAMES)
def test_bands_of_many_scores_are_those_of_few(name, family):
    calibrator, many, some = problem(name, family)
    for levels in ([0.05, 0.95], [0.25, 0.5, 0.75]):
        tabulated = bands(calibrator, many, levels)[:, some]
        direct = exact_bands(calibrator, many[some], levels)
        assert np.abs(tabulated - direct).max() < interpolation.TOLERANCE
        assert (np.diff(tabulated, axis=0) >= 0.0).all()


@pytest.mark.parametrize("family", CURVES)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("point", ["predictive", "mean"])
def test_points_of_many_scores_are_those_of_few(name, family, point):
    calibrator, many, some = problem(name, family)
    calibrator = copy(calibrator).set_params(point=point)
    found = calibrator.decision_function(many)[some]
    true = one_by_one(calibrator.decision_function, many[some])
    assert np.abs(special.expit(found) - special.expit(true)).max() < interpolation.TOLERANCE
    near = np.abs(true) < interpolation.SATURATED
    assert found[near] == pytest.approx(true[near], rel=2e-3, abs=2e-3)


@pytest.mark.parametrize("draws", [1, 2, 30, 4000])
def test_bands_of_few_and_of_many_draws(draws):
    calibrator = ScoreCalibrator(draws=draws, chains=1, random_state=1).fit(SKEWED, POSITIVE)
    many = RNG.normal(size=3000)
    difference = bands(calibrator, many)[:, :2000] - exact_bands(calibrator, many[:2000])
    assert np.abs(difference).max() < interpolation.TOLERANCE


def off_by(calibrator, many, some):
    """Return the largest errors of points and of bands."""
    fitted = calibrator._calibration
    curve = fitted.draws.predictive
    tabulated = Tables(fitted.centre, fitted.spread).curve("point", curve, many)[some]
    points = special.expit(tabulated) - special.expit(curve(many[some]))
    quantile = bands(calibrator, many)[:, some] - exact_bands(calibrator, many[some])
    return np.abs(points).max(), np.abs(quantile).max()


def test_coarser_tables_are_caught(monkeypatch):
    args = problem("skewed", "asymmetric_laplace")
    assert max(off_by(*args)) < interpolation.TOLERANCE
    # Points of first nodes only; bands of a table good to twenty times the tolerance.
    monkeypatch.setattr(interpolation, "ROUNDS", 0)
    monkeypatch.setattr(quantiles, "SAFETY", (20.0, 20.0))
    point, band = off_by(*args)
    assert point > interpolation.TOLERANCE
    assert band > interpolation.TOLERANCE


@pytest.mark.parametrize(
    "curve",
    [
        lambda s: 5 * s,
        lambda s: np.where(s < 0.123, -3.0, 40 * (s - 0.123) - 3.0),  # a kink
        lambda s: 3 * np.sin(9 * s),
        lambda s: np.stack([s, -(s**2), np.tanh(50 * s)]),
        lambda s: np.where(s < 0.123, -1.0, s),  # a jump
        lambda s: np.where(s < 0.0, -1.0, s),
        lambda s: np.maximum(0.0, 1.0 - 50.0 * np.abs(s - 0.0625)),  # a spike between two thirds
    ],
)
def test_any_curve(curve):
    scores = RNG.uniform(-2, 2, 5000)
    found = Tables(0.0, 1.0).curve("curve", curve, scores)
    expected = curve(scores)
    assert found.shape == expected.shape
    assert special.expit(found) == pytest.approx(special.expit(expected), abs=1e-4)


def test_few_points_are_evaluated():
    calls = []

    def curve(s):
        calls.append(s.size)
        return 3 * np.sin(s)

    Tables(0.0, 1.0).curve("sine", curve, RNG.normal(size=1_000_000))
    assert sum(calls) < 1000
    calls.clear()
    Tables(0.0, 1.0).curve("sine", curve, RNG.normal(size=DIRECT))
    assert calls == [DIRECT]


@pytest.mark.parametrize("reach", [1.0, 1e-12, 1e80])
def test_reading_a_table_is_interpolation(reach):
    # Nodes close together and far apart; scores at nodes, between and at the ends.
    node = np.unique(np.r_[RNG.normal(size=50), 0.5 + reach * RNG.normal(size=50)])
    values = RNG.normal(size=(2, node.size))
    scores = np.r_[RNG.uniform(node[0], node[-1], 5000), node, RNG.normal(size=5000)]
    scores = np.clip(scores, node[0], node[-1])
    found = interpolation.read(node, values, scores)
    for row, expected in zip(found, values, strict=True):
        assert row == pytest.approx(np.interp(scores, node, expected), abs=1e-9)


def off_grid(node, values, scores):
    """Return the largest error of a grid within the table, in probability."""
    inside = np.abs(scores) < 2.0
    grid = interpolation.Grid(node, values, -2.0, 2.0)(scores)
    table = interpolation.read(node, values, scores)
    assert np.array_equal(grid[:, ~inside], table[:, ~inside])
    return np.abs(special.expit(grid) - special.expit(table)).max()


@pytest.mark.parametrize("reach", [1.0, 1e-3, 1e-12])
def test_a_grid_is_its_table(reach, monkeypatch):
    node = np.r_[-3.0, np.unique(RNG.normal(0.3, 0.3, 20)), 0.4 + reach * np.linspace(0, 1, 50), 3]
    node = np.unique(node)
    values = np.stack([np.cumsum(RNG.exponential(size=node.size)), 9 * RNG.normal(size=node.size)])
    near = node[1:-1, None] + np.linspace(-4.0, 4.0, 33) / interpolation.CELLS
    scores = np.r_[RNG.uniform(-3.0, 3.0, 5000), near.ravel(), node]
    assert off_grid(node, values, scores) < interpolation.ROUGH * interpolation.TOLERANCE
    # Cells with a node that the line across them misses are not read off the grid.
    monkeypatch.setattr(interpolation, "ROUGH", np.inf)
    assert off_grid(node, values, scores) > interpolation.TOLERANCE


@pytest.mark.parametrize("steep", [5.0, 1e4])
def test_a_grid_has_the_log_odds_where_probabilities_are_all_0(steep):
    node = np.linspace(-2.0, 2.0, 4001)
    values = -30.0 - steep * np.abs(node)
    scores = RNG.uniform(-2.0, 2.0, 100_000)
    grid = interpolation.Grid(node, values, -2.0, 2.0)(scores)
    table = interpolation.read(node, values, scores)
    near = table > -interpolation.SATURATED
    limit = interpolation.ROUGH * interpolation.LOG_ODDS_TOLERANCE
    assert (np.abs(grid - table) <= 1.01 * limit * (1.0 + np.abs(table)))[near].all()


def test_equal_scores():
    same = np.full(5000, 0.7)
    assert Tables(0.0, 1.0).curve("line", lambda s: 2 * s, same) == pytest.approx(1.4)


@pytest.mark.parametrize("towards", [-np.inf, np.inf])
def test_ends_next_to_a_node(towards):
    # The largest and smallest score are a rounding off the first nodes.
    first = interpolation.first_nodes(-2.0, 2.0, 0.1, 0.3)
    ends = np.nextafter(first[[3, -4]], towards)
    scores = np.r_[RNG.uniform(*ends, 5000), ends]
    found = Tables(0.1, 0.3).curve("sine", lambda s: 3 * np.sin(s), scores)
    assert special.expit(found) == pytest.approx(special.expit(3 * np.sin(scores)), abs=1e-4)


def test_a_table_is_made_once_and_does_not_depend_on_what_was_asked_before():
    calls = []

    def curve(s):
        calls.append(s.size)
        return 3 * np.sin(s)

    tables, scores = Tables(0.0, 1.0), RNG.uniform(-3.0, 3.0, 5000)
    first = tables.curve("sine", curve, scores)
    asked = len(calls)
    assert np.array_equal(tables.curve("sine", curve, scores[:3000]), first[:3000])
    assert len(calls) == asked
    tables.curve("sine", curve, 10.0 * scores)
    assert len(calls) > asked
    assert np.array_equal(tables.curve("sine", curve, scores), first)
    other = tables.curve("double", lambda s: 2.0 * curve(s), scores)
    assert special.expit(other) == pytest.approx(special.expit(2.0 * first), abs=1e-3)


def test_another_prior_has_tables_of_its_own():
    calibrator = ScoreCalibrator(draws=250, random_state=1).fit(SKEWED, POSITIVE)
    many = RNG.normal(size=3000)
    plain = calibrator.predict_interval(many)
    rare = calibrator.predict_interval(many, prior=0.001)
    assert (rare < plain).all()
    assert np.array_equal(calibrator.predict_interval(many), plain)
    assert np.array_equal(calibrator.predict_interval(many, prior=0.001), rare)


def test_few_tables_are_kept():
    tables = Tables(0.0, 1.0)
    for k in range(100):
        tables.curve(k, np.sin, RNG.normal(size=3000))
    assert len(tables._made) <= MOST


def test_draws_that_are_all_the_same_do_not_cut_a_table_for_ever():
    # Half of the draws are one line, on which the upper quantile runs for a stretch.
    rng = np.random.default_rng(3)
    shift = np.r_[np.zeros(200), rng.normal(size=200)]
    slope = np.r_[np.ones(200), np.exp(rng.normal(0.0, 0.5, 200))]
    draws = Lines(shift, slope)
    cuts, scores = [], np.linspace(-4.0, 4.0, 5000)
    found = Tables(0.0, 1.0).quantiles(draws, np.array([0.3, 0.6]), scores)
    expected = np.quantile(draws.log_odds(scores), [0.3, 0.6], axis=0)
    assert np.abs(special.expit(found) - special.expit(expected)).max() < interpolation.TOLERANCE
    Tables(0.0, 1.0).quantiles(Lines(shift, slope, cuts), np.array([0.3, 0.6]), scores)
    assert len(cuts) < 4000


class Lines:
    """Draws of straight lines, which count how often they are asked."""

    def __init__(self, shift, slope, asked=None):
        self.shift, self.slope, self.asked = shift, slope, [] if asked is None else asked

    @property
    def size(self):
        return self.shift.size

    def take(self, index):
        return type(self)(self.shift[index], self.slope[index], self.asked)

    def log_odds(self, scores):
        self.asked.append(scores.size)
        return self.shift[:, None] + self.slope[:, None] * scores


class Parabolas(Lines):
    """The same of scores that are bent."""

    def log_odds(self, scores):
        return super().log_odds(scores + 0.3 * scores**2)


def test_bands_whose_probabilities_go_all_their_way_between_two_nodes():
    rng = np.random.default_rng(4)
    slope = 1e5 * np.exp(rng.normal(0.0, 0.01, 400))
    draws = Parabolas(-slope * (0.9 + 1e-4 * rng.normal(size=400)), slope)
    scores = np.r_[np.linspace(-2.0, 2.0, 3000), 0.7369 + np.linspace(-3e-4, 3e-4, 3000)]
    levels = np.array([0.05, 0.95])
    found = Tables(0.0, 1.0).quantiles(draws, levels, scores)
    expected = special.expit(np.quantile(draws.log_odds(scores), levels, axis=0))
    assert np.count_nonzero((expected > 0.01) & (expected < 0.99)) > 500
    assert np.abs(special.expit(found) - expected).max() < interpolation.TOLERANCE


@pytest.mark.parametrize("shape", [(), (2,), (3, 2)])
@pytest.mark.parametrize("nodes", [3, 4, 60])
def test_akima_is_that_of_scipy(nodes, shape):
    rng = np.random.default_rng(nodes)
    node = np.sort(rng.normal(size=nodes))
    values = np.cumsum(rng.exponential(size=(*shape, nodes)), axis=-1)
    # Where the chords on both sides are straight, the slope is the mean of them.
    values[..., 10:15], values[..., 20:30] = 1.0, node[20:30]
    at = np.linspace(node[0], node[-1], 500)
    interval = np.clip(np.searchsorted(node, at, side="right") - 1, 0, nodes - 2)
    expected = Akima1DInterpolator(node, values, axis=-1)(at)
    found = akima(node, values, at, interval)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)

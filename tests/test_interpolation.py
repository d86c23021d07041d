"""Interpolated curves are the curves evaluated, within the stated errors: points and bands."""

from copy import copy
from functools import cache, partial

import numpy as np
import pytest
from scipy import special

from bayescal import Densities, Monotone, ScoreCalibrator
from bayescal.families import FAMILIES
from bayescal.fitting.curves import curves
from bayescal.fitting.curves.curves import (
    DIRECT,
    MANY,
    MOST_TABLES,
    POINT,
    Tables,
    band_error,
    quantiles_of_log_odds,
)
from tests.sizes import size

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
CHECKED, DRAWS = size(300, 1000), 500
FAR = np.array([-1e4, 1e4, -1e90, 1e90])
MODELS = {
    **{name: {"parts": name} for name in sorted(FAMILIES)},
    "combined": {},
    "warped densities": {"parts": Densities("gaussian", warp="average")},
    "monotone": {"parts": "monotone"},
    "warped monotone": {"parts": Monotone(warp=2.0)},
    "recalibrated": {"parts": "recalibrated"},
}


@cache
def problem(name, model):
    """Return a fitted calibrator, many scores, and the positions of some that are checked."""
    scores, unit = PROBLEMS[name]
    positive = POSITIVE if scores.size == 120 else np.arange(scores.size) < 3
    settings = {"draws": DRAWS, "random_state": 1} | MODELS[model]
    calibrator = ScoreCalibrator(**settings).fit(scores, positive)
    rng = np.random.default_rng(1)
    far = FAR if name == "skewed" else FAR[:2]
    many = np.median(scores) + unit * np.r_[rng.standard_t(2, size=20_000), far]
    # Half of those checked where the curve is steepest: P of 1 to 99 %.
    steep = np.flatnonzero(np.abs(calibrator.decision_function(many[:20_000])) < 4.6)
    chosen = [rng.choice(20_000, CHECKED), np.arange(20_000, many.size)]
    some = np.concatenate([*chosen, steep[:CHECKED]])
    # So many that they are found by cells.
    return calibrator, np.resize(many, MANY), some


def bands(draws, scores, levels=(0.05, 0.95), scale=(0.0, 1.0)):
    """Return quantiles of P(+|s) by a table, shape (levels, scores)."""
    curve = partial(quantiles_of_log_odds, draws, levels=np.array(levels))
    return special.expit(Tables(*scale).read("band", curve, scores, band_error(draws.size)))


def exact_bands(draws, scores, levels=(0.05, 0.95)):
    return special.expit(quantiles_of_log_odds(draws, scores, np.array(levels)))


def points_off_by(name, model, point):
    """Return the largest error in probability of a point estimate."""
    calibrator, many, some = problem(name, model)
    calibrator = copy(calibrator).set_params(point=point)
    found = calibrator.decision_function(many)[some]
    batches = np.array_split(many[some], some.size // DIRECT + 1)
    true = np.concatenate([calibrator.decision_function(batch) for batch in batches])
    return np.abs(special.expit(found) - special.expit(true)).max()


def bands_off_by(name, model):
    """Return the largest error in probability of the ends of bands."""
    calibrator, many, some = problem(name, model)
    fitted = calibrator._fitted.calibration
    lower, upper = bands(fitted.draws, many, scale=(fitted.centre, fitted.spread))[:, some]
    assert (lower <= upper).all()
    return np.abs([lower, upper] - exact_bands(fitted.draws, many[some])).max()


def draws_off_by(name, model):
    """Return the largest error in probability of some draws' curves."""
    calibrator, many, some = problem(name, model)
    found = calibrator.sample_proba(many, 10, 0)[:, some]
    return np.abs(found - calibrator.sample_proba(many[some], 10, 0)).max()


# Each problem with half of the models, and each model with half of the problems.
CASES = [
    (name, model)
    for i, name in enumerate(PROBLEMS)
    for j, model in enumerate(MODELS)
    if (i + j) % 2 == 0
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "model"), CASES)
def test_many_scores_have_the_answers_of_few(name, model):
    assert points_off_by(name, model, "predictive") < POINT
    assert points_off_by(name, model, "mean") < POINT
    assert bands_off_by(name, model) < band_error(DRAWS)
    assert draws_off_by(name, model) < POINT


def test_drawn_curves_of_many_scores_are_read_off_a_table(monkeypatch):
    calibrator, many, _ = problem("skewed", "monotone")
    posterior, asked = type(calibrator._fitted.calibration.draws), []
    own = posterior.log_odds
    monkeypatch.setattr(posterior, "log_odds", lambda *a: asked.append(a[1].size) or own(*a))
    assert calibrator.sample_proba(many, 10, 0).shape == (10, MANY)
    assert 0 < sum(asked) < MANY
    assert draws_off_by("skewed", "monotone") < POINT


@pytest.mark.parametrize("draws", [2, 30, 4000])
def test_bands_of_few_and_of_many_draws(draws):
    calibrator = ScoreCalibrator(draws=draws, chains=1, random_state=1).fit(SKEWED, POSITIVE)
    many, curves = RNG.normal(size=3000), calibrator._fitted.calibration.draws
    assert np.abs(bands(curves, many) - exact_bands(curves, many)).max() < band_error(draws)


SHAPES = [
    lambda s: 5 * s,
    lambda s: np.where(s < 0.123, -3.0, 40 * (s - 0.123) - 3.0),  # a kink
    lambda s: 3 * np.sin(9 * np.clip(s, -2.0, 2.0)),
    lambda s: np.stack([s, -(s**2), np.tanh(50 * s)]),
    lambda s: np.where(s < 0.123, -1.0, s),  # a jump
    lambda s: np.where(s < 0.0, -1.0, s),
    lambda s: np.maximum(0.0, 1.0 - 20.0 * np.abs(s - 0.0625)),  # a spike
    lambda s: 3.0 - np.abs(s - 0.321) / 1e-9,  # degenerate sides: Laplace, Student, Gaussian
    lambda s: 2.0 - 2.5 * np.log1p(((s - 0.321) / 1e-9) ** 2),
    lambda s: 5.0 - ((s - 0.321) / 1e-9) ** 2,
    lambda s: 2.5 * np.log1p(s**2) - 2.0 * np.log1p((s - 1.0) ** 2),
    lambda s: 0.01 * s**3 - s,
]


@pytest.mark.parametrize("error", [POINT, 1e-3])
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("curve", SHAPES)
def test_any_curve(curve, unit, error):
    near = 0.321 + 1e-9 * RNG.normal(size=500)
    scores = np.r_[RNG.uniform(-2, 2, 5000), near, unit * RNG.standard_t(2, 5000)]
    expected = special.expit(curve(scores))
    for many in (scores, np.resize(scores, MANY)):
        found = Tables(0.1, 0.7).read("curve", curve, many, error)[..., : scores.size]
        assert found.shape == expected.shape
        assert np.abs(special.expit(found) - expected).max() < error


def test_neighbours_of_an_interval_that_is_off_are_cut():
    # At both thirds of the first interval the curve lies on the line.
    def curve(s):
        return np.where(s < 1.0, 0.3 * np.sin(3.0 * np.pi * s), 9.0 * (s - 1.0) ** 2)

    node, values = curves.refine(curve, np.arange(4.0), POINT)
    at = np.linspace(0.0, 3.0, 1001)
    found = special.expit(np.interp(at, node, values))
    assert found == pytest.approx(special.expit(curve(at)), abs=POINT)


def test_other_scores_of_the_batch_hardly_matter():
    curve, scores = SHAPES[2], RNG.uniform(-2.0, 2.0, 1000)
    alone = Tables(0.0, 1.0).read("curve", curve, scores, POINT)
    among = Tables(0.0, 1.0).read("curve", curve, np.append(scores, [1e3, -1e6]), POINT)[:-2]
    assert np.abs(special.expit(among) - special.expit(alone)).max() < POINT


def test_few_points_are_evaluated():
    calls = []

    def curve(s):
        calls.append(s.size)
        return 3 * np.sin(s)

    Tables(0.0, 1.0).read("sine", curve, RNG.normal(size=1_000_000), POINT)
    assert sum(calls) < 3000
    calls.clear()
    Tables(0.0, 1.0).read("sine", curve, RNG.normal(size=DIRECT), POINT)
    assert calls == [DIRECT]


@pytest.mark.parametrize("reach", [1.0, 1e-3, 1e-12])
def test_many_scores_are_interpolated_as_few_are(reach):
    node = np.r_[-3.0, np.unique(RNG.normal(0.3, 0.3, 20)), 0.4 + reach * np.linspace(0, 1, 50), 3]
    node = np.unique(node)
    values = np.stack([np.cumsum(RNG.exponential(size=node.size)), 9 * RNG.normal(size=node.size)])
    near = node[1:-1, None] + np.linspace(-4.0, 4.0, 33) / curves.CELLS
    scores = np.resize(np.r_[RNG.uniform(-3.0, 3.0, 5000), near.ravel(), node], MANY)
    found = curves._Table(node, values, -2.0, 2.0).read(scores)
    for row, expected in zip(found, values, strict=True):
        assert row == pytest.approx(np.interp(scores, node, expected), abs=1e-9)


def test_equal_scores():
    same = np.full(5000, 0.7)
    assert Tables(0.0, 1.0).read("line", lambda s: 2 * s, same, POINT) == pytest.approx(1.4)


@pytest.mark.parametrize("towards", [-np.inf, np.inf])
def test_ends_next_to_a_node(towards):
    # The largest and smallest score are a rounding off the first nodes.
    first = curves.first_nodes(-2.0, 2.0, 0.1, 0.3)
    ends = np.nextafter(first[[3, -4]], towards)
    scores = np.r_[RNG.uniform(*ends, 5000), ends]
    found = Tables(0.1, 0.3).read("sine", lambda s: 3 * np.sin(s), scores, POINT)
    assert special.expit(found) == pytest.approx(special.expit(3 * np.sin(scores)), abs=1e-4)


def test_a_table_is_made_once_and_does_not_depend_on_what_was_asked_before():
    calls = []

    def curve(s):
        calls.append(s.size)
        return 3 * np.sin(s)

    made, scores = Tables(0.0, 1.0), RNG.uniform(-3.0, 3.0, 5000)
    first = made.read("sine", curve, scores, POINT)
    asked = len(calls)
    assert np.array_equal(made.read("sine", curve, scores[:3000], POINT), first[:3000])
    assert len(calls) == asked
    made.read("sine", curve, 10.0 * scores, POINT)
    assert len(calls) > asked
    assert np.array_equal(made.read("sine", curve, scores, POINT), first)
    other = made.read("double", lambda s: 2.0 * curve(s), scores, POINT)
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
    made = Tables(0.0, 1.0)
    for k in range(100):
        made.read(k, np.sin, RNG.normal(size=3000), POINT)
    assert len(made._made) <= MOST_TABLES


class Lines:
    """Draws of straight lines, which count how often they are asked."""

    def __init__(self, shift, slope):
        self.shift, self.slope, self.size, self.asked = shift, slope, shift.size, 0

    def log_odds(self, scores):
        self.asked += scores.size
        return self.shift[:, None] + self.slope[:, None] * scores


class Parabolas(Lines):
    """The same of scores that are bent."""

    def log_odds(self, scores):
        return super().log_odds(scores + 0.3 * scores**2)


def test_draws_that_are_all_the_same_do_not_cut_a_table_for_ever():
    # Half of the draws are one line, on which the upper quantile runs for a stretch.
    rng = np.random.default_rng(3)
    shift = np.r_[np.zeros(200), rng.normal(size=200)]
    draws = Lines(shift, np.r_[np.ones(200), np.exp(rng.normal(0.0, 0.5, 200))])
    scores = np.linspace(-4.0, 4.0, 5000)
    found = bands(draws, scores, (0.3, 0.6))
    assert draws.asked < 1000
    assert np.abs(found - exact_bands(draws, scores, (0.3, 0.6))).max() < band_error(draws.size)


def test_bands_whose_probabilities_go_all_their_way_between_two_nodes():
    rng = np.random.default_rng(4)
    slope = 1e5 * np.exp(rng.normal(0.0, 0.01, 400))
    draws = Parabolas(-slope * (0.9 + 1e-4 * rng.normal(size=400)), slope)
    scores = np.r_[np.linspace(-2.0, 2.0, 3000), 0.7369 + np.linspace(-3e-4, 3e-4, 3000)]
    expected = exact_bands(draws, scores)
    assert np.count_nonzero((expected > 0.01) & (expected < 0.99)) > 500
    assert np.abs(bands(draws, scores) - expected).max() < band_error(draws.size)


def test_rounding_errors_do_not_cut_a_table_for_ever():
    asked = []

    def noise(s):
        asked.append(s.size)
        return np.random.default_rng(len(asked)).normal(size=s.size)

    Tables(0.0, 1.0).read("noise", noise, RNG.normal(size=100), POINT)
    assert sum(asked) <= curves.MOST_NODES

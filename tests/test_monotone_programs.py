"""The monotone engine's density is its programs'; that its draws are NUTS's is tested elsewhere."""

import numpy as np
import pytest
import scipy.stats as st
from scipy import special

from bayescal import Logistic, Monotone, ScoreCalibrator
from bayescal.distributions import place_knots, programs
from bayescal.fitting.engines.monotone import density
from bayescal.fitting.engines.monotone.engine import LaplaceFits, number_of_segments
from bayescal.fitting.engines.program import build_model
from bayescal.fitting.scores import BinaryScores
from tests.uncompiled import UNCOMPILED

RNG = np.random.default_rng(21)
SCORE = np.concatenate([RNG.normal(2, 3, 9), RNG.normal(6, 2, 5)])
LABEL = np.repeat([0, 1], [9, 5])
NAMES = ("logistic", "monotone_log_odds")
PRIOR_NAMES = {
    "logistic": ("intercept_location", "intercept_scale", "slope_location", "slope_scale"),
    "monotone_log_odds": (
        "intercept_location",
        "intercept_scale",
        "slope_location",
        "slope_scale",
        "walk_scale",
        "walk_freedom",
    ),
}


def random_hyperparameters(name):
    # Moderate slopes: without its rewrites pytensor's log(1 - sigmoid) is -inf from 37 on.
    hyper = {key: float(RNG.uniform(0.5, 1.5)) for key in PRIOR_NAMES[name]}
    return hyper, float(RNG.normal(4.0)), float(RNG.uniform(3.0, 5.0))


def reference_log_density(point, pieces, hyper, centre, spread):
    """The log density of labels and parameters, written with scipy; pieces in raw units."""
    of_intercept = st.norm(hyper["intercept_location"], hyper["intercept_scale"])
    lines = [of_intercept.logpdf(point["intercept"])]
    lines.append(st.norm(hyper["slope_location"], hyper["slope_scale"]).logpdf(point["level"]))
    knots = pieces.knots
    if knots.size:
        walk = st.multivariate_t(np.zeros(knots.size), np.eye(knots.size), hyper["walk_freedom"])
        lines.append(walk.logpdf(point["walk"]))
    lines.extend(st.t(4, centre, spread).logpdf(SCORE))
    edges = np.r_[-np.inf, knots, np.inf]
    home = np.flatnonzero((edges[:-1] <= pieces.reference) & (pieces.reference < edges[1:])).item()
    for s, k in zip(SCORE, LABEL, strict=True):
        log_odds = point["intercept"]
        for j in range(knots.size + 1):
            between = np.r_[point["walk"][home:j], point["walk"][j:home]].sum() if j != home else 0
            step = hyper["walk_scale"] / np.sqrt(knots.size) if knots.size else 0.0
            slope = np.exp(point["level"] + step * between) / spread
            span = sorted((s, pieces.reference))
            overlap = max(min(span[1], edges[j + 1]) - max(span[0], edges[j]), 0.0)
            log_odds += np.sign(s - pieces.reference) * slope * overlap
        lines.append(special.log_expit(log_odds if k else -log_odds))
    return float(np.sum(lines))


@pytest.mark.parametrize("name", NAMES)
def test_the_engine_s_density_is_the_program_s_and_scipy_s(name):
    program = programs.load(name)
    n_segments = 1 if name == "logistic" else 5
    for _ in range(3):
        hyper, centre, spread = random_hyperparameters(name)
        shape = {} if name == "logistic" else {"n_segments": n_segments}
        model = program.model(SCORE, LABEL, centre=centre, spread=spread, **hyper, **shape)
        log_density = model.compile_logp(mode=UNCOMPILED)
        x, positive = (SCORE - centre) / spread, LABEL == 1
        pieces = density.place_pieces(x, positive, None, n_segments)
        raw = density.place_pieces(SCORE, positive, None, n_segments)
        assert pieces.segments == n_segments
        ones = np.ones(x.size)
        sums = [density.ScoreSums(x[positive == k], ones[positive == k]) for k in (False, True)]
        flat = np.zeros(1), np.ones((1, n_segments))
        nodes = tuple(scores.compress(pieces, *flat) for scores in sums)
        engine = density.PosteriorDensity(pieces, nodes, density.Prior(**hyper))
        # The program's level is not standardised, and its scores have a density.
        constant = st.t(4, centre, spread).logpdf(SCORE).sum() - np.log(hyper["slope_scale"])
        for _ in range(3):
            u = RNG.normal(size=n_segments + 1)
            level = hyper["slope_location"] + hyper["slope_scale"] * u[1]
            point = {"intercept": u[0], "level": level, "walk": u[2:]}
            expected = reference_log_density(point, raw, hyper | {"walk_scale": hyper.get(
                "walk_scale", 1.0)}, centre, spread)  # fmt: skip
            if not raw.knots.size:
                del point["walk"]
            assert float(log_density(point)) == pytest.approx(expected, abs=1e-7)
            assert engine.log_density(u[None])[0] + constant == pytest.approx(expected, abs=1e-7)


def apart(negatives, positives, gap=20.0, places=9):
    """Return scores on both sides of a gap, rounded, and their labels."""
    rng = np.random.default_rng(negatives)
    score = np.r_[rng.normal(0, 1, negatives), rng.normal(gap, 1, positives)]
    return np.round(score, places), np.arange(score.size) >= negatives


SETS = {
    "separated": apart(20, 20),
    "separated, three positives": apart(30, 3),
    "a gap in a class": (apart(20, 20)[0], np.arange(40) % 10 < np.repeat([1, 9], 20)),
    "overlapping": apart(30, 12, gap=1.0),
    "tied": apart(40, 40, gap=1.0, places=0),
    "tied in two places": (np.repeat([0.0, 5.0], 20), np.arange(40) >= 20),
    "all tied": (np.full(9, 3.0), np.arange(9) >= 5),
    "many": apart(900, 400, gap=2.0, places=1),
    "one of each": (np.array([0.0, 1.0]), np.array([False, True])),
    "one and two": (np.array([2.0, 2.0, 3.0]), np.array([False, True, True])),
    "one class": (np.arange(7.0) ** 3, np.zeros(7, dtype=bool)),
}


def engine_and_program(name, score, positive):
    """Return the engine's density of a fit without warp, and the program's model, of a set."""
    data = BinaryScores(score, positive)
    segments = 1 if name == "logistic" else number_of_segments(data)
    units = data.centre_and_spread
    fit = LaplaceFits(data).of(*units, np.inf, density.Prior(), n_segments=segments)
    return fit.density, build_model(programs.load(name), data), units


def differences(engine, model, seed=4):
    """Return the log density of the program less that of the engine, at random points."""
    log_density = model.compile_logp(mode=UNCOMPILED)
    points = 0.5 * np.random.default_rng(seed).normal(size=(5, engine.dimension))
    named = [{"intercept": u[0], "level": u[1], "walk": u[2:]} for u in points]
    names = [variable.name for variable in model.free_RVs]
    values = [float(log_density({key: point[key] for key in names})) for point in named]
    return np.array(values) - engine.log_density(points)


# A line has no knots to place: four sets tell where it starts.
OF_LINES = ("separated", "tied in two places", "all tied", "one class")


@pytest.mark.parametrize(
    ("name", "shape"),
    [("monotone_log_odds", shape) for shape in SETS] + [("logistic", shape) for shape in OF_LINES],
)
def test_any_set_has_the_density_and_the_reference_of_the_engine(name, shape):
    engine, model, (centre, spread) = engine_and_program(name, *SETS[shape])
    assert np.ptp(differences(engine, model)) < 1e-6
    raw = centre + spread * np.r_[engine.pieces.reference, engine.pieces.knots]
    assert model["origin"].get_value() == pytest.approx(raw[0])
    if name == "monotone_log_odds":
        np.testing.assert_allclose(model["low"].get_value()[1:], raw[1:])


@pytest.mark.parametrize("n_segments", [1, 2, 4, 9, 30])
@pytest.mark.parametrize("positives", [0, 5, 14])
def test_program_and_engine_place_the_same_knots(n_segments, positives):
    label = np.repeat([0, 1], [14 - positives, positives])
    model = programs.load("monotone_log_odds").model(SCORE, label, n_segments=n_segments)
    pieces = density.place_pieces(SCORE, label == 1, None, n_segments)
    np.testing.assert_array_equal(model["high"].get_value()[:-1], pieces.knots)
    assert model["origin"].get_value() == pieces.reference


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("draws", [None, 1, 3])
def test_simulate_draws_labels_from_the_curve_it_returns(name, draws):
    simulate = programs.load(name).simulate
    tame = {"intercept_scale": 0.5, "slope_scale": 0.2, "centre": 1.0, "spread": 2.0}
    truth = simulate(2000, np.random.default_rng(3), draws=draws, **tame)
    lead = () if draws is None else (draws,)
    assert truth["score"].shape == truth["label"].shape == (*lead, 2000)
    assert truth["intercept"].shape == lead
    first = {key: value if draws is None else value[0] for key, value in truth.items()}
    x = (first["score"] - 1.0) / 2.0
    knots = np.linspace(-2, 2, 10)[1:-1] if name == "monotone_log_odds" else np.zeros(0)
    rise = density.Pieces(knots, 0.0).basis(x) @ np.atleast_1d(first["slope"])
    assert abs(score_statistic(first["label"], first["intercept"] + rise, rise)) < 4
    assert abs(score_statistic(first["label"], first["intercept"] + 0.7 * rise, rise)) > 4


def score_statistic(label, log_odds, direction):
    """Standard Gaussian if labels have these log-odds."""
    p = special.expit(log_odds)
    return (label - p) @ direction / np.sqrt((p * (1 - p)) @ direction**2)


def test_knots_need_a_class_of_each_score():
    with pytest.raises(ValueError, match="score and positive must have the same length, got 3"):
        place_knots(SCORE[:3], LABEL == 1, None, 3)


def test_three_pieces_of_the_calibrator_have_the_knots_of_the_program():
    fitted = ScoreCalibrator(Monotone(n_segments=3, warp="none"), draws=50, random_state=0).fit(
        SCORE, LABEL
    )
    constants = fitted.posterior_["parts/monotone/engine_draws"].to_dataset()
    knots, reference = place_knots(SCORE, LABEL == 1, None, 3)
    centre, spread = float(constants["centre"]), float(constants["spread"])
    np.testing.assert_allclose(centre + spread * constants["knots"].values, knots)
    assert centre + spread * float(constants["reference"]) == pytest.approx(reference)
    assert fitted.posterior_["parts/monotone/engine_draws"].sizes["segment"] == 3
    np.testing.assert_allclose(fitted.posterior_["posterior"]["score"][1:-1], knots)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (Monotone(n_segments=0), "n_segments must be a positive whole number, got 0"),
        (Monotone(n_segments=2.5), "n_segments must be a positive whole number, got 2.5"),
        (Logistic(prior_knowledge={"n_segments": 3}), "of Logistic may hold .* got 'n_segments'"),
    ],
)
def test_other_numbers_of_pieces_are_refused(parts, message):
    calibrator = ScoreCalibrator(parts)
    with pytest.raises(ValueError, match=message):
        calibrator.fit(SCORE, LABEL)

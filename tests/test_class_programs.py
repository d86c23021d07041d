"""The programs of several classes and of grades have the densities of the engine and of scipy."""

import numpy as np
import pymc as pm
import pytest
import scipy.stats as st
from scipy import special

from bayescal import Logistic, OrdinalCalibrator
from bayescal.distributions import programs
from tests.multiclass_tools import log_scores, posterior_of, random_point
from tests.nuts_reference import Reference, from_independent
from tests.test_live_nuts import LIMIT
from tests.uncompiled import UNCOMPILED

LOG_P = log_scores(12, 3, 4)
LABEL = np.random.default_rng(3).integers(3, size=12)
BEST = LOG_P.argmax(axis=1)
SETS = {
    "overlapping": (LOG_P, LABEL),
    "separated": (LOG_P, BEST),
    "tied": (LOG_P[np.arange(12) % 3], LABEL),
    "tiny": (LOG_P[:2], LABEL[:2]),
}


def hyperparameters(posterior):
    made, prior = posterior.likelihood.design, posterior.prior
    names = ("gain", "warp", "asymmetry")
    out = {f"{name}_location": posterior.mean[k] for k, name in enumerate(names)}
    out |= {f"{name}_scale": posterior.sd[k] for k, name in enumerate(names)}
    return out | {
        "unit": made.unit,
        "anchor": made.anchor,
        "centre": made.centre,
        "size": made.size,
        "lapse_alpha": prior.lapse[0],
        "lapse_beta": prior.lapse[1],
        "scales": posterior.scales,
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_density_is_the_program_s(name):
    log_p, label = SETS[name]
    posterior = posterior_of(log_p, label)
    program = programs.load("joint_multiclass").model(log_p, label, **hyperparameters(posterior))
    log_density = program.compile_logp(jacobian=False, mode=UNCOMPILED)
    differences = []
    for seed in range(4):
        point = random_point(posterior, seed)
        maps = posterior.maps(point[None])
        scale = np.exp(point[4 : posterior.first])
        theta = maps.theta[0]
        root = point[3]
        ratio = 2.0 * (posterior.scales / scale) ** 2
        lapse = root**2 / (1.0 + root**2)
        confusion = theta[3:].T[~np.eye(3, dtype=bool)]
        values = {
            "log_gain": maps.globals_[0, 0],
            "warp": maps.globals_[0, 1],
            "asymmetry": maps.globals_[0, 2],
            "lapse_logodds__": np.log(lapse / (1.0 - lapse)),
            "ratio_log__": np.log(ratio),
            "bias": theta[0],
            "slope": theta[1],
            "certainty": theta[2],
            "confusion": confusion,
        }
        # From the program's parameters to the engine's coordinates.
        jacobian = np.log1p(maps.globals_[0, 2]) + np.log(ratio).sum()
        jacobian += np.log(2.0 * abs(root) / (1.0 + root**2) ** 2)
        jacobian += np.log(scale)[posterior.block].sum()
        differences.append(posterior(point[None])[0][0] - log_density(values) - jacobian)
    np.testing.assert_allclose(differences, differences[0], atol=1e-6)


@pytest.mark.slow
def test_simulate_draws_labels_from_the_map():
    drawn = programs.load("joint_multiclass").simulate(
        200, np.random.default_rng(0), scales=(1e-6,) * 4, gain_scale=1e-6, warp_scale=1e-6,
        warp_location=1.0, asymmetry_location=0.0, asymmetry_scale=1e-6, lapse_beta=1e6,
        gain_location=0.0, draws=20,
    )  # fmt: skip
    p = np.exp(drawn["score"])
    assert drawn["label"].shape == (20, 200)
    hit = np.take_along_axis(p, drawn["label"][..., None], axis=2)[..., 0]
    # The labels' mean probability is that of labels drawn from the scores themselves.
    expected, error = (p**2).sum(axis=2), np.sqrt(0.25 / hit.size)
    assert abs(hit.mean() - expected.mean()) < 4.0 * error


# The program of graded labels: its density is scipy's, and its posterior OrdinalCalibrator's

RNG = np.random.default_rng(2)
SCORE = RNG.normal(size=60)
GRADE = np.digitize(SCORE + 0.5 * RNG.logistic(size=60), [-0.4, 0.6, 1.2])
NEW = np.array([-1.5, 0.0, 1.5])


def log_density_of(point, centre, spread):
    """The log density written with scipy, document by document."""
    lines = [st.norm(0.0, 3.0).logpdf(point["intercept"])]
    lines.append(np.atleast_1d(st.norm(0.5, 2.0).logpdf(point["level"])))
    for score, grade in zip(SCORE, GRADE, strict=True):
        step = special.expit(
            point["intercept"] + np.exp(point["level"]) * (score - centre) / spread
        )
        stays = 1.0 - step[grade] if grade < 3 else 1.0
        lines.append([np.log(stays * np.prod(step[:grade]))])
    return np.concatenate(lines).sum()


@pytest.mark.parametrize(
    ("centre", "spread"),
    [(0.5, 2.0), (np.array([0.1, 0.5, 1.0]), np.array([1.0, 0.8, 0.5]))],
    ids=["one unit", "one a stage"],
)
def test_the_density_is_a_product_over_the_stages_of_each_document(centre, spread):
    settings = {"intercept_scale": 3.0, "slope_location": 0.5, "slope_scale": 2.0}
    program = programs.load("ordinal")
    model = program.model(SCORE, GRADE, centre=centre, spread=spread, **settings)
    log_density = model.compile_logp(mode=UNCOMPILED)
    for _ in range(3):
        point = {"intercept": RNG.normal(size=3), "level": 0.5 * RNG.normal(size=3)}
        expected = log_density_of(point, centre, spread)
        assert float(log_density(point)) == pytest.approx(expected, rel=1e-9)


def test_without_dims_all_stages_share_one_slope(tmp_path):
    source = programs.load("ordinal").path.read_text(encoding="utf-8")
    for line in ("slope_location, slope_scale", "pm.math.exp(level)"):
        assert source.count(f'{line}, dims="stage")') == 1
        source = source.replace(f'{line}, dims="stage")', f"{line})")
    (tmp_path / "shared.py").write_text(source)
    settings = {"intercept_scale": 3.0, "slope_location": 0.5, "slope_scale": 2.0}
    model = programs.load(tmp_path / "shared.py").model(SCORE, GRADE, **settings)
    point = {"intercept": np.array([0.3, -0.4, -1.0]), "level": np.array(0.2)}
    found = float(model.compile_logp(mode=UNCOMPILED)(point))
    assert found == pytest.approx(log_density_of(point, 0.0, 1.0), rel=1e-9)


def units_of(calibrator):
    """Return the centres and spreads of the scores by which stages are fitted."""
    draws = [each.posterior_["parts/logistic/engine_draws"] for each in calibrator.stages_.values()]
    centre, spread, reference = (
        np.array([float(each[name]) for each in draws])
        for name in ("centre", "spread", "reference")
    )
    return centre + spread * reference, spread


def log_odds_to_reach(calibrator):
    """Return draws of the log-odds of P(grade >= k | new), (draws, 9)."""
    reached = calibrator.sample_proba(NEW)[:, :, 1:] @ np.tri(3)
    return special.logit(reached).reshape(len(reached), -1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:overflow encountered in:RuntimeWarning")
def test_the_posterior_is_that_of_the_calibrator():
    # Of 63 numbers one passes the limit by chance once in two hundred million runs.
    options = {"draws": 2000, "random_state": 0}
    same = OrdinalCalibrator(Logistic(warp="none"), **options).fit(SCORE, GRADE)
    centre, spread = units_of(same)
    model = programs.load("ordinal").model(SCORE, GRADE, centre=centre, spread=spread, new=NEW)
    with model:
        found = pm.sample(
            1000, tune=500, chains=4, cores=1, random_seed=1, progressbar=False,
            target_accept=0.9,
        )["posterior"]  # fmt: skip
    assert found["exceedance"].shape == (4, 1000, 3, 3)
    chains = special.logit(found["exceedance"].to_numpy().reshape(4, 1000, -1))
    reference = Reference.of(chains)
    assert reference.effective > 400.0
    assert np.abs(from_independent(log_odds_to_reach(same), reference)).max() < LIMIT
    steeper = Logistic(warp="none", prior_knowledge={"slope_location": 0.5})
    other = OrdinalCalibrator(steeper, **options).fit(SCORE, GRADE)
    assert np.abs(from_independent(log_odds_to_reach(other), reference)).max() > LIMIT


@pytest.mark.parametrize("draws", [None, 1, 3])
def test_simulate_draws_grades_from_the_curves_it_returns(draws):
    tame = {"intercept_scale": 0.5, "slope_scale": 0.2, "centre": 1.0, "spread": 2.0}
    simulate = programs.load("ordinal").simulate
    truth = simulate(6000, np.random.default_rng(3), draws=draws, **tame)
    lead = () if draws is None else (draws,)
    assert truth["score"].shape == truth["label"].shape == (*lead, 6000)
    assert truth["intercept"].shape == truth["slope"].shape == (*lead, 3)
    last = {name: value if draws is None else value[-1] for name, value in truth.items()}
    x, grade = (last["score"] - 1.0) / 2.0, last["label"]
    for k in range(3):
        some = grade >= k
        rise = last["slope"][k] * x[some]
        for share, right in ((1.0, True), (0.4, False)):
            p = special.expit(last["intercept"][k] + share * rise)
            z = (((grade[some] > k) - p) @ rise) / np.sqrt((p * (1.0 - p)) @ rise**2)
            assert (abs(z) < 4.0) == right

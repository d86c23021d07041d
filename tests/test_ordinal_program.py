"""The program of graded labels: its density is scipy's, and its posterior OrdinalCalibrator's."""

import numpy as np
import pymc as pm
import pytest
import scipy.stats as st
from scipy import special

from bayescal import Logistic, OrdinalCalibrator
from bayescal.distributions import programs
from tests.nuts_reference import Reference, from_independent
from tests.test_live_nuts import LIMIT
from tests.uncompiled import UNCOMPILED

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

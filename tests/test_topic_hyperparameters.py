"""Hyperparameters of many topics: of their populations, or of each topic's own prior."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import special

from bayescal import Densities, ScoreCalibrator, TopicCalibrator, load
from bayescal.families import FAMILIES
from bayescal.fitting.engines.exact.joint_density import DensityPrior, Hyperparameters
from bayescal.fitting.engines.pooled import engine, log_odds, population
from bayescal.fitting.engines.pooled.population import (
    LOG_CONCENTRATION,
    LOGIT_RATE,
    draw_base_rates,
)
from tests.report_data import model_of, shown
from tests.test_topic_weights import ALL, FEW, LABELS, SCORES, TOPICS

POOLINGS = ("partial", "none", "complete")
# Each so narrow that the posterior is where it is.
SURE = 0.01
DENSITIES = dict(zip(population.DENSITY_NAMES, (0.4, -1.5, 0.6, 2.5, 2.0, -0.7), strict=True))
LOG_ODDS = dict(zip(population.LOG_ODDS_NAMES, (-0.5, -1.0, 0.3, -2.0), strict=True))
RATES = {"logit_rate": -1.0, "log_documents": 4.0}
GIVEN = {name: (value, SURE) for name, value in (DENSITIES | LOG_ODDS | RATES).items()}


def close(values, expected):
    return np.abs(values - expected).max() < 6 * SURE


@pytest.fixture(scope="module")
def fitted():
    return TopicCalibrator(**FEW, prior_knowledge=GIVEN | {"n_segments": 3}).fit(*ALL)


def usual():
    """Return all defaults of populations but that of log_width, which depends on the family."""
    of_both = (
        (population.DENSITY_NAMES, population.Hyperprior.of(1)),
        (population.LOG_ODDS_NAMES, log_odds.HYPERPRIOR),
    )
    found = {"logit_rate": LOGIT_RATE, "log_documents": LOG_CONCENTRATION}
    for names, hyperprior in of_both:
        found |= dict(zip(names, zip(hyperprior.mean, hyperprior.scale, strict=True), strict=True))
    del found["log_width"]
    return found


@pytest.mark.parametrize(
    ("settings", "given"),
    [
        ({}, usual() | {"n_segments": 9}),
        ({"parts": "gaussian"}, {"log_width": (-0.5 * math.log(2.0), 1.0)}),
        ({"pooling": "none"}, {"theta_scale": 2.0, "share_alpha": 2.0, "prior_beta": 1.0}),
        ({"pooling": "complete"}, {"width_shape": 2, "width_scale": 1, "logit_rate": (-2, 2)}),
    ],
)
def test_defaults_that_are_given_change_no_bit(settings, given):
    one, other = (
        TopicCalibrator(**FEW, **settings, prior_knowledge=each).fit(*ALL) for each in (given, None)
    )
    assert one.posterior_.equals(other.posterior_)


PLACE = "population/parts/{}/hyperparameters"
FIRST = PLACE.format("asymmetric_laplace")


def test_populations_are_where_they_are_said_to_be(fitted):
    tree = fitted.posterior_
    for group, names in ((FIRST, DENSITIES), (PLACE.format("monotone"), LOG_ODDS)):
        for name, value in names.items():
            assert close(tree[group][name].values, value), name
    # Gaussian sides have no share.
    for name in ("location", "log_scale", "log_shape", "log_width"):
        assert close(tree[PLACE.format("gaussian")][name].values, DENSITIES[name])
    alpha, beta = (tree[FIRST][name].values for name in ("rate_alpha", "rate_beta"))
    assert close(special.logit(alpha / (alpha + beta)), RATES["logit_rate"])
    assert close(np.log(alpha + beta), RATES["log_documents"])
    assert tree["parts/monotone/engine_draws"].sizes["segment"] == 3
    # The negative: without them it is elsewhere.
    plain = TopicCalibrator(**FEW, parts="laplace").fit(*ALL).posterior_[PLACE.format("laplace")]
    assert not close(plain["log_scale"].values, DENSITIES["log_scale"])


@pytest.mark.slow
def test_they_are_kept_in_files_and_shown_in_reports(fitted, tmp_path):
    again = load(fitted.save(tmp_path / "topics.nc"))
    assert json.dumps(again.prior_knowledge) == json.dumps(fitted.prior_knowledge)
    np.testing.assert_array_equal(again.predict_proba(*ALL[::2]), fitted.predict_proba(*ALL[::2]))
    assert again.diagnostics_ == fitted.diagnostics_
    formulas = [shown(line) for block in model_of(again, several=True) for line in block.formulas]
    for value, _ in GIVEN.values():
        prior = f"Normal ( {value:.3g} , {SURE:.3g} )".replace("-", "\N{MINUS SIGN}")
        assert any(line.endswith(prior) for line in formulas)


@pytest.mark.parametrize(
    ("pooling", "given"),
    [
        ("partial", {"location": (5.0, SURE), "log_scale": (-3.0, SURE)}),
        ("none", {"centre": 5.0, "theta_scale": 0.01}),
        ("complete", {"centre": 5.0, "theta_scale": 0.01}),
    ],
)
def test_added_topics_are_drawn_under_them(pooling, given, tmp_path):
    given = given | {"centre": 5.0 * (pooling != "partial"), "spread": 1.0}
    calibrator = TopicCalibrator(pooling, "gaussian", prior_knowledge=given, **FEW).fit(*ALL)
    again = load(calibrator.save(tmp_path / "topics.nc"))
    again.add_topics(SCORES[:6], LABELS[:6], ["new"] * 6)
    modes = again.posterior_["posterior"]["theta"].sel(topic="new")
    assert np.abs(modes - 5.0).max() < 1.0
    plain = TopicCalibrator(pooling, "gaussian", **FEW).fit(*ALL)
    plain.add_topics(SCORES[:6], LABELS[:6], ["new"] * 6)
    assert np.abs(plain.posterior_["posterior"]["theta"].sel(topic="new") - 5.0).min() > 1.0


@pytest.mark.parametrize("family", ["asymmetric_laplace", "asymmetric_gaussian", "gaussian"])
def test_the_prior_of_topics_by_themselves_is_a_score_calibrators(family):
    given = {"theta_scale": 0.7, "width_shape": 3.5, "width_scale": 0.4}
    shares = {} if family == "gaussian" else {"share_alpha": 1.5, "share_beta": 4.0}
    own = Hyperparameters(0.0, 1.0, **given, **shares)
    point = population.fixed_population(FAMILIES[family], own)
    location, prior = population.prior_of(point, FAMILIES[family])
    expected = DensityPrior(**given, **shares, symmetric=family == "gaussian")
    assert location == 0.0
    assert vars(prior) == pytest.approx(vars(expected))


def test_topics_by_themselves_are_as_by_score_calibrators():
    given = {"theta_scale": 0.1, "width_scale": 3.0, "prior_alpha": 30.0, "spread": 2.0}
    mine, at = TOPICS == "crude", np.linspace(-2.0, 4.0, 9)
    settings = {"parts": "gaussian", "draws": 2000, "prior_knowledge": given}
    own = {name: value for name, value in given.items() if name != "spread"}
    centre = ScoreCalibrator("gaussian", "mle").fit(SCORES[mine], LABELS[mine]).units_["centre"]
    alone = ScoreCalibrator(
        Densities("gaussian", prior_knowledge=own),
        units={"centre": centre, "spread": given["spread"]},
        draws=2000,
        random_state=0,
    ).fit(SCORES[mine], LABELS[mine])
    apart = TopicCalibrator("none", **settings, random_state=1).fit(*ALL)
    found, expected = apart.predict_proba(at, ["crude"] * 9), alone.predict_proba(at)
    np.testing.assert_allclose(found, expected, atol=0.02)
    plain = TopicCalibrator("none", "gaussian", random_state=1).fit(*ALL)
    assert np.abs(plain.predict_proba(at, ["crude"] * 9) - expected).max() > 0.1


def test_the_sampler_hands_them_to_the_program(monkeypatch):
    asked = {}
    program = SimpleNamespace(model=lambda *_, **given: asked.update(given))
    monkeypatch.setattr(engine.programs, "load", lambda _: program)
    monkeypatch.setattr(engine, "draw_posterior", lambda *_, **__: 1 / 0)
    given = {"log_width": (0.5, 0.2), "logit_rate": [-1, 1], "centre": 3.0}
    calibrator = TopicCalibrator(parts="laplace", inference="nuts", prior_knowledge=given)
    with pytest.raises(ZeroDivisionError):
        calibrator.fit(*ALL)
    expected = {"log_width": (0.5, 0.2), "logit_rate": (-1.0, 1.0), "centre": 3.0}
    assert expected.items() <= asked.items()


def test_base_rates_are_as_fine_under_a_wide_prior():
    positives = np.full(30, 20.0)
    draws = [
        draw_base_rates(positives, 4 * positives, 2000, np.random.default_rng(0), given)[1]
        for given in (None, {"logit_rate": (-2.0, 7.0)})
    ]
    means = [special.logit(alpha / (alpha + beta)) for alpha, beta in draws]
    # So many documents make the prior's width matter little.
    assert np.std(means[1]) == pytest.approx(np.std(means[0]), rel=0.1)
    assert np.mean(means[1]) == pytest.approx(math.log(0.25), abs=0.05)


@pytest.mark.parametrize(
    ("settings", "given", "message"),
    [
        ({}, {"theta_scale": 1.0}, "pooling='partial' and family 'asymmetric_laplace', 'gaussian'"),
        ({}, {"theta": 1.0}, r"may hold centre, spread, location, .*, n_segments; got 'theta'"),
        ({"parts": "gaussian"}, {"logit_share": (0, 1)}, "log_documents; got 'logit_share'"),
        ({"parts": "gaussian"}, {"n_segments": 3}, "got 'n_segments'"),
        ({"pooling": "none"}, {"log_scale": (0, 1)}, "pooling='none' .* got 'log_scale'"),
        ({"pooling": "complete"}, {"prior_alpha": 1.0}, "logit_rate, .* got 'prior_alpha'"),
        ({}, {"log_scale": 0.5}, r"log_scale must be the mean and the standard .* got 0\.5"),
        ({}, {"log_scale": "wide"}, "log_scale must be the mean .* got 'wide'"),
        ({}, {"location": (np.nan, 1)}, "the mean of location must be finite, got nan"),
        ({}, {"location": (0, 0)}, "the standard deviation of location must be positive .* 0.0"),
        ({}, {"logit_rate": (-2, 20)}, "logit_rate must lie within 35 of 0, .* got -2 and 20"),
        ({}, "learned", "prior_knowledge must be a dict of hyperparameters .* got 'learned'"),
        ({"memory": 1}, None, "'memory' should be None, a string or"),
        ({}, {"n_segments": 0}, "n_segments must be a positive whole number, got 0"),
        ({}, {"spread": -1.0}, r"spread must be positive and finite, got -1\.0"),
        ({"pooling": "none"}, {"theta_scale": 0.0}, r"theta_scale must be positive .* got 0\.0"),
    ],
)
def test_what_is_refused(settings, given, message):
    with pytest.raises(ValueError, match=message):
        TopicCalibrator(**settings, prior_knowledge=given).fit(*ALL)


def test_one_topic_has_no_population_to_say_anything_of():
    mine = TOPICS == "corn"
    one = tuple(values[mine] for values in ALL)
    with pytest.raises(ValueError, match="no population, and prior_knowledge of log_scale is of"):
        TopicCalibrator(prior_knowledge={"log_scale": (0.0, 1.0)}).fit(*one)
    with pytest.warns(UserWarning, match="one topic makes no population"):
        fitted = TopicCalibrator(**FEW, prior_knowledge={"spread": 3.0}).fit(*one)
    assert float(fitted.posterior_["constant_data"]["spread"]) == 3.0


@pytest.mark.parametrize("pooling", POOLINGS)
def test_every_pooling_has_diagnostics(pooling):
    fitted = TopicCalibrator(pooling, **FEW).fit(*ALL)
    assert fitted.diagnostics_.ok
    assert fitted.diagnostics_.draws == FEW["draws"] * FEW["chains"]

"""Mixtures of families and warps: weights, draws, evidence, stacking."""

import numpy as np
import pytest
import scipy.stats as st
from scipy import special

from bayescal import Densities, Monotone, ScoreCalibrator, load
from bayescal.families import FAMILIES
from bayescal.families.draws import IDENTITY, log_jacobian, warp
from bayescal.fitting.engines.exact.class_posterior import build_components
from bayescal.fitting.engines.exact.engine import loo_log_density
from bayescal.fitting.engines.exact.joint_density import resolve
from bayescal.fitting.scores import BinaryScores
from bayescal.fitting.settings import FAMILY_NAMES

RNG = np.random.default_rng(12)
SCORES = np.concatenate([RNG.standard_t(3, 40) - 1, 1 + RNG.gumbel(size=9)])
POSITIVE = np.arange(49) >= 40
ASINH_SCALES = (IDENTITY, 3.0, 1.0)


def components(families, scores=SCORES, asinh_scales=ASINH_SCALES, positive=POSITIVE):
    data = BinaryScores(scores, positive)
    settings = resolve(families, BinaryScores(SCORES, POSITIVE).centre_and_spread, None)
    return build_components(families, asinh_scales, data, settings)


def engine_draws(calibrator):
    draws = calibrator.posterior_["parts/densities/engine_draws"].to_dataset()
    return draws.stack(sample=("chain", "draw"))


@pytest.mark.parametrize("asinh_scale", [0.3, 2.0, 50.0, np.inf])
def test_jacobian_is_the_derivative_of_the_warp(asinh_scale):
    s = np.array([-300.0, -2.0, 0.5, 0.7, 4.0, 1e5])
    step = 1e-5 * (1 + np.abs(s))
    slope = (warp(s + step, 0.7, asinh_scale) - warp(s - step, 0.7, asinh_scale)) / (2 * step)
    assert np.exp(log_jacobian(s, 0.7, asinh_scale)) == pytest.approx(slope, rel=1e-6)
    assert warp(np.array([0.7]), 0.7, asinh_scale) == 0.7


@pytest.mark.slow
def test_evidence_of_a_warp_is_a_density_of_raw_scores():
    # A class of one score: its evidence, as a function of the score, integrates to one.
    def density(s):
        scores = np.r_[SCORES[:40], s]
        found = components((FAMILIES["laplace"],), scores, (1.5,), np.arange(41) >= 40)
        return np.exp(found[0].log_evidence[1])

    # Far tails of one score's evidence are powers: a grid that is even in log distance.
    t = np.linspace(-12, 12, 1201)
    s = -1 + np.sinh(t)
    values = np.array([density(x) for x in s]) * np.cosh(t)
    assert np.trapezoid(values, t) == pytest.approx(1.0, abs=2e-3)


def test_draws_follow_the_posterior_probabilities():
    calibrator = ScoreCalibrator(
        Densities("average", warp="average", averaging="evidence"), draws=5000, random_state=0
    ).fit(SCORES, POSITIVE)
    posterior = engine_draws(calibrator)
    names = posterior.attrs["families"].split()
    weight = calibrator.family_weight_
    for klass, label in enumerate(("False", "True")):
        share = [(posterior["family"].isel(klass=klass) == code).mean() for code in range(4)]
        assert share == pytest.approx(weight.loc[label, names], abs=0.02)
    for asinh_scale, probability in calibrator.warp_weight_.items():
        assert (posterior["asinh_scale"] == asinh_scale).mean() == pytest.approx(
            probability, abs=0.02
        )
    assert calibrator.warp_weight_.sum() == pytest.approx(1.0)
    # By hand: warps by both classes' evidence together, families within each.
    evidence = calibrator.results_["parts/densities/evidence"]["log_evidence"].values
    of_warp = special.softmax(special.logsumexp(evidence, axis=1).sum(axis=-1))
    assert calibrator.warp_weight_.to_numpy() == pytest.approx(of_warp)


def test_one_family_of_the_average_is_that_family_s_posterior():
    calibrator = ScoreCalibrator(
        Densities("average", warp="none"), draws=10_000, random_state=0
    ).fit(SCORES, POSITIVE)
    alone = ScoreCalibrator("laplace", draws=10_000, random_state=1).fit(SCORES, POSITIVE)
    posterior = engine_draws(calibrator)
    code = posterior.attrs["families"].split().index("laplace")
    negative = posterior.sel(klass="negative")
    theta = negative["theta"].values[negative["family"].values == code]
    own = alone.posterior_["posterior"]["theta"].values[..., 0].ravel()
    other = alone.posterior_["posterior"]["theta"].values[..., 1].ravel()
    assert st.ks_2samp(theta, own).pvalue > 1e-3
    assert st.ks_2samp(theta, other).pvalue < 1e-3


def test_family_probability_is_the_ratio_of_evidences():
    both = ScoreCalibrator(Densities("average", warp="none"), random_state=0).fit(SCORES, POSITIVE)
    alone = {
        name: ScoreCalibrator(name, draws=10, chains=1).fit(SCORES, POSITIVE).log_evidence_["True"]
        for name in FAMILY_NAMES
    }
    expected = special.softmax(list(alone.values()))
    assert list(both.family_probability_.columns) == list(FAMILY_NAMES)
    assert both.family_probability_.index.name == "class"
    assert both.family_probability_.columns.name == "family"
    assert both.family_probability_.loc["True", list(alone)].to_numpy() == pytest.approx(
        expected, abs=1e-3
    )
    assert both.log_evidence_["True"] == pytest.approx(
        special.logsumexp(list(alone.values())) - np.log(4), abs=1e-3
    )


@pytest.mark.parametrize("asinh_scale", [IDENTITY, 1.0])
def test_leave_one_out_densities_are_ratios_of_evidences(asinh_scale):
    whole = components((FAMILIES["asymmetric_laplace"],), asinh_scales=(asinh_scale,))[0]
    rng = np.random.default_rng(0)
    own = SCORES[40:], np.ones(9), np.arange(9)
    found = np.mean([loo_log_density(whole, 1, *own, rng) for _ in range(8)], axis=0)
    for k in range(9):
        keep = np.arange(49) != 40 + k
        rest = components(
            (FAMILIES["asymmetric_laplace"],), SCORES[keep], (asinh_scale,), POSITIVE[keep]
        )[0]
        # p(x_k | others) = p(all) / p(others); the extreme one is the hardest to reweigh.
        expected = whole.log_evidence[1] - rest.log_evidence[1]
        assert found[k] == pytest.approx(expected, abs=0.25 if found[k] == found.min() else 0.06)


@pytest.mark.parametrize("weight", [0.5, 1.0, 3.0])
def test_an_outlier_is_left_out_exactly(weight):
    # Importance sampling has a Pareto k above 1, and errs by 3, unless much of the weight remains.
    family, scores = (FAMILIES["gaussian"],), np.r_[SCORES[:9], 8.0 * SCORES.max()]
    weights = np.r_[np.ones(9), weight]
    settings = resolve(family, (0.0, 1.0), None)

    def evidence(own):
        data = BinaryScores(np.r_[0.0, scores], np.arange(11) > 0, np.r_[1.0, weights[:-1], own])
        return build_components(family, (3.0,), data, settings)[0]

    rest = max(weight - 1.0, 0.0)
    expected = evidence(rest + 1.0).log_evidence[1] - evidence(rest).log_evidence[1]
    for seed in range(4):
        rng = np.random.default_rng(seed)
        found = loo_log_density(evidence(weight), 1, scores, weights, np.array([9]), rng)
        assert found[0] == pytest.approx(expected, abs=0.15)


@pytest.mark.slow
@pytest.mark.parametrize(
    "parts",
    [["combined", Densities(warp=2.0), Monotone(warp=2.0)], Densities("average", warp="average")],
)
def test_a_mixture_survives_saving(parts, tmp_path):
    fitted = ScoreCalibrator(parts, random_state=0).fit(SCORES, POSITIVE)
    again = load(fitted.save(tmp_path / "fit.nc"))
    assert again.parts == parts
    x = np.linspace(-9, 9, 50)
    assert np.array_equal(again.predict_proba(x), fitted.predict_proba(x))
    assert np.array_equal(again.predict_interval(x), fitted.predict_interval(x))
    assert list(again.summary().index) == list(fitted.summary().index)
    plain = ScoreCalibrator(random_state=0).fit(SCORES, POSITIVE)
    assert np.abs(plain.predict_proba(x) - fitted.predict_proba(x)).max() > 1e-3


@pytest.mark.parametrize("family", ["gaussian", "asymmetric_laplace"])
def test_summary_of_a_warped_family_has_mode_and_widths_of_each_class(family):
    calibrator = ScoreCalibrator(Densities(family, warp="average"), random_state=0).fit(
        SCORES, POSITIVE
    )
    table, fits, own = calibrator.summary(), calibrator.mle_, FAMILIES[family]
    # The distances with 1/e of a side's mass beyond: of an exponential side its mean.
    unit = 1.0 if own.power == 1 else st.halfnorm.isf(1 / np.e)
    for label, fit in (("False", fits.negative), ("True", fits.positive)):
        widths = np.multiply(own.sides(*fit.parameters.values()), [1.0, unit, unit])
        assert table.loc[label].index.tolist()[:3] == ["mode", "left_width", "right_width"]
        assert table.loc[label]["mle"].tolist()[:3] == pytest.approx(widths)
        by_side = (*own.parameters[:2], own.parameters[-1])
        acted = [parameter in fit.scale_floor.acted for parameter in by_side]
        assert (table.loc[label]["guard"][:3] != "").tolist() == acted

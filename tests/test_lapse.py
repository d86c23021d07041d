"""Lapses: their posterior against quadrature, what they do to curves and bands, and bad input."""

from dataclasses import replace
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy import integrate, special, stats

from bayescal import ScoreCalibrator, TopicCalibrator
from bayescal.calibrators import leave_one_out
from bayescal.fitting.engines.combination import LAPSE_PRIOR, draw_lapse, with_lapses
from bayescal.fitting.results import arviz_groups
from bayescal.fitting.results.calibration import read_calibration
from bayescal.fitting.scores import BinaryScores
from bayescal.support.numerics import probability

RNG = np.random.default_rng(12)
SCORES = np.concatenate([RNG.normal(-2, 1, 400), RNG.normal(2, 1, 100)])
POSITIVE = np.arange(500) >= 400
NEW = np.linspace(-8, 8, 33)


@pytest.fixture(scope="module")
def default():
    return ScoreCalibrator(draws=250, random_state=0).fit(SCORES, POSITIVE)


@pytest.fixture(scope="module")
def without():
    return ScoreCalibrator(draws=250, random_state=0, lapse=0).fit(SCORES, POSITIVE)


def labels_left_out(n, wrong):
    """Return log P_0(y_i) and the log base rate of documents, some of them mislabelled."""
    log_score = np.log(RNG.uniform(0.9, 0.999, n))
    log_score[:wrong] = np.log1p(-np.exp(log_score[:wrong]))
    return log_score, np.full(n, np.log(0.5))


@pytest.mark.parametrize(("n", "wrong"), [(20, 0), (200, 2), (200, 20)])
def test_the_posterior_is_that_of_quadrature(n, wrong):
    log_score, log_base = labels_left_out(n, wrong)
    weight = RNG.integers(1, 3, n).astype(float)

    def density(rate, power=0):
        p = (1 - rate) * np.exp(log_score) + rate * np.exp(log_base)
        return rate**power * stats.beta.pdf(rate, *LAPSE_PRIOR) * np.exp(weight @ np.log(p / 0.95))

    # The prior has no largest value at 0: x = rate^a has.
    def moment(power):
        a = LAPSE_PRIOR[0]
        of_x = lambda x: density(x ** (1 / a), power) * x ** (1 / a - 1) / a  # noqa: E731
        return integrate.quad(of_x, 0, 1, limit=500)[0]

    mean = moment(1) / moment(0)
    sd = np.sqrt(moment(2) / moment(0) - mean**2)
    drawn = draw_lapse(log_score, log_base, weight, 40_000, np.random.default_rng(0))
    assert drawn.mean() == pytest.approx(mean, abs=5 * sd / 200)
    assert drawn.std() == pytest.approx(sd, rel=0.05)
    # Another prior is another posterior.
    other = draw_lapse(
        log_score, log_base, weight, 40_000, np.random.default_rng(0), prior=(2.0, 20.0)
    )
    assert abs(other.mean() - mean) > 10 * sd / 200


def test_without_documents_the_prior_is_drawn_far_tail_and_all():
    nothing = np.zeros(0)
    drawn = draw_lapse(nothing, nothing, nothing, 400_000, np.random.default_rng(0))
    level = np.array([0.3, 0.9, 0.99, 0.999, 0.9999])
    expected = stats.beta.ppf(level, *LAPSE_PRIOR)
    assert np.quantile(drawn, level) == pytest.approx(expected, rel=0.05)


def test_lapses_are_found_where_they_are(default):
    assert default.lapse_.shape == (1000,)
    assert default.lapse_.mean() < 0.01
    flipped = POSITIVE.copy()
    some = np.random.default_rng(1).permutation(500)[:40]
    flipped[some] = ~flipped[some]
    # Curves that flatten take most of it: lapses have what is left at both ends.
    wrong = ScoreCalibrator(draws=250, random_state=0).fit(SCORES, flipped)
    assert wrong.lapse_.mean() > 5.0 * default.lapse_.mean()


def test_probabilities_are_mixed_with_the_base_rate(default, without):
    curve = default._fitted.calibration.draws
    rate, base = curve.mean_lapse
    assert (rate, base) == pytest.approx((default.lapse_.mean(), 0.2), abs=0.02)
    said = without.predict_proba(NEW)[:, 1]
    mixed = default.predict_proba(NEW)[:, 1]
    np.testing.assert_allclose(mixed, (1 - rate) * said + rate * base, atol=2e-4)
    drawn = probability(without._fitted.calibration.draws.log_odds(NEW))
    each = default.lapse_[:, None]
    expected = (1 - each) * drawn + each * curve.base[:, None]
    np.testing.assert_allclose(default.sample_proba(NEW), expected, rtol=1e-9)
    # No lapses are what they were: nothing else changes.
    assert not without.lapse_.any()
    np.testing.assert_array_equal(default.combination_["weight"], without.combination_["weight"])


def test_a_rate_can_be_fixed(without):
    fixed = ScoreCalibrator(draws=250, random_state=0, lapse=0.1).fit(SCORES, POSITIVE)
    assert set(fixed.lapse_) == {0.1}
    base = fixed._fitted.calibration.draws.prior.mean()
    expected = 0.9 * without.predict_proba(NEW)[:, 1] + 0.1 * base
    np.testing.assert_allclose(fixed.predict_proba(NEW)[:, 1], expected, atol=2e-4)


@pytest.mark.parametrize("prior", [0.05, 0.9])
def test_another_class_prior_moves_log_odds_lapses_and_all(without, prior):
    fixed = ScoreCalibrator(draws=250, random_state=0, lapse=0.1).fit(SCORES, POSITIVE)
    curve, moved = (fixed._fitted.calibration.with_prior(each).draws for each in (None, prior))
    by = special.logit(prior) - special.logit(curve.base)[:, None]
    np.testing.assert_allclose(moved.log_odds(NEW), curve.log_odds(NEW) + by, atol=1e-9)
    # The point is the mean over parts, each moved.
    single = [curve.predictive(NEW), moved.predictive(NEW)]
    assert np.ptp(single[1] - single[0]) < 0.5
    assert np.mean(single[1] - single[0]) == pytest.approx(by.mean(), abs=0.1)
    # Rare lapses hardly change a probability that is certain.
    rare = replace(curve, lapse=np.full(curve.size, 1e-9)).with_prior(moved.prior)
    plain = without._fitted.calibration.with_prior(prior).draws
    np.testing.assert_allclose(rare.predictive(NEW), plain.predictive(NEW), atol=1e-3)


@pytest.mark.parametrize("prior", [None, 0.05])
def test_draws_with_lapses_are_those_of_the_formula(default, prior):
    curve, scores = default._fitted.calibration.with_prior(prior).draws, np.r_[NEW, -1e6, 1e6]
    moved = 0.0 if prior is None else special.logit(prior) - special.logit(curve.base)[:, None]
    plain = replace(curve, lapse=None).log_odds(scores) - moved
    assert np.abs(plain).max() > 1e4
    expected = with_lapses(plain, curve.lapse[:, None], curve.base[:, None]) + moved
    np.testing.assert_allclose(curve.log_odds(scores), expected, rtol=1e-12, atol=1e-12)
    # Draws in the order of their parts are the same ones.
    order = np.argsort(curve.which, kind="stable")
    np.testing.assert_array_equal(curve.by_part().which, curve.which[order])
    np.testing.assert_allclose(
        curve.by_part().log_odds(scores), expected[order], rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("log_odds", [-800.0, -30.0, -1.0, 0.0, 2.0, 40.0, 800.0])
@pytest.mark.parametrize("rate", [1e-9, 0.01, 0.5])
def test_log_odds_with_lapses_do_not_cancel(log_odds, rate):
    with localcontext() as context:
        context.prec = 500
        p = 1 / (1 + Decimal(-log_odds).exp())
        mixed = (1 - Decimal(rate)) * p + Decimal(rate) * Decimal("0.3")
        expected = float((mixed / (1 - mixed)).ln())
    assert with_lapses(np.array([log_odds]), rate, 0.3)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.filterwarnings("ignore:Estimated shape parameter")
def test_leaving_one_out_knows_of_lapses(default, without):
    rate, base = default._fitted.calibration.draws.mean_lapse
    own, plain = (np.ravel(leave_one_out(each).elpd_i) for each in (default, without))
    mixed = (1 - rate) * np.exp(plain) + rate * np.where(POSITIVE, base, 1 - base)
    np.testing.assert_allclose(own, np.log(mixed), atol=1e-6)
    # ArviZ gets there by draws of all parts, which it weighs anew for each document.
    seen = arviz_groups.log_likelihood(
        default._fitted.calibration.draws, BinaryScores(SCORES, POSITIVE)
    )
    by_draws = np.log(len(seen)) - special.logsumexp(-seen, axis=0)
    np.testing.assert_allclose(by_draws, own, atol=0.08)


@pytest.mark.slow
def test_topics_share_one_rate():
    topics = np.tile(["a", "b", "c", "d"], 125)
    pooled = TopicCalibrator(draws=100, random_state=0).fit(SCORES, POSITIVE, topics)
    none = TopicCalibrator(draws=100, random_state=0, lapse=0).fit(SCORES, POSITIVE, topics)
    assert pooled.lapse_.shape == (400,)
    assert not none.lapse_.any()
    fixed = TopicCalibrator(draws=100, random_state=0, lapse=0.1).fit(SCORES, POSITIVE, topics)
    base = np.average(POSITIVE[topics == "b"])
    p = none.predict_proba(NEW, ["b"] * NEW.size)[:, 1]
    for each, rate in ((pooled, pooled.lapse_.mean()), (fixed, 0.1)):
        mixed = each.predict_proba(NEW, ["b"] * NEW.size)[:, 1]
        np.testing.assert_allclose(mixed, (1 - rate) * p + rate * base, atol=2e-3)
    assert pooled.lapse_.mean() < 0.01


def test_what_has_no_lapses_says_so():
    for bad in (-0.1, 1.0, "often", True, None, np.nan):
        with pytest.raises(ValueError, match="lapse must be 'auto' or a number"):
            ScoreCalibrator(lapse=bad).fit(SCORES, POSITIVE)
    for alone in ({"parts": "monotone"}, {"parts": "laplace"}, {"inference": "mle"}):
        with pytest.raises(ValueError, match="needs several parts"):
            ScoreCalibrator(lapse=0.1, **alone).fit(SCORES, POSITIVE)
        assert not ScoreCalibrator(draws=50, **alone).fit(SCORES, POSITIVE).lapse_.any()
    with pytest.raises(ValueError, match="needs the combination"):
        TopicCalibrator(lapse=0.1, pooling="none").fit(SCORES, POSITIVE, np.tile(["a", "b"], 250))


def test_draws_that_are_not_finite_are_refused(default):
    groups = dict(default._fitted.results.groups)
    groups["lapse"] = groups["lapse"] * np.nan
    with pytest.raises(ValueError, match="lapse rate"):
        read_calibration(groups)

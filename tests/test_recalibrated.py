"""Densities recalibrated: monotone along the densities' log-odds, mended where they are wrong."""

import numpy as np
import pytest
from scipy import special, stats

from bayescal import ScoreCalibrator, load
from bayescal.metrics import losses
from bayescal.support.numerics import probability

RNG = np.random.default_rng(17)
X = np.linspace(-8, 12, 400)


def heavy_tails(n, rng):
    positive = rng.random(n) < 0.1
    return stats.t(2, 3.0 * positive).rvs(n, random_state=rng), positive


@pytest.fixture(scope="module")
def fitted():
    return ScoreCalibrator(parts="recalibrated", draws=250, random_state=0).fit(
        *heavy_tails(3000, RNG)
    )


def part(fitted, k):
    return fitted._fitted.calibration.draws.parts[k]


def test_it_is_alone(fitted):
    table = fitted.combination_
    assert list(table.index) == ["densities", "recalibrated"]
    assert table["weight"].tolist() == [0.0, 1.0]
    assert np.array_equal(fitted._fitted.calibration.draws.log_odds(X), part(fitted, 1).log_odds(X))


def test_every_draw_rises_with_the_densities(fitted):
    densities, recalibrated = part(fitted, 0), part(fitted, 1)
    order = np.argsort(densities.predictive(X))
    curves = recalibrated.log_odds(X)[:, order]
    assert np.diff(curves, axis=1).min() > -1e-9
    # Here they fall far out on either side, and so does what follows them.
    assert np.diff(densities.predictive(X)).min() < -1e-3
    assert np.diff(recalibrated.predictive(X)).min() < -1e-3


@pytest.mark.slow
def test_it_mends_densities_that_are_wrong(fitted):
    new, positive = heavy_tails(50_000, RNG)
    wrong, mended = (losses(part(fitted, k).predictive(new), positive).log_loss for k in (0, 1))
    assert mended < wrong


def test_it_leaves_densities_that_are_right(fitted):
    positive = RNG.random(4000) < 0.3
    scores = RNG.normal(2.0 * positive, 1.0)
    right = ScoreCalibrator(parts="recalibrated", draws=250, random_state=0).fit(scores, positive)
    true = special.logit(0.3) + 2.0 * X[(X > -2) & (X < 4)] - 2.0
    found = right.decision_function(X[(X > -2) & (X < 4)])
    assert probability(found) == pytest.approx(probability(true), abs=0.06)


def test_another_prior_and_saving(fitted, tmp_path):
    again = load(fitted.save(tmp_path / "fit.nc"))
    assert np.array_equal(again.predict_interval(X), fitted.predict_interval(X))
    moved = fitted.decision_function(X, prior=0.5)
    assert moved - fitted.decision_function(X) == pytest.approx(
        special.logit(0.5) - special.logit(0.1), abs=0.3
    )

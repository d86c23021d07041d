"""Draws at their places: how far they are moved, what stays, and what probabilities do."""

import numpy as np
import pytest

from bayescal import ScoreCalibrator, quantisation
from bayescal.parts import stack
from bayescal.quantisation import PLACES, quantise

pytestmark = pytest.mark.one_era

RNG = np.random.default_rng(0)
DRAWS = {
    "gaussian": RNG.normal(size=4000),
    "heavy tails": RNG.standard_cauchy(4000),
    "many sizes": np.exp(5.0 * RNG.normal(size=4000)),
    "two modes far apart": 1e-4 * RNG.normal(size=4000) + (RNG.random(4000) < 0.1),
    "ties": RNG.random(4000).round(2),
    "next to one another": 1e6 + 1e-9 * RNG.normal(size=4000),
    "tiny": 1e-310 * RNG.normal(size=100),
    "some": RNG.normal(size=120),
    "two": np.array([2.0, 1.0]),
    "one": np.array([3.0]),
    "all the same": np.full(50, -7.5),
}


@pytest.mark.parametrize("name", DRAWS)
class TestAnyDraws:
    def test_to_the_nearest_place(self, name):
        """Brute force: all places between the order statistics that the module names."""
        draws, n = DRAWS[name], DRAWS[name].size
        below = [0, *(n // 2**k for k in range(1, 11))]
        knots = np.sort(draws)[sorted({*below, *(n - 1 - rank for rank in below)})]
        share = np.arange(PLACES) / PLACES
        places = np.r_[(knots[:-1, None] + np.diff(knots)[:, None] * share).ravel(), knots[-1]]
        distance = np.abs(draws[:, None] - np.unique(places)).min(axis=1)
        moved = np.abs(quantise(draws).values - draws)
        np.testing.assert_allclose(moved, distance, atol=1e-12 * np.abs(draws).max() + 1e-320)

    def test_moved_once_is_moved_for_good(self, name):
        kept = quantise(DRAWS[name])
        again = quantise(kept.values)
        np.testing.assert_array_equal(again.values, kept.values)

    def test_order_and_ends_stay(self, name):
        draws = DRAWS[name]
        kept = quantise(draws).values
        assert (np.diff(kept[np.argsort(draws)]) >= 0.0).all()
        assert (kept.min(), kept.max()) == (draws.min(), draws.max())


def test_a_gaussian_is_moved_by_a_tenth_of_its_monte_carlo_error(monkeypatch):
    def noise(draws):
        return np.std(quantise(draws).values - draws) / draws.std()

    draws = DRAWS["gaussian"]
    monte_carlo = 1.0 / np.sqrt(draws.size)
    assert noise(draws) < 0.1 * monte_carlo
    # Few bits are seen to be too few.
    monkeypatch.setattr(quantisation, "PLACES", 6)
    assert noise(draws) > monte_carlo


def said(seed=0, n=531, positives=106):
    """Return probabilities and the ends of bands of a default fit at scores old and new."""
    rng = np.random.default_rng(5)
    y = np.arange(n) < positives
    x = rng.normal(np.where(y, 1.0, -1.0)) + rng.exponential(0.5, n) * y
    shown = np.linspace(x.min() - 1.0, x.max() + 1.0, 30)
    fitted = ScoreCalibrator(random_state=seed).fit(x, y)
    return fitted.predict_proba(shown)[:, 1], fitted.predict_interval(shown)


def furthest(said, other):
    """Return how far probabilities, and bands, are apart at the worst score."""
    return np.array([np.abs(a - b).max() for a, b in zip(said, other, strict=True)])


def of_all_digits(monkeypatch, *args, **kwargs):
    with monkeypatch.context() as patch:
        patch.setattr(stack, "with_kept_digits", dict)
        return said(*args, **kwargs)


@pytest.mark.parametrize(("n", "positives"), [(100, 3), (531, 106), (10_000, 2000)])
def test_probabilities_and_bands_are_those_of_all_digits(n, positives, monkeypatch):
    """Another seed moves probabilities a hundred times, bands ten times as far."""
    whole = of_all_digits(monkeypatch, n=n, positives=positives)
    moved = furthest(whole, said(n=n, positives=positives))
    noise = furthest(whole, said(seed=1, n=n, positives=positives))
    assert (moved > 0.0).all()
    assert (moved < noise * [0.01, 0.1]).all()
    assert (moved < [2e-5, 2e-3]).all()


def test_too_few_digits_are_seen(monkeypatch):
    whole, noise = of_all_digits(monkeypatch), furthest(said(), said(seed=1))
    monkeypatch.setattr(quantisation, "PLACES", 1)
    assert (furthest(whole, said()) > noise * [0.01, 0.1]).all()


@pytest.mark.parametrize("parts", ["monotone", "densities"])
def test_one_part_alone_keeps_all_digits(parts, monkeypatch):
    def drawn():
        fitted = ScoreCalibrator(parts=parts, draws=100, random_state=0)
        return fitted.fit(DRAWS["some"], np.arange(120) > 80).posterior_

    kept = drawn()
    monkeypatch.setattr(stack, "with_kept_digits", None)
    assert kept.equals(drawn())


def test_what_people_read_keeps_all_digits():
    """A family's parameters, and those that its program has in their place, go together."""
    parts = ["densities", "logistic"]
    fitted = ScoreCalibrator("asymmetric_laplace", parts=parts, warp="none", random_state=0)
    fitted.fit(DRAWS["some"], np.arange(120) > 80)
    posterior = fitted.posterior_["posterior"]
    np.testing.assert_allclose(
        1.0 / posterior["beta"], posterior["left_share"] * posterior["width"], rtol=1e-12
    )
    intercept = fitted.posterior_["parts/logistic/engine_draws/intercept"].values.ravel()
    np.testing.assert_array_equal(quantise(intercept).values, intercept)

"""The monotone engine against quadrature, closed forms and brute force; and hard data."""

import numpy as np
import pytest
import scipy.stats as st
from scipy import special

from bayescal.fitting.engines.monotone.density import Pieces, Prior
from bayescal.fitting.engines.monotone.posterior import draw_monotone

DRAWS = 20_000
X = np.array([-1.4, -0.9, -0.3, 0.0, 0.2, 0.4, 1.1, 2.5])
POSITIVE = np.array([False, False, False, True, False, True, True, True])
SAMPLES = {
    "overlapping": (X, POSITIVE),
    "separable": (np.r_[X[:4], X[4:] + 3], np.arange(8) >= 4),
    "upside down": (X, ~POSITIVE),
    "one positive": (X, np.arange(8) == 5),
}
RNG = np.random.default_rng(6)


def fit(x, positive, weight=None, prior=None, draws=DRAWS, seed=1, **options):
    rng = np.random.default_rng(seed)
    return draw_monotone(x, positive, weight, prior or Prior(), draws, rng, **options)


def quadrature(low, high, panels, nodes):
    """Gauss-Legendre nodes and weights on equal panels."""
    x, weight = np.polynomial.legendre.leggauss(nodes)
    edge = np.linspace(low, high, panels + 1)
    half = 0.5 * np.diff(edge)[:, None]
    return (edge[:-1, None] + half * (x + 1)).ravel(), (half * weight).ravel()


def brute_force(x, positive, pieces, prior):
    """Evidence, and mean and sd of P(+|x), by quadrature; one or two slopes; scipy's priors."""
    a, da = quadrature(-25, 25, 10, 12)
    level, dl = quadrature(prior.slope_location - 8, prior.slope_location + 8, 8, 12)
    # A Student t reaches far: equal panels in asinh.
    t, dt = quadrature(-5, 5, 14, 12) if pieces.knots.size else (np.zeros(1), np.ones(1))
    walk, dwalk = (np.sinh(t), dt * np.cosh(t)) if pieces.knots.size else (t, dt)
    a, level, walk = a[:, None, None], level[None, :, None], walk[None, None, :]
    log = st.norm(prior.intercept_location, prior.intercept_scale).logpdf(a)
    log = log + st.norm(prior.slope_location, prior.slope_scale).logpdf(level)
    if pieces.knots.size:
        log = log + st.t(prior.walk_freedom).logpdf(walk)
    at_reference, other = np.exp(level), np.exp(level + prior.walk_scale * walk)
    curves = []
    for s in x:
        beyond = 0.0
        if pieces.knots.size:
            knot = pieces.knots[0]  # the reference lies to its right
            beyond = min(s - knot, 0.0)
        curves.append(a + at_reference * (s - pieces.reference - beyond) + other * beyond)
        log = log - np.logaddexp(0.0, -curves[-1] if positive[len(curves) - 1] else curves[-1])
    mass = np.exp(log - log.max()) * da[:, None, None] * dl[None, :, None] * dwalk
    share = mass / mass.sum()
    means = np.array([(share * special.expit(f)).sum() for f in curves])
    squares = np.array([(share * special.expit(f) ** 2).sum() for f in curves])
    return np.log(mass.sum()) + log.max(), means, np.sqrt(squares - means**2)


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("knots", [[], [-0.2]])
def test_evidence_and_moments_are_those_of_brute_force(name, knots):
    x, positive = SAMPLES[name]
    prior = Prior(-1.0, 3.0, slope_location=0.2, slope_scale=0.8, walk_scale=1.2)
    pieces = Pieces(np.array(knots), 0.3)
    evidence, mean, sd = brute_force(x, positive, pieces, prior)
    found = fit(x, positive, prior=prior, pieces=pieces)
    assert not found.problem
    assert found.log_evidence == pytest.approx(evidence, abs=0.02)
    p = special.expit(found.log_odds(x))
    error = sd / np.sqrt(DRAWS * found.efficiency)
    assert np.all(np.abs(p.mean(axis=0) - mean) < 5 * error)
    assert p.std(axis=0) == pytest.approx(sd, rel=0.1)
    # The negative: another prior has another evidence.
    other = fit(x, positive, prior=Prior(slope_location=-2.0), pieces=pieces)
    assert abs(other.log_evidence - evidence) > 0.1


@pytest.mark.parametrize("positive", [False, True])
def test_a_class_may_be_empty(positive):
    x = np.array([-1.0, 0.0, 1.0])
    found = fit(x, np.full(3, positive))
    assert not found.problem
    assert (np.median(found.log_odds(x)) > 0.0) == positive


def test_next_to_no_weight_leaves_the_prior():
    prior = Prior(slope_location=0.7, slope_scale=0.4)
    found = fit(X, POSITIVE, np.full(8, 1e-9), prior, pieces=Pieces(np.array([-0.5, 0.8]), 0.2))
    assert found.log_evidence == pytest.approx(0.0, abs=0.02)
    assert st.kstest(found.intercept, st.norm(0, 5).cdf).pvalue > 1e-3
    assert st.kstest(found.intercept, st.norm(0, 5.5).cdf).pvalue < 1e-3
    assert st.kstest(np.log(found.slopes[:, 1]), st.norm(0.7, 0.4).cdf).pvalue > 1e-3
    walk = (np.log(found.slopes[:, 0]) - np.log(found.slopes[:, 1])) * np.sqrt(2) / 1.5
    assert st.kstest(walk, st.t(4).cdf).pvalue > 1e-3
    assert st.kstest(walk, st.norm.cdf).pvalue < 1e-3


def test_a_weight_is_a_power_of_the_likelihood():
    weight = np.array([1.0, 2.0, 0.0, 3.0, 1.0, 1.0, 2.0, 1.0])
    times = weight.astype(int)
    weighted = fit(X, POSITIVE, weight)
    repeated = fit(np.repeat(X, times), np.repeat(POSITIVE, times))
    assert np.array_equal(weighted.slopes, repeated.slopes)
    assert weighted.log_evidence == pytest.approx(repeated.log_evidence, abs=1e-9)
    assert np.array_equal(weighted.pieces.knots, repeated.pieces.knots)
    assert abs(fit(X, POSITIVE).log_evidence - weighted.log_evidence) > 0.1


def test_log_odds_rise():
    new = np.sort(np.r_[X, 10 * RNG.normal(size=200)])
    for x, positive in SAMPLES.values():
        curves = fit(x, positive, draws=500).log_odds(new)
        assert np.all(np.diff(curves, axis=1) >= 0.0)
        assert np.all(np.isfinite(curves))


def hard_samples():
    rng = np.random.default_rng(9)
    x = rng.normal(size=600)
    labels = rng.random(600) < special.expit(3 * x - 3)
    outlier = np.r_[x, -1e6, 1e6]
    yield "gap", np.r_[x, x + 50.0], np.arange(1200) >= 600, None
    yield "narrow gap", np.linspace(-1, 1, 4000), np.arange(4000) >= 3500, None
    yield "outliers", outlier, np.r_[labels, False, True], None
    yield "outliers on the wrong side", np.clip(outlier, -20, 20), np.r_[labels, True, False], None
    yield "upside down", -x, labels, None
    yield "no information", rng.permutation(x), labels, None
    yield "constant", np.zeros(600), labels, None
    yield "two values", (x > 0.5).astype(float), labels, None
    yield "ties", np.round(x), labels, None
    yield "one document", np.zeros(1), np.ones(1, dtype=bool), None
    yield "one effective document", x, labels, np.r_[1.0, np.full(599, 1e-12)]
    yield "huge weights", x, labels, np.full(600, 1e3)
    yield "rare", rng.normal(size=50_000), np.arange(50_000) < 3, None
    step = np.where(x > 0.3, 0.999, 0.001)
    yield "two levels", x, rng.random(600) < step, None


@pytest.mark.parametrize("case", list(hard_samples()), ids=lambda case: case[0])
def test_hard_data_are_resolved(case):
    _, x, positive, weight = case
    found = fit(x, positive, weight, draws=2000)
    assert found.problem == ""
    assert found.pareto_k < 0.7
    assert found.efficiency > 0.03
    assert found.likelihood_error < 0.1
    assert np.isfinite(found.log_odds(x[:100])).all()
    # Draws repeat only as the weights make them: most are distinct.
    assert np.unique(found.intercept).size > 800


def test_what_is_wrong_is_said(monkeypatch):
    x = RNG.normal(size=3000)
    positive = RNG.random(3000) < special.expit(2 * x)
    with monkeypatch.context() as m:
        m.setattr("bayescal.fitting.engines.monotone.density.MOST_BINS", 2)
        m.setattr("bayescal.fitting.engines.monotone.density.FIRST_BINS", 2)
        assert "compressing the scores may move" in fit(x, positive, draws=200).problem
    with monkeypatch.context() as m:
        m.setattr("bayescal.inference.importance.WORST_K", -9.0)
        assert "weights are too uneven" in fit(x, positive, draws=200).problem


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Prior(walk_scale=0.0), "walk_scale must be positive"),
        (lambda: Prior(slope_location=np.nan), "slope_location must be finite"),
        (lambda: Pieces(np.array([1.0, 1.0]), 0.0), "knots must be strictly ascending"),
        (lambda: Pieces(np.array([1.0, np.inf]), 0.0), "knots must be finite"),
        (lambda: Pieces(np.zeros(0), np.nan), "reference must be finite"),
        (lambda: fit(X, POSITIVE, n_segments=0), "n_segments must be at least 1"),
    ],
)
def test_bad_settings_are_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()

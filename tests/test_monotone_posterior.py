"""The monotone engine against quadrature, closed forms and brute force; and hard data."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.stats as st
from scipy import special

from bayescal.fitting.engines.monotone import engine, posterior
from bayescal.fitting.engines.monotone.density import Pieces, Prior
from bayescal.fitting.engines.monotone.engine import LaplaceFits, _of_label, leave_one_out
from bayescal.fitting.engines.monotone.posterior import draw_monotone, draw_within, fit_laplace
from bayescal.fitting.scores import BinaryScores
from bayescal.support.numerics import even_nodes

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


# Leave-one-out probabilities of the monotone engine against fits of all other documents


@pytest.mark.parametrize("name", SAMPLES)
def test_leaving_one_out_is_fitting_the_others(name):
    x, positive = SAMPLES[name]
    whole, rng = fit(x, positive), np.random.default_rng(2)
    found = leave_one_out(whole, x, positive, None, Prior(), rng)
    assert np.all(found.pareto_k < 0.7)
    in_sample = np.log(special.expit(np.where(positive, 1, -1) * whole.log_odds(x)).mean(axis=0))
    for i in range(x.size):
        rest = fit(np.delete(x, i), np.delete(positive, i), pieces=whole.pieces, draws=20_000)
        p = special.expit((1 if positive[i] else -1) * rest.log_odds(x[[i]])).mean()
        assert found.log_probability[i] == pytest.approx(np.log(p), abs=0.1)
    # The negative: probabilities of labels that were not left out are higher.
    assert in_sample.sum() > found.log_probability.sum() + 0.1


def test_leaving_out_of_weights_and_of_many():
    weight = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 1.0, 2.0, 0.5])
    whole = fit(X, POSITIVE, weight)
    found = leave_one_out(whole, X, POSITIVE, weight, Prior(), np.random.default_rng(2))
    for i in (1, 3, 7):
        rest = weight.copy()
        rest[i] = max(rest[i] - 1.0, 0.0)
        others = fit(X, POSITIVE, rest, pieces=whole.pieces)
        p = special.expit((1 if POSITIVE[i] else -1) * others.log_odds(X[[i]])).mean()
        assert found.log_probability[i] == pytest.approx(np.log(p), abs=0.05)
    x = RNG.normal(size=4000)
    labels = RNG.random(4000) < special.expit(2 * x)
    large = fit(x, labels, draws=1000)
    table = leave_one_out(large, x, labels, None, Prior(), np.random.default_rng(2))
    sign = np.where(labels, 1, -1)
    inside = np.log(special.expit(sign * large.log_odds(x)).mean(axis=0))
    # One document of 4,000 matters little, and always against itself.
    difference = inside - table.log_probability
    assert 0.0 < difference.sum() < 20.0
    assert np.abs(difference).max() < 0.5


@pytest.mark.parametrize("positive", [False, True])
def test_leaving_out_the_only_document_leaves_the_prior(positive, monkeypatch):
    # As if importance sampling could not be trusted: there is nothing to fit in its place.
    monkeypatch.setattr("bayescal.fitting.engines.monotone.engine.GOOD_K", -np.inf)
    x, label, prior = np.zeros(1), np.array([positive]), Prior(1.0, 0.5)
    whole = fit(x, label, prior=prior)
    found = leave_one_out(whole, x, label, None, prior, np.random.default_rng(2))
    at_the_reference = np.random.default_rng(3).normal(1.0, 0.5, 100_000)
    expected = special.expit((1 if positive else -1) * at_the_reference).mean()
    assert np.exp(found.log_probability[0]) == pytest.approx(expected, abs=0.01)


def many(n=600):
    rng = np.random.default_rng(8)
    x = rng.standard_t(3, n)
    labels = rng.random(n) < special.expit(2.0 * x - 1.0)
    whole = fit(x, labels)
    return whole, (x, labels, None, Prior(), np.random.default_rng(2), whole.importance)


def test_a_table_of_scores_says_what_every_score_says(monkeypatch):
    whole, arguments = many()
    table = leave_one_out(whole, *arguments).log_probability
    monkeypatch.setattr("bayescal.fitting.engines.monotone.engine.MOST_SCORES", 1000)
    each = leave_one_out(whole, *arguments).log_probability
    # All but the few that are drawn anew.
    assert np.quantile(np.abs(table - each), 0.98) < 0.001
    assert table.sum() == pytest.approx(each.sum(), abs=0.1)
    # The negative: eight entries are too few.
    monkeypatch.setattr("bayescal.fitting.engines.monotone.engine.MOST_SCORES", 8)
    coarse = leave_one_out(whole, *arguments).log_probability
    assert np.quantile(np.abs(coarse - each), 0.98) > 0.004
    assert abs(coarse.sum() - each.sum()) > 0.5


def test_a_score_is_trusted_no_more_than_the_entries_beside_it(monkeypatch):
    whole, (x, *_) = many()
    of_scores = _of_label(whole, x, None, True)[1]
    monkeypatch.setattr("bayescal.fitting.engines.monotone.engine.MOST_SCORES", 1000)
    entries = np.union1d(even_nodes(np.unique(x), 96), whole.pieces.knots)
    of_entries = _of_label(whole, entries, None, True)[1]
    after = np.searchsorted(entries, x).clip(1, entries.size - 1)
    for beside in (after - 1, after):
        assert (of_scores >= of_entries[beside] - 1e-9)[x > entries[0]].all()


@pytest.mark.parametrize("name", SAMPLES)
def test_reweighted_proposals_need_no_fit_to_the_others(name, monkeypatch):
    x, positive = SAMPLES[name]
    whole = fit(x, positive)

    def refused(*_, **__):
        raise AssertionError("fitted again")

    monkeypatch.setattr("bayescal.fitting.engines.monotone.engine.GOOD_K", -np.inf)
    monkeypatch.setattr("bayescal.fitting.engines.monotone.engine.draw_monotone", refused)
    rng = np.random.default_rng(2)
    found = leave_one_out(whole, x, positive, None, Prior(), rng, whole.importance)
    assert np.all(found.pareto_k < 0.7)
    # Every document by the same proposals moved one step, for none is even enough here.
    for i in range(min(x.size, 3)):
        rest = fit(np.delete(x, i), np.delete(positive, i), pieces=whole.pieces, draws=20_000)
        p = special.expit((1 if positive[i] else -1) * rest.log_odds(x[[i]])).mean()
        assert found.log_probability[i] == pytest.approx(np.log(p), abs=0.1)


# Laplace's approximation of a posterior's evidence, from its modes before any draws

PRIORS = {
    "vague": Prior(),
    "narrow": Prior(intercept_location=-2.0, intercept_scale=0.5, slope_scale=0.3, walk_scale=0.5),
    "wide": Prior(intercept_scale=20.0, slope_location=2.0, slope_scale=3.0, walk_freedom=2.0),
}
WORST = 0.4  # nats


def laplace_fit(prior, *, n_positive=5, n=60, segments=9):
    """Return the approximation of a sample's posterior."""
    positive = np.arange(n) < n_positive
    x = np.random.default_rng(n_positive).normal(1.5 * positive)
    return fit_laplace(x, positive, None, prior, n_segments=segments)


def error(found):
    """Return the distance of Laplace's log evidence from that of weighted draws."""
    drawn = draw_within(found, 4000, np.random.default_rng(0))
    return found.log_evidence - drawn.log_evidence


@pytest.mark.parametrize("segments", [1, 9, 13])
@pytest.mark.parametrize("n_positive", [1, 5, 30])
@pytest.mark.parametrize("name", PRIORS)
def test_evidence_of_modes_is_near_that_of_draws(name, n_positive, segments):
    found = laplace_fit(PRIORS[name], n_positive=n_positive, segments=segments)
    assert abs(error(found)) < WORST


def test_a_narrow_prior_leaves_almost_nothing_to_approximate():
    """So that constants of the grid of scales have to be right."""
    for segments in (1, 9, 13):
        assert abs(error(laplace_fit(PRIORS["narrow"], segments=segments))) < 0.05


def test_a_scale_left_out_is_missed(monkeypatch):
    """The negative: what one scale of the walk says is not what all of them do."""
    monkeypatch.setattr(posterior, "MOST_STEPS_OUT", 0)
    assert abs(error(laplace_fit(PRIORS["vague"]))) > WORST


def test_approximations_are_made_once_and_distinguished_by_all_they_depend_on():
    positive = np.arange(40) < 12
    laplace_fits = LaplaceFits(
        BinaryScores(np.random.default_rng(0).normal(1.5 * positive), positive)
    )
    knots = Pieces(np.array([0.0, 1.0]), 0.5)
    first = laplace_fits.of(0.0, 1.0, np.inf, Prior(), pieces=knots)
    assert laplace_fits.of(0.0, 1.0, np.inf, Prior(), pieces=knots) is first
    others = [
        laplace_fits.of(0.5, 1.0, np.inf, Prior(), pieces=knots),
        laplace_fits.of(0.0, 2.0, np.inf, Prior(), pieces=knots),
        laplace_fits.of(0.0, 1.0, 1.0, Prior(), pieces=knots),
        laplace_fits.of(0.0, 1.0, np.inf, PRIORS["narrow"], pieces=knots),
        laplace_fits.of(0.0, 1.0, np.inf, Prior(), pieces=Pieces(np.array([0.2]), 0.5)),
        laplace_fits.of(0.0, 1.0, np.inf, Prior(), n_segments=1),
        laplace_fits.of(0.0, 1.0, np.inf, Prior(), n_segments=5),
    ]
    evidence = [each.log_evidence for each in (first, *others)]
    assert np.unique(np.round(evidence, 6)).size == len(evidence)


# Large data: many pieces where importance sampling serves them, fewer where it does not


def test_pieces_are_given_up_before_trust_is(monkeypatch):
    rng = np.random.default_rng(0)
    positive = np.arange(600) < 300
    data = BinaryScores(rng.normal(2.0 * positive), positive)
    tried = []
    draw = engine.draw_within

    def distrusted(laplace_fit, *arguments):
        tried.append(laplace_fit.density.pieces.segments)
        found = draw(laplace_fit, *arguments)
        return replace(found, problem="uneven") if tried[-1] > 9 else found

    monkeypatch.setattr(engine, "draw_within", distrusted)
    found = engine.fit_monotone(LaplaceFits(data), rng, draws=50, asinh_scales=(np.inf,))
    assert tried == [13, 9]
    assert found.posterior.pieces.segments == 9


@pytest.mark.parametrize("seed", range(3))
def test_a_thousand_positives_leave_nothing_to_warn_of(seed):
    rng = np.random.default_rng(seed)
    positive = np.arange(6000) < 1000
    data = BinaryScores(rng.standard_t(2, 6000) + 3.0 * positive, positive)
    found = engine.fit_monotone(LaplaceFits(data), rng, draws=1000, asinh_scales=(np.inf, 1.0))
    assert found.source.problem == ""

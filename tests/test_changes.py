"""The model of a change of given log-odds: its parts against independent computations."""

import numpy as np
import pytest
from scipy import integrate, special, stats

from bayescal.fitting.engines.sites import draw_sites
from bayescal.metrics import changes
from bayescal.metrics.changes import LogOddsCells, LogOddsFrame, clipped_log_odds, fit_changes


def documents(n, seed=0, truth=lambda z: z):
    rng = np.random.default_rng(seed)
    z = rng.normal(-1.5, 1.2, n)
    return z, rng.random(n) < special.expit(truth(z))


def test_there_are_17_regressions_whose_priors_sum_to_one_by_kind():
    assert len(changes.REGRESSIONS) == 17
    total = dict.fromkeys(changes.KINDS, 0.0)
    for each in changes.REGRESSIONS:
        total[each.kind] += each.prior
    assert total == pytest.approx({"as is": 0.4, "shift": 0.3, "slope": 0.2, "full": 0.1})
    sizes = [sum(each.kind == kind for each in changes.REGRESSIONS) for kind in changes.KINDS]
    assert sizes == [1, 3, 9, 4]


def test_bends_have_the_covariance_of_the_process():
    # Near the centres, features with standard normal coefficients are the Gaussian process itself.
    frame = LogOddsFrame(pivot=0.0, mean=1.0, sd=2.0)
    z = np.linspace(-2.2, 2.2, 30)
    bends = frame.bends(1.0 + 2.0 * z)
    kernel = np.exp(-((z[:, None] - z) ** 2) / (2 * 0.8**2))
    np.testing.assert_allclose(bends @ bends.T, kernel, atol=0.01)
    # Beyond three standard deviations the bend stays as it is there.
    np.testing.assert_allclose(frame.bends(np.array([7.0])), frame.bends(np.array([70.0])))


def test_the_pivot_makes_shift_and_slope_independent_where_probabilities_are_right():
    z, _ = documents(4000)
    frame = LogOddsFrame.of(z, np.ones(z.size))
    p = special.expit(z)
    x = frame.linear(z)
    information = (x * (p * (1 - p))[:, None]).T @ x
    assert abs(information[0, 1]) < 1e-9 * information[0, 0]


def test_the_evidence_of_a_shift_is_that_of_quadrature():
    z, y = documents(80, 1)
    fitted = dict(zip(range(17), fit_changes(LogOddsCells.of(z, y)).fits, strict=True))
    for k, sd in ((1, 0.15), (2, 0.5), (3, 1.5)):
        own = integrate.quad(
            lambda a, sd=sd: (
                np.exp(special.log_expit(np.where(y, 1, -1) * (z + a)).sum() + 30.0)
                * stats.norm.pdf(a, 0, sd)
            ),
            -6,
            6,
            points=[-1, 0, 1],
        )[0]
        assert fitted[k][1].log_evidence == pytest.approx(np.log(own) - 30.0, abs=0.01)


def test_weights_repeat_documents_and_cells_change_nothing():
    z, y = documents(300, 2)
    weight = np.random.default_rng(3).integers(0, 4, 300)
    kept = weight > 0
    weighed = fit_changes(LogOddsCells.of(z[kept], y[kept], weight[kept].astype(float)))
    again = fit_changes(LogOddsCells.of(np.repeat(z, weight), np.repeat(y, weight)))
    assert weighed.probability == pytest.approx(again.probability, abs=1e-9)
    many, labels = documents(20_000, 4, lambda z: 0.3 + 0.8 * z)
    alike = LogOddsCells.of(many, labels)
    assert alike.log_odds.size <= changes.MOST_CELLS + 1
    assert alike.weight.sum() == 20_000
    assert alike.positive.sum() == labels.sum()
    each = LogOddsCells(*(np.asarray(a, float) for a in (many, labels, np.ones(many.size))))
    at = np.linspace(-5, 3, 9)
    np.testing.assert_allclose(
        fit_changes(alike).predict(at), fit_changes(each).predict(at), atol=1e-4
    )


def test_draws_have_the_average_s_mean_and_whole_shares():
    z, y = documents(200, 5, lambda z: z + 0.4)
    posterior = fit_changes(LogOddsCells.of(z, y))
    drawn = posterior.draw(4000, np.random.default_rng(0))
    at = np.linspace(-4, 2, 7)
    p = special.expit(at + drawn @ posterior.frame.features(at).T)
    np.testing.assert_allclose(p.mean(axis=0), posterior.predict(at), atol=0.004)
    share = np.mean((drawn == 0.0).all(axis=1))
    assert share == pytest.approx(posterior.probability["as is"], abs=1 / 4000)
    of_shift = posterior.alone("shift")
    assert of_shift.probability["shift"] == pytest.approx(1.0)
    assert (of_shift.draw(50, np.random.default_rng(0))[:, 1:] == 0.0).all()


@pytest.mark.parametrize("y", [[0, 0, 0], [1, 1, 1], [1, 0, 1]])
def test_few_documents_and_one_class_are_fitted(y):
    posterior = fit_changes(LogOddsCells.of(clipped_log_odds([0.0, 0.5, 1.0]), np.array(y)))
    assert np.isfinite(posterior.log_evidence)
    p = posterior.predict(clipped_log_odds([0.0, 0.2, 1.0]))
    assert ((p >= 0) & (p <= 1)).all()


def test_equal_probabilities_leave_slope_and_bend_at_their_priors():
    y = np.arange(40) % 4 == 0
    posterior = fit_changes(LogOddsCells.of(np.zeros(40), y))
    slope = posterior.alone("slope").draw(4000, np.random.default_rng(0))[:, 1]
    prior = np.sqrt(0.4 * 0.1**2 + 0.4 * 0.3**2 + 0.2 * 1.0**2)
    assert slope.std() == pytest.approx(prior, rel=0.1)
    assert posterior.predict(np.zeros(1))[0] == pytest.approx(0.25, abs=0.1)


def sites_of(pairs, n, rng):
    """Return the documents of sites with these shifts and slopes, and the frame of all."""
    frame = LogOddsFrame(-1.0, -1.0, 1.0)
    out = []
    for a, b in pairs:
        z = rng.normal(-1, 1, n)
        out.append(LogOddsCells.of(z, rng.random(n) < special.expit(z + a + (b - 1) * (z + 1))))
    return out, frame


@pytest.mark.slow
def test_sites_are_pooled_as_much_as_brute_force_says():
    # Three sites, of which one has a single class; a sum over all of mu, t, u and the sites' pairs
    # by importance sampling from the prior.
    rng = np.random.default_rng(0)
    cells, frame = sites_of([(0.5, 1.0), (-0.2, 0.8)], 40, rng)
    cells.append(LogOddsCells.of(np.array([-1.0, 0.0, 0.5]), np.array([0, 0, 0])))
    drawn = draw_sites(cells, frame, 20_000, np.random.default_rng(1))
    size = 200_000
    t, u = np.abs(rng.normal(0, 0.5, size)), np.abs(rng.normal(0, 0.25, size))
    mu_a, mu_b = rng.normal(0, 1.5, size), rng.normal(0, 0.7, size)
    log_weight, pairs = np.zeros(size), []
    for each in cells:
        a, b = mu_a + t * rng.normal(size=size), mu_b + u * rng.normal(size=size)
        pairs.append((a, b))
        for z, plus, weight in zip(each.log_odds, each.positive, each.weight, strict=True):
            f = z + a + b * (z - frame.pivot)
            log_weight += plus * special.log_expit(f) + (weight - plus) * special.log_expit(-f)
    weight = special.softmax(log_weight)
    error = 4.0 / np.sqrt(1.0 / (weight**2).sum())
    assert error < 0.15
    for j, (a, b) in enumerate(pairs):
        own = drawn.own[j]
        for values, got in ((a, own[:, 0]), (b, own[:, 1])):
            mean = weight @ values
            sd = np.sqrt(weight @ (values - mean) ** 2)
            assert got.mean() == pytest.approx(mean, abs=error * sd + 0.06)
            assert got.std() == pytest.approx(sd, rel=0.2)
    assert drawn.between[:, 0].mean() == pytest.approx(weight @ t, rel=0.2)


@pytest.mark.slow
def test_intervals_of_a_new_site_hold_its_shift_and_slope():
    rng, held, narrow = np.random.default_rng(2), [], []
    for _ in range(60):
        t, u = abs(rng.normal(0, 0.5)), abs(rng.normal(0, 0.25))
        pairs = np.stack([rng.normal(0.3, t, 9), 0.9 + rng.normal(0, u, 9)], axis=1)
        cells, frame = sites_of(pairs[:-1], 300, rng)
        new = draw_sites(cells, frame, 1000, rng).new + np.array([0.0, 1.0])
        lower, upper = np.quantile(new, [0.05, 0.95], axis=0)
        held.append((lower < pairs[-1]) & (pairs[-1] < upper))
        middle, half = (lower + upper) / 2, (upper - lower) / 4
        narrow.append(np.abs(pairs[-1] - middle) < half)
    share = np.mean(held, axis=0)
    # 90 %, three standard errors of 60.
    assert (share > 0.9 - 3 * np.sqrt(0.09 / 60)).all()
    # Intervals half as wide are found out.
    assert (np.mean(narrow, axis=0) < 0.9 - 3 * np.sqrt(0.09 / 60)).any()

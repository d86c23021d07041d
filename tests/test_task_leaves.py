"""Leaves of a tree for many tasks: populations of tasks."""

import numpy as np
import pytest
from scipy import integrate, special, stats

from bayescal.combining.tasks.tree import LOG_M, LOG_M_SD, fit_population, log_evidence


class TestEvidence:
    @pytest.mark.parametrize(("p", "m"), [(0.3, 5.0), (0.02, 40.0), (0.9, 0.7)])
    def test_numerical_integration_over_the_tasks_shares(self, p, m):
        positive, total = np.array([0.0, 3.0, 7.0]), np.array([4.0, 3.0, 20.0])
        expected = 0.0
        for y, n in zip(positive, total, strict=True):
            # The density's poles at 0 and 1 are the rule's weight.
            value, _ = integrate.quad(
                lambda t, y=y, n=n: t**y * (1.0 - t) ** (n - y),
                0.0,
                1.0,
                weight="alg",
                wvar=(m * p - 1.0, m * (1.0 - p) - 1.0),
            )
            value /= special.beta(m * p, m * (1.0 - p))
            expected += np.log(value)
        found = log_evidence(positive, total, np.array([p]), np.array([m]))
        assert found[0] == pytest.approx(expected, abs=1e-5)

    def test_scipys_beta_binomial(self):
        positive, total = np.array([1.0, 2.0]), np.array([9.0, 5.0])
        expected = sum(
            stats.betabinom(n, 0.6, 2.4).logpmf(y) - stats.binom(n, 0.5).logpmf(y) - n * np.log(2.0)
            for y, n in zip(positive, total, strict=True)
        )
        found = log_evidence(positive, total, np.array([0.2]), np.array([3.0]))
        assert found[0] == pytest.approx(expected, rel=1e-10)


def simulated(p, m, tasks, n, seed=0):
    """Return counts of tasks whose shares are from Beta(m p, m (1 - p))."""
    rng = np.random.default_rng(seed)
    total = np.full(tasks, float(n))
    share = rng.beta(m * p, m * (1.0 - p), tasks) if np.isfinite(m) else np.full(tasks, p)
    return rng.binomial(n, share).astype(float), total


def medians(found):
    (p,), (m,) = found.quantiles(np.array([0.5]))
    return p, m


class TestPopulation:
    def test_a_brute_grid(self):
        """Posterior means by a fine grid over all that is possible, by scipy's own densities."""
        positive, total = np.array([1.0, 0.0, 4.0]), np.array([5.0, 9.0, 6.0])
        logit, log_m = np.linspace(-12, 9, 500), LOG_M + np.linspace(-12, 12, 500)
        p, m = 1.0 / (1.0 + np.exp(-logit))[:, None], np.exp(log_m)[None, :]
        log_density = np.log(p * (1.0 - p)) + stats.norm(LOG_M, LOG_M_SD).logpdf(log_m)
        for y, n in zip(positive, total, strict=True):
            log_density = log_density + stats.betabinom.logpmf(y, n, m * p, m * (1.0 - p))
        share = np.exp(log_density - log_density.max())
        share /= share.sum()
        found = fit_population(positive, total)
        own = found.mean(positive, total)
        for k, (y, n) in enumerate(zip(positive, total, strict=True)):
            assert own[k] == pytest.approx(((y + m * p) / (n + m) * share).sum(), abs=2e-4)
        new = found.mean(np.zeros(1), np.zeros(1))[0]
        assert new == pytest.approx((p * share).sum(), abs=2e-4)

    @pytest.mark.parametrize(("p", "m"), [(0.2, 10.0), (0.01, 200.0), (0.6, 2.0)])
    def test_m_is_learnt_from_tasks(self, p, m):
        found = fit_population(*simulated(p, m, 300, 200))
        own_p, own_m = medians(found)
        assert own_p == pytest.approx(p, rel=0.15)
        assert own_m == pytest.approx(m, rel=0.35)

    def test_tasks_that_are_alike_say_so(self):
        """The negative: without differences between tasks no small m is found."""
        _, m = medians(fit_population(*simulated(0.2, np.inf, 300, 200)))
        assert m > 500.0
        _, other = medians(fit_population(*simulated(0.2, 1.0, 300, 200)))
        assert other < 2.0

    def test_the_posterior_covers_the_truth_drawn_from_the_prior(self):
        """Ranks of log m of truths from the prior are uniform."""
        rng = np.random.default_rng(1)
        ranks = []
        for seed in range(120):
            p, m = rng.random(), np.exp(rng.normal(LOG_M, LOG_M_SD))
            found = fit_population(*simulated(p, m, 12, 30, seed))
            ranks.append(found.share[found.m < m].sum())
        assert stats.kstest(ranks, "uniform").pvalue > 0.01

    def test_draws_have_the_mean(self):
        positive, total = simulated(0.05, 20.0, 30, 40)
        found = fit_population(positive, total)
        rng = np.random.default_rng(0)
        for y, n in ((0.0, 0.0), (3.0, 40.0)):
            draws = 1.0 / (1.0 + np.exp(-found.sample(y, n, 20_000, rng)))
            mean = found.mean(np.array([y]), np.array([n]))[0]
            assert draws.mean() == pytest.approx(mean, abs=4.0 * draws.std() / 141.0)

    def test_draws_are_finite_where_shares_are_almost_nothing(self):
        found = fit_population(np.zeros(50), np.full(50, 5000.0))
        assert np.isfinite(found.sample(0.0, 0.0, 2000, np.random.default_rng(0))).all()
        assert found.mean(np.zeros(1), np.full(1, 5000.0))[0] < 1e-4

    def test_many_documents_are_no_trouble(self):
        """The density is narrow there: the grid must find it."""
        positive, total = simulated(0.3, 50.0, 80, 200_000)
        p, m = medians(fit_population(positive, total))
        assert p == pytest.approx(0.3, abs=0.03)
        assert m == pytest.approx(50.0, rel=0.5)
        alike = fit_population(np.full(80, 60_000.0), np.full(80, 200_000.0))
        assert medians(alike)[0] == pytest.approx(0.3, abs=1e-3)

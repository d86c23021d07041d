"""PooledCombiner: one metaclassifier for many tasks, what it borrows, and what it refuses."""

import pickle

import numpy as np
import pytest
from scipy import special, stats
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from bayescal.combining.combiners.measures import best_threshold
from bayescal.combining.tasks import PooledCombiner
from bayescal.combining.tasks.metaclassifier import deal_folds, normalised, scales_of
from bayescal.combining.tasks.tree import LOG_M, LOG_M_SD, fit_population, log_evidence
from bayescal.fitting.results.diagnostics import ConvergenceWarning
from tests.task_scores import made_tasks

X, Y, TASK = made_tasks()
NEW, TRUTH, NEW_TASK = made_tasks(seed=0)
KINDS = {
    "tree": PooledCombiner("tree", random_state=0),
    "weights": PooledCombiner("weights", random_state=0),
}


@pytest.fixture(scope="module")
def fitted():
    return {name: clone(each).fit(X, Y, TASK) for name, each in KINDS.items()}


class TestNormalisation:
    def test_mean_0_and_standard_deviation_1_within_each_task(self):
        code = np.unique(TASK, return_inverse=True)[1]
        own = normalised(X, code, scales_of(X, code, 6))
        for k in range(6):
            np.testing.assert_allclose(own[code == k].mean(axis=0), 0.0, atol=1e-12)
            np.testing.assert_allclose(own[code == k].std(axis=0), 1.0, atol=1e-12)

    @pytest.mark.parametrize("name", ["tree", "weights"])
    def test_scale_and_level_of_a_task_do_not_matter(self, fitted, name):
        changed = X.copy()
        changed[TASK == "task 2"] = 7.0 - 3.0 * -changed[TASK == "task 2"]
        again = clone(KINDS[name]).fit(changed, Y, TASK)
        np.testing.assert_allclose(
            again.decision_function(changed, TASK),
            fitted[name].decision_function(X, TASK),
            atol=1e-6,
        )

    def test_columns_that_hardly_vary_in_a_task_do_no_harm(self):
        """One document of a task to come is far out in a column that was all but constant."""
        x, y, task = made_tasks(tasks=6, seed=0)
        own = task == "task 0"
        x[own, 2] = 1e-9 * np.random.default_rng(0).random(own.sum())
        found = PooledCombiner("weights", random_state=0).fit(x, y, task)
        strange = x[own][:1].copy()
        strange[0, 2] = 5.0
        log_odds = found.decision_function(np.vstack([x[own][:1], strange]), ["task 0"] * 2)
        assert abs(log_odds[1] - log_odds[0]) < 2.0


class TestGaps:
    def test_they_count_as_the_mean_of_the_task_and_have_a_column(self):
        gap = (np.arange(len(X)) % 4 == 0) | (TASK == "task 3")
        missing = np.where(gap[:, None] & (np.arange(X.shape[1]) == 1), np.nan, X)
        found = clone(KINDS["weights"]).set_params(allow_missing=True).fit(missing, Y, TASK)
        assert found.population().index.tolist() == ["intercept", "0", "1", "2", "no 1", "tau"]
        # The weight of the column is all that a gap adds to the mean of the task's other scores.
        own = gap & (TASK == "task 2")
        filled = np.where(np.isnan(missing), np.nanmean(missing[TASK == "task 2"], axis=0), missing)
        answers = (found.decision_function(each[own], TASK[own]) for each in (missing, filled))
        assert np.ptp(np.subtract(*answers)) < 1e-9
        with pytest.raises(ValueError, match="classifier 0 must give numbers, got nan for documen"):
            found.predict(np.full(X.shape, np.nan), TASK)

    def test_their_weight_is_in_the_population(self):
        missing = X.copy()
        missing[(Y == 0) & (np.arange(len(X)) % 2 == 0), 0] = np.nan  # no positive is missed
        found = PooledCombiner(allow_missing=True, random_state=0).fit(missing, Y, TASK)
        assert found.population().loc["no 0", "upper"] < 0.0


class TestTree:
    def test_any_decision_tree(self):
        tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0)
        found = PooledCombiner(tree, random_state=0).fit(X, Y, TASK)
        assert len(found.population()) == 4

    def test_m_is_large_where_tasks_are_alike_and_small_where_not(self):
        medians = []
        for differ in (0.0, 1.5):
            data = made_tasks(tasks=30, n=300, seed=1, differ=differ)
            tree = DecisionTreeClassifier(max_leaf_nodes=6, random_state=0)
            table = PooledCombiner(tree, random_state=0).fit(*data).population()
            medians.append(np.average(np.log(table["m"]), weights=table["documents"]))
        assert medians[0] > medians[1] + 1.0

    def test_population_table(self, fitted):
        table = fitted["tree"].population(level=0.8)
        assert table["documents"].sum() == len(X)
        assert table["positives"].sum() == Y.sum()
        assert (table["p_lower"] < table["p"]).all()
        assert (table["p"] < table["p_upper"]).all()
        assert (table["m_lower"] < table["m_upper"]).all()


class TestWeights:
    def test_population_table(self, fitted):
        table = fitted["weights"].population()
        assert table.index.tolist() == ["intercept", "0", "1", "2", "tau"]
        assert table.loc["0", "lower"] > 0.0
        assert table.loc["2", "lower"] < 0.0 < table.loc["2", "upper"]

    def test_tau_tells_tasks_that_differ(self):
        taus = [
            PooledCombiner("weights", random_state=0)
            .fit(*made_tasks(tasks=12, n=500, differ=differ))
            .population()
            .loc["tau", "mean"]
            for differ in (0.0, 0.6)
        ]
        assert taus[1] > 2.0 * taus[0]

    @pytest.mark.slow
    def test_tau_is_known_the_better_the_more_tasks_there_are(self):
        widths = []
        for tasks in (10, 60):
            data = made_tasks(tasks=tasks, n=100, differ=0.6)
            row = PooledCombiner("weights", random_state=0).fit(*data).population().loc["tau"]
            assert 0.0 < row["lower"] < row["mean"] < row["upper"]
            widths.append(np.log(row["upper"] / row["lower"]))
        assert widths[1] < 0.7 * widths[0]


@pytest.mark.parametrize("name", KINDS)
class TestEveryKind:
    def test_probabilities(self, fitted, name):
        found = fitted[name].predict_proba(X, TASK)
        assert found.shape == (len(X), 2)
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        assert roc_auc_score(Y, found[:, 1]) > 0.85
        np.testing.assert_array_equal(fitted[name].predict(X, TASK), found[:, 1] > 0.5)

    def test_thresholds_are_best_on_held_out_scores(self, fitted, name):
        found = fitted[name]
        assert found.scores_.shape == (len(X),)
        assert np.isfinite(found.scores_).all()
        for k, task in enumerate(found.tasks_):
            own = task == TASK
            expected = best_threshold("f1", expit(found.scores_[own]), Y[own])
            assert found.thresholds_["f1"][k] == expected
        assert found.decide(X, TASK, "cost_1_10").sum() >= found.decide(X, TASK, "cost_10_1").sum()

    def test_held_out_scores_had_not_seen_the_label(self, name):
        """Labels that have nothing to do with inputs are not known by heart."""
        rng = np.random.default_rng(3)
        y = rng.permutation(Y[TASK == "task 0"])
        labels = np.concatenate([rng.permutation(y) for _ in range(6)])
        scores = expit(clone(KINDS[name]).fit(X, labels, TASK).scores_)
        assert abs(roc_auc_score(labels, scores) - 0.5) < 0.12

    def test_a_task_whose_inputs_never_vary_is_fitted(self, fitted, name):
        x = np.where(TASK[:, None] == "task 0", 1.0, X)
        found = clone(KINDS[name]).fit(x, Y, TASK)
        assert np.unique(found.decision_function(x[:9], TASK[:9])).size == 1

    def test_tasks_without_labels(self, fitted, name):
        """The population answers for a task that no label is known of."""
        x, y, task = made_tasks(tasks=7, seed=0)
        old = task != "task 6"
        found = clone(KINDS[name]).fit(x[old], y[old], task[old])
        found.add_tasks(x[~old], task[~old])
        log_odds = found.decision_function(x[~old], task[~old])
        assert roc_auc_score(y[~old], log_odds) > 0.85
        # One document at a time makes no difference but for rounding: its task is known.
        alone = found.decision_function(x[~old][:1], ["task 6"])[0]
        assert alone == pytest.approx(log_odds[0], rel=1e-12)
        assert found.decide(x[~old], task[~old], "f1").any()

    def test_the_same_seed_gives_the_same(self, fitted, name):
        again = clone(KINDS[name]).fit(X, Y, TASK)
        np.testing.assert_array_equal(again.scores_, fitted[name].scores_)
        order = np.random.default_rng(0).permutation(len(X))
        shuffled = clone(KINDS[name]).fit(X[order], Y[order], TASK[order])
        np.testing.assert_allclose(
            shuffled.decision_function(X, TASK), fitted[name].decision_function(X, TASK), atol=1e-6
        )


class TestBands:
    @pytest.mark.parametrize("name", KINDS)
    def test_intervals_hold_the_point(self, fitted, name):
        found = fitted[name].predict_interval(X, TASK, level=0.99)
        point = fitted[name].predict_proba(X, TASK)[:, 1]
        assert ((found[:, 0] <= point) & (point <= found[:, 1])).mean() > 0.98
        narrow = fitted[name].predict_interval(X, TASK, level=0.5, kind="hdi")
        assert np.ptp(narrow, axis=1).mean() < np.ptp(found, axis=1).mean()
        with pytest.raises(ValueError, match=r"kind must be one of .* got 'simultaneous'"):
            fitted[name].predict_interval(X, TASK, kind="simultaneous")

    @pytest.mark.parametrize("name", KINDS)
    def test_wider_for_tasks_without_labels(self, name):
        x, y, task = made_tasks(tasks=12, n=400, differ=0.8)
        old = task != "task 3"
        all_tasks = clone(KINDS[name]).fit(x, y, task)
        others = clone(KINDS[name]).fit(x[old], y[old], task[old]).add_tasks(x[~old], task[~old])
        mine, general = (
            np.ptp(each.predict_interval(x[~old], task[~old]), axis=1).mean()
            for each in (all_tasks, others)
        )
        assert general > 1.2 * mine

    def test_uneven_draws_of_a_task_are_warned_of(self):
        """With 20 inputs of 20 documents Laplace's draws of a task's weights are far off."""
        rng = np.random.default_rng(0)
        task = np.repeat(np.arange(4), 20)
        y = np.tile(np.arange(20) < 6, 4)
        x = rng.normal(size=(80, 20)) + 5.0 * y[:, None] * rng.normal(size=(4, 20))[task]
        many = PooledCombiner(random_state=0).fit(x, y, task)
        few = PooledCombiner(random_state=0).fit(x[:, :1], y, task)
        with pytest.warns(ConvergenceWarning, match=r"a task's weights are uneven \(Pareto k 0"):
            many.predict_interval(x, task)
        few.predict_interval(x[:, :1], task)

    @pytest.mark.slow
    def test_weights_cover_the_truth(self):
        """Log-odds from the model itself, few documents a task: 90 % bands hold nine tenths."""
        held = []
        for seed in range(4):
            rng = np.random.default_rng(seed)
            tasks, n = 30, 60
            mu, tau = np.array([-1.5, 1.0, 0.5]), 0.4
            task = np.repeat(np.arange(tasks), n)
            x = rng.normal(size=(tasks * n, 2))
            x = normalised(x, task, scales_of(x, task, tasks))
            weights = mu + tau * rng.normal(size=(tasks, 3))
            p = expit(weights[task, 0] + np.einsum("ij,ij->i", x, weights[task, 1:]))
            found = PooledCombiner("weights", random_state=0).fit(x, rng.random(p.size) < p, task)
            lower, upper = found.predict_interval(x, task, level=0.9).T
            held.append(((lower <= p) & (p <= upper)).mean())
        assert 0.85 < np.mean(held) < 0.95


def test_folds_hold_every_class_of_every_task():
    code = np.unique(TASK, return_inverse=True)[1]
    fold = deal_folds(code, Y, 5, np.random.default_rng(0))
    for k in range(6):
        for positive in (True, False):
            counts = np.bincount(fold[(code == k) & (positive == Y)], minlength=5)
            assert np.ptp(counts) <= 1


@pytest.mark.parametrize("name", KINDS)
def test_a_pickled_combiner_predicts_the_same(fitted, name):
    again = pickle.loads(pickle.dumps(fitted[name]))
    np.testing.assert_array_equal(
        again.predict_interval(X, TASK), fitted[name].predict_interval(X, TASK)
    )


class TestRefusals:
    @pytest.mark.parametrize(
        ("method", "arguments"),
        [
            ("add_tasks", (X, TASK)),
            ("decision_function", (X, TASK)),
            ("predict_proba", (X, TASK)),
            ("predict", (X, TASK)),
            ("decide", (X, TASK, "f1")),
            ("predict_interval", (X, TASK)),
            ("sample_proba", (X, TASK)),
            ("population", ()),
        ],
    )
    def test_not_fitted(self, method, arguments):
        with pytest.raises(NotFittedError, match="PooledCombiner instance is not fitted"):
            getattr(PooledCombiner(), method)(*arguments)

    @pytest.mark.parametrize(
        ("x", "y", "task", "message"),
        [
            (X, Y, TASK[:-1], "task and X must have the same length, got 719 and 720"),
            (X, Y[:-1], TASK, "y and X must have the same length, got 719 and 720"),
            (X, Y, TASK[:, None], r"task must have shape \(n,\), one task a document"),
            (X, Y & (TASK != "task 1"), TASK, "one class only in 'task 1': leave such tasks out"),
            (X, Y, np.where(TASK == "task 1", np.nan, 1.0), "task must not hold nan"),
            (X, Y, [None, *TASK[1:]], "got None at position 0: leave documents without a task out"),
            (np.where(X > 9.0, np.nan, X), Y, TASK, "must give numbers, got nan"),
            (X, np.zeros(len(X)), TASK, "both classes"),
            (X, Y, ["a", np.nan] * 360, "labels of one type, got nan at position 1"),
            (X, Y, np.array(["a", 1] * 360, dtype=object), "labels of one type, got int, str"),
        ],
    )
    def test_data(self, x, y, task, message):
        with pytest.raises(ValueError, match=message):
            PooledCombiner().fit(x, y, task)

    @pytest.mark.parametrize(
        ("metaclassifier", "message"),
        [
            ("forest", "must be one of 'weights', 'tree', got 'forest'"),
            (LinearSVC(), "must be 'weights', 'tree' or a decision tree, got LinearSVC"),
        ],
    )
    def test_parameters(self, metaclassifier, message):
        with pytest.raises(ValueError, match=message):
            PooledCombiner(metaclassifier).fit(X, Y, TASK)

    def test_a_refused_fit_leaves_what_was_fitted_as_it_was(self):
        combiner = PooledCombiner(random_state=0).fit(X, Y, TASK)
        before = combiner.predict(X, TASK)
        with pytest.raises(ValueError, match="every task must have documents of both classes"):
            combiner.fit(X[:, :1], np.where(Y, "yes", "no"), np.arange(len(X)))
        np.testing.assert_array_equal(combiner.predict(X, TASK), before)

    def test_a_single_positive_cannot_be_held_out(self):
        combiner = PooledCombiner("tree", random_state=0)
        with pytest.raises(ValueError, match="at least two documents of each class over all tasks"):
            combiner.fit(np.arange(8.0)[:, None], np.arange(8) == 0, ["a"] * 8)

    def test_one_fold_holds_nothing_out(self):
        with pytest.raises(ValueError, match="whole number of folds, at least 2, got 1"):
            PooledCombiner(cv=1).fit(X, Y, TASK)

    def test_tasks_that_are_not_there(self, fitted):
        with pytest.raises(
            ValueError, match="task must name fitted tasks, got 'rye': give its documents"
        ):
            fitted["tree"].predict(X[:3], ["rye"] * 3)
        with pytest.raises(ValueError, match="tasks 'task 1' are there already"):
            fitted["tree"].add_tasks(X[:3], ["task 1"] * 3)
        with pytest.raises(ValueError, match=r"several documents, .* single one of 'rye'"):
            fitted["tree"].add_tasks(X[:1], ["rye"])

    def test_other_columns(self, fitted):
        with pytest.raises(ValueError, match="2 features, but PooledCombiner is expecting 3"):
            fitted["tree"].predict(X[:, :2], TASK)


# Leaves of a tree for many tasks: populations of tasks


class TestEvidence:
    @pytest.mark.parametrize(("p", "m"), [(0.2, 3.0), (0.3, 5.0), (0.02, 40.0), (0.9, 0.7)])
    def test_scipys_beta_binomial(self, p, m):
        positive, total = np.array([1.0, 2.0, 0.0, 3.0, 7.0]), np.array([9.0, 5.0, 4.0, 3.0, 20.0])
        expected = sum(
            stats.betabinom(n, m * p, m * (1.0 - p)).logpmf(y) - np.log(special.comb(n, y))
            for y, n in zip(positive, total, strict=True)
        )
        found = log_evidence(positive, total, np.array([p]), np.array([m]))
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

"""The most violated constraint and the solver, against brute force and certificates."""

from functools import cache
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.metrics import roc_auc_score

from bayescal.ranking import average_precision
from bayescal.ranking.problem import (
    LOSSES,
    most_violated,
    most_violated_by_precision,
    ranking_problem,
    search_blocks,
    search_table,
)
from bayescal.ranking.queries import group_by_query
from bayescal.ranking.solvers import BlockFrankWolfe
from tests.ranking_data import linear_queries

# The paper's tables 2 and 4: labels, and scores that fall or rise with the document's number.
TABLE_2 = np.array([1, 0, 0, 0, 0, 1, 1, 0])
TABLE_4 = np.array([1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0])


@cache
def all_ranks(n):
    """Return the rank of each document, from 1, in every ranking of n."""
    return np.array(list(permutations(range(1, n + 1))))


def losses_of(ranks, n_relevant, loss):
    """Return the loss of rankings, from the definitions: precision at ranks, or pairs."""
    relevant, others = ranks[:, :n_relevant], ranks[:, n_relevant:]
    if loss == "roc":
        return (others[:, None, :] < relevant[:, :, None]).mean(axis=(1, 2))
    found = (relevant[:, None, :] <= relevant[:, :, None]).sum(axis=2)
    return 1.0 - (found / relevant).mean(axis=1)


def value_of(ranks, scores, n_relevant):
    """Return w.Psi of rankings, pair by pair."""
    above = np.where(ranks[:, :n_relevant, None] < ranks[:, None, n_relevant:], 1.0, -1.0)
    differences = scores[:n_relevant, None] - scores[None, n_relevant:]
    return (above * differences).mean(axis=(1, 2))


def largest_violation(ranks, scores, n_relevant, loss):
    best = np.mean(scores[:n_relevant]) - np.mean(scores[n_relevant:])
    return (losses_of(ranks, n_relevant, loss) + value_of(ranks, scores, n_relevant) - best).max()


def violation_found(scores, n_relevant, loss):
    coefficients, delta = most_violated(scores, n_relevant, LOSSES[loss])
    return delta - coefficients @ scores


def cases(sizes, per_size, seed):
    """Yield scores and numbers of relevant documents: any, small, rounded to ties, all the same."""
    rng = np.random.default_rng(seed)
    for n in sizes:
        for k in range(per_size):
            scores = rng.normal(size=n) * 10.0 ** rng.uniform(-2, 1)
            if k % 3 == 1:
                scores = scores.round(1)
            elif k % 12 == 2:
                scores[:] = scores[0]
            yield scores, int(rng.integers(1, n))


@pytest.mark.parametrize("loss", LOSSES)
def test_equals_brute_force_over_all_rankings(loss):
    for scores, n_relevant in cases(range(2, 9), 60, seed=1):
        expected = largest_violation(all_ranks(scores.size), scores, n_relevant, loss)
        assert violation_found(scores, n_relevant, loss) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_loss_and_coefficients_are_of_one_ranking(loss):
    for scores, n_relevant in cases([2, 5, 8], 20, seed=3):
        coefficients, delta = most_violated(scores, n_relevant, LOSSES[loss])
        ranks = all_ranks(scores.size)
        losses = losses_of(ranks, n_relevant, loss)
        best = np.mean(scores[:n_relevant]) - np.mean(scores[n_relevant:])
        same = np.isclose(best - value_of(ranks, scores, n_relevant), coefficients @ scores)
        assert np.isclose(losses[same], delta).any()
        assert coefficients.sum() == pytest.approx(0.0, abs=1e-12)


def value_by_precision(relevant, nonrelevant, relevant_above):
    """Return loss plus score of interleavings, for sizes that brute force cannot reach."""
    above = np.searchsorted(relevant_above, np.arange(relevant.size), side="right")
    place = np.arange(1, relevant.size + 1)
    loss = 1.0 - np.mean(place / (place + above))
    pairs = np.arange(relevant.size)[:, None] >= relevant_above[None, :]
    swapped = pairs * (relevant[:, None] - nonrelevant[None, :])
    return loss - 2.0 * swapped.mean()


@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (1, 7), (40, 300), (400, 900), (7, 5000)])
@pytest.mark.parametrize("scale", [0.0, 0.01, 1.0, 100.0])
def test_the_search_in_blocks_equals_the_search_of_the_table(shape, scale):
    rng = np.random.default_rng(sum(shape))
    relevant, nonrelevant = (scale * np.sort(rng.normal(size=n))[::-1] for n in shape)
    values = []
    for search in (search_table, search_blocks):
        found = np.maximum.accumulate(search(relevant, nonrelevant))
        values.append(value_by_precision(relevant, nonrelevant, found))
    assert values[0] == pytest.approx(values[1], abs=1e-11)


def test_large_queries_are_searched_in_blocks(monkeypatch):
    from bayescal.ranking import problem as module

    rng = np.random.default_rng(0)
    relevant, nonrelevant = (np.sort(rng.normal(size=n))[::-1] for n in (400, 900))
    monkeypatch.setattr(module, "search_table", None)
    assert most_violated_by_precision(relevant, nonrelevant).shape == (900,)


class TestToyExamples:
    """Tables 1 to 4: h1 ranks documents from first to last, h2 from last to first."""

    def test_published_numbers(self):
        falling = -np.arange(8)
        assert average_precision(TABLE_2, falling, [1] * 8).round(2).item() == 0.59
        assert average_precision(TABLE_2, -falling, [1] * 8).round(2).item() == 0.51
        assert average_precision(TABLE_4, -np.arange(11), [1] * 11).round(4).item() == 0.5635
        assert average_precision(TABLE_4, np.arange(11), [1] * 11).round(4).item() == 0.5109

    @pytest.mark.parametrize(("sign", "published"), [(-1, 0.47), (1, 0.53)])
    def test_roc_area(self, sign, published):
        order = np.argsort(-sign * np.arange(8))
        above = np.cumsum(1 - TABLE_2[order])[TABLE_2[order] == 1]
        area = 1.0 - LOSSES["roc"].value(above, 5)
        assert area == pytest.approx(roc_auc_score(TABLE_2, sign * np.arange(8)), abs=1e-15)
        assert round(area, 2) == published


# The solver against all constraints written out, and its certificates


def made_problem(loss="map", **options):
    features, y, qid = linear_queries(**options)
    return ranking_problem(features, y == 1, group_by_query(qid, y.size), LOSSES[loss])


def solve(problem, cost, tol=1e-3, max_iter=5000):
    return BlockFrankWolfe(problem, np.random.default_rng(0)).solve(cost, tol, max_iter)


def all_constraints(problem, loss):
    """Yield Psi(y*) - Psi(y) and Delta(y) of all rankings of each query, pair by pair."""
    for features, n_relevant in zip(problem.features, problem.n_relevant, strict=True):
        size = len(features)
        rows = []
        for chosen in combinations(range(size), n_relevant):
            others = [rank for rank in range(size) if rank not in chosen]
            for relevant in permutations(chosen):
                for other in permutations(others):
                    wrong = np.array(other)[None, :] < np.array(relevant)[:, None]
                    pairs = features[:n_relevant, None] - features[None, n_relevant:]
                    direction = 2.0 * (wrong[:, :, None] * pairs).mean(axis=(0, 1))
                    if loss == "roc":
                        delta = wrong.mean()
                    else:
                        ranks = np.array(relevant)
                        found = (ranks[None, :] <= ranks[:, None]).sum(axis=1)
                        delta = 1.0 - np.mean(found / (ranks + 1))
                    rows.append((direction, delta))
        yield np.array([row[0] for row in rows]), np.array([row[1] for row in rows])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("cost", [0.5, 20.0])
def test_the_optimum_is_that_of_all_constraints(loss, cost):
    problem = made_problem(loss, n_queries=8, size=5, n_features=2, seed=4, noise=2.0)
    constraints = list(all_constraints(problem, loss))

    def bound(weights):  # of the coefficients and of the slack of each query
        return weights[:2] @ weights[:2] / 2.0 + cost * weights[2:].mean()

    rows = []
    for query, (directions, deltas) in enumerate(constraints):
        slack = np.zeros((len(deltas), problem.n_queries))
        slack[:, query] = 1.0
        rows.append(np.column_stack([directions, slack, deltas]))
    table = np.unique(np.vstack(rows).round(12), axis=0)
    start = np.concatenate([np.zeros(2), np.ones(problem.n_queries)])
    reference = minimize(
        bound,
        start,
        jac=lambda v: np.concatenate([v[:2], np.full(v.size - 2, cost / (v.size - 2))]),
        constraints={
            "type": "ineq",
            "fun": lambda v: table[:, :-1] @ v - table[:, -1],
            "jac": lambda v: table[:, :-1],
        },
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 300},
    )
    assert reference.success
    found = solve(problem, cost, tol=1e-5)
    assert found.objective == pytest.approx(problem.objective(found.coef, cost), rel=1e-12)
    assert found.objective == pytest.approx(reference.fun, rel=1e-5)
    assert found.dual <= reference.fun * (1 + 1e-9) <= found.objective * (1 + 1e-7)
    assert found.coef == pytest.approx(reference.x[:2], abs=2e-2 * np.linalg.norm(found.coef))


def test_no_cost_to_speak_of_gives_no_coefficients_to_speak_of():
    found = solve(made_problem(), 1e-9)
    assert np.abs(found.coef).max() < 1e-8
    assert found.relative_gap <= 1e-3


def test_the_next_cost_takes_fewer_passes_than_a_cold_start():
    problem = made_problem(seed=3, n_queries=20, noise=3.0)
    path = BlockFrankWolfe(problem, np.random.default_rng(0))
    path.solve(100.0, 1e-3, 5000)
    warm = path.solve(130.0, 1e-3, 5000)
    assert warm.n_iter < solve(problem, 130.0).n_iter


@pytest.mark.parametrize("loss", LOSSES)
def test_gains_below_rounding_are_no_gap(loss):
    features, y, qid = linear_queries()
    queries = group_by_query(qid, y.size)
    problem = ranking_problem(1e-6 * features, y == 1, queries, LOSSES[loss])
    found = solve(problem, 1e-3, tol=1e-2, max_iter=20)
    assert found.relative_gap == 0.0
    assert found.objective == pytest.approx(found.at_zero, rel=1e-12)


def test_planes_that_do_not_fit_are_not_kept(monkeypatch):
    from bayescal.ranking import solvers as module

    problem = made_problem(seed=1, noise=3.0)
    kept = solve(problem, 100.0)
    monkeypatch.setattr(module, "CACHE_BYTES", 1)
    solver = BlockFrankWolfe(problem, np.random.default_rng(0))
    assert solver.planes.shape[1] == 1
    plain = solver.solve(100.0, 1e-3, 5000)
    assert plain.relative_gap <= 1e-3
    assert plain.objective == pytest.approx(kept.objective, rel=1e-3)
    assert plain.n_iter > 5 * kept.n_iter  # kept planes save passes over the rankings


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("loss", LOSSES)
def test_slack_bounds_the_loss_of_any_coefficients(loss, seed):
    """Proposition 1, by the losses' definitions, in the worst order of tied documents."""
    problem = made_problem(loss, seed=seed, grid=seed % 2 == 1)
    rng = np.random.default_rng(seed)
    for scale in (0.0, 0.1, 1.0, 10.0):
        coef = np.round(scale * rng.normal(size=problem.n_features), 1)
        losses = []
        for features, n_relevant in zip(problem.features, problem.n_relevant, strict=True):
            scores = (features @ coef).round(9)
            above = scores[None, n_relevant:] >= scores[:n_relevant, None]
            place = np.arange(1, n_relevant + 1)
            precision = place / (place + np.sort(above.sum(axis=1)))
            losses.append(1.0 - precision.mean() if loss == "map" else above.mean())
        assert problem.slack(coef) >= np.mean(losses) - 1e-9

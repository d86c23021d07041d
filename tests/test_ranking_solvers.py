"""The solver against all constraints written out, and its certificates."""

from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.optimize import minimize

from bayescal.ranking.problem import LOSSES, ranking_problem
from bayescal.ranking.queries import group_by_query
from bayescal.ranking.solvers import BlockFrankWolfe
from tests.ranking_data import linear_queries


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

"""Newton's method finds maxima where whole steps miss them, and optimal weights of mixtures."""

import numpy as np
import pytest
from scipy import optimize, special

from bayescal.inference.newton import climb, climb_within, laplace, stack

RNG = np.random.default_rng(5)


def logistic(columns, label):
    def value(beta):
        eta = columns @ beta
        return float(label @ eta - np.logaddexp(0.0, eta).sum() - 0.5 * beta @ beta)

    def newton(beta):
        p = special.expit(columns @ beta)
        gradient = columns.T @ (label - p) - beta
        hessian = (columns.T * (p * (1.0 - p))) @ columns + np.eye(beta.size)
        step = np.linalg.solve(hessian, gradient)
        return step, float(step @ gradient)

    return value, newton


def test_the_maximum_is_that_of_scipy():
    columns = RNG.normal(size=(200, 3))
    value, newton = logistic(columns, columns[:, 0] + RNG.normal(size=200) > 0.0)
    found = climb(np.zeros(3), value, newton, tolerance=1e-14)
    best = optimize.minimize(lambda beta: -value(beta), np.zeros(3), tol=1e-10).x
    assert found == pytest.approx(best, abs=1e-5)


def test_steps_that_go_too_far_are_halved():
    # Newton's method on -log cosh diverges from |x| > 1.09.
    visited = []

    def value(x):
        visited.append(float(x[0]))
        return float(-np.log(np.cosh(x[0])))

    def newton(x):
        gradient = -np.tanh(x)
        step = gradient * np.cosh(x) ** 2
        return step, float(step @ gradient)

    found = climb(np.array([3.0]), value, newton, tolerance=1e-16)
    assert found == pytest.approx([0.0], abs=1e-7)
    assert min(visited) < -50.0


def test_the_search_ends_where_no_step_rises():
    start = np.array([1.0])
    found = climb(start, lambda x: -float(x[0]), lambda x: (np.ones(1), 1.0), tolerance=1e-9)
    assert found == start


def test_the_last_derivatives_are_those_of_the_point_returned():
    columns = RNG.normal(size=(50, 2))
    value, newton = logistic(columns, columns[:, 1] > 0.0)
    asked = []

    def noted(point):
        asked.append(point)
        return newton(point)

    found = climb(np.zeros(2), value, noted, tolerance=1e-10)
    assert np.array_equal(asked[-1], found)


@pytest.mark.parametrize("a", [1e-3, 0.5, 3.0, 1e6])
def test_modes_within_brackets(a):
    # a log sigma(x) + b log sigma(-x) is flat far out, where Newton's steps leave every bracket.
    b = np.array([1e-3, 1.0, 1e5])

    def derivatives(x):
        p = special.expit(x)
        return a * (1.0 - p) - b * p, (a + b) * p * (1.0 - p)

    far = np.full(3, 40.0)
    mode, sd = climb_within(
        np.full(3, 20.0), -far, far, derivatives, flattest=1e-300, tolerance=1e-9
    )
    assert mode == pytest.approx(np.log(a / b), abs=1e-6)
    assert sd == pytest.approx(1.0 / np.sqrt(derivatives(mode)[1]), rel=1e-6)


def test_a_mode_beyond_its_bracket_is_the_bracket_end():
    mode, _ = climb_within(
        np.zeros(1),
        np.full(1, -3.0),
        np.full(1, 3.0),
        lambda x: (np.ones(1), np.zeros(1)),
        flattest=1e-9,
        tolerance=1e-12,
    )
    assert mode == pytest.approx([3.0], abs=1e-6)


def test_laplace_of_a_normal_density_is_that_density():
    precision = np.array([[2.0, 0.6], [0.6, 1.0]])
    mean = np.array([0.7, -1.2])

    def log_density(points):
        return -0.5 * np.einsum("ij,jk,ik->i", points - mean, precision, points - mean)

    mode, root = laplace(log_density, np.zeros(2), flattest=0.01)
    np.testing.assert_allclose(mode, mean, atol=1e-4)
    np.testing.assert_allclose(root @ root.T, np.linalg.inv(precision), rtol=1e-4)
    _, root = laplace(log_density, np.zeros(2), flattest=4.0)
    np.testing.assert_allclose(root, 0.5 * np.eye(2), atol=1e-8)


# Weights of a mixture: the conditions of the optimum, and cases that slow methods miss


def gradient(log_density, weight, share):
    """Return sum_i weight_i p_m(i) / sum_k w_k p_k(i), for every member."""
    ratio = np.exp(log_density - special.logsumexp(log_density, axis=0, b=share[:, None]))
    return ratio @ weight


@pytest.mark.parametrize("members", [2, 5, 16])
@pytest.mark.parametrize("pseudo_count", [0.05, 1.0])
@pytest.mark.parametrize("n", [3, 500])
def test_weights_meet_the_conditions_of_the_optimum(members, n, pseudo_count):
    rng = np.random.default_rng((members, n))
    scale = rng.choice([0.01, 1.0, 30.0], members)[:, None]
    log_density = scale * np.log(rng.random((members, n))) + 400.0 * rng.normal(size=n)
    weight = rng.choice([0.1, 1.0, 50.0], n)
    share = stack(log_density, weight, pseudo_count)
    assert share.sum() == pytest.approx(1.0)
    # Of w_m: its own pull, w_m dS/dw_m + pseudo_count, is w_m times the sum of all pulls.
    pull = share * gradient(log_density, weight, share) + pseudo_count
    total = weight.sum() + members * pseudo_count
    np.testing.assert_allclose(pull, share * total, atol=1e-5 * total, rtol=1e-5)

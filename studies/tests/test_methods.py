"""The registry: every method under one signature, against references of its own."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import optimize, special, stats
from sklearn.linear_model import LogisticRegression

from bayescal import ScoreCalibrator, TopicCalibrator
from bayescal.families import asymmetric_laplace
from studies.papers.methods import (
    GROUPS,
    METHODS,
    Method,
    Problem,
    SeparableWarning,
    installed_methods,
    logistic_regression,
    maximum_likelihood,
    platt,
)

RNG = np.random.default_rng(6)
LABELS = (RNG.random(150) < 0.3).astype(int)
SCORES = RNG.normal(np.where(LABELS == 1, 1.5, -1.0), 1.0)
NEW = np.linspace(-4.0, 4.0, 9)


def test_has_the_papers_methods_peers_and_ours():
    by_group = {g: [m.name for m in METHODS.values() if m.group == g] for g in GROUPS}
    assert by_group["paper"] == [
        "Gauss", "A.Gauss", "Laplace", "A.Laplace", "LogReg", "LR+Noise", "raw"
    ]  # fmt: skip
    assert {"isotonic", "beta", "Venn-Abers"} <= set(by_group["peer"])
    assert {"A.Laplace posterior", "averaged posterior", "pooled posterior"} <= set(
        by_group["ours"]
    )
    assert {"three pieces", "default", "pooled default"} <= set(by_group["ours"])
    assert all(name == method.name for name, method in METHODS.items())


@pytest.mark.parametrize("name", list(METHODS))
def test_gives_finite_log_odds_that_tell_the_classes_apart(name):
    pytest.importorskip(METHODS[name].needs or "numpy")
    before = list(warnings.filters), np.geterr()
    # Two topics: one makes no population to pool around.
    topics = [Problem(SCORES, LABELS, NEW), Problem(SCORES + 0.1, LABELS, NEW)]
    found = METHODS[name].over_topics(topics)[0]
    assert found.shape == NEW.shape
    assert np.isfinite(found).all()
    assert found[7] > 0.0 > found[1]
    assert (list(warnings.filters), np.geterr()) == before
    assert METHODS[name].over_topics(topics)[0].tolist() == found.tolist()  # no hidden seed


@pytest.mark.parametrize("name", list(METHODS))
def test_methods_reach_other_processes(name):
    assert pickle.loads(pickle.dumps(METHODS[name])).name == name


def test_gauss_is_bayes_rule_on_two_normals():
    densities = [stats.norm(SCORES[c == LABELS].mean(), SCORES[c == LABELS].std()) for c in (0, 1)]
    prior = (LABELS.sum() + 1) / (LABELS.size + 2)
    expected = special.logit(prior) + densities[1].logpdf(NEW) - densities[0].logpdf(NEW)
    assert METHODS["Gauss"](SCORES, LABELS, NEW) == pytest.approx(expected)


def test_asymmetric_laplace_is_scipys_density():
    def fitted(part):
        theta, beta, gamma = asymmetric_laplace.fit(part, scale_floor=None).parameters.values()
        kappa, scale = np.sqrt(gamma / beta), 1.0 / np.sqrt(beta * gamma)
        return stats.laplace_asymmetric(kappa, theta, scale)

    found = maximum_likelihood(SCORES, LABELS, NEW, family="asymmetric_laplace", scale_floor=None)
    negative, positive = (fitted(SCORES[c == LABELS]) for c in (0, 1))
    prior = (LABELS.sum() + 1) / (LABELS.size + 2)
    expected = special.logit(prior) + positive.logpdf(NEW) - negative.logpdf(NEW)
    assert found == pytest.approx(expected)


def test_bennetts_candidates_and_no_floor_reach_the_fits():
    settings = {"family": "asymmetric_gaussian", "scale_floor": None}
    exact, grid = (
        maximum_likelihood(SCORES, LABELS, NEW, candidates=each, **settings)
        for each in ("exact", "bennett")
    )
    assert exact == pytest.approx(grid, abs=0.2)
    assert exact.tolist() != grid.tolist()  # the optimum lies between Bennett's candidates
    few = Problem(SCORES[:12], LABELS[:12], NEW)
    floored, free = (
        maximum_likelihood(*few, family="asymmetric_laplace", scale_floor=g) for g in ("auto", None)
    )
    assert np.abs(floored).max() < np.abs(free).max()


def test_logistic_regression_is_the_maximum():
    def loss(coefficients):
        against = np.where(LABELS == 1, -1.0, 1.0) * (coefficients[0] + coefficients[1] * SCORES)
        return np.logaddexp(0.0, against).sum()

    best = optimize.minimize(loss, [0.0, 0.0], tol=1e-12).x
    found = logistic_regression(SCORES, LABELS, NEW)
    assert found == pytest.approx(best[0] + best[1] * NEW, abs=1e-4)
    # The negative: scikit-learn's default is penalised.
    plain = LogisticRegression(C=0.1).fit(SCORES[:, None], LABELS).decision_function(NEW[:, None])
    assert found != pytest.approx(plain, abs=0.05)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_logistic_regression_does_not_depend_on_the_unit(scale):
    expected = logistic_regression(SCORES, LABELS, NEW)
    found = logistic_regression(3.0 + scale * SCORES, LABELS, 3.0 + scale * NEW)
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("sign", "middle"), [(1.0, 1.5), (-1.0, -1.5)])
def test_separable_scores_are_said_to_be(sign, middle):
    scores, labels = sign * np.array([0.0, 1.0, 2.0, 3.0]), np.array([0, 0, 1, 1])
    with pytest.warns(SeparableWarning, match="no finite maximum"):
        found = logistic_regression(scores, labels, sign * np.array([1.4, 1.6]) + 0.0)
    assert special.expit(found) == pytest.approx([1e-15, 1.0 - 1e-15])
    with pytest.warns(SeparableWarning):
        assert logistic_regression(scores, labels, np.array([middle])) == [0.0]


def test_platts_reference_values():
    """A and B of P = 1/(1 + exp(A f + B)), from LIBSVM's and scikit-learn's tests."""
    found = platt(np.array([5.0, -4.0, 1.0]), np.array([1, 0, 0]), np.array([0.0, 1.0]))
    assert -found[0] == pytest.approx(0.65236314980010512, abs=1e-5)
    assert found[0] - found[1] == pytest.approx(-0.20261354391187855, abs=1e-5)


def test_the_default_is_our_calibrator_of_vague_priors_and_pooling_our_topics():
    expected = ScoreCalibrator(prior_knowledge="vague", random_state=0).fit(SCORES, LABELS)
    found = METHODS["default"](SCORES, LABELS, NEW)
    assert found.tolist() == expected.decision_function(NEW).tolist()
    problems = [Problem(SCORES[k::3], LABELS[k::3], NEW) for k in range(3)]
    topics = np.concatenate([[str(k)] * problem.scores.size for k, problem in enumerate(problems)])
    pooled = TopicCalibrator(parts="asymmetric_laplace", random_state=0).fit(
        np.concatenate([p.scores for p in problems]),
        np.concatenate([p.labels for p in problems]),
        topics,
    )
    found = METHODS["pooled posterior"].over_topics(problems)
    expected = pooled.decision_function(NEW, ["1"] * NEW.size)
    assert found[1].tolist() == np.asarray(expected).tolist()
    apart = METHODS["A.Laplace posterior"].over_topics(problems)
    assert np.abs(found[1] - apart[1]).max() > 0.05  # topics inform each other


def test_a_method_that_is_not_installed_says_what_to_install():
    absent = Method("x", "peer", one_topic=platt, needs="no_such_package")
    assert not absent.installed
    with pytest.raises(ImportError, match=r"needs the package no_such_package: pip install"):
        absent(SCORES, LABELS, NEW)
    assert "raw" in installed_methods("paper")

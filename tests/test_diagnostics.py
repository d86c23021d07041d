"""Diagnostics: silent on good draws, and each problem named with what to do."""

import numpy as np
import pytest
import xarray as xr

from bayescal.fitting.parts.part import flat, of_draws, paths_of
from bayescal.fitting.results.diagnostics import ConvergenceWarning, diagnose, warn_of_problems
from tests import small_fits

RNG = np.random.default_rng(1)


def tree(draws, divergences=0):
    chains, n = draws.shape[:2]
    coords = {"chain": np.arange(chains), "draw": np.arange(n)}
    diverging = np.zeros((chains, n), dtype=bool)
    diverging.ravel()[:divergences] = True
    return xr.DataTree.from_dict(
        {
            "posterior": xr.Dataset({"theta": (("chain", "draw", "klass"), draws)}, coords),
            "sample_stats": xr.Dataset({"diverging": (("chain", "draw"), diverging)}, coords),
        }
    )


GOOD = RNG.normal(size=(4, 500, 2))


def test_independent_draws_pass():
    found = diagnose(flat(tree(GOOD)))
    assert found.ok
    assert found.rhat < 1.01
    assert found.ess_bulk > 1500
    assert found.draws == 2000
    warn_of_problems(found.problems)  # a warning would be an error here


@pytest.mark.parametrize(
    ("draws", "divergences", "message"),
    [
        (GOOD + np.arange(4)[:, None, None], 0, r"R-hat of theta is [1-9].*raise .*tune"),
        (np.repeat(GOOD[:, :20], 25, axis=1), 0, "effective sample size of theta.*raise draws"),
        (GOOD, 3, "3 divergent transitions: raise .*target_accept"),
        (np.zeros((4, 500, 2)), 0, "effective sample size|R-hat"),
    ],
)
def test_each_problem_is_named(draws, divergences, message):
    found = diagnose(flat(tree(draws, divergences)))
    assert not found.ok
    with pytest.warns(ConvergenceWarning, match=message):
        warn_of_problems(found.problems)


def test_one_chain_has_no_rhat():
    found = diagnose(flat(tree(GOOD[:1])))
    assert found.rhat is None
    assert found.ok


@pytest.mark.parametrize(
    ("efficiency", "resolved", "message"),
    [(0.5, 1, "efficiency 0.50 .limit 0.9.*inference='nuts'"), (0.99, 0, "did not resolve")],
)
def test_problems_of_exact_draws(efficiency, resolved, message):
    def exact(efficiency, resolved):
        paths = paths_of("densities", "densities", first=True)
        groups = {paths.draws[0]: tree(GOOD)["posterior"].to_dataset()} | paths.note()
        values = {"efficiency": ("klass", [1.0, efficiency]), "resolved": ("klass", [1, resolved])}
        values["pareto_k"] = ("klass", [-1.0, 0.2])
        return diagnose(groups | {paths.evidence: xr.Dataset(values)})

    with pytest.warns(ConvergenceWarning, match=message):
        warn_of_problems(exact(efficiency, resolved).problems)
    fine = exact(0.99, 1)
    assert fine.ok
    assert fine.ess_bulk == fine.draws == 2000
    assert fine.rhat is None
    assert fine.pareto_k == 0.2


def test_findings_of_draws_are_of_the_topics_that_they_are_wrong_with():
    values = np.random.default_rng(0).normal(size=(2, 50, 2, 4))
    values[1, 7, 0, 1] = np.nan
    values[..., 1, 2] = values[..., 0, 3] = 0.5
    draws = xr.Dataset({"theta": (("chain", "draw", "klass", "topic"), values)})
    endless, constant = of_draws("densities", draws)
    assert endless.topics.tolist() == [False, True, False, False]
    assert constant.topics.tolist() == [False, False, True, True]
    names = np.array(["a", "b", "c", "d"])
    assert endless.text(names).startswith("the draws of the part 'densities' for topic 'b' ")
    assert "for topics 'c', 'd' are all the same" in constant.text(names)


def test_chains_that_disagree_about_a_population_are_noticed():
    groups = dict(small_fits.topics()._fit.groups)
    groups["sample_stats"] = xr.Dataset({"diverging": (("chain", "draw"), np.zeros((2, 30)))})
    assert diagnose(groups).rhat < 1.3
    of_population = "population/parts/gaussian/hyperparameters"
    alpha = groups[of_population]["rate_alpha"]
    moved = alpha + 10.0 * alpha.std() * xr.DataArray(np.arange(2.0), dims="chain")
    groups[of_population] = groups[of_population].assign(rate_alpha=moved)
    assert diagnose(groups).rhat > 1.7

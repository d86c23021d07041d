"""Groups of results with further topics, made from variables, against xarray's own joining."""

import numpy as np
import pytest
import xarray as xr

from bayescal.fitting.results.topics import append_to


def group(names, seed):
    """Return the topics' posterior, and that of their population."""
    rng = np.random.default_rng(seed)
    n = len(names)
    variables = {
        "draws": (("klass", "topic", "draw"), rng.normal(size=(2, n, 3))),
        "resolved": ("topic", rng.integers(0, 2, n)),
        "pareto_k": ("klass", np.array([0.1, 0.2])),
        "centre": 1.5,
    }
    coords = {"klass": ["negative", "positive"], "topic": np.array(names), "draw": np.arange(3)}
    return xr.Dataset(variables, coords, {"scores_are": "scores"})


@pytest.mark.parametrize("names", [(["a", "b"], ["longer"]), ([1, 2], [7]), ([1, 2], ["c"])])
def test_it_is_what_xarray_makes_of_both(names):
    old, new = (group(each, seed) for seed, each in enumerate(names))
    joined = append_to(old, new)
    of_topics = ["draws", "resolved"]
    expected = xr.concat([old[of_topics], new[of_topics]], "topic").merge(old.drop_dims("topic"))
    xr.testing.assert_equal(joined, expected)
    assert joined["topic"].values.tolist() == [*names[0], *names[1]]
    assert joined["resolved"].dtype == old["resolved"].dtype
    assert joined.attrs == old.attrs


def test_dimensions_may_come_in_another_order():
    old, new = group(["a", "b"], 0), group(["c"], 1)
    joined = append_to(old.transpose("draw", "topic", "klass"), new)
    expected = append_to(old, new)
    xr.testing.assert_equal(joined.transpose("klass", "topic", "draw"), expected)


def test_what_a_group_does_not_know_of_others_is_left_out():
    old, new = group(["a", "b"], 0).drop_vars("resolved"), group(["c"], 1)
    assert set(append_to(old, new)) == {"draws", "pareto_k", "centre"}
    shared = old.drop_dims("topic")
    xr.testing.assert_identical(append_to(shared, new), shared)

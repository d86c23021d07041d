"""Trees of results with one fault: in the draws of a part, or in their diagnostics."""

import xarray as xr


def all_the_same(draws):
    return xr.zeros_like(draws) + draws.isel(chain=0, draw=0, drop=True)


def one_nan(draws):
    return draws.where((draws["draw"] > 0) | (draws["chain"] > 0))


def drawn(dataset):
    """Return the names of a group's draws that a curve is made of."""
    return [
        str(name)
        for name, values in dataset.items()
        if {"chain", "draw"} <= set(values.dims)
        and values.dtype.kind == "f"
        and name != "asinh_scale"
    ]


def with_spoilt_draws(tree, group, how, topic=None):
    """Return a copy with the draws of a group made useless: a topic's, or all that are of none."""
    dataset, out = tree[group].to_dataset(), tree.copy()
    for name in drawn(dataset):
        if ("topic" in dataset[name].dims) == (topic is not None):
            dataset[name] = _of_topic(dataset[name], how(dataset[name]), topic)
    out[group] = xr.DataTree(dataset)
    return out


def with_bad_evidence(tree, group, topic=None):
    """Return a copy that says: a topic's draws were not resolved; or of all, a Pareto k of 9."""
    dataset, out = tree[group].to_dataset(), tree.copy()
    if topic is None:
        dataset["pareto_k"] = xr.full_like(dataset["pareto_k"], 9.0)
    resolved = dataset["resolved"]
    if ("topic" in resolved.dims) == (topic is not None):
        dataset["resolved"] = _of_topic(resolved, xr.zeros_like(resolved), topic)
    out[group] = xr.DataTree(dataset)
    return out


def _of_topic(right, wrong, topic):
    if topic is None:
        return wrong
    return wrong.where(right["topic"] == topic, right).transpose(*right.dims)


def reread(calibrator, tree):
    """Return a calibrator with other results, as if it had read a file of them."""
    return type(calibrator).from_results(tree)


def named(part):
    """Return the name of a part that every reader uses."""
    return f"the part '{part}'"

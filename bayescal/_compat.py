"""The one place that knows how the eras of PyMC differ."""

from typing import Any


def uniform(size: Any, rng: Any) -> tuple[Any, Any]:
    """Draw uniforms on [0, 1) in a graph.

    Parameters
    ----------
    size : tensor_like of int
        Shape of the draws.
    rng : RandomGeneratorType variable
        The state to draw from.

    Returns
    -------
    next_rng, draws : Variable
        The state after the draws, and the draws.
    """
    from pytensor.tensor.random.basic import uniform as uniform_op

    # Calling the Op returns the draws alone in pytensor 2 and warns in pytensor 3 that it will
    # stop doing so. Its node has had the same two outputs all the time.
    next_rng, draws = uniform_op.make_node(rng, size, 0.0, 1.0).outputs
    return next_rng, draws


def datasets(result: Any, groups: tuple[str, ...]) -> dict[str, Any]:
    """Return groups of pm.sample's result as datasets.

    Parameters
    ----------
    result : arviz.InferenceData or xarray.DataTree
        What PyMC 5 and PyMC 6 return.
    groups : tuple of str
        Names of the groups wanted.

    Returns
    -------
    dict of str to xarray.Dataset
        In the order of `groups`.
    """
    import xarray as xr

    if isinstance(result, xr.DataTree):
        return {name: result[name].to_dataset() for name in groups}
    return {name: getattr(result, name) for name in groups}

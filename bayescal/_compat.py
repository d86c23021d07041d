"""The one place that knows how the eras of PyMC differ."""

from typing import Any


def drawn(op: Any, rng: Any, size: Any, *parameters: Any) -> tuple[Any, Any]:
    """Draw from one of pytensor's distributions in a graph.

    Parameters
    ----------
    op : RandomVariable
        The distribution.
    rng : RandomGeneratorType variable
        The state to draw from.
    size : tensor_like of int
        Shape of the draws.
    *parameters : tensor_like of float
        Of the distribution.

    Returns
    -------
    next_rng, draws : Variable
        The state after the draws, and the draws.
    """
    # Calling the Op returns the draws alone in pytensor 2 and warns in pytensor 3 that it will
    # stop doing so. Its node has had the same two outputs all the time.
    next_rng, draws = op.make_node(rng, size, *parameters).outputs
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

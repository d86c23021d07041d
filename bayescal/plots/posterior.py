"""Standard plots of a posterior by arviz-plots: chains, ranks, pairs, simulated calibration.

Each function passes the posterior and all arguments to the function of the same name in
arviz_plots, and returns its PlotCollection (or PlotMatrix), whose `savefig` writes a file.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from bayescal.plots.display import MANY_LINES, require

# The default layout of arviz-plots lets titles overlap.
FIGURE = {"backend": "matplotlib", "figure_kwargs": {"layout": "constrained"}}
CHAIN_COLOURS = [look["color"] for look in MANY_LINES]
SAMPLE = ("chain", "draw")


def plot_trace(calibrator: Any, var_names: Any = None, **options: Any) -> Any:
    """Plot each parameter's draws in order, by chain; see `arviz_plots.plot_trace`."""
    return _plot("plot_trace", calibrator, var_names, {"color": CHAIN_COLOURS} | options)


def plot_rank(calibrator: Any, var_names: Any = None, **options: Any) -> Any:
    """Plot the ranks of each chain's draws; curves of mixed chains stay within the band."""
    return _plot("plot_rank", calibrator, var_names, {"color": CHAIN_COLOURS} | options)


def plot_pair(calibrator: Any, var_names: Any = None, **options: Any) -> Any:
    """Plot the draws of pairs of parameters; see `arviz_plots.plot_pair`."""
    return _plot("plot_pair", calibrator, var_names, options)


def plot_sbc_ecdf(ranks: Mapping[str, ArrayLike], draws: int, **options: Any) -> Any:
    """Plot the ranks of true parameters among posterior draws, of simulation-based calibration.

    Each panel shows the distribution function of a quantity's ranks less a uniform one. If the
    engine is right it stays within the simultaneous band, with the band's probability. Ranks are
    spread at random within cells of width 1/(draws + 1), always in the same way.
    """
    shares, rng = {}, np.random.default_rng(0)
    for name, each in ranks.items():
        values = np.asarray(each)
        if values.size == 0 or values.min() < 0 or values.max() > draws:
            raise ValueError(f"ranks of {name!r} must be from 0 to {draws}, at least one.")
        # arviz-plots tests for a continuous distribution, from which ties would deviate.
        shares[name] = (SAMPLE, ((values + rng.random(values.size)) / (draws + 1.0))[None])
    if not shares:
        raise ValueError("ranks must hold at least one quantity, got none.")
    tree = xr.DataTree.from_dict({"prior_sbc": xr.Dataset(shares)})
    function = require("arviz_plots").plot_ecdf_pit
    return function(tree, **FIGURE | {"sample_dims": list(SAMPLE)} | options)


def _plot(name: str, calibrator: Any, var_names: Any, options: Mapping[str, Any]) -> Any:
    check_is_fitted(calibrator)
    plots = require("arviz_plots")
    tree = calibrator.posterior_
    return getattr(plots, name)(tree, var_names=var_names, **FIGURE | dict(options))

"""Groups that ArviZ's functions read beside the posterior, made when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.bayes import probability
from bayescal.curves.curves import Curves
from bayescal.parts.places import DRAWS, flat
from bayescal.results.calibration import read_calibration
from bayescal.results.label_scores import log_likelihood, read_unweighted

# ArviZ's smoothing fails where the draws' weights are alike to the last digit, as they are of
# documents that every draw is sure of: so many nats tell them apart.
TOLD_APART = 1e-9
GROUPS = ("log_likelihood", "prior", "posterior_predictive")


def with_arviz_groups(
    tree: xr.DataTree,
    groups: Sequence[str],
    draws: int,
    rng: np.random.Generator,
    draw_prior: Callable[[int], xr.Dataset],
) -> xr.DataTree:
    """
    Return a tree of at most so many draws, with further groups; see `ScoreCalibrator.to_arviz`.

    Parameters
    ----------
    tree : xarray.DataTree
        With a posterior.
    groups : sequence of str
        Some of GROUPS.
    draws : int
        The most draws of all chains together.
    rng : numpy.random.Generator
        Draws the replicates.
    draw_prior : callable
        Returns one chain of so many draws from the prior, of the variables of the posterior.
    """
    chains, size = (tree["posterior"].sizes[name] for name in DRAWS)
    # The same positions of every chain, evenly spaced.
    kept = np.linspace(0, size - 1, min(size, max(draws // chains, 1))).astype(np.intp)
    index = (np.arange(chains)[:, None] * size + kept).ravel()
    flattened = flat(tree)
    curves = read_calibration(flattened).take(index).draws
    assert curves is not None  # noqa: S101
    out = {path: _thinned(group, kept) for path, group in flattened.items()}
    coords = {name: out["posterior"][name].variable for name in DRAWS}
    if "log_likelihood" in groups:
        found = log_likelihood(curves, read_unweighted(flattened, "log_likelihood"))
        found -= TOLD_APART * np.linspace(0.0, 1.0, index.size)[:, None]
        out["log_likelihood"] = _of_documents({"label": found}, coords)
    if "prior" in groups:
        out["prior"] = draw_prior(index.size)
    if "posterior_predictive" in groups:
        replicates = _replicates(curves, tree["observed_data"].to_dataset(), rng)
        out["posterior_predictive"] = _of_documents(replicates, coords)
    extended = xr.DataTree.from_dict(out)
    extended.attrs.update(tree.attrs)
    return extended


def _thinned(group: xr.Dataset, kept: NDArray[np.intp]) -> xr.Dataset:
    return group.isel(draw=kept) if "draw" in group.dims else group


def _of_documents(values: dict[str, NDArray[Any]], coords: dict[str, xr.Variable]) -> xr.Dataset:
    shape = tuple(each.size for each in coords.values())
    variables = {
        name: ((*DRAWS, "document"), each.reshape(*shape, -1)) for name, each in values.items()
    }
    return xr.Dataset(variables, coords)


def _replicates(
    curves: Curves, observed: xr.Dataset, rng: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """Return labels given the scores, and of densities scores given the labels, of every draw."""
    score, positive = observed["score"].values, observed["label"].values == 1
    chance = probability(curves.log_odds(score))
    out: dict[str, NDArray[Any]] = {"label": (rng.random(chance.shape) < chance).astype(np.int64)}
    densities = curves.densities
    if densities is not None:
        out["score"] = np.empty(chance.shape)
        for klass, each in ((False, densities.negative), (True, densities.positive)):
            which = np.flatnonzero(positive == klass)
            out["score"][:, which] = each.sample(which.size, rng)
    return out

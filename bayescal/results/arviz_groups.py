"""Groups that ArviZ's functions read beside the posterior, made when they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.bayes import probability
from bayescal.engines.inference import Settings
from bayescal.engines.monotone import prior_draws
from bayescal.engines.monotone.density import Prior
from bayescal.engines.parts import parts_of
from bayescal.engines.prior import draw_prior
from bayescal.results.calibration import read_calibration
from bayescal.results.class_draws import ClassDraws
from bayescal.results.combined_draws import CombinedDraws
from bayescal.results.curves import Curves
from bayescal.results.label_scores import log_likelihood, read_unweighted
from bayescal.results.parts import read_direct
from bayescal.results.raw_groups import DRAWS, raw_groups
from bayescal.results.tree import read_documents
from bayescal.validation import Floats

# Hyperparameters that say what the units are, not what is believed.
UNITS = ("centre", "spread")
# ArviZ's smoothing fails where the draws' weights are alike to the last digit, as they are of
# documents that every draw is sure of: so many nats tell them apart.
TOLD_APART = 1e-9
GROUPS = ("log_likelihood", "prior", "posterior_predictive")


def with_arviz_groups(
    tree: xr.DataTree, groups: Sequence[str], settings: Settings, draws: int
) -> xr.DataTree:
    """
    Return a tree of at most so many draws, with further groups; see `ScoreCalibrator.to_arviz`.

    Parameters
    ----------
    tree : xarray.DataTree
        With a posterior.
    groups : sequence of str
        Some of GROUPS.
    settings : Settings
        Of the fit; its `rng` draws.
    draws : int
        The most draws of all chains together.
    """
    chains, size = (tree["posterior"].sizes[name] for name in DRAWS)
    # The same positions of every chain, evenly spaced.
    kept = np.linspace(0, size - 1, min(size, max(draws // chains, 1))).astype(np.intp)
    index = (np.arange(chains)[:, None] * size + kept).ravel()
    curves = read_calibration(tree).take(index).draws
    assert curves is not None  # noqa: S101
    out = {name: _thinned(node.to_dataset(), kept) for name, node in tree.children.items()}
    coords = {name: out["posterior"][name].variable for name in DRAWS}
    if "log_likelihood" in groups:
        found = log_likelihood(curves, read_unweighted(tree, "log_likelihood"))
        found -= TOLD_APART * np.linspace(0.0, 1.0, index.size)[:, None]
        out["log_likelihood"] = _of_documents({"label": found}, coords)
    if "prior" in groups:
        out["prior"] = _prior(tree, settings, index.size)
    if "posterior_predictive" in groups:
        replicates = _replicates(curves, tree["observed_data"].to_dataset(), settings.rng)
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
    densities = curves.densities if isinstance(curves, CombinedDraws) else curves
    if isinstance(densities, ClassDraws):
        out["score"] = np.empty(chance.shape)
        for klass, each in ((False, densities.negative), (True, densities.positive)):
            which = np.flatnonzero(positive == klass)
            out["score"][:, which] = each.sample(which.size, rng)
    return out


def _prior(tree: xr.DataTree, settings: Settings, draws: int) -> xr.Dataset:
    """Return one chain of draws from the prior, of the variables of the posterior."""
    if not settings.families:
        return _prior_of_log_odds(tree, settings, draws)
    data = read_documents(tree)
    groups = draw_prior(settings, data, tree["posterior"].to_dataset(), draws)
    return (groups | raw_groups(groups, parts_of(groups), data.reach))["posterior"]


def _prior_of_log_odds(tree: xr.DataTree, settings: Settings, draws: int) -> xr.Dataset:
    """Return the prior of direct log-odds, at the scores and on the warp of their posterior."""
    given = dict(settings.direct[0].hyperparameters or {})
    prior = Prior(**{name: value for name, value in given.items() if name not in UNITS})
    fitted = read_direct(tree, parts_of(tree)[0])
    intercept, slope = prior_draws.draw_prior(prior, fitted.pieces, draws, settings.rng)
    base: Floats = settings.rng.beta(1.0, 1.0, draws)
    curve = replace(fitted, intercept=intercept, slope=slope, prior=base)
    score = tree["posterior"].to_dataset()["score"].values
    return xr.Dataset(
        {
            "log_odds": ((*DRAWS, "score"), curve.log_odds(score)[None]),
            "prior": (DRAWS, base[None]),
        },
        {"chain": [0], "draw": np.arange(draws), "score": score},
    )

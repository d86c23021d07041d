"""Clusters of dependent documents: their design effect, and documents that count as fewer."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import xarray as xr

from bayescal.fitting.engines.monotone.engine import mode_log_odds
from bayescal.fitting.scores import BinaryScores
from bayescal.inference.design_effect import DesignEffect, design_effect
from bayescal.support.numerics import probability
from bayescal.support.validation import read_groups

GROUP = "clusters"  # of a tree of results


def count_clusters(data: BinaryScores, clusters: Any) -> tuple[BinaryScores, DesignEffect]:
    """
    Return documents of weight 1/k times their own, and the design effect k.

    Residuals are of the mode of monotone log-odds, fitted as if documents were independent.
    Without dependence k = 1, and the documents stay as they are.
    """
    _, code = read_groups(clusters, "clusters", "cluster", data.score.size, "scores")
    p = probability(mode_log_odds(data))
    effect = design_effect(data.positive, p, code, data.weight)
    if effect.factor == 1.0:
        return data, effect
    weight = np.ones(data.score.size) if data.weight is None else data.weight
    return replace(data, weight=weight / effect.factor), effect


def to_dataset(effect: DesignEffect) -> xr.Dataset:
    """Return a design effect as a group of results."""
    return xr.Dataset(asdict(effect))


def read_effect(groups: Any) -> DesignEffect | None:
    """Return the design effect of results; None of independent documents."""
    if GROUP not in groups:
        return None
    return DesignEffect(**{name: each.item() for name, each in groups[GROUP].items()})

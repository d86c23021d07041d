"""More documents for a fitted calibrator, and how well they were predicted before they joined."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from bayescal.engines.data import BinaryScores, together
from bayescal.labels import match_labels
from bayescal.metrics.losses import losses
from bayescal.parts.places import Groups
from bayescal.validation import (
    Floats,
    as_scores_of,
    as_weights,
    check_same_length,
)

if TYPE_CHECKING:
    import pandas as pd

PREQUENTIAL = "prequential"  # the group of how well documents were predicted before they joined
COLUMNS = ("documents", "log_loss", "brier", "forgetting")
# Documents that weigh less than that have next to no likelihood: a stream that forgets may let
# them go, so that it does not grow without end.
LEAST_WEIGHT = 1e-12
# A batch as small as that is not worth a table of the curve, which its update makes void.
MOST_DIRECT = 256


def read_new(
    scores: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    *,
    scores_are: str,
    classes: NDArray[Any],
) -> BinaryScores:
    """
    Return new documents of a calibrator that knows its classes; one of these may be missing.

    Raises
    ------
    ValueError
        If scores, labels or weights are not legal or do not belong together, or a label is none of
        the classes.
    """
    if y is None:
        raise ValueError("labels must hold the label of every score, got None.")
    values = as_scores_of(scores, scores_are)
    check_same_length("scores", values.size, "labels", len(np.asarray(y)))
    weight = as_weights(sample_weight, values.size)
    return BinaryScores(values, match_labels(y, classes, "labels"), weight, scores_are)


def joined(old: BinaryScores, new: BinaryScores, forgetting: float) -> BinaryScores:
    """
    Return the documents of today's posterior, in yesterday's units.

    Parameters
    ----------
    old : BinaryScores
        Those fitted, with weights and with the units of their priors.
    new : BinaryScores
        Those that come to them.
    forgetting : float
        The power to which the likelihood of the old ones enters: what their weights are multiplied
        by.
    """
    assert old.weight is not None  # noqa: S101
    kept = old if forgetting == 1.0 else _faded(old, old.weight * forgetting)
    weight = np.ones(new.score.size) if new.weight is None else new.weight
    both = together([kept, replace(new, weight=weight)])
    assert both.weight is not None  # noqa: S101
    # Weights of 1 are none, so that updates and one fit to all documents are the same to the bit.
    own = None if np.all(both.weight == 1.0) else both.weight
    return replace(
        both, weight=own, scores_are=old.scores_are, name=old.name, units=old.centre_and_spread
    )


def _faded(old: BinaryScores, weight: Floats) -> BinaryScores:
    """Return documents with other weights, without those that have next to none."""
    kept = weight >= LEAST_WEIGHT
    for own in (old.positive, ~old.positive):
        if not kept[own].any():
            # A class of which nothing is left would have no density.
            kept |= own & (weight == weight[own].max())
    return replace(
        old,
        score=old.score[kept],
        positive=old.positive[kept],
        weight=np.maximum(weight[kept], LEAST_WEIGHT),
    )


def with_row(
    groups: Groups, log_odds: Floats, new: BinaryScores, forgetting: float
) -> dict[str, xr.Dataset]:
    """
    Return the group of how new documents were predicted, those of earlier updates before it.

    Parameters
    ----------
    groups : mapping of str to Dataset
        Of the results before the update.
    log_odds : array of shape (n,)
        What they said of the new documents.
    new : BinaryScores
        The new documents.
    forgetting : float
        Of the update.
    """
    total = losses(log_odds, new.positive, new.weight)
    row = (total.n, total.log_loss / total.n, total.squared_error / total.n, forgetting)
    before = groups.get(PREQUENTIAL)
    table = {
        name: ("update", np.append([] if before is None else before[name].values, float(value)))
        for name, value in zip(COLUMNS, row, strict=True)
    }
    return {PREQUENTIAL: xr.Dataset(table, attrs={"log_loss_unit": "bits"})}


def prequential_table(groups: Groups) -> pd.DataFrame:
    """Return that group as a table, a row for each update, none of a first fit."""
    import pandas as pd

    found = groups.get(PREQUENTIAL)
    none = np.empty(0)
    values = {name: none if found is None else found[name].values for name in COLUMNS}
    updates = values[COLUMNS[0]].size
    return pd.DataFrame(values, index=pd.RangeIndex(1, updates + 1, name="update"))

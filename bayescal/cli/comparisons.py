"""Comparisons of items: columns of their sources, and likelihood ratios as columns."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal.cli.columns import ColumnReader, Mask, Rows, two_names
from bayescal.cli.terminal import Screen, usage_errors
from bayescal.support.validation import Floats

if TYPE_CHECKING:
    import pandas as pd

    from bayescal.fitting.problems.problem import FittedProblem
    from bayescal.likelihood_ratio import LikelihoodRatios

Sources = tuple[NDArray[np.str_], NDArray[np.str_]]

SCALES = ("enfsi", "none")
SUPPORT = "support"
RATIO_COLUMNS = (
    *("log10_lr", "log10_lr_lower", "log10_lr_upper", "log10_lr_least", "log10_lr_largest"),
    *("beyond", SUPPORT, "sentence"),
)
SOME_ROWS = 100  # in which two columns are compared before all rows are


def read_pairs(reader: ColumnReader, names: str, rows: Rows, positive: Mask) -> Sources:
    """Return the sources of some rows, which are positive exactly where the two are the same."""
    from bayescal.likelihood_ratio.sources import read_sources

    sources_of = "the sources of the two items of each comparison"
    parts = two_names(names, "--source-columns", sources_of)
    first, second = reader.names_of(parts, "source", "--source-columns")
    sources = first[rows], second[rows]
    with usage_errors():
        read_sources(sources, positive[rows], lambda row: reader.row(int(rows[row])))
    return sources


def weights_of_pairs(reader: ColumnReader, names: str, rows: Rows, positive: Mask) -> Floats:
    """Return weights by sources for the rows to fit, and 1 for others."""
    from bayescal.likelihood_ratio import source_weights

    weights = np.ones(positive.size)
    weights[rows] = source_weights(positive[rows], *read_pairs(reader, names, rows, positive))
    return weights


def unnamed_sources(
    reader: ColumnReader, labelled: Mask, positive: Mask, used: Iterable[Any]
) -> tuple[str, str] | None:
    """Return two unused columns of names that repeat and agree in positive rows only, if any."""
    frame, truth = reader.frame[labelled], positive[labelled]
    columns = frame.columns.difference([*filter(None, used)], sort=False)
    step = max(1, truth.size // SOME_ROWS)
    some = {name: _spelled_alike(frame[name].iloc[::step]) for name in columns}
    for one, other in combinations(columns, 2):
        if ((some[one] == some[other]) == truth[::step]).all():
            first, second = (_spelled_alike(frame[each]) for each in (one, other))
            sources = np.unique([*first, *second]).size
            repeated = 2 < sources < 2 * truth.size - truth.sum()
            if repeated and ((first == second) == truth).all():
                return str(one), str(other)
    return None


def _spelled_alike(names: pd.Series[Any]) -> NDArray[Any]:
    """Return names without capitals and blanks at their ends."""
    return names.astype(str).str.strip().str.casefold().to_numpy()


def warn_of_unnamed(screen: Screen, record: Mapping[str, Any]) -> None:
    """Warn if the record of a fit has columns of sources that no option named."""
    if names := record.get("unnamed_sources"):
        screen.warn(
            f"The fitted comparisons seem to share sources, in the columns {' and '.join(names)}:"
            " bands are too narrow. Fit again with --source-columns"
            f" {shlex.quote(','.join(names))}."
        )


def ratios_at(
    fitted: FittedProblem, score: Floats, level: float, support: str, bounds: str | None
) -> dict[str, NDArray[Any]]:
    """Return the columns of likelihood ratios of a fitted problem at scores."""
    from bayescal.likelihood_ratio.ratios import ratios_of, read_scale

    scale = None if support == "none" else read_scale(support)
    with usage_errors("--likelihood-ratio: "):
        return ratio_columns(ratios_of(fitted, score, level=level, bounds=bounds, scale=scale))


def ratio_columns(ratios: LikelihoodRatios) -> dict[str, NDArray[Any]]:
    """Return likelihood ratios by `RATIO_COLUMNS`, without `SUPPORT` if there is no scale."""
    limits = ratios.largest if ratios.bounds is None else np.clip(ratios.largest, *ratios.bounds)
    least, largest = (np.full(ratios.log10.size, limit) for limit in limits)
    values = (ratios.log10, ratios.lower, ratios.upper, least, largest)
    words = ratios.beyond, ratios.support, np.array(ratios.sentences)
    columns = dict(zip(RATIO_COLUMNS, (*values, *words), strict=True))
    if ratios.scale is None:
        del columns[SUPPORT]
    return columns

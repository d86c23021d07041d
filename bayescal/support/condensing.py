"""Scores and labels of any number of documents as counts, for sums over collections."""

import inspect
from collections.abc import Callable, Iterable
from functools import partial, wraps
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.support import validation, weighting
from bayescal.support.validation import Floats, is_lazy

Function = TypeVar("Function", bound=Callable[..., Any])
Part = TypeVar("Part")
CELLS = 1 << 17  # three megabytes, with counts
FAN_IN = 8  # counts that are joined at a time
# Arguments with a value for each document that counts cannot hold.
OF_DOCUMENTS = ("inclusion", "clusters", "sites", "covariates", "draws", "topics")


class ScoreCounts(NamedTuple):
    """Scores, and how many documents have each.

    Attributes
    ----------
    scores : array of shape (cells,)
        Mean score of each cell's documents, in rising order.
    labels : array of shape (cells,) or None
        Their common label, if there are labels.
    counts : array of shape (cells,)
        Their number, or the sum of their weights: the `sample_weight` of other functions.
    """

    scores: Floats
    labels: NDArray[Any] | None
    counts: Floats


def condense(
    scores: Any, labels: Any = None, *, sample_weight: Any = None, cells: int = CELLS
) -> ScoreCounts:
    """Return scores and labels of a collection as counts in cells, by one pass over its rows.

    With at most `cells` distinct scores, or probabilities, each has its own cell and nothing is
    lost. Otherwise cells hold neighbouring scores: floor(cells (2/pi) arcsin(sqrt(q))), where q is
    the share of documents below, numbers them, so that they are finest at both ends; the smallest
    and the largest score have cells of their own. Sums of scores by label are those of the rows. A
    number of documents above a threshold is off by at most those of one cell, a share of
    pi sqrt(q (1 - q)) / cells of all: 1.2e-5 in the middle by default, 2.4e-6 with a hundredth
    above. Other numbers that rest on sums, such as losses and fitted curves, change by less.

    Parameters
    ----------
    scores : array-like or Dask array, Series or DataArray of Dask, of shape (n,)
        Raw scores or probabilities. For Dask, each block of rows is counted where it is.
    labels : array-like or Dask collection of shape (n,), optional
        Labels of the documents, in the same blocks.
    sample_weight : array-like or Dask collection of shape (n,), optional
        How many documents each counts for.
    cells : int
        Number of cells.

    Raises
    ------
    ValueError
        If scores are not finite, lengths or blocks differ, or weights are negative.

    Examples
    --------
    >>> import dask.array as da
    >>> scores = da.from_array([0.5, 2.0, 0.5, 1.0], chunks=2)
    >>> found = condense(scores, da.from_array([0, 1, 0, 1], chunks=2))
    >>> found.scores.tolist(), found.labels.tolist(), found.counts.tolist()
    ([0.5, 1.0, 2.0], [0, 1, 1], [2.0, 1.0, 1.0])
    """
    validation.check_count("cells", cells)
    given = {"scores": scores, "labels": labels, "sample_weight": sample_weight}
    return _counted(given, cells)


def _counted(given: dict[str, Any], cells: int, **of_documents: Any) -> ScoreCounts:
    """Return the counts of scores, labels and weights, which have the names of arguments."""
    of_block, together = (partial(each, cells=cells) for each in (_of_block, _together))
    found: ScoreCounts = over_blocks(given, of_block, together, **of_documents)
    return found


def over_blocks(
    given: dict[str, Any],
    of_block: Callable[..., Part],
    together: Callable[[list[Part]], Part],
    **of_documents: Any,
) -> Part:
    """Return of_block of rows in memory, or joined from those of all blocks of collections."""
    if not is_lazy(*given.values(), *of_documents.values()):
        return of_block(*given.values(), **of_documents)
    import dask

    (name, rows), *_ = given.items()
    for each, values in of_documents.items():
        # In an audit `draws` is a number.
        if not isinstance(values, int | None):
            raise ValueError(
                f"{each} must be None where an argument is a Dask collection, of which only counts"
                " and sums are kept: pass a random sample of the rows in memory."
            )
    if not is_lazy(rows):
        raise ValueError(
            f"{name} must be a Dask collection if {' or '.join(list(given)[1:])} is one: pass all"
            " of them as collections, or call .compute() if they fit into memory."
        )
    like = rows.data if hasattr(rows, "dims") else rows
    if hasattr(like, "chunks"):
        like = like.rechunk(dict.fromkeys(range(1, like.ndim), -1))  # blocks of whole rows
    blocks = [_blocks(values, each, like) for each, values in given.items()]
    parts = [
        dask.delayed(_unless_empty)(of_block, *block, number=k)
        for k, block in enumerate(zip(*blocks, strict=True))
    ]
    while len(parts) > 1:
        groups = [parts[k : k + FAN_IN] for k in range(0, len(parts), FAN_IN)]
        parts = [dask.delayed(_filled)(together, group) for group in groups]
    found: Part | None = parts[0].compute()
    if found is None:
        raise ValueError(f"{name} must hold at least one document, got none.")
    return found


def _unless_empty(of_block: Callable[..., Part], *rows: Any, number: int) -> Part | None:
    # A filter may leave a block without rows.
    return of_block(*rows, block=number) if np.size(rows[0]) else None


def _filled(together: Callable[[list[Part]], Part], parts: list[Part | None]) -> Part | None:
    filled = [part for part in parts if part is not None]
    return together(filled) if filled else None


def from_counts(scores: str, labels: str | None = None) -> Callable[[Function], Function]:
    """Let a function with `sample_weight` take Dask collections of scores and labels, as counts."""

    def with_collections(function: Function) -> Function:
        signature = inspect.signature(function)

        @wraps(function)
        def answered(*arguments: Any, **options: Any) -> Any:
            if not is_lazy(*arguments, *options.values()):
                return function(*arguments, **options)
            bound = signature.bind(*arguments, **options)
            given = bound.arguments
            names = scores, labels or "labels", "sample_weight"
            others = {name: given.get(name) for name in OF_DOCUMENTS}
            found = _counted({name: given.get(name) for name in names}, CELLS, **others)
            given |= {scores: found.scores, "sample_weight": found.counts}
            if labels is not None:
                given[labels] = found.labels
            return function(*bound.args, **bound.kwargs)

        return answered  # type: ignore[return-value]

    return with_collections


def _blocks(values: Any, name: str, like: Any) -> list[Any]:
    """Return the blocks of a collection as tasks, as many as those of the scores."""
    wanted = len(np.ravel(like.to_delayed()))
    if values is None:
        return [None] * wanted
    own = values.data if hasattr(values, "dims") else values
    if not is_lazy(own) or not hasattr(own, "to_delayed"):
        raise ValueError(
            f"{name} must be a Dask collection with the blocks of the scores, got"
            f" {type(values).__name__}: dask.array.from_array makes one."
        )
    arrays = hasattr(own, "chunks") and hasattr(like, "chunks")
    if arrays and own.shape == like.shape[: own.ndim]:
        own = own.rechunk(like.chunks[: own.ndim])
    found = list(np.ravel(own.to_delayed()))
    if len(found) != wanted:
        raise ValueError(
            f"{name} must have the blocks of scores, {wanted}, got {len(found)}: repartition them."
        )
    return found


def _of_block(
    scores: ArrayLike, labels: Any, weight: Any, cells: int, block: int | None = None
) -> ScoreCounts:
    """Return the counts of rows in memory."""
    where = "" if block is None else f" of block {block} (counted from 0)"
    values = validation.as_scores(scores, f"scores{where}")
    counts = weighting.as_weights(weight, values.size, f"sample_weight{where}")
    known = None if labels is None else validation.as_array(labels, f"labels{where}")
    if known is not None:
        validation.check_same_length(f"scores{where}", values.size, "labels", known.size)
        known = known.ravel()
        if known.dtype.kind == "O" and validation.missing(known).any():
            known = validation.reals_or_nan(known, f"labels{where}")
    return _in_cells(values, known, np.ones(values.size) if counts is None else counts, cells)


def joined(parts: Iterable[ScoreCounts], cells: int = CELLS) -> ScoreCounts:
    """Return the counts of several parts of a collection, a few of them in memory at a time."""
    waiting: list[ScoreCounts] = []
    for part in parts:
        waiting.append(part)
        if len(waiting) == FAN_IN:
            waiting = [_together(waiting, cells)]
    return _together(waiting, cells)


def documents_of(values: Floats, counts: Floats, most: int) -> Floats:
    """Return the sorted values of counted documents, at most so many, evenly chosen."""
    order, n = np.argsort(values), int(counts.sum())
    kept = np.linspace(0, n - 1, min(n, most))
    return values[order][np.searchsorted(np.cumsum(counts[order]), kept, side="right")]


def _together(parts: list[ScoreCounts], cells: int) -> ScoreCounts:
    labels = [part.labels for part in parts if part.labels is not None]
    return _in_cells(
        np.concatenate([part.scores for part in parts]),
        np.concatenate(labels) if labels else None,
        np.concatenate([part.counts for part in parts]),
        cells,
    )


def _in_cells(scores: Floats, labels: Any, weight: Floats, cells: int) -> ScoreCounts:
    """Return the mean score and the sum of weights of each cell and label."""
    filled = weight > 0.0
    scores, weight = scores[filled], weight[filled]
    distinct, cell = np.unique(scores, return_inverse=True)
    if distinct.size > cells:
        mass = np.bincount(cell, weight)
        below = (np.cumsum(mass) - mass / 2.0) / mass.sum()
        number = np.floor(np.arcsin(np.sqrt(np.clip(below, 0.0, 1.0))) * (2.0 / np.pi) * cells)
        number[0], number[-1] = -1.0, cells
        cell = np.cumsum(np.diff(number, prepend=number[0]) > 0.0)[cell]
    names, code = np.unique(cell[:0] if labels is None else labels[filled], return_inverse=True)
    kinds = max(names.size, 1)
    key = cell if labels is None else cell * kinds + code
    counts = np.bincount(key, weight).astype(np.float64)
    # Offsets from a score of the cell, so that the mean of equal scores is that score.
    start = np.empty(counts.size)
    start[key] = scores
    seen = np.flatnonzero(counts)
    offset = np.bincount(key, weight * (scores - start[key]))[seen] / counts[seen]
    mean = start[seen] + offset
    return ScoreCounts(mean, None if labels is None else names[seen % kinds], counts[seen])

"""Checked scores of several exclusive classes as natural log-probabilities."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.support import score_checks, validation
from bayescal.support.labels import check_kept, in_order, named_columns, names_of_columns
from bayescal.support.numerics import median
from bayescal.support.validation import Floats, Integers

AUTO, SCORES, PROBABILITIES = "auto", "scores", "probabilities"
SCORES_ARE = (AUTO, SCORES, PROBABILITIES)
SUM_TOLERANCE = 1e-2  # allows for probabilities rounded to two digits
# Typical gap between the two largest scores of a document in the unit that scores are brought to
GAP = 10.0
ROUNDED = 1e-4  # allows for log-probabilities in single precision
SINGLE = 2.0**24  # precision that they are rounded to then
FARTHEST = 1e150  # below a document's largest score, in this unit


@dataclass(frozen=True)
class ClassScores:
    """Documents with a log-probability for each class."""

    log_p: Floats  # (n, K): natural logarithms that sum to 1; -inf for excluded options
    scores_are: str  # meaning of the user's scores: scores or probabilities
    floor: float  # the probability that replaces 0; 0 for none
    names: list[Any] | None  # names of a table's columns
    factor: float = 1.0  # by which the user's scores were multiplied

    @property
    def given(self) -> Floats:
        """Return the log-softmax of the user's scores, (n, K)."""
        if self.factor == 1.0:
            return self.log_p
        return np.asarray(special.log_softmax(self.log_p / self.factor, axis=1))


def read_class_scores(
    scores: Any,
    scores_are: str = AUTO,
    *,
    weight: Floats | None = None,
    floor: float | None = None,
    factor: float | None = None,
    ragged: bool = False,
    columns: int | None = None,
    wider: bool = False,
    classes: NDArray[Any] | None = None,
    guessed: bool = False,
    naming: Callable[[int], str] = "row {}".format,
) -> ClassScores:
    """Return checked scores; with `ragged`, nan pads documents with fewer options."""
    # Columns, floor, factor and classes are those of an earlier fit, `naming` turns rows into
    # names. Scores other than probabilities and their logarithms get a typical gap of 10 by a
    # factor. Floor and factor are those of documents with a weight, by their weights.
    names = named_columns(scores)
    values = _padded(scores, columns) if ragged else validation.as_reals(scores, "scores")
    if classes is not None:
        values = in_order(values, scores, classes, "scores")
    _check_shape(values, None if wider else columns)
    excluded = _excluded(values, ragged, naming)
    if scores_are == AUTO or guessed:
        sums = np.where(excluded, 0.0, values).sum(axis=1)
        inside = bool(np.all((values[~excluded] >= 0.0) & (values[~excluded] <= 1.0)))
        worst = int(np.abs(sums - 1.0).argmax())
        near = abs(float(sums[worst]) - 1.0) <= SUM_TOLERANCE
        if guessed and inside and near and scores_are == SCORES:
            score_checks.warn_of_scores(
                "scores look like probabilities, but those fitted were none, so that they are"
                " read as scores: pass scores of the same kind, or fit with scores_are='scores'"
            )
        scores_are = scores_are if guessed else PROBABILITIES if inside and near else SCORES
        if inside and not near and not guessed:
            score_checks.warn_of_scores(
                "all scores lie in [0, 1], but do not sum to 1 over the classes (those of"
                f" {naming(worst)} sum to {sums[worst]:.4g}), so that they are taken for"
                " scores: say what they are, scores_are='probabilities', once they sum to 1, or"
                " 'scores'"
            )
    if scores_are == PROBABILITIES:
        counted = np.ones(len(values), dtype=np.bool_) if weight is None else weight > 0.0
        values, floor = _as_logarithms(values, excluded, floor, naming, counted)
    kept = np.where(excluded, -np.inf, values)
    if factor is None:
        factor = 1.0 if scores_are == PROBABILITIES else _factor(kept, weight)
    below = kept - kept.max(axis=1, keepdims=True)
    if factor != 1.0:
        with np.errstate(over="ignore"):
            below = np.maximum(factor * below, -FARTHEST)
        # The sampler would turn rounding errors of other units into other draws.
        share, power = np.frexp(below)
        below = np.ldexp(np.rint(share * SINGLE) / SINGLE, power)
    log_p = special.log_softmax(np.where(excluded, -np.inf, below), axis=1)
    return ClassScores(log_p, scores_are, floor or 0.0, names, factor)


def _factor(values: Floats, weight: Floats | None) -> float:
    """Return the factor that makes the typical gap of scores GAP; 1 for log-probabilities."""
    if weight is not None:
        values, weight = values[weight > 0.0], weight[weight > 0.0]
    if np.abs(special.logsumexp(values, axis=1)).max() <= ROUNDED:
        return 1.0
    below = np.sort(values.max(axis=1, keepdims=True) - values, axis=1)
    finite = np.isfinite(below)
    two = finite[:, 1]  # documents with two options
    if not two.any():
        return 1.0
    # If most documents have two equal scores at the top, all distances from it count.
    own = None if weight is None else weight[two]
    times = None if weight is None else np.broadcast_to(weight[:, None], below.shape)[finite]
    typical = median(below[two, 1], own) or float(np.average(below[finite], weights=times))
    if typical == 0.0:
        return 1.0
    validation.check_spread("scores of a document", typical)
    return GAP / typical


def _padded(scores: Any, columns: int | None) -> Floats:
    """Return rows of different lengths as one array, padded with nan."""
    rows = scores
    if not hasattr(scores, "shape") and isinstance(scores, Sequence) and len(scores):
        rows = [validation.as_reals(row, "scores") for row in scores]
        if any(row.ndim != 1 for row in rows):
            raise ValueError(
                "scores must hold a sequence of numbers for each document, one for each option."
            )
        width = max(max(row.size for row in rows), columns or 0)
        out = np.full((len(rows), width), np.nan)
        for k, row in enumerate(rows):
            out[k, : row.size] = row
        return out
    values = validation.as_reals(rows, "scores")
    if columns is not None and values.ndim == 2 and values.shape[1] < columns:
        missing = np.full((len(values), columns - values.shape[1]), np.nan)
        values = np.hstack([values, missing])
    return values


def _check_shape(values: Floats, columns: int | None) -> None:
    if values.ndim != 2 or values.shape[0] == 0:
        raise ValueError(
            "scores must have shape (documents, classes) with at least one document, got"
            f" {values.shape}."
        )
    if columns is not None and values.shape[1] != columns:
        raise ValueError(
            f"scores must have {columns} columns, one for each class fitted, got {values.shape[1]}."
        )
    if values.shape[1] < 2:
        raise ValueError(
            "scores must have a column for each class, at least two, got one: use ScoreCalibrator"
            " for the score of one class against the other."
        )


def _excluded(values: Floats, ragged: bool, naming: Callable[[int], str]) -> NDArray[np.bool_]:
    """Return a mask of excluded options; raise ValueError for invalid values."""
    strange = np.isposinf(values) if ragged else np.isposinf(values) | np.isnan(values)
    if strange.any():
        row, column = np.argwhere(strange)[0]
        raise ValueError(
            f"scores must be finite, or -inf for an excluded option, got {values[row, column]} in"
            f" {naming(int(row))}, column {column} ({np.count_nonzero(strange)} of {values.size}"
            " values): leave those documents out."
        )
    excluded: NDArray[np.bool_] = np.isnan(values) | np.isneginf(values)
    nothing = excluded.all(axis=1)
    if nothing.any():
        raise ValueError(
            "scores must leave each document an option that is not excluded,"
            f" {naming(int(np.flatnonzero(nothing)[0]))} has none."
        )
    validation.check_magnitude("scores", np.abs(values[~excluded]).max())
    return excluded


def _as_logarithms(
    values: Floats,
    excluded: NDArray[np.bool_],
    floor: float | None,
    naming: Callable[[int], str],
    counted: NDArray[np.bool_],
) -> tuple[Floats, float]:
    """Return logarithms of probabilities; one of exactly 0 is half the smallest above 0."""
    kept = np.where(excluded, 0.0, values)
    outside = (kept < 0.0) | (kept > 1.0)
    if outside.any():
        raise ValueError(
            f"probabilities must lie between 0 and 1, got {kept[outside][0]:g}: fit with"
            " scores_are='scores' if they are none."
        )
    off = kept.sum(axis=1) - 1.0
    worst = int(np.abs(off).argmax())
    if abs(off[worst]) > SUM_TOLERANCE:
        raise ValueError(
            f"probabilities of a document must sum to 1, those of {naming(worst)} sum to"
            f" {1.0 + off[worst]:.4g}: give all classes, normalise them, or fit with"
            " scores_are='scores'."
        )
    if floor is None:
        used = kept[~excluded & counted[:, None]]
        floor = 0.5 * float(used[used > 0.0].min()) if (used == 0.0).any() else 0.0
    if floor > 0.0:
        kept = np.maximum(kept, floor)
    elif (kept[~excluded] == 0.0).any():
        # No fitted probability was 0: the smallest positive number replaces it.
        kept = np.where(kept == 0.0, validation.SMALLEST_PROBABILITY, kept)
    with np.errstate(divide="ignore"):
        return np.where(excluded, -np.inf, np.log(kept)), floor


# Labels and the classes of columns.


def read_classes(
    given: NDArray[Any] | None, names: list[Any] | None, labels: NDArray[Any], columns: int
) -> NDArray[Any]:
    """Return the class of each column: as given, by the names of columns, or by the labels."""
    if given is not None:
        check_kept(names_of_columns(given, columns, "scores"), "classes")
        return given
    present = np.unique(labels)
    if names is not None and set(map(str, present.tolist())) <= set(map(str, names)):
        if len(set(map(str, names))) < len(names):
            raise ValueError("columns of scores must name every class once, got a name twice.")
        if labels.dtype.kind in "iu" and all(str(name).lstrip("-").isdigit() for name in names):
            return np.array([int(name) for name in names])
        return np.array([str(name) for name in names])
    if present.size == columns:
        return present
    if labels.dtype.kind in "iub" and present.min() >= 0 and present.max() < columns:
        return np.arange(columns)
    seen = validation.first_of(present.tolist())
    raise ValueError(
        f"classes must name the {columns} columns of scores, for the labels ({seen}) do not tell"
        " which column is whose: pass classes=[...] in the order of the columns."
    )


def positions(labels: NDArray[Any], classes: NDArray[Any], name: str = "y") -> Integers:
    """Return the column of each label; raise ValueError for an unknown label."""
    if labels.dtype.kind in "US" and classes.dtype.kind not in "US":
        labels = labels.astype(object)
    order = np.argsort(classes, kind="stable")
    try:
        at = np.searchsorted(classes[order], labels)
    except TypeError:
        at = np.zeros(labels.size, dtype=np.intp)
    found: Integers = order[np.minimum(at, classes.size - 1)]
    strange = classes[found] != labels
    if np.any(strange):
        raise ValueError(
            f"{name} must hold classes of the columns"
            f" ({validation.first_of(classes.tolist())}), got"
            f" {np.asarray(labels)[strange].tolist()[0]!r}, which no column has."
        )
    return found


def check_possible(log_p: Floats, label: Integers) -> None:
    """Raise ValueError if a label is an excluded option."""
    impossible = np.isneginf(log_p[np.arange(label.size), label])
    if impossible.any():
        raise ValueError(
            f"the label of row {np.flatnonzero(impossible)[0]} is an option that its scores"
            " exclude: correct the label, or give the option a score."
        )

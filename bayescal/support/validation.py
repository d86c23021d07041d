"""Checks and conversions of users' arguments: arrays, choices, seeds."""

import math
import re
import sys
import warnings
from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Columns = Mapping[str, NDArray[Any]]  # arrays of equal length by name
Integers = NDArray[np.intp]

DATES = date | np.datetime64 | np.timedelta64
UNWRITABLE = re.compile("[\0\ud800-\udfff]")

SMALLEST_PROBABILITY = 1e-15  # the least probability that a score of 0 stands for
PROBABILITY_ENDS = SMALLEST_PROBABILITY, 1.0 - SMALLEST_PROBABILITY
LEAST_SPREAD = 1e-280  # of scores: widths of densities are a share of it


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called the package, above all frames of the package."""
    frame, level = sys._getframe(1), 2
    while frame.f_globals.get("__name__", "").partition(".")[0] == "bayescal" and frame.f_back:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, level)


def as_scores(scores: ArrayLike, name: str = "scores") -> Floats:
    """Return raw scores as a float64 array of shape (n,)."""
    values = as_reals(scores, name)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        two = values.ndim == 2 and values.shape[1] == 2
        advice = " Of the two columns of predict_proba pass [:, 1], the positive class." * two
        raise ValueError(
            f"{name} must have shape (n,) or (n, 1), one score per document, got"
            f" {values.shape}.{advice}"
        )
    if values.size == 0:
        raise ValueError(f"{name} must hold at least one score, got none.")
    check_finite(values, name)
    return values


def probabilities_of_shape(
    values: ArrayLike, name: str, *shape: int | str, tolerance: float | None = None
) -> Floats:
    """Return probabilities whose axes have given lengths, or names; "classes" are two."""
    single = isinstance(values, np.ndarray) and values.dtype == np.float32
    p = unmasked(values, name) if single else as_reals(values, name)
    fits = [isinstance(each, str) or each == n for each, n in zip(shape, p.shape, strict=False)]
    few = shape[-1] == "classes" and p.shape[-1:] == (1,)
    if p.ndim != len(shape) or not all(fits) or not p.size or few:
        expected = ", ".join(map(str, shape)) + "," * (len(shape) == 1)
        raise ValueError(f"{name} must have shape ({expected}), got {p.shape}.")
    # nan must fail too.
    if not (p.min() >= 0.0 and p.max() <= 1.0):
        wrong = p[~((p >= 0.0) & (p <= 1.0))][0]
        raise ValueError(f"{name} must hold probabilities from 0 to 1, got {wrong:g}.")
    if tolerance is None:
        return p
    total = np.asarray(p.sum(axis=-1))
    at = np.unravel_index(np.abs(total - 1.0).argmax(), total.shape)
    if abs(total[at] - 1.0) > tolerance:
        raise ValueError(
            f"{name} must sum to 1 over the classes, got {total[at]:.4g} at position"
            f" {', '.join(map(str, at))}: normalise them."
        )
    return p


def probability_ends(values: Floats, scores_are: str) -> tuple[float, float]:
    """Return the probabilities that stand for 0 and 1: half as far out as the nearest others."""
    # A share k/m of votes is 0 if the probability is below 1/m: it is read as 1/(2 m).
    if scores_are != "probabilities":
        return PROBABILITY_ENDS
    inside = values[(values > 0.0) & (values < 1.0)]
    nearest = float(inside.min(initial=0.5)), 1.0 - float(inside.max(initial=0.5))
    # Of 0 and 1 alone the nearest other is taken to be 1/2: they are read as 1/4 and 3/4.
    below, above = (max(0.5 * each, SMALLEST_PROBABILITY) for each in nearest)
    low = below if (values == 0.0).any() else SMALLEST_PROBABILITY
    high = above if (values == 1.0).any() else SMALLEST_PROBABILITY
    return low, 1.0 - high


def as_scores_of(
    scores: ArrayLike,
    scores_are: str,
    name: str = "scores",
    ends: tuple[float, float] = PROBABILITY_ENDS,
) -> Floats:
    """Return scores, or the natural log-odds of probabilities, as a float64 array, (n,)."""
    values = as_scores(scores, name)
    if scores_are != "probabilities":
        return values
    if values.min() < 0.0 or values.max() > 1.0:
        outside = values[(values < 0.0) | (values > 1.0)][0]
        raise ValueError(
            f"probabilities must lie between 0 and 1, got {outside}; fit with scores_are='scores'"
            " if they are none."
        )
    inside = np.clip(values, *ends)
    return np.log(inside) - np.log1p(-inside)


def name_of(scores: object) -> str:
    """Return the name of a Series, a DataArray or a single column, for labels of plots."""
    columns = column_names(scores) if hasattr(scores, "columns") else []
    name = columns[0] if len(columns) == 1 else getattr(scores, "name", None)
    return name if isinstance(name, str) and name else "score"


def identifiers_of(scores: Any, n: int) -> NDArray[Any] | None:
    """Return the unique index of a Series, or the coordinate of a DataArray; None without one."""
    index: Any = getattr(scores, "index", None)
    if hasattr(scores, "indexes"):
        index = next(iter(scores.indexes.values()), None)
    # A RangeIndex, which has a step, holds positions, and those of several levels have no one name.
    positions = hasattr(index, "step") or hasattr(index, "levels")
    if positions or not getattr(index, "is_unique", False) or len(index) != n:
        return None
    values: NDArray[Any] = np.asarray(index)
    return values if values.dtype.kind in "iu" else values.astype(np.str_)


def column_names(table: Any) -> list[Any]:
    """Return the names of the columns of a pandas, polars or Dask DataFrame or a pyarrow table."""
    # `columns` of a pyarrow table are arrays, not names.
    return list(table.column_names if hasattr(table, "column_names") else table.columns)


def take_columns(columns: Columns | None, rows: NDArray[np.intp]) -> Columns | None:
    """Return the same rows of all columns; None without columns."""
    return None if columns is None else {name: each[rows] for name, each in columns.items()}


def check_same_length(name: str, n: int, other_name: str, m: int) -> None:
    """Raise ValueError unless two arguments describe the same number of documents."""
    if n != m:
        raise ValueError(f"{name} and {other_name} must have the same length, got {n} and {m}.")


def check_positive(**parameters: ArrayLike) -> None:
    """Raise ValueError unless every value of every named parameter is positive and finite."""
    for name, value in parameters.items():
        array = as_reals(value, name)
        good = (array > 0.0) & (array < np.inf)
        if not good.all():
            raise ValueError(f"{name} must be positive and finite, got {array[~good].flat[0]}.")


def check_count(name: str, value: Any) -> None:
    """Raise ValueError unless an argument is a positive whole number."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} must be a positive whole number, got {value!r}.")


def as_priors(stated: Any, example: str) -> dict[str, Any]:
    """Return `prior_knowledge` as a dict of hyperparameters by name; an empty one for None."""
    if stated is not None and not isinstance(stated, Mapping):
        raise ValueError(
            f"prior_knowledge must be a dict of hyperparameters by name, such as {example}, got"
            f" {shown(stated)}."
        )
    return dict(stated or {})


def check_instance(name: str, value: Any, expected: str, *methods: str) -> None:
    """Raise ValueError unless an argument is an object, not a class, that has the methods."""
    if isinstance(value, type) or not all(hasattr(value, method) for method in methods):
        raise ValueError(f"{name} must be {expected}, got {shown(value)}.")


def check_flag(**parameters: Any) -> None:
    """Raise ValueError unless every named argument is True or False."""
    for name, value in parameters.items():
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"{name} must be True or False, got {value!r}.")


def check_fraction(**parameters: Any) -> None:
    """Raise ValueError unless every named number lies strictly between 0 and 1."""
    for name, value in parameters.items():
        if not isinstance(value, int | float | np.number) or not 0.0 < value < 1.0:
            raise ValueError(f"{name} must lie between 0 and 1 (both excluded), got {value!r}.")


def check_share(**parameters: Any) -> None:
    """Raise ValueError unless every named number lies above 0 and is at most 1."""
    for name, value in parameters.items():
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not (number and 0.0 < value <= 1.0):
            raise ValueError(f"{name} must be a number above 0 and at most 1, got {value!r}.")


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise ValueError unless `value` is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        expected = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {expected}, got {value!r}.")


def first_of(names: Collection[Any], most: int = 5) -> str:
    """Return the first names, for a message."""
    return ", ".join(map(repr, list(names)[:most])) + ", ..." * (len(names) > most)


def as_reals(values: ArrayLike, name: str) -> Floats:
    """Return numbers as a float64 array of the same shape."""
    values = unmasked(values, name)
    try:
        array = np.asarray(values)
        # numpy converts text to numbers and drops imaginary parts.
        other = array.dtype.kind in "cUSTMmV" or (
            array.dtype.kind == "O"
            and any(isinstance(each, str | bytes | DATES) for each in array.flat)
        )
        floats = None if other else array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        floats = None
    if floats is None:
        raise ValueError(f"{name} must be real numbers, got {shown(values)}.")
    return floats


def is_lazy(*values: Any) -> bool:
    """Return whether one of the values is a dask collection, or contains one."""
    # Numpy-backed xarray has the method too, and returns None.
    graphs = (getattr(value, "__dask_graph__", None) for value in values)
    return any(graph is not None and graph() is not None for graph in graphs)


def as_array(values: Any, name: str) -> NDArray[Any]:
    """Return values as an array of at least one dimension, none of them masked."""
    values = unmasked(values, name)
    try:
        array = np.asarray(values)
    except ValueError:  # rows of several lengths
        array = None
    if array is None or array.ndim == 0:
        raise ValueError(f"{name} must be an array, a list or a Series, got {shown(values)}.")
    if array.dtype.kind == "U" and not hasattr(values, "dtype"):
        # NumPy makes text of missing values in a list of text.
        given = np.array(values, dtype=object)
        return given if missing(given).any() else array
    return array


def unmasked(values: Any, name: str) -> Any:
    """Return values; raise ValueError if `numpy.asarray` would load them, or lose a mask."""
    if is_lazy(values):
        raise ValueError(
            f"{name} must be in memory, got a Dask collection: call .compute() if it fits, or draw"
            " some of its rows and pass inclusion=."
        )
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        masked = values.size - values.count()
        raise ValueError(
            f"{name} must hold no masked value, got {masked} of {values.size}:"
            " leave those documents out."
        )
    return values


def validated(estimator: Any, X: Any, *y: Any, **options: Any) -> Any:  # noqa: N803
    """Validate arrays by scikit-learn's `validate_data`; name values that are no numbers."""
    from sklearn.utils.validation import validate_data

    text = not options.get("y_numeric", False)
    labels = [each if each is None else _legible(each, "y", text=text) for each in y]
    table = unmasked(X, "X") if options.get("skip_check_array") else _legible(X, "X")
    checked = validate_data(estimator, table, *labels, **options)
    if not options.get("skip_check_array"):
        _check_magnitudes(checked[0] if y else checked)
    return checked


def as_table(X: Any, **options: Any) -> Floats:  # noqa: N803
    """Return features as a float64 matrix, by scikit-learn's `check_array`."""
    from sklearn.utils.validation import check_array

    table: Floats = check_array(_legible(X, "X"), dtype=np.float64, **options)
    _check_magnitudes(table)
    return table


def as_documents(documents: Any, name: str = "X") -> Any:
    """Return a classifier's documents in a form that allows selecting rows."""
    from sklearn.utils import indexable

    with suppress(TypeError):
        if documents is not None and not isinstance(documents, str | bytes):
            return indexable(unmasked(documents, name))[0]
    raise ValueError(f"{name} must hold a row for each document, got {shown(documents)}.")


def _legible(values: Any, name: str, *, text: bool = False) -> Any:
    """Return values; raise ValueError if some are masked or no numbers (or labels, with `text`)."""
    values = unmasked(values, name)
    if hasattr(values, "tocsr"):
        return values
    array = as_array(values, name)
    if array.dtype.kind not in "OUSMmV":
        return values
    for row, each in zip(np.ndindex(array.shape), array.flat, strict=True):
        if _is_no_number(each) and not (text and isinstance(each, str | bytes)):
            place = f"position {row[0]}" if len(row) == 1 else f"row {row[0]}, column {row[-1]}"
            expected = f"{name} must hold {'labels' if text else 'real numbers'}"
            if not isinstance(each, str | bytes | int | DATES) and not is_missing(each):
                raise TypeError(
                    f"{expected}, got {shown(each)} at {place}: each value of this argument must"
                    " be a number, or a string that is a number."
                )
            raise ValueError(
                f"{expected}, got {shown(each)} at {place}: leave those documents out, or impute"
                " the values."
            )
    if text and array.dtype.kind == "O":
        plain = np.array(array.tolist())  # scikit-learn takes numbers of type object for unknown
        return plain if plain.dtype.kind in "biu" else values
    return values


def _is_no_number(value: Any) -> bool:
    """Return True if numpy cannot read the value as a number, as for dates and pandas.NA."""
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return value is not None
    return isinstance(value, DATES)


def check_finite(values: Floats, name: str) -> None:
    """Raise ValueError unless all values are finite, and their squares too."""
    # The ends are nan if any value is, and infinite if one is; only then search for it.
    with np.errstate(invalid="ignore"):
        low, high = float(values.min()), float(values.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        bad = np.flatnonzero(~np.isfinite(values))
        raise ValueError(
            f"{name} must be finite, got {values[bad[0]]} at position {bad[0]}"
            f" ({bad.size} of {values.size} values): remove or impute them first."
        )
    check_magnitude(name, low if -low > high else high)


def _check_magnitudes(table: Any) -> None:
    """Check the values of a matrix, dense or sparse, that are not missing."""
    values = table.data if hasattr(table, "tocsr") else table
    if values.dtype.kind == "f":
        for end in (np.nanmin, np.nanmax):
            check_magnitude("X", float(end(values, initial=0.0)))


def check_magnitude(name: str, extreme: float) -> None:
    """Raise ValueError if the square of the extreme value would overflow."""
    if abs(extreme) > 1e150:
        raise ValueError(f"{name} must lie within 1e150 of 0, got {extreme:g}: rescale them.")


def check_spread(name: str, spread: float, least: float = LEAST_SPREAD) -> None:
    """Raise ValueError if shares of the spread would underflow, or their inverses overflow."""
    if spread <= least:
        raise ValueError(
            f"{name} must differ by more than {least:g}, got a spread below it: multiply"
            " them by a constant, such as 1e200, or pass their logarithms."
        )


def shown(value: Any) -> str:
    """Return a value for a message, on one line and abbreviated."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def check_names(names: ArrayLike, what: str) -> None:
    """Raise ValueError for text that no file of results can hold: NUL, and lone surrogates."""
    # As objects: arrays of text drop null characters at the end.
    values = np.asarray(names, dtype=object).ravel().tolist()
    # One search of all text takes a tenth of the time of one for each name.
    if UNWRITABLE.search("".join(value for value in values if isinstance(value, str))):
        first = next(v for v in values if isinstance(v, str) and UNWRITABLE.search(v))
        raise ValueError(
            f"{what} must not hold null characters or half characters (surrogates), got {first!r}:"
            " rename it."
        )


def missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return a mask of missing labels: nan, None, pandas.NA and the like."""
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values), dtype=np.bool_)
    out = np.zeros(values.shape, dtype=np.bool_)
    if values.dtype.kind == "O":
        out.ravel()[:] = [is_missing(each) for each in values.flat]
    return out


def reals_or_nan(values: NDArray[Any], name: str) -> Floats:
    """Return numbers as a float64 array, with nan where they are missing."""
    blank = missing(values)
    return as_reals(np.where(blank, np.nan, values) if blank.any() else values, name)


def is_missing(value: object) -> bool:
    """Return True for nan, None, pandas.NA and the like."""
    # pandas.NA is neither equal to itself nor unequal; pandas may not be loaded.
    return (
        value is None
        or type(value).__name__ in {"NAType", "NaTType"}
        or (isinstance(value, float) and math.isnan(value))
    )


# Random states.


def generator(random_state: Any) -> np.random.Generator:
    """Return a Generator from an int, a Generator, a RandomState, a SeedSequence or None."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            "random_state must be a whole number from 0 on, a numpy Generator, RandomState or"
            f" SeedSequence, or None; got {random_state!r}."
        ) from None

"""Results as plain numbers and texts, and the places where two of them differ."""

import dataclasses
import hashlib
import inspect
import math
import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

# Arrays of more numbers are kept as sums: each with other weights, so that no change hides.
MOST_NUMBERS, SUMS = 40, 3
DIGITS = 12
# Beside the largest number of an array, smaller ones are what cancellation left.
CANCELLED = 1e-6
# What rounding leaves of a difference of numbers near one.
ROUNDED = 1e-14
# Coordinates that count from 0.
COUNTED = ("chain", "draw", "document")


def plain(value):
    """Return a result as what JSON holds: dictionaries, lists, texts and numbers."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Path):
        return value.name
    if inspect.isfunction(value):
        return value.__qualname__
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, int | float | complex):
        return _number(value)
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, pd.DataFrame | pd.Series) and not isinstance(value.index, pd.RangeIndex):
        return {"index": plain(value.index), "values": plain(value.reset_index(drop=True))}
    if isinstance(value, pd.DataFrame | xr.Dataset):
        return {str(name): plain(value[name]) for name in value}
    if isinstance(value, pd.Series | pd.Index | xr.DataArray):
        return plain(np.asarray(value))
    if isinstance(value, xr.DataTree):
        return {str(path): plain(node.to_dataset()) for path, node in value.subtree_with_keys}
    if hasattr(value, "_asdict"):
        value = value._asdict()
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return _listed(sorted(value) if isinstance(value, set | frozenset) else list(value))
    raise TypeError(f"no plain form of {type(value).__name__}: {value!r}")


def attributes_of(estimator):
    """Return the fitted attributes of an estimator, which end with an underscore."""
    names = [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]
    return {name: getattr(estimator, name) for name in sorted(names)}


def every_group(tree):
    """Return the variables of each group of a tree of results in order, each as one number."""
    return {
        path: [_one_number(group[name].values) for name in _shown(group)]
        for path, group in _groups_of(tree)
    }


def every_name(tree):
    """Return the variables of each group of a tree of results, and the attributes."""
    said = {name: value for name, value in tree.attrs.items() if not name.endswith("_versions")}
    for path, group in _groups_of(tree):
        dimensions = {name: " ".join(map(str, group[name].dims)) for name in _shown(group)}
        said[path] = dimensions | {name: str(value) for name, value in group.attrs.items()}
    return said


def _groups_of(tree):
    groups = ((path, node.to_dataset(inherit=False)) for path, node in tree.subtree_with_keys)
    return [(path, group) for path, group in groups if group.variables]


def _shown(group):
    return sorted(str(name) for name in group.variables if name not in COUNTED)


def _one_number(values):
    if values.dtype.kind in "OUS":
        return " ".join(map(str, values.flat))
    numbers = values.ravel().astype(float)
    weight = 2.0 + np.cos(np.arange(numbers.size) * math.sqrt(2.0))
    # In a list of its own: beside larger numbers it would be compared less closely.
    return [_number(float(weight @ np.nan_to_num(numbers, nan=-7.5, posinf=11.0, neginf=-5.0)))]


def outcome(function, *arguments, **options):
    """Return a function's result or error, with the texts of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            said = {"answer": function(*arguments, **options)}
        except Exception as error:
            said = {"error": f"{type(error).__name__}: {error}"}
    texts = [f"{each.category.__name__}: {each.message}" for each in caught]
    return said | {"warnings": texts} if texts else said


def answer_of(function, *arguments, **options):
    """Return the answer of a call, with its warnings if there are any; or the error."""
    found = outcome(function, *arguments, **options)
    if "error" in found:
        return found["error"]
    said = found["answer"]
    return {"said": said, "warned": found["warnings"]} if "warnings" in found else said


def differences(said, before, rounding, place=""):
    """Return the places where a plain result differs from a reference."""
    if isinstance(before, dict) and isinstance(said, dict) and said.keys() == before.keys():
        pairs = ((f"{place}.{name}", said[name], before[name]) for name in before)
        return [each for at, *two in pairs for each in differences(*two, rounding, at)]
    if _are_numbers(before) and _are_numbers(said) and len(said) == len(before):
        apart = ~_close(np.array(said, float), np.array(before, float), rounding)
        return [f"{place}[{k}]: {said[k]!r}, was {before[k]!r}" for k in np.flatnonzero(apart)]
    if isinstance(before, list) and isinstance(said, list) and len(said) == len(before):
        pairs = ((f"{place}[{k}]", *two) for k, two in enumerate(zip(said, before, strict=True)))
        return [each for at, *two in pairs for each in differences(*two, rounding, at)]
    if _is_number(before) and _is_number(said):
        return differences([said], [before], rounding, place)
    return [] if said == before else [f"{place}: {said!r}, was {before!r}"]


def _close(said, before, rounding):
    finite = np.abs(before[np.isfinite(before)])
    least = CANCELLED * finite.max(initial=0.0)
    bound = rounding * np.maximum(np.abs(before), least) + ROUNDED
    with np.errstate(invalid="ignore"):
        near = np.abs(said - before) <= bound
    return near | (said == before) | (np.isnan(said) & np.isnan(before))


def _is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_numbers(value):
    return isinstance(value, list) and all(map(_is_number, value))


def _number(value):
    if isinstance(value, complex):
        return [_number(value.real), _number(value.imag)]
    if isinstance(value, int):
        return value
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else value


def _listed(values):
    if len(values) > MOST_NUMBERS and all(map(_is_number, values)):
        return _array(np.array(values, dtype=float))
    return [plain(each) for each in values]


def _array(values):
    if values.dtype.kind in "OUSMm" and values.size > MOST_NUMBERS:
        text = "\n".join(map(str, values.flat))
        return {"shape": list(values.shape), "sha256": hashlib.sha256(text.encode()).hexdigest()}
    if values.dtype.kind in "OUSMm":
        return [plain(each) if values.dtype.kind == "O" else str(each) for each in values.flat]
    if values.size <= MOST_NUMBERS:
        return [_number(each) for each in values.ravel().tolist()]
    numbers = values.ravel().astype(float)
    sound = np.isfinite(numbers)
    steps = np.arange(numbers.size)
    weights = [2.0 + np.cos(steps * math.sqrt(prime)) for prime in (2.0, 3.0, 5.0)[:SUMS]]
    return {
        "shape": list(values.shape),
        "without value": np.flatnonzero(~sound).tolist()[:MOST_NUMBERS],
        "sums": [_number(float(weight[sound] @ numbers[sound])) for weight in weights],
    }

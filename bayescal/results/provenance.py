"""Where a tree comes from: versions, arguments, classes; enough to make the estimator again."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

ESTIMATOR = "bayescal_estimator"  # the attribute that says what made a tree
PACKAGES = ("bayescal", "pymc", "numpy", "scipy", "xarray")


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # a bare checkout on the path, not installed
            found[package] = "not installed"
    return found


def describe(
    estimator: str, parameters: Mapping[str, Any], classes: NDArray[Any]
) -> dict[str, str]:
    """
    Return the attributes of a tree, as JSON texts.

    Parameters
    ----------
    estimator : str
        What made it, a key of `bayescal.loading.CALIBRATORS`.
    parameters : mapping
        Its arguments.
    classes : array of shape (2,)
        The negative and the positive class.
    """
    return {
        ESTIMATOR: estimator,
        "bayescal_versions": json.dumps(versions()),
        "bayescal_parameters": json.dumps({k: _plain(v) for k, v in parameters.items()}),
        "bayescal_classes": json.dumps({"dtype": classes.dtype.str, "values": classes.tolist()}),
    }


def check_made_by(estimator: str, tree: xr.DataTree, path: str | Path) -> None:
    """
    Check that a file holds what an estimator made.

    Raises
    ------
    ValueError
        If another one made it.
    """
    if (other := tree.attrs[ESTIMATOR]) != estimator:
        raise ValueError(f"{path} holds a {other}: bayescal.load reads it.")


def read(attrs: Mapping[Any, Any]) -> tuple[dict[str, Any], NDArray[Any]]:
    """Return the estimator's parameters and classes from a tree's attributes."""
    parameters = json.loads(attrs["bayescal_parameters"])
    classes = json.loads(attrs["bayescal_classes"])
    return parameters, np.array(classes["values"], dtype=np.dtype(classes["dtype"]))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    # A generator has no value that could be written down; its draws are in the tree.
    return value if isinstance(value, str | int | float | bool | list | None) else None

"""Trees on disk: netCDF files, versioned, without pickle."""

from __future__ import annotations

import os
from pathlib import Path

import xarray as xr

SCHEMA_VERSION = 2


def write_tree(tree: xr.DataTree, path: str | Path) -> Path:
    """
    Write a tree to a netCDF file, whole or not at all.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent}; make it first.")
    tree = tree.copy()
    tree.attrs["bayescal_schema"] = SCHEMA_VERSION
    # Beside the target, so that the final step is one rename; the process number keeps two apart.
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        tree.to_netcdf(temporary, engine="h5netcdf")
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return target


def read_tree(path: str | Path) -> xr.DataTree:
    """
    Read a tree that `write_tree` wrote.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is no netCDF file of bayescal, or one of another schema.
    """
    source = Path(path)
    if not source.is_file():
        raise FileNotFoundError(f"there is no file {source}.")
    try:
        with xr.open_datatree(source, engine="h5netcdf") as opened:
            tree = opened.load()
    except OSError as err:
        raise ValueError(f"{source} is not a netCDF file: {err}") from err
    version = tree.attrs.get("bayescal_schema")
    if version is None:
        raise ValueError(f"{source} was not written by bayescal: it has no bayescal_schema.")
    if version != SCHEMA_VERSION:
        advice = "update bayescal" if version > SCHEMA_VERSION else "fit and save it again"
        raise ValueError(
            f"{source} has schema {version}, this version reads schema {SCHEMA_VERSION}: {advice}."
        )
    return tree

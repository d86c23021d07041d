"""Trees on disk: netCDF files, versioned, without pickle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import xarray as xr

from bayescal.results.schema import MIXED, SCHEMA_VERSION, upgrade
from bayescal.whole_file import whole_file

if TYPE_CHECKING:
    import h5py

# The name that netCDF-4 gives a dimension without coordinates.
NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable. {:9d}"


def write_tree(tree: xr.DataTree, path: str | Path) -> Path:
    """
    Write a tree to a netCDF file, whole or not at all.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, PermissionError
        As `bayescal.whole_file.whole_file`.
    """
    with whole_file(path) as temporary:
        _write(tree, temporary)
    return Path(path)


def read_tree(path: str | Path) -> xr.DataTree:
    """
    Read a tree that `write_tree` wrote, of this version or of 0.1.0.

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
        raise ValueError(
            f"{source} is not a netCDF file, which a calibrator's save writes: {err}; if it is from"
            " CalibratedClassifier.save, CalibratedClassifier.load reads it."
        ) from err
    version = tree.attrs.get("bayescal_schema")
    if version is None:
        raise ValueError(f"{source} was not written by bayescal: it has no bayescal_schema.")
    if version == MIXED:
        return upgrade(tree)
    if version != SCHEMA_VERSION:
        advice = "update bayescal" if version > SCHEMA_VERSION else "fit and save it again"
        raise ValueError(
            f"{source} has schema {version}, this version reads schema {SCHEMA_VERSION}: {advice}."
        )
    return tree


def _write(tree: xr.DataTree, path: Path) -> None:
    """Write netCDF-4 by h5py: DataTree.to_netcdf takes twelve times as long for small data."""
    import h5py

    # netCDF-4 wants to know the order in which groups and variables were made.
    with h5py.File(path, "w", track_order=True) as file:
        file.attrs.update(tree.attrs | {"bayescal_schema": SCHEMA_VERSION})
        for node in tree.descendants:
            group = file.create_group(node.path, track_order=True)
            group.attrs.update(node.attrs)
            _write_group(group, node.to_dataset())


def _write_group(group: h5py.Group, dataset: xr.Dataset) -> None:
    scales = {}
    for name, size in dataset.sizes.items():
        if name in dataset.coords:
            scales[name] = _write_variable(group, str(name), dataset[name].variable)
            scales[name].make_scale(str(name))
        else:
            scales[name] = group.create_dataset(str(name), (size,), ">f4")
            scales[name].make_scale(NO_VARIABLE.format(size))
    for name, variable in dataset.variables.items():
        if name not in scales:
            written = _write_variable(group, str(name), variable)
            for axis, dim in enumerate(variable.dims):
                written.dims[axis].attach_scale(scales[dim])


def _write_variable(group: h5py.Group, name: str, variable: xr.Variable) -> h5py.Dataset:
    import h5py

    if variable.dtype.kind in "OU":
        texts = variable.values.astype(object)
        written = group.create_dataset(name, data=texts, dtype=h5py.string_dtype())
    else:
        # netCDF has no booleans: integers with a note.
        variable = (
            xr.conventions.encode_cf_variable(variable) if variable.dtype == bool else variable
        )
        written = group.create_dataset(name, data=variable.values)
    written.attrs.update(variable.attrs)
    return written

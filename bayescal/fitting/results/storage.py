"""Trees on disk: netCDF files, versioned, without pickle."""

from __future__ import annotations

from pathlib import Path

import xarray as xr

from bayescal.support.whole_file import whole_file

SCHEMA_VERSION = 1
# First bytes of pickles that are compressed by zlib, as joblib does, or are not.
PICKLED = (b"x\x01", b"x^", b"x\x9c", b"x\xda", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")


def write_tree(tree: xr.DataTree, path: str | Path) -> Path:
    """Write a tree to a netCDF file, whole or not at all."""
    # The encoding of a loaded file would cut names of topics added later to the old length.
    stamped = xr.DataTree.from_dict(
        {node.path: node.to_dataset(inherit=False).drop_encoding() for node in tree.subtree}
    )
    stamped.attrs["bayescal_schema"] = SCHEMA_VERSION
    with whole_file(path) as temporary:
        stamped.to_netcdf(temporary, engine="h5netcdf")
    return Path(path)


def read_tree(path: str | Path) -> xr.DataTree:
    """Read a tree that `write_tree` wrote."""
    source = Path(path)
    if not source.is_file():
        raise FileNotFoundError(f"there is no file {source}.")
    try:
        with xr.open_datatree(source, engine="h5netcdf") as opened:
            tree = opened.load()
    except OSError as err:
        with source.open("rb") as file:
            pickled = file.read(2) in PICKLED
        hint = (
            "; it looks like a pickle, which CalibratedClassifier.save writes and its load reads:"
            " that runs the code it names, so load it only if you trust its author" * pickled
        )
        raise ValueError(
            f"{source} is not a netCDF file, which a calibrator's save writes: {err}{hint}."
        ) from err
    version = tree.attrs.get("bayescal_schema")
    if version is None:
        raise ValueError(f"{source} was not written by bayescal: it has no bayescal_schema.")
    if version != SCHEMA_VERSION:
        advice = "update bayescal" if version > SCHEMA_VERSION else "fit and save it again"
        raise ValueError(
            f"{source} has schema {version}, this version reads schema {SCHEMA_VERSION}: {advice}."
        )
    return tree

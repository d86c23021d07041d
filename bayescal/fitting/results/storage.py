"""Trees on disk: netCDF files with a version and a checksum, without pickle."""

import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import xarray as xr

from bayescal.support.files import read_sealed, sealed, whole_file

SCHEMA_VERSION = 1
VERSION = "bayescal_schema"  # an attribute of the root
TOPIC = "bayescal_topic"  # the attribute that names the topic of a file in a folder of many
# First bytes of pickles, compressed by zlib (joblib) or not.
PICKLED = (b"x\x01", b"x^", b"x\x9c", b"x\xda", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")


def write_tree(tree: xr.DataTree, path: str | Path) -> Path:
    """Write a tree to a netCDF file that ends with its checksum, atomically."""
    # The encoding of a loaded file would truncate names of topics added later.
    stamped = xr.DataTree.from_dict(
        {node.path: node.to_dataset(inherit=False).drop_encoding() for node in tree.subtree}
    )
    stamped.attrs[VERSION] = SCHEMA_VERSION
    # Not by a Dask client, whose file locks xarray would request. In memory first: HDF5 crashes the
    # process if the disk is full.
    dask = sys.modules.get("dask")
    with nullcontext() if dask is None else dask.config.set(scheduler="synchronous"):
        image = stamped.to_netcdf(engine="h5netcdf")
    assert image is not None  # noqa: S101
    with whole_file(path) as temporary:
        temporary.write_bytes(sealed(image))
    return Path(path)


def read_tree(path: str | Path, topic: str | None = None) -> xr.DataTree:
    """Read a tree of `write_tree`; raise ValueError if it is damaged, or not of the topic."""
    source = Path(path)
    if not source.is_file():
        raise FileNotFoundError(
            f"there is no file {source}: name one that a calibrator's save wrote, or"
            " a folder that bayescal fit wrote, with all its files."
        )
    with source.open("rb") as file:
        if file.read(2) in PICKLED:
            raise ValueError(
                f"{source} must be a netCDF file, which a calibrator's save writes: it looks like a"
                " pickle, which CalibratedClassifier.save writes and CalibratedClassifier.load"
                " reads: that runs the code it names, so load it only if you trust its author."
            )
    # First, since HDF5 may search a damaged file forever.
    read_sealed(source, "a calibrator's save")
    try:
        _check_links(source)
        with xr.open_datatree(source, engine="h5netcdf") as opened:
            tree = opened.load()
    # HDF5 and its readers raise errors of every kind.
    except Exception as err:
        raise ValueError(
            f"{source} cannot be read as a netCDF file, which a calibrator's save writes"
            f" ({type(err).__name__}: {err}): another program wrote it."
        ) from err
    version = tree.attrs.get(VERSION)
    if version is None:
        raise ValueError(f"{source} was not written by bayescal: it has no {VERSION}.")
    if version != SCHEMA_VERSION:
        advice = "fit and save it again"
        if isinstance(version, int | np.integer) and version > SCHEMA_VERSION:
            advice = "update bayescal"
        raise ValueError(
            f"{source} has schema {version}, this version reads schema {SCHEMA_VERSION}: {advice}."
        )
    if topic is not None and (own := tree.attrs.get(TOPIC, topic)) != topic:
        raise ValueError(
            f"{source} must hold the calibrator of topic {topic!r}, got that of {own!r}: files were"
            " exchanged or renamed. Copy the folder again from where it was written, or fit again."
        )
    del tree.attrs[VERSION]
    return tree


def _check_links(source: Path) -> None:
    """Raise ValueError for links out of the file and for cyclic groups."""
    import h5py

    with h5py.File(source) as file:
        seen, waiting = set(), [file["/"]]
        while waiting:
            group = waiting.pop()
            for name in group:
                if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                    raise ValueError(f"{group.name}/{name} is a link, and calibrators save none")
                item = group[name]
                where = h5py.h5o.get_info(item.id).addr
                if where in seen:
                    raise ValueError(f"{group.name}/{name} is in the file twice")
                seen.add(where)
                if isinstance(item, h5py.Group):
                    waiting.append(item)
                elif item.external or item.is_virtual:
                    raise ValueError(f"{group.name}/{name} is kept in another file")

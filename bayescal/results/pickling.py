"""Groups of results as pickles keep them: to the last bit, in a fifth of the memory.

An array is kept as the first of KINDS that gives it back as it is, else as itself. So draws whose
digits were never cut, such as those of NUTS, are kept whole.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol, Self

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.parts.kept_digits import columns_of
from bayescal.parts.places import Groups
from bayescal.quantisation import Quantised, quantise
from bayescal.validation import Floats

MOST_DISTINCT = 256
LOOKED_AT = 1000  # to see that there are more

# Of each variable its dimensions, what is kept of its array, and its attributes.
Variables = dict[Any, tuple[tuple[Any, ...], Any, dict[Any, Any]]]
# The data, the coordinates and the attributes of a group.
Packed = tuple[Variables, Variables, dict[Any, Any]]


class Kept(Protocol):
    """What is kept of an array."""

    @classmethod
    def of(cls, variable: xr.Variable) -> Self | None:
        """Return what to keep of a variable's array; None if this is not for it."""
        ...

    @property
    def array(self) -> NDArray[Any]:
        """Return the array."""
        ...


@dataclass(frozen=True)
class Progression:
    """Numbers of draws, and weights that are all the same: the first, the step, and how many."""

    first: Any
    step: Any
    size: int

    @classmethod
    def of(cls, variable: xr.Variable) -> Progression | None:
        """Return the progression that the first two of several numbers begin."""
        if variable.ndim != 1 or variable.size < 3 or variable.dtype.kind not in "if":
            return None
        first, second = variable.values[:2]
        return cls(first, second - first, variable.size) if np.isfinite(first + second) else None

    @property
    def array(self) -> NDArray[Any]:
        """Return the array."""
        return np.asarray(self.first + self.step * np.arange(self.size, dtype=self.first.dtype))


@dataclass(frozen=True)
class Few:
    """Few distinct numbers, such as labels and scales of warps: them, and which comes where."""

    distinct: NDArray[Any]
    which: bytes
    shape: tuple[int, ...]

    @classmethod
    def of(cls, variable: xr.Variable) -> Few | None:
        """Return the distinct numbers if there are at most 256, and more of the others."""
        values = variable.values
        if values.dtype.kind not in "if" or _many(values.ravel()[:LOOKED_AT]) or _many(values):
            return None
        distinct, which = np.unique(values, return_inverse=True)
        return cls(distinct, _coded(which.astype(np.uint8)), values.shape)

    @property
    def array(self) -> NDArray[Any]:
        """Return the array."""
        return self.distinct[_decoded(self.which).reshape(self.shape)]


@dataclass(frozen=True)
class Places:
    """Draws of several numbers by their places, see `quantisation`."""

    knots: Floats
    segment: bytes
    above: bytes
    shape: tuple[int, ...]

    @classmethod
    def of(cls, variable: xr.Variable) -> Places | None:
        """Return the places of draws."""
        columns = columns_of(variable)
        if columns is None or not np.isfinite(columns).all():
            return None
        places = [quantise(column) for column in columns]
        return cls(
            np.stack([each.knots for each in places]),
            _coded(np.stack([each.segment for each in places])),
            _coded(np.stack([each.above for each in places])),
            variable.shape,
        )

    @property
    def array(self) -> NDArray[Any]:
        """Return the array."""
        both = (_decoded(code).reshape(len(self.knots), -1) for code in (self.segment, self.above))
        draws = [Quantised(*each).values for each in zip(self.knots, *both, strict=True)]
        return np.stack(draws, axis=1).reshape(self.shape)


KINDS: tuple[type[Kept], ...] = (Progression, Few, Places)


def pack(groups: Groups) -> dict[str, Packed]:
    """Return what is kept of groups; arrays that are the same in several are kept once."""
    known: dict[Any, Any] = {}
    return {
        path: (_packed(group.data_vars, known), _packed(group.coords, known), group.attrs)
        for path, group in groups.items()
    }


def unpack(packed: dict[str, Packed]) -> dict[str, xr.Dataset]:
    """Return the groups that `pack` was given."""
    return {
        path: xr.Dataset(_unpacked(variables), _unpacked(coords), attrs)
        for path, (variables, coords, attrs) in packed.items()
    }


def _packed(arrays: Any, known: dict[Any, Any]) -> Variables:
    out = {}
    for name, array in arrays.items():
        values = array.values
        # Pickle writes one object once, however many places it has.
        same = array.dims, values.dtype, values.shape, sha256(values.tobytes()).digest()
        if same not in known:
            known[same] = _kept(array.variable)
        out[name] = array.dims, known[same], array.attrs
    return out


def _unpacked(variables: Variables) -> dict[Any, Any]:
    return {
        name: (dims, kept if isinstance(kept, np.ndarray) else kept.array, attrs)
        for name, (dims, kept, attrs) in variables.items()
    }


def _kept(variable: xr.Variable) -> Any:
    values: NDArray[Any] = variable.values
    for kind in KINDS:
        kept = kind.of(variable)
        if kept is not None and _same(kept.array, values):
            return kept
    return values


def _same(found: NDArray[Any], values: NDArray[Any]) -> bool:
    # Zeros have signs, and nan are not equal.
    return found.dtype == values.dtype and found.tobytes() == values.tobytes()


def _coded(numbers: NDArray[np.uint8]) -> bytes:
    """Return bytes in as many bits as each has information; nothing repeats but by chance."""
    code = zlib.compressobj(strategy=zlib.Z_HUFFMAN_ONLY)
    return code.compress(numbers.tobytes()) + code.flush()


def _decoded(code: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(zlib.decompress(code), dtype=np.uint8)


def _many(values: NDArray[Any]) -> bool:
    distinct = np.unique(values).size
    return distinct > MOST_DISTINCT or 2 * distinct > values.size

"""
Arrays with room for more along an axis, so that what is there is not copied to append to it.

The draws of a thousand topics are .7 GB: to copy them for each topic that is added takes twenty
times as long as to draw the topic's own.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Of the elements there are, how many there is room for beyond: of many arrays that are appended
# one by one each element is copied once.
SPARE = 1.0
# Of two threads that continue one array the second must see that the first has.
_claiming = Lock()


class _Room:
    """An array that may be longer than what is in it; arrays read from it keep it alive."""

    def __init__(self, array: NDArray[Any], filled: int) -> None:
        self.array, self.filled = array, filled
        # What numpy asks of an object that is an array's memory: the array's base is this room.
        self.__array_interface__ = array.__array_interface__


def append(old: NDArray[Any], new: NDArray[Any], axis: int) -> NDArray[Any]:
    """
    Return two arrays of numbers as one, as `numpy.concatenate` does.

    The result has room behind it. Whatever is appended to it first goes there, and the result of
    that shares its memory; whatever comes second goes into a copy. So an array never changes, but
    for those who write into it, for whom it is not.

    Parameters
    ----------
    old, new : array
        Of as many dimensions and the same lengths but along the axis.
    axis : int
        Which dimension grows.

    Returns
    -------
    array
        Of the type that holds both.

    Examples
    --------
    >>> first = append(np.array([1.0, 2.0]), np.array([3.0]), axis=0)
    >>> second = append(first, np.array([4.0]), axis=0)
    >>> second, bool(np.shares_memory(first, append(first, np.array([5.0]), axis=0)))
    (array([1., 2., 3., 4.]), False)
    """
    before, after = old.shape[axis], old.shape[axis] + new.shape[axis]
    kind = np.result_type(old, new)
    with _claiming:
        room = _behind(old, axis)
        if room is None or room.array.shape[axis] < after or room.array.dtype != kind:
            room = _furnish(old, new, axis, kind)
        room.filled = after
    _along(room.array, axis, before, after)[...] = new
    return _along(np.asarray(room), axis, 0, after)


def _behind(array: NDArray[Any], axis: int) -> _Room | None:
    """Return the room that an array is in, if it is all that is there, from the beginning."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    if not isinstance(base, _Room):
        return None
    whole = _along(base.array, axis, 0, base.filled).__array_interface__
    return base if array.__array_interface__ == whole else None


def _furnish(old: NDArray[Any], new: NDArray[Any], axis: int, kind: np.dtype[Any]) -> _Room:
    """Return a room with an array in it, and space for a further one and for more."""
    count = old.shape[axis]
    shape = list(old.shape)
    shape[axis] = count + max(new.shape[axis], int(SPARE * count))
    # Memory that nothing was written to costs nothing on most systems.
    array = np.empty(shape, dtype=kind)
    _along(array, axis, 0, count)[...] = old
    return _Room(array, count)


def _along(array: NDArray[Any], axis: int, start: int, stop: int) -> NDArray[Any]:
    return array[(slice(None),) * axis + (slice(start, stop),)]

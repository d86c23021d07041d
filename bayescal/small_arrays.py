"""What work on arrays that fit into caches asks of the process: one thread, and memory kept."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

import numpy as np

# The largest block, in bytes, whose release glibc still learns from is 32 MiB with its header,
# rounded up to whole pages, which may be huge ones.
LARGEST_LESSON = (1 << 25) - (1 << 21)


@contextmanager
def small_arrays() -> Iterator[None]:
    """
    Keep BLAS to one thread of the process inside, and give it back what it had.

    Threads that wait for each other's cores make products of a few thousand numbers three to five
    times slower, the more the busier the machine is. Memory that is freed stays with the process,
    inside and after; see `_keep_freed_memory`.

    Examples
    --------
    >>> with small_arrays():
    ...     pass
    """
    _keep_freed_memory()
    if _inside.get() or threading.current_thread() is not threading.main_thread():
        # OpenBLAS does not take a number from other threads, nor may these undo the main one's.
        yield
        return
    token = _inside.set(True)
    try:
        with _pools().limit(limits=1, user_api="blas"):
            yield
    finally:
        _inside.reset(token)


# To ask all libraries takes as long as to multiply a hundred draws: once is enough.
_inside = ContextVar("inside", default=False)


@cache
def _pools() -> Any:
    # A library that is loaded later would not be found: scipy brings a BLAS of its own, which its
    # special functions need as well, and are there before its linear algebra.
    import scipy.special  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@cache
def _keep_freed_memory() -> None:
    """
    Let the C library keep up to 64 MB of freed memory, as after any program's first large array.

    glibc returns blocks above a threshold to the system, which takes a page fault for each 4 kB to
    get them again: a tenth of a fit, three quarters of what a softplus of 4,000 draws takes. The
    threshold is the largest block that has been freed (mallopt(3), M_MMAP_THRESHOLD), so one that
    is never touched raises it for good, in microseconds. Other C libraries are left as they are.
    """
    np.empty(LARGEST_LESSON, dtype=np.uint8)

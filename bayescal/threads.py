"""One thread for linear algebra whose matrices are too small to be shared between cores."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@contextmanager
def one_thread() -> Iterator[None]:
    """
    Keep BLAS to one thread of the process inside, and give it back what it had.

    Threads that wait for each other's cores make products of a few thousand numbers three to five
    times slower, the more the busier the machine is.

    Examples
    --------
    >>> with one_thread():
    ...     pass
    """
    if threading.current_thread() is not threading.main_thread():
        # OpenBLAS does not take a number from other threads, nor may these undo the main one's.
        yield
        return
    with _pools().limit(limits=1, user_api="blas"):
        yield


@cache
def _pools() -> Any:
    # A library that is loaded later would not be found: scipy brings a BLAS of its own.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()

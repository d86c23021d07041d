"""Parallel work by joblib, on its active backend or on a Dask cluster.

`workers` configures it once around a fit; the engines below only call `in_parallel`.
"""

import pickle
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Report = Callable[[int, int], None]

# Successive deaths of local worker processes without a result in between, after which the work is
# the cause. (Dask has its own limit, distributed.scheduler.allowed-failures.)
MOST_DEATHS = 3
# Part of cache keys: other versions may compute other bits.
VERSIONS = (sys.version_info[:2], version("numpy"), version("scipy"))


@dataclass(frozen=True)
class _Setup:
    """Settings of `in_parallel`."""

    memory: Any = None  # a joblib.Memory
    report: Report | None = None  # called with progress
    alone: bool = False  # True to work in this process, without joblib


_NOTHING = _Setup()
_setup: ContextVar[_Setup] = ContextVar("bayescal_parallel", default=_NOTHING)


@contextmanager
def workers(n_jobs: int | None = None, memory: Any = None) -> Iterator[None]:
    """Configure processes and the cache of the work inside the context."""
    # A backend needs joblib, whose import takes a third of a fit.
    alone = n_jobs == 1 and memory is None and "joblib" not in sys.modules
    setup = replace(_setup.get(), memory=_memory_at(memory), alone=alone)
    token = _setup.set(setup)
    try:
        with nullcontext() if alone else _backend(n_jobs):
            yield
    finally:
        _setup.reset(token)


@contextmanager
def reporting(report: Report) -> Iterator[None]:
    """Call report(done, total), in sizes of items, as the work inside the context advances."""
    token = _setup.set(replace(_setup.get(), report=report))
    try:
        yield
    finally:
        _setup.reset(token)


def in_parallel(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    sizes: Sequence[int] | None = None,
    *,
    keep: bool = True,
) -> Iterator[Result]:
    """Yield function(item) of every item, in order, as soon as it and its predecessors are done."""
    setup = _setup.get()
    memory = setup.memory if keep else None
    tasks = [(function, item, memory) for item in items]
    # A single item is done sooner here than in another process.
    results = map(_do, tasks) if setup.alone or len(tasks) == 1 else _surviving(tasks)
    for done, result in enumerate(results, start=1):
        if setup.report is not None and sizes is not None:
            setup.report(sum(sizes[:done]), sum(sizes))
        yield result


def _surviving(tasks: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
    from concurrent.futures.process import BrokenProcessPool

    done = deaths = 0
    while done < len(tasks):
        try:
            for result in _run(tasks[done:]):
                done, deaths = done + 1, 0
                yield result
        except BrokenProcessPool:
            deaths += 1
            if deaths > MOST_DEATHS:
                raise


def _run(tasks: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    # Backends of Ray and multiprocessing return nothing before all tasks are done.
    one_by_one = get_active_backend()[0].supports_return_generator
    parallel = Parallel(return_as="generator" if one_by_one else "list")
    return iter(parallel(delayed(_do)(task) for task in tasks))


def _do(task: tuple[Any, ...]) -> Any:
    # A tuple, because joblib scatters large arguments over a Dask cluster, where a killed worker
    # may hold the only copy; items of a tuple stay with their task.
    from bayescal.support.numerics import one_blas_thread

    function, item, memory = task
    with one_blas_thread():
        if memory is None:
            return function(item)
        # As in another process: joblib's hash differs for an empty array and its pickled copy.
        item = pickle.loads(pickle.dumps(item))
        with warnings.catch_warnings():
            # joblib's warning of a slow disk, which users cannot prevent.
            warnings.filterwarnings("ignore", "Persisting input arguments took")
            return memory.cache(_remembered)(function, item, VERSIONS)


def _remembered(function: Callable[[Any], Any], item: Any, versions: Any) -> Any:
    return function(item)


def _memory_at(memory: Any) -> Any:
    if memory is None:
        return None
    from sklearn.utils.validation import check_memory

    # As text: joblib uses another folder for a Path than for the same path as text.
    return check_memory(str(memory) if isinstance(memory, Path) else memory)


def _backend(n_jobs: int | None) -> Any:
    from joblib import parallel_config
    from joblib.parallel import LokyBackend, get_active_backend

    if n_jobs is not None:
        return parallel_config(n_jobs=n_jobs)
    backend, own = get_active_backend()
    configured = own is not None or not isinstance(backend, LokyBackend)
    return parallel_config("dask") if not configured and _dask_is_active() else nullcontext()


def _dask_is_active() -> bool:
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return False
    try:
        distributed.default_client()
    except ValueError:
        return False
    return True

"""Helpers for the tests of scaling out: many small topics, and workers to kill or to hinder."""

import os
import resource
import signal
import threading
import time
import uuid
from functools import wraps
from pathlib import Path

import numpy as np

from bayescal.cli import answer_folder
from bayescal.support import parallel

FEW = {"draws": 20, "chains": 1, "random_state": 0}


def made(n, seed=0, size=30):
    """Return long scores, labels and topics 0, 1, ..., a fifth of each positive."""
    rng = np.random.default_rng(seed)
    labels = np.tile(np.arange(size) >= size * 4 // 5, n).astype(int)
    topics = np.repeat(np.arange(n), size)
    return rng.normal(3.0 * labels, 1.0), labels, topics


class Killer:
    """A report of progress that kills a process as soon as so much is done."""

    def __init__(self, pid, after):
        self.pid, self.after, self.when = pid, after, None

    def __call__(self, done, total):
        if self.when is None and self.after <= done < total:
            self.when = (done, total)
            os.kill(self.pid, signal.SIGKILL)


def dies_once(path):
    """Kill the process that calls it first; then return the number of the path."""
    flag = Path(path)
    if flag.name == "3" and not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return int(flag.name)


def dies(_):
    """Kill the process that calls it."""
    os.kill(os.getpid(), signal.SIGKILL)


def thread_name(_):
    """Return the name of the thread that calls it."""
    return threading.current_thread().name


def watch(folder, pause=0.0, gate=None):
    """Let this process pause before each piece of work, until a gate exists, and note the work."""
    do = parallel._do

    @wraps(do)
    def noted(task):
        time.sleep(pause)
        while gate is not None and not gate.exists():
            time.sleep(0.02)
        (folder / f"{os.getpid()}-{uuid.uuid4().hex}").touch()
        return do(task)

    parallel._do = noted


def unwatch():
    """Undo `watch`."""
    parallel._do = parallel._do.__wrapped__


def noted_by(folder):
    """Return the number of pieces of work by process."""
    pids = [int(path.name.partition("-")[0]) for path in folder.iterdir()]
    return dict(zip(*np.unique(pids, return_counts=True), strict=True))


def limit_files(size=None):
    """Let writes of this process beyond so many bytes of a file fail, as on a full disk."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard if size is None else size, hard))


def writes_on_a_full_disk(task):
    """Write the part of a block of rows; the disk is full for the third one."""
    limit_files(64 if task[0].name == "part-000002.parquet" else None)
    try:
        return answer_folder._write(task)
    finally:
        limit_files()

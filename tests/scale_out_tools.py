"""Helpers for the tests of scaling out: many small topics, and workers to kill."""

import os
import signal
from pathlib import Path

import numpy as np

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

"""A thousand topics fitted and saved: seconds on two processes, and memory beside their number.

python -m benchmarks.topics
"""

import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from bayescal import ScoreCalibrator

TOPICS, FEWER = 1000, 250
N_POSITIVE, N_NEGATIVE = 10, 500
PROCESSES = 2
BAR_SECONDS = 20.0
BAR_MEMORY = 1.05  # times the peak of the first 250 topics


def topics(n, rng):
    """Yield the scores and labels of n topics, one at a time."""
    positive = np.arange(N_POSITIVE + N_NEGATIVE) < N_POSITIVE
    for _ in range(n):
        scores = [rng.gumbel(1, 1, N_POSITIVE), rng.standard_t(4, N_NEGATIVE) - 1]
        yield np.concatenate(scores), positive


def fit_and_save(family, scores, positive, seed, path):
    """Write one topic's 1,000 draws; return process, its CPU seconds and peak memory in MiB."""
    start = time.process_time()
    calibrator = ScoreCalibrator(family, draws=250, chains=4, random_state=seed)
    calibrator.fit(scores, positive).save(path)
    return os.getpid(), time.process_time() - start, peak()


def peak():
    """Return the peak resident memory of this process in MiB."""
    # Kilobytes on Linux, bytes on macOS.
    per_mebibyte = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / per_mebibyte


def run(parallel, family, n, folder):
    """Return seconds, CPU seconds, and the peak memory of all processes together."""
    start = time.perf_counter()
    jobs = (
        delayed(fit_and_save)(family, *topic, seed, folder / f"{seed}.nc")
        for seed, topic in enumerate(topics(n, np.random.default_rng(0)))
    )
    peaks, cpu = {}, 0.0
    for process, seconds, mebibytes in parallel(jobs):
        peaks[process] = mebibytes
        cpu += seconds
    return time.perf_counter() - start, cpu, sum(peaks.values()) + peak()


def measure(family):
    """Print seconds and memory of a family beside their bars."""
    # The processes are the same for all runs, and peaks never fall: a leak shows in the last.
    with (
        tempfile.TemporaryDirectory() as name,
        Parallel(PROCESSES, return_as="generator_unordered") as parallel,
    ):
        folder = Path(name)
        run(parallel, family, 10 * PROCESSES, folder)  # imports, in both processes
        *_, before = run(parallel, family, FEWER, folder)
        seconds, cpu, after = run(parallel, family, TOPICS, folder)
    print(
        f"{family:20} {TOPICS:,} topics of {N_POSITIVE} + {N_NEGATIVE} scores, 1,000 draws, saved:"
        f" {seconds:.1f} s on {PROCESSES} processes, {cpu:.1f} s of CPU   bar {BAR_SECONDS:.0f}"
        f"  {'holds' if seconds <= BAR_SECONDS else 'MISSED'}"
    )
    print(
        f"{'':20} peak memory {before:.0f} MiB at {FEWER} topics, {after:.0f} MiB at {TOPICS:,}"
        f"   bar {BAR_MEMORY:.2f} x  {'holds' if after <= BAR_MEMORY * before else 'MISSED'}"
    )


def main():
    """Print seconds and memory of one family; the default, which combines many, takes longer."""
    measure("asymmetric_laplace")


if __name__ == "__main__":
    main()

"""A default fit with the threads of BLAS as they come, against OMP_NUM_THREADS=1.

In processes of their own, for the number is read once; alone, and beside two busy processes.
"""

import os
import subprocess
import sys
from contextlib import ExitStack

import numpy as np

ONE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
ROUNDS, BAR = 5, 1.1
FIT = """
import time, numpy as np
from bayescal import ScoreCalibrator
rng = np.random.default_rng(0)
y = np.arange(531) < 10
scores = rng.normal(2.0 * y)
fit = lambda seed: ScoreCalibrator(random_state=seed).fit(scores, y)
fit(0)
start = time.perf_counter()
for seed in range(5):
    fit(seed)
print((time.perf_counter() - start) / 5)
"""
BUSY = "while True: pass"


def seconds(environment):
    """Return the seconds of a default fit in a process with these variables."""
    plain = {k: v for k, v in os.environ.items() if k not in ONE}
    done = subprocess.run(
        [sys.executable, "-c", FIT],
        env=plain | environment, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return float(done.stdout)


def main():
    """Print times and ratios."""
    for name, others in (("alone", 0), ("beside two busy processes", 2)):
        with ExitStack() as stack:
            for _ in range(others):
                busy = stack.enter_context(subprocess.Popen([sys.executable, "-c", BUSY]))
                stack.callback(busy.kill)
            pairs = np.array([(seconds({}), seconds(ONE)) for _ in range(ROUNDS)])
        as_they_come, one = np.median(pairs, axis=0)
        ratio = np.median(pairs[:, 0] / pairs[:, 1])
        print(
            f"ScoreCalibrator.fit, 531 scores, {name}: {1e3 * as_they_come:.0f} ms, one thread"
            f" {1e3 * one:.0f} ms, ratio {ratio:.2f}, bar {BAR}"
            f" {'holds' if ratio <= BAR else 'MISSED'}"
        )


if __name__ == "__main__":
    main()

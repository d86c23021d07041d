"""A report of a hundred topics: seconds, bytes and memory, of topics pooled and apart.

python -m benchmarks.report
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from bayescal import ScoreCalibrator, TopicCalibrator, load
from bayescal.report import write_report
from benchmarks.topics import peak

TOPICS, DOCUMENTS, HELD_OUT = 100, 1000, 2000
BAR_SECONDS, BAR_BYTES, BAR_MEMORY = 60.0, 3e6, 1024.0  # MiB


def documents(n, rng):
    """Return scores, labels and topics; positives from one in two to one in fifty."""
    topic = np.repeat([f"topic {k:03d}" for k in range(TOPICS)], n)
    rate = np.repeat(np.geomspace(0.5, 0.02, TOPICS), n)
    label = (rng.random(topic.size) < rate).astype(int)
    score = rng.gumbel(2.0 * label - 1.0)
    return pd.DataFrame({"score": score, "label": label, "topic": topic})


def pooled(frame):
    """Return topics fitted together, and what the report needs besides."""
    return TopicCalibrator(random_state=0).fit(frame), {"fitted": frame}


def apart(frame, folder):
    """Return each topic's calibrator, read when it is asked for, as `bayescal report` does."""
    for name, rows in frame.groupby("topic"):
        calibrator = ScoreCalibrator(random_state=0).fit(rows["score"], rows["label"])
        calibrator.save(folder / f"{name}.nc")
    return _Saved(folder), {}


class _Saved(dict):
    def __init__(self, folder):
        super().__init__({path.stem: path for path in sorted(folder.glob("*.nc"))})

    def __getitem__(self, name):
        return load(super().__getitem__(name))


def measure(what, folder):
    """Print one comparison beside its bars."""
    rng = np.random.default_rng(0)
    frame, test = documents(DOCUMENTS, rng), documents(HELD_OUT, rng)
    start = time.perf_counter()
    calibrators, more = pooled(frame) if what == "pooled" else apart(frame, folder)
    fitting, before, start = time.perf_counter() - start, peak(), time.perf_counter()
    cpu = time.process_time()
    size = write_report(calibrators, folder / "report.html", test=test, **more).stat().st_size
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    # Of CPU: one thread, whose time on the clock others on the machine may double.
    holds = cpu <= BAR_SECONDS and size <= BAR_BYTES and peak() <= BAR_MEMORY
    print(
        f"{what:7} {TOPICS} topics x {DOCUMENTS:,} documents, {HELD_OUT:,} held out:"
        f" fitted in {fitting:.1f} s; report {seconds:.1f} s ({cpu:.1f} s of CPU),"
        f" {seconds / fitting:.2f} of fitting, {size / 1e6:.2f} MB,"
        f" peak memory {before:.0f} MiB before, {peak():.0f} MiB after"
        f"   bars {BAR_SECONDS:.0f} s, {BAR_BYTES / 1e6:.0f} MB, {BAR_MEMORY:.0f} MiB"
        f"  {'holds' if holds else 'MISSED'}"
    )


def main():
    """Measure each in a process of its own: a peak never falls."""
    if len(sys.argv) > 1:
        with tempfile.TemporaryDirectory() as folder:
            measure(sys.argv[1], Path(folder))
        return
    for what in ("pooled", "apart"):
        subprocess.run([sys.executable, "-m", "benchmarks.report", what], check=True)


if __name__ == "__main__":
    main()

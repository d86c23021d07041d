"""An update of a fitted calibrator by 100 documents, and a monitor's, against a fit to all anew."""

import pickle
import time

import numpy as np

from bayescal import ScoreCalibrator
from bayescal.families import FAMILIES
from bayescal.monitoring import DriftMonitor
from benchmarks.data import million
from benchmarks.timing import report

BATCH = 100
# An update predicts its documents too, and fits all of them anew: the posterior of all.
BAR = 1.6
# A monitor of four times the documents may be so much larger.
STREAM, SIZE_BAR = 4_000, 1.2


def main():
    """Print times and ratios."""
    scores, positive = million()
    for family in (*FAMILIES, "auto"):
        for n in (500, 10_000):
            compare(family, scores[: n + BATCH], positive[: n + BATCH])
    fitted = ScoreCalibrator("gaussian", random_state=0).fit(scores[:500], positive[:500])
    new = scores[500 : 500 + BATCH], positive[500 : 500 + BATCH]
    report(
        f"DriftMonitor.update of {BATCH}",
        lambda: DriftMonitor(fitted).update(*new),
        lambda: fitted.fit(scores[:500], positive[:500]),
        "a fit",
        10.0,
        clock=time.process_time,
    )
    size_of_monitor(fitted, scores, positive)


def size_of_monitor(fitted, scores, positive):
    """Print the sizes of a monitor after one stream, and after four times as many documents."""
    monitor, sizes = DriftMonitor(fitted, draws=20), []
    for rows in np.split(np.arange(4 * STREAM), [STREAM]):
        monitor.update(scores[rows], positive[rows])
        sizes.append(len(pickle.dumps(monitor)))
    ratio = sizes[1] / sizes[0]
    print(
        f"DriftMonitor of {4 * STREAM:,} documents: {sizes[1]:,} bytes, {ratio:.2f} times that of"
        f" {STREAM:,}   bar {SIZE_BAR:.2f}  {'holds' if ratio <= SIZE_BAR else 'MISSED'}"
    )


def compare(family, scores, positive):
    """Time updates of one family by a batch, each of a calibrator that has seen all but it."""
    calibrator = ScoreCalibrator(family, random_state=0).fit(scores[:-BATCH], positive[:-BATCH])
    fitted = vars(calibrator).copy()

    def update():
        vars(calibrator).update(fitted)
        calibrator.update(scores[-BATCH:], positive[-BATCH:])

    report(
        f"update by {BATCH} of {scores.size - BATCH}, {family}",
        update,
        lambda: ScoreCalibrator(family, random_state=0).fit(scores, positive),
        "fit to all",
        BAR,
        clock=time.process_time,
    )


if __name__ == "__main__":
    main()

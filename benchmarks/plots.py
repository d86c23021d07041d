"""Every single plot from a fitted calibrator: seconds of the processor, against a bar of one."""

import time

import numpy as np
from matplotlib.figure import Figure

from bayescal import ScoreCalibrator, TopicCalibrator, plots
from bayescal.plots.display import SIZE
from bayescal.text.reuters_scores import load_reuters_scores

BAR = 1.0
RUNS = 3
TOPICS = 100


def main():
    """Print the median seconds of each display drawn to pixels, of a small and a large sample."""
    held_out = load_reuters_scores("naive_bayes", "earn", "test")
    documents = (held_out["score"], held_out["label"])
    for size, calibrator in _calibrators().items():
        for name in plots.__all__:
            if name == "TopicForestDisplay":
                continue
            given = documents if name == "ReliabilityDisplay" else ()
            _report(f"{name}, {size}", getattr(plots, name), calibrator, given)
    _report(f"TopicForestDisplay, {TOPICS} topics", plots.TopicForestDisplay, _topics(), ())


def _report(what, display, calibrator, given):
    seconds = []
    for _ in range(RUNS):
        ax = Figure(figsize=SIZE, layout="constrained").subplots()
        # Not the clock on the wall: what else runs on the machine is no matter of the plot.
        start = time.process_time()
        display.from_estimator(calibrator, *given, ax=ax).figure_.canvas.draw()
        seconds.append(time.process_time() - start)
    median = float(np.median(seconds))
    verdict = "holds" if median <= BAR else "MISSED"
    print(f"{what:44} {median:9.3f} s   bar {BAR:5.2f} s  {verdict}")


def _calibrators():
    frame = load_reuters_scores("naive_bayes", "earn", "calibration")
    few = frame.groupby("label").sample(frac=0.01, random_state=0)
    return {f"{len(each):,} documents": _fitted(each) for each in (few, frame)}


def _fitted(frame):
    return ScoreCalibrator(random_state=0).fit(frame["score"], frame["label"])


def _topics():
    rng = np.random.default_rng(0)
    labels = np.tile(np.repeat([0, 1], [40, 5]), TOPICS)
    names = np.repeat([f"topic {k}" for k in range(TOPICS)], 45)
    return TopicCalibrator(random_state=0).fit(rng.normal(2.0 * labels, 1.0), labels, names)


if __name__ == "__main__":
    main()

"""Time default calls: seconds beside bars, ratios to peers.

python -m benchmarks.defaults [--topics]
"""

import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from bayescal import CalibratedClassifier, MulticlassCalibrator, ScoreCalibrator, TopicCalibrator
from benchmarks.timing import compile_package, ratios

FITS = {120: 0.1, 531: 0.1, 10_000: 0.15, 1_000_000: 1.0}  # scores: bar in seconds
BATCHES, BATCH_BAR, FIRST_BAR = (1, 32, 33, 500, 2000), 0.01, 0.06
# Topics, documents of each, positives of each, processes: bar in seconds.
TOPICS = {(10, 200, 5, 1): 1.5, (90, 9603, 100, 2): 10.0, (1000, 200, 10, 2): 60.0}
ADD_BAR = 0.05
INTERVALS_BAR, COMMAND_BAR = 2.0, 1.0
MARGINS, DIGITS_BAR = {"chains": 3.0, "variational": 0.5}, 3.0


def scores_of(n, positives, rng):
    """Return skewed scores of two classes and their labels."""
    y = np.arange(n) < positives
    x = np.where(y, rng.normal(1.5, 1.0, n) + rng.exponential(0.5, n), rng.normal(-1.0, 1.2, n))
    return x, y


def told(name, seconds, bar, more=""):
    """Print one figure beside its bar."""
    verdict = "holds" if seconds <= bar else "MISSED"
    print(f"{name:62} {seconds * 1e3:10.1f} ms   bar {bar * 1e3:8.0f} ms  {verdict}  {more}")


def fits():
    """Time default fits, beside Platt's method."""
    rng = np.random.default_rng(0)
    for n, bar in FITS.items():
        x, y = scores_of(n, n // 5, rng)
        ours, platt = ScoreCalibrator(random_state=0), LogisticRegression()
        mine, peer, ratio = ratios(
            partial(ours.fit, x, y), partial(platt.fit, x[:, None], y), runs=7 if n < 100_000 else 3
        )
        beside = f"{ratio:.0f} times LogisticRegression ({peer * 1e3:.1f} ms)"
        told(f"ScoreCalibrator().fit of {n:,} scores", mine, bar, beside)


def batches():
    """Time predictions of few scores: the first call, which may make a table, and later ones."""
    rng = np.random.default_rng(1)
    x, y = scores_of(531, 100, rng)
    new = rng.normal(0.0, 2.0, max(BATCHES))
    for n in BATCHES:
        fitted = ScoreCalibrator(random_state=0).fit(x, y)
        seconds = []
        for _ in range(6):
            start = time.perf_counter()
            fitted.predict_proba(new[:n])
            seconds.append(time.perf_counter() - start)
        told(f"predict_proba of {n:,} scores, the first call", seconds[0], FIRST_BAR)
        told(f"predict_proba of {n:,} scores, later calls", np.median(seconds[1:]), BATCH_BAR)


def classifiers():
    """Time CalibratedClassifier beside scikit-learn's counterpart."""
    for name, n, bar, make in (
        ("2,000 x 20, two classes", 2000, 5.0, {"n_features": 20}),
        ("2,000 x 20, ten classes", 2000, 10.0, {"n_classes": 10, "n_informative": 12}),
    ):
        documents = make_classification(n, random_state=0, **make)
        ours = CalibratedClassifier(LinearSVC(), random_state=0)
        for method in ("sigmoid", "isotonic"):
            theirs = CalibratedClassifierCV(LinearSVC(), method=method, ensemble=False)
            mine, peer, ratio = ratios(
                partial(ours.fit, *documents), partial(theirs.fit, *documents), runs=3
            )
            verdict = "holds" if ratio <= bar else "MISSED"
            print(
                f"CalibratedClassifier(LinearSVC()).fit, {name}: {mine:.2f} s, {ratio:.1f} times"
                f" {method} ({peer:.2f} s), bar {bar:.0f}  {verdict}"
            )


def digits():
    """Time maps of ten classes from real margins, and a classifier beside temperature scaling."""
    images, labels = load_digits(return_X_y=True)
    margins = LinearSVC(random_state=0).fit(images[400:], labels[400:]).decision_function(images)
    for inference, bar in MARGINS.items():
        ours = MulticlassCalibrator(inference=inference, random_state=0)
        start = time.process_time()
        ours.fit(margins[:400], labels[:400])
        seconds = time.process_time() - start
        told(f"MulticlassCalibrator({inference}).fit of 400 digits", seconds, bar)
    mine, peer, ratio = ratios(
        partial(CalibratedClassifier(LinearSVC(), random_state=0).fit, images, labels),
        partial(
            CalibratedClassifierCV(LinearSVC(), method="temperature", ensemble=False).fit,
            images,
            labels,
        ),
        runs=3,
    )
    verdict = "holds" if ratio <= DIGITS_BAR else "MISSED"
    print(
        f"CalibratedClassifier(LinearSVC()).fit of digits: {mine:.2f} s, {ratio:.1f} times"
        f" temperature scaling ({peer:.2f} s), bar {DIGITS_BAR:.0f}  {verdict}"
    )


def intervals():
    """Time the bands of three classes, whose draws are divided by their sum one by one."""
    documents = make_classification(20_000, n_classes=3, n_informative=6, random_state=0)
    fitted = CalibratedClassifier(LinearSVC(), random_state=0).fit(*documents)
    start = time.process_time()
    fitted.predict_interval(documents[0])
    told("intervals of three classes, 20,000", time.process_time() - start, INTERVALS_BAR)


def command():
    """Time `bayescal fit` of 500 scores as a whole process."""
    compile_package()
    x, y = scores_of(500, 100, np.random.default_rng(0))
    with TemporaryDirectory() as folder:
        scores = Path(folder, "scores.csv")
        np.savetxt(scores, np.stack([x, y], axis=1), "%.6f,%d", header="score,label", comments="")
        words = [sys.executable, "-m", "bayescal", "fit", str(scores), "--out", f"{folder}/out"]
        start = time.perf_counter()
        subprocess.run(words, check=True, capture_output=True)
        told("bayescal fit of 500 scores, a process", time.perf_counter() - start, COMMAND_BAR)


def topics(settings):
    """Time default fits of many topics, and the addition of a topic."""
    for (many, documents, positives, processes), bar in settings.items():
        rng = np.random.default_rng(2)
        parts = [scores_of(documents, positives, rng) for _ in range(many)]
        x = np.concatenate([part[0] for part in parts])
        y = np.concatenate([part[1] for part in parts])
        names = np.repeat(np.arange(many), documents)
        start = time.perf_counter()
        fitted = TopicCalibrator(random_state=0, n_jobs=processes).fit(x, y, names)
        seconds = time.perf_counter() - start
        told(f"TopicCalibrator().fit of {many:,} topics x {documents:,} documents", seconds, bar)
        for which, name in enumerate(("first", "second"), start=many):
            start = time.perf_counter()
            fitted.add_topics(x[:documents], y[:documents], np.full(documents, which))
            told(f"    add_topics of one, the {name}", time.perf_counter() - start, ADD_BAR)


def main():
    """Print everything but the larger sets of topics, which are for --topics."""
    fits()
    batches()
    classifiers()
    digits()
    intervals()
    command()
    smallest = dict(list(TOPICS.items())[:1])
    topics(TOPICS if "--topics" in sys.argv else smallest)


if __name__ == "__main__":
    main()

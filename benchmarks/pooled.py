"""Many topics: a gradient's time by the number of scores; the fast engines' time and memory.

python -m benchmarks.pooled
"""

import sys
import time

import numpy as np

from bayescal import TopicCalibrator
from bayescal.distributions import programs
from bayescal.families import FAMILIES
from bayescal.fitting.engines.pooled.engine import fit_topics
from bayescal.fitting.scores import BinaryScores
from benchmarks.topics import peak

FEW_TOPICS = 4
SIZES = (1_000, 10_000, 100_000, 1_000_000)
CALLS, ROUNDS = 500, 7
BAR_FLAT = 2.0  # of the largest over the smallest size
TOPICS, DOCUMENTS = 90, 9603
# Positives of the topics fall from Reuters' largest to its smallest by a power law.
MOST_POSITIVES = 2877
SMALL_TOPICS = 125
BAR_LINEAR = 1.2  # a topic's time among four times as many, over its time among the fewer


def documents(n, topics, rng):
    """Return scores, labels and topics; one positive to nine negatives, skewed."""
    topic = np.repeat(np.arange(topics), n)
    label = (rng.random(topic.size) < 0.1).astype(int)
    return rng.gumbel(2.0 * label + 0.1 * topic), label, topic


def gradient(n):
    """Return a function that evaluates the program's log density and its gradient."""
    model = programs.load("topics").model(*documents(n, FEW_TOPICS, np.random.default_rng(0)))
    both = model.logp_dlogp_function(ravel_inputs=True)
    both.set_extra_values({})
    point = np.concatenate([np.ravel(model.initial_point()[v.name]) for v in model.value_vars])
    # Modes move from call to call, as in a trajectory.
    points = point + 0.1 * np.random.default_rng(1).normal(size=(CALLS, point.size))
    return lambda: [both(each) for each in points]


def gradients():
    """Print the time of a gradient for each size, and the ratio of the largest to the smallest."""
    functions = []
    for n in SIZES:
        start = time.perf_counter()
        functions.append(gradient(n))
        print(f"model of {FEW_TOPICS} topics x {n:9,} scores: {time.perf_counter() - start:.1f} s")
    times = np.empty((ROUNDS, len(SIZES)))
    for row in times:
        for k, function in enumerate(functions):
            start = time.perf_counter()
            function()
            row[k] = (time.perf_counter() - start) / CALLS
    for n, seconds in zip(SIZES, np.median(times, axis=0), strict=True):
        print(f"gradient at {n:9,} scores a topic: {seconds * 1e6:7.1f} microseconds")
    ratio = np.median(times[:, -1] / times[:, 0])
    verdict = "holds" if ratio <= BAR_FLAT else "MISSED"
    print(f"ratio {ratio:.2f}   bar {BAR_FLAT:.1f}  {verdict}")


def like_naive_bayes(rng):
    """Return topics with scores like naive Bayes's: wide, skewed, far from even."""
    topics = []
    for topic in range(TOPICS):
        n = max(2, round(MOST_POSITIVES / (1 + topic) ** 1.2))
        mode, width = rng.normal(-30.0, 5.0), rng.gamma(8.0, 1.5)
        negatives = mode - width * rng.gumbel(size=DOCUMENTS - n)
        positives = mode + 2.5 * width + width * rng.gumbel(size=n)
        scores = np.concatenate([negatives, positives])
        topics.append(BinaryScores(scores, np.arange(DOCUMENTS) >= DOCUMENTS - n))
    return topics


def fast_engine():
    """Print seconds and memory of the fast engine, all topics at once."""
    rng = np.random.default_rng(2)
    topics = like_naive_bayes(rng)
    before, start = peak(), time.perf_counter()
    fit_topics(
        topics,
        FAMILIES["asymmetric_laplace"],
        rng,
        draws=1000,
        pooling="partial",
        scale=(-40.0, 20.0),
    )
    seconds = time.perf_counter() - start
    print(
        f"{TOPICS} topics x {DOCUMENTS:,} documents, 1,000 draws: {seconds:.1f} s,"
        f" peak memory {before:.0f} MiB before, {peak():.0f} MiB after"
    )


def small_topics():
    """Print the processor time of topics of one document, and of four times as many."""
    rng, times = np.random.default_rng(3), []
    for n in (SMALL_TOPICS, 4 * SMALL_TOPICS):
        label = np.arange(n) % 4 == 0
        scores, names = rng.normal(2.0 * label), [f"topic {k}" for k in range(n)]
        calibrator = TopicCalibrator(draws=50, chains=4, random_state=0)
        start = time.process_time()
        calibrator.fit(scores, label, topics=names)
        times.append(time.process_time() - start)
    ratio = times[1] / times[0] / 4
    verdict = "holds" if ratio <= BAR_LINEAR else "MISSED"
    print(
        f"{4 * SMALL_TOPICS} topics x 1 document, 200 draws: {times[1]:.1f} s of processor time,"
        f" {ratio:.2f} times that of {SMALL_TOPICS} for each   bar {BAR_LINEAR:.1f}  {verdict}"
    )


def main():
    """Print times, ratios and memory; the engine first, whose peak the large models would hide."""
    fast_engine()
    small_topics()
    gradients()


if __name__ == "__main__":
    sys.exit(main())

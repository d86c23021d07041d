"""Online combiners in processor time: batches of 1,000 rounds, beside SGDClassifier.partial_fit.

python -m benchmarks.experts. Ten experts and 70 indicators; SGDClassifier learns from the same
numbers, side by side. Both have a Python call a batch; SGDClassifier's loop is compiled.
"""

import time
from functools import partial

import numpy as np
from sklearn.linear_model import SGDClassifier

from bayescal.combining.online.online_combiner import OnlineCombiner
from bayescal.combining.online.rules import RULES
from benchmarks.timing import ratios

ROUNDS, BATCH, EXPERTS, INDICATORS = 20_000, 1_000, 10, 70
LEAST = 50_000  # rounds a second
BAR = 20.0  # times SGDClassifier's time


def rounds():
    """Return labels, experts that know something of them, and indicators."""
    rng = np.random.default_rng(0)
    y = (rng.random(ROUNDS) < 0.3).astype(int)
    said = np.clip(0.6 * rng.random((ROUNDS, EXPERTS)) + 0.4 * y[:, None], 0.0, 1.0)
    return said, y, rng.random((ROUNDS, INDICATORS))


def in_batches(learner, columns, y, further):
    for start in range(0, ROUNDS, BATCH):
        rows = slice(start, start + BATCH)
        given = {name: values[rows] for name, values in further.items()}
        learner.partial_fit(columns[rows], y[rows], classes=[0, 1], **given)


def combine(rule, said, y, indicators):
    further = {"indicators": indicators} if RULES[rule].takes_indicators else {}
    in_batches(OnlineCombiner(rule, constant_experts=False), said, y, further)


def main():
    """Print rounds a second and ratios."""
    said, y, indicators = rounds()
    columns = np.concatenate([said, indicators], axis=1)
    for rule, kind in RULES.items():
        peer_columns = columns if kind.takes_indicators else said
        mine, other, ratio = ratios(
            partial(combine, rule, said, y, indicators),
            lambda own=peer_columns: in_batches(SGDClassifier(loss="log_loss"), own, y, {}),
            runs=3,
            clock=time.process_time,
        )
        verdict = "holds" if ratio <= BAR and ROUNDS / mine >= LEAST else "MISSED"
        print(
            f"{rule:12} {ROUNDS / mine:10,.0f} rounds/s (bar {LEAST:,})"
            f"   SGDClassifier {ROUNDS / other:10,.0f}"
            f"   ratio {ratio:6.2f}   bar {BAR:5.1f}  {verdict}"
        )


if __name__ == "__main__":
    main()

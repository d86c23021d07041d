"""Choose the default floor under maximum-likelihood scales, by held-out log-loss.

Calibration split only: fit on a random subset with n+ positives a topic (negatives in
proportion), score the rest of the split. The test split is not read.

    python -m benchmarks.guard_floor
"""

import sys

import numpy as np

from bayescal.bayes import class_prior
from bayescal.datasets import load_reuters_scores
from bayescal.datasets.reuters_scores import CLASSIFIERS, TOPICS
from bayescal.engines.data import BinaryScores
from bayescal.engines.maximum_likelihood import ClassFits
from bayescal.families import FAMILIES, scale_floor
from bayescal.metrics import losses

FACTORS = (1e-12, 0.1, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
POSITIVES = (3, 10, 30, 100)
REPEATS = 10


def subset(label, n_positive, rng):
    """Return a mask of n_positive positives and negatives in proportion."""
    mask = np.zeros(label.size, dtype=bool)
    for value, size in ((1, n_positive), (0, round(n_positive * (label == 0).sum() / label.sum()))):
        where = np.flatnonzero(label == value)
        mask[rng.choice(where, min(size, where.size // 2), replace=False)] = True
    return mask


def fit_classes_with_floor(family, data, factor):
    """Return both fits with floor factor * pooled spread / sqrt(class size)."""
    spread = data.centre_and_spread[1]
    fits = [
        family.fit(*data.of_class(k), guard=scale_floor(spread, data.total(k), factor))
        for k in (False, True)
    ]
    return ClassFits(*fits, class_prior(data.total(True), data.total()))


def held_out_bits(family, rows, n_positive, rng):
    """Return mean held-out bits a decision for every factor."""
    score, label = rows["score"].to_numpy(), rows["label"].to_numpy()
    mask = subset(label, n_positive, rng)
    data = BinaryScores(score[mask], label[mask] == 1)
    out = []
    for factor in FACTORS:
        fits = fit_classes_with_floor(family, data, factor)
        log_odds = np.clip(fits.log_odds(family, score[~mask]), -1e12, 1e12)
        out.append(losses(log_odds, label[~mask] == 1).log_loss / (~mask).sum())
    return out


def main():
    """Print mean held-out bits x 1000 a decision, with standard errors over repeats."""
    print(f"{'factor':25}" + "".join(f"{factor:>16g}" for factor in FACTORS))
    for classifier in CLASSIFIERS:
        tables = [load_reuters_scores(classifier, topic, "calibration") for topic in TOPICS]
        for name, family in FAMILIES.items():
            for n_positive in POSITIVES:
                rng = np.random.default_rng(n_positive)
                bits = 1000 * np.array(
                    [
                        np.mean(
                            [held_out_bits(family, rows, n_positive, rng) for rows in tables], 0
                        )
                        for _ in range(REPEATS)
                    ]
                )
                mean, error = bits.mean(0), bits.std(0, ddof=1) / REPEATS**0.5
                cells = "".join(f"{m:>9.4g} +-{e:<5.2g}" for m, e in zip(mean, error, strict=True))
                print(f"{classifier[:6]} {name[:14]:14} {n_positive:>3}  {cells}", flush=True)


if __name__ == "__main__":
    sys.exit(main())

"""CalibratedClassifier(LinearSVC, cv=5) on 20,000 sparse documents against scikit-learn's."""

import numpy as np
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.svm import LinearSVC

from bayescal import CalibratedClassifier
from benchmarks.timing import report


def documents(words, n=20_000, vocabulary=50_000):
    """Return documents of so many words, which follow Zipf's law, and labels that they decide."""
    rng = np.random.default_rng(0)
    # Rank r with probability nearly 1/r.
    column = np.exp(rng.uniform(0.0, np.log(vocabulary), n * words)).astype(int)
    row = np.repeat(np.arange(n), words)
    # Weighed by the logarithm of the rank, as tf-idf weighs rare words.
    counts = sparse.csr_matrix((np.log1p(column), (row, column)), shape=(n, vocabulary))
    counts = counts.multiply(1.0 / sparse.linalg.norm(counts, axis=1)[:, None]).tocsr()
    effect = counts @ rng.normal(0.0, 1.0, vocabulary)
    return counts, effect + rng.normal(0.0, 0.5 * effect.std(), n) > np.quantile(effect, 0.8)


def main():
    """Print times and ratios; one process each."""
    estimator = LinearSVC(random_state=0)
    mine = CalibratedClassifier(estimator, cv=5, random_state=0)
    peer = CalibratedClassifierCV(estimator, method="sigmoid", cv=5, ensemble=False)
    for kind, words in (("short news", 80), ("newsgroups", 200)):
        data = documents(words)
        report(
            f"CalibratedClassifier.fit, {words} words, {kind}",
            lambda data=data: mine.fit(*data),
            lambda data=data: peer.fit(*data),
            "CalibratedClassifierCV(sigmoid)",
            1.2,
            runs=5,
        )


if __name__ == "__main__":
    main()

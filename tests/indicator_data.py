"""Made documents for tests of reliability indicators, and their classifiers fitted once."""

from functools import cache

import numpy as np
from scipy import sparse

from bayescal.combining.indicators import ReliabilityIndicators
from bayescal.text import make_classifier
from bayescal.text.classifiers import CLASSIFIERS


def make_counts(n, seed, words=24):
    """Return counts of words, of which the first five tell the class, and the class."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.35
    rate = np.full((n, words), 0.4)
    rate[:, 0] += 1.5 * y
    rate[:, 1] += 1.2 * ~y
    rate[:, 2] += 0.4 * y
    rate[:, 3], rate[:, 4] = 0.5 * y, 0.3 * ~y  # words of one class alone
    rate[:, 18], rate[:, 19] = 0.1 * y, 0.1 * ~y
    counts = rng.poisson(rate).astype(float)
    counts[:, -2:] = 0.0  # words that no document here has
    return counts, y


COUNTS, LABELS = make_counts(160, 1)
# Two words in changing proportions: the way from one end of these to the other leads by them all.
COUNTS[100:112] = 0.0
COUNTS[100:112, 0], COUNTS[100:112, 5] = np.arange(12), 6.0
NEW = make_counts(14, 2)[0]
NEW[1] = 0.0
NEW[1, [0, 5]] = 1.0, 9.0
NEW[3] = 0.0  # an empty document
NEW[4] = 0.0
NEW[4, -1] = 3.0  # one of unseen words only
NEW[5, -2] = 2.0  # one that has an unseen word
NEW[6] = COUNTS[7]  # one that was trained on


@cache
def fitted(words=12):
    """Return the five classifiers' indicators, fitted."""
    classifiers = [(name, make_classifier(name, words=words)) for name in CLASSIFIERS]
    return ReliabilityIndicators(classifiers).fit(sparse.csr_matrix(COUNTS), LABELS)


def values_of(indicators, documents):
    """Return a dictionary of the values of each indicator."""
    names = indicators.get_feature_names_out()
    return dict(zip(names, indicators.transform(documents).T, strict=True))


def model_of(indicators, name):
    """Return a classifier of the five and the function to what it sees, as dense arrays."""
    pipeline = dict(indicators.classifiers_)[name]

    def see(documents):
        features = pipeline[:-1].transform(documents)
        return features.toarray() if sparse.issparse(features) else np.asarray(features)

    return pipeline[-1], see

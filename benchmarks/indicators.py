"""All reliability indicators of Reuters-21578's test documents beside classifiers' predictions.

python -m benchmarks.indicators PATH [TOPIC ...], with PATH a copy of the corpus. Processor time,
which other work on the machine does not change.
"""

import sys
import time
from functools import partial

import numpy as np

from bayescal.combining.indicators import ReliabilityIndicators
from bayescal.text import make_classifier
from bayescal.text.classifiers import CLASSIFIERS
from benchmarks.timing import report
from studies.papers.corpora import fetch_reuters21578
from studies.papers.sigir2003.scores import count_words

BAR = 3.0  # the dissertation's Table 5.2 has 2.84 for nearest neighbours alone


def documents(path, topic):
    """Return counts of words of both parts, and which training documents are of a topic."""
    corpus = fetch_reuters21578(path=path)
    train, test = (corpus[corpus["split"] == split] for split in ("train", "test"))
    labels = np.array([topic in topics for topics in train["topics"]])
    return *count_words(train["text"], test["text"]), labels


def main(path, *topics):
    """Print times and ratios."""
    for topic in topics or ("earn", "corn"):
        counts, new, labels = documents(path, topic)
        classifiers = [(name, make_classifier(name)) for name in CLASSIFIERS]
        indicators = ReliabilityIndicators(classifiers, best="linear_svm").fit(counts, labels)
        report(
            f"{indicators.transform(new[:1]).shape[1]} indicators, {topic}",
            partial(indicators.transform, new),
            partial(indicators.classifier_scores, new),
            "classifier_scores",
            BAR,
            runs=3,
            clock=time.process_time,
        )


if __name__ == "__main__":
    main(*sys.argv[1:])

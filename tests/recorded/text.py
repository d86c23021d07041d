"""Text classifiers, their probabilities and the words they choose."""

import numpy as np

from bayescal import text
from bayescal.text.classifiers import CLASSIFIERS
from tests.indicator_data import COUNTS, LABELS, NEW

WORDS = np.array(["wheat", "rain", "tariff", "export", "bank", "rate", "oil", "gas"])
RNG = np.random.default_rng(3)
GRAIN = np.arange(48) % 3 == 0
DOCUMENTS = [
    " ".join(RNG.choice(WORDS, 9, p=np.where(np.arange(8) < 4, 3.0 if grain else 1.0, 1.5) / total))
    for grain, total in zip(GRAIN, np.where(GRAIN, 18.0, 10.0), strict=True)
]


def words():
    selector = text.MutualInformationSelector(k=5, min_documents=2).fit(COUNTS, LABELS)
    return {
        "information": text.mutual_information(COUNTS, LABELS),
        "chosen": selector.get_support(),
        "of each": selector.mutual_information_,
    }


def classifiers():
    results = {}
    for name in CLASSIFIERS:
        found = text.make_classifier(name, words=9, min_documents=1)
        results[f"{name}, folds"] = text.cross_val_scores(found, COUNTS, LABELS, folds=3)[::5]
        results[name] = text.raw_scores(found.fit(COUNTS, LABELS), NEW)
    return results


def word_models():
    results = {}
    models = [text.BernoulliNaiveBayes(), text.MultinomialNaiveBayes(), text.DecisionTree(0.1)]
    for each in (*models, text.NearestNeighbours(7, threshold=0.1), text.NearestNeighbours()):
        found = each.fit(COUNTS[:80], LABELS[:80])
        results[repr(each)] = [found.decision_function(NEW), found.predict(NEW)]
        if hasattr(found, "predict_proba"):
            results[f"{each!r}, p"] = found.predict_proba(NEW)
    return results | {"neighbours": found.kneighbors(NEW)}


def calibrated():
    options = {"words": 6, "min_documents": 1, "folds": 3, "random_state": 0}
    found = text.TextCalibrator("naive_bayes", **options).fit(DOCUMENTS, GRAIN)
    return {
        "p": found.predict_proba(DOCUMENTS[:9]),
        "bands": found.predict_interval(DOCUMENTS[:9], level=0.8),
        "draws": found.sample_proba(DOCUMENTS[:4], 5, random_state=1),
        "prior": found.predict_proba(DOCUMENTS[:9], prior=0.2),
        "scores": found.score_documents(DOCUMENTS[:9]),
        "summary": found.summary(0.8),
    }

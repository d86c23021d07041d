"""Classifiers of texts, scores of documents held out, and calibrated ones."""

import warnings
from functools import cache, partial

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from bayescal import ScoreCalibrator
from bayescal.text import (
    BernoulliNaiveBayes,
    DecisionTree,
    MultinomialNaiveBayes,
    MutualInformationSelector,
    NearestNeighbours,
    TextCalibrator,
    cross_val_scores,
    leaf_log_odds,
    linear_svm,
    make_classifier,
    mutual_information,
    raw_scores,
)
from bayescal.text.classifiers import CLASSIFIERS, fewest_errors
from bayescal.text.reuters_scores import load_reuters_scores
from tests.indicator_data import COUNTS, LABELS, NEW
from tests.same_numbers.plain import answer_of, attributes_of

TOPICS = np.column_stack([LABELS, COUNTS[:, 5] > 0, COUNTS[:, 6] + COUNTS[:, 7] > 2])
WORDS = np.array(["rate", "stock", "wheat", "grain", "oil", "bank", "loan", "ship", "tea", "gold"])


@cache
def texts():
    """Return short texts, whose first words tell the class, and the class."""
    rng = np.random.default_rng(31)
    y = rng.random(70) < 0.4
    rates = np.where(y[:, None], np.linspace(2.0, 0.4, 10), np.linspace(0.3, 1.2, 10))
    counts = rng.poisson(rates)
    counts[:, -1] += counts.sum(axis=1) == 0
    return [" ".join(np.repeat(WORDS, row)) for row in counts], y


def of_model(model):
    """Return the fitted attributes of a model of counts, and its predictions."""
    fitted = model.fit(COUNTS, LABELS)
    found = {name: value for name, value in attributes_of(fitted).items() if name != "tree_"}
    if "documents_" in found:
        found["documents_"] = found["documents_"].toarray()
    found |= {"decision": fitted.decision_function(NEW), "class": fitted.predict(NEW)}
    if hasattr(fitted, "predict_proba"):
        found["proba"] = fitted.predict_proba(NEW)
    if hasattr(fitted, "kneighbors"):
        found["neighbours"] = [fitted.kneighbors(NEW), fitted.kneighbors(NEW, 2)]
    return found


def words():
    """Return the information of words, those selected, and the threshold of fewest errors."""
    found = [mutual_information(COUNTS, LABELS)]
    for options, y in (({"k": 5}, LABELS), ({"k": 7, "min_documents": 20}, LABELS), ({}, LABELS)):
        found.append(MutualInformationSelector(**options).fit(COUNTS, y).get_support())
    several = MutualInformationSelector(k=6).fit(COUNTS, TOPICS[:, 0], topics=TOPICS)
    found += [several.get_support(), several.mutual_information_]
    scores = COUNTS[:, 0] - COUNTS[:, 1]
    found += [fewest_errors(scores, LABELS), fewest_errors(-scores, LABELS)]
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(COUNTS, LABELS)
    return [*found, leaf_log_odds(tree)]


def of_classifier(name, **options):
    """Return a named classifier's scores of new documents and of those held out."""
    make = linear_svm if name == "linear_svm" and options else partial(make_classifier, name)
    classifier = make(words=9, random_state=1, **options)
    return {
        "held out": cross_val_scores(classifier, COUNTS, LABELS, folds=3, random_state=2),
        "by default": cross_val_scores(classifier, COUNTS, LABELS),
        "scores": raw_scores(classifier.fit(COUNTS, LABELS), NEW),
    }


def of_texts(classifier="linear_svm", **options):
    """Return a calibrated classifier's answers, one of a text without words."""
    quick = ScoreCalibrator("gaussian", draws=40, chains=2, random_state=0)
    documents, y = texts()
    model = TextCalibrator(classifier, words=8, folds=3, calibrator=quick, **options)
    model.fit(documents, y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        new = ["wheat rate rate", "gold tea ship", "unknown", "rate stock oil oil"]
        found = {
            "proba": model.predict_proba(new),
            "shifted": model.predict_proba(new, prior=0.1),
            "decision": model.decision_function(new),
            "class": model.predict(new),
            "interval": model.predict_interval(new),
            "hdi": model.predict_interval(new, level=0.5, kind="hdi"),
            "draws": model.sample_proba(new, 5, 1),
            "scores": model.score_documents(new),
            "labelled": model.labelled_scores(documents[:9], y[:9]),
            "summary": model.summary(),
            "findings": [str(each) for each in model.findings()],
        }
    return found | {"warned": sorted({str(each.message) for each in caught})}


def refusals():
    """Return the errors that wrong arguments raise."""
    documents, y = texts()
    wrong = [
        (MultinomialNaiveBayes().fit, [-COUNTS, LABELS], {}),
        (BernoulliNaiveBayes().fit, [COUNTS, np.zeros(160)], {}),
        (BernoulliNaiveBayes().fit, [COUNTS, LABELS[:9]], {}),
        (DecisionTree(penalty=-1.0).fit, [COUNTS, LABELS], {}),
        (NearestNeighbours(0).fit, [COUNTS, LABELS], {}),
        (NearestNeighbours(threshold="cut").fit, [COUNTS, LABELS], {}),
        (NearestNeighbours().fit(COUNTS, LABELS).kneighbors, [NEW, 0], {}),
        (MutualInformationSelector(k=0).fit, [COUNTS, LABELS], {}),
        (MutualInformationSelector(min_documents=0).fit, [COUNTS, LABELS], {}),
        (MutualInformationSelector(min_documents=161).fit, [COUNTS, LABELS], {}),
        (mutual_information, [COUNTS, LABELS[:9]], {}),
        (make_classifier, ["svm"], {}),
        (linear_svm, [], {"weights": "counts"}),
        (cross_val_scores, [DecisionTree(), COUNTS, LABELS], {"folds": 1}),
        (cross_val_scores, [DecisionTree(), COUNTS, LABELS], {"folds": 161}),
        (raw_scores, [DecisionTree(), NEW], {}),
        (TextCalibrator(folds=1).fit, [documents, y], {}),
        (TextCalibrator(folds=60).fit, [documents, y], {}),
        (TextCalibrator("svm").fit, [documents, y], {}),
        (TextCalibrator().fit, [documents, y[:9]], {}),
        (TextCalibrator().fit, ["one text", y], {}),
        (TextCalibrator().fit, ["one text"], {"y": [1]}),
        (TextCalibrator().fit, [["a", "b"], [0, 1]], {}),
        (TextCalibrator().fit, [documents, np.arange(70) % 3], {}),
        (TextCalibrator().predict, [documents], {}),
        (load_reuters_scores, ["svm"], {}),
        (load_reuters_scores, [], {"topic": "tea"}),
        (load_reuters_scores, [], {"split": "all"}),
    ]
    return [answer_of(function, *args, **options) for function, args, options in wrong]


def reuters():
    """Return the scores that the package brings, all and of one topic."""
    return [
        load_reuters_scores("linear_svm", split="test"),
        load_reuters_scores(topic="corn", split="calibration"),
    ]


CASES = (
    {
        "multinomial": partial(of_model, MultinomialNaiveBayes()),
        "bernoulli": partial(of_model, BernoulliNaiveBayes()),
        "tree": partial(of_model, DecisionTree()),
        "tree, penalty": partial(of_model, DecisionTree(penalty=4.0, random_state=1)),
        "neighbours": partial(of_model, NearestNeighbours()),
        "neighbours, few": partial(of_model, NearestNeighbours(4, threshold=0.2)),
        "words": words,
    }
    | {name: partial(of_classifier, name) for name in CLASSIFIERS}
    | {
        "linear_svm, other weights": partial(
            of_classifier, "linear_svm", weights="tf", normalise=False, cost=3.0
        ),
        "texts": of_texts,
        "texts, naive Bayes": partial(of_texts, "naive_bayes", positive=False, random_state=4),
        "reuters": reuters,
        "refusals": refusals,
    }
)

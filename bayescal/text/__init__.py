"""From documents to scores: selection of words, classifiers, cross-validated scores.

Counting and weighting of words and the linear SVM are scikit-learn's.
"""

from bayescal.text.classifiers import (
    NearestNeighbours,
    decision_tree,
    linear_svm,
    make_classifier,
    naive_bayes,
    nearest_neighbours,
)
from bayescal.text.text_calibrator import (
    TextCalibrator,
    UnknownWordsWarning,
    cross_val_scores,
    raw_scores,
)
from bayescal.text.word_models import (
    BernoulliNaiveBayes,
    DecisionTree,
    MultinomialNaiveBayes,
    MutualInformationSelector,
    leaf_log_odds,
    mutual_information,
)

__all__ = [
    "BernoulliNaiveBayes",
    "DecisionTree",
    "MultinomialNaiveBayes",
    "MutualInformationSelector",
    "NearestNeighbours",
    "TextCalibrator",
    "UnknownWordsWarning",
    "cross_val_scores",
    "decision_tree",
    "leaf_log_odds",
    "linear_svm",
    "make_classifier",
    "mutual_information",
    "naive_bayes",
    "nearest_neighbours",
    "raw_scores",
]

"""From documents to scores: selection of words, classifiers, cross-validated scores.

What scikit-learn has (counting words, weights, linear SVM) is taken from there.
"""

from bayescal.text.classifiers import (
    decision_tree,
    linear_svm,
    make_classifier,
    naive_bayes,
    nearest_neighbours,
)
from bayescal.text.cross_validation import cross_val_scores, raw_scores
from bayescal.text.decision_tree import DecisionTree, leaf_log_odds
from bayescal.text.mutual_information import MutualInformationSelector, mutual_information
from bayescal.text.naive_bayes import BernoulliNaiveBayes, MultinomialNaiveBayes
from bayescal.text.nearest_neighbours import NearestNeighbours
from bayescal.text.text_calibrator import TextCalibrator, UnknownWordsWarning

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

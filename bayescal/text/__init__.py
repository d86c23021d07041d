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
from bayescal.text.document_scores import document_predictions, document_scores
from bayescal.text.mutual_information import MutualInformationSelector, mutual_information
from bayescal.text.naive_bayes import BernoulliNaiveBayes, MultinomialNaiveBayes
from bayescal.text.nearest_neighbours import NearestNeighbours
from bayescal.text.sentence_ngrams import (
    sentence_ngrams,
    sentence_tokens,
    sentence_words,
    split_sentences,
)
from bayescal.text.sentence_position import PositionOctiles, sentence_positions
from bayescal.text.text_calibrator import TextCalibrator, UnknownWordsWarning

__all__ = [
    "BernoulliNaiveBayes",
    "DecisionTree",
    "MultinomialNaiveBayes",
    "MutualInformationSelector",
    "NearestNeighbours",
    "PositionOctiles",
    "TextCalibrator",
    "UnknownWordsWarning",
    "cross_val_scores",
    "decision_tree",
    "document_predictions",
    "document_scores",
    "leaf_log_odds",
    "linear_svm",
    "make_classifier",
    "mutual_information",
    "naive_bayes",
    "nearest_neighbours",
    "raw_scores",
    "sentence_ngrams",
    "sentence_positions",
    "sentence_tokens",
    "sentence_words",
    "split_sentences",
]

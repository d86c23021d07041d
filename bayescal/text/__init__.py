"""From documents to scores: selection of words, naive Bayes, cross-validated scores.

What scikit-learn has (counting words, weights, linear SVM) is taken from there.
"""

from bayescal.text.classifiers import linear_svm, make_classifier, naive_bayes
from bayescal.text.cross_validation import cross_val_scores, raw_scores
from bayescal.text.mutual_information import MutualInformationSelector, mutual_information
from bayescal.text.naive_bayes import BernoulliNaiveBayes, MultinomialNaiveBayes
from bayescal.text.text_calibrator import TextCalibrator, UnknownWordsWarning

__all__ = [
    "BernoulliNaiveBayes",
    "MultinomialNaiveBayes",
    "MutualInformationSelector",
    "TextCalibrator",
    "UnknownWordsWarning",
    "cross_val_scores",
    "linear_svm",
    "make_classifier",
    "mutual_information",
    "naive_bayes",
    "raw_scores",
]

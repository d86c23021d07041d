"""From documents to scores: selection of words, naive Bayes, cross-validated scores.

What scikit-learn has (counting words, weights, linear SVM) is taken from there.
"""

from bayescal.text.cross_validation import cross_val_scores, raw_scores
from bayescal.text.mutual_information import MutualInformationSelector, mutual_information
from bayescal.text.naive_bayes import BernoulliNaiveBayes, MultinomialNaiveBayes

__all__ = [
    "BernoulliNaiveBayes",
    "MultinomialNaiveBayes",
    "MutualInformationSelector",
    "cross_val_scores",
    "mutual_information",
    "raw_scores",
]

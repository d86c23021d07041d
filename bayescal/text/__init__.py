"""From documents to scores: selection of words, classifiers, cross-validated scores.

Counting and weighting of words and the linear SVM are scikit-learn's.
"""

from bayescal.text.classifiers import NearestNeighbours as NearestNeighbours
from bayescal.text.classifiers import linear_svm as linear_svm
from bayescal.text.classifiers import make_classifier as make_classifier
from bayescal.text.text_calibrator import TextCalibrator as TextCalibrator
from bayescal.text.text_calibrator import UnknownWordsWarning as UnknownWordsWarning
from bayescal.text.text_calibrator import cross_val_scores as cross_val_scores
from bayescal.text.text_calibrator import raw_scores as raw_scores
from bayescal.text.word_models import BernoulliNaiveBayes as BernoulliNaiveBayes
from bayescal.text.word_models import DecisionTree as DecisionTree
from bayescal.text.word_models import MultinomialNaiveBayes as MultinomialNaiveBayes
from bayescal.text.word_models import MutualInformationSelector as MutualInformationSelector
from bayescal.text.word_models import mutual_information as mutual_information

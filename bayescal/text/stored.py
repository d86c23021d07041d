"""The classifier of texts in a file, by skops: reading it runs no code."""

from pathlib import Path
from typing import Any

from scipy.sparse import csr_array
from sklearn.pipeline import Pipeline

from bayescal.support.files import read_sealed, sealed
from bayescal.support.validation import Floats
from bayescal.text.classifiers import MODELS
from bayescal.text.text_calibrator import SAME_SCORE, TextCalibrator, count_known, raw_scores
from bayescal.text.word_models import MutualInformationSelector

COUNTS, CLASSIFIER = "counts", "classifier"  # steps of the pipeline
SAVED_BY = "bayescal text fit"
# Parts of the named classifiers; skops knows others of scikit-learn. A tree's indices are read
# unchecked, so that a forged file may crash the process.
PARTS: tuple[type, ...] = (MutualInformationSelector, *MODELS.values(), csr_array)
TRUSTED = ["sklearn.tree._tree.Tree", *(f"{p.__module__}.{p.__qualname__}" for p in PARTS)]


def write_classifier(model: TextCalibrator, path: Path) -> None:
    """Write the classifier of a fitted TextCalibrator, from texts to scores."""
    import skops.io

    (pair,) = model.calibrated_classifiers_
    pipeline = Pipeline([(COUNTS, model.vectorizer_), (CLASSIFIER, pair.estimator)])
    path.write_bytes(sealed(skops.io.dumps(pipeline)))


def read_classifier(path: Path) -> Pipeline:
    """Return the pipeline in a file; raise ValueError if it holds anything else."""
    import skops.io

    content, expected = read_sealed(path, SAVED_BY), f"{path} must be a file that {SAVED_BY} wrote"
    try:
        pipeline = skops.io.loads(content, trusted=TRUSTED)
    except Exception as err:  # a forged file may raise anything
        raise ValueError(f"{expected}, got one that cannot be read: {err}") from err
    if not isinstance(pipeline, Pipeline):
        raise ValueError(f"{expected}, got a {type(pipeline).__name__}.")
    return pipeline


def score_texts(pipeline: Pipeline, texts: list[str], positive: Any) -> Floats:
    """Return raw scores of texts, larger for the positive one of the classes."""
    counts, _ = count_known(pipeline[COUNTS], texts, SAME_SCORE)
    scores = raw_scores(pipeline[CLASSIFIER], counts)
    return scores if pipeline.classes_[1] == positive else -scores

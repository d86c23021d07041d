"""The embedded scores: the corpus's own counts, and the source file where it is at hand."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayescal.text.reuters_scores import CLASSIFIERS, TOPICS, load_reuters_scores
from tests.corpus import TOPIC_COUNTS


def test_counts_are_the_corpus_own():
    table = load_reuters_scores()
    sizes = table.groupby(["classifier", "topic", "split"])["label"].agg(["size", "sum"])
    for classifier in CLASSIFIERS:
        for topic, counts in TOPIC_COUNTS.items():
            rows = sizes.loc[classifier, topic]
            assert rows["size"].tolist() == [9603, 3299]
            assert rows["sum"].tolist() == list(counts)


def test_columns_and_order():
    table = load_reuters_scores("linear_svm", "earn", "test")
    assert list(table.columns) == ["classifier", "topic", "split", "document", "score", "label"]
    assert len(table) == 3299
    assert table["document"].is_monotonic_increasing
    assert set(table["label"]) == {0, 1}


def test_scores_separate_the_classes():
    for classifier in CLASSIFIERS:
        for topic in TOPICS:
            rows = load_reuters_scores(classifier, topic, "test")
            positive = rows.loc[rows["label"] == 1, "score"].median()
            assert positive > rows.loc[rows["label"] == 0, "score"].quantile(0.95)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bayes",), "classifier must be one of 'naive_bayes', 'linear_svm', got 'bayes'"),
        ((None, "cron"), "topic must be one of"),
        ((None, None, "train"), "split must be one of 'calibration', 'test', got 'train'"),
    ],
)
def test_unknown_names(arguments, message):
    with pytest.raises(ValueError, match=message):
        load_reuters_scores(*arguments)


def test_at_most_a_megabyte():
    from importlib.resources import files

    assert len(files("bayescal.text").joinpath("reuters_scores.npz").read_bytes()) < 1e6


def test_is_the_source_to_rounding():
    shared = Path(__file__).parents[2] / "shared" / "data"
    source = Path(os.environ.get("BAYESCAL_SHARED_DATA", shared))
    path = source / "reuters_scores" / "reuters_top10_scores.csv.gz"
    if not path.is_file():
        reason = "the source scores are not beside this checkout (BAYESCAL_SHARED_DATA names them)"
        # Where they are expected a silent skip would hide that nothing was compared.
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    keys = ["classifier", "topic", "split", "document"]
    both = load_reuters_scores().merge(pd.read_csv(path), on=keys, suffixes=("", "_source"))
    assert len(both) == 258_040
    assert (both["label"] == both["label_source"]).all()
    off = np.abs(both["score"] - both["score_source"]).groupby(both["classifier"]).max()
    assert off["naive_bayes"] <= 0.01 + 1e-9
    assert off["linear_svm"] <= 0.0001 + 1e-9

"""Bad input: an error that names the argument, what was expected and what came."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

from bayescal import MulticlassCalibrator, ScoreCalibrator, TopicCalibrator
from bayescal.families import FAMILIES
from bayescal.fitting.covariates import Covariates
from bayescal.likelihood_ratio.sources import read_sources
from bayescal.monitoring import Recalibrator
from bayescal.support.labels import as_labels
from bayescal.support.validation import (
    as_scores,
    check_choice,
    check_fraction,
    check_positive,
    check_same_length,
    check_share,
)
from bayescal.support.weighting import as_weights, ratio_of_weights

NAN, INF = float("nan"), float("inf")

# What comes, and what the message says of it after the argument's name.
BAD_SCORES = {
    "nan": ([1.0, NAN, 2.0], r"must be finite, got nan at position 1 \(1 of 3 values\): remove"),
    "inf": ([1.0, 2.0, INF], r"must be finite, got inf at position 2 \(1 of 3 values\): remove"),
    "-inf": ([-INF, INF, NAN], r"must be finite, got -inf at position 0 \(3 of 3 values\): remove"),
    "inf and -inf": ([INF, -INF], r"must be finite, got inf at position 0 \(2 of 2 values\)"),
    "None": ([1.0, None], r"must be finite, got nan at position 1 \(1 of 2 values\)"),
    "missing": (pd.Series([1.0, None]), r"must be finite, got nan at position 1"),
    "none": ([], r"must hold at least one score, got none"),
    "none of 1": (np.zeros((0, 1)), r"must hold at least one score, got none"),
    "a number": (3.0, r"must have shape \(n,\) or \(n, 1\), one score per document, got \(\)"),
    "a row": ([[1.0, 2.0]], r"must have shape \(n,\) or \(n, 1\), .* got \(1, 2\)"),
    "a matrix": (np.ones((3, 2)), r"must have shape \(n,\) or \(n, 1\), .* got \(3, 2\)"),
    "a cube": (np.ones((3, 1, 1)), r"must have shape \(n,\) or \(n, 1\), .* got \(3, 1, 1\)"),
    "words": (["spam", "ham"], r"must be real numbers, got \['spam', 'ham'\]"),
    "numbers as text": (np.array(["0.5", "1"], dtype=object), "must be real numbers, got"),
    "ragged": ([[1.0], [1.0, 2.0]], r"must be real numbers, got \[\[1.0\], \[1.0, 2.0\]\]"),
    "complex list": ([1j, 2.0], r"must be real numbers, got \[1j, 2.0\]"),
    "a set": ({1.0, 2.0}, r"must be real numbers, got \{1.0, 2.0\}"),
    "too large": ([1.0, -1e151], r"must lie within 1e150 of 0, got -1e\+151: rescale"),
    "sum too large": ([1e308] * 3, r"must lie within 1e150 of 0, got 1e\+308: rescale"),
    "cancelling": ([1e308, -1e308], r"must lie within 1e150 of 0, got 1e\+308: rescale"),
}
BAD_WEIGHTS = {
    "nan": ([1.0, NAN, 1.0], r"must be finite, got nan at position 1 \(1 of 3 values\)"),
    "inf": ([INF, 1.0, 1.0], r"must be finite, got inf at position 0 \(1 of 3 values\)"),
    "negative": ([1.0, -0.5, -2.0], r"must not be negative, got -2\."),
    "a negative number": (-1.0, r"must not be negative, got -1\."),
    "all zero": ([0.0, 0.0, 0.0], r"must not be all zero: give at least one score a positive"),
    "zero": (0.0, r"must not be all zero: give at least one score a positive weight"),
    "too short": ([1.0, 1.0], r"must have shape \(3,\), one weight a score, got \(2,\)"),
    "too long": (np.ones(4), r"must have shape \(3,\), one weight a score, got \(4,\)"),
    "none": ([], r"must have shape \(3,\), one weight a score, got \(0,\)"),
    "a column": (np.ones((3, 1)), r"must have shape \(3,\), one weight a score, got \(3, 1\)"),
    "words": (["a", "b", "c"], r"must be real numbers, got \['a', 'b', 'c'\]"),
    "too large": ([1.0, 1.0, 1e200], r"must lie within 1e150 of 0, got 1e\+200: rescale"),
}

each_family = pytest.mark.parametrize("family", FAMILIES)


@each_family
def test_fits_refuse_bad_scores_and_weights(family):
    for scores, message in BAD_SCORES.values():
        with pytest.raises(ValueError, match=f"^x {message}"):
            FAMILIES[family].fit(scores)
    for weight, message in BAD_WEIGHTS.values():
        with pytest.raises(ValueError, match=f"^sample_weight {message}"):
            FAMILIES[family].fit([1.0, 2.0, 4.0], weight)


@pytest.mark.parametrize("candidates", ["grid", "Exact", "", None, 10])
@each_family
def test_fits_refuse_other_candidates(family, candidates):
    message = f"^candidates must be one of 'exact', 'bennett', got {candidates!r}"
    with pytest.raises(ValueError, match=message):
        FAMILIES[family].fit([1.0, 2.0], candidates=candidates)


def test_other_values_are_no_real_numbers_and_not_printed_in_full():
    with pytest.raises(ValueError, match=r"^scores must be real numbers, got array"):
        as_scores(np.array([1j, 2.0]))
    with pytest.raises(ValueError, match=r"got \['word', .*\.\.\.\.$") as caught:
        as_scores(["word"] * 1000)
    assert len(str(caught.value)) < 120


@pytest.mark.parametrize(
    "scores",
    [
        [1, 2, 3],
        (1.0, 2.0, 3.0),
        np.array([1, 2, 3], dtype=np.int16),
        np.array([1, 2, 3], dtype=np.float32),
        [[1], [2], [3]],
        np.array([[1.0], [2.0], [3.0]]),
        pd.Series([1.0, 2.0, 3.0], index=[7, 8, 9]),
        pd.DataFrame({"score": [1, 2, 3]}),
        range(1, 4),
    ],
    ids=lambda scores: type(scores).__name__,
)
def test_legal_scores_become_doubles(scores):
    got = as_scores(scores)
    assert got.dtype == np.float64
    np.testing.assert_array_equal(got, [1.0, 2.0, 3.0])
    if np.shape(scores) == (3,):
        np.testing.assert_array_equal(as_weights(scores, 3), [1.0, 2.0, 3.0])


def test_legal_values_are_kept():
    for extreme in ([1e150, -1e150], [0.0, -0.0], [5e-324], [1e150] * 1000):
        np.testing.assert_array_equal(as_scores(extreme), extreme)
    np.testing.assert_array_equal(as_weights([0.0, 1e-300, 1e150], 3), [0.0, 1e-300, 1e150])
    assert as_weights(None, 3) is None
    np.testing.assert_array_equal(as_weights(2, 3), [2.0, 2.0, 2.0])
    scores = np.array([1.0, 2.0])
    assert as_scores(scores) is scores
    assert as_weights(scores, 2) is scores


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0.0"), (-2, "-2.0"), (NAN, "nan"), (INF, "inf"), ([1.0, -3.0, 0.0], "-3.0")],
)
def test_positive(value, shown):
    with pytest.raises(ValueError, match=f"^beta must be positive and finite, got {shown}"):
        check_positive(alpha=1.0, beta=value)
    check_positive(alpha=1.0, beta=[5e-324, 1e308])


@pytest.mark.parametrize("value", [0.0, 1.0, -0.1, 1.5, 95, NAN, "0.9", None])
def test_fraction(value):
    message = rf"^level must lie between 0 and 1 \(both excluded\), got {value!r}"
    with pytest.raises(ValueError, match=message):
        check_fraction(share=0.5, level=value)
    check_fraction(share=1e-300, level=1.0 - 2.0**-53)


@pytest.mark.parametrize(
    "value", [0.0, -0.1, 1.0 + 2.0**-52, 80, NAN, INF, "0.8", None, True, [0.8]]
)
def test_share(value):
    message = f"recall must be a number above 0 and at most 1, got {value!r}."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        check_share(forgetting=0.5, recall=value)
    check_share(forgetting=1, recall=5e-324, kept=np.float32(1.0))


def test_choice_and_same_length():
    with pytest.raises(ValueError, match=r"^inference must be one of 'mle', 'nuts', got 'map'"):
        check_choice("inference", "map", ("mle", "nuts"))
    check_choice("inference", "nuts", ("mle", "nuts"))
    message = "^scores and labels must have the same length, got 3 and 2"
    with pytest.raises(ValueError, match=message):
        check_same_length("scores", 3, "labels", 2)
    check_same_length("scores", 3, "labels", 3)


def test_texts_of_numpy_and_of_python_are_of_one_type():
    mixed = np.array(["a", np.str_("b"), "a"], dtype=object)
    assert as_labels(mixed, "y").tolist() == ["a", "b", "a"]
    for other in (1, 1.5, True, b"b"):
        with pytest.raises(ValueError, match=r"^y must hold labels of one type, got"):
            as_labels(np.array(["a", other], dtype=object), "y")


@pytest.mark.parametrize("one", [1.0, 0.5])
def test_the_ratio_of_weights_is_that_of_neighbours_of_the_other_class(one):
    """Documents of weight 0 are none; those of weight 1, or less, are."""
    weight, positive = np.array([one, 3.0 * one, one, 3.0 * one, 0.0, 0.0]), np.arange(6) % 2 == 0
    score = np.array([0.0, 0.1, 5.0, 5.1, 5.0, 0.0])
    assert ratio_of_weights(weight, positive, score) == pytest.approx(1.0 / 3.0)
    assert ratio_of_weights(weight, ~positive, score) == pytest.approx(3.0)


@pytest.mark.parametrize("bad", ["a\0b", "a\0", "\ud800"])
@pytest.mark.parametrize("of", ["y", "topics", "sites", "classes", "name", "level", "sources"])
def test_text_that_no_file_holds_is_refused_before_the_fit(of, bad):
    score, label, names = [1.0, 2.0, 3.0, 4.0], [0, 1, 0, 1], [bad, "c", "c", bad]
    numbers = np.arange(4.0)
    call = {
        "y": lambda: ScoreCalibrator().fit(score, names),
        "topics": lambda: TopicCalibrator().fit(score, label, names),
        "sites": lambda: Recalibrator(pooling="partial").fit(
            [0.1, 0.2, 0.3, 0.4], label, sites=names
        ),
        "classes": lambda: MulticlassCalibrator().fit(np.eye(4), names),
        "name": lambda: Covariates.read({bad: numbers}, 4),
        "level": lambda: Covariates.read({"a": names}, 4),
        "sources": lambda: read_sources((names, names), numbers > 1.0),
    }[of]
    with pytest.raises(ValueError, match=r"must not hold null characters or half .*: rename it"):
        call()


def test_columns_of_any_table_are_covariates():
    table = pd.DataFrame({"length": pd.Series([1, 2.5, 3], dtype=object), "site": ["b", "a", "b"]})
    for form in (table, pl.from_pandas(table.astype({"length": float})), table.to_dict("list")):
        read = Covariates.read(form, 3)
        assert read.columns["length"].tolist() == [1.0, 2.5, 3.0]
        assert read.levels == {"site": ("a", "b")}
    with pytest.raises(ValueError, match="must hold no missing value, 'site' lacks one"):
        Covariates.read(table.assign(site=["b", None, "b"]), 3)

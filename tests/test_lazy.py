"""Answers have the form of the rows: dask and xarray in, dask and xarray out."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from bayescal import CalibratedClassifier, CombinedClassifier, MulticlassCalibrator, ScoreCalibrator
from bayescal.metrics import class_verdict
from bayescal.monitoring import Recalibrator

pytestmark = pytest.mark.one_era
RNG = np.random.default_rng(0)
Y = np.arange(90) % 3
X = RNG.normal(size=(90, 3)) + 2.0 * np.eye(3)[Y]
NEW = RNG.normal(size=(40, 3))
P = 1.0 / (1.0 + np.exp(-NEW[:, 0]))
FAST = {"draws": 40, "random_state": 0}
TWO = ("decision_function", "predict", "predict_proba", "predict_interval", "sample_proba")
DIMS = {
    "decision_function": ("document",),
    "predict": ("document",),
    "predict_set": ("document", "klass"),
    "predict_proba": ("document", "klass"),
    "predict_interval": ("document", "band"),
    "sample_proba": ("draw", "document"),
}
OF_CLASSES = DIMS | {
    "decision_function": ("document", "klass"),
    "predict_interval": ("document", "klass", "band"),
    "sample_proba": ("draw", "document", "klass"),
}
MAKE = {
    "scores": lambda: (ScoreCalibrator(**FAST).fit(X[:, 0], Y == 0), NEW[:, 0], DIMS, TWO),
    "recalibrated": lambda: (
        Recalibrator(**FAST).fit(1.0 / (1.0 + np.exp(-X[:, 0])), Y == 0), P, DIMS, TWO,
    ),
    "classes": lambda: (
        MulticlassCalibrator(**FAST).fit(X, Y), NEW, OF_CLASSES, (*TWO[1:], "predict_set"),
    ),
    "classifier": lambda: (
        CalibratedClassifier(GaussianNB(), cv=2, random_state=0).fit(X, Y == 0), NEW, DIMS, TWO,
    ),
    "classifier of classes": lambda: (
        CalibratedClassifier(GaussianNB(), cv=2, random_state=0).fit(X, Y), NEW, OF_CLASSES, TWO,
    ),
    "combined": lambda: (
        CombinedClassifier(
            [("nb", GaussianNB()), ("lr", LogisticRegression())], cv=2, random_state=0
        ).fit(X, Y == 0),
        NEW, DIMS, TWO,
    ),
}  # fmt: skip


@pytest.fixture(scope="module", params=MAKE)
def case(request):
    return MAKE[request.param]()


def options_of(method):
    return {"draws": 10, "random_state": 3} if method == "sample_proba" else {}


def same(found, expected):
    if expected.dtype.kind == "f":
        # Few scores are read directly, many from a table.
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-4)
    else:
        np.testing.assert_array_equal(found, expected)


def test_blocks_have_the_answers_of_the_whole(case):
    fitted, rows, _, methods = case
    arrays = da.from_array(rows, chunks=(15, 2)[: rows.ndim])
    table = (pd.DataFrame if rows.ndim == 2 else pd.Series)(rows)
    for method in methods:
        expected = getattr(fitted, method)(rows, **options_of(method))
        for lazy in (arrays, dd.from_pandas(table, npartitions=3)):
            found = getattr(fitted, method)(lazy, **options_of(method))
            assert isinstance(found, da.Array)
            assert found.ndim == expected.ndim
            same(found.compute(scheduler="synchronous"), expected)


def test_dimensions_and_coordinates_are_named(case):
    fitted, rows, dims, methods = case
    names = [f"d{k}" for k in range(len(rows))]
    coords = {"document": names, "month": ("document", np.arange(len(rows)))}
    given = xr.DataArray(rows, coords, ("document", "column")[: rows.ndim])
    for method in methods:
        expected = getattr(fitted, method)(rows, **options_of(method))
        for form in (given, given.chunk(document=15)):
            found = getattr(fitted, method)(form, **options_of(method))
            assert found.dims == dims[method]
            assert (found.chunks is None) == (form.chunks is None)
            assert found["document"].values.tolist() == names
            assert found["month"].equals(given["month"])
            if "klass" in found.dims:
                assert found["klass"].values.tolist() == fitted.classes_.tolist()
            if "band" in found.dims:
                assert found["band"].values.tolist() == ["lower", "upper"]
            same(found.values, expected)


def test_nothing_is_computed_before_it_is_asked_for(case):
    fitted, rows, _, methods = case
    computed = []

    def block(values, block_info=None):
        computed.append(len(values))
        return values

    lazy = da.from_array(rows, chunks=(15, 3)[: rows.ndim]).map_blocks(block, meta=rows[:0])
    answers = [getattr(fitted, method)(lazy, **options_of(method)) for method in methods]
    assert computed == []
    answers[0].compute(scheduler="synchronous")
    assert sorted(computed) == [10, 15, 15]


def test_blocks_without_rows_are_answered():
    fitted = ScoreCalibrator("gaussian", **FAST).fit(X[:, 0], Y == 0)
    lazy = dd.from_pandas(pd.Series(np.sort(NEW[:, 0])), npartitions=4)
    high = lazy[lazy > 0.0]
    found = fitted.predict_proba(high).compute(scheduler="synchronous")
    same(found, fitted.predict_proba(np.sort(NEW[:, 0])[np.sort(NEW[:, 0]) > 0.0]))


def test_all_blocks_have_the_same_draws():
    fitted = ScoreCalibrator("gaussian", **FAST).fit(X[:, 0], Y == 0)
    found = fitted.sample_proba(da.zeros(30, chunks=10), draws=5).compute()
    np.testing.assert_array_equal(found, np.repeat(found[:, :1], 30, axis=1))
    assert len(np.unique(found[:, 0])) > 1
    lazy, seed = da.from_array(P, chunks=10), {"draws": 5, "random_state": np.int64(3)}
    same(fitted.sample_proba(lazy, **seed).compute(), fitted.sample_proba(P, **seed))


@pytest.mark.parametrize(
    "ask",
    [
        lambda lazy: class_verdict(Y[:40], lazy),
        lambda lazy: MulticlassCalibrator().fit(da.from_array(X), Y),
    ],
)
def test_what_needs_memory_says_so(ask):
    with pytest.raises(ValueError, match=r"must be in memory, got a Dask collection"):
        ask(da.from_array(P, chunks=10))


def test_tables_get_arrays_and_through_xarray_their_index():
    fitted = ScoreCalibrator("gaussian", **FAST).fit(X[:, 0], np.where(Y == 0, "yes", "no"))
    rows = pd.Series(NEW[:, 0], [f"d{k}" for k in range(len(NEW))], name="score")
    expected = fitted.predict_proba(NEW[:, 0])
    assert type(fitted.predict_proba(rows)) is np.ndarray
    found = fitted.predict_proba(rows.to_xarray()).to_pandas()
    assert found.index.tolist() == rows.index.tolist()
    assert found.columns.tolist() == ["no", "yes"]
    same(found.to_numpy(), expected)


def test_rows_may_be_named():
    fitted = ScoreCalibrator("gaussian", **FAST).fit(X[:, 0], Y == 0)
    expected = fitted.predict_proba(P)
    for form in (P, xr.DataArray(P), da.from_array(P, chunks=10)):
        same(np.asarray(fitted.predict_proba(scores=form)), expected)
    with pytest.raises(TypeError, match="scores"):
        fitted.predict_proba()


def test_only_the_rows_may_be_lazy():
    fitted = ScoreCalibrator("gaussian", **FAST).fit(X[:, 0], Y == 0)
    lazy = da.from_array(P, chunks=10)
    with pytest.raises(ValueError, match="prior must be in memory"):
        fitted.predict_proba(lazy, prior=lazy)

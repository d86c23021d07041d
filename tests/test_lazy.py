"""Answers have the form of the rows: dask and xarray in, dask and xarray out."""

from dataclasses import fields

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from bayescal import CalibratedClassifier, CombinedClassifier, MulticlassCalibrator, ScoreCalibrator
from bayescal.decisions import decide, expected_costs
from bayescal.likelihood_ratio import likelihood_ratios
from bayescal.monitoring import Recalibrator
from bayescal.support.lazy import BAND, ROW, rowwise

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
    expected = fitted.predict_proba(np.sort(NEW[:, 0])[np.sort(NEW[:, 0]) > 0.0])
    same(found, expected)
    array = lazy.to_dask_array(lengths=True)
    filtered = array[array > 0.0]
    same(fitted.predict_proba(filtered).compute(), expected)
    draws = fitted.sample_proba(filtered)
    assert decide(draws, COSTS).decision.compute().shape == (len(expected),)


def test_all_blocks_have_the_same_draws():
    fitted = ScoreCalibrator("gaussian", **FAST).fit(X[:, 0], Y == 0)
    found = fitted.sample_proba(da.zeros(30, chunks=10), draws=5).compute()
    np.testing.assert_array_equal(found, np.repeat(found[:, :1], 30, axis=1))
    assert len(np.unique(found[:, 0])) > 1
    lazy, seed = da.from_array(P, chunks=10), {"draws": 5, "random_state": np.int64(3)}
    same(fitted.sample_proba(lazy, **seed).compute(), fitted.sample_proba(P, **seed))


def test_what_needs_memory_says_so():
    with pytest.raises(ValueError, match=r"must be in memory, got a Dask collection"):
        MulticlassCalibrator().fit(da.from_array(X), Y)


COSTS = [[0.0, 5.0], [1.0, 0.0]]
CLASS_COSTS = np.vstack([2.0 * (1.0 - np.eye(3)), np.full(3, 0.7)])  # the last decision abstains


def drawn(fitted, rows):
    return fitted.sample_proba(rows, draws=10, random_state=3)


# Answers of several arrays about each row, and their fields that are no such arrays.
RECORDS = {
    "decisions of classes": ("classes", lambda fitted, rows: fitted.decide(rows, CLASS_COSTS), 0),
    "likeliest classes": ("classes", lambda fitted, rows: fitted.predict_top(rows), 0),
    "decisions of draws": ("scores", lambda fitted, rows: decide(drawn(fitted, rows), COSTS), 0),
    "decisions of draws of classes": (
        "classes", lambda fitted, rows: decide(drawn(fitted, rows), CLASS_COSTS), 0,
    ),
    "likelihood ratios": (
        "scores", lambda fitted, rows: likelihood_ratios(fitted, 9.0 * rows, bounds=(-1, 1)), 5,
    ),
}  # fmt: skip


@pytest.mark.parametrize("record", RECORDS)
def test_answers_of_several_arrays_have_the_form_of_the_rows(record):
    name, ask, others = RECORDS[record]
    fitted, rows, *_ = MAKE[name]()
    table = (pd.DataFrame if rows.ndim == 2 else pd.Series)(rows)
    given = xr.DataArray(rows, dims=("document", "column")[: rows.ndim])
    expected = ask(fitted, rows)
    names = [each.name for each in fields(expected)]
    arrays = [name for name in names if isinstance(getattr(expected, name), np.ndarray)]
    assert len(names) - len(arrays) == others
    for form, kind in (
        (da.from_array(rows, chunks=(15, 2)[: rows.ndim]), da.Array),
        (dd.from_pandas(table, npartitions=3), da.Array),
        (given, xr.DataArray),
        (given.chunk(document=15), xr.DataArray),
    ):
        found = ask(fitted, form)
        for name in arrays:
            own = getattr(found, name)
            assert isinstance(own, kind)
            assert (dask.is_dask_collection(own)) == dask.is_dask_collection(form)
            if dask.is_dask_collection(own) and hasattr(form, "chunks"):
                assert own.chunks[0] == (15, 15, 10)
            if kind is xr.DataArray:
                assert own.dims == ("document", "band")[: own.ndim]
            same(np.asarray(own), getattr(expected, name))
        for name in set(names) - set(arrays):
            assert getattr(found, name) == getattr(expected, name)


def test_the_fields_of_an_answer_share_the_work(monkeypatch):
    fitted, rows, *_ = MAKE["classes"]()
    answer, asked = MulticlassCalibrator.decide.__wrapped__, []

    def counted(self, scores, costs):
        asked.append(len(scores))
        return answer(self, scores, costs)

    lazy = da.from_array(rows, chunks=(15, 3))
    monkeypatch.setattr(MulticlassCalibrator, "decide", rowwise(ROW, BAND)(counted))
    found = fitted.decide(lazy, CLASS_COSTS)
    assert asked == [1]  # an example
    dask.compute(found.decision, found.cost_interval, scheduler="synchronous")
    assert sorted(asked) == [1, 10, 15, 15]


def test_decisions_of_arrays_have_the_form_of_the_rows():
    fitted, rows, *_ = MAKE["combined"]()
    found = fitted.decide(da.from_array(rows, chunks=(15, 2)), "f1")
    same(found.compute(), fitted.decide(rows, "f1"))
    fitted, rows, *_ = MAKE["scores"]()
    given = xr.DataArray(rows, dims="document").chunk(document=15)
    found = expected_costs(drawn(fitted, given), COSTS)
    assert found.dims == ("document", "decision")
    same(found.values, expected_costs(drawn(fitted, rows), COSTS))


def test_what_is_read_of_likelihood_ratios_is_in_memory():
    fitted, rows, *_ = MAKE["scores"]()
    found = likelihood_ratios(fitted, da.from_array(rows, chunks=15))
    for read in (lambda: found.support, lambda: found.text, lambda: found.posterior_odds(0.1)):
        with pytest.raises(ValueError, match="log10 must be in memory, got a Dask collection"):
            read()
    named = likelihood_ratios(fitted, xr.DataArray(rows))
    assert named.text == likelihood_ratios(fitted, rows).text


def test_costs_of_single_documents_need_draws_in_memory():
    fitted, rows, *_ = MAKE["scores"]()
    lazy = drawn(fitted, da.from_array(rows, chunks=15))
    with pytest.raises(ValueError, match=r"costs must have shape .* got \(40, 2, 2\)"):
        decide(lazy, np.broadcast_to(COSTS, (40, 2, 2)))


def test_probabilities_of_classes_are_answered_in_blocks():
    p = RNG.dirichlet(np.ones(3), size=40)
    fitted = MulticlassCalibrator(scores_are="probabilities", **FAST).fit(
        np.exp(X) / np.exp(X).sum(axis=1, keepdims=True), Y
    )
    same(fitted.predict_proba(da.from_array(p, chunks=15)).compute(), fitted.predict_proba(p))


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

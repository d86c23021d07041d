"""Data and files of other packages: frames, missing labels, skops, ArviZ, files that are none."""

import sys
import warnings
import zlib

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

import bayescal
from bayescal import (
    CalibratedClassifier,
    CombinedClassifier,
    OnlineCombiner,
    ScoreCalibrator,
    TopicCalibrator,
)

RNG = np.random.default_rng(0)
Y = (RNG.random(60) < 0.4).astype(int)
S, T = RNG.normal(2.0 * Y), np.repeat(["corn", "oil"], 30)
X = np.column_stack([S, RNG.normal(size=60)])
COLUMNS = {"score": S, "label": Y, "topic": T}


def quick(**options):
    return ScoreCalibrator("gaussian", draws=20, chains=1, random_state=0, **options)


def topics():
    return TopicCalibrator("none", "gaussian", draws=20, chains=1, random_state=0)


def polars_frame(**columns):
    return pytest.importorskip("polars").DataFrame(columns)


def arrow_table(**columns):
    return pytest.importorskip("pyarrow").table(columns)


@pytest.mark.parametrize("make", [polars_frame, arrow_table, lambda **c: pd.DataFrame(c)])
class TestTables:
    def test_of_topics(self, make, tmp_path):
        table = make(**COLUMNS)
        fitted, expected = topics().fit(table), topics().fit(S, Y, T)
        p = expected.predict_proba(S, T)
        np.testing.assert_array_equal(fitted.predict_proba(make(score=S, topic=T)), p)
        # Half of the labels are missing.
        half = make(score=S, label=[None, 1, 0] * 20, topic=T)
        assert topics().fit(half).posterior_["maximum_likelihood"]["total_weight"].sum() == 40
        more = fitted.add_topics(make(score=S, label=Y, topic=np.repeat(["rye", "tea"], 30)))
        assert more.topics_.size == 4
        more.report(tmp_path / "report.html", table)

    def test_of_one_problem(self, make, tmp_path):
        table = make(**COLUMNS)
        fitted = quick().fit(table["score"], table["label"])
        np.testing.assert_array_equal(fitted.predict_proba(S), quick().fit(S, Y).predict_proba(S))
        fitted.report(tmp_path / "report.html", table)

    def test_a_column_is_missing_or_a_document_twice(self, make):
        with pytest.raises(ValueError, match=r"score, label, topic; it lacks label\."):
            topics().fit(make(score=S, topic=T))
        document = np.append(np.arange(59), 58)
        with pytest.raises(ValueError, match="document 58 has two of topic oil"):
            topics().fit(make(document=document, **COLUMNS))
        topics().fit(make(document=np.arange(60), **COLUMNS))


MISSING = {
    "None": [None, *Y[1:].tolist()],
    "NA": pd.Series([pd.NA, *Y[1:].tolist()], dtype=object),
    "Int64": pd.array([pd.NA, *Y[1:].tolist()], dtype="Int64"),
    "boolean": pd.array([pd.NA, *(Y[1:] == 1).tolist()], dtype="boolean"),
    "string": pd.Series([pd.NA, *np.where(Y[1:], "b", "a")], dtype="string"),
    "category": pd.Categorical([None, *np.where(Y[1:], "b", "a")]),
    "NaT": pd.Series([pd.NaT, *Y[1:].tolist()], dtype=object),
    "nan": [float("nan"), *Y[1:].tolist()],
    "nan in text": [float("nan"), *np.where(Y[1:], "b", "a").tolist()],
}


@pytest.mark.parametrize("kind", MISSING)
def test_missing_labels_are_named_and_those_of_topics_left_out(kind):
    labels = MISSING[kind]
    message = "y must .*, got (None|<NA>|nan|NaT) at position 0: leave unlabelled documents out"
    with pytest.raises(ValueError, match=message):
        quick().fit(S, labels)
    with pytest.raises(ValueError, match=message):
        CalibratedClassifier(GaussianNB(), quick()).fit(X, labels)
    fitted = topics().fit(S, labels, T)
    assert fitted.posterior_["maximum_likelihood"]["total_weight"].sum() == 59


@pytest.mark.parametrize("values", [list(Y), list(Y == 1), list(Y.astype(float))], ids=str)
def test_objects_that_are_numbers_are_numbers(values, tmp_path):
    labels = pd.Series(values, dtype=object)
    fitted = quick().fit(S, labels)
    assert fitted.classes_.tolist() == [0, 1]
    assert bayescal.load(fitted.save(tmp_path / "one.nc")).classes_.tolist() == [0, 1]
    assert CalibratedClassifier(GaussianNB(), quick()).fit(X, labels).classes_.tolist() == [0, 1]


PAIR = [("first", GaussianNB()), ("second", GaussianNB(var_smoothing=0.1))]
FITTED = {
    "ScoreCalibrator": lambda: quick().fit(S, Y),
    "combined": lambda: ScoreCalibrator(draws=20, chains=1, random_state=0).fit(S, Y),
    "mle": lambda: ScoreCalibrator(inference="mle").fit(S, Y),
    "CalibratedClassifier": lambda: CalibratedClassifier(GaussianNB(), quick(), cv=2).fit(X, Y),
    "CombinedClassifier": lambda: CombinedClassifier(PAIR, cv=2, random_state=0).fit(X, Y),
    "OnlineCombiner": lambda: OnlineCombiner().fit(np.full((60, 2), 0.3), Y),
}


def without_slots(value, seen):
    """Visit a fitted object as skops does: by reduce's first protocol, state and items."""
    if id(value) in seen or value is None or isinstance(value, str | bytes | int | float | type):
        return
    seen[id(value)] = value
    if isinstance(value, dict):
        for each in value.items():
            without_slots(each, seen)
    elif isinstance(value, list | tuple | set):
        for each in value:
            without_slots(each, seen)
    elif type(value).__module__.partition(".")[0] in {"bayescal", "sklearn", "xarray"}:
        value.__reduce__()  # which classes with __slots__ do not have
        without_slots(value.__getstate__(), seen)


@pytest.mark.parametrize("name", FITTED)
def test_states_hold_no_class_with_slots(name):
    fitted, seen = FITTED[name](), {}
    without_slots(fitted, seen)
    assert len(seen) > 5


@pytest.mark.parametrize("name", FITTED)
def test_skops(name):
    skops = pytest.importorskip("skops.io")
    data = skops.dumps(fitted := FITTED[name]())
    read = skops.loads(data, trusted=skops.get_untrusted_types(data=data))
    features = {"OnlineCombiner": np.full((60, 2), 0.3)}.get(name, X if "Class" in name else S)
    np.testing.assert_array_equal(read.predict_proba(features), fitted.predict_proba(features))


def test_arviz_is_told_what_to_read():
    tree = quick().fit(S, Y).posterior_
    with pytest.raises(TypeError, match=r"arviz_stats.summary\(posterior_\), or arviz.summary\("):
        np.asarray(tree)
    if sys.version_info >= (3, 12):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arviz = pytest.importorskip("arviz")
    with pytest.raises(TypeError, match=r"arviz_stats.summary\(posterior_\)"):
        arviz.summary(tree)
    assert len(arviz.summary(tree["posterior"].to_dataset())) > 0


class TestFilesThatAreNone:
    @pytest.mark.parametrize("compress", [0, 1, 3, 9])
    def test_pickles_run_code(self, compress, tmp_path):
        joblib.dump({"a": 1}, tmp_path / "model", compress=compress)
        message = "it looks like a pickle.* CalibratedClassifier.save .* runs the code it names"
        for load in (bayescal.load, ScoreCalibrator.load, TopicCalibrator.load):
            with pytest.raises(ValueError, match=message):
                load(tmp_path / "model")

    @pytest.mark.parametrize(
        "content", [b"", b"x", b"x = 1\n", b"\x89HDF\r\n", b"{}", b"\x00" * 99]
    )
    def test_others_are_not_sent_there(self, content, tmp_path):
        (tmp_path / "model.nc").write_bytes(content)
        with pytest.raises(ValueError, match="does not end with its checksum") as caught:
            bayescal.load(tmp_path / "model.nc")
        assert "CalibratedClassifier" not in str(caught.value)

    @pytest.mark.parametrize("how", ["cut", "bit", "text", "missing module", "number"])
    def test_classifiers_name_every_error(self, how, tmp_path):
        path = CalibratedClassifier(GaussianNB(), "sigmoid").fit(X, Y).save(tmp_path / "model")
        whole = path.read_bytes()
        if how == "cut":
            path.write_bytes(whole[: len(whole) // 2])
        elif how == "bit":
            plain = bytearray(zlib.decompress(whole))
            plain[2] ^= 0xFF
            path.write_bytes(zlib.compress(bytes(plain), 3))
        elif how == "text":
            path.write_bytes(b"no pickle")
        elif how == "missing module":
            path.write_bytes(b"cno_such_module\nname\n.")
        else:
            joblib.dump(3, path)
        with pytest.raises(
            ValueError, match=r"must be a file that CalibratedClassifier\.save wrote"
        ):
            CalibratedClassifier.load(path)

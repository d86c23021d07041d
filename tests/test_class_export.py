"""Exported maps of several classes return the calibrator's probabilities."""

import json
import runpy

import numpy as np
import pytest
from scipy import special

from bayescal import CalibratedClassifier, MulticlassCalibrator
from bayescal.report.export import class_map
from bayescal.report.export.writing import export

pytestmark = pytest.mark.filterwarnings(
    "ignore::bayescal.fitting.results.diagnostics.ConvergenceWarning"
)
NAMES = ["ant", "bee", 'c"\\']


def fit(classes=3, n=60, scores_are="scores", names=None):
    rng = np.random.default_rng(classes)
    scores = 4.0 * rng.normal(size=(n, classes))
    y = np.array([rng.choice(classes, p=each) for each in special.softmax(scores / 2, axis=1)])
    if scores_are == "probabilities":
        scores = special.softmax(scores, axis=1)
    names = np.arange(classes) if names is None else np.array(names)
    calibrator = MulticlassCalibrator(scores_are, draws=8, chains=2, random_state=0)
    return calibrator.fit(scores, names[y], classes=names)


@pytest.fixture(scope="module")
def three():
    return fit(names=NAMES)


def run_python(path, scores):
    module = runpy.run_path(path)
    return module["predict"](scores), module["predict_interval"](scores)


def run_json(path, scores):
    document = json.loads(path.read_text())
    arrays = {k: None if v is None else np.array(v) for k, v in document["arrays"].items()}
    names = {"np": np, **arrays, **document["constants"]}
    exec("\n".join(document["map"]), names)
    draws = names["draws"](scores)
    return draws.mean(axis=0), np.moveaxis(np.quantile(draws, [0.05, 0.95], axis=0), 0, 2)


def run_onnx(path, scores):
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    p, lower, upper = session.run(None, {"scores": scores})
    return p, np.stack([lower, upper], axis=2)


FITS = {
    "three": lambda: fit(names=NAMES),
    "many": lambda: fit(22, 120),
    "probabilities": lambda: fit(4, scores_are="probabilities"),
}
SUFFIX = {"python": ".py", "json": ".json", "onnx": ".onnx"}
RUN = {"python": run_python, "json": run_json, "onnx": run_onnx}


@pytest.mark.parametrize("format", list(RUN))
@pytest.mark.parametrize("which", FITS)
def test_files_say_what_the_calibrator_says(format, which, tmp_path):
    calibrator = FITS[which]()
    size = calibrator.classes_.size
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(40, size)) * rng.choice([0.1, 5.0, 300.0], size=(40, 1))
    if which == "probabilities":
        scores = special.softmax(scores, axis=1)
        scores[0] = np.eye(size)[1]
    elif which == "three":
        scores[0, 1] = -np.inf
    path = calibrator.export(tmp_path / f"map{SUFFIX[format]}", format=format)
    p, band = RUN[format](path, scores)
    np.testing.assert_allclose(p, calibrator.predict_proba(scores), atol=1e-6)
    np.testing.assert_allclose(band, calibrator.predict_interval(scores), atol=1e-6)


@pytest.mark.parametrize("format", list(RUN))
def test_other_shares_are_part_of_a_file(three, format, tmp_path):
    shares = dict(zip(NAMES, [0.7, 0.2, 0.1], strict=True))
    scores = np.random.default_rng(1).normal(size=(9, 3))
    path = three.export(tmp_path / f"map{SUFFIX[format]}", format=format, prior=shares)
    p, _ = RUN[format](path, scores)
    np.testing.assert_allclose(p, three.predict_proba(scores, prior=shares), atol=1e-6)


def test_files_name_their_classes(three, tmp_path):
    document = json.loads(three.export(tmp_path / "a.json", format="json").read_text())
    assert document["classes"] == NAMES
    assert sum(document["documents_fitted"]) == 60
    # The calibrator reads scores in single precision.
    assert document["largest_difference_found"] < 1e-6


def test_a_map_that_is_off_is_not_written(three, tmp_path, monkeypatch):
    monkeypatch.setattr(class_map, "DEEPEST", 0.5)
    with pytest.raises(RuntimeError, match="from the calibrator"):
        three.export(tmp_path / "map.py")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "sql"}, "format must be one of 'json', 'onnx', 'python' for several classes"),
        ({"level": 2.0}, "level must"),
        ({"prior": [0.5, 0.5]}, "shape"),
        ({"prior": {"ant": 1.0}}, "a share to each class"),
        ({"format": "onnx", "column": "lower"}, "name of an output"),
        ({"topic": "a"}, "has no topics"),
    ],
)
def test_bad_inputs(three, options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        export(three, tmp_path / "map", **options)
    assert not list(tmp_path.iterdir())


def test_a_classifier_is_exported_through_its_calibrator(tmp_path):
    rng = np.random.default_rng(0)
    p = special.softmax(rng.normal(size=(40, 3)), axis=1)
    calibrator = MulticlassCalibrator(draws=4, chains=2)
    fitted = CalibratedClassifier("probabilities", calibrator).fit(p, np.arange(40) % 3)
    with pytest.raises(ValueError, match="export calibrated_classifiers_"):
        export(fitted, tmp_path / "map.py")

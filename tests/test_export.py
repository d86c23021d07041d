"""Exported files return the calibrator's probabilities, near and far, without bayescal."""

import json
import math
import runpy
import sqlite3
import subprocess
import sys
from functools import cache

import numpy as np
import pytest
from scipy import special, stats
from sklearn.exceptions import NotFittedError

from bayescal import ScoreCalibrator, TopicCalibrator
from bayescal.report.export import knots as table
from bayescal.report.export.knots import thin
from bayescal.report.export.writing import FORMATS
from tests.cli_tools import make_topics, run

ERROR, BAND_ERROR = 1e-4, 1e-3


def assert_near(found, expected):
    """Check probabilities, and ends of bands if there are any, against the stated errors."""
    found, expected = np.atleast_2d(found), np.atleast_2d(expected)
    np.testing.assert_allclose(found[:1], expected[:1], atol=ERROR, rtol=0.0)
    np.testing.assert_allclose(found[1:], expected[1:], atol=BAND_ERROR, rtol=0.0)


AWKWARD = 'a"""\n--; "q" \\ \N{LATIN SMALL LETTER E WITH ACUTE}'


def run_python(path, scores, column):
    return np.atleast_2d(runpy.run_path(path)["predict"](scores))


def run_json(path, scores, column):
    document = json.loads(path.read_text(encoding="utf-8"))
    beyond = np.nan if document["scores_are"].startswith("prob") else None
    rows = [
        np.interp(scores, curve["score"], curve["log_odds"], left=beyond, right=beyond)
        for curve in document["curves"].values()
    ]
    return special.expit(rows)


def run_sql(path, scores, column):
    quoted = '"{}"'.format(column.replace('"', '""'))
    with sqlite3.connect(":memory:") as database:
        # SQLite has it only where it was built with its mathematical functions.
        database.create_function("exp", 1, lambda x: None if x is None else math.exp(x))
        database.execute(f"CREATE TABLE documents (position INTEGER, {quoted} REAL)")
        rows = [(k, None if math.isnan(s) else s) for k, s in enumerate(scores.tolist())]
        database.executemany("INSERT INTO documents VALUES (?, ?)", rows)
        expressions = path.read_text(encoding="utf-8")
        found = database.execute(f"SELECT {expressions} FROM documents ORDER BY position")
        return np.array(found.fetchall(), dtype=np.float64).T


def run_onnx(path, scores, column):
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return np.stack(session.run(None, {column: scores}))


RUN = {"python": run_python, "json": run_json, "sql": run_sql, "onnx": run_onnx}


@cache
def fit(scores_are="scores", **options):
    rng = np.random.default_rng(0)
    y = rng.random(300) < 0.2
    scores = rng.normal(3.0 * y, 1.0) - 2.0
    if scores_are == "probabilities":
        scores = special.expit(scores)
    settings = {"draws": 50, "random_state": 0, "scores_are": scores_are} | options
    return ScoreCalibrator(**settings).fit(scores, np.where(y, AWKWARD, "\N{DIGIT ONE}"))


@pytest.fixture(scope="module")
def calibrator():
    return fit(positive=AWKWARD)


def scores_for(calibrator, points=400):
    """Return scores in the user's units: among those fitted, and 10 to 1e90 spreads away."""
    scale = calibrator.fitted_problems()[""].calibration
    low, high = scale.score_range
    far = scale.spread * np.array([10.0, 30.0, 1000.0, 1e5, 1e20, 1e90])
    scores = np.concatenate(
        [np.linspace(low - 3.0, high + 3.0, points), scale.centre - far, scale.centre + far]
    )
    probabilities = calibrator.fitted_problems()[""].scores_are == "probabilities"
    return np.append(special.expit(scores), [0.0, 1.0]) if probabilities else scores


def exact(calibrator, scores, level=0.9, prior=None, topics=()):
    """Return points and bands in batches so small that they are evaluated without a table."""
    rows = []
    for batch in np.array_split(scores, scores.size // 32 + 1):
        where = [[topic] * batch.size for topic in topics]
        curves = [calibrator.predict_proba(batch, *where, prior=prior)[:, 1]]
        if level is not None:
            curves += [*calibrator.predict_interval(batch, *where, level=level, prior=prior).T]
        rows.append(np.stack(curves))
    return np.concatenate(rows, axis=1)


def exported(calibrator, path, scores, *, format, column="score", **options):
    calibrator.export(path, format=format, column=column, **options)
    return RUN[format](path, scores, column)


def target(folder, format):
    return folder / f"corn{FORMATS[format].suffix}"


def test_every_format_is_run_here():
    assert set(FORMATS) == set(RUN)


@pytest.mark.parametrize("format", RUN)
def test_a_file_agrees_with_the_calibrator_near_and_far(calibrator, format, tmp_path):
    scores = scores_for(calibrator)
    found = exported(calibrator, target(tmp_path, format), scores, format=format, column='my "s"')
    assert found.shape == (3, scores.size)
    assert_near(found, exact(calibrator, scores))


# Reserved words, names with capitals and dots, names that the files use themselves.
COLUMNS = ["order", "group", "index", "key", "lower", "a.b", "Score", "1st", "a b", "\xb5"]
COLUMNS += ["def", "predict", "np", "curves", "probability", "constant/0", "node/0", "svm_score"]


@pytest.mark.parametrize("format", RUN)
def test_any_name_of_a_column_is_a_name(format, tmp_path):
    fitted = ScoreCalibrator(inference="mle").fit([-2.0, -1.0, 0.5, 1.0], [0, 1, 0, 1])
    scores, options = np.linspace(-3.0, 3.0, 7), {"format": format, "level": None}
    for column in COLUMNS:
        if format == "onnx" and column == "probability":
            with pytest.raises(ValueError, match="column must not be the name of an output"):
                fitted.export(target(tmp_path, format), column=column, **options)
            continue
        found = exported(fitted, target(tmp_path, format), scores, column=column, **options)
        assert found.shape == (1, scores.size)
        assert_near(found, exact(fitted, scores, None))


@pytest.mark.slow
def test_names_that_need_no_quotes_have_none(calibrator, tmp_path):
    for column, name in (("svm_score", "svm_score"), ("user", '"user"'), ("a.b", '"a.b"')):
        path = calibrator.export(tmp_path / "corn.sql", format="sql", column=column)
        text = path.read_text(encoding="utf-8")
        assert f"WHEN {name} < " in text
        assert ("ANSI_QUOTES" in text) == (name != column)


@pytest.mark.parametrize("format", RUN)
def test_probabilities_are_taken_as_they_are(format, tmp_path):
    calibrator = fit("probabilities")
    scores = scores_for(calibrator)
    found = exported(calibrator, target(tmp_path, format), scores, format=format)
    assert_near(found, exact(calibrator, scores))
    outside = RUN[format](target(tmp_path, format), np.array([-0.1, 1.1]), "score")
    assert np.isnan(outside).all()


def test_probabilities_within_roundings_of_1_are_as_they_are_fitted(tmp_path):
    rng = np.random.default_rng(1)
    scores = np.clip(rng.normal(0.5, 0.8, 200), 0.0, 1.0)
    y = rng.random(200) < 0.1 + 0.2 * scores
    settings = {"draws": 50, "random_state": 0, "scores_are": "probabilities"}
    calibrator = ScoreCalibrator(**settings).fit(scores, y)
    near = np.arange(1, 40) * 2.0**-53
    shown = np.r_[near, 1.0 - near, 0.0, 1.0]
    found = exported(calibrator, tmp_path / "a.json", shown, format="json")
    assert_near(found, exact(calibrator, shown))


def test_bands_that_turn_far_out_faster_than_nodes_follow_are_exported(tmp_path):
    # Ties without overlap: out there a band falls from 1 to 0 within 3 % of the score.
    scores = np.round(np.random.default_rng(14).normal(size=200))
    labels = scores > np.quantile(scores, 0.7)
    calibrator = ScoreCalibrator(parts="densities", draws=50, random_state=0).fit(scores, labels)
    far = np.array([-scale * 10.0**power for power in range(0, 90) for scale in (1.0, 3.0)])
    found = exported(calibrator, tmp_path / "a.json", far, format="json")
    assert_near(found, exact(calibrator, far))


@pytest.mark.parametrize("format", RUN)
def test_what_is_missing_stays_missing(calibrator, format, tmp_path):
    found = exported(calibrator, target(tmp_path, format), np.array([np.nan, 0.0]), format=format)
    assert np.isnan(found).all(axis=0).tolist() == [True, False]


@pytest.mark.parametrize("format", ["python", "json", "onnx"])
def test_infinite_scores_have_the_answer_of_the_ends(calibrator, format, tmp_path):
    ends = np.array([-np.inf, -1e140, 1e140, np.inf])
    found = exported(calibrator, target(tmp_path, format), ends, format=format)
    assert (found[:, [0, 3]] == found[:, [1, 2]]).all()


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ({"scores_are": "log_odds"}, {}),
        ({"point": "median"}, {"level": 0.5}),
        ({"parts": "monotone"}, {"prior": 0.01}),
        ({"parts": "densities"}, {"prior": stats.beta(2.0, 8.0)}),
        ({"parts": "gaussian", "point": "mean"}, {"level": None}),
        ({"inference": "mle"}, {"level": None, "prior": 0.5}),
    ],
)
def test_settings_of_calibrators_and_of_calls_are_kept(options, asked, tmp_path):
    calibrator = fit(**options)
    scores = scores_for(calibrator)
    found = exported(calibrator, tmp_path / "corn.json", scores, format="json", **asked)
    assert_near(found, exact(calibrator, scores, **asked))


@pytest.mark.parametrize("centre", [1e9, -1e-9])
def test_scores_far_from_zero_or_tiny_are_distinguished(centre, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.random(200) < 0.3
    scores = centre + abs(centre) ** 0.5 * 1e-3 * rng.normal(2.0 * y)
    calibrator = ScoreCalibrator("gaussian", draws=50, random_state=0).fit(scores, y)
    for format in ("python", "sql"):
        found = exported(calibrator, target(tmp_path, format), scores, format=format)
        assert_near(found, exact(calibrator, scores))


def test_the_module_needs_numpy_alone_and_says_what_it_is(calibrator, tmp_path):
    path = calibrator.export(tmp_path / "corn.py", level=0.8)
    code = (
        "import corn, sys; probability, lower, upper = corn.predict([[0.0], [1.0]]);"
        "assert probability.shape == (2, 1) and (lower < probability).all();"
        "assert not {'bayescal', 'scipy', 'xarray'} & set(sys.modules);"
        "print(ascii((corn.CLASSES, corn.LEVEL, corn.ERROR)))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path, env={}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == ascii((["1", AWKWARD], 0.8, ERROR))
    source = path.read_text(encoding="ascii")
    assert '"combined"' not in source.split("import numpy")[1]
    assert "estimator: " in source
    assert "versions: " in source


def test_the_facts_are_in_the_file(calibrator, tmp_path):
    path = calibrator.export(tmp_path / "corn.json", format="json", prior=0.3)
    told = json.loads(path.read_text(encoding="utf-8"))
    assert told["positive_class"] == AWKWARD
    assert (told["level"], told["error"], told["prior"]) == (0.9, ERROR, 0.3)
    assert told["negatives_and_positives_fitted"] == [242.0, 58.0]
    assert 0.0 < told["largest_difference_found"] < ERROR
    assert "interpolate the log-odds linearly" in told["how_to_read"]


def test_rounding_noise_far_out_is_no_curve(tmp_path):
    # Both densities have the same sides: far out they differ by their rounding.
    calibrator = ScoreCalibrator(inference="mle").fit([-2.0, -1.0, 0.5, 1.0], [0, 0, 1, 1])
    scores = np.array([-1e6, -10.0, 0.0, 10.0, 1e6])
    found = exported(calibrator, tmp_path / "a.json", scores, format="json", level=None)
    assert_near(found, exact(calibrator, scores, None))


def test_rounding_far_out_that_drowns_a_curve_is_left_out(tmp_path):
    # Both sigmas are the same: squares of far scores round by more than log-odds are.
    negatives = (np.random.default_rng(0).normal(size=34) * 0.4).round(1)
    scores, labels = np.concatenate([negatives, negatives + 1.5]), np.repeat([0, 1], 34)
    for family in ("gaussian", "laplace"):
        calibrator = ScoreCalibrator(family, inference="mle").fit(scores, labels)
        near = np.concatenate([np.linspace(-10.0, 10.0, 400), [-1e6, 1e6]])
        found = exported(calibrator, tmp_path / "a.json", near, format="json", level=None)
        assert_near(found, exact(calibrator, near, None))


@pytest.mark.slow
def test_few_documents_whose_curves_move_far_out_are_exported(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.random(60) < 0.3
    calibrator = ScoreCalibrator(draws=100, random_state=0).fit(rng.normal(2.0 * y), y)
    scores = scores_for(calibrator, 1900)
    found = exported(calibrator, tmp_path / "a.json", scores, format="json")
    assert_near(found, exact(calibrator, scores))
    knots = json.loads((tmp_path / "a.json").read_text())["curves"]["upper"]["score"]
    assert knots[-1] > 1e9


@pytest.mark.slow
def test_a_spoilt_table_is_noticed_and_not_written(calibrator, tmp_path, monkeypatch):
    monkeypatch.setattr(table, "thin", lambda score, *_: np.array([0, score.size - 1]))
    with pytest.raises(RuntimeError, match=r"must be within 0.0001 .* nothing is written"):
        calibrator.export(tmp_path / "corn.py")
    assert list(tmp_path.iterdir()) == []


def test_thinned_lines_pass_all_points_within_the_tolerance():
    score = np.sort(np.random.default_rng(0).normal(size=3000))
    log_odds = 3.0 * np.sin(score) + np.where(score > 1.0, 5.0, 0.0)
    kept = thin(score, log_odds, 1e-3)
    off = special.expit(np.interp(score, score[kept], log_odds[kept])) - special.expit(log_odds)
    assert kept.size < 100
    assert 5e-4 < np.abs(off).max() <= 1e-3


@pytest.fixture(scope="module")
def topics():
    calibrator = TopicCalibrator(parts="gaussian", draws=50, random_state=0)
    return calibrator.fit(make_topics()[["score", "label", "topic"]])


@pytest.mark.slow
def test_a_topic_is_exported(topics, tmp_path):
    scores = np.concatenate([np.linspace(-6.0, 6.0, 300), [-1e3, 1e3, -1e6, 1e6]])
    topics.export(tmp_path / "a.json", "b/x", format="json", prior=0.2)
    found = run_json(tmp_path / "a.json", scores, "score")
    assert_near(found, exact(topics, scores, prior=0.2, topics=["b/x"]))
    assert json.loads((tmp_path / "a.json").read_text())["topic"] == "b/x"


@pytest.mark.parametrize("topic", ["oil", None, ["a"]])
def test_an_unknown_topic_is_refused(topics, topic, tmp_path):
    with pytest.raises(ValueError, match=r"topic must be one of those fitted, 'B x', .*; got"):
        topics.export(tmp_path / "a.py", topic)


@pytest.mark.parametrize(
    ("path", "options", "error", "match"),
    [
        ("a.py", {"format": "pmml"}, ValueError, "format must be one of .*'sql'.*got 'pmml'"),
        ("a.py", {"level": 90}, ValueError, "level must lie between 0 and 1"),
        ("a.py", {"prior": 1.0}, ValueError, "prior must lie between 0 and 1"),
        ("a.py", {"column": ""}, ValueError, "column must be the name of a column"),
        ("a.py", {"column": "a\0"}, ValueError, "column must not hold null characters"),
        ("a.py", {"column": "\ud800"}, ValueError, "column must not hold .* half characters"),
        (
            "a.json",
            {},
            ValueError,
            "must not end in '.json' for format='python': give format='json'",
        ),
        ("a.py", {"format": "sql"}, ValueError, "or a name that ends in '.sql'"),
        ("no/a.py", {}, FileNotFoundError, "there is no folder .*no; make it first"),
        (".", {}, IsADirectoryError, "is a folder: give the path of a file in it"),
    ],
)
def test_wrong_calls_are_refused(calibrator, path, options, error, match, tmp_path):
    with pytest.raises(error, match=match):
        calibrator.export(tmp_path / path, **options)
    assert list(tmp_path.iterdir()) == []


def test_a_band_needs_a_posterior(tmp_path):
    calibrator = fit(inference="mle", parts="gaussian")
    with pytest.raises(ValueError, match="'mle' has none: pass level=None"):
        calibrator.export(tmp_path / "a.py")


def test_what_is_not_fitted_is_refused(tmp_path):
    with pytest.raises(NotFittedError):
        ScoreCalibrator().export(tmp_path / "a.py")
    with pytest.raises(NotFittedError):
        TopicCalibrator().export(tmp_path / "a.py", "corn")


def test_onnx_that_is_not_installed_is_reported_with_the_extra(calibrator, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install bayescal\[onnx\]"):
        calibrator.export(tmp_path / "a.onnx", format="onnx")
    assert list(tmp_path.iterdir()) == []


def test_what_the_system_refuses_is_reported_and_the_file_stays(calibrator, tmp_path, monkeypatch):
    def refuse(self, target):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "a.py").write_text("mine")
    monkeypatch.setattr("pathlib.Path.replace", refuse)
    with pytest.raises(PermissionError, match=r"a\.py cannot be written.*choose a folder where"):
        calibrator.export(tmp_path / "a.py")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.slow
def test_the_command_exports_what_was_saved(calibrator, topics, tmp_path):
    calibrator.save(tmp_path / "corn.nc")
    out = tmp_path / "corn.sql"
    told = run("export", tmp_path / "corn.nc", "--format", "sql", "--no-band", "--out", out)
    assert f"Written to {out}" in told.stdout
    scores = scores_for(calibrator, 20)
    found = run_sql(out, scores, "score")
    assert_near(found, exact(calibrator, scores, None))
    topics.save(tmp_path / "topics.nc")
    run("export", tmp_path / "topics.nc", "--topic", "a", "--out", tmp_path / "a.py")
    assert 'topic: "a"' in (tmp_path / "a.py").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--format", "pmml"), "Error: --format must be one of"),
        (("--topic", "oil"), "Error: --topic must be left out, got 'oil'"),
        (("--format", "sql", "--out", "corn.py"), "Error: --out must not end in '.py'"),
        (("--level", "90"), "Error: --level must lie between 0 and 1"),
    ],
)
def test_the_command_refuses_in_one_line(calibrator, options, told, tmp_path):
    calibrator.save(tmp_path / "corn.nc")
    result = run("export", tmp_path / "corn.nc", "--out", tmp_path / "out", *options, code=2)
    assert told in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["corn.nc"]

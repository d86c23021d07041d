"""A collection in a report: how many to read, found and missed, as `bayescal decide` has it."""

import hashlib
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from bayescal import CalibratedClassifier, ScoreCalibrator
from bayescal.decisions import rates_by_topic, thresholds_by_topic
from bayescal.report import write_report
from tests.report_data import NAMES, data_of, fitted_topics, make_problem, make_topics

FAST = {"draws": 100, "random_state": 0}


@pytest.fixture(scope="module")
def single():
    return ScoreCalibrator("gaussian", **FAST).fit(*make_problem(200, seed=0))


def check_rows(found, at, wanted):
    """Compare what a page holds with the tables of `bayescal.decisions`."""
    for part, table in (("at", at), ("wanted", wanted)):
        for name, row in table.to_dict("index").items():
            shown = found[str(name)][part]
            assert {key: shown[key] for key in row} == pytest.approx(row, rel=1e-6, nan_ok=True)


@pytest.mark.parametrize("asked", [{}, {"threshold": 0.5, "recall": 0.7, "level": 0.8}])
def test_a_page_has_the_numbers_of_the_decisions(single, asked, tmp_path):
    scores, _ = make_problem(500, seed=1)
    path = single.report(tmp_path / "report.html", collection=scores, **asked)
    common = {"level": asked.get("level", 0.9), "random_state": 0}
    taken = {"threshold": 0.5} if "threshold" in asked else {"probability": 0.5}
    at = rates_by_topic(single, scores, **taken, **common)
    wanted = thresholds_by_topic(single, scores, recall=asked.get("recall", 0.9), **common)
    check_rows(data_of(path)["collection"], at, wanted)
    text = re.sub("<[^>]+>|\\s+", " ", path.read_text("utf-8"))
    row = wanted.loc[""]
    share = "70 %" if asked else "90 %"
    assert f"{row['selected']:.0f} of 500, those of score" in text
    assert f"to find {share} of the positives" in text
    assert f"about {row['found']:.0f} found ({row['found_lower']:.0f} to" in text
    assert "the score asked for, or more" in text if asked else "probability ½ or more" in text


@pytest.mark.slow
def test_of_topics_there_is_a_row_each(tmp_path):
    calibrator, frame = fitted_topics()
    new = make_topics(seed=3)
    path = calibrator.report(tmp_path / "report.html", fitted=frame, collection=new)
    common = {"level": 0.9, "random_state": 0}
    at = rates_by_topic(calibrator, new["score"], new["topic"], probability=0.5, **common)
    wanted = thresholds_by_topic(calibrator, new["score"], new["topic"], recall=0.9, **common)
    found = data_of(path)["collection"]
    assert list(found) == wanted.index.tolist()
    check_rows(found, at, wanted)
    text = path.read_text("utf-8")
    rows = text[text.index("What to read of every topic") : text.index('id="words"')]
    assert rows.count("data-show=") == len(NAMES)
    as_arrays = calibrator.report(
        tmp_path / "arrays.html", fitted=frame, collection=(new["score"], new["topic"])
    )
    assert data_of(as_arrays)["collection"] == found


@pytest.mark.slow
def test_topics_that_were_not_fitted_stand_without_a_link(tmp_path):
    calibrator, frame = fitted_topics()
    new = pd.DataFrame({"score": [0.0, 1.0, 2.0], "topic": ["corn", "new", "new"]})
    path = calibrator.report(tmp_path / "report.html", fitted=frame, collection=new)
    assert set(data_of(path)["collection"]) == {"corn", "new"}
    assert '<tr><th scope="row">new</th>' in path.read_text("utf-8")


def test_a_classifier_takes_documents(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=200), [-0.5, 0.7])
    calibrator = ScoreCalibrator("gaussian", **FAST)
    classifier = CalibratedClassifier(LogisticRegression(), calibrator, cv=3)
    path = classifier.fit(X, y > 0).report(tmp_path / "report.html", collection=X[:50])
    wanted = thresholds_by_topic(classifier, X[:50], recall=0.9, random_state=0)
    shown = data_of(path)["collection"]
    assert list(shown) == [""]
    assert shown[""]["wanted"]["selected"] == wanted.loc["", "selected"]
    with pytest.raises(ValueError, match=r"collection.* must be left out for several classes"):
        classifier.fit(X, y).report(tmp_path / "report.html", collection=X[:50])


def test_without_a_collection_there_is_nothing_about_one(single, tmp_path):
    path = single.report(tmp_path / "report.html")
    assert data_of(path)["collection"] == {}
    assert "What to read" not in path.read_text("utf-8")


@pytest.mark.slow
def test_a_collection_is_checked(single, tmp_path):
    path = tmp_path / "report.html"
    with pytest.raises(ValueError, match=r"collection must be .*columns score.* lacks score"):
        single.report(path, collection=pd.DataFrame({"p": [0.5]}))
    with pytest.raises(ValueError, match=r"columns score, topic.* lacks topic"):
        fitted_topics()[0].report(path, collection=pd.DataFrame({"score": [0.5]}))
    with pytest.raises(ValueError, match="scores must be finite"):
        single.report(path, collection=[0.0, np.nan])
    mle = ScoreCalibrator(inference="mle").fit(*make_problem(40, seed=0))
    with pytest.raises(ValueError, match="intervals need a posterior"):
        mle.report(path, collection=[0.0, 1.0])
    assert list(tmp_path.iterdir()) == []


def sha(topics):
    """Return the hash of documents as a report describes it."""
    total = hashlib.sha256()
    for name, score, label in topics:
        total.update(name.encode() + np.asarray(score, "<f8").tobytes())
        total.update(np.asarray(label, np.uint8).tobytes())
    return total.hexdigest()


def test_held_out_documents_are_told_from_those_fitted(tmp_path):
    fitted, held_out = make_problem(120, seed=0), make_problem(90, seed=1)
    calibrator = ScoreCalibrator("gaussian", **FAST).fit(*fitted)
    path = calibrator.report(tmp_path / "report.html", held_out)
    text = path.read_text("utf-8")
    for name, documents in (("fitted", fitted), ("held out", held_out)):
        hashed = f'<dt>Scores {name}</dt><dd class="hash">{sha([("", *documents)])}</dd>'
        assert hashed in text
        assert f"<dt>Scores {name}</dt><dd>{documents[1].size}</dd>" in text
    (topic,) = data_of(path)["topics"]
    assert (topic["negatives"], topic["positives"]) == (90, 30)
    assert np.sum(topic["histogram"]["counts"][1]) == pytest.approx(30, abs=1)
    assert (topic["test"]["point"]["n"], topic["test"]["point"]["positives"]) == (90, 23)
    p = calibrator.predict_proba(held_out[0])[:, 1]
    assert topic["test"]["point"]["expected"] == pytest.approx(p.sum(), rel=1e-3)


@pytest.mark.slow
def test_held_out_topics_are_told_from_those_fitted(tmp_path):
    calibrator, frame = fitted_topics()
    held_out = make_topics(seed=1)
    held_out = held_out[held_out["topic"] != "crude"]
    path = write_report(calibrator, tmp_path / "report.html", test=held_out, fitted=frame)
    for name, documents in (("fitted", frame), ("held out", held_out)):
        groups = documents.groupby("topic")
        hashed = sha((topic, rows["score"], rows["label"]) for topic, rows in groups)
        assert f'<dt>Scores {name}</dt><dd class="hash">{hashed}</dd>' in path.read_text("utf-8")

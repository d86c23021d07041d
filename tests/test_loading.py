"""`bayescal.load`: one function for whatever was saved."""

import numpy as np
import pytest

import bayescal
from bayescal import ScoreCalibrator, TopicCalibrator
from tests.cli_tools import fitted, make_frame, make_topics, run, write

FRAME = make_frame()


def test_a_file_of_scores(tmp_path):
    path = fitted(FRAME).save(tmp_path / "one.nc")
    for again in (bayescal.load(path), ScoreCalibrator.load(str(path))):
        assert isinstance(again, ScoreCalibrator)
        expected = fitted(FRAME).predict_proba(FRAME["score"])
        np.testing.assert_array_equal(again.predict_proba(FRAME["score"]), expected)


def test_a_file_of_topics(tmp_path):
    calibrator = TopicCalibrator(parts="laplace", draws=20, random_state=0)
    path = calibrator.fit(make_topics()[["score", "label", "topic"]]).save(tmp_path / "topics.nc")
    assert isinstance(bayescal.load(path), TopicCalibrator)
    with pytest.raises(ValueError, match=r"holds a TopicCalibrator: bayescal\.load reads it"):
        ScoreCalibrator.load(path)
    with pytest.raises(ValueError, match=r"holds a ScoreCalibrator: bayescal\.load reads it"):
        TopicCalibrator.load(fitted(FRAME).save(tmp_path / "one.nc"))


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Return the files that `bayescal fit` writes: one calibrator, topics apart, topics pooled."""
    path = tmp_path_factory.mktemp("folders")
    one, topics = write(FRAME, path / "one.csv"), write(make_topics(), path / "topics.csv")
    of_topics = ("fit", topics, "--topic-column", "topic")
    run("fit", one, "--inference", "mle", "--out", path / "one")
    run(*of_topics, "--inference", "mle", "--out", path / "apart")
    run(*of_topics, "--pool", "--family", "laplace", "--draws", "20", "--out", path / "pooled")
    return path


def test_folders_that_the_command_line_wrote(folders):
    assert isinstance(bayescal.load(folders / "one"), ScoreCalibrator)
    assert isinstance(bayescal.load(folders / "pooled"), TopicCalibrator)
    apart = bayescal.load(folders / "apart")
    assert set(apart) == {"b/x", "a", "NA", "B x"}
    assert len(apart) == 4
    expected = bayescal.load(folders / "apart" / "a.nc").predict_proba([0.5])
    np.testing.assert_array_equal(apart["a"].predict_proba([0.5]), expected)
    with pytest.raises(KeyError):
        apart["none"]


def test_what_holds_nothing_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        bayescal.load(tmp_path / "none.nc")
    with pytest.raises(ValueError, match=r"must be a \.nc file or a folder that bayescal fit"):
        bayescal.load(tmp_path)
    (tmp_path / "text.nc").write_text("no netCDF")
    with pytest.raises(ValueError, match="is not a netCDF file"):
        bayescal.load(tmp_path / "text.nc")

"""`bayescal.load`: one function for all that was saved; damaged and foreign files are refused."""

from contextlib import suppress
from pathlib import Path

import h5py
import numpy as np
import pytest

import bayescal
from bayescal import ScoreCalibrator, TopicCalibrator
from tests.cli_tools import fitted, make_frame, make_topics

pytestmark = pytest.mark.one_era

FRAME = make_frame()


def test_a_file_of_scores(tmp_path):
    path = fitted(FRAME).save(tmp_path / "one.nc")
    for again in (bayescal.load(path), ScoreCalibrator.load(str(path))):
        assert isinstance(again, ScoreCalibrator)
        expected = fitted(FRAME).predict_proba(FRAME["score"])
        np.testing.assert_array_equal(again.predict_proba(FRAME["score"]), expected)


@pytest.mark.slow
def test_a_file_of_topics(tmp_path):
    calibrator = TopicCalibrator(parts="laplace", draws=20, random_state=0)
    path = calibrator.fit(make_topics()[["score", "label", "topic"]]).save(tmp_path / "topics.nc")
    assert isinstance(bayescal.load(path), TopicCalibrator)
    with pytest.raises(ValueError, match=r"holds a TopicCalibrator: bayescal\.load reads it"):
        ScoreCalibrator.load(path)
    with pytest.raises(ValueError, match=r"holds a ScoreCalibrator: bayescal\.load reads it"):
        TopicCalibrator.load(fitted(FRAME).save(tmp_path / "one.nc"))


def test_what_holds_nothing_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        bayescal.load(tmp_path / "none.nc")
    with pytest.raises(ValueError, match=r"must be a \.nc file or a folder that bayescal fit"):
        bayescal.load(tmp_path)
    (tmp_path / "text.nc").write_text("no netCDF")
    with pytest.raises(ValueError, match="cannot be read as a netCDF file"):
        bayescal.load(tmp_path / "text.nc")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    calibrator = ScoreCalibrator("gaussian", draws=20, random_state=0)
    path = tmp_path_factory.mktemp("saved") / "one.nc"
    return calibrator.fit(FRAME["score"], FRAME["label"]).save(path)


@pytest.mark.slow
def test_a_flipped_bit_is_named_or_changes_nothing(saved, tmp_path):
    whole, scores = saved.read_bytes(), np.linspace(-2.0, 2.0, 5)
    expected = bayescal.load(saved).predict_interval(scores)
    rng, path, named = np.random.default_rng(0), tmp_path / "damaged.nc", 0
    for _ in range(60):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        with suppress(ValueError):  # any other error fails
            named += 1
            again = bayescal.load(path)
            named -= 1
            np.testing.assert_array_equal(again.predict_interval(scores), expected)
    assert named > 10


def test_changed_draws_do_not_match_the_checksum(saved, tmp_path):
    path = tmp_path / "changed.nc"
    path.write_bytes(saved.read_bytes())
    with h5py.File(path, "r+") as file:
        file["posterior/mu"][0, 0, 0] += 1e-6
    with pytest.raises(
        ValueError, match=r"is damaged: its contents do not match its checksum\. Copy"
    ):
        bayescal.load(path)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_file_cut_short_is_named(saved, tmp_path, share):
    whole = saved.read_bytes()
    (tmp_path / "cut.nc").write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match=r"cut\.nc cannot be read as a netCDF file"):
        bayescal.load(tmp_path / "cut.nc")


def outside(file):
    where = [(str(Path(file.filename).with_name("raw")), 0, 8)]
    file["posterior"].create_dataset("raw", (1,), "f8", external=where)[0] = 1.0


LINKS = [
    lambda file: file["posterior"].__setitem__("far", h5py.ExternalLink("other.nc", "/")),
    lambda file: file["posterior"].__setitem__("near", h5py.SoftLink("/posterior")),
    lambda file: file["posterior"].__setitem__("again", file["/"]),
    outside,
]


@pytest.mark.parametrize("link", LINKS)
def test_links_are_refused(saved, tmp_path, link):
    path = tmp_path / "linked.nc"
    path.write_bytes(saved.read_bytes())
    with h5py.File(path, "r+") as file:
        link(file)
    with pytest.raises(ValueError, match=r"is a link|in the file twice|kept in another file"):
        bayescal.load(path)

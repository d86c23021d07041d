"""`bayescal.load` and pickles return what was saved; damaged and foreign files are refused."""

import pickle
from pathlib import Path

import h5py
import joblib
import numpy as np
import pytest
import xarray as xr
from sklearn.naive_bayes import GaussianNB

import bayescal
from bayescal import CalibratedClassifier, ScoreCalibrator, TopicCalibrator
from bayescal.support.files import sealed
from tests.cli_tools import fitted, make_frame, make_topics

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


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    calibrator = ScoreCalibrator("gaussian", draws=20, random_state=0)
    path = tmp_path_factory.mktemp("saved") / "one.nc"
    return calibrator.fit(FRAME["score"], FRAME["label"]).save(path)


@pytest.mark.parametrize("made_by", ["ScoreCalibrator", "CalibratedClassifier"])
def test_a_flipped_bit_is_named_before_the_file_is_parsed(made_by, tmp_path, saved, monkeypatch):
    source, read = saved, bayescal.load
    if made_by == "CalibratedClassifier":
        x = FRAME[["score"]]
        source = (
            CalibratedClassifier(GaussianNB(), "sigmoid")
            .fit(x, FRAME["label"])
            .save(tmp_path / "saved")
        )
        read = CalibratedClassifier.load
    whole, rng, path = source.read_bytes(), np.random.default_rng(0), tmp_path / "damaged.nc"
    for parser in ((h5py, "File"), (joblib, "load")):
        monkeypatch.setattr(*parser, pytest.fail)
    places = [*rng.integers(len(whole), size=200), 343, 913, len(whole) - 1, len(whole) - 75]
    for at in places:
        damaged = bytearray(whole)
        damaged[at] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"damaged\.nc"):
            read(path)
    path.write_bytes(whole[:343] + bytes(64) + whole[407:])
    with pytest.raises(ValueError, match=r"is damaged: its contents do not match its checksum"):
        read(path)


def test_other_programs_read_the_file(saved):
    with h5py.File(saved) as file:
        assert "posterior" in file
    with xr.open_datatree(saved) as tree:
        assert "draw" in tree["posterior"].dims
        assert tree.attrs["bayescal_schema"] == 1
        assert "numpy" in tree.attrs["bayescal_versions"]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_file_cut_short_is_named(saved, tmp_path, share):
    whole = saved.read_bytes()
    (tmp_path / "cut.nc").write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match=r"cut\.nc must be a file .* cut short"):
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
    path.write_bytes(sealed(path.read_bytes()))
    with pytest.raises(ValueError, match=r"is a link|in the file twice|kept in another file"):
        bayescal.load(path)


# Pickled calibrators give the same results to the last bit


def scores_of(n, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) < n // 5
    return rng.normal(np.where(y, 1.0, -1.0)) + rng.exponential(0.5, n) * y, y


@pytest.fixture(scope="module")
def whole():
    return ScoreCalibrator(random_state=0).fit(*scores_of(531))


@pytest.fixture(scope="module")
def again(whole):
    return pickle.loads(pickle.dumps(whole))


class TestDefault:
    @pytest.mark.slow
    def test_all_it_says_is_the_same(self, whole, again):
        new = np.linspace(-6.0, 6.0, 40)
        for kind in ("pointwise", "hdi", "simultaneous"):
            np.testing.assert_array_equal(
                again.predict_interval(new, 0.8, kind, prior=0.3),
                whole.predict_interval(new, 0.8, kind, prior=0.3),
            )
        np.testing.assert_array_equal(again.predict_proba(new), whole.predict_proba(new))
        np.testing.assert_array_equal(again.sample_proba(new), whole.sample_proba(new))
        assert again.posterior_.identical(whole.posterior_)
        assert again.summary().equals(whole.summary())
        assert again.diagnostics_ == whole.diagnostics_
        assert again.score_problems_ == whole.score_problems_

    def test_it_learns_on_as_the_first_would(self, whole, again):
        x, y = scores_of(60, seed=1)
        both = [pickle.loads(pickle.dumps(each)).update(x, y) for each in (whole, again)]
        assert both[0].posterior_.equals(both[1].posterior_)
        assert both[0].prequential_.equals(both[1].prequential_)

    @pytest.mark.slow
    def test_pickles_of_pickles_and_files_are_the_same(self, whole, again, tmp_path):
        for each in (whole, again):
            loaded = ScoreCalibrator.load(each.save(tmp_path / "fit.nc"))
            assert loaded.posterior_.equals(whole.posterior_)
            assert pickle.loads(pickle.dumps(loaded)).posterior_.equals(whole.posterior_)

"""Files that version 1.0 wrote are read, and answer as they did.

python -m tests.test_stored_files writes them anew, which only a change of the format before its
first release, or of the major version, allows.
"""

import json
import lzma
from pathlib import Path

import numpy as np
import pytest

import bayescal
from bayescal.calibrators.loading import CALIBRATORS
from bayescal.monitoring import Recalibrator

FOLDER = Path(__file__).parent / "reference" / "files"
ANSWERS = FOLDER / "answers.json"
X = np.array([-1.0, 0.5, 2.0, 6.0])
# What each is asked.
ASKED = {
    "score": (X,),
    "maximum_likelihood": (X,),
    "topics": (X, ["a", "b", "c", "new"]),
    "classes": (np.column_stack([X, X[::-1], X**2 / 4.0]),),
    "grades": (X,),
    "recalibrated": (1.0 / (1.0 + np.exp(-X)),),
    "program": (X,),
}


def made():
    """Return a fitted calibrator of each kind."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [40, 20])
    s, three, quick = rng.normal(2.0 * y), np.arange(60) % 3, {"draws": 10, "random_state": 0}
    labels = np.array(["no", "yes"])[y]
    topics = np.array(["a", "b", "c"])[three]
    program = bayescal.ScoreCalibrator(bayescal.Program("logistic"), inference="map")
    return {
        "score": bayescal.ScoreCalibrator(chains=1, **quick).fit(s, labels),
        "maximum_likelihood": bayescal.ScoreCalibrator(inference="mle").fit(s, y),
        "topics": bayescal.TopicCalibrator(chains=1, **quick).fit(s, y, topics),
        "classes": bayescal.MulticlassCalibrator("scores", **quick).fit(
            rng.normal(2.0 * np.eye(3)[three]), three
        ),
        "grades": bayescal.OrdinalCalibrator(parts="gaussian", **quick).fit(s + three, three),
        "recalibrated": Recalibrator(**quick).fit(1.0 / (1.0 + np.exp(-s)), y),
        "program": program.fit(s, y),
    }


def read(name, folder):
    """Return the calibrator of a stored file."""
    file = folder / f"{name}.nc"
    file.write_bytes(lzma.decompress((FOLDER / f"{name}.nc.xz").read_bytes()))
    return bayescal.load(file)


@pytest.mark.parametrize("name", list(ASKED))
def test_a_file_answers_as_when_it_was_written(name, tmp_path):
    then = json.loads(ANSWERS.read_text(encoding="utf-8"))[name]
    now = read(name, tmp_path).predict_proba(*ASKED[name])
    np.testing.assert_allclose(now, then, rtol=1e-7)


def test_every_kind_of_calibrator_has_a_file(tmp_path):
    assert {type(read(name, tmp_path)) for name in ASKED} == set(CALIBRATORS.values())


def write():
    """Write the files and their answers."""
    FOLDER.mkdir(exist_ok=True)
    answers = {}
    for name, calibrator in made().items():
        file = calibrator.save(FOLDER / f"{name}.nc")
        (FOLDER / f"{name}.nc.xz").write_bytes(lzma.compress(file.read_bytes(), preset=9))
        file.unlink()
        answers[name] = calibrator.predict_proba(*ASKED[name]).tolist()
    ANSWERS.write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()

"""Files of scores as people have them: read as they are, or refused with what to do."""

import gzip

import numpy as np
import pandas as pd
import pytest

import bayescal
from bayescal.cli.csv_dialects import BLOCK, dialect_of
from tests.cli_tools import MLE, make_frame, run

pytestmark = pytest.mark.one_era
FRAME = make_frame().assign(place="Zürich")
TEXT = FRAME.to_csv(index=False)

FILES = {
    "comma.csv": TEXT.encode(),
    "semicolon.csv": FRAME.to_csv(index=False, sep=";").encode(),
    "told.csv": ("sep=;\n" + FRAME.to_csv(index=False, sep=";")).encode(),
    "tab.tsv": FRAME.to_csv(index=False, sep="\t").encode(),
    "upper.CSV": TEXT.encode(),
    "marked.csv": b"\xef\xbb\xbf" + TEXT.encode(),
    "utf16.csv": TEXT.encode("utf-16"),
    "utf16 told.csv": ("sep=;\n" + FRAME.to_csv(index=False, sep=";")).encode("utf-16"),
    "latin1.csv": TEXT.encode("latin-1"),
    "packed.csv.gz": gzip.compress(TEXT.encode()),
    "packed.tsv.gz": gzip.compress(FRAME.to_csv(index=False, sep="\t").encode("utf-16")),
}


@pytest.mark.parametrize("name", FILES)
def test_it_is_read_as_it_is(name, tmp_path):
    (tmp_path / name).write_bytes(FILES[name])
    run("fit", tmp_path / name, *MLE, "--out", tmp_path / "out")
    table = pd.read_csv(tmp_path / "out/probabilities.csv", dtype={"document": str})
    pd.testing.assert_frame_equal(table[list(FRAME)], FRAME, check_dtype=False)
    expected = bayescal.ScoreCalibrator(inference="mle").fit(FRAME["score"], FRAME["label"])
    np.testing.assert_array_equal(
        table["probability"], expected.predict_proba(FRAME["score"])[:, 1]
    )


def test_a_character_across_two_blocks_is_one(tmp_path):
    path = tmp_path / "long.csv"
    path.write_bytes(b"score\n" + b"1" * (BLOCK - 7) + "ü\n".encode())
    assert dialect_of(path).encoding == "utf-8"
    path.write_bytes(b"score\n" + b"1" * (BLOCK - 7) + "ü\n".encode("latin-1"))
    assert dialect_of(path).encoding == "latin-1"


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("Score,label", "no column 'score'.* Did you mean --score-column 'Score'?"),
        ("score, label", "no column 'label'.* Did you mean --label-column ' label'?"),
        ("points,label", "no column 'score'; its columns are 'points', 'label'"),
        ("score,score", "its header names the column 'score' twice: rename one of them"),
    ],
)
def test_headers_that_are_nearly_right(header, message, tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text(f"{header}\n1.5,1\n0.5,0\n2.0,1\n-1.0,0\n")
    told = " ".join(run("fit", path, *MLE, code=2).stderr.split())
    first, _, second = message.partition(".*")
    assert first in told
    assert second in told
    assert ("Did you mean" in told) == ("Did you mean" in message)


def test_a_folder_is_called_a_folder(tmp_path):
    (tmp_path / "scores.csv").mkdir()
    told = run("fit", tmp_path / "scores.csv", code=2).stderr
    assert "is a folder: expected a .csv" in told


def test_topics_that_nobody_asked_for_are_spoken_of(tmp_path):
    path = tmp_path / "scores.csv"
    FRAME.assign(topic=np.repeat(["corn", "ship"], 20)).to_csv(path, index=False)
    told = run("fit", path, *MLE).stderr
    assert "has a column 'topic' of 2 values, which is not used: --topic-column topic" in told
    assert "not used" not in run("fit", path, *MLE, "--topic-column", "topic").stderr
    FRAME.assign(topic="corn").to_csv(path, index=False)
    assert "not used" not in run("fit", path, *MLE).stderr

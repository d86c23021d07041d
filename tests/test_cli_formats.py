"""Files of scores as people have them: read as they are, or refused with what to do."""

import gzip

import numpy as np
import pandas as pd
import pytest

import bayescal
from bayescal.cli.files import BLOCK, dialect_of
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


def decimal_commas(frame):
    """Return a file as a spreadsheet writes it where decimals have commas."""
    return frame.to_csv(index=False, sep=";", decimal=",").encode()


def test_a_decimal_comma_is_read_where_the_whole_column_has_it(tmp_path):
    (tmp_path / "point.csv").write_text(TEXT, encoding="utf-8")
    (tmp_path / "comma.csv").write_bytes(decimal_commas(FRAME))
    for name in ("point", "comma"):
        run("fit", tmp_path / f"{name}.csv", *MLE, "--out", tmp_path / name)
    first, second = (
        (tmp_path / name / "probabilities.csv").read_text(encoding="utf-8")
        for name in ("point", "comma")
    )
    assert first == second


@pytest.mark.parametrize(
    "text",
    [
        "score;label\n0,75;1\n-1.5;0\n",  # a comma here, a point there
        "score;label\n1,750;1\n-1,500;0\n",  # or thousands
        'score,label\n"1,750",1\n2,0\n',
        "score,label\n0,75,1\n-1,5,0\n",  # each number is two cells
        "score,label\n1,1\n-1,5,0\n",
    ],
)
def test_another_decimal_comma_is_called_one(text, tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text(text)
    assert "decimal comma" in run("fit", path, *MLE, code=2).stderr


def test_text_in_numbers_is_no_decimal_comma(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text('score,label\n"high, too",1\n2,0\n')
    told = run("fit", path, *MLE, code=2).stderr
    assert "got 'high, too' in data row 1" in told
    assert "decimal comma" not in told


def test_a_quotation_mark_that_is_not_closed_is_found(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text('score,label\n1,1\n"2,0\n3,0\n')
    told = run("fit", path, *MLE, code=2).stderr
    assert "a quotation mark that opens in line 3 is never closed" in told


@pytest.mark.parametrize("label", [["ham", "spam"], [0, 1]])
def test_both_columns_of_predict_proba_are_told_apart(label, tmp_path):
    two = {"no": [0.75, 0.4, 0.3, 0.9], "yes": [0.25, 0.6, 0.7, 0.1], "label": 2 * label}
    pd.DataFrame(two).to_csv(tmp_path / "p.csv", index=False)
    told = run("fit", tmp_path / "p.csv", *MLE, code=2).stderr
    assert "Its columns 'no' and 'yes' sum to 1" in told
    assert "pass [:, 1], the positive class's, which is likely --score-column 'yes'" in told
    run("fit", tmp_path / "p.csv", *MLE, "--score-column", "yes")


def test_labels_and_their_opposite_are_no_probabilities(tmp_path):
    pd.DataFrame({"points": [1.5, 2.0], "label": [0, 1], "not": [1, 0]}).to_csv(
        tmp_path / "p.csv", index=False
    )
    assert "sum to 1" not in run("fit", tmp_path / "p.csv", code=2).stderr


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


def test_predict_tells_of_topics_that_it_does_not_use(tmp_path):
    path = tmp_path / "scores.csv"
    FRAME.to_csv(path, index=False)
    run("fit", path, *MLE, "--out", tmp_path / "out")
    FRAME.assign(topic=np.repeat(["corn", "ship"], 20)).to_csv(path, index=False)
    told = run("predict", tmp_path / "out", path, "--out", tmp_path / "p.csv").stderr
    assert "has a column 'topic' of 2 values, which is not used" in told
    assert "is one calibrator for all rows" in told
